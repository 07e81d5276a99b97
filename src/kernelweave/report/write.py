"""The HTML page of a fitted model."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from kernelweave._plural import plural
from kernelweave._shares import percent
from kernelweave._types import Tables
from kernelweave.errors import InvalidInputError
from kernelweave.explain import Associations, Comparison, Explanation, LabelCheck, explain_clusters
from kernelweave.files.temporary import replacing
from kernelweave.plots._style import COLOURS, MARKERS, counted
from kernelweave.report import _words
from kernelweave.report._cards import doubts, group_cards, shown_p
from kernelweave.report._facts import Facts, kernel_shares, number_by_size, read_facts, view_shares
from kernelweave.report._figures import draw_figures, draw_tables, not_compared
from kernelweave.report._maps import LISTED, POINTS, drawn_samples, page_data, page_maps
from kernelweave.report._page_tables import page_tables

if TYPE_CHECKING:
    import jinja2

__all__ = ["ReportContent", "model_report", "write_report"]

_CARDS = 12  # groups that are shown at once; the others are folded
_BARS = 4  # kernels that are shown at once
_EXTREMES = 8  # most and least certain samples, listed above the table


class ReportContent(TypedDict, total=False):
    """The optional parameters of `model_report`."""

    X: Tables | None
    features: Explanation | None
    metadata: Associations | None
    check: LabelCheck | None
    comparison: Comparison | None
    names: Mapping[str, str] | None
    spread: bool
    ids: Iterable[object] | None
    y: npt.ArrayLike | None
    labelled: npt.ArrayLike | None
    title: str | None
    source: str | None
    command: str | None
    notes: Sequence[str]


def model_report(
    model: BaseEstimator,
    *,
    X: Tables | None = None,
    features: Explanation | None = None,
    metadata: Associations | None = None,
    check: LabelCheck | None = None,
    comparison: Comparison | None = None,
    names: Mapping[str, str] | None = None,
    spread: bool = False,
    ids: Iterable[object] | None = None,
    y: npt.ArrayLike | None = None,
    labelled: npt.ArrayLike | None = None,
    title: str | None = None,
    source: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Return an HTML page that shows what a fitted model did, what it found, and with what confidence.

    Parameters
    ----------
    model : estimator
        A fitted clusterer (with ``labels_``) or classifier (with ``transduction_``). The page shows whichever of
        these attributes the model has: weights, graph, embedding, eigenvalues, history, confidence.
    X : table, list or dict of tables, Views or None, default=None
        The samples that the model was fitted on, as passed to ``fit``. If given, the page names the features that set
        every group apart.
    features : Explanation or None, default=None
        The result of `kernelweave.explain.explain_clusters`, with its test or without X.
    metadata : Associations or None, default=None
        The result of `kernelweave.explain.associate`: the page compares these columns with the groups.
    check : LabelCheck or None, default=None
        The result of `kernelweave.explain.check_labels`: the page shows the accuracy of a classifier.
    comparison : Comparison or None, default=None
        The result of `kernelweave.explain.compare_clusterings` with this model as the first: the page shows how far
        another clustering agrees.
    names : mapping of str to str or None, default=None
        Names of groups, by their labels in the model, such as {"0": "early"}. Names that are typed on the page are
        kept by the browser, and can be saved as CSV.
    spread : bool, default=False
        Whether the map opens with a spread of the samples by t-SNE, which keeps neighbours together and draws groups
        apart. Distances between groups, and their sizes, are then not meaningful.
    ids : iterable of n_samples entries or None, default=None
        The names of the samples; None takes those of the model (`sample_names_`), or numbers them from 0.
    y : array-like of shape (n_samples,) or None, default=None
        The true classes, if known. If given, the page shows how well the model agrees with them.
    labelled : array-like of bool of shape (n_samples,) or None, default=None
        Which labels a classifier was given in ``fit``. Its accuracy is computed on the other samples.
    title : str or None, default=None
        The title of the page; None states the source and the numbers of groups and samples.
    source : str or None, default=None
        The name of the data, such as that of a file, for the title.
    command : str or None, default=None
        The shell command that fitted the model, shown under "How to reproduce" instead of Python code.
    notes : sequence of str, default=()
        Sentences about how the data were read, shown under "What was done".

    Returns
    -------
    str
        A complete HTML document that loads nothing from the network.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    InvalidInputError
        If the model has no groups, if both X and features are given, if X, ids, y or labelled do not have one entry
        per sample or features one per group, if names or comparison have other groups than the model, or if labelled is
        given for clusters.

    Notes
    -----
    If there are more than 2,000 samples, a random 2,000 are drawn on the map; if there are more than 5,000, the 2,500
    most and the 2,500 least certain ones are listed. The page says so. On the page, clusters are numbered by their size
    from 1; the table of clusters has their labels in the model, too.
    """
    numbered, labels = number_by_size(model)
    facts = read_facts(numbered, ids=ids, y=y, labelled=labelled)
    if isinstance(notes, str):
        msg = f"notes must be a list of sentences; got the text {notes!r}: pass [{notes!r}]."
        raise InvalidInputError(msg)
    explanation = _explained(model, X, features)
    shown = _shown(facts, labels, {} if names is None else names)
    _check_compared(comparison, labels)
    cards = group_cards(facts, labels, explanation)
    found = f"{counted(len(facts.names), facts.kind)} in {counted(facts.n, 'sample')}"
    tables = page_tables(model, cards, explanation, metadata)
    content: dict[str, object] = {
        "title": title or (f"{source}: {found}" if source else found),
        "cards": cards,
        "doubts": doubts(model, facts, cards, explanation),
        "check": check,
        "metadata": metadata,
        "comparison": comparison,
        "table_figures": draw_tables(numbered, labels, explanation, metadata, comparison),
        "code": command or _words.snippet(model, facts),
        "from_files": command is not None,
        "notes": notes,
    }
    content |= _of_model(model, numbered, facts) | _of_samples(numbered, facts, labels, shown, tables, spread=spread)
    return str(_template().render(**content))


def _of_model(model: BaseEstimator, numbered: BaseEstimator, facts: Facts) -> dict[str, object]:
    """Return what the page shows of a model itself: its words, weights, pictures and settings."""
    return {
        "model": type(model).__name__,
        "story": _words.story(model, facts),
        "agreement": _words.agreement(facts),
        "kernels": kernel_shares(model),
        "views": view_shares(model),
        "figures": draw_figures(numbered, facts),
        "settings": _words.settings(model),
        "versions": _words.versions(),
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _of_samples(
    numbered: BaseEstimator,
    facts: Facts,
    labels: Sequence[str],
    shown: Sequence[str],
    tables: Mapping[str, object],
    *,
    spread: bool,
) -> dict[str, object]:
    """Return the map, the table of the samples, and what the template needs to draw them."""
    drawn = drawn_samples(facts.n)
    layouts = page_maps(numbered, facts, drawn, spread=spread)
    data = page_data(facts, layouts, drawn, shown)
    data |= {"labels": labels, "tables": tables, "page": _identity(facts, labels, shown)}
    return {
        "facts": facts,
        "shown": shown,
        "layouts": layouts,
        "extremes": _extremes(facts),
        "certainty": None if facts.confidence is None else float(np.median(facts.confidence)),
        "swatches": [(i % len(COLOURS), MARKERS[i % len(MARKERS)]) for i in range(len(facts.names))],
        "limits": {"points": POINTS, "listed": LISTED, "cards": _CARDS, "bars": _BARS},
        "data": _embedded(data),
        "asset": _asset,
        "counted": counted,
        "percent": percent,
        "plural": plural,
        "shown_p": shown_p,
        "not_compared": not_compared,
    }


def write_report(
    model: BaseEstimator, path: os.PathLike[str] | str, *, force: bool = False, **content: Unpack[ReportContent]
) -> Path:
    """Write the page of `model_report` to a file; if writing fails, no file is left.

    Parameters
    ----------
    model : estimator
        A fitted model.
    path : str or path
        The file to write; its folder must exist.
    force : bool, default=False
        Whether to replace an existing file.
    **content
        The optional parameters of `model_report`.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    InvalidInputError
        If the file exists and `force` is False, if its folder does not exist, or as in `model_report`.
    """
    path = Path(path)
    if path.exists() and not force:
        msg = f"{path} exists already: pass force=True to replace it, or another path."
        raise InvalidInputError(msg)
    if not path.parent.is_dir():
        msg = f"There is no folder {path.parent} for {path.name}: make it first."
        raise InvalidInputError(msg)
    page = model_report(model, **content)
    with replacing(path) as file:
        file.write(page.encode())
    return path


def _explained(model: BaseEstimator, X: Tables | None, features: Explanation | None) -> Explanation | None:
    if features is None:
        return None if X is None else explain_clusters(model, X)
    if X is not None:
        msg = "Both X and features were given, but features are computed from X: pass one of them."
        raise InvalidInputError(msg)
    return features


def _shown(facts: Facts, labels: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Return what every group is called on the page: the name that it was given, or its number."""
    if not (isinstance(names, Mapping) and all(isinstance(name, str) for name in names.values())):
        msg = f"names must be a dict of labels and texts, such as {{'0': 'early'}}; got {names!r}."
        raise InvalidInputError(msg)
    names = {str(label): name for label, name in names.items()}
    unknown = [label for label in names if label not in labels]
    if unknown:
        msg = f"names has the label {unknown[0]!r}, which the model does not have: {', '.join(labels)}."
        raise InvalidInputError(msg)
    return [names.get(label, "").strip() or number for label, number in zip(labels, facts.names, strict=True)]


def _check_compared(comparison: Comparison | None, labels: Sequence[str]) -> None:
    other = [] if comparison is None else [row for row in comparison.rows if row not in labels]
    if other:
        msg = f"comparison has the cluster {other[0]!r}, which the model does not have: {', '.join(labels)}."
        raise InvalidInputError(msg)


def _identity(facts: Facts, labels: Sequence[str], shown: Sequence[str]) -> str:
    """Return a digest of the samples and groups, under which a browser keeps the names that are typed."""
    content = json.dumps([facts.ids, labels, shown, facts.codes.tolist()], ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_asset("report.html.j2"))


def _asset(name: str) -> str:
    return files("kernelweave.report").joinpath("assets", name).read_text(encoding="utf-8")


def _embedded(data: Mapping[str, object]) -> str:
    """Return JSON that is safe inside a script element, whatever the names of the samples."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _extremes(facts: Facts) -> dict[str, list[int]] | None:
    """Return the least and the most certain samples; None if all look equally certain."""
    if facts.confidence is None or f"{facts.confidence.min():.3f}" == f"{facts.confidence.max():.3f}":
        return None
    order = np.argsort(facts.confidence, kind="stable")
    count = min(_EXTREMES, facts.n // 2)
    return {"Least certain": order[:count].tolist(), "Most certain": order[::-1][:count].tolist()}
