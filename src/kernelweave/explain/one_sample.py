"""Why one sample is in its cluster: its neighbours, the kernels and views that put it there, and the runner-up."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from kernelweave._plural import counted, plural
from kernelweave._shares import percent
from kernelweave._types import Array, Mask, Matrix, Tables, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.estimators.whole_numbers import check_whole
from kernelweave.explain._columns import Columns, read_columns, split_views
from kernelweave.explain._frames import frame
from kernelweave.explain._groups import groups_of, sample_names
from kernelweave.weave.consensus_kernel import Consensus, VersionKernels
from kernelweave.weave.local.local_graph import LocalRows

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SampleExplanation", "explain_sample"]

Rows = tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class SampleExplanation:
    """Why a sample is in its cluster (or class), as `explain_sample` found it.

    Parameters
    ----------
    sample : int
        The position of the sample.
    name : str or None
        Its name in `sample_names_`; None if the samples have no names.
    kind : str
        "cluster" or "class".
    group : str
        Its cluster.
    membership : float
        How far it belongs to it.
    runner_up : str or None
        The other cluster that it belongs to most; None if it belongs to none of several others.
    runner_up_membership : float
        How far it belongs to that.
    neighbor_rows, kernel_rows, view_rows : tuple of dict, or None
        The rows of `neighbors`, `kernels` and `views`; None if the model does not keep what they are computed from.
    feature_rows : tuple of dict
        The rows of `features`.
    """

    sample: int
    name: str | None
    kind: str
    group: str
    membership: float
    runner_up: str | None
    runner_up_membership: float
    neighbor_rows: Rows | None = field(repr=False)
    kernel_rows: Rows | None = field(repr=False)
    view_rows: Rows | None = field(repr=False)
    feature_rows: Rows = field(repr=False)

    @cached_property
    def neighbors(self) -> pd.DataFrame | None:
        """The nearest samples in the learned graph: position, name, cluster, and share of the weight of its edges."""
        name = () if self.name is None else ("name",)
        return None if self.neighbor_rows is None else frame(self.neighbor_rows, ("sample", *name, self.kind, "weight"))

    @cached_property
    def kernels(self) -> pd.DataFrame | None:
        """What every kernel contributes to the similarity with the own cluster, and with the runner-up."""
        return None if self.kernel_rows is None else frame(self.kernel_rows, ("kernel", "view", *_PULLS))

    @cached_property
    def views(self) -> pd.DataFrame | None:
        """The same, summed over the kernels of every view."""
        return None if self.view_rows is None else frame(self.view_rows, ("view", *_PULLS))

    @cached_property
    def features(self) -> pd.DataFrame:
        """The features by how far they hold the sample in its cluster, or draw it to the runner-up."""
        return frame(self.feature_rows, ("feature", "view", "value", "typical", "runner_up", "pull"))

    def __str__(self) -> str:
        name = self.sample if self.name is None else repr(self.name)
        if self.runner_up is None:
            rival, second = f"another {self.kind}", f"it does not belong to another {self.kind} at all"
        else:
            rival = self.runner_up
            second = f"the runner-up is {rival} ({percent(self.runner_up_membership)})"
        lines = [f"Sample {name} is in {self.kind} {self.group} ({percent(self.membership)}); {second}."]
        if self.neighbor_rows:
            own = sum(row[self.kind] == self.group for row in self.neighbor_rows)
            near = counted(len(self.neighbor_rows), "nearest neighbour")
            lines.append(f"Of its {near}, {own} {'is' if own == 1 else 'are'} in the same {self.kind}.")
        held = [row["feature"] for row in self.feature_rows if row["pull"] > 0][:3]
        drawn = [row["feature"] for row in self.feature_rows if row["pull"] < 0][:3]
        if held:
            lines.append(f"To be in {rival}, it would have to change in {', '.join(held)}.")
        if drawn:
            others = "samples of other " + plural(self.kind) if self.runner_up is None else rival
            lines.append(f"It is closer to {others} in {', '.join(drawn)}.")
        return "\n".join(lines)


_PULLS = ("similarity", "runner_up_similarity", "pull")


def explain_sample(
    model: BaseEstimator, X: Tables, sample: SupportsIndex | str, *, n_neighbors: int = 10, n_features: int | None = 20
) -> SampleExplanation:
    """Return why a training sample is in its cluster, and what would have to change to put it into another one.

    Parameters
    ----------
    model : fitted estimator
        A clusterer or classifier of this package.
    X : table, list or dict of tables, or Views
        The samples that the model was fitted on, in the same order, or with the index that they had if the model has
        `sample_names_`.
    sample : int or str
        The position of the sample among those of `fit`, or its name in `sample_names_` as a text.
    n_neighbors : int, default=10
        How many neighbours to return at most.
    n_features : int or None, default=20
        How many features to return; None returns all.

    Returns
    -------
    SampleExplanation
        Print it for a summary. Its attributes are data frames:

        - `neighbors`: the samples that the learned graph joins it to, and the share of each in the weight of its
          edges. None for models without a graph of all samples, as of the landmark solver;
        - `kernels` and `views`: the mean similarity with the samples of its cluster, with those of the runner-up, and
          the difference (`pull`), each kernel times its weight in the consensus, so that the pulls of all kernels add
          up to that of the consensus kernel. None for precomputed kernels and for the landmark solver;
        - `features`: its value, what is typical of its cluster and of the runner-up (the median, or the most frequent
          category), and the `pull`: the difference of the squared distances from both, in standard deviations; for a
          category, twice the logarithm of the ratio of its shares in both clusters. Positive values hold the sample in
          its cluster: these would have to change to make it one of the runner-up. In features with negative values it
          is closer to the runner-up already. Values of dates are `datetime` objects.

        If all its memberships of several other clusters are 0, there is no runner-up: it is compared with the samples
        of all other clusters.

    Raises
    ------
    InvalidInputError
        If there is no such sample, if X does not hold the samples of the model, or if there is only one cluster.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave import WeaveClustering
    >>> from kernelweave.explain import explain_sample
    >>> iris = load_iris(as_frame=True)
    >>> model = WeaveClustering(3, random_state=0).fit(iris.data)
    >>> found = explain_sample(model, iris.data, 77)
    >>> found.group != found.runner_up, found.features["feature"].iloc[0]
    (True, 'sepal length (cm)')
    """
    check_whole(n_neighbors, "n_neighbors", 1)
    check_whole(n_features, "n_features", 1, optional=True)
    kind, names, codes = groups_of(model)
    n = len(codes)
    sample = _position(model, sample, n)
    if len(names) < 2:
        msg = f"There is only one {kind}, so that no sample has a runner-up."
        raise InvalidInputError(msg)
    columns = read_columns(split_views(model, X), n, model)
    belongs = _memberships(model, sample, codes, names)
    own = int(codes[sample])
    other = int(np.where(np.arange(len(names)) == own, -np.inf, belongs).argmax())
    second = belongs[other] > 0 or len(names) == 2
    here, there = codes == own, codes == other if second else codes != own
    kernels, views = _kernels(model, sample, here, there)
    called = sample_names(model)
    return SampleExplanation(
        sample,
        None if called is None else str(called[sample]),
        kind,
        str(names[own]),
        float(belongs[own]),
        str(names[other]) if second else None,
        float(belongs[other]),
        _neighbors(model, sample, kind, names, codes, n_neighbors),
        kernels,
        views,
        _features(columns, sample, here, there, n_features),
    )


def _position(model: BaseEstimator, sample: SupportsIndex | str, n_samples: int) -> int:
    """Return the position of a sample that is given by its position or its name."""
    names = sample_names(model)
    if isinstance(sample, str) and names is not None:
        found = np.flatnonzero(names.astype(str) == sample)
        if not len(found):
            msg = f"There is no sample {sample!r}: model.sample_names_ holds {', '.join(map(repr, names[:2]))} ..."
            raise InvalidInputError(msg)
        return int(found[0])
    if isinstance(sample, str):
        msg = (
            "sample must be a whole number if the model has no sample_names_: pass a position from 0 to "
            f"{n_samples - 1}; got {sample!r}."
        )
        raise InvalidInputError(msg)
    check_whole(sample, "sample", 0)
    if int(sample) >= n_samples:
        msg = f"sample must be a position from 0 to {n_samples - 1}; got {sample!r}."
        raise InvalidInputError(msg)
    return int(sample)


def _memberships(model: BaseEstimator, sample: int, codes: NDArray[np.intp], names: Array) -> Vector:
    """Return how far the sample belongs to every group: as the model says, or by the edges of its graph."""
    for name in ("membership_", "label_distributions_"):
        if hasattr(model, name):
            belongs = np.asarray(getattr(model, name)[sample], dtype=np.float64)
            # a class that no sample was given in the end is not a group
            return belongs if len(belongs) == len(names) else belongs[np.isin(model.classes_, names)]
    weights = _edges(model, sample)
    if weights is None:
        msg = f"{type(model).__name__} has no memberships and no graph to say how far a sample belongs to a cluster."
        raise InvalidInputError(msg)
    votes = np.bincount(codes, weights=weights, minlength=len(names))
    return np.asarray(votes / (votes.sum() or 1.0))


def _edges(model: BaseEstimator, sample: int) -> Vector | None:
    """Return the weights of the edges of a sample; None without a graph of all samples."""
    S = getattr(model, "graph_", None)
    if S is None:
        return None
    if sparse.issparse(S):
        S = sparse.csr_array(S)
        weights = (S[[sample]].toarray()[0] + S[:, [sample]].toarray()[:, 0]) / 2
    else:
        weights = (np.asarray(S[sample]) + np.asarray(S[:, sample])) / 2
    weights = np.abs(np.asarray(weights, dtype=np.float64))
    weights[sample] = 0
    return weights


def _neighbors(
    model: BaseEstimator, sample: int, kind: str, names: Array, codes: NDArray[np.intp], n_neighbors: int
) -> Rows | None:
    weights = _edges(model, sample)
    if weights is None:
        return None
    total = weights.sum() or 1.0
    nearest = [int(j) for j in np.argsort(-weights, kind="stable")[:n_neighbors] if weights[j] > 0]
    called = sample_names(model)
    return tuple(
        {
            "sample": j,
            **({} if called is None else {"name": str(called[j])}),
            kind: str(names[codes[j]]),
            "weight": float(weights[j] / total),
        }
        for j in nearest
    )


def _kernels(model: BaseEstimator, sample: int, own: Mask, other: Mask) -> tuple[Rows | None, Rows | None]:
    """Return what every kernel and every view contributes to the similarity with both groups."""
    H = _similarities(model, sample, len(own))
    if H is None:
        return None, None
    members = own & (np.arange(len(own)) != sample)
    here = H[:, members].mean(axis=1) if members.any() else np.zeros(len(H))
    there = H[:, other].mean(axis=1)
    views = np.array(model.kernel_views_)
    kernels = [
        {"kernel": name, "view": view, **_pull(here[i], there[i])}
        for i, (name, view) in enumerate(zip(model.kernel_names_, views.tolist(), strict=True))
    ]
    sums = [
        {"view": v, **_pull(here[views == v].sum(), there[views == v].sum())} for v in dict.fromkeys(views.tolist())
    ]
    return _by_pull(kernels), _by_pull(sums)


def _pull(here: float, there: float) -> dict[str, float]:
    return dict(zip(_PULLS, (float(here), float(there), float(here - there)), strict=True))


def _by_pull(rows: list[dict[str, Any]]) -> Rows:
    return tuple(sorted(rows, key=lambda row: -abs(row["pull"])))


def _similarities(model: BaseEstimator, sample: int, n_samples: int) -> Matrix | None:
    """Return the kernels times their weights (r, n) between a sample and all samples; None if they are not kept."""
    graph = getattr(model, "_graph_model", None)
    nodes = getattr(graph, "nodes", None)
    nodes = np.arange(n_samples) if nodes is None else nodes
    joiner = getattr(graph, "joiner", None)
    consensus = getattr(joiner, "consensus", None)
    if isinstance(consensus, Consensus) and consensus.training is not None:
        H = np.sum([_weighted(version, nodes[sample]) for version in consensus.versions], axis=0)
    elif isinstance(joiner, LocalRows):
        H = _local(joiner, nodes[sample])
    else:
        return None
    return np.asarray(H[:, nodes])


def _weighted(version: VersionKernels, node: int) -> Matrix:
    training: Any = version.bank.training
    H = version.bank.grams(training.select([node]), training)[:, 0]
    return np.asarray(H * np.asarray(version.weights)[:, None], dtype=np.float64)


def _local(joiner: LocalRows, node: int) -> Matrix:
    parts = [
        share * kernel.gram(table[[node]], table)[0]
        for table, part in zip(joiner.training.tables, joiner.woven.consensus.kernels, strict=True)
        for share, kernel in zip(part.shares, part.kernels, strict=True)
    ]
    return np.asarray(parts, dtype=np.float64)


def _features(columns: Columns, sample: int, own: Mask, other: Mask, n_features: int | None) -> Rows:
    """Return the features by the size of their pull; not those that the model, the sample or a group lacks."""
    rows: list[dict[str, Any]] = []
    used = columns.used
    for at, values in columns.blocks():
        known = np.flatnonzero(~np.isnan(values[sample]) & used[at])
        pulls = _pulls(values[:, known], sample, own, other)
        for j, pull, typical, rival in zip(known, *pulls, strict=True):
            column, value = columns.columns[at[j]], values[:, j]
            if column.kind == "category":
                row = _category_row(value, column.levels, sample, own, other)
            else:
                shown = _date if column.kind == "date" else float
                row = {
                    "value": shown(value[sample]),
                    "typical": shown(typical),
                    "runner_up": shown(rival),
                    "pull": pull,
                }
            rows.append({"feature": column.name, "view": column.view, **row})
    telling = [row for row in rows if np.isfinite(row["pull"]) and row["pull"] != 0]
    return _by_pull(telling)[:n_features]


def _date(days: float) -> datetime | None:
    """Return the time that lies this many days after the beginning of 1970; None for NaN."""
    if np.isnan(days):
        return None
    return datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None) + timedelta(seconds=round(86400 * float(days)))


def _pulls(
    values: NDArray[np.float64], sample: int, own: Mask, other: Mask
) -> tuple[list[float], list[float], list[float]]:
    """Return the pulls of columns of numbers, and the medians in both groups."""
    if values.shape[1] == 0:
        return [], [], []
    median = np.nanmedian if np.isnan(values).any() else np.median
    here, there = (_all_nan_safe(median, values[part]) for part in (own, other))
    spread = np.nanstd(values, axis=0)
    spread[spread == 0] = np.inf
    x = values[sample]
    return (((x - there) / spread) ** 2 - ((x - here) / spread) ** 2).tolist(), here.tolist(), there.tolist()


def _all_nan_safe(median: Any, values: NDArray[np.float64]) -> NDArray[np.float64]:
    found = np.full(values.shape[1], np.nan)
    some = ~np.isnan(values).all(axis=0)
    found[some] = median(values[:, some], axis=0)
    return found


def _category_row(
    codes: NDArray[np.float64],
    levels: tuple[str, ...],
    sample: int,
    own: Mask,
    other: Mask,
) -> dict[str, Any]:
    counts = [
        np.bincount(codes[part & ~np.isnan(codes)].astype(np.intp), minlength=len(levels)) for part in (own, other)
    ]
    value = int(codes[sample])
    here, there = ((count[value] + 0.5) / (count.sum() + 1) for count in counts)
    typical, rival = (levels[count.argmax()] if count.any() else None for count in counts)
    pull = float(2 * np.log(here / there))
    return {"value": levels[value], "typical": typical, "runner_up": rival, "pull": pull}
