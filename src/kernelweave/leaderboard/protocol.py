"""The protocol of a leaderboard: what every method is given, and what is measured."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias, get_args

from kernelweave._plural import counted
from kernelweave.errors import InvalidInputError

__all__ = ["CONDITIONS", "CONDITION_WORDS", "Condition", "Protocol"]

Condition: TypeAlias = Literal["plain", "unknown", "gaps", "noise", "labels"]

CONDITIONS: tuple[Condition, ...] = get_args(Condition)
CONDITION_WORDS: dict[Condition, str] = {
    "plain": "the number of clusters is given",
    "unknown": "the number of clusters is not given",
    "gaps": "a share of the samples lacks one view each",
    "noise": "a real view with its rows permuted is added",
    "labels": "a few samples of each class are labelled",
}

_OWN_NUMBER = ("HDBSCAN", "Leiden")  # methods that find a number of clusters of their own


@dataclass(frozen=True, slots=True)
class Protocol:
    """What every method is given on every data set. Labels score the results and choose nothing.

    Parameters
    ----------
    seeds : int
        How many seeds. A seed draws the gaps, the noise and the labels, and is the `random_state` of the method.
    max_samples : int
        The number of samples that are drawn at random, without their labels, from larger data sets.
    gap_share : float
        The share of the samples that lack one view each under "gaps".
    label_share : float
        The share of the samples of each class that are labelled under "labels", at least one of each class.
    max_seconds : float
        Seconds of computing (CPU time) after which a fit is stopped: "not finished".
    max_gib : float
        GiB of memory that a fit may allocate; one that needs more is "not finished".
    """

    seeds: int = 5
    max_samples: int = 1500
    gap_share: float = 0.3
    label_share: float = 0.05
    max_seconds: float = 300.0
    max_gib: float = 4.0

    def __post_init__(self) -> None:
        for name, least in (("seeds", 1), ("max_samples", 10), ("max_seconds", 0.01), ("max_gib", 0.01)):
            if getattr(self, name) < least:
                msg = f"{name} must be at least {least}, got {getattr(self, name)}."
                raise InvalidInputError(msg)
        for name in ("gap_share", "label_share"):
            if not 0 < getattr(self, name) < 1:
                msg = f"{name} must be above 0 and below 1, got {getattr(self, name)}."
                raise InvalidInputError(msg)

    @property
    def name(self) -> str:
        """The name of the experiment in its results."""
        return "leaderboard"

    @property
    def preset(self) -> str:
        """The limits in short, without the seeds and samples: a run may be given more of them later."""
        return f"{self.max_seconds:g} s, {self.max_gib:g} GiB"

    @property
    def filename(self) -> str:
        """The name of the stored protocol."""
        return "spec.toml"

    @property
    def content(self) -> bytes:
        """The protocol as TOML."""
        return "".join(f"{f.name} = {json.dumps(getattr(self, f.name))}\n" for f in fields(self)).encode()

    @property
    def sha256(self) -> str:
        """Checksum of the limits and shares."""
        return hashlib.sha256(self.limits.encode()).hexdigest()

    @property
    def limits(self) -> str:
        """The limits and shares as JSON, without the seeds and samples, which every row has itself."""
        told = {f.name: float(getattr(self, f.name)) for f in fields(self) if f.name not in ("seeds", "max_samples")}
        return json.dumps(told, sort_keys=True)

    def sentences(self, methods: Collection[str], conditions: Collection[str], *, drawn: bool) -> list[str]:
        """Return the protocol in words, as far as it concerns these methods and conditions.

        `drawn` is whether a data set had more than `max_samples` samples.
        """
        part = (
            f"At most {self.max_samples} samples of a data set are used, drawn at random and the same for all methods: "
            "see the table of data sets."
        )
        free = [name for name in _OWN_NUMBER if name in methods]
        shares = {
            "gaps": f"{self.gap_share:.0%} of the samples lack one view each",
            "labels": f"{self.label_share:.0%} of each class are labelled, at least one sample, and the others are "
            "scored",
        }
        told = [f"under '{condition}', {words}" for condition, words in shares.items() if condition in conditions]
        found = ["Every method has one default setting for all data sets. Labels score the results and choose nothing."]
        if free:
            own = "they find their own" if len(free) > 1 else "it finds its own"
            found.append(f"{' and '.join(free)} cannot be told the number of clusters: {own} under every condition.")
        found += [
            part if drawn else "All samples of the data sets are used.",
            f"Every method runs with at most {counted(self.seeds, 'seed')}, and scores are means over them; a method "
            "without a random part runs once where the seed changes nothing.",
            f"A fit is stopped after {self.max_seconds:g} s of CPU time on one thread, or when it needs more than "
            f"{self.max_gib:g} GiB: it is then not finished, and counts as the last in the ranks.",
        ]
        return [*found, f"{'; '.join(told).capitalize()}."] if told else found
