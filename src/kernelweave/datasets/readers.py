"""Read the files of the data sets into a table and labels."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.io
import scipy.sparse as sp

from kernelweave._types import Samples
from kernelweave.errors import InvalidInputError

__all__ = ["READERS", "LabelledTable", "read_mat", "read_yeast"]

YEAST_NUMBERS = 8


class LabelledTable(NamedTuple):
    """The content of a file: samples in rows, one class per sample, and class names if the file has them."""

    data: npt.NDArray[np.float64] | sp.csr_array
    target: npt.NDArray[np.int64]
    target_names: npt.NDArray[np.str_] | None


def read_mat(path: Path) -> LabelledTable:
    """Read a MATLAB file with samples ``X`` and classes ``y``; a sparse X stays sparse."""
    try:
        content = scipy.io.loadmat(str(path), appendmat=False, variable_names=("X", "y"))
    # scipy's reader raises errors of many types for a damaged file: zlib, struct, index and type errors.
    except Exception as error:
        msg = f"{path} cannot be read as a MATLAB file ({type(error).__name__}: {error}): fetch it again."
        raise InvalidInputError(msg) from error
    missing = [key for key in ("X", "y") if key not in content]
    if missing:
        msg = f"{path} has no variable {' and no '.join(missing)}: expected samples X and classes y."
        raise InvalidInputError(msg)
    X = _matrix(path, content["X"])
    # classes count from 1 in these files and from 0 for the user
    _, target = np.unique(np.ravel(content["y"]), return_inverse=True)
    return LabelledTable(X, target.astype(np.int64), None)


def _matrix(path: Path, X: Samples) -> npt.NDArray[np.float64] | sp.csr_array:
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        msg = f"X in {path} must be a table of numbers, got shape {X.shape} of type {X.dtype}: fetch it again."
        raise InvalidInputError(msg)
    if sp.issparse(X):
        return sp.csr_array(X, dtype=np.float64)
    return np.ascontiguousarray(X, dtype=np.float64)


def read_yeast(path: Path) -> LabelledTable:
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
                f"Line {i} of {path} has {len(fields)} fields, expected {YEAST_NUMBERS + 2} "
                f"(name, {YEAST_NUMBERS} numbers, class): fetch it again."
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
    return LabelledTable(data, target.astype(np.int64), classes)


def _one_hot(names: list[str]) -> sp.csr_array:
    distinct, column = np.unique(names, return_inverse=True)
    row = np.arange(
        len(names), dtype=np.int32
    )  # 32 bits, as in the .mat files: some estimators refuse other index types
    return sp.csr_array((np.ones(len(names)), (row, column.astype(np.int32))), shape=(len(names), len(distinct)))


READERS = {"mat": read_mat, "yeast": read_yeast}
