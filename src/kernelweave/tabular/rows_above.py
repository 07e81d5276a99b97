"""Sums and statistics of the rows that were read so far, with which rows that sum up others are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kernelweave.tabular.packages import pandas

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RowsAbove", "Statistics", "added"]


_SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)  # of the quantiles that tables end with


def added(one: pd.Series | None, other: pd.Series) -> pd.Series:
    """Return the sums of two parts of a table, whose columns may differ; None is a part without rows."""
    return other if one is None else one.add(other, fill_value=0)


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of the columns of some rows; `ranked` has the quantiles, none if the rows came in parts."""

    counts: pd.Series
    sums: pd.Series
    low: pd.Series
    high: pd.Series
    squares: pd.Series  # sums of squared differences from the mean
    ranked: tuple[pd.Series, ...] = ()

    @classmethod
    def of(cls, rows: pd.DataFrame, *, ranked: bool = False) -> Statistics:
        """Return the statistics of a table of numbers."""
        numbers = rows.astype("float64")
        counts = numbers.count()
        squares = numbers.var(ddof=0) * counts
        quantiles = [numbers.quantile(share) for share in _SHARES] if ranked else []
        return cls(counts, numbers.sum(), numbers.min(), numbers.max(), squares, tuple(quantiles))

    def plus(self, other: Statistics) -> Statistics:
        """Return the statistics of these rows and others together."""
        pd = pandas()
        counts = added(self.counts, other.counts)
        apart = (self.sums / self.counts - other.sums / other.counts) ** 2 * (self.counts * other.counts / counts)
        squares = added(added(self.squares.fillna(0), other.squares.fillna(0)), apart.fillna(0))
        low, high = (
            pd.concat([getattr(self, name), getattr(other, name)], axis=1).agg(how, axis=1)
            for name, how in (("low", "min"), ("high", "max"))
        )
        return Statistics(counts, added(self.sums, other.sums), low, high, squares)

    def each(self) -> list[pd.Series]:
        """Return sum, mean, least, largest, standard deviation, count, its error, variance, variation and quantiles.

        Deviation and variance are those of samples and those of a population, and the variation may be in percent.
        """
        mean, variance = self.sums / self.counts, self.squares / (self.counts - 1).where(self.counts > 1)
        spread = np.sqrt(variance)
        found = [self.sums, mean, self.low, self.high, spread, self.counts, spread / np.sqrt(self.counts), variance]
        whole = self.squares / self.counts
        return [*found, spread / mean, 100 * spread / mean, np.sqrt(whole), whole, self.high - self.low, *self.ranked]

    @property
    def spread(self) -> pd.Series:
        """The standard deviation."""
        return self.each()[4]


@dataclass(slots=True)
class RowsAbove:
    """What is known of the rows above those that are judged; a table that is judged as a whole has none.

    `column` holds the names of the rows. `section`, `left` and `samples` are sums of columns: since the last row that
    is called a sum, of all rows but those found to be sums, and of all rows that are not called so. `words` are names
    of rows that are called a statistic, and `part` is one that is a subtotal if a grand total follows.
    """

    column: str | None = None
    rows: int = 0
    section: pd.Series | None = None
    section_rows: int = 0
    left: pd.Series | None = None
    samples: pd.Series | None = None
    found: bool = False
    statistics: Statistics | None = None
    words: set[str] = field(default_factory=set)
    part: str | None = None

    def add(self, numbers: pd.DataFrame, called: Sequence[int], found: Sequence[int]) -> None:
        """Add rows, of which some are called sums, and some of these are left out since they are."""
        rows = np.arange(len(numbers))
        kept = numbers.iloc[np.setdiff1d(rows, found)]
        first = called[-1] + 1 if called else 0
        section = numbers.iloc[first:]
        self.section = section.sum() if called else added(self.section, section.sum())
        self.section_rows = len(section) + (0 if called else self.section_rows)
        self.left = added(self.left, kept.sum())
        self.samples = added(self.samples, numbers.iloc[np.setdiff1d(rows, called)].sum())
        own = Statistics.of(kept)
        self.statistics = own if self.statistics is None else self.statistics.plus(own)
        self.rows += len(kept)
        self.found = self.found or bool(found)
