"""One table of any supported type, as numbers with the names of its rows and columns, and new tables read alike."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._plural import counted
from kernelweave._types import Array
from kernelweave.errors import ColumnsWarning, InvalidInputError
from kernelweave.samples.numbers import canonical, unmasked

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "NamedColumns",
    "Table",
    "as_narwhals",
    "counts_rows",
    "counts_rows_elsewhere",
    "fitted_places",
    "in_fitted_order",
    "is_frame",
    "is_lazy",
    "is_plain",
    "is_sparse_frame",
    "is_table",
    "names_in",
    "names_of_rows",
    "plain_names",
    "read_table",
    "rows_by_name",
    "without_sparse_columns",
]


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers, dense or CSR, with one row per sample; names of rows and columns where the user's table has them.

    `index` is that of a data frame of pandas, also if it only counts rows; `names` is the one that names samples.
    `kind` is "table" for numbers as given, or tells how they were made: "numbers" (standardised) and "categories"
    (columns of 0 and 1) of a mixed table, coordinates from "distances", neighbourhoods in a "graph".
    """

    values: Any
    index: Any = None
    columns: tuple[str, ...] | None = None
    kind: str = "table"

    @property
    def names(self) -> Any:
        """The index if it names the samples, else None."""
        return None if self.index is None or counts_rows(self.index) else self.index


def is_table(thing: object) -> bool:
    """Return whether this is one table: a matrix, or a data frame."""
    return sparse.issparse(thing) or getattr(thing, "ndim", 0) == 2 or is_frame(thing)


def as_narwhals(thing: Any) -> Any:
    """Return a data frame in memory as one of narwhals; None for anything else, and if names of columns repeat."""
    try:
        frame = nw.from_native(without_sparse_columns(thing), eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        return None
    return frame if isinstance(frame, nw.DataFrame) else None


def without_sparse_columns(thing: object) -> Any:
    """Return a data frame of pandas with its sparse columns made dense, whose type narwhals does not know.

    Anything else, and one whose names of columns repeat, is returned as it is.
    """
    if not nw.dependencies.is_pandas_dataframe(thing) or not thing.columns.is_unique:
        return thing
    types = {name: kind.subtype for name, kind in thing.dtypes.items() if _is_sparse(kind)}
    return thing.astype(types) if types else thing


def _is_sparse(dtype: object) -> bool:
    """Return whether this is the type of a sparse column of pandas."""
    return type(dtype).__name__ == "SparseDtype"


def is_sparse_frame(frame: object) -> bool:
    """Return whether a data frame is one of pandas whose columns are all sparse numbers, and 0 where nothing is."""
    if not nw.dependencies.is_pandas_dataframe(frame) or not len(frame.columns) or not frame.columns.is_unique:
        return False
    types = frame.dtypes.unique()
    return all(_is_sparse(kind) and kind.subtype.kind in "iuf" and kind.fill_value == 0 for kind in types)


def read_table(thing: Any, name: str) -> Table:
    """Return the table of one view, checked to hold numbers."""
    if hasattr(thing, "obs_names") and hasattr(thing, "var_names"):  # an AnnData
        return replace(read_table(thing.X, name), index=thing.obs_names, columns=tuple(map(str, thing.var_names)))
    if is_frame(thing):
        return _read_frame(thing, name)
    if sparse.issparse(thing):
        values = canonical(sparse.csr_array(thing))
    elif isinstance(thing, np.ndarray):
        thing = unmasked(thing) if isinstance(thing, np.ma.MaskedArray) else thing
        values = np.asarray(thing, order="C")  # sums, and so results, do not depend on the order in memory
    else:
        values = _as_array(thing, name)
    if values.ndim != 2:
        msg = (
            f"View {name!r} must be a table of shape (n_samples, n_features); got {counted(values.ndim, 'dimension')}, "
            f"shape {values.shape}. Reshape one column by x[:, None]."
        )
        raise InvalidInputError(msg)
    if values.dtype.kind not in "fiub":
        msg = f"View {name!r} must hold numbers; got dtype {values.dtype}. Encode text and categories first."
        raise InvalidInputError(msg)
    return Table(values if values.dtype in (np.float32, np.float64) else values.astype(np.float64))


def _as_array(thing: Any, name: str) -> Array:
    if isinstance(thing, str | bytes | dict) or thing is None or is_lazy(thing):
        msg = f"View {name!r} must be an array, a sparse matrix or a data frame; got {type(thing).__name__}."
        raise InvalidInputError(msg)
    try:
        return np.asarray(thing, order="C")
    except ValueError as error:
        msg = f"View {name!r} is not a table: {error}."
        raise InvalidInputError(msg) from error


def is_frame(thing: object) -> bool:
    """Return whether this is a data frame in memory."""
    # asked of the type, since a lazy frame would have to compute its columns
    return hasattr(type(thing), "columns") and not is_lazy(thing) and not sparse.issparse(thing)


def is_lazy(thing: object) -> bool:
    """Return whether this is a data frame that is computed later, such as one of polars."""
    return hasattr(type(thing), "collect_schema") and hasattr(type(thing), "collect")


def is_plain(frame: Any) -> bool:
    """Return whether a data frame is one of pandas whose columns are all numpy's numbers.

    This is told at once, while types are translated column by column, which takes long for thousands of columns.
    """
    if not nw.dependencies.is_pandas_dataframe(frame) or not frame.columns.is_unique:
        return False
    return all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in frame.dtypes.unique())


def _read_frame(thing: Any, name: str) -> Table:
    if is_sparse_frame(thing):
        values = sparse.csr_array(thing.sparse.to_coo())
        return replace(read_table(values, name), index=thing.index, columns=tuple(map(str, thing.columns)))
    thing = without_sparse_columns(thing)
    if is_plain(thing):
        dtype = np.float32 if len(thing.columns) and (thing.dtypes == np.float32).all() else np.float64
        return Table(np.ascontiguousarray(thing.to_numpy(dtype)), thing.index, tuple(map(str, thing.columns)))
    try:
        frame = nw.from_native(thing, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        msg = f"View {name!r} has several columns of one name: give every column a name of its own."
        raise InvalidInputError(msg) from error
    except TypeError as error:
        msg = f"View {name!r} must be an array, a sparse matrix or a data frame in memory; got {type(thing).__name__}."
        raise InvalidInputError(msg) from error
    schema = frame.schema
    text = [column for column, kind in schema.items() if not (kind.is_numeric() or kind == nw.Boolean)]
    if text:
        msg = (
            f"View {name!r} must hold numbers, but its column {text[0]!r} is of type {schema[text[0]]}: encode it, or "
            "make it the index if it names the samples."
        )
        raise InvalidInputError(msg)
    single = bool(schema) and all(kind == nw.Float32 for kind in schema.values())
    dtype = np.float32 if single else np.float64
    if nw.dependencies.is_pandas_dataframe(thing):  # whose names may be numbers, which narwhals 1.31 does not find
        values = thing.to_numpy(dtype, na_value=np.nan)
    else:
        values = frame.with_columns(nw.all().cast(nw.Float32 if single else nw.Float64)).to_numpy()
    return Table(
        np.ascontiguousarray(values, dtype=dtype),
        nw.maybe_get_index(frame),
        tuple(map(str, frame.columns)),
    )


def names_of_rows(thing: object) -> Array | None:
    """Return the names of the rows of one table: its index, None if this is missing or not unique."""
    frame = as_narwhals(thing)
    return None if frame is None else names_in(nw.maybe_get_index(frame))


def names_in(index: pd.Index | None) -> Array | None:
    """Return the names of samples in a pandas index, None if there is none, if it counts them or repeats one."""
    if index is None or counts_rows(index) or not index.is_unique or (index.nlevels == 1 and index.hasnans):
        return None
    return plain_names(np.asarray(index))


def plain_names(names: Array) -> Array:
    """Return names as numbers or texts, which model files hold; dates and other objects become texts."""
    if names.dtype.kind in "biufSU" or (names.dtype.kind == "O" and all(isinstance(name, str) for name in names)):
        return names
    if names.dtype.kind == "M":
        names = names.astype("datetime64[ns]")  # the text depends on the unit
    return np.array([str(name) for name in names], dtype=object)


def rows_by_name(index: pd.Index, samples: Array) -> tuple[NDArray[np.intp], list[Any]]:
    """Return the row of every sample in an index, -1 where it has none, and the names of these samples.

    Names that are objects, such as dates and those of several levels, are found by their texts.
    """
    wanted, own = plain_names(samples), np.asarray(index)
    own = plain_names(own) if wanted.dtype.kind == "O" else own
    place = {name: i for i, name in enumerate(own.tolist())}
    rows = np.array([place.get(name, -1) for name in wanted.tolist()], dtype=np.intp)
    return rows, wanted[rows < 0].tolist()


def counts_rows(index: object) -> bool:
    """Return whether an index is 0, 1, 2, ..., which does not name samples."""
    steps = getattr(index, "start", None), getattr(index, "step", None)
    return type(index).__name__ == "RangeIndex" and steps == (0, 1)


def counts_rows_elsewhere(index: object) -> bool:
    """Return whether an index, or names, are the numbers 0, 1, 2, ... of as many rows in another order."""
    names = np.asarray(index)
    if names.dtype.kind not in "iu" or names.ndim != 1:
        return False
    rows = np.arange(len(names))
    return not np.array_equal(names, rows) and np.array_equal(np.sort(names), rows)


@dataclass(frozen=True, slots=True)
class NamedColumns:
    """How a table of numbers was read: the names of its columns in order, None for a table without names.

    Parameters
    ----------
    names : tuple of str or None
        The names.
    """

    kind: ClassVar[str] = "table"

    names: tuple[str, ...] | None

    def read(self, thing: Any, view: str) -> dict[str, Table]:
        """Return a new table with its columns in the order of `fit`; columns that `fit` did not see are dropped."""
        if self.names is not None and is_frame(thing):
            thing = in_fitted_order(self.names, thing, view)
        return {"": self.aligned(read_table(thing, view), view)}

    def aligned(self, table: Table, view: str) -> Table:
        """Return a table that was read already with its columns in the order of `fit`."""
        if self.names is None or table.columns is None:
            return table
        places = fitted_places(self.names, table.columns, view)
        return table if places is None else Table(table.values[:, places], table.index, self.names, table.kind)


def in_fitted_order(names: Sequence[str], thing: Any, view: str) -> Any:
    """Return a data frame with the columns of `fit` in their order; as it is if it is not in memory."""
    frame = as_narwhals(thing)
    if frame is None:
        return thing
    places = fitted_places(names, tuple(map(str, frame.columns)), view)
    if places is None:
        return thing
    try:
        return frame[:, places.tolist()].to_native()
    except ValueError:  # pandas moves columns of the other byte order one by one only
        return frame.select(*(frame.get_column(frame.columns[place]) for place in places)).to_native()


def fitted_places(names: Sequence[str], given: Sequence[str], view: str) -> NDArray[np.intp] | None:
    """Return the positions of the columns of `fit` among those given, None if they are the same in the same order.

    Columns that are absent are an error; others than those of `fit` are dropped with a warning.
    """
    if tuple(given) == tuple(names):
        return None
    place = {name: i for i, name in enumerate(given)}
    absent = [name for name in names if name not in place]
    if absent:
        msg = (
            f"View {view!r} lacks {counted(len(absent), 'column')} that the model was fitted on: {_shown(absent)}. Add "
            f'{"it" if len(absent) == 1 else "them"}; kernels="mixed" reads columns that are absent as missing cells.'
        )
        raise InvalidInputError(msg)
    known = set(names)
    extra = [name for name in given if name not in known]
    if extra:
        msg = f"{counted(len(extra), 'column')} of view {view!r} not seen in fit, and not used: {_shown(extra)}."
        warnings.warn(msg, ColumnsWarning, stacklevel=2)
    return np.array([place[name] for name in names], dtype=np.intp)


def _shown(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
