"""Many graphs instead of one: partitions under perturbed weights, gamma and neighbours, and their consensus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse

from kernelweave._types import Matrix, Vector
from kernelweave.core.consensus.self_weighted import KernelTiles, combine_tiles
from kernelweave.core.graphs.affinity import GraphRule
from kernelweave.core.graphs.coordinates import shrinkage
from kernelweave.core.partitions.agreement import Partitions, co_association, membership, merge
from kernelweave.weave.clusters import (
    count_clusters,
    embedded,
    found_clusters,
    partitions,
    sample_order,
    spectrum,
    wide,
)
from kernelweave.weave.plan import Clusters, EmbeddingKind, Plan, Reading
from kernelweave.weave.woven import WovenGraph

__all__ = ["Member", "draw_members", "ensemble_clusters"]

_N_MEMBERS = 24
_BATCH = 2  # consensus kernels that are in memory together
_GAMMAS = (0.3, 3.0)  # times the user's gamma
_NEIGHBOURS = (0.7, 2.0)  # times the user's n_neighbors
_N_INIT = 3

WeaveKernel = Callable[[Matrix, GraphRule], tuple[sparse.csr_array, tuple[float, ...]]]


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One perturbed graph: the kernels' shares, its rule, and a seed."""

    shares: Vector
    rule: GraphRule
    seed: int


def ensemble_clusters(
    woven: WovenGraph,
    tiles: KernelTiles,
    reading: Reading,
    plan: Plan,
    rng: np.random.RandomState,
    weave: WeaveKernel,
) -> Clusters:
    """Return the consensus of the partitions of 24 perturbed graphs, in three embeddings each."""
    n_clusters, evidence = reading.n_clusters, None
    if n_clusters == "auto":
        n_clusters, evidence = count_clusters(woven, plan.say, rng)
    q = reading.n_components or n_clusters
    values, V = spectrum(woven.graph, wide(q) + 1, plan.say)
    order = sample_order(V)
    members = draw_members(woven.attributes["kernel_shares_"], plan.rule, rng)
    T = co_association(_partitions(tiles, members, n_clusters, plan, weave, np.dtype(woven.graph.dtype)))
    labels = np.empty(len(order), dtype=np.int32)
    labels[order] = merge(T[np.ix_(order, order)], n_clusters)
    P = embedded(values, V, "raw" if reading.embedding in ("auto", "merged") else reading.embedding, q)
    found = found_clusters(woven, labels, membership(T, labels), P / shrinkage(woven.graph, P), P, values, evidence)
    found.attributes["co_association_"] = T
    return found


def draw_members(shares: Vector, rule: GraphRule, rng: np.random.RandomState) -> list[Member]:
    """Draw shares p ∝ base · Exp(1), with the model's and equal shares as base in turn; gamma and k log-uniformly."""
    r = len(shares)
    members = []
    for i in range(_N_MEMBERS):
        p = (shares if i % 2 == 0 else np.full(r, 1 / r)) * rng.exponential(size=r)
        gamma = float(rule.gamma * np.exp(rng.uniform(*np.log(_GAMMAS))))
        k = max(1, round(rule.n_neighbors * np.exp(rng.uniform(*np.log(_NEIGHBOURS)))))
        members.append(Member(p / p.sum(), GraphRule(rule.graph, gamma, k), rng.randint(np.iinfo(np.int32).max)))
    return members


def _partitions(
    tiles: KernelTiles, members: list[Member], n_clusters: int, plan: Plan, weave: WeaveKernel, dtype: np.dtype[Any]
) -> Partitions:
    """Return the partitions of all members as (3 per member, n_samples)."""
    found: list[Partitions] = []
    run = Parallel(n_jobs=plan.n_jobs, return_as="generator")
    jobs = (delayed(_member)(weave, K, member, n_clusters) for K, member in _kernels(tiles, members, dtype))
    for part in run(jobs):
        found.append(part)
        plan.say(f"consensus: graph {len(found)} of {len(members)}")
    return np.concatenate(found)


def _kernels(tiles: KernelTiles, members: list[Member], dtype: np.dtype[Any]) -> Iterator[tuple[Matrix, Member]]:
    for i in range(0, len(members), _BATCH):
        batch = members[i : i + _BATCH]
        yield from zip(
            combine_tiles(tiles.of(dtype), np.array([member.shares for member in batch]), tiles.n), batch, strict=True
        )


def _member(weave: WeaveKernel, K: Matrix, member: Member, n_clusters: int) -> Partitions:
    """Return the partitions of one member in the raw embedding and in two of commute times."""
    values, V = spectrum(weave(K, member.rule)[0], wide(n_clusters) + 1, _silent)
    rows: list[tuple[EmbeddingKind, int]] = [
        ("raw", n_clusters),
        ("commute", n_clusters),
        ("commute", wide(n_clusters)),
    ]
    return partitions(values, V, rows, n_clusters, n_init=_N_INIT, rng=np.random.RandomState(member.seed))


def _silent(text: str) -> None:
    """Ignore a line of progress: members run in parallel."""
