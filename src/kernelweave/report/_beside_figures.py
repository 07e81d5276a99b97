"""The pictures of features and metadata."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator

from kernelweave._plural import plural
from kernelweave.explain import Associations, Comparison, Explanation, Metadata
from kernelweave.plots._fitted import groups
from kernelweave.plots._style import counted
from kernelweave.report._figures import Figure, Numbers
from kernelweave.report._shaded import counts_picture, feature_picture, rows_picture

__all__ = ["draw_beside", "not_compared"]

_DRAWN = 4  # columns of metadata that are drawn
_WIDEST = 40  # categories or groups in a picture of counts


def draw_beside(
    model: BaseEstimator,
    labels: tuple[str, ...],
    explanation: Explanation | None,
    metadata: Associations | None,
    comparison: Comparison | None,
) -> dict[str, Figure]:
    """Return the pictures by name; `labels` are the groups of the page by their names in what is drawn."""
    _, names, _ = groups(model)
    shown = tuple(map(str, names))
    found = {}
    if explanation is not None and explanation.profile.features:
        found["features"] = _features(_ordered(explanation, labels, shown))
    if metadata is not None:
        order = [metadata.names.index(label) for label in labels]
        columns = [replace(each, cells=each.cells[order]) for each in metadata.columns]
        beside = replace(metadata, names=shown, columns=tuple(columns))
        drawable = [each.name for each in columns if np.isfinite(each.value) and max(each.cells.shape) <= _WIDEST]
        for i, column in enumerate(drawable[:_DRAWN]):
            found[f"metadata-{i}"] = _metadata(f"metadata-{i}", beside, column)
    if comparison is not None:
        ordered = comparison.with_rows([comparison.rows.index(label) for label in labels if label in comparison.rows])
        page = dict(zip(labels, shown, strict=True))
        found["comparison"] = _comparison(replace(ordered, rows=tuple(page[row] for row in ordered.rows)))
    return found


def not_compared(column: Metadata) -> str:
    """Return why a column of metadata has no value."""
    if not column.n_known:
        return "no entries"
    if column.type == "category":
        varies, ids = len(column.levels) > 1, len(column.levels) > 1 and column.cells.sum(axis=0)[0] == 1
    else:
        varies, ids = float(np.nanmin(column.cells)) < float(np.nanmax(column.cells)), False
    return "every entry differs" if ids else "in one group only" if varies else "does not vary"


def _ordered(explanation: Explanation, labels: tuple[str, ...], shown: tuple[str, ...]) -> Explanation:
    """Return an explanation with the groups in the order and under the names of the page."""
    order = [explanation.names.index(label) for label in labels]
    profile = explanation.profile
    return replace(
        explanation,
        names=shown,
        sizes=tuple(explanation.sizes[k] for k in order),
        profile=replace(profile, means=profile.means[order], quantiles=profile.quantiles[order]),
    )


def _features(explanation: Explanation) -> Figure:
    rows, columns = len(explanation.profile.features), len(explanation.names)
    alt = (
        f"Heat map of the means of {counted(rows, 'feature')} in {counted(columns, explanation.kind)}, in standard "
        "deviations from the mean of all samples. The table of every group holds the numbers."
    )
    reading = f"The most telling features of every {explanation.kind}. Red: above the mean of all samples; blue: below."
    image = feature_picture(explanation)
    return Figure("features", f"Features in all {plural(explanation.kind)}", image, alt, reading)


def _metadata(name: str, metadata: Associations, column: str) -> Figure:
    (found,) = [each for each in metadata.columns if each.name == column]
    what = "Counts of the categories" if found.type == "category" else "Medians and middle halves"
    alt = f"{what} of {column} in every {metadata.kind}: {found.measure} {found.value:.2f}, p = {found.p_value:.3g}."
    reading = f"{found.measure} {found.value:.2f}, p = {found.p_value:.3g}, from permutations of the column."
    if found.type != "category":
        reading += " Dot: the median. Line: the middle half of the samples."
    if found.type == "category":
        image = counts_picture(found.cells.astype(int), metadata.names, found.levels, column, metadata.kind)
    else:
        quartiles = found.cells[:, :3]  # the mean comes after them
        limits = (float(np.nanmin(quartiles)), float(np.nanmax(quartiles)))
        image = rows_picture(quartiles, metadata.names, column, metadata.kind, limits, dates=found.type == "date")
    return Figure(name, column, image, alt, reading)


def _comparison(comparison: Comparison) -> Figure:
    rows, columns = comparison.counts.shape
    alt = (
        f"Counts of the samples in each of {counted(rows, 'cluster')} of this page and {counted(columns, 'cluster')} "
        f"of {comparison.names[1]}: adjusted Rand index {comparison.ari:.2f}."
    )
    reading = "Every cell has the number of samples in both. The darker, the larger its share of the row."
    image = counts_picture(
        comparison.counts, comparison.rows, comparison.columns, comparison.names[1], comparison.names[0]
    )
    rows_of = zip(comparison.rows, comparison.counts, strict=True)
    table = Numbers(("cluster", *comparison.columns), tuple((row, *map(str, counts)) for row, counts in rows_of))
    return Figure("comparison", f"Compared with {comparison.names[1]}", image, alt, reading, table)
