"""The folder of results: written as a whole or not at all, and never over what is there unless asked."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernelweave.errors import ResultsError

__all__ = ["check_target", "label_rows", "labels_of", "model_path", "read_ids", "rows_writer", "write_all"]


def check_target(folder: Path, names: Sequence[str], *, force: bool) -> None:
    """Refuse a folder that cannot take the results, before anything is computed."""
    if folder.exists() and not folder.is_dir():
        msg = f"{folder} is a file, so no results can be written into it: choose another --out."
        raise ResultsError(msg)
    there = [name for name in names if (folder / name).exists()]
    if there and not force:
        msg = f"{folder} holds results already ({', '.join(there)}): pass --force to replace them, or another --out."
        raise ResultsError(msg)
    above = folder
    while not above.exists() and above != above.parent:
        above = above.parent
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        msg = f"{folder} cannot be made, since {above} is not a folder that you may write to: choose another --out."
        raise ResultsError(msg)


def write_all(folder: Path, writers: Mapping[str, Callable[[Path], Any]]) -> dict[str, Path]:
    """Write every file to a folder beside its place, then move all of them there; a failure leaves nothing behind."""
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=folder, prefix=".part-"))
        try:
            for name, write in writers.items():
                write(part / name)
            for name in writers:
                os.replace(part / name, folder / name)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        msg = f"The results cannot be written to {folder}: {error.strerror or error}."
        raise ResultsError(msg) from error
    finally:
        if made and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    return {name: folder / name for name in writers}


def rows_writer(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Callable[[Path], None]:
    """Return a function that writes a CSV file."""

    def write(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([head, *rows])

    return write


def labels_of(model: Any, ids: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return id, label and confidence of every sample."""
    labels = model.labels_ if hasattr(model, "labels_") else model.transduction_
    confidence = (
        model.confidence_ if hasattr(model, "confidence_") else np.asarray(model.label_distributions_).max(axis=1)
    )
    return label_rows(ids, labels, confidence)


def label_rows(ids: Sequence[str], labels: Any, confidence: Any) -> list[tuple[str, str, str]]:
    """Return rows of labels.csv."""
    return [(i, str(label), f"{sure:.4f}") for i, label, sure in zip(ids, labels, confidence, strict=True)]


def model_path(result: Path) -> Path:
    """Return the model of a folder of results, or the model itself."""
    path = result / "model.kw" if result.is_dir() else result
    if not path.exists():
        msg = f"{path}: there is no such model. Pass the folder that `kernelweave cluster` or `classify` wrote."
        raise ResultsError(msg)
    return path


def read_ids(labels: Path, n: int) -> list[str] | None:
    """Return the ids in labels.csv, if it is there and of this model."""
    if not labels.exists():
        return None
    try:
        with labels.open(newline="", encoding="utf-8") as file:
            ids = [row[0] for row in csv.reader(file)][1:]
    except (OSError, UnicodeDecodeError, IndexError, csv.Error) as error:
        msg = f"{labels} cannot be read: {error}."
        raise ResultsError(msg) from error
    if len(ids) != n:
        msg = f"{labels} names {len(ids)} samples, but the model has {n}: the two do not belong together."
        raise ResultsError(msg)
    return ids
