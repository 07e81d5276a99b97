"""Readers of table files, one per format. None of them runs code from the file."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from kernelweave._types import Array
from kernelweave.cli._row_names import UNNAMED, RawTable, index_names, leading_names
from kernelweave.errors import InvalidInputError, MissingPackageError

__all__ = ["read_file"]

_PEEKED = 100  # rows that tell whether the first column has a name
_MISSING = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
            "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]  # what pandas takes for missing  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the options say about a file: the columns that they name, and whether it has a header."""

    id: str | None
    labels: str | None
    asked: frozenset[str]
    header: bool

    @property
    def named(self) -> frozenset[str]:
        """The columns of ids and labels."""
        return frozenset(name for name in (self.id, self.labels) if name is not None)


Reader: TypeAlias = Callable[[Path, _Wanted], RawTable]


def read_file(
    path: Path,
    *,
    id: str | None = None,
    labels: str | None = None,
    asked: Collection[str] = (),
    header: bool = True,
) -> RawTable:
    """Return a file as a table; the columns of ids and labels are read as text in formats of text.

    Every entry of the column `id` is text, "NA" too. `asked` are further columns that options name. A file of arrays
    (.npz, .mat) must hold one matrix, which is the table. Vectors of the same length are added as columns only if they
    are named: others may be the true classes, which are not features.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        msg = f"{path}: files of type {path.suffix or '(none)'} are not read; use one of {' '.join(_READERS)}."
        raise InvalidInputError(msg)
    _need_file(path)
    wanted = _Wanted(id, labels, frozenset([*asked, *([] if labels is None else [labels])]), header)
    try:
        table = reader(path, wanted)
    except (InvalidInputError, MissingPackageError, KeyboardInterrupt, MemoryError):
        raise
    except Exception as error:  # every reader raises errors of its own for a file of another format
        reason = " ".join(str(error).split()) or type(error).__name__
        if "pickle" in reason:  # numpy's message goes on to say how to load it nevertheless
            reason = "it holds pickled objects, which can run any code, or is no such file. Save plain numbers instead."
        msg = f"{path} cannot be read as {path.suffix}: {reason[:300]}"
        raise InvalidInputError(msg) from error
    if not len(table.frame):
        msg = f"{path} holds no rows."
        raise InvalidInputError(msg)
    return table


def _need_file(path: Path) -> None:
    if not path.exists():
        msg = f"{path}: there is no such file."
    elif path.is_dir():
        msg = f"{path} is a folder: name the file in it."
    elif path.stat().st_size == 0:
        msg = f"{path} is empty."
    else:
        return
    raise InvalidInputError(msg)


def _delimited(separator: str) -> Reader:
    def read(path: Path, wanted: _Wanted) -> RawTable:
        pd = _pandas()
        layout = {"sep": separator, "skipinitialspace": True, "encoding": "utf-8-sig", "index_col": False}
        layout |= {"header": 0 if wanted.header else None, "names": _names(path, separator) if wanted.header else None}
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", pd.errors.ParserWarning)
            try:
                columns = pd.read_csv(path, nrows=1, **layout).columns
                table = pd.read_csv(path, low_memory=False, **layout, **_types(columns, wanted))
            except pd.errors.ParserError:
                _refuse_long_rows(path, separator)
                raise
        if any(issubclass(warning.category, pd.errors.ParserWarning) for warning in said):  # it left entries out
            _refuse_long_rows(path, separator)
        table.columns = table.columns.astype(str)
        if wanted.header and len(table.columns) > 1 and all(_is_number(name) for name in table.columns):
            msg = f"{path}: its first row holds only numbers, so it is not a header: add one, or pass --no-header."
            raise InvalidInputError(msg)
        return leading_names(table, str(path), id=wanted.id, asked=wanted.asked)

    return read


def _types(columns: Iterable[object], wanted: _Wanted) -> dict[str, Any]:
    """Return what pandas needs to know to read ids and labels as text, and every id, "NA" too, as it is."""
    ids = {wanted.id, UNNAMED}
    return {
        "dtype": {column: str for column in columns if str(column) in ids | {wanted.labels}},
        "keep_default_na": False,
        "na_values": {column: [""] if str(column) in ids else _MISSING for column in columns},
    }


def _names(path: Path, separator: str) -> list[str] | None:
    """Return the names of all columns where the header lacks that of the first, as R's write.table leaves it out.

    Rows that end with a separator are one entry longer than the header as well, but their last entry is empty.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(islice(filter(None, csv.reader(file, delimiter=separator, skipinitialspace=True)), _PEEKED + 1))
    if len(rows) < 2:
        return None
    head, *body = rows
    lacks = all(len(row) == len(head) + 1 for row in body) and any(row[-1] for row in body)
    return [UNNAMED, *head] if lacks else None


def _refuse_long_rows(path: Path, separator: str) -> None:
    """Raise an error if a row has entries, other than empty ones, beyond those of the first row."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        head, *body = filter(None, csv.reader(file, delimiter=separator, skipinitialspace=True))
    for i, row in enumerate(body, start=1):
        if any(row[len(head) :]):
            msg = (
                f"{path}: row {i} has {len(row)} entries, but the header has {len(head)}: correct the row, or quote "
                "entries that contain the separator."
            )
            raise InvalidInputError(msg)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parquet(path: Path, wanted: _Wanted) -> RawTable:
    table = _pandas().read_parquet(path)
    table.columns = table.columns.astype(str)
    return index_names(table)


def _excel(path: Path, wanted: _Wanted) -> RawTable:
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        msg = f'{path}: Excel files are read with openpyxl: pip install "kernelweave[excel]".'
        raise MissingPackageError(msg) from error
    layout = {"header": 0 if wanted.header else None}
    pd = _pandas()
    with pd.ExcelFile(path) as book:
        columns = pd.read_excel(book, nrows=1, **layout).columns
        table = pd.read_excel(book, **layout, **_types(columns, wanted))
    table.columns = table.columns.astype(str)
    return leading_names(table, str(path), id=wanted.id, asked=wanted.asked)


def _npy(path: Path, wanted: _Wanted) -> RawTable:
    import numpy as np

    with path.open("rb") as file:  # np.load leaves a file open that it cannot read
        return _matrix_table({path.stem: np.load(file, allow_pickle=False)}, wanted.named, path)


def _npz(path: Path, wanted: _Wanted) -> RawTable:
    import numpy as np

    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        if {"format", "indptr", "indices", "data", "shape"} <= set(archive):
            from scipy import sparse

            return _matrix_table({path.stem: sparse.load_npz(path).toarray()}, wanted.named, path)
        return _matrix_table({name: archive[name] for name in archive}, wanted.named, path)


def _mat(path: Path, wanted: _Wanted) -> RawTable:
    from scipy import io, sparse

    arrays = {name: value for name, value in io.loadmat(path).items() if not name.startswith("__")}
    arrays = {name: value.toarray() if sparse.issparse(value) else value for name, value in arrays.items()}
    return _matrix_table({name: _vector(value) for name, value in arrays.items()}, wanted.named, path)


def _vector(value: Array) -> Array:
    """Return MATLAB's (n, 1) and (1, n) matrices as vectors."""
    return value.ravel() if value.ndim == 2 and 1 in value.shape and max(value.shape) > 1 else value


def _h5ad(path: Path, wanted: _Wanted) -> RawTable:
    try:
        import anndata
    except ImportError as error:
        msg = f'{path}: AnnData files are read with anndata: pip install "kernelweave[anndata]".'
        raise MissingPackageError(msg) from error
    data = anndata.read_h5ad(path)
    table = data.to_df()
    table.columns = table.columns.astype(str)
    for name in wanted.named & set(data.obs):
        table[name] = data.obs[name]
    title = data.obs_names.name
    columns = [*map(str, data.obs), *([] if title is None else [str(title)])]
    return RawTable(table.reset_index(drop=True), list(map(str, data.obs_names)), title, columns)


def _matrix_table(arrays: dict[str, Array], named: frozenset[str], path: Path) -> RawTable:
    pd = _pandas()
    matrices = {name: value for name, value in arrays.items() if value.ndim == 2 and name not in named}
    if len(matrices) != 1:
        found = ", ".join(f"{name} {value.shape}" for name, value in arrays.items()) or "nothing"
        msg = f"{path} must hold one matrix of shape (n_samples, n_features); it holds {found}."
        raise InvalidInputError(msg)
    (name, matrix), *_ = matrices.items()
    table = pd.DataFrame(matrix, columns=[f"{name}[{j}]" for j in range(matrix.shape[1])])
    vectors = {other: value for other, value in arrays.items() if value.shape == (len(matrix),)}
    columns = [*vectors, *table]
    for other in named & set(vectors):
        table[other] = vectors[other]
    return RawTable(table, columns=columns)


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
