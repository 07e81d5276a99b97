"""Samples on a scale that kernels can compare them on: decided from the data, said, and kept for new samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from kernelweave.errors import InvalidInputError

__all__ = ["SCALES", "Scaling", "fit_scaling"]

SCALES = ("auto", "unit", "zscore", "none")

_HETEROGENEOUS = 10.0  # ratio of large to small column ranges
_FEW_COLUMNS = 10  # below, the length of a row is too large a part of what it says


@dataclass(frozen=True, slots=True)
class Scaling:
    """How samples are scaled, why, and the training set's constants for it.

    Parameters
    ----------
    method : {"unit", "zscore", "none"}
        "unit": every row at unit length, so that kernels compare directions. "zscore": every column with mean 0
        and deviation 1 over the training samples; a sparse matrix is divided only, so that it stays sparse.
        "none": as they are.
    reason : str
        Why this method was chosen.
    mean, deviation : array of shape (n_features,) or None
        Of the training samples, for "zscore".
    """

    method: str
    reason: str
    mean: npt.NDArray[Any] | None = field(default=None, repr=False)
    deviation: npt.NDArray[Any] | None = field(default=None, repr=False)

    def transform(self, X: Any) -> Any:
        """Return samples on this scale; sparse ones stay sparse, and the precision is kept."""
        if self.method == "unit":
            return _unit(X)
        if self.method == "zscore":
            inverse = 1 / self.deviation
            if sparse.issparse(X):
                return sparse.csr_array(X @ sparse.diags_array(inverse.astype(X.dtype)))
            return ((X - self.mean) * inverse).astype(X.dtype, copy=False)
        return X


def fit_scaling(X: Any, method: str = "auto") -> Scaling:
    """Choose how to scale samples, or take the user's choice, and fix its constants on them.

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
    method, reason = _decide(X) if method == "auto" else (method, "it was asked for")
    if method != "zscore":
        return Scaling(method, reason)
    mean, deviation = _moments(X)
    return Scaling(method, reason, mean, deviation)


def _decide(X: Any) -> tuple[str, str]:
    """Return the method for these samples and a sentence that says what was seen in them."""
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
        return "zscore", f"the ranges of the {d} columns differ {high / low:.3g} times (5 % to 95 % quantile)"
    similar = f"the {d} columns have similar ranges ({high / low:.2g} times from the 5 % to the 95 % quantile)"
    if d < _FEW_COLUMNS:
        return "none", f"{similar}, and are too few to give up the length of the rows"
    return "unit", f"{similar}, like pixels"


def _moments(X: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return mean and deviation of every column; constant columns have deviation 1."""
    if sparse.issparse(X):
        X = X.astype(np.float64)
        mean = np.asarray(X.mean(axis=0)).ravel()
        deviation = np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0))
    else:
        mean, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    constant = deviation <= 10 * np.finfo(X.dtype).eps * np.abs(mean)
    return mean, np.where(constant, 1.0, deviation)


def _unit(X: Any) -> Any:
    if sparse.issparse(X):
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        return sparse.csr_array(sparse.diags_array(_inverse(norms)) @ X)
    return X * _inverse(np.sqrt(np.einsum("ij,ij->i", X, X)))[:, None]


def _inverse(norms: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return 1/norm, and 0 for a row of zeros, which has no direction."""
    return np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)
