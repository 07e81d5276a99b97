"""How far the paper's claim holds: paired differences between methods, with intervals over the data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import stats

from kernelweave.experiments.reading import read_cells
from kernelweave.experiments.selection import Cell, select_cells

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Paired", "against_rivals", "paired_interval", "parts_of_smkl", "ranks", "unfinished"]

_OURS = "SMKL"
_LEVEL = 0.95
# studentized range at 0.05 for infinitely many degrees of freedom, over the root of 2, by the number of methods
_NEMENYI = {3: 2.344, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.948, 8: 3.031, 9: 3.102, 10: 3.164}
Scores: TypeAlias = dict[str, float]  # by data set


@dataclass(frozen=True, slots=True)
class Paired:
    """The mean difference of two methods over data sets, with its t-interval; None for fewer than two data sets."""

    mean: float
    interval: tuple[float, float] | None
    n: int
    higher: int  # data sets in which the first method is better

    def words(self) -> str:
        """Return the difference as text."""
        if self.interval is None:
            return f"{self.mean:+.3f} on one data set".replace("-", "−")
        low, high = self.interval
        said = f"{self.mean:+.3f} (95 % interval {low:+.3f} to {high:+.3f}; higher on {self.higher} of {self.n})"
        return said.replace("-", "−")

    @property
    def verdict(self) -> str:
        """Say what the interval allows to claim."""
        if self.interval is None or self.interval[0] <= 0 <= self.interval[1]:
            return "undecided"
        return "better" if self.mean > 0 else "worse"


def paired_interval(first: Scores, second: Scores) -> Paired | None:
    """Return the paired difference over the data sets that both have, or None if there is none."""
    both = [name for name in first if name in second]
    if not both:
        return None
    apart = np.array([first[name] - second[name] for name in both])
    interval = None
    if len(apart) > 1:
        half = stats.t.ppf((1 + _LEVEL) / 2, len(apart) - 1) * apart.std(ddof=1) / np.sqrt(len(apart))
        interval = float(apart.mean() - half), float(apart.mean() + half)
    return Paired(float(apart.mean()), interval, len(apart), int((apart > 0).sum()))


def against_rivals(rows: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    """Say how far SMKL is from each of the other methods in accuracy, and how the methods rank.

    Parameters
    ----------
    rows : pandas.DataFrame
        The rows of a table.
    methods : sequence of str
        The methods of the paper.

    Returns
    -------
    sentences : list of str
        Empty if SMKL has no converged cell. Shares of labels of one data set are averaged first, as they share samples.
    """
    cells = select_cells(rows)
    scores = {name: by_dataset(cells, name) for name in methods}
    ours = scores.get(_OURS, {})
    said: list[str] = []
    words: dict[str, list[str]] = {"better": [], "worse": [], "undecided": []}
    for name in methods:
        paired = paired_interval(ours, scores[name]) if name != _OURS else None
        if paired is not None:
            words[paired.verdict].append(f"{name} {paired.words()}")
    for verdict, text in (
        ("better", f"{_OURS} is better than"),
        ("worse", f"{_OURS} is worse than"),
        ("undecided", f"The data do not decide between {_OURS} and"),
    ):
        if words[verdict]:
            said.append(f"{text}: {'; '.join(words[verdict])}.")
    return said + ranks(scores)


def unfinished(rows: pd.DataFrame, planned: Mapping[tuple[str, str], int]) -> list[str]:
    """Name the methods with fewer settings than planned, given by data set and method, and the least share of each."""
    shares: dict[str, list[tuple[int, int]]] = {}
    for cell in select_cells(rows):
        goal = planned.get((cell.dataset, cell.method), 0)
        if cell.n_settings < goal:
            shares.setdefault(cell.method, []).append((cell.n_settings, goal))
    least = {name: min(found, key=lambda pair: pair[0] / pair[1]) for name, found in shares.items()}
    if not least:
        return []
    named = ", ".join(f"{name} {run} of {goal}" for name, (run, goal) in least.items())
    return [f"Searches that are not finished, with the settings run where fewest were: {named}. More can only gain."]


def by_dataset(cells: Sequence[Cell], method: str) -> Scores:
    """Return the accuracy of a method on each data set, averaged over the shares of labels; converged cells only."""
    found: dict[str, list[float]] = {}
    incomplete = {c.dataset for c in cells if c.method == method and not c.settled}
    for cell in cells:
        if cell.method == method and "acc" in cell.scores and cell.dataset not in incomplete:
            found.setdefault(cell.dataset, []).append(cell.scores["acc"].mean)
    return {name: float(np.mean(values)) for name, values in found.items()}


def ranks(scores: Mapping[str, Scores]) -> list[str]:
    """Give the mean ranks over the data sets that all methods have, and Nemenyi's critical difference."""
    names = [name for name in scores if scores[name]]
    shared = sorted(set.intersection(*(set(scores[name]) for name in names))) if names else []
    if len(shared) < 2 or len(names) not in _NEMENYI:
        return []
    table = np.array([[scores[name][dataset] for name in names] for dataset in shared])
    mean = stats.rankdata(-table, axis=1).mean(axis=0)
    critical = _NEMENYI[len(names)] * np.sqrt(len(names) * (len(names) + 1) / (6 * len(shared)))
    order = ", ".join(f"{names[i]} {mean[i]:.1f}" for i in np.argsort(mean, kind="stable"))
    return [
        f"Mean ranks on {len(shared)} data sets (1 is best): {order}. Ranks that differ by less than "
        f"{critical:.1f}, the critical difference of Nemenyi at the level 0.05, are not distinguished."
    ]


def parts_of_smkl(rows: pd.DataFrame) -> list[str]:
    """Compare the loop with its first iterate, and learned with equal weights, setting by setting.

    Parameters
    ----------
    rows : pandas.DataFrame
        The rows of the experiment "ablation".

    Returns
    -------
    sentences : list of str
        The mean paired difference in accuracy over settings, with an interval over data sets.
    """
    frame = read_cells(rows)
    said = []
    for other, question in (
        ("first iterate", "The loop against its first iterate"),
        ("equal weights", "Learned weights against equal weights"),
    ):
        paired = paired_interval(_by_setting(frame, _OURS), _by_setting(frame, other))
        if paired is not None:
            said.append(f"{question}: ACC {paired.words()}, over the same settings; {_claim(paired)}.")
    return said


def _by_setting(frame: pd.DataFrame, method: str) -> Scores:
    """Return the accuracy on each data set, averaged over settings and seeds; a failed run counts as 0."""
    part = frame[frame["method"] == method]
    return {str(name): float(runs["acc"].fillna(0).mean()) for name, runs in part.groupby("dataset", sort=False)}


def _claim(paired: Paired) -> str:
    return {"better": "the first is better", "worse": "the first is worse", "undecided": "the data do not decide"}[
        paired.verdict
    ]
