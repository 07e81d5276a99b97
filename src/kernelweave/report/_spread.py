"""Maps of the samples for the page: the embedding first, with a second direction if it has only one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator

from kernelweave.core.graphs.coordinates import bottom_spectrum
from kernelweave.plots._layout import Layout, lay_out, membership_wheel
from kernelweave.report._facts import Facts

__all__ = ["page_maps"]

_EIGENVECTORS = 4  # of the graph, among which a second direction is looked for


def page_maps(model: BaseEstimator, facts: Facts) -> list[Layout]:
    """Return the maps of the samples, the embedding first."""
    found: list[Layout | None] = []
    if hasattr(model, "label_distributions_") or hasattr(model, "embedding_"):
        found.append(_in_a_plane(lay_out(model), model))
    wheel = membership_wheel(model)
    found.append(wheel if wheel is None else replace(wheel, wheel=np.array(facts.names)))
    return [layout for layout in found if layout is not None and len(layout.places) == facts.n]


def _in_a_plane(layout: Layout, model: BaseEstimator) -> Layout:
    """Return the layout with two directions: the second from the graph, or at random if there is no graph."""
    n, width = layout.places.shape
    if width > 1:
        return layout
    first = layout.places[:, 0] if width else np.zeros(n)
    second = _next_direction(getattr(model, "graph_", None), first)
    name = "next direction of the graph"
    if second is None:
        second, name = np.random.default_rng(0).uniform(-1, 1, size=(n,)), "at random, to keep samples apart"
    axes = (*(layout.axes[:1] or ("no direction",)), name)
    return replace(layout, places=np.column_stack([_scaled(first), _scaled(second)]), axes=axes, directions=None)


def _next_direction(S: object, first: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
    """Return the smoothest direction of the graph that differs from the first."""
    n = len(first)
    if S is None or getattr(S, "shape", None) != (n, n) or n <= _EIGENVECTORS + 1:
        return None
    graph = sparse.csr_array(S)
    graph = sparse.csr_array((abs(graph) + abs(graph).T) / 2, dtype=np.float64)
    V = np.asarray(bottom_spectrum(graph, _EIGENVECTORS).vectors, dtype=np.float64)
    V = V - V.mean(axis=0)
    own = first - first.mean()
    if np.linalg.norm(own) > 0:
        own = own / np.linalg.norm(own)
        V = V - np.outer(own, own @ V)
    lengths = np.linalg.norm(V, axis=0)
    useful = np.flatnonzero(lengths > 0.5)
    return V[:, useful[0]] if len(useful) else None


def _scaled(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(values / (np.abs(values).max() or 1.0))
