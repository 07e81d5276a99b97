"""The graphs of a consensus kernel between all samples."""

from __future__ import annotations

from typing import NamedTuple

from scipy import sparse

from kernelweave._types import Matrix
from kernelweave.core.graphs.affinity import (
    Cut,
    GraphRule,
    KernelAffinities,
    Kind,
    cut_graphs,
    join_pieces,
    mean_degree,
)
from kernelweave.weave.dense_rows import RowPart

__all__ = ["Family", "one_graph", "several_cuts"]

# of ridge affinities graphs of shared neighbours are the best in the mean; neighbours are what few columns need
_CUTS: dict[Kind, tuple[Cut, ...]] = {
    "ridge": (Cut(10), Cut(15), Cut(10, shared=True), Cut(30, shared=True)),
    "tuned": (Cut(5), Cut(15)),
}
_KEPT: dict[Kind, int] = {"ridge": 15, "tuned": 15}  # entries per row for new samples


class Family(NamedTuple):
    """Graphs of one consensus kernel that new samples join by the same rows: those of a graph of this mean degree."""

    graphs: tuple[sparse.csr_array, ...]
    parts: tuple[RowPart, ...]
    degree: float


def several_cuts(K: Matrix, kinds: tuple[Kind, ...], gamma: float) -> list[Family]:
    """Return for each kind of affinity its graphs with different numbers of neighbours, each in one piece."""
    found = []
    for kind in kinds:
        affinity = KernelAffinities(K, gamma)(kind)
        graphs = cut_graphs(affinity, _CUTS[kind], len(K))
        plain = graphs[[cut == Cut(_KEPT[kind]) for cut in _CUTS[kind]].index(True)]
        found.append(Family(tuple(graphs), (RowPart(kind, _KEPT[kind], 1.0),), mean_degree(plain)))
    return found


def one_graph(K: Matrix, rule: GraphRule, *, join: bool = True) -> Family:
    """Return the graph of a kernel matrix by the rule, in one piece if `join`."""
    S, degrees, last = rule.weave(KernelAffinities(K, rule.gamma), len(K))
    weights = [1.0] if len(degrees) == 1 else [1 / d for d in degrees]  # as in the graph
    parts = tuple(RowPart(kind, k, weight) for (kind, k), weight in zip(rule.kept.items(), weights, strict=True))
    S = join_pieces(S, last) if join else S
    return Family((S,), parts, mean_degree(S))
