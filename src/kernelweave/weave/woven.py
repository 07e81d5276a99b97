"""The result of the dense and the local solver: a sparse graph of the samples, with its constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scipy import sparse

from kernelweave.samples.digests import Seen
from kernelweave.weave.graph_model import Joiner

__all__ = ["PERTURBATIONS", "WovenGraph"]

PERTURBATIONS = ((2.0, 1.4), (0.5, 0.8))  # factors of gamma and n_neighbors, to measure the stability of clusters


@dataclass(frozen=True, slots=True)
class WovenGraph:
    """A sparse graph of the samples.

    Parameters
    ----------
    graph : sparse array of shape (n, n)
        The graph.
    joiner : Joiner
        Computes its rows for new samples.
    seen : Seen
        Digests of its samples.
    perturbed : function without arguments
        Returns two graphs with more and fewer edges.
    attributes : dict
        The fitted attributes of an estimator that describe the graph.
    """

    graph: sparse.csr_array
    joiner: Joiner
    seen: Seen
    perturbed: Callable[[], list[sparse.csr_array]]
    attributes: dict[str, Any]
