"""Plain methods that the zoo is scored with, beside the default of WeaveClustering."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score

from kernelweave import Views, WeaveClustering
from kernelweave.metrics import clustering_accuracy

__all__ = ["METHODS", "RIVALS", "Labels", "Scores", "default", "n_classes", "one_table", "scores"]

Labels = NDArray[np.integer[Any]]
Scores = dict[str, float]


def default(X: Any, c: int, seed: int) -> Labels:
    """WeaveClustering as it comes."""
    return WeaveClustering(c, random_state=seed).fit(Views(X) if isinstance(X, list) else X).labels_


def one_table(X: Any) -> NDArray[np.float64]:
    """Return samples as one dense table: views side by side, each with mean squared length 1."""
    if isinstance(X, list):
        tables = [one_table(view) for view in X]
        return np.hstack([table / np.sqrt((table**2).sum(axis=1).mean()) for table in tables])
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def standardised(X: Any) -> NDArray[np.float64]:
    """Return samples as one dense table of columns with mean 0 and variance 1; constant columns become 0."""
    table = one_table(X)
    spread = table.std(axis=0)
    scaled: NDArray[np.float64] = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled


def _kmeans(table: NDArray[np.float64], c: int, seed: int) -> Labels:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Number of distinct clusters")
        labels: Labels = KMeans(c, n_init=10, random_state=seed).fit_predict(table)
    return labels


def _spectral(table: NDArray[np.float64], c: int, seed: int) -> Labels:
    model = SpectralClustering(c, affinity="nearest_neighbors", n_neighbors=10, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        labels: Labels = model.fit_predict(table)
    return labels


Method = Callable[[Any, int, int], Labels]
RIVALS: dict[str, Method] = {
    "k-means": lambda X, c, seed: _kmeans(one_table(X), c, seed),
    "k-means, standardised": lambda X, c, seed: _kmeans(standardised(X), c, seed),
    "kNN spectral": lambda X, c, seed: _spectral(one_table(X), c, seed),
    "kNN spectral, standardised": lambda X, c, seed: _spectral(standardised(X), c, seed),
}
METHODS: dict[str, Method] = {"WeaveClustering": default, **RIVALS}


def n_classes(y: Labels) -> int:
    """Return the number of classes; outliers, y = -1, are none."""
    return len(np.unique(y[y >= 0]))


def scores(y: Labels, labels: Labels) -> Scores:
    """Return ACC and ARI of the samples that belong to a class; outliers, y = -1, do not count."""
    known = y >= 0
    return {
        "acc": clustering_accuracy(y[known], labels[known]),
        "ari": float(adjusted_rand_score(y[known], labels[known])),
    }
