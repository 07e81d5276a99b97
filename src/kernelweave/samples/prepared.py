"""Samples as kernels compare them: few copies of each, scaled in every version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import Labels
from kernelweave.samples.digests import Seen
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.scaling import Scale, Version, fit_versions, scaled
from kernelweave.samples.views import Views

__all__ = ["Compared", "Prepared", "compared_again", "prepare"]


class Compared(NamedTuple):
    """One version of the samples, and the samples in it; kernel matrices are as they were given."""

    version: Version
    samples: Views | KernelStack


class Prepared(NamedTuple):
    """The samples that are compared, in every version, and where all samples are among them.

    `kept` are the samples with few copies of each, not scaled; `copies` (n,) is the position of every sample among
    them, and `seen` has the digests of all samples.
    """

    kept: Views | KernelStack
    compared: tuple[Compared, ...]
    copies: Labels
    seen: Seen


def prepare(
    samples: Views | KernelStack, scale: Scale | Mapping[str, Scale], *, most_copies: int | None = None
) -> Prepared:
    """Return at most `most_copies` copies of every sample, all if None, in the versions that `scale` asks for.

    Kernel matrices stay whole, and are their only version.
    """
    digests = samples.digests()
    copies: Labels = np.arange(samples.n_samples)
    if isinstance(samples, KernelStack):
        return Prepared(samples, (Compared(Version("given", {}), samples),), copies, Seen(digests))
    if most_copies is not None:
        kept, copies = _few_copies(digests, most_copies)
        samples = samples if len(kept) == samples.n_samples else samples.select(kept)
    compared = tuple(Compared(one, scaled(samples, one.scalings)) for one in fit_versions(samples, scale))
    return Prepared(samples, compared, copies, Seen(digests))


def compared_again(versions: Iterable[Version], views: Views) -> list[Compared]:
    """Return other samples in the same versions, with constants of their own."""
    refitted = [version.refitted(views) for version in versions]
    return [Compared(version, scaled(views, version.scalings)) for version in refitted]


def _few_copies(digests: NDArray[np.uint8], most: int) -> tuple[NDArray[np.intp], Labels]:
    """Return the positions of at most `most` copies of every sample, and that of the first copy of each among them.

    Where all samples are equal, or all differ, all are kept, each as its own first copy.
    """
    n = len(digests)
    words = np.ascontiguousarray(digests).view("S16").ravel()
    _, first, group, counts = np.unique(words, return_index=True, return_inverse=True, return_counts=True)
    if len(counts) in (1, n):
        return np.arange(n), np.arange(n)
    order = np.argsort(group, kind="stable")
    rank = np.empty(n, dtype=np.intp)  # of every sample among its copies
    rank[order] = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = np.flatnonzero(rank < most)
    return kept, np.searchsorted(kept, first[group])
