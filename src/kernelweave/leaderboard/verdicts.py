"""What the rows say in words: the place of Weave, where it loses, what did not finish, where the rows come from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kernelweave._plural import counted
from kernelweave.datasets import dataset_info, list_datasets
from kernelweave.errors import ResultsError
from kernelweave.leaderboard.protocol import CONDITION_WORDS, CONDITIONS, Condition, Protocol
from kernelweave.leaderboard.standings import Standings, leads, standings

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "better_elsewhere",
    "data_table",
    "given_to",
    "place_words",
    "protocol_words",
    "provenance",
    "reference_of",
    "summary",
    "table_words",
    "unfinished",
]

_REFERENCES: dict[str, str] = {"labels": "WeaveClassifier"}


def reference_of(condition: str) -> str:
    """Return the method that the others are compared with under a condition."""
    return _REFERENCES.get(condition, "WeaveClustering")


def summary(rows: pd.DataFrame, held_out: Sequence[str] = ()) -> list[str]:
    """Return the place of the reference under every condition, and every data set on which it loses.

    Parameters
    ----------
    rows : pandas.DataFrame
        The rows of `run_benchmark`.
    held_out : sequence of str, optional
        Data sets that were not used to choose any default; they are told apart.

    Returns
    -------
    sentences : list of str
    """
    known = [name for name in dict.fromkeys(rows["dataset"]) if name not in held_out]
    said = []
    for condition in CONDITIONS:
        for datasets, where in ((known, ""), (list(held_out), " (held-out data sets)")):
            if ((rows["condition"] == condition) & rows["dataset"].isin(datasets)).any():
                said += _of_condition(rows, condition, datasets, where)
    return said


def _of_condition(rows: pd.DataFrame, condition: Condition, datasets: Sequence[str], where: str) -> list[str]:
    try:
        one = standings(rows, condition, reference=reference_of(condition), datasets=datasets)
    except ResultsError:
        return [f"{CONDITION_WORDS[condition].capitalize()}{where}: not all methods have been run on any data set."]
    return [f"{CONDITION_WORDS[condition].capitalize()}{where}: {place_words(one)}"]


def place_words(one: Standings) -> str:
    """Return the place of the reference by mean rank of ACC, and where another method is better."""
    row = one.rows[one.place - 1]
    lost = [
        f"{name} ({score:.3f}; {best} {better:.3f})"
        if score == score
        else f"{name} (not finished; {best} {better:.3f})"
        for name, score, best, better in one.losses()
    ]
    first = f"{one.reference} is number {one.place} of {len(one.rows)} by mean rank of ACC ({row.rank:.2f}) on "
    first += f"{counted(len(one.datasets), 'data set')}, with mean ACC {row.mean:.3f}"
    if not lost:
        return f"{first}. No method is better by more than a tie on any of them."
    return f"{first}. On {len(lost)} of them another method is better: {', '.join(lost)}."


def better_elsewhere(one: Standings) -> list[str]:
    """Return, for every method that is better than the reference somewhere by more than a tie, where it is."""
    own = one.scores[one.place - 1]
    said = []
    for row, scores in zip(one.rows, one.scores, strict=True):
        where = [
            f"{name} ({score:.3f} against {mine:.3f})"
            for name, score, mine in zip(one.datasets, scores, own, strict=True)
            if leads(score, mine)
        ]
        if where:
            said.append(f"{row.method}: {', '.join(where)}")
    return said


def table_words(one: Standings) -> str:
    """Return how many methods and data sets a table has, and over how many seeds."""
    least, most = one.seeds
    seeds = counted(least, "seed") if least == most else f"{least} to {counted(most, 'seed')}"
    return f"{counted(len(one.rows), 'method')}, {counted(len(one.datasets), 'data set')}, {seeds}"


def data_table(rows: pd.DataFrame) -> list[list[str]]:
    """Return name, samples used, views, columns, classes and domain of every data set, the smallest first."""
    once = rows.sort_values(["n_samples", "dataset"]).drop_duplicates(["dataset", "n_samples"])
    found = []
    for row in once.itertuples():
        registered = _registered(str(row.dataset))
        samples = str(row.n_samples) if registered in (None, row.n_samples) else f"{row.n_samples} of {registered}"
        found.append(
            [str(row.dataset), samples, *map(str, (row.n_views, row.n_features, row.n_classes)), str(row.domain)]
        )
    return found


def given_to(rows: pd.DataFrame) -> Iterator[Any]:
    """Yield one row of every method, by name: what it was given is the same in all of its rows."""
    once = rows.drop_duplicates("method")
    yield from once.sort_values("method", key=lambda names: names.str.casefold()).itertuples()


def _registered(name: str) -> int | None:
    """Return the number of samples of a data set; None for one of a plugin that is not installed any more."""
    return dataset_info(name).n_samples if name in list_datasets() else None


def protocol_words(rows: pd.DataFrame) -> list[str]:
    """Return the protocol that rows were computed under, in words; raise if they have several."""
    told = sorted(set(rows["protocol"]))
    if len(told) != 1:
        msg = f"The rows were computed under {len(told)} protocols, which cannot be compared: {'; '.join(told)}."
        raise ResultsError(msg)
    most = int(rows["n_samples"].max())
    protocol = Protocol(seeds=int(rows["seed"].max()) + 1, max_samples=most, **json.loads(told[0]))
    sizes = rows.groupby("dataset")["n_samples"].max().items()
    drawn = any(n < (_registered(str(name)) or n) for name, n in sizes)
    return protocol.sentences(set(rows["method"]), set(rows["condition"]), drawn=drawn)


def unfinished(rows: pd.DataFrame) -> list[dict[str, str]]:
    """Return the trials that did not finish or failed, once per method, data set and condition."""
    some = rows[rows["outcome"].isin(("NOT FINISHED", "FAILED"))]
    once = some.drop_duplicates(["method", "dataset", "condition"])
    return [
        {"method": r.method, "dataset": r.dataset, "condition": r.condition, "reason": _short(r.error)}
        for r in once.itertuples()
    ]


def _short(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:157]}..."


def provenance(rows: pd.DataFrame) -> list[str]:
    """Return the commits, versions, dates and the computing time of the rows."""
    times = rows["created"].dropna()
    hours = float(rows["seconds"].fillna(0).sum()) / 3600
    outcomes = ", ".join(f"{n} {name.lower()}" for name, n in rows["outcome"].value_counts().items())
    versions = ", ".join(f"{name} {' and '.join(sorted(set(rows[name])))}" for name in _PACKAGES)
    return [
        f"{counted(len(rows), 'row')}: {outcomes}.",
        f"Commits of kernelweave: {', '.join(sorted(set(rows['commit'])))}.",
        f"{versions}.",
        f"Computed from {times.min()} to {times.max()}: {hours:.2f} hours of CPU time on one thread.",
    ]


_PACKAGES = ("kernelweave", "numpy", "scipy", "sklearn", "python")
