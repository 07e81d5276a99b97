"""Categories of a mixed table that are related to no other column are left out.

Samples of one category are alike in its column, so that clusters could follow a single column of noise as well as a
dozen columns that agree on groups. Each column is compared with every other column of all tables: with numbers by their
ranks (Kruskal and Wallis, 1952), with categories by their joint counts (Pearson's chi-squared).
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import chdtrc

from kernelweave._plural import counted
from kernelweave._types import Labels, Matrix, Vector
from kernelweave.errors import ColumnsWarning
from kernelweave.samples.column_kinds import CHOSEN, Column
from kernelweave.samples.mixed_table import CATEGORIES, MixedTable
from kernelweave.samples.views import Views

__all__ = ["without_unrelated"]

_REASON = "it is related to no other column"
_FEWEST = 50  # samples; fewer are too few to tell
_MOST = 2000  # samples that are compared; more would hardly change an answer
_RARE = 5  # samples: smaller categories are compared as one
_LEVEL = 0.01  # of significance, of all comparisons of a column together
_LEVEL_OF_LABELS = 0.05  # labels are few, and a column that they depend on is needed
_TOGETHER = 512  # columns that are ranked at once


class _Category(NamedTuple):
    """A column of categories: its view, its place there, how it was read, and codes (n,), -1 where it is not known."""

    view: int
    place: slice
    column: Column
    codes: Labels


def without_unrelated(views: Views, labels: Labels | None = None) -> Views:
    """Return the views without the categories that are related to no other column; a warning names these.

    Parameters
    ----------
    views : Views
        The samples, with at least one mixed table among their tables.
    labels : array of shape (n_samples,), optional
        The codes of classes, -1 where unlabelled. A column that they depend on stays.

    Returns
    -------
    Views
        The same object if nothing is left out. Columns stay if their kind was chosen, or if fewer than 50 samples are
        known; no table loses all of its columns, and no sample all of its cells.
    """
    if views.n_samples < _FEWEST or CATEGORIES not in views.kinds:
        return views
    some = _some(views)
    known = None if labels is None else labels[some]
    part = views if len(some) == views.n_samples else views.select(some)
    categories = _categories(part)
    related = _related(categories, part, known)
    out: dict[str, list[_Category]] = {}
    for one, keep in zip(categories, related, strict=True):
        if not keep:
            out.setdefault(part.sources[one.view], []).append(one)
    out = {source: those for source, those in out.items() if len(those) < _n_used(views, source)}
    found = _narrowed(views, out) if out else None
    if found is None:
        return views
    for source, those in out.items():
        _say(source, [one.column.name for one in those])
    return found


def _some(views: Views) -> NDArray[np.intp]:
    """Return the positions of at most 2000 samples: those with the smallest digests, for every order of the samples."""
    if views.n_samples <= _MOST:
        return np.arange(views.n_samples)
    words = np.ascontiguousarray(views.digests()).view("S16").ravel()
    return np.sort(np.argsort(words, kind="stable")[:_MOST])


def _n_used(views: Views, source: str) -> int:
    reading = views.readings[source]
    return sum(map(len, reading.blocks.values())) if isinstance(reading, MixedTable) else 0


def _categories(views: Views) -> list[_Category]:
    """Return every column of categories; a cell is known if it is that of one category, not filled with shares."""
    found = []
    for v, (kind, source) in enumerate(zip(views.kinds, views.sources, strict=True)):
        reading = views.readings.get(source)
        if kind == CATEGORIES and isinstance(reading, MixedTable):
            start = 0
            for column in reading.blocks[CATEGORIES]:
                place = slice(start, start := start + len(column.categories))
                hits = views.tables[v][:, place] == 1
                codes = np.full(views.n_samples, -1)
                codes[views.present[v]] = np.where(hits.any(axis=1), hits.argmax(axis=1), -1)
                found.append(_Category(v, place, column, _merged(codes)))
    return found


def _merged(codes: Labels) -> Labels:
    """Return codes in which categories of fewer than five samples are one, or not known if these are too few too."""
    counts = np.bincount(codes[codes >= 0], minlength=1)
    frequent = counts >= _RARE
    new = np.cumsum(frequent) - 1
    new[~frequent] = frequent.sum() if counts[~frequent].sum() >= _RARE else -1
    return np.where(codes >= 0, new[codes], -1)


def _related(categories: Sequence[_Category], views: Views, labels: Labels | None) -> list[bool]:
    """Return which columns of categories are related to another column, or are kept for another reason."""
    smallest, count = np.ones(len(categories)), np.full(len(categories), len(categories) - 1)
    for v, ranks in _ranked(views):
        count += ranks.shape[1]
        for i, one in enumerate(categories):
            smallest[i] = min(smallest[i], _of_ranks(one.codes[views.present[v]], ranks).min())
    indicators, starts = _indicators([one.codes for one in categories])
    of_labels = None if labels is None else _indicators([labels])
    kept = []
    for i, one in enumerate(categories):
        others = np.delete(_of_counts(one.codes, indicators, starts), i)
        told = np.count_nonzero(one.codes >= 0) >= _FEWEST and one.codes.max() > 0 and count[i] > 0
        related = min(smallest[i], others.min(initial=1)) * count[i] < _LEVEL
        asked = of_labels is not None and _of_counts(one.codes, *of_labels)[0] < _LEVEL_OF_LABELS
        kept.append(bool(not told or related or asked or one.column.reason == CHOSEN))
    return kept


def _ranked(views: Views) -> Iterator[tuple[int, Matrix]]:
    """Yield the position of a view and the ranks of some of its columns, for all views but those of categories."""
    from scipy.stats import rankdata  # slow to import

    for v, (kind, table) in enumerate(zip(views.kinds, views.tables, strict=True)):
        for start in range(0, table.shape[1] if kind != CATEGORIES else 0, _TOGETHER):
            columns = table[:, start : start + _TOGETHER]
            yield v, np.asarray(rankdata(columns.toarray() if sparse.issparse(columns) else columns, axis=0))


def _of_ranks(codes: Labels, ranks: Matrix) -> Vector:
    """Return the p-value of the test of Kruskal and Wallis for every column of ranks, 1 where nothing differs.

    H = (m - 1) Σ_g n_g (r_g - r)² / Σ_i (r_i - r)², r_g the mean rank of the n_g samples of category g.
    """
    known = codes >= 0
    Y = np.eye(codes.max(initial=0) + 1)[codes[known]]
    Y = Y[:, Y.any(axis=0)]
    E = ranks[known] - ranks[known].mean(axis=0) if known.any() else ranks[known]
    between, total = ((Y.T @ E) ** 2 / Y.sum(axis=0)[:, None]).sum(axis=0), (E**2).sum(axis=0)
    H = np.divide((len(E) - 1) * between, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(chdtrc(Y.shape[1] - 1, H)) if Y.shape[1] > 1 else np.ones(ranks.shape[1])


def _indicators(columns: Sequence[Labels]) -> tuple[Matrix, Labels]:
    """Return the indicators of all codes of several columns side by side, and where those of each column begin."""
    widths = [int(codes.max(initial=0)) + 1 for codes in columns]
    parts = [(codes[:, None] == np.arange(width)).astype(float) for codes, width in zip(columns, widths, strict=True)]
    return np.hstack(parts), np.cumsum([0, *widths[:-1]])


def _of_counts(codes: Labels, indicators: Matrix, starts: Labels) -> Vector:
    """Return the p-value of Pearson's test of independence of the codes and of every other column, given as indicators.

    χ² = Σ_gh (N_gh - E_gh)² / E_gh, N_gh the number of samples with code g that have code h in the other column, and
    E_gh = N_g. N_.h / N_.. the number expected. It is 1 where the codes or the column are constant.
    """
    Y, _ = _indicators([codes])
    N = Y.T @ indicators
    of = np.repeat(np.arange(len(starts)), np.diff([*starts, N.shape[1]]))  # the column of each indicator
    rows, columns = np.add.reduceat(N, starts, axis=1), N.sum(axis=0)
    E = rows[:, of] * columns / np.maximum(rows.sum(axis=0), 1)[of]
    terms = np.divide((N - E) ** 2, E, out=np.zeros_like(E), where=E > 0)
    freedom = (np.count_nonzero(rows, axis=0) - 1) * (np.add.reduceat(columns > 0, starts, dtype=int) - 1)
    chi2 = np.add.reduceat(terms.sum(axis=0), starts)
    return np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), chi2), 1.0)


def _narrowed(views: Views, out: Mapping[str, Sequence[_Category]]) -> Views | None:
    """Return the views without these columns of each source; None if a sample would be in no view."""
    readings = dict(views.readings)
    kept: list[int] = []
    tables, present = list(views.tables), views.present.copy()
    for v, (kind, source) in enumerate(zip(views.kinds, views.sources, strict=True)):
        reading = readings.get(source)
        if kind == CATEGORIES and source in out and isinstance(reading, MixedTable):
            readings[source] = _without(reading, {one.column.name for one in out[source]})
            stays = np.ones(views.widths[v], dtype=bool)
            for one in out[source]:
                stays[one.place] = False
            if not stays.any():
                continue
            tables[v] = tables[v][:, stays]
            if reading.gaps:
                known = (tables[v] == 1).any(axis=1)
                tables[v], present[v, present[v]] = tables[v][known], known
        kept.append(v)
    if not present[kept].any(axis=0).all():
        return None
    found = Views.of(
        [tables[v] for v in kept],
        present[kept],
        views.sample_names,
        names=tuple(views.names[v] for v in kept),
        kinds=tuple(views.kinds[v] for v in kept),
        sources=tuple(views.sources[v] for v in kept),
        readings=readings,
        counted=views.counted,
    )
    found.attributes = {
        **views.attributes,
        "n_features_in_": found.shape[1],
        "view_names_": found.names,
        "view_widths_": found.widths,
        "readings_": dict(readings),
    }
    return found


def _without(reading: MixedTable, names: Collection[str]) -> MixedTable:
    """Return the reading of a table whose columns of these names are left out."""
    columns = (
        replace(column, kind="left out", reason=_REASON) if column.name in names else column
        for column in reading.columns
    )
    return replace(reading, columns=tuple(columns))


def _say(source: str, names: Sequence[str]) -> None:
    shown = ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    isare, each = ("is", "it is") if len(names) == 1 else ("are", "each is")
    warnings.warn(
        ColumnsWarning(
            f"{counted(len(names), 'column')} of {source!r} {isare} left out, since {each} related to no other column: "
            f"{shown}.",
            "kernels=Mixed(kinds={...}) keeps the columns whose kinds it gives. model.readings_ tells how every column "
            "was read.",
        ),
        stacklevel=4,
    )
