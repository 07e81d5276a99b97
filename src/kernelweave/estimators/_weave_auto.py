"""Partitions into every number of clusters worth trying, of a graph and of two that differ a little from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from kernelweave._types import Matrix, Vector
from kernelweave.core.partitions.agreement import Partitions
from kernelweave.estimators._weave import sparse_graph
from kernelweave.estimators._weave_partition import partitions, spectrum
from kernelweave.select import candidate_numbers

__all__ = ["Spectra", "candidate_partitions", "perturbed_graphs"]

# graphs, and what finds the bottom of their spectra
Spectra: TypeAlias = tuple[list[sparse.csr_array], Callable[[sparse.csr_array, int], tuple[Vector, Matrix]]]

PERTURBATIONS = ((2.0, 1.4), (0.5, 0.8))  # factors of gamma and n_neighbors
_N_INIT = 2


def perturbed_graphs(
    S: sparse.csr_array, K: Matrix, *, gamma: float, n_neighbors: int, **options: Any
) -> list[sparse.csr_array]:
    """Return the graph S of the kernel K, and two with more and fewer edges."""
    others = [
        sparse_graph(K, gamma=g * gamma, n_neighbors=max(1, round(k * n_neighbors)), join=True, **options)
        for g, k in PERTURBATIONS
    ]
    return [S, *others]


def candidate_partitions(
    graphs: list[sparse.csr_array],
    random_state: np.random.RandomState,
    find: Callable[[sparse.csr_array, int], tuple[Vector, Matrix]] = spectrum,
) -> dict[int, Partitions]:
    """Return for each candidate number of clusters a partition of every graph, by k-means on unit rows."""
    numbers = candidate_numbers(graphs[0].shape[0])
    spectra = [find(S, numbers[-1]) for S in graphs]
    return {
        k: np.concatenate(
            [
                partitions(values, P, [("unit", k)], k, n_init=_N_INIT, random_state=random_state)
                for values, P in spectra
            ]
        )
        for k in numbers
    }
