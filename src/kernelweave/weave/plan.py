"""The parameters that a model passes to a solver, and the results that it gets back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_scalar

from kernelweave._types import Dtype, Mask, Matrix, Vector, WeightsLike
from kernelweave.core.graphs.affinity import GraphKind, GraphRule
from kernelweave.core.graphs.coordinates import EmbeddingKind
from kernelweave.kernels.view_bank import Bank, KernelsLike
from kernelweave.samples.scaling import Scale, Version
from kernelweave.select import ClusterEvidence
from kernelweave.weave.graph_model import GraphModel

if TYPE_CHECKING:
    from kernelweave.weave.clarity import Clarity

__all__ = [
    "Classes",
    "ClusterTask",
    "Clusters",
    "EmbeddingKind",
    "KernelShares",
    "LabelTask",
    "Plan",
    "Propagation",
    "check_count",
]

Propagation: TypeAlias = Literal["auto", "harmonic", "lgc"]


@dataclass(frozen=True, slots=True)
class Plan:
    """How the graph is built.

    Parameters
    ----------
    kernels, weights, scale, dtype, n_jobs
        As the estimators' parameters.
    rule : GraphRule
        How one graph is cut from affinities.
    graph : {"auto", "ridge", "knn", "both"}
        The kind of graph that was asked for.
    many : bool
        Whether several graphs with different numbers of neighbours are compared: the number was not given.
    say : callable of str
        Called with every line of progress.
    counted : bool, default=False
        Whether the number of neighbours was given, not left to the solver.
    """

    kernels: KernelsLike
    weights: WeightsLike
    scale: Scale | Mapping[str, Scale]
    rule: GraphRule
    graph: Literal["auto"] | GraphKind
    many: bool
    dtype: Dtype
    n_jobs: int | None
    say: Callable[[str], None]
    counted: bool = False

    def silent(self) -> Plan:
        """Return the same plan without lines of progress."""
        return replace(self, say=_ignore)


def _ignore(text: str) -> None:
    """Take a line of progress and show nothing."""


@dataclass(frozen=True, slots=True)
class ClusterTask:
    """How clusters are found in the graph: the parameters of `WeaveClustering` with the same names."""

    n_clusters: int | Literal["auto"]
    embedding: EmbeddingKind
    n_components: int | None
    n_init: int


class LabelTask(NamedTuple):
    """The known labels: codes (n,), -1 where unlabelled, the number of classes, and the method of propagation."""

    codes: NDArray[np.intp]
    n_classes: int
    propagation: Propagation
    class_mass: bool


class KernelShares(NamedTuple):
    """The kernels of a fitted model by name, the view of each, and its share in the consensus.

    `weights` are those that the model learned, None if it learns none; `versions` tell how the samples were scaled.
    """

    names: tuple[str, ...]
    views: tuple[str, ...]
    shares: Vector
    weights: Vector | None = None
    versions: tuple[Version, ...] = ()

    @classmethod
    def equal(cls, bank: Bank) -> KernelShares:
        """Return the same share for every kernel of a bank."""
        return cls(bank.names, bank.views, np.full(len(bank.names), 1 / len(bank.names)))


@dataclass(frozen=True, slots=True)
class Clusters:
    """The result of a solver.

    Parameters
    ----------
    model : GraphModel
        The fitted graph.
    labels : array of shape (n_samples,)
        The cluster of every sample.
    membership : array of shape (n_samples, n_clusters)
        How far every sample belongs to every cluster, if the clusters stand out.
    embedding : array of shape (n_samples, n_components)
        The coordinates of every sample.
    eigenvalues : array
        The smallest ones of the Laplacian of the graph.
    evidence : ClusterEvidence or None
        The evidence for each number of clusters, if it was chosen.
    clarity : Clarity or None
        How far the clusters stand out; None if the solver cannot tell.
    kernels : KernelShares
        The kernels and their shares.
    attributes : dict
        The fitted attributes that describe the graph.
    """

    model: GraphModel
    labels: NDArray[np.int32]
    membership: Matrix
    embedding: Matrix
    eigenvalues: Vector
    evidence: ClusterEvidence | None
    clarity: Clarity | None
    kernels: KernelShares
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Classes:
    """The result of a solver: the fitted graph, the label scores of every sample, and which are undecided."""

    model: GraphModel
    embedding: Matrix
    scores: Matrix
    undecided: Mask
    kernels: KernelShares
    attributes: dict[str, Any]


def check_count(value: int | None, name: str) -> None:
    """Refuse a parameter of a solver that is not a positive integer or None; booleans are not numbers."""
    if isinstance(value, bool | np.bool_):
        msg = f"{name} must be an instance of int, not bool; got {value!r}."
        raise TypeError(msg)
    if value is not None:
        check_scalar(value, name, Integral, min_val=1, max_val=np.iinfo(np.int32).max)
