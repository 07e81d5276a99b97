"""Categories of a mixed table that are related to no other column are left out.

Samples of one category are alike in its column, so that clusters could follow a single column of noise as well as a
dozen columns that agree on groups. Each column is compared with every other column of all tables: with numbers by their
ranks (test of Kruskal and Wallis), with categories by their joint counts (Pearson's chi-squared).
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from kernelweave._plural import counted
from kernelweave._types import Labels, Matrix, Vector
from kernelweave.errors import ColumnsWarning
from kernelweave.samples.column_kinds import CHOSEN, Column
from kernelweave.samples.digests import drawn_rows
from kernelweave.samples.independence import class_indicators, joint_p_values, rank_p_values, without_rare
from kernelweave.samples.mixed_table import CATEGORIES, MixedTable
from kernelweave.samples.views import Views

__all__ = ["without_unrelated"]

_REASON = "it is related to no other column"
_FEWEST = 50  # samples; fewer are too few to tell
_MOST = 2000  # samples that are compared; more would hardly change an answer
_LEVEL = 0.01  # of significance, of all comparisons of a column together
_LEVEL_OF_LABELS = 0.05  # labels are few, and a column that they depend on is needed
_TOGETHER = 512  # columns that are ranked at once
_COMPARED = 256  # columns of categories that are compared with the others at once


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
    some = drawn_rows(views.digests(), _MOST) if views.n_samples > _MOST else np.arange(views.n_samples)
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
                found.append(_Category(v, place, column, without_rare(codes)))
    return found


def _related(categories: Sequence[_Category], views: Views, labels: Labels | None) -> list[bool]:
    """Return which columns of categories are related to another column, or are kept for another reason."""
    smallest, count = np.ones(len(categories)), np.full(len(categories), len(categories) - 1)
    for v, ranks in _ranked(views):
        count += ranks.shape[1]
        for i, one in enumerate(categories):
            smallest[i] = min(smallest[i], rank_p_values(one.codes[views.present[v]], ranks).min())
    everyone = class_indicators([one.codes for one in categories])
    of_labels: Vector = np.ones(len(categories))
    if labels is not None:
        of_labels = joint_p_values(everyone, class_indicators([labels]))[:, 0]
    for start in range(0, len(categories), _COMPARED):  # each pair once
        some, rest = slice(start, start + _COMPARED), slice(start, None)
        p = joint_p_values(everyone.part(some), everyone.part(rest))
        np.fill_diagonal(p, 1)
        smallest[some] = np.minimum(smallest[some], p.min(axis=1))
        smallest[rest] = np.minimum(smallest[rest], p.min(axis=0))
    kept = []
    for i, one in enumerate(categories):
        told = np.count_nonzero(one.codes >= 0) >= _FEWEST and one.codes.max() > 0 and count[i] > 0
        related = smallest[i] * count[i] < _LEVEL or of_labels[i] < _LEVEL_OF_LABELS
        kept.append(bool(not told or related or one.column.reason == CHOSEN))
    return kept


def _ranked(views: Views) -> Iterator[tuple[int, Matrix]]:
    """Yield the position of a view and the ranks of some of its columns, for all views but those of categories."""
    from scipy.stats import rankdata  # slow to import

    for v, (kind, table) in enumerate(zip(views.kinds, views.tables, strict=True)):
        for start in range(0, table.shape[1] if kind != CATEGORIES else 0, _TOGETHER):
            columns = table[:, start : start + _TOGETHER]
            yield v, np.asarray(rankdata(columns.toarray() if sparse.issparse(columns) else columns, axis=0))


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
