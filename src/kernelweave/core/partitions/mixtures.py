"""Clusters of one shape: mixtures of Gaussians with a common covariance, compared with those of any shapes.

With few samples in each cluster, neighbours say little about valleys between them. If all clusters have the same shape,
all samples tell it together. Letters: X samples, R shares of the samples in the components, r squared Mahalanobis
distances (n, k), w weights, M means, C covariances.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, ward
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp

from kernelweave._types import Labels, Matrix, Vector

__all__ = ["shared_shape"]

_MOST = 500  # samples; of more, every second, third, ... by their coordinates
_STEPS, _GAIN = 30, 0.2  # of EM: how many, and by how much the log-likelihood must rise
_PATIENCE = {True: 3, False: 8}  # numbers of components without a better one; few arcs describe a ring badly
_PER_PARAMETER = 2  # samples
_SMALL = 10  # no component is smaller than the mean divided by this
_FLOOR = {True: 1e-6, False: 1e-3}  # of the variance, added to common covariances, and to single ones
_NORMAL = 2.5  # standard errors: tails that are shorter or longer are not those of Gaussians
_POINTS = 41  # between two means


class _Fit(NamedTuple):
    """A mixture: its log-likelihood, shares R, squared distances r, weights, and whitened means if C is common."""

    likelihood: float
    R: Matrix
    r: Matrix
    w: Vector
    M: Matrix


def shared_shape(X: Matrix, valley: float) -> dict[int, float]:
    """Return for numbers of clusters how much better a mixture with a common covariance is than any with single ones.

    The value is half the difference of BIC, about the logarithm of a Bayes factor. Components without a valley of the
    depth `valley` between them are one cluster; of several mixtures with as many clusters, the best counts. There are
    no numbers if the distances to the means are not those of Gaussians. The order of samples does not matter, nor does
    the unit of a column.
    """
    Y = X[np.lexsort(X.T)][:: -(-len(X) // _MOST)]
    Y = Y[:, np.ptp(Y, axis=0) > 0]
    if not Y.size:
        return {}
    Y = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    # Ward's clusters are round, so those of stretched groups are sought again in units of the common covariance
    Y = _whitened(Y, _best(dict(_tried(Y, common=True, patience=1))))
    common, single = (dict(_tried(Y, common=shape)) for shape in (True, False))
    least = min(bic for bic, _ in single.values())
    best = _best(common)
    if not abs(_excess(best, Y.shape[1])) <= _NORMAL:
        return {}
    found: dict[int, float] = {}
    for bic, fit in common.values():
        c = _n_modes(fit, valley)
        found[c] = max(found.get(c, -np.inf), (least - bic) / 2)
    return found


def _best(tried: dict[int, tuple[float, _Fit]]) -> _Fit:
    return min(tried.values(), key=lambda found: found[0])[1]


def _whitened(X: Matrix, fit: _Fit) -> Matrix:
    """Return the samples in units of the common covariance of a mixture."""
    sums = fit.R.T @ X
    C = (X.T @ X - sums.T @ (sums / fit.R.sum(axis=0)[:, None])) / len(X) + _FLOOR[True] * np.eye(X.shape[1])
    return X @ np.linalg.inv(np.linalg.cholesky(C)).T


def _tried(X: Matrix, *, common: bool, patience: int | None = None) -> Iterator[tuple[int, tuple[float, _Fit]]]:
    """Yield numbers of components with BIC and the mixture, starting from Ward's clusters, until it only grows."""
    n, p = X.shape
    best, at, tree = np.inf, 1, ward(X)
    for k in range(1, n):
        n_parameters = k - 1 + k * p + (1 if common else k) * p * (p + 1) // 2
        if k > 1 and (n < _PER_PARAMETER * n_parameters or k - at > (patience or _PATIENCE[common])):
            return
        fit = _fitted(X, fcluster(tree, k, "maxclust") - 1, common=common)
        bic = n_parameters * np.log(n) - 2 * fit.likelihood
        if k > 1 and fit.R.sum(axis=0).min() < n / (_SMALL * k):
            continue
        if bic < best:
            best, at = bic, k
        yield k, (bic, fit)


def _fitted(X: Matrix, z: Labels, *, common: bool) -> _Fit:
    """Return the mixture that EM finds from the partition z."""
    n, p = X.shape
    squares = np.einsum("ni,nj->nij", X, X).reshape(n, p * p)
    R, before = np.eye(int(z.max()) + 1)[z], -np.inf
    floor = _FLOOR[common] * X.var() * np.eye(p)
    for _ in range(_STEPS):
        total = R.sum(axis=0) + 1e-9
        w, M = total / n, R.T @ X / total[:, None]
        C = (R.T @ squares / total[:, None]).reshape(-1, p, p) - np.einsum("ki,kj->kij", M, M)
        C = (np.tensordot(w, C, 1)[None] if common else C) + floor
        L = np.linalg.inv(np.linalg.cholesky(C))
        r, whitened = _distances(X, M, L)
        terms = np.log(w) + np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1) - r / 2
        of_sample = logsumexp(terms, axis=1)
        R = np.exp(terms - of_sample[:, None])
        likelihood = float(of_sample.sum()) - n * p / 2 * np.log(2 * np.pi)
        if likelihood - before < _GAIN:
            break
        before = likelihood
    return _Fit(likelihood, R, r, w, whitened)


def _distances(X: Matrix, M: Matrix, L: Matrix) -> tuple[Matrix, Matrix]:
    """Return |L_k (x_i - m_k)|² and L_k m_k, with one L for all k or one for each."""
    if len(L) == 1:
        Y, W = X @ L[0].T, M @ L[0].T
        r = (Y**2).sum(axis=1)[:, None] - 2 * Y @ W.T + (W**2).sum(axis=1)
    else:
        W = np.einsum("kij,kj->ki", L, M)
        r = ((np.einsum("kij,nj->nki", L, X) - W) ** 2).sum(axis=2)
    return np.maximum(r, 0), W


def _excess(fit: _Fit, p: int) -> float:
    """Return mean(r²) - p(p + 2) in standard errors, 0 for Gaussians (Mardia, 1970)."""
    n = len(fit.R)
    return float(((fit.R * fit.r**2).sum() / n - p * (p + 2)) / np.sqrt(8 * p * (p + 2) / n))


def _n_modes(fit: _Fit, valley: float) -> int:
    """Return how many parts the components form, two being joined if the density has no valley between their means."""
    k = len(fit.w)
    pairs = [(i, j) for i in range(k) for j in range(i)]
    joined = [pair for pair in pairs if _valley(fit, *pair) < valley]
    i, j = np.array(joined, dtype=np.intp).reshape(-1, 2).T
    return int(connected_components(sparse.coo_array((np.ones(len(i)), (i, j)), shape=(k, k)), directed=False)[0])


def _valley(fit: _Fit, i: int, j: int) -> float:
    """Return how far the logarithm of the density falls between two means, below the lower of the peaks beside it."""
    t = np.linspace(0, 1, _POINTS)[:, None]
    x = (1 - t) * fit.M[i] + t * fit.M[j]
    f = logsumexp(np.log(fit.w) - ((x[:, None] - fit.M) ** 2).sum(axis=2) / 2, axis=1)
    before, after = np.maximum.accumulate(f), np.maximum.accumulate(f[::-1])[::-1]
    return float((np.minimum(before, after) - f).max())
