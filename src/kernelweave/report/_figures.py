"""The pictures of the page, drawn by the plots and stored in it, each with a text alternative."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from kernelweave import plots
from kernelweave._plural import plural
from kernelweave.plots._fitted import fits
from kernelweave.plots._style import counted
from kernelweave.report._facts import Facts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Figure", "Image", "Numbers", "draw_figures", "image_of"]

_DPI = 150  # of pictures that are not vectors


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers behind a picture."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Image:
    """The data URI of a picture, and its width in inches, at which its text has the size that it was drawn with."""

    address: str
    width: float


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
        f"Image of the graph of {counted(facts.n, 'sample')} sorted by {facts.kind}: {facts.within:.0%} of the weight "
        f"of its edges joins samples of the same {facts.kind}."
    )
    reading = (
        f"Dark squares on the diagonal are well separated {plural(facts.kind)}; dark spots elsewhere are edges between "
        f"two {plural(facts.kind)}."
    )
    return Figure("graph", "Graph", _image(plots.plot_graph, model, 5.6, 4.6, vector=False), alt, reading)


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
    image = _image(plots.plot_spectrum, model, 5.2, 3.4)
    return Figure("spectrum", "Spectrum", image, alt, reading, Numbers(("number", "eigenvalue"), rows))


def _evidence(model: BaseEstimator, facts: Facts) -> Figure | None:
    if not fits(model, "plot_evidence"):
        return None
    evidence = model.cluster_evidence_
    columns = (evidence.gap, evidence.agreement, evidence.chance, evidence.modularity)
    rows = tuple(
        (str(int(k)), *("-" if np.isnan(value) else f"{value:.3f}" for value in rest))
        for k, *rest in zip(evidence.n_clusters, *columns, strict=True)
    )
    alt = f"Gap and agreement of {counted(len(rows), 'number')} of clusters; {evidence.chosen} was chosen."
    reading = (
        f"A gap of {evidence.clear:g} or more decides. Otherwise it is what different graphs of the samples agree on, "
        "if they agree more than graphs of samples without structure do."
    )
    image = _image(plots.plot_evidence, model, 5.2, 3.4)
    table = Numbers(("clusters", "gap", "agreement", "by chance", "modularity"), rows)
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
    height = 1.4 + 0.24 * len(facts.names) if len(facts.names) <= 40 else 3.4
    image = _image(plots.plot_confidence, model, 5.2, height)
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
    image = _image(plots.plot_convergence, model, 6.2, 3.9)
    reading = "The terms add up to the objective; the dashed line is the relative change of the graph."
    return Figure("convergence", "Convergence", image, alt, reading, Numbers(head, rows))


def _image(
    plot: Callable[..., Axes], model: BaseEstimator, width: float, height: float, *, vector: bool = True
) -> Image:
    return image_of(lambda ax: plot(model, ax=ax), width, height, vector=vector)


def image_of(draw: Callable[[Axes], Axes], width: float, height: float, *, vector: bool = True) -> Image:
    """Return a picture as a data URI; drawn without pyplot, which would keep the figure alive."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(width, height), dpi=_DPI, layout="constrained")
    draw(canvas.subplots()).set_title("", loc="left")  # the page has its own heading
    engine = canvas.get_layout_engine()
    if engine is not None:  # placed once, since matplotlib draws a figure twice to place it while it is saved
        engine.execute(canvas)
        canvas.set_layout_engine(None)
    file = io.BytesIO()
    kind, metadata = ("svg", {"Date": None}) if vector else ("png", None)
    with mpl.rc_context({"svg.hashsalt": "kernelweave"}):  # the same model always gives the same file
        canvas.savefig(file, format=kind, dpi=_DPI, transparent=True, metadata=metadata)
    mime = "image/svg+xml" if vector else "image/png"
    return Image(f"data:{mime};base64,{base64.b64encode(file.getvalue()).decode()}", width)
