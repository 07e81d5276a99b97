"""The folder of results. Its files are written together or not at all, and overwritten only with --force.

Cells of CSV files that a spreadsheet would run as formulas are guarded by an apostrophe.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from kernelweave._plural import counted
from kernelweave._types import Array, Vector
from kernelweave.errors import ResultsError
from kernelweave.files.temporary import temporary_path

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.base import BaseEstimator

__all__ = [
    "check_file",
    "check_target",
    "confidence_of",
    "frame_writer",
    "labels_of",
    "model_path",
    "read_ids",
    "rows_writer",
    "unguarded",
    "write_all",
    "write_rows",
]

_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")  # apostrophes before it count, so that what is guarded can be read back
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def check_target(folder: Path, names: Sequence[str], *, force: bool) -> None:
    """Raise `ResultsError` if the results cannot be written to a folder, before anything is computed."""
    if folder.exists() and not folder.is_dir():
        msg = f"{folder} is a file, so no results can be written into it: choose another --out."
        raise ResultsError(msg)
    _check_overwriting(folder, names, force=force)
    above = folder
    while not above.exists() and above != above.parent:
        above = above.parent
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        msg = f"{folder} cannot be made, since {above} is not a folder with write permission: choose another --out."
        raise ResultsError(msg)


def check_file(path: Path) -> None:
    """Raise `ResultsError` if the path of a file to write is a folder."""
    if path.is_dir():
        msg = f"--out names a file to write, but {path} is a folder: name a file in it, or another path."
        raise ResultsError(msg)


def _check_overwriting(folder: Path, names: Iterable[str], *, force: bool) -> None:
    there = [name for name in names if (folder / name).exists()]
    if there and not force:
        msg = f"{folder} holds results already ({', '.join(there)}): pass --force to overwrite them, or another --out."
        raise ResultsError(msg)


def write_all(folder: Path, writers: Mapping[str, Callable[[Path], object]], *, force: bool) -> dict[str, Path]:
    """Write all files to a temporary folder, which becomes `folder`; a failure leaves nothing behind.

    If the folder exists, the files are moved into it instead, unless another run wrote them meanwhile.
    """
    place = folder if folder.is_dir() else folder.parent
    try:
        place.mkdir(parents=True, exist_ok=True)
        with _part(place) as part:
            for name, write in writers.items():
                write(part / name)
            if folder.is_dir() or not _renamed(part, folder):
                _check_overwriting(folder, writers, force=force)
                for name in writers:
                    os.replace(part / name, folder / name)
    except OSError as error:
        msg = f"The results cannot be written to {folder}: {error.strerror or error}."
        raise ResultsError(msg) from error
    return {name: folder / name for name in writers}


def _renamed(part: Path, folder: Path) -> bool:
    """Give a folder its name; return False if another run has made a folder of that name meanwhile."""
    try:
        part.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
        return False
    return True


@contextmanager
def _part(folder: Path) -> Iterator[Path]:
    """Make a temporary folder, which is removed with whatever is still in it."""
    part = temporary_path(folder)
    part.mkdir()
    try:
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)


def rows_writer(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Callable[[Path], None]:
    """Return a function that writes a CSV file, without cells that a spreadsheet would run as formulas."""

    def write(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            write_rows(file, chain([head], rows))

    return write


def frame_writer(frame: pd.DataFrame) -> Callable[[Path], None]:
    """Return a function that writes a data frame; numbers have six significant digits, what is missing is empty."""

    def text(value: object) -> str:
        missing = value is None or (isinstance(value, float) and np.isnan(value))
        return "" if missing else f"{value:.6g}" if isinstance(value, float) else str(value)

    return rows_writer([str(name) for name in frame], [[text(cell) for cell in row] for row in frame.to_numpy(object)])


def labels_of(model: BaseEstimator) -> Array:
    """Return the cluster or class of every training sample."""
    return np.asarray(model.labels_ if hasattr(model, "labels_") else model.transduction_)


def confidence_of(model: BaseEstimator) -> Vector | None:
    """Return the confidence of a clusterer in its clusters, or the largest class probability of a classifier.

    None for a method of a plugin that has neither.
    """
    if hasattr(model, "confidence_"):
        return np.asarray(model.confidence_)
    if hasattr(model, "label_distributions_"):
        return np.asarray(np.asarray(model.label_distributions_).max(axis=1))
    return None


def model_path(result: Path) -> Path:
    """Return the path of the model in a folder of results; a path of a file is returned as it is."""
    path = result / "model.kw" if result.is_dir() else result
    if not path.exists():
        msg = f"{path}: there is no such model. Pass the folder that `kernelweave cluster` or `classify` wrote."
        raise ResultsError(msg)
    return path


def read_ids(labels: Path, n: int) -> list[str] | None:
    """Return the ids in labels.csv, or None if there is no such file; raise if it does not have `n` samples."""
    if not labels.exists():
        return None
    try:
        with labels.open(newline="", encoding="utf-8") as file:
            ids = [unguarded(row[0]) for row in csv.reader(file)][1:]
    except (OSError, UnicodeDecodeError, IndexError, csv.Error) as error:
        msg = f"{labels} cannot be read: {error}."
        raise ResultsError(msg) from error
    if len(ids) != n:
        msg = (
            f"{labels} names {counted(len(ids), 'sample')}, but the model has {n}: it belongs to another model. "
            "Remove it to number the samples instead."
        )
        raise ResultsError(msg)
    return ids


def _guarded(cell: str) -> str:
    """Return a cell with an apostrophe before it if a spreadsheet would take it for a formula."""
    return f"'{cell}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell


def write_rows(file: TextIO, rows: Iterable[Sequence[str]]) -> None:
    """Write rows of a CSV file with every cell guarded."""
    plain = csv.writer(file, lineterminator="\n")
    quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:  # Python 3.11 does not quote a carriage return, which ends a row
        (quoted if any("\r" in cell for cell in row) else plain).writerow([_guarded(cell) for cell in row])


def unguarded(cell: str) -> str:
    """Return a cell as it was before it was guarded."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
