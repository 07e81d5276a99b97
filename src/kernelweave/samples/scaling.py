"""Scaling of samples before kernels compare them: chosen from the data, reported, and kept for new samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy import sparse

from kernelweave._types import Samples
from kernelweave.errors import InvalidInputError
from kernelweave.samples.views import Views

__all__ = ["SCALES", "Scale", "Scaling", "fit_scaling", "fit_scalings", "scale_methods", "scaled"]

Scale: TypeAlias = Literal["auto", "unit", "zscore", "none"]
SCALES: tuple[str, ...] = get_args(Scale)

_SCALED_ALREADY = {  # kinds of views, and why they are not scaled
    "numbers": "the columns of a mixed table are standardised when it is read",
    "categories": "categories are compared by match",
    "distances": "distances are used as they are given",
    "graph": "the neighbourhoods in a graph have unit length",
}
_HETEROGENEOUS = 10.0  # ratio of large to small column ranges
_FEW_COLUMNS = 10  # with fewer, the length of a row holds too much of its information
_UNIT, _SPARSE_UNIT = 4.0, 1.0  # the largest entry of a table is brought to 1 to 2 times this; indicators stay 1
_EXTREME = 1e100  # squares of larger values, or of the inverses of smaller ones, come near what numbers can hold


@dataclass(frozen=True, slots=True)
class Scaling:
    """How samples are scaled and why, with the constants of the training set.

    Parameters
    ----------
    method : {"unit", "zscore", "none"}
        "unit": every row at unit length, so that kernels compare directions. "zscore": every column with mean 0
        and deviation 1 over the training samples; a sparse matrix is divided only, so that it stays sparse.
        "none": as they are, but for one factor if `unit` is given.
    reason : str
        Why this method was chosen.
    mean, deviation : array of shape (n_features,) or None
        Of the training samples, for "zscore".
    unit : float or None
        The largest power of two that is not above the largest absolute value of the training samples. Samples are
        divided by it, and multiplied by 4 unless they are sparse, before anything else. It is given where "auto" chose
        "none", so that the unit of the samples does not matter to polynomial kernels, and for "zscore" where their
        squares might not be finite.
    """

    method: str
    reason: str
    mean: npt.NDArray[Any] | None = field(default=None, repr=False)
    deviation: npt.NDArray[Any] | None = field(default=None, repr=False)
    unit: float | None = field(default=None, repr=False)

    def transform(self, X: Samples) -> Samples:
        """Return scaled samples; sparse ones stay sparse, and the precision is kept."""
        if self.unit is not None:
            X = _in_unit(X, self.unit)
        if self.method == "unit":
            return _unit(X)
        if self.method == "zscore":
            inverse = 1 / np.asarray(self.deviation)
            if sparse.issparse(X):
                return sparse.csr_array(X @ sparse.diags_array(inverse.astype(X.dtype)))
            return ((X - self.mean) * inverse).astype(X.dtype, copy=False)
        return X


def fit_scaling(X: Samples, method: str = "auto") -> Scaling:
    """Choose how to scale samples, unless `method` is given, and compute the constants from them.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The training samples, finite.
    method : {"auto", "unit", "zscore", "none"}, default="auto"
        "auto" decides from the data: "zscore" for columns of very different ranges (measurements in different
        units), "unit" for text and other sparse counts and for many columns of similar range (pixels,
        expression levels), "none" for few columns of similar range and for sparse tables of mixed kind.

    Returns
    -------
    Scaling
        With `method`, `reason` and `transform`.
    """
    if not (isinstance(method, str) and method in SCALES):
        msg = f"scale must be one of {', '.join(map(repr, SCALES))}; got {method!r}."
        raise InvalidInputError(msg)
    unit = _unit_of(X)
    extreme = unit is not None and not 1 / _EXTREME < unit < _EXTREME
    table = _in_unit(X, unit) if unit is not None and extreme else X
    given, (method, reason) = method, _decide(table) if method == "auto" else (method, "it was asked for")
    if method == "zscore":
        return Scaling(method, reason, *_moments(table), unit if extreme else None)
    return Scaling(method, reason, unit=unit if (given, method) == ("auto", "none") else None)


def scale_methods(names: Sequence[str], scale: Scale | Mapping[str, Scale]) -> Mapping[str, Scale]:
    """Return the method of every view: one method for all, or a dict with the views' names."""
    methods = scale if isinstance(scale, Mapping) else dict.fromkeys(names, scale)
    if set(methods) != set(names):
        msg = f"scale must name every view: the views are {', '.join(names)}; got {', '.join(map(str, methods))}."
        raise InvalidInputError(msg)
    return methods


def fit_scalings(views: Views, scale: Scale | Mapping[str, Scale]) -> dict[str, Scaling]:
    """Return how each view is scaled: one method for all, or a dict with the views' names."""
    methods = scale_methods(views.names, scale)
    if isinstance(scale, Mapping):
        _check_scalable(views, methods)
    return {
        name: _fit_view(X, kind, methods[name])
        for name, kind, X in zip(views.names, views.kinds, views.tables, strict=True)
    }


def _fit_view(X: Samples, kind: str, method: Scale) -> Scaling:
    """Return how one view is scaled; one that was brought to a scale when it was read is left as it is."""
    if kind == "table" or (kind == "numbers" and method != "auto"):
        return fit_scaling(X, method)
    return Scaling("none", _SCALED_ALREADY[kind], unit=_unit_of(X) if kind == "distances" else None)


def _check_scalable(views: Views, methods: Mapping[str, Scale]) -> None:
    """Refuse a method for a view of categories, distances or edges."""
    for name, kind in zip(views.names, views.kinds, strict=True):
        if kind in ("categories", "distances", "graph") and methods[name] not in ("auto", "none"):
            given = f"scale[{name!r}] = {methods[name]!r}"
            msg = f"{given} scales numbers, but {_SCALED_ALREADY[kind]}: use 'auto' or 'none'."
            raise InvalidInputError(msg)


def scaled(views: Views, scalings: Mapping[str, Scaling]) -> Views:
    """Return the views, each scaled."""
    return views.map({name: one.transform for name, one in scalings.items()})


def _decide(X: Samples) -> tuple[str, str]:
    """Return the method for these samples, and the reason."""
    n, d = X.shape
    if sparse.issparse(X):
        filled = np.bincount(X.tocsr().indices, minlength=d)
        full = filled > n / 2
        share = filled[full].sum() / max(filled.sum(), 1)
        if share > 0.5:
            return "none", (
                f"the matrix is sparse, but {share:.0%} of its entries lie in {np.count_nonzero(full)} columns that "
                "are mostly filled: a table with indicator columns, where the length of a row means nothing"
            )
        return "unit", f"the matrix is sparse with {filled.sum() / max(n * d, 1):.1%} of entries filled, like text"
    ranges = np.ptp(X, axis=0)
    ranges = ranges[ranges > 0]
    if len(ranges) == 0:
        return "none", "all columns are constant"
    low, high = np.quantile(ranges, (0.05, 0.95))
    if high > _HETEROGENEOUS * low:
        times = float(high) / float(low)  # inf where numpy would warn
        return "zscore", f"the ranges of the {d} columns differ {times:.3g} times (5 % to 95 % quantile)"
    similar = f"the {d} columns have similar ranges ({high / low:.2g} times from the 5 % to the 95 % quantile)"
    if d < _FEW_COLUMNS:
        return "none", f"{similar}, and are too few to give up the length of the rows"
    return "unit", f"{similar}, like pixels"


def _moments(X: Samples) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return mean and deviation of every column; constant columns have deviation 1."""
    if sparse.issparse(X):
        X = X.astype(np.float64)
        mean = np.asarray(X.mean(axis=0)).ravel()
        deviation = np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0))
    else:
        mean, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    constant = deviation <= 10 * np.finfo(X.dtype).eps * np.abs(mean)
    return mean, np.where(constant, 1.0, deviation)


def _unit_of(X: Samples) -> float | None:
    """Return the largest power of two that is not above the largest absolute value of a table, None if that is 0."""
    values = X.data if sparse.issparse(X) else X
    largest = float(max(values.max(initial=0), -values.min(initial=0)))
    return math.ldexp(1, math.frexp(largest)[1] - 1) if largest > 0 else None


def _in_unit(X: Samples, unit: float) -> Samples:
    """Return a table in this unit, times 4 unless it is sparse: powers of two, which change no digit."""
    if sparse.issparse(X):
        X = X.copy()
        X.data = (X.data / unit * _SPARSE_UNIT).astype(X.dtype, copy=False)
        return X
    return (X / unit * _UNIT).astype(X.dtype, copy=False)


def _unit(X: Samples) -> Samples:
    with np.errstate(over="ignore", under="ignore"):
        squares = _row_squares(X)
    limits = np.finfo(X.dtype)
    odd = np.flatnonzero(~((squares > limits.tiny / limits.eps) & (squares < np.inf)))
    if len(odd):  # too long or too short to be squared, or 0
        X = _with_largest_one(X, odd)
        squares[odd] = _row_squares(X[odd])
    if sparse.issparse(X):
        return sparse.csr_array(sparse.diags_array(_inverse(np.sqrt(squares))) @ X)
    return X * _inverse(np.sqrt(squares))[:, None]


def _row_squares(X: Samples) -> npt.NDArray[Any]:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _with_largest_one(X: Samples, rows: npt.NDArray[np.intp]) -> Samples:
    """Return the table with the largest absolute value of some rows 1; rows of zeros stay."""
    X = sparse.csr_array(X, copy=True) if sparse.issparse(X) else X.copy()
    for i in rows:
        values = X.data[X.indptr[i] : X.indptr[i + 1]] if sparse.issparse(X) else X[i]
        largest = np.abs(values).max(initial=0)
        if largest > 0:
            values /= largest
    return X


def _inverse(norms: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return 1/norm, and 0 for a row of zeros, which has no direction."""
    return np.asarray(np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0))
