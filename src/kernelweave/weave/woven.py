"""The graphs of the samples that a solver builds, before and after their clusters are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kernelweave._types import Labels, Matrix, Vector
from kernelweave.samples.digests import Seen
from kernelweave.samples.prepared import NullKind
from kernelweave.samples.scaling import Version
from kernelweave.samples.views import Views
from kernelweave.select import ClusterEvidence
from kernelweave.weave.graph_model import Joiner
from kernelweave.weave.plan import KernelShares

__all__ = ["PERTURBATIONS", "SeveralGraphs", "WovenGraph"]

PERTURBATIONS = ((2.0, 1.4), (0.5, 0.8))  # factors of gamma and n_neighbors, to measure the stability of clusters


@dataclass(frozen=True, slots=True)
class WovenGraph:
    """One sparse graph of the samples.

    Parameters
    ----------
    graph : sparse array of shape (n, n)
        The graph.
    joiner : Joiner
        Computes its rows for new samples.
    seen : Seen
        Digests of all samples, of copies as well.
    kernels : KernelShares
        The kernels it was made of, and their shares.
    attributes : dict
        The fitted attributes of an estimator that describe the graph.
    """

    graph: sparse.csr_array
    joiner: Joiner
    seen: Seen
    kernels: KernelShares
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SeveralGraphs:
    """Several graphs of the same samples, whose partitions are merged.

    Parameters
    ----------
    graphs : tuple of sparse arrays of shape (n, n)
        The graphs, each in one piece.
    priors : array of shape (n_graphs,)
        How much each counts before its clusters are known.
    few_columns : bool
        Whether the samples have few columns, so that their neighbours matter more.
    weave : function of weights (n_graphs,) and a graph, their sum with these weights
        Returns the graph with what the model keeps of it.
    perturbed : function without arguments
        Returns further graphs with more and fewer edges, to choose the number of clusters where there is one graph.
    null : function of a RandomState and a kind, or None
        Returns as many graphs of samples without structure, of either kind; with perturbed ones where there is one.
    sampled : function of a RandomState, or None
        Returns the evidence for each number of clusters in some of the samples, beside samples without structure, where
        there are too many to make such graphs of all.
    table : function without arguments
        Returns the scaled samples, by which their density is told; None where there are too many columns for it.
    samples : Views or None
        The samples, not scaled, on some of which it is measured how far clusters stand out; None for kernel matrices.
    versions : sequence of Version
        How they are scaled.
    copies : array of shape (n_samples,)
        The position of every sample in the graphs, which have few copies of it.
    """

    graphs: tuple[sparse.csr_array, ...]
    priors: Vector
    few_columns: bool
    weave: Callable[[Vector, sparse.csr_array], WovenGraph]
    perturbed: Callable[[], list[sparse.csr_array]]
    null: Callable[[np.random.RandomState, NullKind], tuple[sparse.csr_array, ...]] | None
    sampled: Callable[[np.random.RandomState], ClusterEvidence | None] | None
    table: Callable[[], Matrix | None]
    samples: Views | None
    versions: Sequence[Version]
    copies: Labels
