"""What a report reads from a fitted model, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from kernelweave.errors import InvalidInputError
from kernelweave.plots._fitted import groups

__all__ = ["Facts", "Group", "read_facts"]


@dataclass(frozen=True, slots=True)
class Group:
    """One cluster or class: its name, size, share of the samples, median confidence and commonest true class."""

    name: str
    size: int
    share: float
    confidence: float | None
    truth: str | None


@dataclass(frozen=True, slots=True)
class Facts:
    """The samples of a model, their groups and how sure it is of them."""

    kind: str
    names: tuple[str, ...]
    codes: npt.NDArray[np.intp]
    ids: tuple[str, ...]
    confidence: npt.NDArray[np.float64] | None
    truth: npt.NDArray[Any] | None
    labelled: npt.NDArray[np.bool_] | None
    groups: tuple[Group, ...]
    within: float | None  # share of the graph's weight inside the groups

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.codes)


def read_facts(model: Any, *, ids: Any = None, y: Any = None, labelled: Any = None) -> Facts:
    """Return what the report says about the samples of a fitted model."""
    kind, names, codes = groups(model)
    n = len(codes)
    texts = tuple(str(i) for i in range(n)) if ids is None else tuple(map(str, _one_each(ids, n, "ids")))
    truth = None if y is None else np.asarray(_one_each(y, n, "y"))
    known = None if labelled is None else np.asarray(_one_each(labelled, n, "labelled"), dtype=bool)
    confidence = _confidence(model, n)
    return Facts(
        kind=kind,
        names=tuple(map(str, names)),
        codes=codes,
        ids=texts,
        confidence=confidence,
        truth=truth,
        labelled=known,
        groups=tuple(_group(str(name), codes == k, confidence, truth) for k, name in enumerate(names)),
        within=_within(getattr(model, "graph_", None), codes),
    )


def _one_each(values: Any, n: int, name: str) -> list[Any]:
    entries = list(values)
    if len(entries) != n:
        msg = f"{name} must hold one entry for each of the model's {n} samples; got {len(entries)}."
        raise InvalidInputError(msg)
    return entries


def _confidence(model: Any, n: int) -> npt.NDArray[np.float64] | None:
    values = getattr(model, "confidence_", None)
    if values is None:
        values = getattr(model, "label_distributions_", None)
        values = None if values is None else np.asarray(values).max(axis=1)
    if values is None or np.shape(values) != (n,):
        return None
    return np.asarray(values, dtype=float)


def _group(name: str, members: npt.NDArray[np.bool_], confidence: Any, truth: Any) -> Group:
    median = None if confidence is None else float(np.median(confidence[members]))
    commonest = None
    if truth is not None:
        classes, counts = np.unique(truth[members].astype(str), return_counts=True)
        commonest = f"{classes[counts.argmax()]} ({counts.max() / members.sum():.0%})"
    return Group(name, int(members.sum()), float(members.mean()), median, commonest)


def _within(S: Any, codes: npt.NDArray[np.intp]) -> float | None:
    """Share of the weight of the edges between two samples that joins samples of one group."""
    if S is None or S.shape != (len(codes), len(codes)):
        return None
    if not sparse.issparse(S):
        S = sparse.coo_array(np.asarray(S))
    edges = S.tocoo()
    between = edges.row != edges.col
    weight = np.abs(edges.data[between])
    same = codes[edges.row[between]] == codes[edges.col[between]]
    return float(weight[same].sum() / weight.sum()) if weight.sum() > 0 else None
