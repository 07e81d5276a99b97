"""What the dense and the local solver make: a sparse graph of the samples, and how it was made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scipy import sparse

from kernelweave._types import Vector
from kernelweave.samples.scaling import Scaling
from kernelweave.weave.consensus_kernel import Bank
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
    bank : ViewBank or PrecomputedBank
        The kernels.
    shares : array of shape (n_kernels,)
        Their shares in the consensus.
    scalings : dict of view name to Scaling
        How the samples were scaled.
    perturbed : function without arguments
        Gives two graphs with more and fewer edges.
    attributes : dict
        Fitted attributes that only this solver has.
    """

    graph: sparse.csr_array
    joiner: Joiner
    bank: Bank
    shares: Vector
    scalings: Mapping[str, Scaling]
    perturbed: Callable[[], list[sparse.csr_array]]
    attributes: dict[str, Any]

    def fitted(self) -> dict[str, Any]:
        """Return the fitted attributes of an estimator that describe the graph."""
        return {
            **kernel_attributes(self.bank.names, self.bank.views, self.shares, self.scalings),
            **self.attributes,
        }


def kernel_attributes(
    names: tuple[str, ...], views: tuple[str, ...], shares: Vector, scalings: Mapping[str, Scaling]
) -> dict[str, Any]:
    """Return the fitted attributes that describe kernels and scaling."""
    found: dict[str, Any] = {
        "kernel_names_": names,
        "kernel_views_": views,
        "kernel_weights_": shares,
        "kernel_shares_": shares,
    }
    if scalings:
        found["scaling_"] = next(iter(scalings.values())) if len(scalings) == 1 else dict(scalings)
    return found
