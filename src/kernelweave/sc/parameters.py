"""The types of the parameters that the functions on cells pass on to the models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict

from kernelweave._types import Dtype, WeightsLike
from kernelweave.core.graphs.affinity import GraphKind
from kernelweave.kernels.view_bank import KernelsLike
from kernelweave.samples.scaling import Scale
from kernelweave.samples.view_columns import ColumnsLike
from kernelweave.weave.choice import SolverLike
from kernelweave.weave.plan import EmbeddingKind, Propagation

__all__ = ["ClassParameters", "ClusterParameters"]


class _GraphParameters(TypedDict, total=False):
    kernels: KernelsLike
    views: Mapping[str, ColumnsLike] | None
    scale: Scale | Mapping[str, Scale]
    weights: WeightsLike
    graph: Literal["auto"] | GraphKind
    gamma: float | Literal["auto"]
    n_neighbors: int | Literal["auto"]
    solver: SolverLike
    n_jobs: int | None
    verbose: int
    dtype: Dtype


class ClusterParameters(_GraphParameters, total=False):
    """Further parameters of `WeaveClustering`."""

    embedding: EmbeddingKind
    n_components: int | None
    n_init: int


class ClassParameters(_GraphParameters, total=False):
    """Further parameters of `WeaveClassifier`."""

    class_mass: bool
    propagation: Propagation
