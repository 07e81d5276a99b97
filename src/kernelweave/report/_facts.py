"""What a report reads from a fitted model, as plain values; clusters are numbered by size."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernelweave._shares import percent
from kernelweave._types import Array, Graph, Mask
from kernelweave.errors import InvalidInputError
from kernelweave.plots._fitted import groups
from kernelweave.plots._style import counted
from kernelweave.samples.labels import in_sample_order
from kernelweave.samples.mixed_table import MixedTable

__all__ = ["Facts", "Group", "Share", "kernel_shares", "number_by_size", "read_facts", "view_shares"]


@dataclass(frozen=True, slots=True)
class Group:
    """One cluster or class: its name, size, share of the samples, median confidence and most frequent true class."""

    name: str
    size: int
    share: float
    confidence: float | None
    truth: str | None


@dataclass(frozen=True, slots=True)
class Facts:
    """The samples of a model, their groups and the confidence of each."""

    kind: str
    names: tuple[str, ...]
    codes: npt.NDArray[np.intp]
    ids: tuple[str, ...]
    confidence: npt.NDArray[np.float64] | None
    truth: Array | None
    labelled: Mask | None
    undecided: Mask | None  # None if every sample is decided
    groups: tuple[Group, ...]
    within: float | None  # share of the graph's weight that joins samples of the same group
    features: int | None  # columns; None if kernels were given instead of features
    views: tuple[tuple[str, int], ...]  # the views and how many samples each has, if some lack a view

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.codes)


def read_facts(
    model: BaseEstimator,
    *,
    ids: Iterable[object] | None = None,
    y: npt.ArrayLike | None = None,
    labelled: npt.ArrayLike | None = None,
) -> Facts:
    """Return what the report says about the samples of a fitted model."""
    kind, names, codes = groups(model)
    n = len(codes)
    if kind == "cluster" and labelled is not None:
        msg = f"labelled says which labels a classifier was given; {type(model).__name__} takes none: leave it out."
        raise InvalidInputError(msg)
    samples = getattr(model, "sample_names_", None)
    if ids is None:
        ids = range(n) if samples is None else samples.tolist()
    texts = tuple(map(str, ids))
    _check_length(len(texts), n, "ids")
    truth = None if y is None else _one_each(y, n, "y", samples)
    known = None if labelled is None else _one_each(labelled, n, "labelled", samples).astype(bool)
    confidence = _confidence(model, n)
    if kind == "cluster" and len(names) == 1 and confidence is not None and (confidence == 1).all():
        confidence = None  # it says nothing, since there is no other cluster
    return Facts(
        kind=kind,
        names=tuple(map(str, names)),
        codes=codes,
        ids=texts,
        confidence=confidence,
        truth=truth,
        labelled=known,
        undecided=_undecided(model, n),
        groups=tuple(_group(str(name), codes == k, confidence, truth) for k, name in enumerate(names)),
        within=_within(getattr(model, "graph_", None), codes),
        features=_features(model),
        views=_gaps(model, len(codes)),
    )


def _one_each(values: npt.ArrayLike, n: int, name: str, samples: Array | None) -> Array:
    """Return one entry for every sample; a pandas Series is aligned by its index if both name the samples."""
    entries = np.asarray(in_sample_order(values, samples, name))
    if entries.ndim != 1:
        msg = f"{name} must be one-dimensional, got shape {entries.shape}: pass one entry per sample."
        raise InvalidInputError(msg)
    _check_length(len(entries), n, name)
    return entries


def _check_length(length: int, n: int, name: str) -> None:
    if length != n:
        msg = f"{name} must hold one entry for each of the model's {counted(n, 'sample')}; got {length}."
        raise InvalidInputError(msg)


def _undecided(model: BaseEstimator, n: int) -> Mask | None:
    """Return which samples no label reaches, None if there are none: they have the first class."""
    found = np.asarray(getattr(model, "undecided_", np.zeros(n)), dtype=bool)
    return found if found.shape == (n,) and found.any() else None


def _precomputed(model: BaseEstimator) -> bool:
    kernels = getattr(model, "kernels", None)
    return isinstance(kernels, str) and kernels == "precomputed"


def _features(model: BaseEstimator) -> int | None:
    """Return the number of columns that were given; a column of categories counts once, not once per category."""
    width: int | None = getattr(model, "n_features_in_", None)
    if width is None or _precomputed(model):
        return None
    for name in ("feature_names_in_", "column_names_"):  # of one table
        if hasattr(model, name):
            return len(getattr(model, name))
    mixed = [each for each in getattr(model, "readings_", {}).values() if isinstance(each, MixedTable)]
    read = sum(len(each.feature_names(block)) for each in mixed for block in each.blocks)
    return width - read + sum(len(each.columns) for each in mixed)


def _gaps(model: BaseEstimator, n: int) -> tuple[tuple[str, int], ...]:
    """Return how many samples every view has, if some samples lack a view and the model keeps all of them."""
    joiner = getattr(getattr(model, "_graph_model", None), "joiner", None)
    training: Any = getattr(getattr(joiner, "consensus", joiner), "training", None)
    if getattr(training, "complete", True) or training.n_samples != n:
        return ()
    return tuple((name, int(known.sum())) for name, known in zip(training.names, training.present, strict=True))


def _confidence(model: BaseEstimator, n: int) -> npt.NDArray[np.float64] | None:
    values = getattr(model, "confidence_", None)
    if values is None:
        values = getattr(model, "label_distributions_", None)
        values = None if values is None else np.asarray(values).max(axis=1)
    if values is None or np.shape(values) != (n,):
        return None
    return np.asarray(values, dtype=float)


def _group(name: str, members: Mask, confidence: npt.NDArray[np.float64] | None, truth: Array | None) -> Group:
    median = None if confidence is None else float(np.median(confidence[members]))
    most = None
    if truth is not None:
        classes, counts = np.unique(truth[members].astype(str), return_counts=True)
        most = f"{classes[counts.argmax()]} ({percent(counts.max() / members.sum())})"
    return Group(name, int(members.sum()), float(members.mean()), median, most)


def _within(S: Graph | None, codes: npt.NDArray[np.intp]) -> float | None:
    """Return the share of the weight of all edges, without the diagonal, that joins samples of the same group."""
    if S is None or S.shape != (len(codes), len(codes)):
        return None
    if not sparse.issparse(S):
        S = sparse.coo_array(np.asarray(S))
    edges = S.tocoo()
    between = edges.row != edges.col
    weight = np.abs(edges.data[between])
    same = codes[edges.row[between]] == codes[edges.col[between]]
    return float(weight[same].sum() / weight.sum()) if weight.sum() > 0 else None


def number_by_size(model: BaseEstimator) -> tuple[BaseEstimator, tuple[str, ...]]:
    """Return a copy of a clusterer whose clusters are 1, 2, ... by size, and the label of each in the model.

    The classes of a classifier keep their names and their order.
    """
    check_is_fitted(model)
    kind, names, codes = groups(model)
    labels = tuple(map(str, names))
    if kind != "cluster":
        return model, labels
    order = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    numbered = copy.copy(model)
    numbered.labels_ = place[codes] + 1
    M = getattr(model, "membership_", None)
    if M is not None and np.shape(M)[1] == len(names):
        numbered.membership_ = np.asarray(M)[:, order]
    for name in ("confidence_", "margin_"):  # computed from the labels of the model
        if hasattr(model, name):
            setattr(numbered, name, getattr(model, name))
    return numbered, tuple(labels[k] for k in order)


@dataclass(frozen=True, slots=True)
class Share:
    """A name, its share of the weight, and the length of its bar relative to the longest bar."""

    name: str
    share: float
    length: float


def kernel_shares(model: BaseEstimator) -> list[Share]:
    """Return the kernels of a fitted model, the largest share first."""
    shares = getattr(model, "kernel_shares_", None)
    return [] if shares is None else _largest_first(model.kernel_names_, shares)


def view_shares(model: BaseEstimator) -> list[Share]:
    """Return the views of a fitted model, the largest share first; an empty list if there is only one view."""
    shares = getattr(model, "view_shares_", None)
    return [] if shares is None or len(shares) < 2 else _largest_first(model.view_names_, shares)


def _largest_first(names: Sequence[str], shares: npt.ArrayLike) -> list[Share]:
    values = np.asarray(shares, dtype=float)
    longest = float(values.max()) or 1.0
    order = np.argsort(-values, kind="stable")
    return [Share(str(names[i]), float(values[i]), float(values[i]) / longest) for i in order]
