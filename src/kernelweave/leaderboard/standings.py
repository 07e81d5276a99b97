"""The ranking of methods: means, ranks, wins and losses, and how far apart ranks must be to differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from kernelweave._types import Array, Matrix, Vector
from kernelweave.errors import ResultsError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TIE", "Metric", "Standing", "Standings", "comparable", "critical_distance", "leads", "standings"]

Metric: TypeAlias = Literal["acc", "nmi", "ari"]

TIE = 0.01  # scores that differ by no more are a tie
_ROUNDING = 1e-6  # shares of samples that differ by 0.01 do so up to rounding
_LEVEL = 0.05
_DONE = ("FINISHED", "MAX_ITER")


@dataclass(frozen=True, slots=True)
class Standing:
    """The row of one method.

    Parameters
    ----------
    method : str
        Its name.
    mean : float
        Its mean score over the data sets on which it finished.
    rank : float
        Its mean rank over all data sets; 1 is the best. Where it did not finish it is the last.
    wins, ties, losses : int
        On how many data sets it scores better than, like, and worse than the reference.
    finished : int
        On how many data sets it finished.
    seconds : float or None
        The median of its CPU time over the data sets on which it finished.
    mib : float or None
        Its largest peak of memory.
    prepared : str
        What it is given.
    """

    method: str
    mean: float
    rank: float
    wins: int
    ties: int
    losses: int
    finished: int
    seconds: float | None
    mib: float | None
    prepared: str


@dataclass(frozen=True, slots=True)
class Standings:
    """The methods on the data sets under one condition, the best first.

    Parameters
    ----------
    condition, metric : str
        What was measured.
    datasets : tuple of str
        The data sets on which every method was tried.
    rows : tuple of Standing
        The methods.
    scores : array of shape (n_methods, n_datasets)
        Means over the seeds, in the order of `rows`; nan where a method did not finish.
    reference : str
        The method that the others are compared with.
    distance : float
        Mean ranks that are further apart differ (Nemenyi's test at 5 %).
    p_value : float
        Friedman's test that all methods are alike; nan for fewer than three methods or two data sets.
    refused : tuple of str
        Methods that do not take such samples.
    partial : tuple of str
        Data sets that were left out, as not all methods have been tried on them.
    seeds : tuple of int
        The smallest and the largest number of seeds of a random method on a data set.
    """

    condition: str
    metric: Metric
    datasets: tuple[str, ...]
    rows: tuple[Standing, ...]
    scores: Matrix
    reference: str
    distance: float
    p_value: float
    refused: tuple[str, ...]
    partial: tuple[str, ...]
    seeds: tuple[int, int]

    @property
    def place(self) -> int:
        """The place of the reference by mean rank, from 1."""
        return [row.method for row in self.rows].index(self.reference) + 1

    def losses(self) -> list[tuple[str, float, str, float]]:
        """Return the data sets on which another method is better than the reference by more than a tie.

        Each with the score of the reference, the best method and its score; nan if the reference did not finish.
        """
        own = self.scores[self.place - 1]
        found = []
        for j, dataset in enumerate(self.datasets):
            best = int(np.nanargmax(self.scores[:, j]))
            if np.isnan(own[j]) or leads(self.scores[best, j], own[j]):
                found.append((dataset, float(own[j]), self.rows[best].method, float(self.scores[best, j])))
        return found


def standings(
    rows: pd.DataFrame,
    condition: str = "plain",
    metric: Metric = "acc",
    *,
    reference: str = "WeaveClustering",
    datasets: Sequence[str] | None = None,
) -> Standings:
    """Compute the standings of the methods from the rows of `run_benchmark`.

    Parameters
    ----------
    rows : pandas.DataFrame
        The rows.
    condition : str, default="plain"
        Which rows to compare.
    metric : {"acc", "nmi", "ari"}, default="acc"
        By which score.
    reference : str, default="WeaveClustering"
        The method that wins and losses are counted against; the best by rank if it has no rows.
    datasets : sequence of str, optional
        Only these data sets.

    Returns
    -------
    standings : Standings

    Raises
    ------
    ResultsError
        If no data set has been tried with all methods.
    """
    some = comparable(rows[rows["condition"] == condition])
    if datasets is not None:
        some = some[some["dataset"].isin(list(datasets))]
    refused = _refused(some)
    some = some[~some["method"].isin(refused)]
    methods = list(dict.fromkeys(some["method"]))
    names, partial = _tried_by_all(some, methods)
    if not names:
        msg = f"No data set has rows of all methods under the condition {condition!r}: run the rest, or fewer methods."
        raise ResultsError(msg)
    scores = _scores(some, methods, names, metric)
    ranks = np.column_stack([_ranked(column) for column in scores.T])
    order = np.argsort(ranks.mean(axis=1), kind="stable")
    methods = [methods[i] for i in order]
    scores, ranks = scores[order], ranks[order]
    chosen = reference if reference in methods else methods[0]
    own = scores[methods.index(chosen)]
    found = tuple(
        _standing(some[some["dataset"].isin(names)], m, s, float(r.mean()), own)
        for m, s, r in zip(methods, scores, ranks, strict=True)
    )
    return Standings(
        condition=condition,
        metric=metric,
        datasets=tuple(names),
        rows=found,
        scores=scores,
        reference=chosen,
        distance=critical_distance(len(methods), len(names)),
        p_value=_friedman(ranks),
        refused=tuple(refused),
        partial=tuple(partial),
        seeds=_n_seeds(some[some["dataset"].isin(names)]),
    )


def leads(score: float, other: float) -> bool:
    """Return whether a score is better than another by more than a tie."""
    return bool(score - other > TIE + _ROUNDING)


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one number of samples per data set and condition: that of most methods, else the largest."""
    keys = ["condition", "dataset", "n_samples"]
    sizes = rows.groupby(keys)["method"].nunique().reset_index()
    sizes = sizes.sort_values(["method", "n_samples"]).drop_duplicates(["condition", "dataset"], keep="last")
    kept = set(sizes[keys].itertuples(index=False, name=None))
    # not a join, whose order of rows depends on the version of pandas
    return rows[[key in kept for key in rows[keys].itertuples(index=False, name=None)]].reset_index(drop=True)


def critical_distance(n_methods: int, n_datasets: int) -> float:
    """Return Nemenyi's critical distance of mean ranks at 5 %: q sqrt(k (k + 1) / (6 N)) (Demsar, 2006)."""
    if n_methods < 2:
        return 0.0
    return float(_quantile(n_methods) * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


@cache  # it is integrated numerically
def _quantile(n_methods: int) -> float:
    return float(studentized_range.ppf(1 - _LEVEL, n_methods, np.inf) / np.sqrt(2))


def _refused(rows: pd.DataFrame) -> list[str]:
    """Return the methods that refused all that they were given."""
    return [m for m, some in rows.groupby("method", sort=False) if (some["outcome"] == "REFUSED").all()]


def _tried_by_all(rows: pd.DataFrame, methods: Sequence[str]) -> tuple[list[str], list[str]]:
    every = list(dict.fromkeys(rows["dataset"]))
    tried = {name: set(some["method"]) for name, some in rows.groupby("dataset")}
    full = [name for name in every if tried[name] == set(methods)]
    return full, [name for name in every if name not in full]


def _scores(rows: pd.DataFrame, methods: Sequence[str], names: Sequence[str], metric: Metric) -> Matrix:
    done = rows[rows["outcome"].isin(_DONE)]
    means = done.groupby(["method", "dataset"])[metric].mean()
    return np.array([[means.get((method, name), np.nan) for name in names] for method in methods])


def _ranked(scores: Vector) -> Vector:
    """Return ranks from 1 for the largest score; equal ones share a rank, and nan is the last."""
    return np.asarray(rankdata(np.where(np.isnan(scores), np.inf, -scores)))


def _friedman(ranks: Matrix) -> float:
    if ranks.shape[0] < 3 or ranks.shape[1] < 2:
        return float("nan")
    return float(friedmanchisquare(*ranks).pvalue)


def _standing(rows: pd.DataFrame, method: str, scores: Vector, rank: float, own: Vector) -> Standing:
    mine = rows[rows["method"] == method]
    done = mine[mine["outcome"].isin(_DONE)]
    lead = np.nan_to_num(scores, nan=-1.0) - np.nan_to_num(own, nan=-1.0)  # who did not finish is behind all others
    memory = done["mib"].dropna()
    return Standing(
        method=method,
        mean=_mean(scores),
        rank=rank,
        wins=int((lead > TIE + _ROUNDING).sum()),
        ties=int((np.abs(lead) <= TIE + _ROUNDING).sum()),
        losses=int((lead < -TIE - _ROUNDING).sum()),
        finished=int((~np.isnan(scores)).sum()),
        seconds=float(done.groupby("dataset")["seconds"].mean().median()) if len(done) else None,
        mib=float(memory.max()) if len(memory) else None,
        prepared=str(mine["prepared"].iloc[0]),
    )


def _mean(scores: Array) -> float:
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if len(known) else float("nan")


def _n_seeds(rows: pd.DataFrame) -> tuple[int, int]:
    counts = rows.groupby(["method", "dataset"])["seed"].nunique()
    most = counts.groupby("dataset").max()
    return int(most.min()), int(most.max())
