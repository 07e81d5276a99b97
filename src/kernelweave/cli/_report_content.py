"""What a report shows besides the model, kept in report.json so that `kernelweave report` can write the page again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelweave._types import Array, Mask, Vector
from kernelweave.cli._results import labels_of
from kernelweave.errors import ResultsError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from kernelweave.explain import Associations, Comparison, Explanation, LabelCheck
    from kernelweave.report.write import ReportContent

__all__ = ["CONTENT", "PageContent", "ResultContext", "read_content"]

CONTENT = "report.json"


@dataclass(frozen=True, slots=True)
class ResultContext:
    """What is known of a result besides the model: the name of the data, given labels, metadata, another clustering."""

    source: str
    labels: Sequence[str | None] | None = None  # those that were given, None where there is none
    y: Array | None = None  # the same in the form that the classifier was fitted on
    check: LabelCheck | None = None
    metadata: Associations | None = None
    test: bool = False
    comparison: Comparison | None = None

    @property
    def labelled(self) -> list[bool] | None:
        """Which samples have a given label."""
        return None if self.labels is None else [label is not None for label in self.labels]

    def columns(self, found: Array, confidence: Vector | None, undecided: Mask | None = None) -> dict[str, list[str]]:
        """Return the columns of labels.csv; of a classifier, whether a label was given, predicted, or is undecided."""
        # the method of another package may have no confidence
        sure = [""] * len(found) if confidence is None else [f"{each:.4f}" for each in confidence]
        columns = {"label": [str(label) for label in found], "confidence": sure}
        known = self.labelled
        if known is None:
            return columns
        open_ = [False] * len(known) if undecided is None else undecided  # all classes are equally likely there
        words = [
            "given" if own else "undecided" if none else "predicted" for own, none in zip(known, open_, strict=True)
        ]
        return columns | {"source": words}

    def as_json(self) -> dict[str, Any]:
        """Return what --json prints of it."""
        found: dict[str, Any] = {}
        if self.labelled is not None:
            found["n_labelled"] = sum(self.labelled)
        if self.check is not None:
            found["accuracy"] = {"value": self.check.accuracy, "interval": self.check.interval, **self.check.to_json()}
        if self.metadata is not None:
            found["metadata"] = self.metadata.table.to_dict("records")
        if self.comparison is not None:
            found["comparison"] = self.comparison.to_json()
        return found


@dataclass(frozen=True, slots=True)
class PageContent:
    """The content of report.json."""

    features: Explanation
    context: ResultContext
    command: str
    notes: Sequence[str]  # about how the files were read

    def of_report(self, ids: Sequence[str]) -> ReportContent:
        """Return the parameters of the report."""
        return {
            "ids": ids,
            "features": self.features,
            "metadata": self.context.metadata,
            "check": self.context.check,
            "comparison": self.context.comparison,
            "labelled": self.context.labelled,
            "source": self.context.source,
            "command": self.command,
            "notes": self.notes,
        }

    def write(self, path: Path) -> None:
        """Write the content to a file."""
        context = self.context
        content = {
            "features": self.features.to_json(),
            "metadata": None if context.metadata is None else context.metadata.to_json(),
            "check": None if context.check is None else context.check.to_json(),
            "comparison": None if context.comparison is None else context.comparison.to_json(),
            "labelled": context.labelled,
            "source": context.source,
            "command": self.command,
            "notes": list(self.notes),
        }
        path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def read_content(path: Path, model: BaseEstimator) -> ReportContent:
    """Return what report.json adds to the report of a model; nothing if there is no such file."""
    if not path.exists():
        return {}
    from kernelweave.explain import Associations, Comparison, Explanation, LabelCheck

    labels = labels_of(model)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        features = Explanation.from_json(content["features"])
        metadata = None if content["metadata"] is None else Associations.from_json(content["metadata"])
        check = None if content["check"] is None else LabelCheck.from_json(content["check"])
        comparison = None if content["comparison"] is None else Comparison.from_json(content["comparison"])
        labelled = None if content["labelled"] is None else np.array(content["labelled"], dtype=bool)
        source, command = str(content["source"]), str(content["command"])
        notes = [str(note) for note in content["notes"]]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        msg = f"{path} cannot be read ({type(error).__name__}: {error}). Remove it to write the report without it."
        raise ResultsError(msg) from error
    names = set(map(str, np.unique(labels)))
    others = [found.names for found in (features, metadata) if found is not None]
    if any(set(own) != names for own in others) or (labelled is not None and labelled.shape != labels.shape):
        msg = f"{path} belongs to another model. Remove it to write the report without it."
        raise ResultsError(msg)
    return {
        "features": features,
        "metadata": metadata,
        "check": check,
        "comparison": comparison,
        "labelled": labelled,
        "source": source,
        "command": command,
        "notes": notes,
    }
