"""The consensus kernel within small groups of samples: many groups at once, without a matrix of all samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Matrix, Samples, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Chi2, Kernel, Laplacian
from kernelweave.kernels.pair import Products

__all__ = ["LocalKernel", "gathered"]


@dataclass(frozen=True, slots=True)
class LocalKernel:
    """K = Σ p_i H_i of kernels that were fixed on a sample of the rows.

    Parameters
    ----------
    kernels : tuple of Kernel
        Fixed kernels.
    shares : array (r,)
        Their shares p in the consensus.
    origin : array (n_features,) or None
        Subtracted from the samples before distances are computed, if these would otherwise cancel.
    """

    kernels: tuple[Kernel, ...]
    shares: Vector
    origin: Vector | None = None

    @classmethod
    def fixed_on(cls, sample: Samples, kernels: tuple[Kernel, ...], shares: Vector) -> LocalKernel:
        """Return the consensus of kernels that were fixed on this sample."""
        if sparse.issparse(sample):
            for kernel in kernels:
                _check_narrows(kernel)
            return cls(kernels, shares)
        mean = sample.mean(axis=0)
        far = mean @ mean > 0.9 * float(np.einsum("ij,ij->", sample, sample)) / len(sample)
        return cls(kernels, shares, mean if far else None)

    def within(self, groups: Matrix) -> Matrix:
        """Return the kernel matrix (b, size, size) of each of the groups (b, size, n_features)."""
        b, size = groups.shape[:2]
        i, j = np.triu_indices(size)
        upper = np.ravel_multi_index((i, j), (size, size))
        lower = np.ravel_multi_index((j, i), (size, size))
        inner = groups @ groups.transpose(0, 2, 1)
        near = inner if self.origin is None else _inner_about(groups, self.origin)

        def packed(matrices: Matrix) -> Matrix:
            return matrices.reshape(len(matrices), -1)[:, upper]

        x, own = _diagonals(inner), _diagonals(near)
        products = Products(packed(inner), _sqdist(packed(near), own[:, i], own[:, j], groups), x[:, i], x[:, j])
        values = self._combined(products, lambda kernel: np.stack([packed(kernel.gram(X)[None])[0] for X in groups]))
        K = np.empty((b, size * size), dtype=groups.dtype)
        K[:, upper] = values
        K[:, lower] = values
        return K.reshape(b, size, size)

    def between(self, x: Matrix, groups: Matrix) -> Matrix:
        """Return the kernel (b, k) of each sample of x (b, n_features) with the k of its group (b, k, n_features)."""
        near_x, near_groups = (x, groups) if self.origin is None else (x - self.origin, groups - self.origin)
        inner = np.einsum("bkd,bd->bk", groups, x, optimize=True)
        near = inner if self.origin is None else np.einsum("bkd,bd->bk", near_groups, near_x, optimize=True)
        own, theirs = _squares(near_x)[:, None], _squares(near_groups)
        squares = (own, theirs) if self.origin is None else (_squares(x)[:, None], _squares(groups))
        products = Products(
            inner, _sqdist(near, own, theirs, groups), *(np.broadcast_to(each, inner.shape) for each in squares)
        )
        return self._combined(
            products,
            lambda kernel: np.stack([kernel.gram(one[None], X)[0] for one, X in zip(x, groups, strict=True)]),
        )

    def distances(self, groups: Matrix) -> Matrix:
        """Return D_0j = K_00 + K_jj - 2K_0j, j > 0, of the first sample of each group with the others."""
        own = self.diagonal(groups.reshape(-1, groups.shape[2])).reshape(groups.shape[:2])
        return np.asarray(own[:, :1] + own[:, 1:] - 2 * self.between(groups[:, 0], groups[:, 1:]))

    def diagonal(self, x: Matrix) -> Vector:
        """Return the kernel of every sample with itself."""
        total = np.zeros(x.shape[0])
        for p, kernel in zip(self.shares, self.kernels, strict=True):
            total += p * kernel.diag(x)
        return total

    def _combined(self, products: Products, one_by_one: Callable[[Kernel], Matrix]) -> Matrix:
        """Return Σ p_i H_i; kernels that are not functions of inner products are computed group by group."""
        dtype = products.inner.dtype
        total = np.zeros(products.inner.shape, dtype=dtype)
        for p, kernel in zip(self.shares, self.kernels, strict=True):
            if p == 0:
                continue
            K = kernel.of_products(products)
            K = one_by_one(kernel) if K is None else K
            K *= dtype.type(p)
            total += K
        return total


def gathered(X: Samples, rows: NDArray[np.integer[Any]]) -> Matrix:
    """Return the samples at rows (b, k), dense, as (b, k, n_features); of a sparse X without its empty columns."""
    if not sparse.issparse(X):
        return np.asarray(X[rows])
    part = X[rows.ravel()]
    columns = np.unique(part.indices)
    dense = part[:, columns].toarray() if len(columns) else np.zeros((part.shape[0], 1), dtype=X.dtype)
    return dense.reshape(*rows.shape, -1)


def _check_narrows(kernel: Kernel) -> None:
    """Refuse a kernel whose value may change if columns in which all samples are 0 are left out."""
    zero = np.zeros((1, 1))
    if kernel.of_products(Products(zero, zero, zero, zero)) is None and not isinstance(kernel, Laplacian | Chi2):
        msg = (
            f'solver="local" cannot compute the kernel {kernel} of sparse samples, since it is not a function of their '
            'inner products: make them dense with X.toarray(), leave the kernel out, or use solver="dense".'
        )
        raise InvalidInputError(msg)


def _inner_about(groups: Matrix, origin: Vector) -> Matrix:
    groups = groups - origin
    return np.asarray(groups @ groups.transpose(0, 2, 1))


def _diagonals(matrices: Matrix) -> Matrix:
    return np.asarray(np.einsum("bii->bi", matrices))


def _squares(x: Matrix) -> Matrix:
    return np.asarray(np.einsum("...d,...d->...", x, x))


def _sqdist(inner: Matrix, own: Matrix, theirs: Matrix, groups: Matrix) -> Matrix:
    """D = |x|² + |y|² - 2x'y, and 0 where it is within rounding, so that copies of a sample are at distance 0."""
    D = own + theirs
    D -= inner
    D -= inner
    D[2 * (1 + np.sqrt(groups.shape[-1])) * np.finfo(groups.dtype).eps * own >= D] = 0
    return D
