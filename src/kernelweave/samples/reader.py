"""The reader of samples: converts what a user passes to Views, Chunks, or a stack of kernel matrices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias, cast, runtime_checkable

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from kernelweave._plural import counted
from kernelweave._types import Table, Tables
from kernelweave.errors import InvalidInputError
from kernelweave.samples.alignment import need_samples
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.comparisons import Distances, Graph
from kernelweave.samples.mixed_table import ColumnChoices, MixedTable, as_frame, is_mixed
from kernelweave.samples.numbers import canonical, unmasked
from kernelweave.samples.precomputed import KernelStack, read_cross_stack, read_stack, refuse_non_kernels
from kernelweave.samples.refusals import not_numbers, refusal
from kernelweave.samples.table import (
    NamedColumns,
    in_fitted_order,
    is_frame,
    is_lazy,
    is_sparse_frame,
    is_table,
    names_of_rows,
    plain_names,
    without_sparse_columns,
)
from kernelweave.samples.view_columns import view_parts
from kernelweave.samples.views import Choices, TableReading, Views

__all__ = [
    "SampleSet",
    "SamplesLike",
    "column_choices",
    "fitted_names",
    "form_of",
    "in_columns_of_fit",
    "read_like",
    "read_samples",
]

SampleSet: TypeAlias = Views | Chunks | KernelStack

_ONE_VIEW = ("X",)  # the name that `Views.of_table` gives
_FEATURES = ("n_features_in_", "feature_names_in_", "column_names_")
# the largest values allowed, by the bytes of a number: kernels square the samples, unless a model scales them first
_LARGEST = {4: 1e9, 8: 1e75}
_LARGEST_TO_SCALE = {4: 1e30, 8: 1e200}

# what a user may pass as X: in memory, or read in chunks
SamplesLike: TypeAlias = Tables | Views | Chunks | str | PathLike[str] | Iterator[Table] | Callable[[], Iterable[Table]]
Form: TypeAlias = Literal["table", "several", "chunks"]


@runtime_checkable
class HasChoices(Protocol):
    """Kernels for mixed tables: they say how data frames are read."""

    @property
    def choices(self) -> ColumnChoices:
        """How data frames are read."""


def read_samples(estimator: BaseEstimator, X: SamplesLike, *, precomputed: bool, kernels: object = None) -> SampleSet:
    """Return the samples of `fit`, checked.

    Parameters
    ----------
    estimator : estimator
        Its parameters `views` (columns of one table by view) and `dtype` are used if it has them. scikit-learn's
        checks set the number and the names of its features; `attributes` of the samples has them too.
    X : table, several tables, chunks or kernel matrices
        A dict, a list or tuple of tables, MuData and AnnData are views; a path, a dask collection, an iterator, a
        function and `Chunks` are read in chunks; anything else is one table.
    precomputed : bool
        Whether X holds kernel matrices.
    kernels : kernels, optional
        As the estimators' parameter: those for mixed tables say how data frames are read. With others, data frames
        that have columns other than numbers are mixed tables.
    """
    dtype, form = getattr(estimator, "dtype", None), form_of(X)
    if precomputed:
        _no_columns(estimator, "kernels are 'precomputed'")
        stack = read_stack(_matrices(X, form))
        if getattr(estimator, "_only_kernels", False):
            refuse_non_kernels(stack)
        return stack if dtype is None else stack.astype(dtype, copy=False)
    if form == "chunks":
        if column_choices(kernels) is not None:
            msg = "kernels are 'mixed', but X is read in chunks: pass a data frame in memory."
            raise InvalidInputError(msg)
        return _chunks(estimator, X)
    if form == "several":
        views = _several_tables(estimator, X, column_choices(kernels))
    else:
        views = _one_table(estimator, X, kernels, reset=True)
    _check_magnitudes(views, _LARGEST_TO_SCALE if hasattr(estimator, "scale") else _LARGEST)
    views = copy(views if dtype is None else views.astype(dtype, copy=False))  # a user's own Views stay as they are
    if views.sample_names is not None:
        views.sample_names = plain_names(views.sample_names)  # a model keeps its samples, and is saved
    views.attributes = {
        "n_features_in_": views.shape[1],
        "view_names_": views.names,
        "view_widths_": views.widths,
        # labels of one table are taken by position, as in scikit-learn; its names are for `explain` alone
        "sample_names_": names_of_rows(X) if form == "table" and hasattr(X, "columns") else views.sample_names,
        "readings_": dict(views.readings),
        **{name: vars(estimator)[name] for name in _FEATURES if form == "table" and hasattr(estimator, name)},
    }
    return views


def _check_magnitudes(views: Views, limits: Mapping[int, float]) -> None:
    """Refuse tables whose values are too large or too small: to be squared, or to be scaled by a model that does so."""
    for X, name in zip(views.tables, views.names, strict=True):
        values, limit = X.data if sparse.issparse(X) else X, limits[X.dtype.itemsize]
        largest = float(max(values.max(initial=0), -values.min(initial=0)))
        if largest > limit or 0 < largest < 1 / limit:
            msg = (
                f"{name} has absolute values up to {largest:.3g}, but the largest must lie between {1 / limit:g} and "
                f"{limit:g} in {X.dtype}: divide the table by its largest value, or standardise its columns."
            )
            raise InvalidInputError(msg)


def column_choices(kernels: object) -> Choices:
    """Return how `kernels` ask data frames to be read: all of them, some by their names, or None."""
    given = kernels if isinstance(kernels, Mapping) else {"": kernels}
    found: dict[str, ColumnChoices] = {}
    for name, one in given.items():
        if isinstance(one, HasChoices):
            found[str(name)] = one.choices
        elif isinstance(one, str) and one == "mixed":
            found[str(name)] = ColumnChoices()
    return (found or None) if isinstance(kernels, Mapping) else found.get("")


def read_like(estimator: BaseEstimator, X: SamplesLike, *, kernel_names: tuple[str, ...] | None) -> SampleSet:
    """Return samples in the form of those that an estimator was fitted on, checked against them.

    `kernel_names` are those of precomputed kernels, None for samples.
    """
    dtype, form = getattr(estimator, "dtype", None), form_of(X)
    if kernel_names is not None:
        matrices, samples = _matrices(X, form), estimator.sample_names_
        stack = read_cross_stack(matrices, kernel_names, estimator.n_features_in_, samples)
        return stack if dtype is None else stack.astype(dtype, copy=False)
    if form == "chunks":
        _check_fitted_on_one_table(estimator)
        names = fitted_names(estimator)
        return _chunks(estimator, X) if names is None else _chunks(estimator, X).in_columns(names)
    readings = estimator.readings_
    alone = estimator.view_names_ == _ONE_VIEW and getattr(estimator, "views", None) is None
    if form == "several" and alone:  # a table by itself is not listed there
        names = fitted_names(estimator)
        readings = readings if names is None else {"X": NamedColumns(names)}
    if isinstance(X, Views):
        views = X.fitted_to(readings)
    elif form == "several":
        views = Views(cast(Tables, X), readings=readings)
    else:
        _need_views(estimator)
        views = _one_table(estimator, X, None, reset=False)
    if (views.names, views.widths) != (estimator.view_names_, estimator.view_widths_):
        views = _like_fitted(estimator, views)
    return views if dtype is None else views.astype(dtype, copy=False)


def _like_fitted(estimator: BaseEstimator, views: Views) -> Views:
    """Return the views in the order of `fit`; absent ones are gaps, other names or widths an error."""
    names, widths = estimator.view_names_, estimator.view_widths_
    if views.names != names:
        if not set(views.names) <= set(names):
            given = tuple(estimator.readings_) or names  # a mixed table is several views, but one of the user's
            fitted = "one table" if given == _ONE_VIEW else f"the views {', '.join(given)}"
            got = "one table" if views.names == _ONE_VIEW else ", ".join(views.names)
            msg = f"The model was fitted on {fitted}; got {got}."
            raise InvalidInputError(msg)
        views = views.with_gaps(names, widths)
    for name, width, expected in zip(names, views.widths, widths, strict=True):
        if width != expected:
            what = f"{type(estimator).__name__} is expecting {counted(expected, 'feature')}"
            msg = f"View {name!r} has {counted(width, 'feature')}, but {what}."
            raise InvalidInputError(msg)
    return views


def _need_views(estimator: BaseEstimator) -> None:
    """Refuse one table for a model that was fitted on several."""
    given = tuple(estimator.readings_)
    if getattr(estimator, "views", None) is None and any(name != _ONE_VIEW[0] for name in given):
        msg = (
            f"The model was fitted on the views {', '.join(given)}; got one table: pass a dict of tables, such as "
            f"{{{given[0]!r}: table}}."
        )
        raise InvalidInputError(msg)


def _check_fitted_on_one_table(estimator: BaseEstimator) -> None:
    """Refuse chunks for a model that was not fitted on one table of numbers."""
    if any(isinstance(reading, MixedTable) for reading in estimator.readings_.values()):
        msg = (
            "The model was fitted on a mixed table, but X is read in chunks of numbers: pass data frames in memory, "
            "one part after the other if they are large. Every sample is predicted by itself."
        )
        raise InvalidInputError(msg)
    if estimator.view_names_ != _ONE_VIEW:
        names = ", ".join(estimator.view_names_)
        msg = f"The model was fitted on the views {names}, but X is read in chunks of one table: pass views in memory."
        raise InvalidInputError(msg)


def _chunks(estimator: BaseEstimator, X: Any) -> Chunks:
    _no_columns(estimator, "X is read in chunks")
    return X if isinstance(X, Chunks) else Chunks(X)


def _no_columns(estimator: BaseEstimator, what: str) -> None:
    """Refuse the parameter `views` for samples that are not a table in memory."""
    if getattr(estimator, "views", None) is not None:
        msg = f"views= names columns of one table in memory, but {what}: leave one of them out."
        raise InvalidInputError(msg)


def _matrices(X: Any, form: Form) -> Any:
    """Return kernel matrices in memory; an error if X is read in chunks."""
    if form == "chunks":
        msg = f"kernels are 'precomputed', but X is read in chunks; got {type(X).__name__}: load the matrices first."
        raise InvalidInputError(msg)
    return X


def _several_tables(estimator: BaseEstimator, X: Any, choices: Choices) -> Views:
    """Return the views of `fit`, checked."""
    if getattr(estimator, "views", None) is not None:
        msg = (
            f"views={estimator.views!r} names columns of one table, but several tables were given: leave one of them "
            "out."
        )
        raise InvalidInputError(msg)
    views = X if isinstance(X, Views) else Views(X, choices=choices)
    if views.n_samples < 2:
        msg = f"Found 1 sample in the views (shape={views.shape}) while a minimum of 2 is required."
        raise InvalidInputError(msg)
    need_samples(views.present, views.names, views.sample_names, least=2)
    return views


def _one_table(estimator: BaseEstimator, X: Any, kernels: object, *, reset: bool) -> Views:
    """Return one table as a view, or as several if it is mixed or the parameter `views` names columns of each."""
    columns = getattr(estimator, "views", None)
    frame = hasattr(type(X), "columns") and _is_frame(X)
    choices = column_choices(kernels) if frame else None
    readings = {} if reset else estimator.readings_
    # of new samples, whether the one table of `fit` was mixed, or a part of it that `views` names
    mixed = any(isinstance(one, MixedTable) for name, one in readings.items() if columns is not None or name == "X")
    fitted = readings.get("X") if columns is None else None
    named = frame and isinstance(fitted, NamedColumns) and fitted.names is not None  # by a dict of one table
    if mixed or named or (reset and frame and (choices is not None or is_mixed(X))):
        views = _mixed_table(estimator, X, choices, readings)
        views.counted = False  # its index was left out
        return views
    if frame and not reset:
        X = in_columns_of_fit(estimator, X)
    if frame and not is_sparse_frame(X):  # which scikit-learn reads as a sparse matrix
        X = without_sparse_columns(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "mMV":
        raise not_numbers(X)
    # scikit-learn converts values, and adds them up, before it refuses infinite ones
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            table = validate_data(
                estimator,
                unmasked(X) if isinstance(X, np.ma.MaskedArray) else X,
                reset=reset,
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                order="C",  # sums, and so results, do not depend on the order in memory
                ensure_all_finite=True if columns is None else "allow-nan",
                ensure_min_samples=2 if reset else 1,
            )
        except ValueError as error:
            told = refusal(error, X, mixed=hasattr(estimator, "kernels"), fitted=frame or not reset)
            if told is None:
                raise
            raise told from error
    if reset and frame:
        _keep_names(estimator, X)
    table = canonical(table) if sparse.issparse(table) else table
    if columns is None:
        return Views.of((table,), np.ones((1, table.shape[0]), dtype=bool))
    names, d = getattr(estimator, "feature_names_in_", None), table.shape[1]
    texts = getattr(estimator, "column_names_", names)  # also of names that are numbers

    places = view_parts(columns, d, names, np.asarray, texts=texts)
    own = {
        name: NamedColumns(None if texts is None else tuple(str(texts[i]) for i in where))
        for name, where in places.items()
    }
    views = Views({name: table[:, where] for name, where in places.items()}, readings=own)
    need_samples(views.present, views.names, views.sample_names, least=2 if reset else 0)
    return views


def _keep_names(estimator: BaseEstimator, X: Any) -> None:
    """Keep names of columns that are not texts, such as numbers and dates; scikit-learn keeps texts only."""
    if not hasattr(estimator, "feature_names_in_"):
        estimator.column_names_ = tuple(map(str, X.columns))


def in_columns_of_fit(estimator: object, X: Any) -> Any:
    """Return a data frame with the columns of `fit` in their order, found by their names."""
    names = fitted_names(estimator)
    if names is None:
        return X
    texts = not hasattr(estimator, "feature_names_in_") and all(isinstance(name, str) for name in X.columns)
    if texts and not set(names) <= set(X.columns):  # scikit-learn warns of names that fit had not
        return X
    return in_fitted_order(names, X, "X")


def fitted_names(estimator: BaseEstimator) -> tuple[str, ...] | None:
    """Return the names of the columns of the one table of `fit`, as texts; None if they had none."""
    if hasattr(estimator, "feature_names_in_"):
        return tuple(estimator.feature_names_in_)
    if hasattr(estimator, "column_names_"):
        return tuple(estimator.column_names_)
    reading = estimator.readings_.get("X")
    return reading.names if isinstance(reading, NamedColumns) else None


def _is_frame(X: Any) -> bool:
    """Return whether X, which has columns, is a data frame; those that scikit-learn would misread are refused."""
    if is_lazy(X):
        msg = f"X is a {type(X).__name__}, which is not in memory: pass X.collect()."
        raise InvalidInputError(msg)
    if is_frame(X) and any(getattr(dtype, "kind", "") == "c" for dtype in getattr(X, "dtypes", ())):
        msg = "X has a column of complex numbers: pass its real and imaginary parts as two columns."
        raise InvalidInputError(msg)
    names = list(X.columns if nw.dependencies.is_pandas_dataframe(X) else getattr(X, "column_names", ()))  # of pyarrow
    if len(set(names)) < len(names):
        ((twice, _),) = Counter(names).most_common(1)
        msg = f"X has several columns of one name ({twice!r}): give every column a name of its own."
        raise InvalidInputError(msg)
    if is_frame(X) and 0 in getattr(X, "shape", ())[1:]:
        msg = f"X has no columns (shape={X.shape}): pass at least one feature."
        raise InvalidInputError(msg)
    return is_frame(X)


def _mixed_table(estimator: BaseEstimator, X: Any, choices: Choices, readings: dict[str, TableReading]) -> Views:
    """Return a mixed table as views, one for the numbers and one for the categories of X, or of each of its views.

    A new table whose columns had names in a dict of one is one view.
    """
    columns, reset = getattr(estimator, "views", None), not readings
    if reset:
        validate_data(estimator, X, skip_check_array=True)  # sets the number of columns and their names
        _keep_names(estimator, X)
    frame = nw.maybe_reset_index(as_frame(X, "X"))  # one table has no samples to align by their names
    if len(frame) < (2 if reset else 1):
        least = 2 if reset else 1
        msg = (
            f"Found {counted(len(frame), 'sample')} in X (shape={frame.shape}) while a minimum of {least} is required."
        )
        raise InvalidInputError(msg)
    if columns is None:
        return Views({"X": frame.to_native()}, choices=choices, readings=readings)
    if not reset:
        frame = as_frame(in_columns_of_fit(estimator, frame.to_native()), "X")
    names = np.asarray(frame.columns, dtype=object)
    parts = view_parts(
        columns, len(names), names, lambda where: frame[:, where.tolist()].to_native(), texts=list(map(str, names))
    )
    views = Views(parts, choices=choices, readings=readings)
    need_samples(views.present, views.names, views.sample_names, least=2 if reset else 0)
    return views


def form_of(X: object) -> Form:
    """Return how X is read: as one table, as several, or in chunks."""
    if isinstance(X, np.ndarray) or sparse.issparse(X):  # some sparse formats are mappings
        return "table"
    if isinstance(X, Chunks | str | PathLike | Iterator) or callable(X) or hasattr(X, "__dask_graph__"):
        return "chunks"
    if isinstance(X, Views | Distances | Graph | Mapping) or hasattr(X, "obs_names"):
        return "several"
    if isinstance(X, list | tuple) and any(is_table(part) or isinstance(part, Distances | Graph) for part in X):
        return "several"
    return "table"
