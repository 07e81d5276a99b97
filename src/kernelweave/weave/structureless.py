"""Samples without structure, to compare with."""

from __future__ import annotations

from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from kernelweave._types import Samples
from kernelweave.samples.scaling import is_thin
from kernelweave.samples.views import Views

__all__ = ["Kind", "without_structure"]

Kind: TypeAlias = Literal["normal", "permuted"]


def without_structure(views: Views, rng: np.random.RandomState, kind: Kind) -> Views:
    """Return samples that look like these, but without clusters.

    "normal": random combinations of all samples, which have their means and covariances. Words and other rare entries
    would lose their zeros, so that tables that are mostly zero are permuted. "permuted": every column is permuted by
    itself, which keeps the distribution of its values.
    """
    seed = rng.randint(np.iinfo(np.int32).max)
    functions = {
        name: partial(_permuted if kind == "permuted" or is_thin(table) else _normal, seed=seed)
        for name, table in zip(views.names, views.tables, strict=True)
    }
    return views.map(functions)


def _normal(X: Samples, seed: int) -> Samples:
    """Return G(X - 1m') + 1m' with G_ij ~ N(0, 1/n); tables of as many rows share G, and with it their correlation."""
    table = X.toarray() if sparse.issparse(X) else X
    n = len(table)
    G = np.random.RandomState(seed).standard_normal((n, n)) / np.sqrt(n)
    mean = table.mean(axis=0)
    return np.asarray(G @ (table - mean) + mean, dtype=X.dtype)


def _permuted(X: Samples, seed: int) -> Samples:
    """Return the table with the entries of every column moved to other rows."""
    rng = np.random.RandomState(seed)
    n = X.shape[0]
    if not sparse.issparse(X):
        return np.take_along_axis(X, rng.uniform(size=X.shape).argsort(axis=0), axis=0)
    columns = sparse.csc_array(X, copy=True)
    for start, end in zip(columns.indptr[:-1], columns.indptr[1:], strict=True):
        columns.indices[start:end] = rng.choice(n, end - start, replace=False)
    columns.sort_indices()
    return sparse.csr_array(columns)
