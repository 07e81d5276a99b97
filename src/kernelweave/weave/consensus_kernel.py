"""The consensus of several kernels: its weights, its matrix, and its rows for new samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import Labels, Matrix, Vector, WeightsLike
from kernelweave.core.consensus.known_pairs import known_moments, known_weights
from kernelweave.core.consensus.label_agreement import nearest_agreement
from kernelweave.core.consensus.self_weighted import median_weights
from kernelweave.core.consensus.view_trust import ViewRelations
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.bank import KernelTiles, check_stack, combine_tiles, kernel_moments
from kernelweave.kernels.base import Pair
from kernelweave.kernels.view_bank import Bank, KernelsLike, ViewBank, bank_of
from kernelweave.samples.mixed_table import CATEGORIES, NUMBERS, MixedTable
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.prepared import Compared
from kernelweave.samples.scaling import TOGETHER, Scaling
from kernelweave.samples.views import Views

__all__ = [
    "Consensus",
    "VersionKernels",
    "Weighed",
    "combine",
    "given_weights",
    "weigh",
]

_POWER_OF_LABELS = 4.0  # of the share of labels that the nearest samples in a block predict

_Bank = TypeVar("_Bank", bound=Bank)


class Weighed(NamedTuple, Generic[_Bank]):
    """Kernels fixed on samples, the tiles of their matrices, and their shares in the consensus."""

    bank: _Bank
    tiles: KernelTiles
    shares: Vector


@dataclass(frozen=True, slots=True, eq=False)
class VersionKernels:
    """The kernels of one version of the samples, and their weights in a sum.

    Parameters
    ----------
    bank : ViewBank or PrecomputedBank
        The kernels, fixed on the training samples, which it holds, scaled, unless kernel matrices were given.
    scalings : dict of view name to Scaling
        How the samples of every view are scaled; empty for kernel matrices.
    weights : array of shape (n_kernels,)
        The weights of the kernels in the sum.
    """

    bank: Bank
    scalings: Mapping[str, Scaling]
    weights: Vector

    def check_loaded(self) -> None:
        """Refuse the parts of a model file that do not belong together."""
        if isinstance(self.bank, ViewBank) and self.bank.training is None:
            msg = "The ViewBank of a Consensus has no samples."
            raise TypeError(msg)


@dataclass(frozen=True, slots=True, eq=False)
class Consensus:
    """The consensus kernel of the training samples, which can be evaluated for new ones.

    Parameters
    ----------
    versions : tuple of VersionKernels
        The kernels of every version of the samples; the consensus is their sum.
    matrix : array of shape (n_samples, n_samples)
        The consensus kernel of the training samples.
    """

    versions: tuple[VersionKernels, ...]
    matrix: Matrix

    def check_loaded(self) -> None:
        """Refuse the parts of a model file that do not belong together."""
        if not self.versions:
            msg = "A Consensus has no kernels."
            raise TypeError(msg)

    @classmethod
    def summed(cls, parts: Sequence[Consensus], shares: Sequence[float]) -> Consensus:
        """Return the sum of the kernels of several versions with these shares, or the only one as it is."""
        if len(parts) == 1:
            return parts[0]
        K = np.zeros_like(parts[0].matrix)
        versions: list[VersionKernels] = []
        for part, share in zip(parts, shares, strict=True):
            K += part.matrix.dtype.type(share) * part.matrix
            versions += [replace(one, weights=share * one.weights) for one in part.versions]
        return cls(tuple(versions), K)

    @property
    def bank(self) -> Bank:
        """The kernels, which all versions have, as fixed on the first."""
        return self.versions[0].bank

    @property
    def training(self) -> Views | None:
        """The training samples in the first version, or None if there are only kernel matrices."""
        return self.bank.training

    def astype(self, dtype: np.dtype[Any]) -> Consensus:
        """Return the kernel in another precision, in which it is evaluated for new samples too."""
        versions = tuple(replace(one, bank=one.bank.astype(dtype)) for one in self.versions)
        return Consensus(versions, self.matrix.astype(dtype))

    def training_rows(self, rows: NDArray[np.intp]) -> Matrix:
        """Return the kernel of some training samples with all of them, computed as that of new samples."""
        parts = (
            one.bank.weighted(one.bank.training.select(rows), one.weights)
            for one in self.versions
            if one.bank.training is not None  # kernel matrices have no samples
        )
        return np.asarray(sum(parts))

    def rows(self, new: Views | KernelStack) -> Matrix:
        """Return K_x (n_new, n), the consensus kernel of new samples with the training samples."""
        dtype = self.matrix.dtype
        parts = (one.bank.weighted(new.scaled(one.scalings, dtype), one.weights) for one in self.versions)
        K_x = next(parts)
        for part in parts:
            K_x += part
        return K_x


def combine(
    compared: Compared,
    kernels: KernelsLike,
    weights: WeightsLike,
    say: Callable[[str], None] | None = None,
    *,
    codes: Labels | None = None,
) -> Consensus:
    """Return the consensus of the kernels of one version of the samples; `codes` as in `block_shares`."""
    version, samples = compared
    bank, tiles, p = weigh(kernels, weights, samples, codes=codes, together=version.name == TOGETHER)
    if isinstance(weights, str) and weights == "self":  # all tiles were checked already
        tiles = replace(tiles, check=None)
    if say is not None:
        say(f"kernels: {len(p)}, the largest share {p.max():.0%} ({bank.names[p.argmax()]})")
    K = combine_tiles(tiles.of(samples.dtype, p), tiles.n, samples.dtype)
    return Consensus((VersionKernels(bank, version.scalings, p),), K)


@overload
def weigh(
    kernels: KernelsLike, weights: WeightsLike, samples: Views, *, codes: Labels | None = None, together: bool = False
) -> Weighed[ViewBank]: ...
@overload
def weigh(
    kernels: KernelsLike,
    weights: WeightsLike,
    samples: Views | KernelStack,
    *,
    codes: Labels | None = None,
    together: bool = False,
) -> Weighed[Bank]: ...
def weigh(
    kernels: KernelsLike,
    weights: WeightsLike,
    samples: Views | KernelStack,
    *,
    codes: Labels | None = None,
    together: bool = False,
) -> Weighed[Any]:
    """Return the kernels fixed on the samples, their tiles, and their shares in the consensus.

    `together` is whether numbers and categories of one table are compared together too; `codes` are those of
    `block_shares`.
    """
    bank = bank_of(kernels, samples, together=together)
    check = partial(check_stack, names=bank.names)
    tiles = KernelTiles(bank.fit_tiles(samples), len(bank.names), samples.n_samples, check)
    if not (isinstance(weights, str) and weights == "self"):
        return Weighed(bank, tiles, given_weights(weights, bank.names))
    single = tiles.of(np.dtype(np.float32))  # faster, and accurate enough for the weights
    if isinstance(samples, KernelStack) or len(samples.names) == 1:  # kernel matrices count as one view
        return Weighed(bank, tiles, median_weights(*kernel_moments(single)))
    view = np.array([samples.names.index(name) for name in bank.views])
    relations = ViewRelations(view, samples.present)
    seen = relations.watch(single)
    moments = kernel_moments(seen) if samples.complete else known_moments(seen, samples.present, view)
    trust = relations.trust() * block_shares(samples, view, codes)
    p = median_weights(*moments, trust) if samples.complete else known_weights(*moments, view, trust)
    return Weighed(bank, tiles, p)


def block_shares(samples: Views, view: NDArray[np.intp], codes: Labels | None = None) -> Vector:
    """Return the trust in every kernel by the block of a mixed table that it compares; 1 for other tables.

    Kernels of a single category are all similar, so their agreement is no evidence for the category: in clusters, a
    block counts by the root of its number of columns, so that one column of random words has less weight than a dozen
    of numbers. Classes may well depend on a single category: with `codes` (-1 where unlabelled), a block counts by a
    power of the share of labelled samples whose nearest labelled sample in it has their class. In both, it does not
    matter how many kernels a block has.
    """
    trust = np.ones(len(view))
    for source, reading in samples.readings.items():
        own = [v for v, of in enumerate(samples.sources) if of == source]
        if isinstance(reading, MixedTable) and len(own) > 1:
            blocks = [CATEGORIES if samples.kinds[v] == CATEGORIES else NUMBERS for v in own]
            if codes is None:
                wanted = np.array([np.sqrt(len(reading.blocks[block])) for block in blocks])
            else:
                wanted = np.array([_agreement(samples, v, codes) ** _POWER_OF_LABELS for v in own])
            kernels = np.array([np.count_nonzero(view == v) for v in own])
            for v, share in zip(own, (wanted / wanted.sum()) / (kernels / kernels.sum()), strict=True):
                trust[view == v] = share
    return trust


def _agreement(samples: Views, v: int, codes: Labels) -> float:
    """Return how well the nearest labelled samples of a view predict their classes."""
    of_view = codes[samples.present[v]]
    X = samples.tables[v][of_view >= 0].astype(np.float64)
    D = Pair(X).sqdist if len(X) else np.empty((0, 0))
    return nearest_agreement(D, of_view[of_view >= 0])


def given_weights(weights: WeightsLike, names: tuple[str, ...]) -> Vector:
    """Return the weights that a user asked for, equal or given ones, checked, as shares that sum to one."""
    if isinstance(weights, str) and weights == "uniform":
        return np.full(len(names), 1 / len(names))
    try:
        p = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"weights must be 'self', 'uniform' or one number per kernel; got {weights!r}."
        raise InvalidInputError(msg) from error
    if p.shape != (len(names),):
        which = "the only kernel" if len(names) == 1 else f"each of the {len(names)} kernels"
        msg = f"weights must hold one number for {which}; got shape {p.shape}."
        raise InvalidInputError(msg)
    if not np.isfinite(p).all() or (p < 0).any() or not p.any():
        msg = f"weights must be finite, not negative and not all zero; got {p}."
        raise InvalidInputError(msg)
    p = p / p.max()  # the sum of large weights is infinite
    return np.asarray(p / p.sum())
