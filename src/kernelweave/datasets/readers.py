"""Read the files of the data sets into tables and labels."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from kernelweave._plural import counted
from kernelweave.datasets.contents import LabelledTable, LabelledTables, Layout, tables_of
from kernelweave.datasets.mat_files import read_mat_content
from kernelweave.datasets.npz_files import read_npz_content, read_npz_copy
from kernelweave.datasets.r_files import read_r_content
from kernelweave.errors import InvalidInputError
from kernelweave.runtime import check_memory

__all__ = [
    "READERS",
    "Format",
    "LabelledTable",
    "read_bundled",
    "read_csv",
    "read_mat",
    "read_npz",
    "read_r",
    "read_yeast",
]

Format: TypeAlias = Literal["mat", "npz", "copy", "rda", "csv", "yeast"]

YEAST_NUMBERS = 8
_USUAL = Layout()
_BYTES_PER_NUMBER = 40  # of a text file in memory, at most: a number takes two characters at least


def read_mat(path: Path, layout: Layout = _USUAL) -> LabelledTables:
    """Read a MATLAB file of any version since 5; what is sparse in it stays sparse."""
    return tables_of(read_mat_content(path, layout.variables), layout, path)


def read_npz(path: Path, layout: Layout) -> LabelledTables:
    """Read a .npz file without pickles."""
    return tables_of(read_npz_content(path), layout, path)


def read_r(path: Path, layout: Layout) -> LabelledTables:
    """Read a data file of R."""
    return tables_of(read_r_content(path), layout, path)


def read_csv(path: Path, layout: Layout) -> LabelledTables:
    """Read a CSV file of numbers without a header; `layout.target` is the position of the classes, from 0."""
    check_memory(
        _BYTES_PER_NUMBER * path.stat().st_size, what=f"{path}: its numbers", advice="use a machine with more memory"
    )
    where = int(layout.target)
    labels, numbers = [], []
    with path.open(encoding="utf-8", newline="") as file:
        for i, fields in enumerate(csv.reader(file), start=1):
            if not fields:
                continue
            try:
                labels.append(fields[where])
                numbers.append([float(field) for j, field in enumerate(fields) if j != where])
            except (ValueError, IndexError) as error:
                what = f"numbers and a class in field {where + 1}"
                msg = f"Line {i} of {path} should hold {what}, but {error}: fetch it again."
                raise InvalidInputError(msg) from error
    if not numbers or len({len(row) for row in numbers}) > 1:
        msg = f"{path} must have rows of equal length, got {counted(len(numbers), 'row')}: fetch it again."
        raise InvalidInputError(msg)
    return tables_of({"X": np.array(numbers), "y": np.array(labels)}, Layout(), path)


def read_bundled(name: str) -> LabelledTable:
    """Return a data set that comes with scikit-learn."""
    from sklearn import datasets

    bunch: Any = getattr(datasets, f"load_{name.replace('-', '_')}")()
    names = np.array([str(n) for n in bunch.target_names])
    return LabelledTable(np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target, dtype=np.int64), names)


def read_yeast(path: Path, layout: Layout | None = None) -> LabelledTables:
    """Read UCI's yeast: 8 numbers per protein, then its sequence name one-hot encoded, sparse."""
    names, numbers, places = [], [], []
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except UnicodeDecodeError as error:
        msg = f"{path} is not a text file ({error}): fetch it again."
        raise InvalidInputError(msg) from error
    for i, line in enumerate(lines, start=1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != YEAST_NUMBERS + 2:
            msg = (
                f"Line {i} of {path} must have {YEAST_NUMBERS + 2} fields (name, {YEAST_NUMBERS} numbers, class), got "
                f"{len(fields)}: fetch it again."
            )
            raise InvalidInputError(msg)
        name, *measured, place = fields
        try:
            numbers.append([float(number) for number in measured])
        except ValueError as error:
            msg = f"Line {i} of {path} should hold {YEAST_NUMBERS} numbers, but {error}: fetch it again."
            raise InvalidInputError(msg) from error
        names.append(name)
        places.append(place)
    if not names:
        msg = f"{path} is empty: fetch it again."
        raise InvalidInputError(msg)
    classes, target = np.unique(places, return_inverse=True)
    data = sp.hstack([sp.csr_array(np.array(numbers)), _one_hot(names)], format="csr")
    return LabelledTables((data,), target.astype(np.int64), classes)


def _one_hot(names: list[str]) -> sp.csr_array:
    distinct, column = np.unique(names, return_inverse=True)
    # 32 bits, as in the .mat files: some estimators refuse other index types
    row = np.arange(len(names), dtype=np.int32)
    ones = np.ones(len(names))
    return sp.csr_array((ones, (row, column.astype(np.int32))), shape=(len(names), len(distinct)))


def _read_copy(path: Path, layout: Layout) -> LabelledTables:
    return read_npz_copy(path)


READERS: dict[Format, Callable[[Path, Layout], LabelledTables]] = {
    "mat": read_mat,
    "npz": read_npz,
    "copy": _read_copy,
    "rda": read_r,
    "csv": read_csv,
    "yeast": read_yeast,
}
