"""Scaling of samples before kernels compare them: kept for new samples, and reported.

Whether the length of a row means something, and which column matters, is usually not known: "auto" makes two versions
of the samples, their directions and their z-scores, and both are used. A model that compares the samples in one version
only chooses one of the two for every view, by the sizes of its columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy import sparse

from kernelweave._shares import percent
from kernelweave._types import Samples
from kernelweave.errors import InvalidInputError
from kernelweave.runtime import check_memory
from kernelweave.samples.column_sizes import FEW_COLUMNS, THIN, Size, evenness, grouped_lengths, in_unit, size_of
from kernelweave.samples.directions import directions
from kernelweave.samples.magnitudes import cast
from kernelweave.samples.views import Views

__all__ = [
    "FEW_COLUMNS",
    "SCALES",
    "TOGETHER",
    "Scale",
    "Scaling",
    "Version",
    "fit_by_view",
    "fit_scaling",
    "fit_versions",
    "is_thin",
    "scale_methods",
    "scaling_words",
    "shrunk",
]

TOGETHER = "together"  # the version in which numbers and categories of one table are compared together
Scale: TypeAlias = Literal["auto", "unit", "zscore", "none"]
SCALES: tuple[str, ...] = get_args(Scale)

_SCALED_ALREADY = {  # kinds of views, and why they are not scaled
    "numbers": "the columns of a mixed table are standardised when it is read",
    "categories": "categories are compared by match",
    "distances": "distances are used as they are given",
    "graph": "the neighbourhoods in a graph have unit length",
}
_IN_WORDS = {
    "unit": "scaled to unit length",
    "zscore": "standardised column by column",
    "none": "not scaled",
    _SCALED_ALREADY["numbers"]: "standardised when read",
    _SCALED_ALREADY["categories"]: "compared by match",
}
_CLIPPED = 3.0  # deviations: a column that is nearly constant would make an outlier of every sample that differs
_EQUAL = 64  # spacings of numbers: rows that differ by less are told apart by rounding alone
_EQUAL_WORDS = {  # of what would make all rows equal, and is replaced by z-scores
    "unit": "all rows are equal once they have unit length",
    "none": "the rows differ too little for numbers of their size",
}
_COMPARED = 2**16  # numbers at once
_BLOCK = 65_536  # rows that are scaled at once
_EXTREME = 1e100  # squares of larger values, or of the inverses of smaller ones, come near what numbers can hold


@dataclass(frozen=True, slots=True)
class Scaling:
    """How samples are scaled and why, with the constants of the training set.

    Parameters
    ----------
    method : {"unit", "zscore", "none"}
        "unit": every row at unit length, so that kernels compare directions. "zscore": every column with mean 0
        and deviation 1 over the training samples, values beyond ±3 cut off; a sparse matrix becomes dense. "none": as
        they are, but for one factor if `unit` is given.
    reason : str
        Why this method was used.
    mean, deviation : array of shape (n_features,) or None
        Of the training samples, for "zscore".
    unit : float or None
        Samples are divided by it before anything else: the largest absolute value of the training samples, or a sixth
        of it unless they are mostly zero. It is given where "auto" leaves samples as they are, so that their unit does
        not matter to polynomial kernels, and for "zscore" where their squares might not be finite.
    """

    method: str
    reason: str
    mean: npt.NDArray[Any] | None = field(default=None, repr=False)
    deviation: npt.NDArray[Any] | None = field(default=None, repr=False)
    unit: float | None = field(default=None, repr=False)

    def transform(self, X: Samples, dtype: npt.DTypeLike | None = None, *, clipped: bool = True) -> Samples:
        """Return scaled samples, in this precision if it is given, and in memory of their own, which a model may keep.

        Sparse ones stay sparse, as CSR arrays, but for z-scores.
        """
        if dtype is not None and X.dtype != dtype:
            return self._converted(X, np.dtype(dtype))
        if self.unit is not None:
            X = in_unit(X, self.unit)
        if self.method == "unit":
            return directions(X)
        if self.method == "zscore":
            Z = _as_array(X) - self.mean
            Z /= self.deviation
            Z = np.clip(Z, -_CLIPPED, _CLIPPED, out=Z) if clipped else Z
            return Z.astype(X.dtype, copy=False)
        if sparse.issparse(X):
            return sparse.csr_array(X, copy=self.unit is None)
        return X.copy() if self.unit is None else X

    def _converted(self, X: Samples, dtype: np.dtype[Any]) -> Samples:
        """Return scaled samples in another precision, converted block by block to save memory."""
        if sparse.issparse(X):
            return cast(self.transform(X), dtype, "X", copy=False)
        rows = np.empty(X.shape, dtype=dtype)
        for i in range(0, len(X), _BLOCK):
            rows[i : i + _BLOCK] = cast(self.transform(X[i : i + _BLOCK]), dtype, "X", copy=False)
        return rows


@dataclass(frozen=True, slots=True)
class Version:
    """One way to scale the samples of all views, and how much it counts.

    Parameters
    ----------
    name : {"direction", "zscore", "by view", "given", "together"}
        Directions of the rows, z-scores of the columns, one of the two for every view, or as the user asked;
        "together" is the first of these again, where numbers and categories of a mixed table are compared together.
    scalings : dict of view name to Scaling
        How each view is scaled.
    share : float
        The weight of this version among all that were used, between 0 and 1.
    few_columns : bool
        Whether a view has fewer than ten columns.
    """

    name: str
    scalings: Mapping[str, Scaling]
    share: float = 1.0
    few_columns: bool = False

    def refitted(self, views: Views) -> Version:
        """Return this version with the same methods and the constants of other samples."""
        tables = dict(zip(views.names, views.tables, strict=True))
        scalings = {
            name: Scaling("none", one.reason, unit=size_of(tables[name]).unit)
            if one.method == "none" and one.unit is not None
            else fit_scaling(tables[name], one.method)
            for name, one in self.scalings.items()
        }
        return replace(self, scalings=scalings)


def fit_versions(views: Views, scale: Scale | Mapping[str, Scale]) -> tuple[Version, ...]:
    """Return the versions of the samples to compare: one where `scale` is given, two where it is "auto".

    The first has the directions of the rows, or rows as they are where a table has fewer than ten columns. It counts
    less where few columns have most of the size of the rows: columns in different units, whose directions mean little.
    The second has z-scores. They count less where columns are mostly zero, such as words, which have no use for means
    and deviations; where columns are filled to less than 0.18 their view stays the same. It is the only one where the
    rows of every view have one direction.
    """
    open_to_all = scale == "auto" and set(views.kinds) == {"table"}
    given = {} if open_to_all else _given(views, scale)
    tables = dict(zip(views.names, views.tables, strict=True))
    sizes = {
        name: size_of(tables[name]) for name, kind in zip(views.names, views.kinds, strict=True) if kind == "table"
    }
    few = any(size.columns < FEW_COLUMNS for size in sizes.values())
    sizes = {name: size for name, size in sizes.items() if name not in given}
    if not sizes:
        return (Version("given", given, few_columns=few),)
    reason = "no scaling is known to be the right one"
    direction = {name: _direction(tables[name], size, reason) for name, size in sizes.items()}
    if all(one.method == "zscore" for one in direction.values()):
        return (Version("zscore", {name: given.get(name) or direction[name] for name in views.names}, few_columns=few),)
    even = float(np.mean([evenness(tables[name], size) ** 4 for name, size in sizes.items()]))
    first = Version("direction", {name: given.get(name) or direction[name] for name in views.names}, even, few)
    full = {name: size.full**4 for name, size in sizes.items() if size.full >= THIN}
    if not full:
        return (first,)
    z = {name: replace(fit_scaling(tables[name], "zscore"), reason=reason) for name in full}
    share = float(np.mean(list(full.values())))
    second = Version("zscore", {name: z.get(name) or first.scalings[name] for name in views.names}, share, few)
    return first, second


def fit_by_view(
    views: Views,
    scale: Scale | Mapping[str, Scale],
    *,
    as_they_are: str | None = None,
    precision: npt.DTypeLike | None = None,
) -> Version:
    """Return one version of the samples, in which "auto" scales every view as its columns suggest.

    The directions of the rows, or rows as they are where a table has fewer than ten columns. Where few columns have
    most of the size of the rows, such as columns in different units, or where the lengths of the rows fall into groups,
    it is z-scores, unless columns are mostly zero. The sizes of columns are compared as the versions of `fit_versions`.
    With `as_they_are`, a reason, "auto" scales nothing. Samples are compared in `precision`, by default their own.
    """
    open_to_all = scale == "auto" and set(views.kinds) == {"table"} and as_they_are is None
    given = {} if open_to_all else _given(views, scale, as_they_are)
    scalings = {}
    for name, X in zip(views.names, views.tables, strict=True):
        if name in given:
            scalings[name] = given[name]
            continue
        size, reason = size_of(X), ""
        if size.full >= THIN and evenness(X, size) < size.full:
            reason = "few columns have most of the size of the rows"
        elif size.full >= THIN and size.columns >= FEW_COLUMNS and grouped_lengths(X, size):
            reason = "the lengths of the rows fall into groups, which directions would merge"
        if reason:
            scalings[name] = replace(fit_scaling(X, "zscore"), reason=reason)
        else:
            scalings[name] = _direction(X, size, "its columns are of similar size, or mostly zero", precision)
    return Version("given" if len(given) == len(scalings) else "by view", scalings)


def shrunk(version: Version) -> Version:
    """Return the version with rows that keep their length in a unit in which they are as large as clipped z-scores.

    Products of larger ones separate directions rather than samples, which is less accurate with few landmarks.
    """
    scalings = {
        name: replace(one, unit=2 * one.unit) if one.method == "none" and one.unit is not None else one
        for name, one in version.scalings.items()
    }
    return replace(version, scalings=scalings)


def _given(views: Views, scale: Scale | Mapping[str, Scale], as_they_are: str | None = None) -> dict[str, Scaling]:
    """Return the scaling of views that have one version: it was asked for, or they were scaled when they were read."""
    methods = scale_methods(views.names, scale)
    if isinstance(scale, Mapping):
        _check_scalable(views, methods)
    found = {}
    for name, kind, X in zip(views.names, views.kinds, views.tables, strict=True):
        method = methods[name]
        if method != "auto" and kind in ("table", "numbers"):
            found[name] = fit_scaling(X, method)
        elif kind != "table":
            found[name] = Scaling("none", _SCALED_ALREADY[kind], unit=size_of(X).unit if kind == "distances" else None)
        elif as_they_are is not None:
            found[name] = Scaling("none", as_they_are)
    return found


def is_thin(X: Samples) -> bool:
    """Return whether a table is mostly zero, like counts of words: its z-scores mean nothing."""
    return size_of(X).full < THIN


def _direction(X: Samples, size: Size, reason: str, precision: npt.DTypeLike | None = None) -> Scaling:
    """Return the scaling to unit length, or to one unit for all where there are few columns.

    Where all rows would be equal in this precision, it is z-scores, unless these are equal too.
    """
    found = Scaling("unit", reason)
    if size.columns < FEW_COLUMNS:
        n = round(size.columns)
        what = "1 column is" if n == 1 else f"{n} columns are"
        found = Scaling("none", f"{what} few, so that the lengths of the rows matter", unit=size.unit)
    dtype = np.dtype(precision or X.dtype)
    if not _makes_equal(found, X, dtype):
        return found
    z = replace(fit_scaling(X, "zscore"), reason=_EQUAL_WORDS[found.method])
    return found if _makes_equal(z, X, dtype) else z


def _makes_equal(scaling: Scaling, X: Samples, dtype: np.dtype[Any]) -> bool:
    """Return whether scaled rows differ from the first by less than can be told apart in this precision.

    They are compared in blocks: of most tables, the first rows differ.
    """
    block = max(1, _COMPARED // X.shape[1])
    first = np.empty(0)
    for i in range(0, X.shape[0], block):
        rows = scaling.transform(X[i : i + block])
        rows = rows.toarray() if sparse.issparse(rows) else rows
        first = rows[0].astype(np.float64) if i == 0 else first
        if np.abs(rows - first).max() > _EQUAL * np.finfo(dtype).eps * np.abs(first).max():
            return False
    return True


def fit_scaling(X: Samples, method: str) -> Scaling:
    """Return how to scale samples by one method, with the constants of these samples.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The training samples, finite.
    method : {"unit", "zscore", "none"}
        As in `Scaling`.

    Returns
    -------
    Scaling
        With `method`, `reason` and `transform`; the deviation of a constant column is 1.
    """
    if method != "zscore":
        return Scaling(method, "it was asked for")
    unit = size_of(X).unit
    extreme = unit is not None and not 1 / _EXTREME < unit < _EXTREME
    table = in_unit(X, unit) if unit is not None and extreme else X
    if sparse.issparse(table):
        table = table.astype(np.float64)
        mean = np.asarray(table.mean(axis=0)).ravel()
        deviation = np.sqrt(np.maximum(np.asarray(table.multiply(table).mean(axis=0)).ravel() - mean**2, 0))
    else:
        mean, deviation = table.mean(axis=0, dtype=np.float64), table.std(axis=0, dtype=np.float64)
    constant = deviation <= 10 * np.finfo(table.dtype).eps * np.abs(mean)
    return Scaling(method, "it was asked for", mean, np.where(constant, 1.0, deviation), unit if extreme else None)


def scale_methods(names: Sequence[str], scale: Scale | Mapping[str, Scale]) -> Mapping[str, Scale]:
    """Return the method of every view: one method for all, or a dict with the views' names."""
    methods = scale if isinstance(scale, Mapping) else dict.fromkeys(names, scale)
    if set(methods) != set(names):
        msg = f"scale must name every view: the views are {', '.join(names)}; got {', '.join(map(str, methods))}."
        raise InvalidInputError(msg)
    for method in methods.values():
        if not (isinstance(method, str) and method in SCALES):
            msg = f"scale must be one of {', '.join(map(repr, SCALES))}; got {method!r}."
            raise InvalidInputError(msg)
    return methods


def _check_scalable(views: Views, methods: Mapping[str, Scale]) -> None:
    """Refuse a method for a view of categories, distances or edges."""
    for name, kind in zip(views.names, views.kinds, strict=True):
        if kind in ("categories", "distances", "graph") and methods[name] not in ("auto", "none"):
            given = f"scale[{name!r}] = {methods[name]!r}"
            msg = f"{given} scales numbers, but {_SCALED_ALREADY[kind]}: use 'auto' or 'none'."
            raise InvalidInputError(msg)


def scaling_words(versions: Sequence[Version]) -> list[str]:
    """Return sentences that say how samples were scaled: what each version counted, or the reason for the only one."""
    if not versions:  # of models that do not scale
        return []
    if len(versions) > 1:
        each = " and ".join(
            f"{_methods_in_words(version)} ({percent(version.share)} of the weight)" for version in versions
        )
        return [f"The samples were compared in {len(versions)} versions: {each}."]
    scalings = versions[0].scalings
    return [
        f"The samples{f' of view {view!r}' if len(scalings) > 1 else ''} were {_IN_WORDS[one.method]}, "
        f"since {one.reason}."
        for view, one in scalings.items()
    ]


def _methods_in_words(version: Version) -> str:
    """Return what a version does to the samples, with the names of the views where they differ."""
    if version.name == TOGETHER:
        return "the first of these with numbers and categories together"
    views: dict[str, list[str]] = {}
    for view, one in version.scalings.items():
        views.setdefault(_IN_WORDS.get(one.reason) or _IN_WORDS[one.method], []).append(view)
    each = [words if len(views) == 1 else f"{', '.join(names)} {words}" for words, names in views.items()]
    return ", ".join(each)


def _as_array(X: Samples) -> npt.NDArray[Any]:
    """Return a table as an array; a sparse one if that fits into memory."""
    if not sparse.issparse(X):
        return np.asarray(X)
    what = f"The z-scores of a sparse matrix of shape {X.shape}"
    check_memory(8 * X.shape[0] * X.shape[1], what=what, advice='use scale="unit"')
    return np.asarray(X.toarray())
