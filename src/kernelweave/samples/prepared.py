"""Samples as kernels compare them: few copies of each, scaled in every version; and samples without structure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Labels, Mask, Matrix, Samples, Vector
from kernelweave.samples.digests import Seen
from kernelweave.samples.mixed_table import CATEGORIES, MixedTable
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.scaling import TOGETHER, Scale, Version, fit_versions, is_thin
from kernelweave.samples.views import Views

__all__ = [
    "Compared",
    "FewCopies",
    "NullKind",
    "Prepared",
    "compared_again",
    "few_copies",
    "prepare",
    "without_structure",
]

NullKind: TypeAlias = Literal["normal", "permuted"]  # how samples lose their structure

_NO_MEANS = (CATEGORIES, "graph")  # kinds of views that lose their meaning in combinations


class FewCopies(NamedTuple):
    """Samples with few copies of each, and where all samples are among them.

    `kept` (m,) are the positions of these samples among all n, `copies` (n,) is the position of the first copy of every
    sample among the m, and `seen` has the digests of all samples.
    """

    samples: Views
    kept: NDArray[np.intp]
    copies: Labels
    seen: Seen


class Compared(NamedTuple):
    """One version of the samples, and the samples in it; kernel matrices are as they were given."""

    version: Version
    samples: Views | KernelStack


class Prepared(NamedTuple):
    """The samples that are compared, in every version, and where all samples are among them.

    `kept` are the samples with few copies of each, not scaled, or None for kernel matrices; `rows` (m,) are their
    positions among all n, `copies` (n,) is the position of every sample among them, and `seen` has the digests of all
    samples.
    """

    kept: Views | None
    rows: NDArray[np.intp]
    compared: tuple[Compared, ...]
    copies: Labels
    seen: Seen


def prepare(
    samples: Views | KernelStack,
    scale: Scale | Mapping[str, Scale],
    *,
    most_copies: int,
    codes: Labels | None = None,
    by_value: bool = False,
) -> Prepared:
    """Return at most `most_copies` copies of every sample, as `few_copies`, in the versions that `scale` asks for.

    With `codes` (-1 where unlabelled), all copies with a label are kept. If `by_value`, the values of the samples
    decide their order. Numbers and categories of a mixed table are compared together in one more version. Kernel
    matrices stay whole, and are their only version.
    """
    if isinstance(samples, KernelStack):
        rows, only = np.arange(samples.n_samples), Compared(Version("given", {}), samples)
        return Prepared(None, rows, (only,), rows, Seen(samples.digests()))
    among = None if codes is None else codes < 0
    order = _value_order(samples, codes) if by_value else None
    kept, rows, copies, seen = few_copies(samples, most_copies, among, order)
    versions = fit_versions(kept, scale)
    if kept.blocks:
        versions = (*versions, replace(versions[0], name=TOGETHER))
    compared = tuple(Compared(one, kept.scaled(one.scalings)) for one in versions)
    return Prepared(kept, rows, compared, copies, seen)


def few_copies(
    samples: Views, most: int, among: Mask | None = None, order: NDArray[np.intp] | None = None
) -> FewCopies:
    """Return at most `most` copies of every sample; of those that are not `among`, if it is given, all.

    They are the first copies in this order, and stay in it; by default it is that of the samples. Where all samples are
    equal, or all differ, all are kept, each as its own first copy.
    """
    n, digests = samples.n_samples, samples.digests()
    every = np.arange(n) if order is None else order
    rows = every if among is None else every[among[every]]
    words = np.ascontiguousarray(digests[rows]).view("S16").ravel()
    _, first, group, counts = np.unique(words, return_index=True, return_inverse=True, return_counts=True)
    own, keep = np.arange(n), np.ones(n, dtype=bool)  # own: the first copy of every sample
    if 1 < len(counts) < len(rows):
        grouped = np.argsort(group, kind="stable")
        rank = np.empty(len(rows), dtype=np.intp)  # of every sample among its copies
        rank[grouped] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        keep[rows], own[rows] = rank < most, rows[first[group]]
    kept = every[keep[every]]
    place = np.empty(n, dtype=np.intp)
    place[kept] = np.arange(len(kept))
    found = samples if order is None and len(kept) == n else samples.select(kept)
    return FewCopies(found, kept, place[own], Seen(digests))


def compared_again(versions: Iterable[Version], views: Views) -> list[Compared]:
    """Return other samples in the same versions, with constants of their own."""
    refitted = [version.refitted(views) for version in versions]
    return [Compared(version, views.scaled(version.scalings)) for version in refitted]


def without_structure(views: Views, rng: np.random.RandomState, kind: NullKind, *, signs: bool = False) -> Views:
    """Return samples that look like these, but without clusters.

    "normal": random combinations of all samples, which have their means and covariances. Words and other rare entries
    would lose their zeros, and categories their meaning, so that these are permuted. "permuted": every column is
    permuted by itself, which keeps the distribution of its values; the indicators of one category are one column. The
    order of the samples does not matter. With `signs`, tables without negative values stay so, for kernels that take no
    others.
    """
    seed = rng.randint(np.iinfo(np.int32).max)
    functions: dict[str, Callable[[Any], Any]] = {}
    for name, own, source, table in zip(views.names, views.kinds, views.sources, views.tables, strict=True):
        reading = views.readings.get(source)
        if own == CATEGORIES and isinstance(reading, MixedTable):
            widths = [len(column.categories) for column in reading.blocks[CATEGORIES]]
            functions[name] = partial(_categories_permuted, seed=seed, widths=widths)
        elif kind == "permuted" or own in _NO_MEANS or is_thin(table):
            functions[name] = partial(_permuted, seed=seed)
        else:
            functions[name] = partial(_normal, seed=seed, signs=signs)
    order = np.argsort(_places(views), kind="stable")  # since entries are drawn by row
    return views.select(order).map(functions).select(np.argsort(order))


def _value_order(views: Views, codes: Labels | None) -> NDArray[np.intp]:
    """Return an order of the samples by their values, and of copies by their labels."""
    words = np.ascontiguousarray(views.digests()).view("S16").ravel()
    _, first, group = np.unique(words, return_index=True, return_inverse=True)
    places = _places(views)[first][group]  # rounding may differ between copies
    return np.lexsort((np.zeros(len(places)) if codes is None else codes, places))


def _places(views: Views) -> Vector:
    """Return a random projection of the views, the same for every order of the samples."""
    fixed, places = np.random.RandomState(0), np.zeros(views.n_samples)
    for known, table in zip(views.present, views.tables, strict=True):
        places[known] += table @ fixed.standard_normal(table.shape[1])
    return places


def _normal(X: Samples, seed: int, *, signs: bool) -> Samples:
    """Return G(X - 1m') + 1m' with G_ij ~ N(0, 1/n); tables of as many rows share G, and with it their correlation.

    With `signs`, negative values become 0 where X has none.
    """
    table = X.toarray() if sparse.issparse(X) else X
    n = len(table)
    G = np.random.RandomState(seed).standard_normal((n, n)) / np.sqrt(n)
    mean = table.mean(axis=0)
    found = np.asarray(G @ (table - mean) + mean, dtype=X.dtype)
    return np.maximum(found, 0, out=found) if signs and table.min() >= 0 else found


def _categories_permuted(X: Matrix, seed: int, widths: Sequence[int]) -> Matrix:
    """Return indicators of categories, those of every column, `widths` of them, moved to other rows together."""
    rng = np.random.RandomState(seed)
    parts = np.split(X, np.cumsum(widths)[:-1], axis=1)
    return np.hstack([part[rng.permutation(len(X))] for part in parts])


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
