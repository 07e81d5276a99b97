"""The consensus of several kernels: its weights, its matrix, and its rows for new samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from kernelweave._types import Matrix, Vector, WeightsLike
from kernelweave.core.consensus.known_pairs import known_moments, known_weights
from kernelweave.core.consensus.self_weighted import KernelTiles, combine_tiles, kernel_moments, median_weights
from kernelweave.core.consensus.view_trust import ViewRelations
from kernelweave.core.graphs.new_rows import consensus_rows
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.precomputed_bank import PrecomputedBank
from kernelweave.kernels.view_bank import Bank, KernelsLike, bank_of
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.scaling import Scaling, Version, scaled
from kernelweave.samples.views import Views

__all__ = ["Consensus", "combine", "given_weights", "kernel_attributes", "weigh"]


@dataclass(frozen=True, eq=False)
class Consensus:
    """The consensus kernel of the training samples, which can be evaluated for new ones.

    Parameters
    ----------
    bank : ViewBank or PrecomputedBank
        The kernels, fixed on the training samples.
    training : Views or None
        The training samples, scaled; None for kernel matrices, which new samples bring along.
    scalings : dict of view name to Scaling
        How samples are scaled; empty for kernel matrices, and for samples that are not scaled.
    weights : array of shape (n_kernels,)
        The weights of the kernels in the sum.
    matrix : array of shape (n_samples, n_samples)
        The consensus kernel of the training samples.
    """

    bank: Bank
    training: Views | None
    scalings: Mapping[str, Scaling]
    weights: Vector
    matrix: Matrix

    def check_loaded(self) -> None:
        """Refuse the parts of a model file that do not belong together."""
        if (self.training is None) != isinstance(self.bank, PrecomputedBank):
            msg = f"A Consensus of a {type(self.bank).__name__} has {'no' if self.training is None else 'its'} samples."
            raise TypeError(msg)

    def rows(self, new: Views | KernelStack) -> Matrix:
        """Return K_x (n_new, n), the consensus kernel of new samples with the training samples."""
        new = scaled(new, self.scalings) if self.scalings and isinstance(new, Views) else new
        if self.training is not None:
            new = new.astype(self.training.dtype, copy=False)
        K_x = consensus_rows(self.bank.grams(new, self.training), self.weights)
        return K_x.astype(self.matrix.dtype, copy=False)


def combine(
    samples: Views | KernelStack,
    version: Version,
    kernels: KernelsLike,
    weights: WeightsLike,
    say: Callable[[str], None] | None = None,
    dtype: DTypeLike | None = None,
) -> Consensus:
    """Return the consensus of the kernels of one version of the samples, by default in their precision."""
    precision: np.dtype[Any] = np.dtype(dtype or samples.dtype)
    training = scaled(samples, version.scalings) if isinstance(samples, Views) else None
    compared = samples if training is None else training
    bank = bank_of(kernels, compared)
    tiles = KernelTiles(bank.fit_tiles(compared, precision), len(bank.names), samples.n_samples)
    p = weigh(tiles, weights, bank, compared)
    if say is not None:
        say(f"kernels: {len(p)}, the largest share {p.max():.0%} ({bank.names[p.argmax()]})")
    K = combine_tiles(tiles.of(precision), p[None], tiles.n)[0]
    return Consensus(bank, training, version.scalings, p, K)


def weigh(tiles: KernelTiles, weights: WeightsLike, bank: Bank, samples: Views | KernelStack) -> Vector:
    """Return the shares of the kernels in the consensus."""
    if not isinstance(weights, str):
        return given_weights(weights, bank.names)
    if weights == "uniform":
        return np.full(tiles.r, 1 / tiles.r)
    single = tiles.of(np.dtype(np.float32))  # faster, and accurate enough for the weights
    if isinstance(samples, KernelStack):
        return median_weights(*kernel_moments(single))
    view = np.array([samples.names.index(name) for name in bank.views])
    relations = ViewRelations(view, samples.present)
    seen = relations.watch(single)
    if samples.complete:
        G, R = kernel_moments(seen)
        return median_weights(G, R, relations.trust())
    G, R = known_moments(seen, samples.present, view)
    return known_weights(G, R, view, relations.trust())


def given_weights(weights: WeightsLike, names: tuple[str, ...]) -> Vector:
    """Return a user's weights, checked, as shares that sum to one."""
    try:
        p = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"weights must be 'self', 'uniform' or one number per kernel; got {weights!r}."
        raise InvalidInputError(msg) from error
    if p.shape != (len(names),):
        msg = f"weights must hold one number for each of the {len(names)} kernels; got shape {p.shape}."
        raise InvalidInputError(msg)
    if not np.isfinite(p).all() or (p < 0).any() or p.sum() == 0:
        msg = f"weights must be finite, not negative and not all zero; got {p}."
        raise InvalidInputError(msg)
    return np.asarray(p / p.sum())


def kernel_attributes(
    names: tuple[str, ...], views: tuple[str, ...], shares: Vector, versions: tuple[Version, ...]
) -> dict[str, Any]:
    """Return the fitted attributes that describe kernels and scaling."""
    found: dict[str, Any] = {
        "kernel_names_": names,
        "kernel_views_": views,
        "kernel_weights_": shares,
        "kernel_shares_": shares,
    }
    return {**found, "scaling_": versions} if versions[0].scalings else found
