"""Clusters of one shape: mixtures of Gaussians with a common covariance, compared with those of any shapes.

With few samples in each cluster, valleys between clusters cannot be measured by neighbours. If all clusters have the
same shape, it is estimated from all samples. Letters: X samples, R shares of the samples in the components, r squared
Mahalanobis distances (n, k), w weights, M means, C covariances.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, ward
from scipy.special import logsumexp

from kernelweave._types import Labels, Matrix

__all__ = ["shared_shape"]

_MOST = 500  # samples; of more, every second, third, ... by their coordinates
_STEPS, _GAIN = 30, 0.2  # of EM: how many, and by how much the log-likelihood must rise
_PATIENCE = {True: 3, False: 8}  # numbers of components without a better one; few arcs describe a ring badly
_PER_PARAMETER = 2  # samples
_SMALL = 10  # no component is smaller than the mean divided by this
_FLOOR = {True: 1e-6, False: 1e-3}  # of the variance, added to common covariances, and to single ones
_VALUES = 10  # a column with fewer different values, such as answers from 1 to 5, is not Gaussian
_NORMAL = 2.0  # standard errors: tails that are shorter or longer are not those of Gaussians
_PRIOR = 1.0  # log odds against every further cluster: a curved cluster can be covered by many small ones of one shape


class _Fit(NamedTuple):
    """A mixture: its log-likelihood, shares R and squared distances r."""

    likelihood: float
    R: Matrix
    r: Matrix


def shared_shape(X: Matrix) -> dict[int, float]:
    """Return for numbers of clusters how much better a mixture with a common covariance is than any with single ones.

    The value is half the difference of BIC, about the logarithm of a Bayes factor, less 1 for every further cluster.
    There are no numbers if the distances to the means are not those of Gaussians, or a column has fewer than ten
    different values. The order of samples does not matter, nor does the unit of a column.
    """
    Y = X[np.lexsort(X.T)][:: -(-len(X) // _MOST)]
    Y = Y[:, np.ptp(Y, axis=0) > 0]
    if not Y.size or min(len(np.unique(column)) for column in Y.T) < _VALUES:
        return {}
    Y = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    # Ward's clusters are round, so those of stretched groups are sought again in units of the common covariance
    Y = _whitened(Y, _best(dict(_tried(Y, common=True))))
    common, single = (dict(_tried(Y, common=shape)) for shape in (True, False))
    if not abs(_excess(_best(common), Y.shape[1])) <= _NORMAL:
        return {}
    least = min(cost for cost, _ in single.values())
    return {k: (least - cost) / 2 for k, (cost, _) in common.items()}


def _best(tried: dict[int, tuple[float, _Fit]]) -> _Fit:
    return min(tried.values(), key=lambda found: found[0])[1]


def _whitened(X: Matrix, fit: _Fit) -> Matrix:
    """Return the samples in units of the common covariance of a mixture."""
    sums = fit.R.T @ X
    C = (X.T @ X - sums.T @ (sums / fit.R.sum(axis=0)[:, None])) / len(X) + _FLOOR[True] * np.eye(X.shape[1])
    return X @ np.linalg.inv(np.linalg.cholesky(C)).T


def _tried(X: Matrix, *, common: bool) -> Iterator[tuple[int, tuple[float, _Fit]]]:
    """Yield numbers of components with costs and mixtures, starting from Ward's clusters, until the costs only grow."""
    n, p = X.shape
    best, at, tree = np.inf, 1, ward(X)
    for k in range(1, n):
        n_parameters = k - 1 + k * p + (1 if common else k) * p * (p + 1) // 2
        if k > 1 and (n < _PER_PARAMETER * n_parameters or k - at > _PATIENCE[common]):
            return
        fit = _fitted(X, fcluster(tree, k, "maxclust") - 1, common=common)
        if k > 1 and fit.R.sum(axis=0).min() < n / (_SMALL * k):
            continue
        cost = _penalty(n, p, k, common=common) - 2 * fit.likelihood
        if cost < best:
            best, at = cost, k
        yield k, (cost, fit)


def _penalty(n: int, p: int, k: int, *, common: bool) -> float:
    """Return what BIC adds for k components, and the prior of clusters of one shape.

    Every parameter adds the logarithm of the number of samples that it is estimated from: n for weights and a common
    covariance, n/k on average for the means, and for single covariances.
    """
    shape = p * (p + 1) // 2
    if common:
        return float((k - 1 + shape) * np.log(n) + k * p * np.log(n / k) + 2 * _PRIOR * (k - 1))
    return float((k - 1) * np.log(n) + k * (p + shape) * np.log(n / k))


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
        r = _distances(X, M, L)
        terms = np.log(w) + np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1) - r / 2
        of_sample = logsumexp(terms, axis=1)
        R = np.exp(terms - of_sample[:, None])
        likelihood = float(of_sample.sum()) - n * p / 2 * np.log(2 * np.pi)
        if likelihood - before < _GAIN:
            break
        before = likelihood
    return _Fit(likelihood, R, r)


def _distances(X: Matrix, M: Matrix, L: Matrix) -> Matrix:
    """Return |L_k (x_i - m_k)|², with one L for all k or one for each."""
    if len(L) == 1:
        Y, W = X @ L[0].T, M @ L[0].T
        r = (Y**2).sum(axis=1)[:, None] - 2 * Y @ W.T + (W**2).sum(axis=1)
    else:
        W = np.einsum("kij,kj->ki", L, M)
        r = ((np.einsum("kij,nj->nki", L, X) - W) ** 2).sum(axis=2)
    return np.asarray(np.maximum(r, 0))


def _excess(fit: _Fit, p: int) -> float:
    """Return mean(r²) - p(p + 2) in standard errors, 0 for Gaussians (Mardia, 1970)."""
    n = len(fit.R)
    return float(((fit.R * fit.r**2).sum() / n - p * (p + 2)) / np.sqrt(8 * p * (p + 2) / n))
