"""The HTML page of a fitted model."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from kernelweave._plural import plural
from kernelweave._types import Tables
from kernelweave.errors import InvalidInputError
from kernelweave.plots._layout import Layout, lay_out, membership_wheel
from kernelweave.plots._style import COLOURS, MARKERS, counted
from kernelweave.report import _words
from kernelweave.report._bars import kernel_shares, view_shares
from kernelweave.report._facts import Facts, read_facts
from kernelweave.report._figures import draw_figures
from kernelweave.report._points import LISTED, POINTS, page_data
from kernelweave.report._profiles import profiles

if TYPE_CHECKING:
    import jinja2

__all__ = ["ReportContent", "group_features", "model_report", "write_report"]

_EXTREMES = 8  # most and least certain samples, listed above the table


class ReportContent(TypedDict, total=False):
    """The optional parameters of `model_report`."""

    X: Tables | None
    features: Sequence[Sequence[tuple[str, float]]] | None
    ids: Iterable[object] | None
    y: npt.ArrayLike | None
    labelled: npt.ArrayLike | None
    title: str | None
    command: str | None


def model_report(
    model: BaseEstimator,
    *,
    X: Tables | None = None,
    features: Sequence[Sequence[tuple[str, float]]] | None = None,
    ids: Iterable[object] | None = None,
    y: npt.ArrayLike | None = None,
    labelled: npt.ArrayLike | None = None,
    title: str | None = None,
    command: str | None = None,
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
    features : list of lists of (str, float), or None, default=None
        What `group_features` returned, for a page without X.
    ids : iterable of n_samples entries or None, default=None
        The names of the samples; None numbers them from 0.
    y : array-like of shape (n_samples,) or None, default=None
        The true classes, if known. If given, the page shows how well the model agrees with them.
    labelled : array-like of bool of shape (n_samples,) or None, default=None
        Which labels a classifier was given in ``fit``. Its accuracy is computed on the other samples.
    title : str or None, default=None
        The title of the page; None states the numbers of groups and samples.
    command : str or None, default=None
        The shell command that fitted the model, shown under "How to reproduce" instead of Python code.

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
        per sample or features one per group, or if jinja2 is not installed.

    Notes
    -----
    If there are more than 2,000 samples, a random 2,000 are drawn on the map; if there are more than 5,000, the 2,500
    most and the 2,500 least certain ones are listed. The page says so.
    """
    facts = read_facts(model, ids=ids, y=y, labelled=labelled)
    layouts = _layouts(model, facts.n)
    figures = draw_figures(model, facts)
    return str(
        _template().render(
            title=title or f"{counted(len(facts.names), facts.kind)} in {counted(facts.n, 'sample')}",
            model=type(model).__name__,
            facts=facts,
            counted=counted,
            plural=plural,
            profiles=_features(facts, X, features),
            story=_words.story(model, facts),
            agreement=_words.agreement(facts),
            kernels=kernel_shares(model),
            views=view_shares(model),
            figures=figures,
            layouts=layouts,
            extremes=_extremes(facts),
            certainty=None if facts.confidence is None else float(np.median(facts.confidence)),
            settings=_words.settings(model),
            code=command or _words.snippet(model, facts),
            versions=_words.versions(),
            made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            limits={"points": POINTS, "listed": LISTED},
            swatches=[(i % len(COLOURS), MARKERS[i % len(MARKERS)]) for i in range(len(facts.names))],
            data=_embedded(page_data(facts, layouts)),
            asset=_asset,
        )
    )


def group_features(model: BaseEstimator, X: Tables) -> list[list[tuple[str, float]]]:
    """Return the features that set every group of a fitted model apart, as the report shows them.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : table, list or dict of tables, or Views
        The samples that the model was fitted on, as passed to ``fit``.

    Returns
    -------
    list of lists of (str, float)
        For every group, the names of up to four features, and the difference of the group's mean from that of all
        samples, in standard deviations.
    """
    return profiles(X, read_facts(model))


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
        X, features, ids, y, labelled, title and command of `model_report`.

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
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(page)
        os.chmod(name, 0o644)  # mkstemp makes files that only their owner can read
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def _features(
    facts: Facts, X: Tables | None, features: Sequence[Sequence[tuple[str, float]]] | None
) -> Sequence[Sequence[tuple[str, float]]] | None:
    if features is None:
        return None if X is None else profiles(X, facts)
    if X is not None:
        msg = "Both X and features were given, but features are computed from X: pass one of them."
        raise InvalidInputError(msg)
    if len(features) != len(facts.names):
        groups = counted(len(facts.names), facts.kind)
        msg = f"features must hold one list for each of the model's {groups}; got {len(features)}."
        raise InvalidInputError(msg)
    return features


def _layouts(model: BaseEstimator, n: int) -> list[Layout]:
    """Return the maps of the samples; the wheel of memberships, which separates the clusters best, comes first."""
    found = [membership_wheel(model)]
    if hasattr(model, "label_distributions_") or hasattr(model, "embedding_"):
        found.append(lay_out(model))
    return [layout for layout in found if layout is not None and len(layout.places) == n]


def _template() -> jinja2.Template:
    try:
        import jinja2
    except ImportError as error:
        msg = 'A report needs the package jinja2, which is not installed: run pip install "kernelweave[cli]".'
        raise InvalidInputError(msg) from error
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
    """Return the least and the most certain samples."""
    if facts.confidence is None or facts.n < 2:
        return None
    order = np.argsort(facts.confidence, kind="stable")
    count = min(_EXTREMES, facts.n // 2)
    return {"Least certain": order[:count].tolist(), "Most certain": order[::-1][:count].tolist()}
