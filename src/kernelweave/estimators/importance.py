"""Which view mattered: shares, how stable they are, and what changes when a view is left out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import check_random_state

from kernelweave._plural import counted
from kernelweave._shares import percent
from kernelweave._types import Array, LabelsLike, Matrix, RandomStateLike, Vector
from kernelweave.core.partitions.agreement import modularity
from kernelweave.errors import InvalidInputError
from kernelweave.estimators.whole_numbers import check_whole
from kernelweave.samples.partial_labels import labelled_rows, labels_in_order
from kernelweave.samples.reader import SamplesLike
from kernelweave.samples.views import Views

__all__ = ["ViewImportance", "view_importance"]


@dataclass(frozen=True, slots=True)
class ViewImportance:
    """What each view contributed to a model.

    Parameters
    ----------
    view_names : tuple of str
        The views, in the order of all arrays here.
    shares : array of shape (n_views,)
        The share of every view in the consensus: of its kernels together.
    kernel_names, kernel_views : tuple of str
        The kernels and the view of each.
    kernel_shares : array of shape (n_kernels,)
        The share of every kernel.
    resampled : array of shape (n_resamples, n_kernels)
        The kernels' shares in models of random parts of the samples.
    agreement : array of shape (n_views,)
        Adjusted Rand index between the labels of the model and those without the view: 1 where nothing changes.
    modularity : float
        Of the labels on the graph of the model: how well the graph falls into these groups.
    modularity_without : array of shape (n_views,)
        The same without the view.
    score : float or None
        Normalised mutual information with the classes `y` of a clusterer, if they were given.
    score_without : array of shape (n_views,) or None
        The same without the view.
    """

    view_names: tuple[str, ...]
    shares: Vector
    kernel_names: tuple[str, ...]
    kernel_views: tuple[str, ...]
    kernel_shares: Vector
    resampled: Matrix = field(repr=False)
    agreement: Vector
    modularity: float
    modularity_without: Vector
    score: float | None = None
    score_without: Vector | None = None

    @property
    def resampled_shares(self) -> Matrix:
        """The views' shares in models of random parts of the samples, (n_resamples, n_views)."""
        views = np.array(self.kernel_views)
        return np.stack([self.resampled[:, views == name].sum(axis=1) for name in self.view_names], axis=1)

    @property
    def deviations(self) -> Vector:
        """The standard deviation of every view's share over the random parts; NaN without any."""
        shares = self.resampled_shares
        return shares.std(axis=0) if len(shares) else np.full(len(self.view_names), np.nan)

    def __str__(self) -> str:
        scored = self.score is not None
        width = max(4, *map(len, self.view_names))
        head = f"{'view':{width}}  share   ±      ARI without  modularity without" + "  score without" * scored
        lines = [head]
        for v, name in enumerate(self.view_names):
            share = percent(self.shares[v], 1)
            line = (
                f"{name:{width}}  {share:>6}  {self.deviations[v]:5.1%}  {self.agreement[v]:11.3f}  "
                f"{self.modularity_without[v]:.3f} ({self.modularity_without[v] - self.modularity:+.3f})"
            )
            if self.score is not None and self.score_without is not None:
                line += f"     {self.score_without[v]:.3f} ({self.score_without[v] - self.score:+.3f})"
            lines.append(line)
        return "\n".join(lines)


def view_importance(
    model: BaseEstimator,
    X: SamplesLike,
    y: LabelsLike | None = None,
    *,
    n_resamples: int = 10,
    fraction: float = 0.8,
    random_state: RandomStateLike = None,
) -> ViewImportance:
    """Measure how much a model depends on each view, and how much this varies over subsets of the samples.

    A share says how near the kernels of a view are to the consensus, not how useful the view is: compare it with the
    changes when the view is left out. The model is fitted `1 + n_resamples + n_views` times.

    Parameters
    ----------
    model : estimator of several kernels
        A clusterer or a classifier, fitted or not; it is not changed.
    X : Views, dict or list of tables, or one table if the model has the parameter `views`
        As in the model's `fit`.
    y : array of shape (n_samples,), optional
        For a classifier the labels that it is fitted on. For a clusterer, classes to score by, which are not used in
        the fit; samples whose label is missing (-1, None, NaN or an empty text) do not count.
    n_resamples : int, default=10
        How many random parts of the samples the shares are learned on again.
    fraction : float, default=0.8
        The size of such a part; labelled samples are in all of them.
    random_state : int, RandomState or None, default=None
        Seed of the parts.

    Returns
    -------
    ViewImportance
        Print it for a table; `kernelweave.plots.plot_view_importance` draws it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave import WeaveClustering, view_importance
    >>> X, y = load_iris(return_X_y=True)
    >>> model = WeaveClustering(3, views={"sepal": [0, 1], "petal": [2, 3]}, random_state=0)
    >>> found = view_importance(model, X, n_resamples=2, random_state=0)
    >>> found.view_names, found.agreement.shape, found.resampled_shares.shape
    (('sepal', 'petal'), (2,), (2, 2))
    """
    from sklearn.metrics import adjusted_rand_score

    _check(n_resamples, fraction)
    rng = check_random_state(random_state)
    classes = is_classifier(model)
    if classes and y is None:
        msg = f"{type(model).__name__} is a classifier, which is fitted again and again: pass its labels y."
        raise InvalidInputError(msg)
    fitted = _fit(model, X, y if classes else None)
    if not hasattr(fitted, "graph_"):
        raise _no_graph(fitted)
    names = fitted.view_names_
    if len(names) < 2:
        msg = (
            f"There is only one view, {names[0]!r}: importance compares two or more. Pass several tables, or give the "
            "model the parameter `views`."
        )
        raise InvalidInputError(msg)
    views = fitted._read_again(X)
    y = None if y is None else np.asarray(labels_in_order(y, views))
    if y is not None and len(y) != views.n_samples:
        msg = f"y has {counted(len(y), 'label')} for {counted(views.n_samples, 'sample')}: pass one per sample."
        raise InvalidInputError(msg)
    codes = np.full(views.n_samples, -1) if y is None else _codes(y)
    part = _Part(model, views, y, classes)
    resampled = [part.of(_draw(codes if classes else None, views.n_samples, fraction, rng)) for _ in range(n_resamples)]
    labels, without = _labels(fitted), [part.without(name) for name in names]
    score = None if y is None or classes else _score(codes, labels)
    return ViewImportance(
        names,
        fitted.view_shares_,
        fitted.kernel_names_,
        fitted.kernel_views_,
        fitted.kernel_shares_,
        np.array(resampled).reshape(n_resamples, len(fitted.kernel_names_)),
        np.array([adjusted_rand_score(labels[rows], _labels(other)) for rows, other in without]),
        _modularity(fitted),
        np.array([_modularity(other) for _, other in without]),
        score,
        None if score is None else np.array([_score(codes[rows], _labels(other)) for rows, other in without]),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """Models of a part of the samples or of the views."""

    model: BaseEstimator
    views: Views
    y: NDArray[Any] | None
    classes: bool

    def of(self, rows: NDArray[np.intp]) -> Vector:
        """Return the kernels' shares in a model of these samples."""
        return np.asarray(_fit(self._for(self.views.names), self.views.select(rows), self._labels(rows)).kernel_shares_)

    def without(self, name: str) -> tuple[NDArray[np.intp], Any]:
        """Return the model without a view, and the samples that it has: those that another view knows."""
        others = [other for other in self.views.names if other != name]
        known = self.views.present[[self.views.names.index(other) for other in others]].any(axis=0)
        rows = np.flatnonzero(known)
        return rows, _fit(self._for(others), self.views.select(rows).only(others), self._labels(rows))

    def _labels(self, rows: NDArray[np.intp]) -> NDArray[Any] | None:
        return self.y[rows] if self.classes and self.y is not None else None

    def _for(self, names: Any) -> Any:
        """Return the model for these views: kernels and scales that are given by view are cut to them."""
        model = clone(self.model)
        changes: dict[str, Any] = {}
        for parameter in ("kernels", "scale"):
            given = getattr(model, parameter, None)
            if isinstance(given, Mapping) and set(given) == set(self.views.names):
                changes[parameter] = {name: given[name] for name in names}
        if getattr(model, "views", None) is not None:
            changes["views"] = None
        return model.set_params(**changes)


def _fit(model: BaseEstimator, X: SamplesLike, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one of many fits: what they warn of shows in how far they differ
        return clone(model).fit(X) if y is None else clone(model).fit(X, y)


def _labels(model: BaseEstimator) -> NDArray[Any]:
    return np.asarray(model.transduction_ if hasattr(model, "transduction_") else model.labels_)


def _codes(y: Array) -> NDArray[np.intp]:
    """Return the class of every sample as a number, -1 where its label is missing."""
    rows, known = labelled_rows(y)
    codes = np.full(len(y), -1, dtype=np.intp)
    codes[rows] = np.unique(known, return_inverse=True)[1]
    return codes


def _score(codes: NDArray[np.intp], labels: Array) -> float:
    """Return how far clusters agree with classes, on the samples whose class is known."""
    from sklearn.metrics import normalized_mutual_info_score

    known = codes >= 0
    return float(normalized_mutual_info_score(codes[known], labels[known]))


def _modularity(model: BaseEstimator) -> float:
    graph = model.graph_
    if not sparse.issparse(graph):
        graph = (graph + graph.T) / 2
    return modularity(sparse.csr_array(graph), np.unique(_labels(model), return_inverse=True)[1])


def _draw(codes: NDArray[np.intp] | None, n: int, fraction: float, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Return a part of the n samples: all that have a class among them."""
    free = np.arange(n) if codes is None else np.flatnonzero(codes < 0)
    drawn = rng.choice(free, round(fraction * len(free)), replace=False)
    return np.sort(np.r_[drawn, np.setdiff1d(np.arange(n), free)])


def _no_graph(fitted: BaseEstimator) -> InvalidInputError:
    """Return the error of a model, or of its solver, that learns no graph of the samples."""
    choice = getattr(fitted, "solver_", None)
    who = type(fitted).__name__ if choice is None else f'solver="{choice.name}"'
    cure = "use another model" if choice is None else 'use solver="dense" or "local"'
    return InvalidInputError(f"{who} learns no graph of the samples, by which views are compared: {cure}.")


def _check(n_resamples: int, fraction: float) -> None:
    check_whole(n_resamples, "n_resamples", 0)
    if isinstance(fraction, bool) or not isinstance(fraction, int | float | np.floating) or not 0 < fraction <= 1:
        msg = f"fraction must lie between 0 and 1; got {fraction!r}."
        raise InvalidInputError(msg)
