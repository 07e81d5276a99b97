"""The pictures of the page, each with a text alternative, how to read it, and its numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import BaseEstimator

from kernelweave._plural import plural
from kernelweave._shares import percent
from kernelweave.explain import Associations, Comparison, Explanation, Metadata
from kernelweave.plots._fitted import fits, groups
from kernelweave.plots._style import counted
from kernelweave.report._curves import convergence_picture, evidence_picture, spectrum_picture
from kernelweave.report._facts import Facts
from kernelweave.report._shaded import counts_picture, feature_picture, graph_picture, histogram_picture, rows_picture
from kernelweave.report._svg import Image
from kernelweave.select import DEEP, SHOWN, VALLEY

__all__ = ["Figure", "Numbers", "draw_figures", "draw_tables", "not_compared"]

_ROWS = 40  # up to this number every group has a row; more share one histogram
_DRAWN = 4  # columns of metadata that are drawn
_WIDEST = 40  # categories or groups in a picture of counts


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers behind a picture."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, its text alternative, how to read it, and its numbers."""

    name: str
    title: str
    image: Image
    alt: str
    reading: str
    table: Numbers | None = None


def draw_figures(model: BaseEstimator, facts: Facts) -> dict[str, Figure]:
    """Return every picture for which the model has the attributes, by name."""
    makers = (_graph, _spectrum, _evidence, _confidence, _convergence)
    figures = (maker(model, facts) for maker in makers)
    return {figure.name: figure for figure in figures if figure is not None}


def _graph(model: BaseEstimator, facts: Facts) -> Figure | None:
    if facts.within is None:
        return None
    alt = (
        f"Image of the graph of {counted(facts.n, 'sample')} sorted by {facts.kind}: {percent(facts.within)} of the "
        f"weight of its edges joins samples of the same {facts.kind}."
    )
    reading = (
        f"Dark squares on the diagonal are well separated {plural(facts.kind)}; dark spots elsewhere are edges between "
        f"two {plural(facts.kind)}."
    )
    return Figure("graph", "Graph", graph_picture(model, facts.kind), alt, reading)


def _spectrum(model: BaseEstimator, facts: Facts) -> Figure | None:
    c = len(facts.names)
    if not fits(model, "plot_spectrum") or len(model.eigenvalues_) <= c:  # without a gap there is nothing to read
        return None
    values = model.eigenvalues_
    count = counted(len(values), "smallest eigenvalue")
    alt = f"The {count} of the graph's Laplacian, from {values[0]:.3g} to {values[-1]:.3g}"
    alt += f", with a gap of {values[c] - values[c - 1]:.2g} after number {c}."
    rows = tuple((str(i + 1), f"{value:.4g}") for i, value in enumerate(values))
    groups = counted(c, facts.kind)
    reading = f"The larger the gap after number {c}, the more clearly the graph separates into {groups}."
    image = spectrum_picture(np.asarray(values, dtype=float), c)
    return Figure("spectrum", "Spectrum", image, alt, reading, Numbers(("number", "eigenvalue"), rows))


def _evidence(model: BaseEstimator, facts: Facts) -> Figure | None:
    if not fits(model, "plot_evidence"):
        return None
    evidence = model.cluster_evidence_
    columns = {
        "gap": evidence.gap,
        "agreement": evidence.agreement,
        "by chance": evidence.chance,
        "modularity": evidence.modularity,
    }
    alt = f"Gap and agreement of {counted(len(evidence.n_clusters), 'number')} of clusters"
    reading = (
        f"A gap of {evidence.clear:g} or more decides. Otherwise it is what different graphs of the samples agree on, "
        "if they agree more than graphs of samples without structure do."
    )
    if evidence.depth is not None and evidence.peak_depth is not None and evidence.shared_shape is not None:
        columns |= {"valleys": evidence.depth, "between peaks": evidence.peak_depth, "one shape": evidence.shared_shape}
        alt = f"Agreement and depth of valleys of {counted(len(evidence.n_clusters), 'number')} of clusters"
        reading = (
            f"There is structure if valleys between peaks of the density are {DEEP:g} deep or more. Then it is the "
            f"largest number whose valleys are {VALLEY:g} deep in a fifth of the graphs, less one standard error, or "
            "the number of peaks with the deepest valleys, whichever is larger. If Gaussian clusters of one shape "
            "describe the samples better than any of different shapes (one shape above 0), valleys of "
            f"{SHOWN:g} are enough, and it is the number that describes them best."
        )
    rows = tuple(
        (str(int(k)), *("-" if np.isnan(value) else f"{value:.3f}" for value in rest))
        for k, *rest in zip(evidence.n_clusters, *columns.values(), strict=True)
    )
    alt += f"; {evidence.chosen} was chosen."
    image = evidence_picture(evidence)
    table = Numbers(("clusters", *columns), rows)
    return Figure("evidence", "Number of clusters", image, alt, reading, table)


def _confidence(model: BaseEstimator, facts: Facts) -> Figure | None:
    if facts.confidence is None:
        return None
    low, middle, high = np.quantile(facts.confidence, (0.05, 0.5, 0.95))
    alt = (
        f"Confidence by {facts.kind}: 90 % of the samples lie between {low:.2f} and {high:.2f}, "
        f"the median is {middle:.2f}."
    )
    rows = tuple((group.name, str(group.size), f"{group.confidence:.3f}") for group in facts.groups)
    if len(facts.names) > _ROWS:
        image, reading = histogram_picture(facts.confidence, "confidence"), "How many samples have which confidence."
    else:
        each = [facts.confidence[facts.codes == k] for k in range(len(facts.names))]
        quantiles = np.array([np.quantile(own, (0.05, 0.25, 0.5, 0.75, 0.95)) for own in each])
        order = np.argsort(-quantiles[:, 2], kind="stable")
        names = [facts.names[k] for k in order]
        image = rows_picture(quantiles[order], names, "confidence", facts.kind, (0, 1.02))
        reading = "Dot: the median. Thick line: the middle half of the samples. Thin line: the middle 90 %."
    return Figure("confidence", "Confidence", image, alt, reading, Numbers((facts.kind, "samples", "median"), rows))


def _convergence(model: BaseEstimator, facts: Facts) -> Figure | None:
    if not fits(model, "plot_convergence") or len(model.history_) == 0:
        return None
    history = model.history_
    total = history.objective
    alt = (
        f"The objective over {counted(len(history), 'iteration')}, from {total[0]:.4g} to {total[-1]:.4g}. "
        f"{model.outcome_.value}"
    )
    shown = sorted({*range(min(5, len(history))), *range(max(0, len(history) - 5), len(history))})
    columns = [total, *history.terms.values(), history.change]
    rows = tuple((str(i + 1), *(f"{column[i]:.4g}" for column in columns)) for i in shown)
    head = ("iteration", "objective", *history.terms, "change of the graph")
    image = convergence_picture(history)
    reading = "The terms add up to the objective; the dashed line is the relative change of the graph."
    return Figure("convergence", "Convergence", image, alt, reading, Numbers(head, rows))


def draw_tables(
    model: BaseEstimator,
    labels: tuple[str, ...],
    explanation: Explanation | None,
    metadata: Associations | None,
    comparison: Comparison | None,
) -> dict[str, Figure]:
    """Return the pictures of features, metadata and another clustering; `labels` names the groups in order."""
    _, names, _ = groups(model)
    shown = tuple(map(str, names))
    found = {}
    if explanation is not None and explanation.profile.features:
        found["features"] = _features(_ordered(explanation, labels, shown))
    if metadata is not None:
        order = [metadata.names.index(label) for label in labels]
        columns = [replace(each, cells=each.cells[order]) for each in metadata.columns]
        ordered = replace(metadata, names=shown, columns=tuple(columns))
        drawable = [each.name for each in columns if np.isfinite(each.value) and max(each.cells.shape) <= _WIDEST]
        for i, column in enumerate(drawable[:_DRAWN]):
            found[f"metadata-{i}"] = _metadata(f"metadata-{i}", ordered, column)
    if comparison is not None:
        own = comparison.with_rows([comparison.rows.index(label) for label in labels if label in comparison.rows])
        page = dict(zip(labels, shown, strict=True))
        found["comparison"] = _comparison(replace(own, rows=tuple(page[row] for row in own.rows)))
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
