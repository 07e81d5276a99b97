"""Readers of table files, one per format. None of them runs code from the file."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kernelweave._types import Array
from kernelweave.errors import InvalidInputError, MissingPackageError

if TYPE_CHECKING:
    import pandas as pd

    Reader: TypeAlias = Callable[[Path, frozenset[str], bool], pd.DataFrame]

__all__ = ["read_file"]


def read_file(path: Path, *, named: Collection[str] = (), header: bool = True) -> pd.DataFrame:
    """Return a file as a table; the columns in `named` (ids, labels) are read as text in formats of text.

    A file of arrays (.npz, .mat) must hold one matrix, which is the table. Vectors of the same length are added as
    columns only if they are named: others may be the true classes, which are not features.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        msg = f"{path}: files of type {path.suffix or '(none)'} are not read; use one of {' '.join(_READERS)}."
        raise InvalidInputError(msg)
    if not path.exists():
        msg = f"{path}: there is no such file."
        raise InvalidInputError(msg)
    if path.is_dir():
        msg = f"{path} is a folder: name the file in it."
        raise InvalidInputError(msg)
    if path.stat().st_size == 0:
        msg = f"{path} is empty."
        raise InvalidInputError(msg)
    try:
        table = reader(path, frozenset(named), header)
    except (InvalidInputError, MissingPackageError, KeyboardInterrupt, MemoryError):
        raise
    except Exception as error:  # every reader raises errors of its own for a file of another format
        reason = " ".join(str(error).split()) or type(error).__name__
        if "pickle" in reason:  # numpy's message goes on to say how to load it nevertheless
            reason = "it holds pickled objects, which can run any code, or is no such file. Save plain numbers instead."
        msg = f"{path} cannot be read as {path.suffix}: {reason[:300]}"
        raise InvalidInputError(msg) from error
    if not len(table):
        msg = f"{path} holds no rows."
        raise InvalidInputError(msg)
    table.columns = table.columns.astype(str)
    return table


def _delimited(separator: str) -> Reader:
    def read(path: Path, named: frozenset[str], header: bool) -> pd.DataFrame:
        pd = _pandas()
        # without index_col=False, rows that are one entry longer than the header shift all columns by one
        table = pd.read_csv(
            path,
            sep=separator,
            header=0 if header else None,
            dtype=dict.fromkeys(named, str),
            skipinitialspace=True,
            encoding="utf-8-sig",
            low_memory=False,
            index_col=False,
        )
        if header and len(table.columns) > 1 and all(_is_number(name) for name in table.columns):
            msg = f"{path}: its first row holds only numbers, so it is not a header: add one, or pass --no-header."
            raise InvalidInputError(msg)
        return table

    return read


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parquet(path: Path, named: frozenset[str], header: bool) -> pd.DataFrame:
    return _pandas().read_parquet(path)


def _excel(path: Path, named: frozenset[str], header: bool) -> pd.DataFrame:
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        msg = f'{path}: Excel files are read with openpyxl: pip install "kernelweave[excel]".'
        raise MissingPackageError(msg) from error
    return _pandas().read_excel(path, header=0 if header else None, dtype=dict.fromkeys(named, str))


def _npy(path: Path, named: frozenset[str], header: bool) -> pd.DataFrame:
    import numpy as np

    with path.open("rb") as file:  # np.load leaves a file open that it cannot read
        return _matrix_table({path.stem: np.load(file, allow_pickle=False)}, named, path)


def _npz(path: Path, named: frozenset[str], header: bool) -> pd.DataFrame:
    import numpy as np

    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        if {"format", "indptr", "indices", "data", "shape"} <= set(archive):
            from scipy import sparse

            return _matrix_table({path.stem: sparse.load_npz(path).toarray()}, named, path)
        return _matrix_table({name: archive[name] for name in archive}, named, path)


def _mat(path: Path, named: frozenset[str], header: bool) -> pd.DataFrame:
    from scipy import io, sparse

    arrays = {name: value for name, value in io.loadmat(path).items() if not name.startswith("__")}
    arrays = {name: value.toarray() if sparse.issparse(value) else value for name, value in arrays.items()}
    return _matrix_table({name: _vector(value) for name, value in arrays.items()}, named, path)


def _vector(value: Array) -> Array:
    """Return MATLAB's (n, 1) and (1, n) matrices as vectors."""
    return value.ravel() if value.ndim == 2 and 1 in value.shape and max(value.shape) > 1 else value


def _h5ad(path: Path, named: frozenset[str], header: bool) -> pd.DataFrame:
    try:
        import anndata
    except ImportError as error:
        msg = f'{path}: AnnData files are read with anndata: pip install "kernelweave[anndata]".'
        raise MissingPackageError(msg) from error
    data = anndata.read_h5ad(path)
    table = data.to_df()
    for name in named & set(data.obs):
        table[name] = data.obs[name]
    for name in named - set(table):  # an AnnData file names its cells
        table[name] = data.obs_names
    return table.reset_index(drop=True)


def _matrix_table(arrays: dict[str, Array], named: frozenset[str], path: Path) -> pd.DataFrame:
    pd = _pandas()
    matrices = {name: value for name, value in arrays.items() if value.ndim == 2 and name not in named}
    if len(matrices) != 1:
        found = ", ".join(f"{name} {value.shape}" for name, value in arrays.items()) or "nothing"
        msg = f"{path} must hold one matrix of shape (n_samples, n_features); it holds {found}."
        raise InvalidInputError(msg)
    (name, matrix), *_ = matrices.items()
    table = pd.DataFrame(matrix, columns=[f"{name}[{j}]" for j in range(matrix.shape[1])])
    for other, value in arrays.items():
        if other in named and value.shape == (len(matrix),):
            table[other] = value
    return table


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        msg = 'Tables are read with pandas, which is not installed: pip install "kernelweave[cli]".'
        raise MissingPackageError(msg) from error
    return pandas


_READERS: dict[str, Reader] = {
    ".csv": _delimited(","),
    ".tsv": _delimited("\t"),
    ".parquet": _parquet,
    ".xlsx": _excel,
    ".npy": _npy,
    ".npz": _npz,
    ".mat": _mat,
    ".h5ad": _h5ad,
}
