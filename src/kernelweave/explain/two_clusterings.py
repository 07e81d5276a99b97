"""How far two clusterings of the same samples agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from kernelweave._types import LabelsLike
from kernelweave.errors import InvalidInputError
from kernelweave.explain._effects import indicators
from kernelweave.explain._frames import need_pandas
from kernelweave.explain._groups import Grouped, groups_of, sample_names
from kernelweave.samples.table import counts_rows, counts_rows_elsewhere

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Comparison", "compare_clusterings"]


@dataclass(frozen=True)
class Comparison:
    """Two clusterings of the same samples.

    Parameters
    ----------
    rows, columns : tuple of str
        The clusters of the first and of the second clustering; those of the second in the order in which they match
        those of the first best.
    counts : array of shape (n_rows, n_columns)
        The samples in both.
    ari, nmi : float
        Adjusted Rand index and normalised mutual information.
    names : tuple of two str
        What the two clusterings are called.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: NDArray[np.intp] = field(repr=False)
    ari: float
    nmi: float
    names: tuple[str, str] = ("first clustering", "second clustering")

    @cached_property
    def table(self) -> pd.DataFrame:
        """The counts as a data frame."""
        return need_pandas().DataFrame(self.counts, index=list(self.rows), columns=list(self.columns))

    def with_rows(self, order: Sequence[int]) -> Comparison:
        """Return the comparison with the clusters of the first in another order, and those of the second to match."""
        counts = self.counts[list(order)]
        to = _matching(counts)
        rows, columns = tuple(self.rows[i] for i in order), tuple(self.columns[j] for j in to)
        return replace(self, rows=rows, columns=columns, counts=counts[:, to])

    def to_json(self) -> dict[str, Any]:
        """Return plain lists and dicts, from which `from_json` makes the same object."""
        lists = {"rows": self.rows, "columns": self.columns, "names": self.names, "counts": self.counts.tolist()}
        return {**{key: list(value) for key, value in lists.items()}, "ari": self.ari, "nmi": self.nmi}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Comparison:
        """Return the object that `to_json` was called of."""
        rows, columns = tuple(map(str, found["rows"])), tuple(map(str, found["columns"]))
        counts = np.array(found["counts"], dtype=np.intp).reshape(len(rows), len(columns))
        first, second = map(str, found["names"])
        return cls(rows, columns, counts, float(found["ari"]), float(found["nmi"]), (first, second))


def compare_clusterings(
    first: BaseEstimator | LabelsLike,
    second: BaseEstimator | LabelsLike,
    *,
    names: tuple[str, str] = ("first clustering", "second clustering"),
) -> Comparison:
    """Return how two clusterings of the same samples overlap.

    Parameters
    ----------
    first, second : fitted estimator, or array of shape (n_samples,)
        Clusterers, classifiers, or labels, of the same samples. They are matched by the names of the samples if both
        have them (`sample_names_`, or the index of a pandas Series), and by their order otherwise.
    names : tuple of two str
        What the two are called in pictures.

    Returns
    -------
    Comparison
        `table` is a data frame of counts; `kernelweave.plots.plot_contingency` draws it.

    Raises
    ------
    InvalidInputError
        If the numbers of samples, or their names, differ.

    Examples
    --------
    >>> from kernelweave.explain import compare_clusterings
    >>> compare_clusterings([0, 0, 1, 1], ["b", "b", "a", "a"]).columns
    ('b', 'a')
    """
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    if not (isinstance(names, list | tuple) and len(names) == 2 and all(isinstance(name, str) for name in names)):
        msg = f"names must be two texts, one for each clustering; got {names!r}."
        raise InvalidInputError(msg)
    (_, own, codes), (_, others, again) = groups_of(first), groups_of(second)
    if len(codes) != len(again):
        msg = f"The clusterings must have the same samples; got {len(codes)} and {len(again)}."
        raise InvalidInputError(msg)
    again = again[_order(first, second, len(again))]
    counts = (indicators(codes, len(own)).T @ indicators(again, len(others))).astype(np.intp)
    order = _matching(counts)
    return Comparison(
        tuple(map(str, own)),
        tuple(str(others[j]) for j in order),
        counts[:, order],
        float(adjusted_rand_score(codes, again)),
        float(normalized_mutual_info_score(codes, again)),
        names,
    )


def _order(first: Grouped, second: Grouped, n_samples: int) -> NDArray[np.intp]:
    """Return where the second clustering has each sample of the first: by the names, if both have them."""
    names, others = sample_names(first), sample_names(second)
    if names is None or others is None:
        for one, other in ((first, others), (second, names)):
            if counts_rows(getattr(one, "index", None)) and counts_rows_elsewhere(other):
                msg = (
                    "One clustering counts its samples 0, 1, 2, ..., and the other has the same numbers in another "
                    "order: call sort_index() for both, or pass arrays in one order."
                )
                raise InvalidInputError(msg)
        return np.arange(n_samples)
    place = {name: i for i, name in enumerate(others.tolist())}
    lacking = [name for name in names.tolist() if name not in place]
    if lacking:
        msg = (
            f"The clusterings must have the same samples: the second does not have {lacking[0]!r} "
            f"({len(lacking)} of {n_samples} in all). Name them alike, or pass arrays in one order."
        )
        raise InvalidInputError(msg)
    return np.array([place[name] for name in names.tolist()], dtype=np.intp)


def _matching(counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the columns in the order of the rows that they match best; those that match none come last."""
    from scipy.optimize import linear_sum_assignment

    _, matched = linear_sum_assignment(counts, maximize=True)
    order: NDArray[np.intp] = np.r_[matched, np.setdiff1d(np.arange(counts.shape[1]), matched)]
    return order
