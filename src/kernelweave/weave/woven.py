"""What the dense and the local solver make: a sparse graph of the samples, and how it was made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scipy import sparse

from kernelweave.samples.digests import Seen
from kernelweave.weave.graph_model import Joiner

__all__ = ["PERTURBATIONS", "WovenGraph"]

PERTURBATIONS = ((2.0, 1.4), (0.5, 0.8))  # factors of gamma and n_neighbors, to see how stable clusters are


@dataclass(frozen=True, slots=True)
class WovenGraph:
    """A sparse graph of the samples.

    Parameters
    ----------
    graph : sparse array of shape (n, n)
        The graph.
    joiner : Joiner
        Gives its rows for new samples.
    seen : Seen
        Recognises its samples.
    perturbed : function without arguments
        Gives two graphs with more and fewer edges.
    attributes : dict
        The fitted attributes of an estimator that describe the graph.
    """

    graph: sparse.csr_array
    joiner: Joiner
    seen: Seen
    perturbed: Callable[[], list[sparse.csr_array]]
    attributes: dict[str, Any]
