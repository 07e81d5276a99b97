"""Samples without structure, to compare with."""

from __future__ import annotations

from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Samples
from kernelweave.samples.scaling import is_thin
from kernelweave.samples.views import Views

__all__ = ["Kind", "without_structure"]

Kind: TypeAlias = Literal["normal", "permuted"]

_NO_MEANS = ("categories", "graph")  # kinds of views that lose their meaning in combinations


def without_structure(views: Views, rng: np.random.RandomState, kind: Kind) -> Views:
    """Return samples that look like these, but without clusters.

    "normal": random combinations of all samples, which have their means and covariances. Words and other rare entries
    would lose their zeros, and categories their meaning, so that these are permuted. "permuted": every column is
    permuted by itself, which keeps the distribution of its values. The order of the samples does not matter.
    """
    seed = rng.randint(np.iinfo(np.int32).max)
    functions = {
        name: partial(_permuted if kind == "permuted" or own in _NO_MEANS or is_thin(table) else _normal, seed=seed)
        for name, own, table in zip(views.names, views.kinds, views.tables, strict=True)
    }
    order = _order(views)
    return views.select(order).map(functions).select(np.argsort(order))


def _order(views: Views) -> NDArray[np.intp]:
    """Return the order that sorts samples by a random projection of their views, since entries are drawn by row."""
    rng = np.random.RandomState(0)
    place = np.zeros(views.n_samples)
    for known, table in zip(views.present, views.tables, strict=True):
        place[known] += table @ rng.standard_normal(table.shape[1])
    return np.argsort(place, kind="stable")


def _normal(X: Samples, seed: int) -> Samples:
    """Return G(X - 1m') + 1m' with G_ij ~ N(0, 1/n); tables of as many rows share G, and with it their correlation."""
    table = X.toarray() if sparse.issparse(X) else X
    n = len(table)
    G = np.random.RandomState(seed).standard_normal((n, n)) / np.sqrt(n)
    mean = table.mean(axis=0)
    return np.asarray(G @ (table - mean) + mean, dtype=X.dtype)


def _permuted(X: Samples, seed: int) -> Samples:
    """Return the table with the entries of every column moved to other rows; its format does not change the draw."""
    rng = np.random.RandomState(seed)
    if is_thin(X):
        columns = _moved(sparse.csc_array(X, copy=True), rng)
        return sparse.csr_array(columns) if sparse.issparse(X) else columns.toarray()
    table = X.toarray() if sparse.issparse(X) else X
    found = np.take_along_axis(table, rng.uniform(size=X.shape).argsort(axis=0), axis=0)
    return sparse.csr_array(found) if sparse.issparse(X) else found


def _moved(columns: sparse.csc_array, rng: np.random.RandomState) -> sparse.csc_array:
    """Return a table with the entries of every column that are not zero in other rows."""
    columns.eliminate_zeros()
    columns.sort_indices()
    for start, end in zip(columns.indptr[:-1], columns.indptr[1:], strict=True):
        columns.indices[start:end] = rng.choice(columns.shape[0], end - start, replace=False)
    columns.sort_indices()
    return columns
