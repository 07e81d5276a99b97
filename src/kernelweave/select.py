"""The number of clusters without labels: how well a graph falls into k groups, and how surely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from kernelweave.core.graphs.pieces import modularity

__all__ = ["ClusterEvidence", "candidate_numbers", "cluster_evidence"]

_NEARLY_BEST = 0.03  # a smaller number of clusters is taken if its score is this near to the best
_MOST = 50
_FEWEST_MEMBERS = 8  # samples per cluster, on average, below which a number is not tried
_EVERY_UP_TO = 24


@dataclass(frozen=True, slots=True)
class ClusterEvidence:
    """What speaks for each number of clusters, and the number that was chosen.

    Parameters
    ----------
    n_clusters : array of shape (n_candidates,)
        The numbers that were tried.
    modularity : array of shape (n_candidates,)
        The share of the graph's weight within clusters, less what chance would put there.
    stability : array of shape (n_candidates,)
        How far partitions of slightly different graphs agree, as the mean adjusted Rand index.
    score : array of shape (n_candidates,)
        modularity · √stability.
    chosen : int
        The smallest number whose score is within 3 % of the best.
    """

    n_clusters: npt.NDArray[np.intp]
    modularity: npt.NDArray[Any]
    stability: npt.NDArray[Any]
    score: npt.NDArray[Any]
    chosen: int


def candidate_numbers(n_samples: int) -> list[int]:
    """Return the numbers of clusters worth trying: every one up to 24, then every other, up to 50 or n/8."""
    most = max(2, min(_MOST, n_samples // _FEWEST_MEMBERS))
    return [*range(2, min(_EVERY_UP_TO, most) + 1), *range(_EVERY_UP_TO + 2, most + 1, 2)]


def cluster_evidence(S: sparse.csr_array, partitions: Mapping[int, npt.NDArray[np.int32]]) -> ClusterEvidence:
    """Weigh the evidence for each number of clusters.

    Parameters
    ----------
    S : sparse array of shape (n_samples, n_samples)
        The graph.
    partitions : mapping of number of clusters to array of shape (n_graphs, n_samples)
        Partitions of this graph (the first row) and of perturbed ones.

    Returns
    -------
    ClusterEvidence
    """
    numbers = sorted(partitions)
    fit = np.array([modularity(S, partitions[k][0]) for k in numbers])
    agreement = np.array([_mean_agreement(partitions[k]) for k in numbers])
    score = np.maximum(fit, 0) * np.sqrt(np.maximum(agreement, 0))
    chosen = numbers[int(np.argmax(score >= (1 - _NEARLY_BEST) * score.max()))]
    return ClusterEvidence(np.array(numbers), fit, agreement, score, chosen)


def _mean_agreement(partitions: npt.NDArray[np.int32]) -> float:
    pairs = list(combinations(partitions, 2))
    return float(np.mean([adjusted_rand_score(a, b) for a, b in pairs])) if pairs else 1.0
