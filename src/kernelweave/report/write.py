"""From a fitted model to one HTML file."""

from __future__ import annotations

import json
import os
import tempfile
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from kernelweave.errors import InvalidInputError
from kernelweave.plots._layout import Layout, lay_out, membership_wheel
from kernelweave.plots._style import COLOURS, MARKERS
from kernelweave.report import _words
from kernelweave.report._bars import kernel_shares, view_shares
from kernelweave.report._facts import Facts, read_facts
from kernelweave.report._figures import draw_figures
from kernelweave.report._points import LISTED, POINTS, page_data
from kernelweave.report._profiles import profiles

__all__ = ["model_report", "write_report"]

_EXTREMES = 8  # most and least certain samples that stand above the table


def model_report(
    model: Any,
    *,
    X: Any = None,
    ids: Any = None,
    y: Any = None,
    labelled: Any = None,
    title: str | None = None,
    command: str | None = None,
) -> str:
    """Return a page that shows what a fitted model did, found, and how sure it is of it.

    Parameters
    ----------
    model : estimator
        A fitted clusterer (with ``labels_``) or classifier (with ``transduction_``). What else the page shows
        depends on what the model has learned: weights, graph, embedding, eigenvalues, history, confidence.
    X : table, dict of tables or None, default=None
        The samples that the model was fitted on: the page then names the features that set every group apart.
    ids : sequence of n_samples entries or None, default=None
        What the samples are called; None numbers them from 0.
    y : sequence of n_samples entries or None, default=None
        The true classes, if known: the page then says how well the model agrees with them.
    labelled : sequence of n_samples booleans or None, default=None
        Which samples a classifier was given the label of: it is judged by the others.
    title : str or None, default=None
        The title of the page; None names the model and what it found.
    command : str or None, default=None
        The shell command that made the model, shown under "how to reproduce" instead of Python code.

    Returns
    -------
    str
        A complete HTML document that loads nothing from elsewhere.

    Notes
    -----
    Of more than 2,000 samples a random 2,000 are drawn, and of more than 5,000 the 2,500 most and the 2,500 least
    certain ones are listed; the page says so.
    """
    facts = read_facts(model, ids=ids, y=y, labelled=labelled)
    layouts = _layouts(model, facts.n)
    figures = draw_figures(model, facts)
    return str(
        _template().render(
            title=title or f"{len(facts.names)} {_many(facts.kind)} in {facts.n:,} samples",
            model=type(model).__name__,
            facts=facts,
            many=_many(facts.kind),
            profiles=None if X is None else profiles(X, facts),
            story=_words.story(model, facts),
            agreement=_words.agreement(facts),
            kernels=kernel_shares(model),
            views=view_shares(model),
            figures=figures,
            layouts=layouts,
            extremes=_extremes(facts),
            certainty=None if facts.confidence is None else float(np.median(facts.confidence)),
            n_features=getattr(model, "n_features_in_", None),
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


def write_report(model: Any, path: str | os.PathLike[str], *, force: bool = False, **content: Any) -> Path:
    """Write the page of `model_report` to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        A fitted model.
    path : str or path
        Where the page goes; its folder must exist.
    force : bool, default=False
        Replace a file that is there already.
    **content
        X, ids, y, labelled, title and command of `model_report`.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    InvalidInputError
        If there is a file already, or no folder for it.
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
        os.chmod(name, 0o644)  # mkstemp makes files for their owner only; a report is for sharing
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def _layouts(model: Any, n: int) -> list[Layout]:
    """Return the maps of the samples, the one that tells most groups apart first."""
    found = [membership_wheel(model)]
    if hasattr(model, "label_distributions_") or hasattr(model, "embedding_"):
        found.append(lay_out(model))
    return [layout for layout in found if layout is not None and len(layout.places) == n]


def _template() -> Any:
    try:
        import jinja2
    except ImportError as error:
        msg = 'A report is made with jinja2, which is not installed: pip install "kernelweave[cli]".'
        raise InvalidInputError(msg) from error
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_asset("report.html.j2"))


def _asset(name: str) -> str:
    return files("kernelweave.report").joinpath("assets", name).read_text(encoding="utf-8")


def _embedded(data: dict[str, Any]) -> str:
    """Return JSON that can stand inside a script element, whatever the samples are called."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _extremes(facts: Facts) -> dict[str, list[int]] | None:
    """Return the least and the most certain samples."""
    if facts.confidence is None or facts.n < 2:
        return None
    order = np.argsort(facts.confidence, kind="stable")
    count = min(_EXTREMES, facts.n // 2)
    return {"Least certain": order[:count].tolist(), "Most certain": order[::-1][:count].tolist()}


def _many(kind: str) -> str:
    return kind + ("es" if kind.endswith("s") else "s")
