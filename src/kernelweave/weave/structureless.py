"""Samples without structure, to compare with: the same columns, each with its values permuted by itself."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from kernelweave._types import Samples
from kernelweave.samples.views import Views

__all__ = ["without_structure"]


def without_structure(views: Views, rng: np.random.RandomState) -> Views:
    """Return views whose columns are permuted independently: every column keeps its values, and no two belong together.

    A sample that a view lacks is still missing from it.
    """
    return views.map(dict.fromkeys(views.names, lambda table: _permuted(table, rng)))


def _permuted(X: Samples, rng: np.random.RandomState) -> Samples:
    n, d = X.shape
    if not sparse.issparse(X):
        return np.take_along_axis(X, rng.uniform(size=(n, d)).argsort(axis=0), axis=0)
    columns = sparse.csc_array(X, copy=True)
    for start, end in zip(columns.indptr[:-1], columns.indptr[1:], strict=True):
        columns.indices[start:end] = rng.choice(n, end - start, replace=False)
    columns.sort_indices()
    return sparse.csr_array(columns)
