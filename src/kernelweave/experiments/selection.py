"""Selection of one setting per cell of a table, by the rule that the rows name."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelweave.errors import InvalidInputError
from kernelweave.experiments.reading import read_cells

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["METRICS", "Cell", "Score", "entries_kept", "select_cells", "with_full_graph"]

METRICS = ("acc", "nmi", "purity")
_CELL = ["dataset", "method", "labels", "rule"]
_OURS = "SMKL"
_KEPT = re.compile(r"\bn_neighbors=(\d+)")


@dataclass(frozen=True, slots=True)
class Score:
    """A metric over the runs of one setting: mean and, of two runs or more, sample standard deviation."""

    mean: float
    std: float | None


@dataclass(frozen=True, slots=True)
class Cell:
    """The result of one method on one data set, with one percentage of labels and one selection rule."""

    dataset: str
    method: str
    labels: int | None  # percent
    rule: str
    protocol: str | None
    scores: dict[str, Score]  # of the chosen setting; empty if every setting failed
    setting: str  # the chosen one, as text
    n_settings: int  # how many were searched
    n_failed: int  # settings without a result in some run
    n_unsettled: int  # settings with a run that stopped before it converged, its labels not shown to be stable
    n_runs: int  # seeds or draws of the chosen setting
    seconds: float  # of one run of the chosen setting
    settled: bool  # whether all runs of the chosen setting converged; False only if no setting did

    @property
    def tuned(self) -> bool:
        """Whether the setting was chosen with the labels that score it."""
        return self.rule == "oracle" and self.n_settings > 1


def select_cells(rows: pd.DataFrame) -> list[Cell]:
    """Return one cell for every data set, method, percentage of labels and rule, each with its chosen setting.

    Parameters
    ----------
    rows : pandas.DataFrame
        Rows of an experiment.

    Returns
    -------
    cells : list of Cell
        In the order of their first rows.

    Raises
    ------
    InvalidInputError
        If columns are missing, the rule "fixed" was given several settings, or "unsupervised" has no evidence.

    Notes
    -----
    A setting is its parameters and its kernel. The rule "oracle" takes the setting with the best accuracy, averaged
    over seeds or draws; ties are broken by NMI, then by fewer iterations (a long run may have converged by chance),
    then by order. The rule "unsupervised" takes the one with the most evidence, the modularity of its clusters on its
    own graph, and uses no labels. Under "fixed" there is one setting.

    A setting is only chosen if none of its runs failed, as the mean of the others would be over easier draws, and all
    of them converged, as the figure would depend on the moment when the solver was stopped. A run that stopped at
    max_iter counts as converged if its labels were the same after twice as many iterations. If no setting qualifies,
    the best of the others is shown and marked by `settled`. Settings with all draws come before those that only the
    coarse stage of a search has run. The other metrics are those of the same setting.
    """
    frame = read_cells(rows)
    searches = _settings(frame).groupby(level=list(range(len(_CELL))), sort=False, dropna=False)
    settings = {_key(key): part for key, part in searches}
    cells = frame.groupby(_CELL, sort=False, dropna=False)
    return [_cell(_key(key), part, settings[_key(key)]) for key, part in cells]


def _key(key: tuple[Any, ...]) -> tuple[str, str, int | None, str]:
    dataset, method, labels, rule = key
    return dataset, method, None if labels != labels else int(labels), rule


def _settings(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a line per setting: its runs, those with a result, the means, and whether all results converged."""
    loose = frame["acc"].notna() & ~frame["settled"]
    return (
        frame.assign(loose=loose)
        .groupby([*_CELL, "setting"], sort=False, dropna=False)
        .agg(
            runs=("seed", "size"), good=("acc", "count"), loose=("loose", "any"), acc=("acc", "mean"),
            nmi=("nmi", "mean"), evidence=("evidence", "mean"), n_iter=("n_iter", "mean"),
        )
    )  # fmt: skip


def _cell(key: tuple[str, str, int | None, str], part: pd.DataFrame, settings: pd.DataFrame) -> Cell:
    dataset, method, labels, rule = key
    if rule == "fixed" and len(settings) > 1:
        msg = (
            f"The rows of {method} on {dataset} have {len(settings)} settings under the rule 'fixed', which chooses "
            "nothing: give it one setting, or another rule."
        )
        raise InvalidInputError(msg)
    by = "evidence" if rule == "unsupervised" else "acc"
    best = max(settings.itertuples(), key=lambda setting: _merit(setting, by))
    if len(settings) > 1 and best.good and getattr(best, by) != getattr(best, by):
        msg = (
            f"The rows of {method} on {dataset} have no {by} to choose by under the rule {rule!r}: only methods that "
            "learn a graph have it. Use the rule 'oracle' or 'fixed'."
        )
        raise InvalidInputError(msg)
    chosen = str(best.Index[-1])
    good = part[(part["setting"] == chosen) & part["acc"].notna()]
    return Cell(
        dataset=dataset,
        method=method,
        labels=labels,
        rule=rule,
        protocol=", ".join(sorted(set(part["protocol"]) - {""})) or None,
        scores={metric: score for metric in METRICS if (score := _score(good, metric)) is not None},
        setting=chosen,
        n_settings=len(settings),
        n_failed=int((settings["good"] < settings["runs"]).sum()),
        n_unsettled=int(settings["loose"].sum()),
        n_runs=len(good),
        seconds=float(good["seconds"].mean()) if len(good) else float("nan"),
        settled=not best.loose,
    )


def _merit(setting: Any, by: str) -> tuple[float, ...]:
    """Return the sort key; `max` keeps the first of ties.

    It is: no run failed, all converged, number of runs, criterion of the rule, NMI, fewer iterations.
    """
    merits = (getattr(setting, name) for name in ((by, "nmi") if by == "acc" else (by,)))
    # equal means may differ in their last digits
    values = (-np.inf if merit != merit else round(float(merit), 12) for merit in merits)
    shorter = -np.inf if setting.n_iter != setting.n_iter else -float(setting.n_iter)
    return setting.good == setting.runs, not setting.loose, setting.good, *values, shorter


def _score(good: pd.DataFrame, metric: str) -> Score | None:
    values = good[metric].dropna()
    if not len(values):
        return None
    return Score(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None)


def entries_kept(cell: Cell) -> int | None:
    """Return how many entries of every row of the graph the setting of SMKL keeps, or None for all of them."""
    kept = _KEPT.search(cell.setting) if cell.method == _OURS else None
    return None if kept is None else int(kept[1])


def with_full_graph(rows: pd.DataFrame) -> dict[tuple[str, int | None], Cell]:
    """Return, by data set and share of labels, SMKL's cells of the settings that keep the full graph.

    Only of the cells of which another setting is chosen: one that keeps only the strongest entries.
    """
    cut = {(cell.dataset, cell.labels) for cell in select_cells(rows) if entries_kept(cell) is not None}
    if not cut:
        return {}
    full = [method == _OURS and _is_full(text) for method, text in zip(rows["method"], rows["parameters"], strict=True)]
    cells = select_cells(rows[full])
    return {(cell.dataset, cell.labels): cell for cell in cells if (cell.dataset, cell.labels) in cut}


def _is_full(parameters: str) -> bool:
    return bool(json.loads(parameters).get("n_neighbors") == "all")
