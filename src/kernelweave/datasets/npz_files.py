"""Files of numpy arrays (.npz). Sizes are checked before anything is read, and nothing is unpickled."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kernelweave.datasets.contents import LabelledTables, Layout, check_allocation, tables_of, undamaged
from kernelweave.errors import InvalidInputError

__all__ = ["read_npz_content", "read_npz_copy"]


def read_npz_content(path: Path) -> dict[str, Any]:
    """Return the arrays of a .npz file; CSR parts ``X_data, X_indices, X_indptr, X_shape`` are a sparse matrix X."""
    with undamaged(path, "a .npz file"):
        _check_members(path)
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        return _with_sparse(arrays)


def read_npz_copy(path: Path) -> LabelledTables:
    """Return the tables of a copy: ``X``, or ``X0``, ``X1`` and so on, with classes ``y``, perhaps ``class_names``."""
    content = read_npz_content(path)
    names = ("X",) if "X" in content else tuple(f"X{v}" for v in range(len(content)) if f"X{v}" in content)
    found = tables_of(content, Layout(names or ("X",), "y"), path)
    if "class_names" not in content:
        return found
    labels = [n.decode("utf-8", "replace") if isinstance(n, bytes) else str(n) for n in content["class_names"].tolist()]
    return found._replace(target_names=np.array(labels))


def _check_members(path: Path) -> None:
    """Refuse arrays of objects, and arrays that claim more bytes than their member has, or than there is memory for."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            with archive.open(member) as file:
                version = np.lib.format.read_magic(file)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, dtype = read(file)
            claimed = math.prod(shape) * dtype.itemsize
            if dtype.hasobject or claimed > member.file_size:
                what = "Python objects" if dtype.hasobject else f"an array of shape {shape}, {claimed} bytes"
                msg = f"{path} is not read: {member.filename} claims {what} and has {member.file_size} bytes."
                raise InvalidInputError(msg)
            check_allocation(shape, f"{path}: {member.filename} of shape {shape}")


def _with_sparse(arrays: dict[str, Any]) -> dict[str, Any]:
    stems = [name.removesuffix("_indptr") for name in arrays if name.endswith("_indptr")]
    found = {name: value for name, value in arrays.items() if not any(name.startswith(f"{stem}_") for stem in stems)}
    for stem in stems:
        data, indices, indptr, shape = (arrays[f"{stem}_{part}"] for part in ("data", "indices", "indptr", "shape"))
        check_allocation((int(shape[0]) + 1,), f"{stem} with {int(shape[0])} rows")
        matrix = sp.csr_array((data, indices, indptr), shape=tuple(map(int, shape)))
        matrix.check_format(full_check=True)
        found[stem] = matrix
    return found
