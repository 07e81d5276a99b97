"""What a report shows beside the model, kept in report.json so that `kernelweave report` can write the page again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kernelweave.cli._results import labels_of
from kernelweave.errors import MissingPackageError, ResultsError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from kernelweave.report.write import ReportContent

__all__ = ["CONTENT", "content_writer", "need_report_packages", "read_content"]

CONTENT = "report.json"


def need_report_packages() -> None:
    """Raise `MissingPackageError` if a report cannot be written, before anything is computed."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        msg = 'A report needs the package jinja2, which is not installed: run pip install "kernelweave[cli]".'
        raise MissingPackageError(msg) from error


def content_writer(
    features: Sequence[Sequence[tuple[str, float]]], labelled: Sequence[bool] | None, command: str
) -> Callable[[Path], None]:
    """Return a function that writes report.json."""
    content = {"features": features, "labelled": None if labelled is None else list(labelled), "command": command}

    def write(path: Path) -> None:
        path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    return write


def read_content(path: Path, model: BaseEstimator) -> ReportContent:
    """Return what report.json adds to the report of a model; nothing if there is no such file."""
    if not path.exists():
        return {}
    labels = labels_of(model)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        features = [[(str(name), float(value)) for name, value in group] for group in content["features"]]
        labelled = None if content["labelled"] is None else np.array(content["labelled"], dtype=bool)
        command = str(content["command"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        msg = f"{path} cannot be read ({type(error).__name__}: {error}). Remove it to write the report without it."
        raise ResultsError(msg) from error
    if len(features) != len(np.unique(labels)) or (labelled is not None and labelled.shape != labels.shape):
        msg = f"{path} belongs to another model. Remove it to write the report without it."
        raise ResultsError(msg)
    return {"features": features, "labelled": labelled, "command": command}
