"""What sets every cluster apart: its features, ranked, in their own units."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from kernelweave._types import Array, LabelsLike, Tables
from kernelweave.errors import ColumnsWarning, InvalidInputError
from kernelweave.estimators.whole_numbers import check_seed, check_whole
from kernelweave.explain._columns import Columns, read_columns, split_views
from kernelweave.explain._effects import Effects, measure
from kernelweave.explain._frames import frame, plain_lists
from kernelweave.explain._groups import Estimator, Grouped, groups_of
from kernelweave.explain._held_out import HeldOut, held_out_test
from kernelweave.explain._lone import lone_columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Explanation", "Profile", "explain_clusters"]

_PROFILED = 3  # features of every cluster that the profile has
_ONE_SIDED = 0.5  # of the separation: a cluster with a smaller effect lies between others
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Profile:
    """Some telling features in all clusters, for pictures.

    Parameters
    ----------
    features : tuple of str
        The most telling features of every cluster, without repetition.
    means : array of shape (n_clusters, n_features)
        Means in standard deviations from the mean of all samples; of a category, its share.
    quantiles : array of shape (n_clusters, n_features, 5)
        The quantiles 5, 25, 50, 75 and 95 % in original units; NaN for categories.
    """

    features: tuple[str, ...]
    means: NDArray[np.float64]
    quantiles: NDArray[np.float64]


@dataclass(frozen=True)
class Explanation:
    """What sets every cluster (or class) apart from the others, as `explain_clusters` found it.

    Parameters
    ----------
    kind : str
        "cluster" or "class".
    names : tuple of str
        The clusters, as text, in the order of their labels.
    sizes : tuple of int
        Their numbers of samples.
    rows : tuple of dict
        The rows of `features`.
    profile : Profile
        Some features in all clusters, for pictures.
    recovered : tuple of float or None
        With the test: how far every cluster was found again without the held-out features, as Jaccard overlap from 0
        to 1.
    lone : tuple of str
        The features that set a cluster apart although no other column is related to them. Such clusters may follow a
        single column of noise: fit without it to see whether they remain.
    """

    kind: str
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    rows: tuple[dict[str, Any], ...] = field(repr=False)
    profile: Profile = field(repr=False)
    recovered: tuple[float, ...] | None = None
    lone: tuple[str, ...] = ()

    @cached_property
    def features(self) -> pd.DataFrame:
        """The features of all clusters as a data frame, one row each, the most telling of a cluster first."""
        return frame(self.rows, columns=_COLUMNS if self.recovered is None else (*_COLUMNS, *_TESTED))

    def of(self, cluster: object) -> list[dict[str, Any]]:
        """Return the rows of one cluster."""
        if str(cluster) not in self.names:
            msg = f"There is no {self.kind} {cluster!r}; there are {', '.join(self.names[:20])}."
            raise InvalidInputError(msg)
        return [row for row in self.rows if row[self.kind] == str(cluster)]

    def to_json(self) -> dict[str, Any]:
        """Return plain lists and dicts, from which `from_json` makes the same explanation."""
        return {
            "kind": self.kind,
            "names": list(self.names),
            "sizes": list(self.sizes),
            "rows": [dict(row) for row in self.rows],
            "recovered": None if self.recovered is None else list(self.recovered),
            "lone": list(self.lone),
            "profile": {
                "features": list(self.profile.features),
                "means": plain_lists(self.profile.means),
                "quantiles": plain_lists(self.profile.quantiles),
            },
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Explanation:
        """Return the explanation that `to_json` was called of."""
        profile = found["profile"]
        shape = (len(found["names"]), len(profile["features"]))
        means = np.array(profile["means"], dtype=np.float64).reshape(shape)
        quantiles = np.array(profile["quantiles"], dtype=np.float64).reshape((*shape, len(_QUANTILES)))
        return cls(
            str(found["kind"]),
            tuple(map(str, found["names"])),
            tuple(map(int, found["sizes"])),
            tuple(dict(row) for row in found["rows"]),
            Profile(tuple(map(str, profile["features"])), means, quantiles),
            None if found["recovered"] is None else tuple(map(float, found["recovered"])),
            tuple(map(str, found["lone"])),
        )


_COLUMNS = (
    *("cluster", "rank", "feature", "view", "type", "separation", "effect", "direction", "difference"),
    *("mean_in", "mean_out", "median_in", "median_out", "category", "share_in", "share_out"),
)
_TESTED = ("p_value", "q_value")


def explain_clusters(
    model: BaseEstimator | LabelsLike,
    X: Tables,
    y: LabelsLike | None = None,
    *,
    n_features: int | None = 20,
    test: bool = False,
    n_splits: int = 5,
    random_state: int | None = 0,
    units: Mapping[str, str] | None = None,
) -> Explanation:
    """Return the features that set every cluster apart from the other samples, ranked, in their own units.

    Parameters
    ----------
    model : fitted estimator, or array of shape (n_samples,)
        A clusterer with ``labels_`` or a classifier with ``transduction_``, of this package or of scikit-learn; or
        the label of every sample.
    X : table, list or dict of tables, or Views
        The samples that the model was fitted on, in the same order, or with the index that they had if the model has
        `sample_names_`, or if the labels are a pandas Series. Columns of a data frame may hold numbers, dates (in days
        since 1970), or categories. Those that the model left out of its fit, such as free text (`left_out` in
        `readings_`), are not explained.
    y : array of shape (n_samples,) or None, default=None
        The labels that a classifier was fitted on; needed only for its test.
    n_features : int or None, default=20
        How many features of every cluster to return; None returns all.
    test : bool, default=False
        Whether to test the features. The model is then fitted `n_splits` more times.
    n_splits : int, default=5
        Into how many parts the columns are divided by the test.
    random_state : int or None, default=0
        Seed of this division.
    units : mapping of str to str or None, default=None
        The units of columns by name, such as {"weight": "kg"}; with several views also {"clinic: weight": "kg"}. The
        result shows them again.

    Returns
    -------
    Explanation
        Its attribute `features` is a data frame with the columns

        - ``cluster`` (or ``class``), ``rank``, ``feature``, ``view``, ``type`` ("number", "category" or "date"), and
          ``unit`` if there are units;
        - ``separation``: from 0 to 1, by which the features are ranked. The mean of the absolute effects against each
          of the other clusters, weighted by their sizes; it is larger than the absolute ``effect`` if the cluster lies
          between others;
        - ``effect``: from -1 to 1. For a number, Cliff's delta: the probability that a sample of the cluster has a
          larger value than one outside, minus that of a smaller one. For a category, its share in the cluster minus
          its share outside. Both are 1 or -1 if the feature alone tells the cluster from all other samples;
        - ``direction``: "higher", "lower" or "between"; for a category "more often" or "less often";
        - ``difference``: of the means, or shares, in standard deviations of all samples;
        - ``mean_in``, ``mean_out``, ``median_in``, ``median_out``: in original units, for numbers and dates;
        - ``category``, ``share_in``, ``share_out``: the category whose share differs most;
        - ``p_value``, ``q_value``: with `test` only.

    Raises
    ------
    InvalidInputError
        If X does not hold the samples of the model, if it does not have a column that `units` names, or if the test is
        impossible: without an estimator, without the labels of a classifier, with precomputed kernels, or if no view
        has two columns.

    Warns
    -----
    ColumnsWarning
        If a column sets clusters apart although no other column is related to it, as `lone` of the result tells. It is
        looked for in tables of 3 to 50 columns and 50 samples or more.

    Notes
    -----
    Clusters are chosen so that they differ. The p-value of a usual test of a feature against clusters that were
    found with it is therefore far too small, even in noise. Here every feature is held out once: the columns are
    divided at random into `n_splits` parts, the model is fitted without each part, and the columns of that part are
    tested against the clusters of that fit, matched to the reported ones by overlap. Numbers are tested by Wilcoxon's
    rank sums, categories by Fisher's exact test; the p-value is multiplied by the number of clusters, since the
    matching has seen the feature. ``q_value`` adjusts for the number of all tests (Benjamini and Hochberg).

    The hypothesis that is tested is that the feature is independent of all other features. In a table of independent
    columns, p-values of at most 0.05 have at most a share of 0.05, and q-values of at most 0.05 occur in at most 5 %
    of such tables. A small p-value means that the other features, without this one, separate the samples in a way that
    the feature follows. It does not mean that the clusters are separate groups: correlated features without any gap
    between clusters pass the test too, and so do two copies of one measurement. A large p-value does not mean that
    the feature is unimportant: a feature that alone defines a cluster cannot be confirmed by the others.
    `recovered` of the result tells how far the clusters were found without the held-out features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave import WeaveClustering
    >>> from kernelweave.explain import explain_clusters
    >>> iris = load_iris(as_frame=True)
    >>> model = WeaveClustering(3, random_state=0).fit(iris.data)
    >>> found = explain_clusters(model, iris.data)
    >>> first = found.of(0)[0]
    >>> first["feature"], first["direction"], round(first["median_in"], 1), round(first["median_out"], 1)
    ('petal length (cm)', 'lower', 1.5, 4.9)
    """
    check_whole(n_features, "n_features", 1, optional=True)
    check_whole(n_splits, "n_splits", 2)
    check_seed(random_state)
    if not isinstance(test, bool | np.bool_):
        msg = f"test must be True or False; got {test!r}."
        raise InvalidInputError(msg)
    kind, names, codes = groups_of(model)
    X = split_views(model, X)
    columns = read_columns(X, len(codes), model).in_units({} if units is None else units)
    effects = measure(columns, codes, len(names))
    tested = None
    if test:
        _check_test(model, y, kind)
        rng = np.random.default_rng(random_state)
        tested = held_out_test(model, X, y, columns, (names, codes), n_splits=n_splits, rng=rng)
    ranked = [effects.order(k) for k in range(len(names))]
    orders = [order[columns.used[order]][:n_features] for order in ranked]
    lone = [columns.columns[j].title for j in lone_columns(columns, effects)] if kind == "cluster" else []
    if lone:
        warnings.warn(_of_lone(lone), stacklevel=2)
    return Explanation(
        kind,
        tuple(map(str, names)),
        tuple(np.bincount(codes, minlength=len(names)).tolist()),
        _rows(kind, names, codes, columns, effects, tested, orders),
        _profile(columns, codes, len(names), orders),
        None if tested is None else tuple(tested.recovered.tolist()),
        tuple(lone),
    )


def _of_lone(titles: Sequence[str]) -> ColumnsWarning:
    """Return the warning of columns that set clusters apart, but are related to no other."""
    names, one = ", ".join(map(repr, titles)), len(titles) == 1
    return ColumnsWarning(
        f"{'Column' if one else 'Columns'} {names} {'sets' if one else 'set'} clusters apart, but no other column is "
        f"related to {'it' if one else 'them'}: these clusters may follow noise.",
        f"Fit without {'it' if one else 'them'} to see whether they remain.",
    )


def _check_test(model: Grouped, y: LabelsLike | None, kind: str) -> None:
    problem = ""
    if not isinstance(model, Estimator):
        problem = "fits the model again, but got labels: pass the estimator"
    elif str(getattr(model, "kernels", None)) == "precomputed":
        problem = "leaves columns out, which a model of precomputed kernels cannot do: pass a model of tables"
    elif kind == "class" and y is None:
        problem = "fits the classifier again: pass its labels y"
    if problem:
        msg = f"The test of the features {problem}, or test=False."
        raise InvalidInputError(msg)


def _rows(
    kind: str,
    names: Array,
    codes: NDArray[np.intp],
    columns: Columns,
    effects: Effects,
    tested: HeldOut | None,
    orders: Sequence[NDArray[np.intp]],
) -> tuple[dict[str, Any], ...]:
    rows = []
    for k, order in enumerate(orders):
        if not len(order):  # there is no other cluster, or nothing differs
            continue
        middle = _medians(columns.take(order.tolist()), codes == k)
        for rank, j in enumerate(order):
            row = {kind: str(names[k]), "rank": rank + 1, **_described(columns, effects, k, int(j), middle[:, rank])}
            if tested is not None:
                row |= {"p_value": _number(tested.p_values[k, j]), "q_value": _number(tested.q_values[k, j])}
            rows.append(row)
    return tuple(rows)


def _described(columns: Columns, effects: Effects, k: int, j: int, middle: NDArray[np.float64]) -> dict[str, Any]:
    """Return what the row of one feature of one cluster says."""
    column, effect = columns.columns[j], float(effects.effect[k, j])
    here, there = float(effects.mean_in[k, j]), float(effects.mean_out[k, j])
    row: dict[str, Any] = {"feature": column.name, "view": column.view, "type": column.kind}
    row |= {"unit": column.unit} if columns.has_units else {}
    number, separation = column.kind != "category", float(effects.separation[k, j])
    words = ("higher", "lower") if number else ("more often", "less often")
    direction = "between" if abs(effect) < _ONE_SIDED * separation else words[effect < 0]
    row |= {"separation": separation, "effect": effect, "direction": direction}
    row |= {"difference": float(effects.difference[k, j])}
    row |= {"mean_in": here if number else None, "mean_out": there if number else None}
    row |= {"median_in": float(middle[0]) if number else None, "median_out": float(middle[1]) if number else None}
    row |= {"category": None if number else column.levels[effects.level[k, j]]}
    return row | {"share_in": None if number else here, "share_out": None if number else there}


def _medians(values: NDArray[np.float64], members: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the medians of columns in and outside of a group, (2, n_columns)."""
    median = np.nanmedian if np.isnan(values).any() else np.median
    return np.stack([median(values[members], axis=0), median(values[~members], axis=0)])


def _profile(columns: Columns, codes: NDArray[np.intp], n_groups: int, orders: Sequence[NDArray[np.intp]]) -> Profile:
    chosen = list(dict.fromkeys(int(j) for order in orders for j in order[:_PROFILED]))
    values = columns.take(chosen)
    means = np.empty((n_groups, len(chosen)))
    quantiles = np.full((n_groups, len(chosen), len(_QUANTILES)), np.nan)
    titles = []
    for f, j in enumerate(chosen):
        column, own = columns.columns[j], values[:, f]
        title = column.title
        if column.kind == "category":
            level = _telling_level(own, codes, n_groups, len(column.levels))
            title = f"{title} = {column.levels[level]}"
            own = np.where(np.isnan(own), np.nan, own == level)
        titles.append(title)
        spread = float(np.nanstd(own)) or 1.0
        for k in range(n_groups):
            inside = own[(codes == k) & ~np.isnan(own)]
            means[k, f] = (inside.mean() - np.nanmean(own)) / spread if len(inside) else np.nan
            if len(inside) and column.kind != "category":
                quantiles[k, f] = np.quantile(inside, _QUANTILES)
    return Profile(tuple(titles), means, quantiles)


def _telling_level(values: NDArray[np.float64], codes: NDArray[np.intp], n_groups: int, n_levels: int) -> int:
    """Return the category whose share varies most between the groups."""
    known = ~np.isnan(values)
    counts = np.zeros((n_groups, n_levels))
    np.add.at(counts, (codes[known], values[known].astype(np.intp)), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return int(shares.std(axis=0).argmax())


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
