"""The maps of the samples, and the samples that the page stores: those drawn and those listed in the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator

from kernelweave.core.graphs.coordinates import bottom_spectrum
from kernelweave.errors import InvalidInputError
from kernelweave.plots._layout import Layout, corners, lay_out, membership_wheel
from kernelweave.report._facts import Facts

__all__ = ["LISTED", "POINTS", "drawn_samples", "page_data", "page_maps"]

POINTS = 2000  # samples on the map, so that a browser redraws it without delay
LISTED = 5000  # samples in the table
_DIRECTIONS = 10  # directions of the embedding that the user can choose from
_EIGENVECTORS = 4  # of the graph, among which a second direction is looked for
_SPREAD = 10  # eigenvectors of the graph that are spread, besides one for each group
_PERPLEXITY = (5.0, 30.0)  # at least and at most; between them a third of a usual group, which then keeps its shape


def page_data(
    facts: Facts, layouts: Sequence[Layout], drawn: npt.NDArray[np.intp], shown: Sequence[str]
) -> dict[str, Any]:
    """Return the data for the page's script: the samples by column, and which of them to draw and to list."""
    drawn = drawn if layouts else drawn[:0]
    listed = _listed(facts)
    kept = np.union1d(drawn, listed)
    return {
        "kind": facts.kind,
        "numbers": list(facts.names),
        "names": list(shown),
        "n": facts.n,
        "sizes": [group.size for group in facts.groups],
        "medians": None if facts.confidence is None else [round(group.confidence or 0, 4) for group in facts.groups],
        "ids": [facts.ids[i] for i in kept],
        "codes": facts.codes[kept].tolist(),
        "confidence": None if facts.confidence is None else np.round(facts.confidence[kept], 6).tolist(),
        "truth": None if facts.truth is None else [str(value) for value in facts.truth[kept]],
        "labelled": None if facts.labelled is None else facts.labelled[kept].tolist(),
        "undecided": None if facts.undecided is None else facts.undecided[kept].tolist(),
        "drawn": np.searchsorted(kept, drawn).tolist(),
        "listed": np.searchsorted(kept, listed).tolist(),
        "maps": [_map(layout, kept) for layout in layouts],
    }


def _map(layout: Layout, kept: npt.NDArray[np.intp]) -> dict[str, Any]:
    Z = (layout.places if layout.directions is None else layout.directions[:, :_DIRECTIONS])[kept]
    spokes = None
    if layout.wheel is not None:
        ends = corners(len(layout.wheel))
        spokes = [[str(name), *end] for name, end in zip(layout.wheel, ends.round(4).tolist(), strict=True)]
    size = 1.0 if spokes else float(np.abs(Z).max()) or 1.0
    places = np.round(Z.T / size, 4).tolist()
    axes = [name.replace("embedding_[:, ", "direction ").replace("]", "") for name in layout.axes]
    return {"places": places, "axes": axes, "wheel": spokes}


def drawn_samples(n: int) -> npt.NDArray[np.intp]:
    """Return the samples on the map: all, or some at random if there are too many."""
    if n <= POINTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, POINTS, replace=False))


def _listed(facts: Facts) -> npt.NDArray[np.intp]:
    """Return all samples, or the most and the least certain ones if there are too many."""
    if facts.n <= LISTED:
        return np.arange(facts.n)
    if facts.confidence is None:
        return np.arange(LISTED)
    order = np.argsort(facts.confidence, kind="stable")
    return np.sort(np.concatenate([order[: LISTED // 2], order[-LISTED // 2 :]]))


def page_maps(model: BaseEstimator, facts: Facts, drawn: npt.NDArray[np.intp], *, spread: bool) -> list[Layout]:
    """Return the maps of the samples: the spread if it is asked for, the embedding, the memberships."""
    found: list[Layout | None] = [_spread_map(model, facts, drawn)] if spread else []
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


def _spread_map(model: BaseEstimator, facts: Facts, drawn: npt.NDArray[np.intp]) -> Layout:
    """Return t-SNE of the eigenvectors of the graph, or of the embedding without a graph; only the samples drawn."""
    from sklearn.manifold import TSNE

    S = getattr(model, "graph_", None)
    if S is not None and getattr(S, "shape", None) == (facts.n, facts.n):
        q = min(_SPREAD + len(facts.names), facts.n)
        V = np.asarray(bottom_spectrum(_symmetric(S), q).vectors, dtype=np.float64)[:, 1:]
    elif hasattr(model, "embedding_"):
        V = np.asarray(model.embedding_, dtype=np.float64)
    else:
        msg = f"A spread needs graph_ or embedding_, and {type(model).__name__} has neither: leave spread out."
        raise InvalidInputError(msg)
    if len(drawn) < 4:
        msg = f"A spread needs 4 samples or more; got {len(drawn)}: leave spread out."
        raise InvalidInputError(msg)
    usual = float(np.median([group.size for group in facts.groups])) * len(drawn) / facts.n
    perplexity = min(max(_PERPLEXITY[0], min(_PERPLEXITY[1], usual / 3)), (len(drawn) - 1) / 3)
    places = np.zeros((facts.n, 2))
    places[drawn] = TSNE(perplexity=perplexity, init="pca", random_state=0).fit_transform(_unit(V[drawn]))
    return Layout("Spread", _scaled(places), ())


def _symmetric(S: object) -> sparse.csr_array:
    graph = sparse.csr_array(S)
    return sparse.csr_array((abs(graph) + abs(graph).T) / 2, dtype=np.float64)


def _unit(V: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return directions of equal length, so that each counts alike; one that does not vary is left out."""
    centred = V - V.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=0)
    kept = lengths > 1e-9 * (lengths.max() or 1.0)
    return np.asarray(centred[:, kept] / lengths[kept]) if kept.any() else centred


def _next_direction(S: object, first: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
    """Return the smoothest direction of the graph that differs from the first."""
    n = len(first)
    if S is None or getattr(S, "shape", None) != (n, n) or n <= _EIGENVECTORS + 1:
        return None
    V = np.asarray(bottom_spectrum(_symmetric(S), _EIGENVECTORS).vectors, dtype=np.float64)
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
