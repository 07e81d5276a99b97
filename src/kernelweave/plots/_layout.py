"""Positions of the samples in a plane, for the scatter plot and for the map of the report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from kernelweave._types import Array
from kernelweave.plots._fitted import learned

__all__ = ["Layout", "corners", "lay_out", "membership_wheel"]

_CONSTANT = 1e-6  # a direction is constant if it varies less than this, relative to the embedding
_TIED = 0.999  # directions are equally long if the shortest has this share of the longest


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of the samples in at most two columns, and what the axes show.

    `wheel` holds the names of the spokes, if the groups are spokes of a wheel. `directions` holds the positions in all
    directions, if there are more than two.
    """

    title: str
    places: npt.NDArray[np.float64]
    axes: tuple[str, ...]
    wheel: Array | None = None
    directions: npt.NDArray[np.float64] | None = None


def lay_out(model: BaseEstimator) -> Layout:
    """Return the samples on a wheel of the model's classes, or in two directions of its embedding."""
    name, P = learned(model, "label_distributions_", "embedding_")
    P = np.asarray(P, dtype=float)
    title = "Label distributions" if name == "label_distributions_" else "Embedding"
    if name == "label_distributions_" and P.shape[1] > 2:
        return Layout(title, _spread(P), (), np.asarray(getattr(model, "classes_", np.arange(P.shape[1]))))
    places, axes = _plane(P, name)
    more = places if places.shape[1] > 2 else None
    return Layout(title, places[:, :2], tuple(axes), directions=more)


def membership_wheel(model: BaseEstimator) -> Layout | None:
    """Return the samples on a wheel of the model's clusters; None if it has no memberships or fewer than 3 clusters."""
    M = getattr(model, "membership_", None)
    if M is None or not hasattr(model, "labels_") or M.shape[1] < 3:
        return None
    return Layout("Memberships", _spread(np.asarray(M, dtype=float)), (), np.arange(M.shape[1]))


def _plane(P: npt.NDArray[np.float64], name: str) -> tuple[npt.NDArray[np.float64], list[str]]:
    """Return the samples in the directions in which they vary, the longest first, and the names of the directions."""
    centred = P - P.mean(axis=0)
    negligible = _CONSTANT * np.linalg.norm(P)
    U, lengths, _ = np.linalg.svd(centred, full_matrices=False)
    lengths = lengths[lengths > negligible]
    if len(lengths) > 1 and lengths[-1] >= _TIED * lengths[0]:
        columns = np.flatnonzero(np.linalg.norm(centred, axis=0) > negligible)
        return P[:, columns], [f"{name}[:, {column}]" for column in columns]
    Z = U[:, : len(lengths)] * lengths
    ends = Z[np.abs(Z).argmax(axis=0), range(Z.shape[1])]
    return Z * np.sign(ends), [f"principal direction {i + 1}" for i in range(Z.shape[1])]


def _spread(P: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the mean of the spokes' ends weighted by each row of P, with the root of its distance from the centre."""
    Z = P @ corners(P.shape[1])
    distance = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.sqrt(np.where(distance > 0, distance, 1))


def corners(c: int) -> npt.NDArray[np.float64]:
    """Return the corners of a regular polygon, clockwise from the top."""
    angles = 2 * np.pi * np.arange(c) / c
    return np.column_stack([np.sin(angles), np.cos(angles)])
