"""Squared distances of the samples in every view, from features, kernels, Gram matrices, or as they are given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelweave._plural import counted
from kernelweave._types import Mask, Matrix, Samples
from kernelweave.errors import InvalidInputError
from kernelweave.estimators._estimator import KernelLike
from kernelweave.kernels import Linear, Pair, as_kernel
from kernelweave.kernels.view_bank import Bank, as_bank, bank_of
from kernelweave.samples.magnitudes import check_kernel
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.views import Views

__all__ = [
    "checked_distances",
    "distance_bank",
    "distances_by_view",
    "gap_distances",
    "gram_distances",
    "need_every_sample",
]

_FEWEST = 3  # samples: two neighbours of one can be compared


def distance_bank(kernel: KernelLike, samples: Views | KernelStack) -> Bank:
    """Return the bank that names the views; without a kernel it is the linear one, whose distances are Euclidean."""
    return bank_of(Linear() if kernel is None or isinstance(samples, KernelStack) else as_kernel(kernel), samples)


def distances_by_view(model: str, kernel: KernelLike, samples: Views | KernelStack) -> list[Matrix]:
    """Return the squared distances of the samples that each view has; fewer than three samples are refused."""
    n = samples.n_samples
    if n < _FEWEST:
        msg = f"{model} compares the neighbours of a sample, so it needs at least {_FEWEST} samples; got {n}."
        raise InvalidInputError(msg)
    if isinstance(samples, KernelStack) and kernel == "distances":
        return list(checked_distances(samples.matrices))
    if isinstance(samples, KernelStack):
        return [gram_distances(K) for K in samples.matrices]
    places = [f"View {name!r}: " if len(samples.names) > 1 else "" for name in samples.names]
    return [_distances(kernel, table, place) for table, place in zip(samples.tables, places, strict=True)]


def need_every_sample(model: str, samples: Views | KernelStack) -> None:
    """Refuse views that lack samples."""
    if samples.complete:
        return
    lacking = [(name, n) for name, n in zip(samples.names, (~samples.present).sum(axis=1), strict=True) if n]
    listed = ", ".join(f"{name!r} lacks {counted(int(n), 'sample')}" for name, n in lacking)
    msg = (
        f"{model} needs every sample in every view, but {listed} of {samples.n_samples}. Remove samples that lack a "
        "view, or use a method that takes gaps: NEMO or WeaveClustering."
    )
    raise InvalidInputError(msg)


def _distances(kernel: KernelLike, table: Samples, place: str) -> Matrix:
    """Return the squared distances of the samples of one view; an error says where."""
    if kernel is None:
        return np.asarray(Pair(table).sqdist)
    try:
        (K,) = as_bank(as_kernel(kernel)).fit_grams(table)
        check_kernel(K, "The kernel", training=True)
    except InvalidInputError as error:
        msg = f"{place}{error}"
        raise InvalidInputError(msg) from error
    return gram_distances(K)


def gram_distances(K: Matrix) -> Matrix:
    """K_ii + K_jj - 2 K_ij; raises where that is negative, as it cannot be for a Gram matrix."""
    D = K.diagonal()[:, None] + K.diagonal() - 2 * K
    if D.min() < -np.sqrt(np.finfo(K.dtype).eps) * np.abs(K).max():
        i, j = np.unravel_index(D.argmin(), D.shape)
        msg = (
            f"This is not a Gram matrix: samples {i} and {j} would be at a squared distance of {D.min():.3g}. For "
            "squared distances use kernel='distances'."
        )
        raise InvalidInputError(msg)
    np.fill_diagonal(D, 0)
    return np.maximum(D, 0)


def gap_distances(parts: Sequence[Matrix], present: Mask) -> Matrix:
    """D_vij of the samples that view v has, times the number of views over that of those with both i and j; else 0.

    Two samples without a common view are as far apart as the farthest pair of every view.
    """
    common = present.T.astype(np.intp) @ present
    D = np.zeros((len(parts), *common.shape), dtype=np.result_type(*parts))
    for Dv, part, known in zip(D, parts, present, strict=True):
        both = np.ix_(known, known)
        Dv[both] = part * (len(parts) / common[both])
        Dv[common == 0] = part.max(initial=0)
    return D


def checked_distances(D: Matrix) -> Matrix:
    """D (v, n, n), if it can hold squared distances."""
    if D.min() < 0 or D.diagonal(axis1=1, axis2=2).any():
        msg = (
            f"Squared distances must be at least 0, and 0 on the diagonal; got a minimum of {D.min():.3g} and up to "
            f"{D.diagonal(axis1=1, axis2=2).max():.3g} on the diagonal. For Gram matrices use kernel='precomputed'."
        )
        raise InvalidInputError(msg)
    return D
