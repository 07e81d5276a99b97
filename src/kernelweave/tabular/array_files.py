"""Files of arrays: .npy, .npz and .mat. Sizes are checked before anything is read, and nothing is unpickled."""

from __future__ import annotations

import math
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from kernelweave._types import Array
from kernelweave.errors import InvalidInputError
from kernelweave.files.mat_structure import check_sparse_variables
from kernelweave.runtime import check_memory
from kernelweave.tabular.missing_codes import without_codes
from kernelweave.tabular.packages import pandas
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.row_labels import examples
from kernelweave.tabular.table_file import TableFile, named_rows

__all__ = ["read_mat", "read_npy", "read_npz"]

_SPARSE = {"format", "indptr", "indices", "data", "shape"}  # the arrays of scipy.sparse.save_npz
_IDS = ("ids", "id", "obs_names", "index", "sample_names", "sample_ids", "samples", "names")
_FEATURES = ("columns", "features", "feature_names", "var_names", "genes", "gene_names")


@contextmanager
def _headers_of_python_2() -> Iterator[None]:
    """Take headers with the long integers of Python 2; numpy reads them rightly, but warns that it takes longer."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Reading `.npy` or `.npz` file required", category=UserWarning)
        yield


@_headers_of_python_2()
def read_npy(path: Path, options: ReadOptions) -> dict[str, TableFile]:
    """Return the matrix of a .npy file."""
    with path.open("rb") as file:
        _check_header(file, path.stat().st_size, path)
        file.seek(0)
        return _tables({path.stem: np.load(file, allow_pickle=False)}, options, path)


@_headers_of_python_2()
def read_npz(path: Path, options: ReadOptions) -> dict[str, TableFile]:
    """Return the matrices of a .npz file."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.filename.endswith(".npy"):
                with archive.open(member) as file:
                    _check_header(file, member.file_size, path)
    with np.load(path, allow_pickle=False) as archive:
        if set(archive) >= _SPARSE:
            _check_dense(tuple(map(int, archive["shape"])), path)
            from scipy import sparse

            return _tables({path.stem: _whole(sparse.load_npz(path))}, options, path)
        return _tables({name: archive[name] for name in archive}, options, path)


def _check_header(file: IO[bytes], size: int, path: Path) -> None:
    """Refuse an array that claims more bytes than its file has, or than there is memory for."""
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(file)
    claimed = math.prod(shape) * dtype.itemsize
    if not dtype.hasobject and claimed > size:
        msg = f"{path} is damaged: it claims an array of shape {shape}, {claimed} bytes, but holds {size} bytes."
        raise InvalidInputError(msg)
    _check_dense(shape, path)


def _check_dense(shape: tuple[int, ...], path: Path) -> None:
    advice = "read a part of it in Python, or fit in chunks"
    check_memory(8 * math.prod(shape), what=f"{path}: its matrix of shape {shape}", advice=advice)


def _whole(thing: Any) -> Array:
    """Return a sparse matrix as an array; positions outside it, in a damaged file, would be written to memory."""
    if hasattr(thing, "check_format"):
        thing.check_format(full_check=True)
    whole: Array = thing.toarray()
    return whole


def read_mat(path: Path, options: ReadOptions) -> dict[str, TableFile]:
    """Return the matrices of a MATLAB file; the matrices in a cell array are views."""
    from scipy import io, sparse

    try:
        held = io.whosmat(path)
    except NotImplementedError as error:
        msg = f"{path} has MATLAB's format 7.3: save it in MATLAB with save(..., '-v7')."
        raise InvalidInputError(msg) from error
    for _, shape, _ in held:
        _check_dense(shape, path)
    if any(kind == "sparse" for _, _, kind in held):
        check_sparse_variables(path)
    arrays: dict[str, Array] = {}
    for name, value in io.loadmat(path).items():
        if not name.startswith("__"):
            whole = _whole(value) if sparse.issparse(value) else value
            arrays |= _cells(name, whole)
    return _tables(arrays, options, path)


def _cells(name: str, value: Array) -> dict[str, Array]:
    """Return the matrices of a cell array by name, or its texts as a vector; any other array as it is."""
    if value.dtype != object:
        return {name: value}
    cells = list(value.ravel())
    if all(getattr(cell, "dtype", np.dtype(object)).kind in "biuf" and cell.ndim == 2 for cell in cells):
        return {f"{name}[{i}]": cell for i, cell in enumerate(cells)}
    if all(getattr(cell, "dtype", np.dtype(object)).kind == "U" and cell.size == 1 for cell in cells):
        return {name: np.array([str(cell.item()) for cell in cells])}
    return {}


def _vector(value: Array) -> Array:
    """Return (n, 1) and (1, n) matrices as vectors."""
    return value.ravel() if value.ndim == 2 and 1 in value.shape and max(value.shape) > 1 else value


def _tables(arrays: Mapping[str, Array], options: ReadOptions, path: Path) -> dict[str, TableFile]:
    """Return every matrix as a table; vectors of the same length are columns only if they are named.

    Others may be the true classes, which are not features.
    """
    whole = {name: value for name, value in arrays.items() if value.ndim == 2 and name not in options.named}
    wide = {name: value for name, value in whole.items() if _vector(value).ndim == 2}
    matrices = wide or whole
    numeric = {name: value for name, value in matrices.items() if value.dtype.kind in "biufc"}
    heights = {len(value) for value in numeric.values()}
    if not numeric or len(heights) > 1:
        found = ", ".join(f"{name} {value.shape}" for name, value in arrays.items()) or "nothing"
        msg = (
            f"{path} must hold one matrix of shape (n_samples, n_features), or several with the same samples as rows; "
            f"it holds {found}."
        )
        raise InvalidInputError(msg)
    vectors = {name: _vector(value) for name, value in arrays.items() if name not in numeric}
    notes = []
    if len(numeric) > 1:
        notes.append(f"{path}: its {len(numeric)} matrices are views: {', '.join(numeric)}.")
    return {name: _table(name, value, vectors, options, path, notes) for name, value in numeric.items()}


def _table(
    name: str, matrix: Array, vectors: Mapping[str, Array], options: ReadOptions, path: Path, notes: list[str]
) -> TableFile:
    n, d = matrix.shape
    names = next((vectors[key] for key in _FEATURES if key in vectors and _are_texts(vectors[key], d)), None)
    columns = [f"{name}[{j}]" for j in range(d)] if names is None else [str(text).strip() for text in names]
    frame: Any = pandas().DataFrame(matrix, columns=columns)
    aside = {key: value for key, value in vectors.items() if value.shape == (n,)}
    options = options.settled(aside)
    for key in options.named & set(aside):
        frame[key] = aside[key]
    frame, coded = without_codes(frame, options.missing, {options.id})
    title = next((key for key in _IDS if key in aside and _are_texts(aside[key], n)), None)
    said = [*notes, *(f"{path}: {note}." for note in coded)]
    ids = None if title is None else [str(text).strip() for text in aside[title]]
    if ids is not None and options.id is None:
        said.append(f"{path}: the array {title!r} holds the ids ({examples(ids)}).")
    return named_rows(TableFile(frame, ids, tuple(said), title, (*aside, *columns)), path, options)


def _are_texts(vector: Array, length: int) -> bool:
    """Return whether a vector has `length` texts that all differ."""
    return vector.shape == (length,) and vector.dtype.kind == "U" and len(set(vector.tolist())) == length
