"""What every group of the page is: its size, certainty, and the features that set it apart, in words and numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kernelweave._plural import plural, sentence
from kernelweave._shares import percent
from kernelweave.errors import InvalidInputError
from kernelweave.explain import Explanation
from kernelweave.plots._style import counted
from kernelweave.report._facts import Facts, Group
from kernelweave.report._words import clarity_words

__all__ = ["Card", "CardFeature", "doubts", "group_cards", "shown_date", "shown_number", "shown_p"]

_FIRST = 3  # features in the sentence of a group
_LISTED = 10  # features in its table
_UNSURE = 0.6  # confidence below which a sample is counted as uncertain
_SMALL = 5  # samples
_RECOVERED = 0.5  # overlap below which a cluster was not found again


@dataclass(frozen=True, slots=True)
class CardFeature:
    """One feature of a group, as shown: its name, what it is like here and elsewhere, and how far it separates."""

    feature: str
    direction: str
    here: str
    there: str
    separation: float
    q_value: str


@dataclass(frozen=True, slots=True)
class Card:
    """One group: its label in the model, and the features that set it apart."""

    group: Group
    label: str
    features: tuple[CardFeature, ...]
    recovered: float | None

    @property
    def first_features(self) -> tuple[CardFeature, ...]:
        """The features in the sentence of the group."""
        return self.features[:_FIRST]


def group_cards(facts: Facts, labels: Sequence[str], explanation: Explanation | None) -> list[Card]:
    """Return the groups in the order of the page; `labels` are their names in the explanation."""
    if explanation is not None and set(explanation.names) != set(labels):
        groups = counted(len(labels), facts.kind)
        own = f"{counted(len(explanation.names), explanation.kind)} ({', '.join(explanation.names[:5])})"
        msg = f"features must explain the model's {groups} ({', '.join(labels[:5])}); got {own}."
        raise InvalidInputError(msg)
    recovered: dict[str, float] = {}
    if explanation is not None and explanation.recovered is not None:
        recovered = dict(zip(explanation.names, explanation.recovered, strict=True))
    return [
        Card(
            group,
            label,
            () if explanation is None else tuple(_card_feature(row) for row in explanation.of(label)[:_LISTED]),
            recovered.get(label),
        )
        for group, label in zip(facts.groups, labels, strict=True)
    ]


def _card_feature(row: dict[str, Any]) -> CardFeature:
    name = str(row["feature"])
    name = f"feature {name}" if name.isdecimal() else name  # a column without a name
    name = f"{row['view']}: {name}" if row["view"] else name
    direction = str(row["direction"])
    if row["type"] == "category":
        here, there = percent(row["share_in"]), percent(row["share_out"])
        name = f"{name} = {row['category']}"
    else:
        show = shown_date if row["type"] == "date" else shown_number
        unit = row.get("unit") or ""
        after = f"\u00a0{unit}" if unit and not _says(name, unit) else ""
        here, there = f"{show(row['median_in'])}{after}", f"{show(row['median_out'])}{after}"
    q = row.get("q_value")
    tested = "" if "q_value" not in row else "not tested" if q is None else shown_p(q)
    return CardFeature(name, direction, here, there, float(row["separation"]), tested)


def _says(name: str, unit: str) -> bool:
    """Return whether a name holds a unit that is not just a part of a word: "weight (g)", but not "weight"."""
    return re.search(rf"(?<![^\W_]){re.escape(unit)}(?![^\W_])", name) is not None


def shown_number(value: float | None) -> str:
    """Return a number with three significant digits, without an exponent if it is of a usual size.

    Thousands are separated from 10,000 on, so that years are written as usual.
    """
    if value is None or not np.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    if not 1e-4 <= size < 1e7:
        return f"{value:.2e}"
    digits = max(0, 2 - int(np.floor(np.log10(size))))
    text = f"{value:{',' if size >= 1e4 else ''}.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def shown_p(value: float) -> str:
    """Return a p-value or q-value with three decimals."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def shown_date(days: float | None) -> str:
    """Return the date that lies this many days after the beginning of 1970."""
    if days is None or not np.isfinite(days):
        return "–"
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days)).strftime("%Y-%m-%d")


def doubts(model: BaseEstimator, facts: Facts, cards: Sequence[Card], explanation: Explanation | None) -> list[str]:
    """Return sentences about what is not certain: the number of clusters, single clusters, single samples."""
    found = _number_doubts(model, facts)
    if facts.confidence is not None:
        unsure = int((facts.confidence < _UNSURE).sum())
        share = f" ({percent(unsure / facts.n)})" if unsure >= 0.005 * facts.n > 0 else ""
        have = "has" if unsure == 1 else "have"
        found.append(f"{unsure:,} of {counted(facts.n, 'sample')}{share} {have} a confidence below {_UNSURE:g}.")
    if facts.undecided is not None:
        count = int(facts.undecided.sum())
        found.append(
            f"No label reaches {counted(count, 'sample')}: "
            f"{'it is' if count == 1 else 'they are'} undecided, and listed as {facts.names[0]}, the first class."
        )
    small = [card.group.name for card in cards if card.group.size < _SMALL]
    if small and facts.kind == "cluster":
        which = f"Cluster {small[0]} has" if len(small) == 1 else f"{len(small)} clusters have"
        found.append(f"{which} fewer than {_SMALL} samples: such clusters may be outliers.")
    return found + _test_doubts(facts, cards, explanation)


def _number_doubts(model: BaseEstimator, facts: Facts) -> list[str]:
    if facts.kind != "cluster":
        return []
    evidence = getattr(model, "cluster_evidence_", None)
    number = "given, not found in the data." if evidence is None else f"chosen. {sentence(evidence.words)}"
    return [f"The number of clusters was {number}", *clarity_words(model)]


def _test_doubts(facts: Facts, cards: Sequence[Card], explanation: Explanation | None) -> list[str]:
    if explanation is None or not any(card.features for card in cards):
        return []
    many = plural(facts.kind)
    found = []
    if explanation.lone:
        names, those = ", ".join(map(repr, explanation.lone)), "it" if len(explanation.lone) == 1 else "them"
        found.append(f"Clusters differ in {names}, but no other column is related to {those}: they may follow noise.")
    if explanation.recovered is None:
        return [*found, f"The features below describe the {many}; they were not tested."]
    weak = [card.group.name for card in cards if card.recovered is not None and card.recovered < _RECOVERED]
    text = (
        "The features were tested with every feature held out once. q is the share of false ones among features with "
        "this or a smaller q, if features are independent of each other."
    )
    if not weak:
        return [*found, text]
    which = f"{facts.kind.capitalize()} {weak[0]} was" if len(weak) == 1 else f"{len(weak)} {many} were"
    return [*found, text, f"{which} not found again when features were held out."]
