"""The samples stored in the page: those drawn on the map and those listed in the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelweave.plots._layout import Layout, corners
from kernelweave.report._facts import Facts

__all__ = ["LISTED", "POINTS", "drawn_samples", "page_data"]

POINTS = 2000  # samples on the map, so that a browser redraws it without delay
LISTED = 5000  # samples in the table
_DIRECTIONS = 10  # directions of the embedding that the user can choose from


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
