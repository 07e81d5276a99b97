"""MATLAB files of version 5 to 7, and of version 7.3, which are HDF5. Sizes are checked before anything is read."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.io
import scipy.sparse as sp

from kernelweave.datasets.contents import check_allocation, undamaged
from kernelweave.errors import InvalidInputError
from kernelweave.files.hdf5_structure import check_heaps
from kernelweave.files.mat_structure import check_sparse_variables
from kernelweave.runtime import check_memory

__all__ = ["read_mat_content"]

_HEADER = 128
_COMPRESSED = 15  # the type of a compressed element
_CHUNK = 1 << 20
_LARGEST_RATIO = 8  # doubles may be stored in one byte each
_DEEPEST = 20


def read_mat_content(path: Path, variables: Iterable[str]) -> dict[str, Any]:
    """Return variables of a MATLAB file: arrays, sparse matrices, lists for cell arrays and dicts for structures.

    Parameters
    ----------
    path : Path
        The file.
    variables : iterable of str
        The names to read; those that the file does not have are left out.

    Returns
    -------
    content : dict

    Raises
    ------
    InvalidInputError
        If the file is damaged.
    """
    with path.open("rb") as file:
        is_hdf5 = file.read(10) == b"MATLAB 7.3"
    with undamaged(path, "a MATLAB file"):
        return _read_hdf5(path, variables) if is_hdf5 else _read_version_5(path, variables)


def _read_version_5(path: Path, variables: Iterable[str]) -> dict[str, Any]:
    with path.open("rb") as file:
        _check_inflated_size(file, path)
    if any(kind == "sparse" for _, _, kind in scipy.io.whosmat(str(path), appendmat=False)):
        check_sparse_variables(path)
    found = scipy.io.loadmat(str(path), appendmat=False, variable_names=tuple(variables))
    return {name: _plain(value) for name, value in found.items() if not name.startswith("__")}


def _check_inflated_size(file: BinaryIO, path: Path) -> None:
    """Refuse a file whose elements do not fit into memory once they are inflated; nothing is kept of them."""
    header = file.read(_HEADER)
    order = "<" if header[126:128] == b"IM" else ">"
    total = 0
    while len(tag := file.read(8)) == 8:
        kind, size = struct.unpack(f"{order}II", tag)
        for part in _inflated(file, size) if kind == _COMPRESSED else (size,):
            total += part
            check_memory(_LARGEST_RATIO * total, what=f"{path}: its content", advice="use a machine with more memory")
        if kind != _COMPRESSED:
            file.seek(size, 1)


def _inflated(file: BinaryIO, left: int) -> Iterator[int]:
    """Yield the bytes that the next part of an element takes once it is inflated."""
    inflate = zlib.decompressobj()
    while left > 0 and (chunk := file.read(min(_CHUNK, left))):
        left -= len(chunk)
        while chunk:
            yield len(inflate.decompress(chunk, _CHUNK))
            chunk = inflate.unconsumed_tail


def _plain(value: Any, depth: int = 0) -> Any:
    """Return cell arrays as lists and structures as dicts."""
    if depth > _DEEPEST:
        msg = f"its cells are nested deeper than {_DEEPEST}"
        raise ValueError(msg)
    if isinstance(value, np.ndarray) and value.dtype.names:
        return {name: _plain(value[name].ravel()[0], depth + 1) for name in value.dtype.names} if value.size else {}
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [_plain(cell, depth + 1) for cell in value.ravel(order="F")]
    return value


def _read_hdf5(path: Path, variables: Iterable[str]) -> dict[str, Any]:
    try:
        h5py: Any = import_module("h5py")  # without type annotations
    except ImportError as error:
        msg = f"{path} has MATLAB's format 7.3, which needs the package h5py: run pip install 'kernelweave[data]'."
        raise InvalidInputError(msg) from error
    check_heaps(path)
    with h5py.File(path, "r") as file:
        reader = _Hdf5(h5py, file, path)
        return {name: reader.named(file, name) for name in variables if name in file}


class _Hdf5:
    """The variables of one HDF5 file; links to other files are refused."""

    def __init__(self, h5py: Any, file: Any, path: Path) -> None:
        self._h5py, self._file, self._path = h5py, file, path

    def named(self, group: Any, name: str) -> Any:
        link = group.get(name, getlink=True)
        if isinstance(link, self._h5py.ExternalLink):
            msg = f"{self._path} refers to another file ({link.filename}), which is not read: fetch it again."
            raise InvalidInputError(msg)
        return self._node(group[name])

    def _node(self, node: Any, depth: int = 0) -> Any:
        if depth > _DEEPEST:
            msg = f"its cells are nested deeper than {_DEEPEST}"
            raise ValueError(msg)
        if isinstance(node, self._h5py.Group):
            return self._group(node)
        if node.external or node.is_virtual:
            msg = f"{self._path} keeps {node.name} in another file, which is not read: fetch it again."
            raise InvalidInputError(msg)
        check_allocation(node.shape, f"{self._path}: {node.name} of shape {node.shape}")
        if node.dtype == self._h5py.ref_dtype:
            return [self._node(self._file[reference], depth + 1) for reference in node[()].ravel()]
        values = np.asarray(node[()]).T  # MATLAB stores columns first
        if node.attrs.get("MATLAB_class") == b"char":
            return "".join(map(chr, values.ravel(order="F")))
        return values

    def _group(self, group: Any) -> Any:
        if "MATLAB_sparse" not in group.attrs:
            return {name: self.named(group, name) for name in group}
        n_rows, n_columns = int(group.attrs["MATLAB_sparse"]), len(group["jc"]) - 1
        if "data" not in group:
            return sp.csc_array((n_rows, n_columns))
        data, rows, starts = (np.asarray(self.named(group, part)) for part in ("data", "ir", "jc"))
        return sp.csc_array((data, rows.astype(np.int64), starts.astype(np.int64)), shape=(n_rows, n_columns))
