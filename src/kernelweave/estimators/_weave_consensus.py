"""Many graphs instead of one: partitions under perturbed weights, gamma and k, and what they agree on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from kernelweave._types import Matrix, Vector
from kernelweave.core.consensus.self_weighted import combine_tiles
from kernelweave.core.partitions.agreement import Partitions
from kernelweave.estimators._weave import sparse_graph
from kernelweave.estimators._weave_partition import partitions, spectrum, wide
from kernelweave.estimators._weave_tiles import KernelTiles

__all__ = ["N_MEMBERS", "Member", "draw_members", "member_partitions"]

N_MEMBERS = 24
_BATCH = 2  # consensus kernels that are in memory together
_GAMMAS = (0.3, 3.0)  # times the user's gamma
_NEIGHBOURS = (0.7, 2.0)  # times the user's n_neighbors
_N_INIT = 3


@dataclass(frozen=True, slots=True)
class Member:
    """One perturbed graph: the kernels' shares, its gamma and its number of neighbours, and a seed."""

    shares: Vector
    gamma: float
    n_neighbors: int
    seed: int


def draw_members(
    shares: Vector, *, gamma: float, n_neighbors: int, random_state: np.random.RandomState
) -> list[Member]:
    """Draw shares p ∝ base · Exp(1), base in turn the model's and equal shares; gamma and k log-uniform."""
    r = len(shares)
    members = []
    for i in range(N_MEMBERS):
        p = (shares if i % 2 == 0 else np.full(r, 1 / r)) * random_state.exponential(size=r)
        g = gamma * np.exp(random_state.uniform(*np.log(_GAMMAS)))
        k = max(1, round(n_neighbors * np.exp(random_state.uniform(*np.log(_NEIGHBOURS)))))
        members.append(Member(p / p.sum(), float(g), k, random_state.randint(np.iinfo(np.int32).max)))
    return members


def member_partitions(
    tiles: KernelTiles,
    members: list[Member],
    n_clusters: int,
    *,
    graph: str,
    n_jobs: int | None,
    watch: Callable[[int], None],
) -> Partitions:
    """Return the partitions of all members as (3 per member, n_samples)."""
    found: list[Partitions] = []
    run = Parallel(n_jobs=n_jobs, return_as="generator")
    jobs = (delayed(_partitions)(K, member, n_clusters, graph) for K, member in _kernels(tiles, members))
    for part in run(jobs):
        found.append(part)
        watch(len(found))
    return np.concatenate(found)


def _kernels(tiles: KernelTiles, members: list[Member]) -> Iterator[tuple[Matrix, Member]]:
    for i in range(0, len(members), _BATCH):
        batch = members[i : i + _BATCH]
        yield from zip(combine_tiles(tiles, np.array([m.shares for m in batch]), tiles.n_samples), batch, strict=True)


def _partitions(K: Matrix, member: Member, n_clusters: int, graph: str) -> Partitions:
    """Return the clusters of one member by raw and commute-time rows, of two widths."""
    S = sparse_graph(K, graph=graph, gamma=member.gamma, n_neighbors=member.n_neighbors, join=True)
    values, P = spectrum(S, wide(n_clusters) + 1)
    rows = [("raw", n_clusters), ("commute", n_clusters), ("commute", wide(n_clusters))]
    rng = np.random.RandomState(member.seed)
    return partitions(values, P, rows, n_clusters, n_init=_N_INIT, random_state=rng)
