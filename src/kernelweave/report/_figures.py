"""The pictures of the page, each with a text alternative, how to read it, and its numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator

from kernelweave._plural import plural
from kernelweave._shares import percent
from kernelweave.plots._fitted import fits
from kernelweave.plots._style import counted
from kernelweave.report._curves import convergence_picture, evidence_picture, spectrum_picture
from kernelweave.report._facts import Facts
from kernelweave.report._shaded import graph_picture, histogram_picture, rows_picture
from kernelweave.report._svg import Image
from kernelweave.select import DEEP, SHOWN, VALLEY

__all__ = ["Figure", "Numbers", "draw_figures"]

_ROWS = 40  # up to this number every group has a row; more share one histogram


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
    if not fits(model, "plot_spectrum") or len(model.eigenvalues_) < 2:
        return None
    values = model.eigenvalues_
    c = len(facts.names)
    count = counted(len(values), "smallest eigenvalue")
    alt = f"The {count} of the graph's Laplacian, from {values[0]:.3g} to {values[-1]:.3g}"
    alt += f", with a gap of {values[c] - values[c - 1]:.2g} after number {c}." if 0 < c < len(values) else "."
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
