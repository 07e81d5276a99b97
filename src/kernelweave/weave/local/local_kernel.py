"""The consensus kernel within small groups of samples: many groups at once, never a matrix of all samples."""

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
    origin : array (d,) or None
        Where distances are measured from, if the samples lie so far out that these would cancel.
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

    def within(self, A: Matrix) -> Matrix:
        """Return the kernel matrix (b, g, g) of every group of g samples in A (b, g, d)."""
        b, g = A.shape[:2]
        upper = np.ravel_multi_index(np.triu_indices(g), (g, g))
        lower = np.ravel_multi_index(np.triu_indices(g)[::-1], (g, g))
        inner = A @ A.transpose(0, 2, 1)
        near = inner if self.origin is None else _inner_about(A, self.origin)
        i, j = np.triu_indices(g)

        def packed(M: Matrix) -> Matrix:
            return M.reshape(len(M), -1)[:, upper]

        x, own = _diagonals(inner), _diagonals(near)
        products = Products(packed(inner), _sqdist(packed(near), own[:, i], own[:, j], A), x[:, i], x[:, j])
        values = self._combined(products, lambda kernel: np.stack([packed(kernel.gram(S)[None])[0] for S in A]))
        K = np.empty((b, g * g), dtype=A.dtype)
        K[:, upper] = values
        K[:, lower] = values
        return K.reshape(b, g, g)

    def between(self, x: Matrix, A: Matrix) -> Matrix:
        """Return the kernel (b, k) of every sample of x (b, d) with the k of its group in A (b, k, d)."""
        near_x, near_A = (x, A) if self.origin is None else (x - self.origin, A - self.origin)
        inner = np.einsum("bkd,bd->bk", A, x, optimize=True)
        near = inner if self.origin is None else np.einsum("bkd,bd->bk", near_A, near_x, optimize=True)
        sq = _squares(near_A)
        own = _squares(near_x)[:, None]
        lengths = (own, sq) if self.origin is None else (_squares(x)[:, None], _squares(A))
        products = Products(inner, _sqdist(near, own, sq, A), *(np.broadcast_to(s, inner.shape) for s in lengths))
        return self._combined(
            products, lambda kernel: np.stack([kernel.gram(u[None], S)[0] for u, S in zip(x, A, strict=True)])
        )

    def distances(self, A: Matrix) -> Matrix:
        """Return K_ii + K_jj - 2K_ij (b, g - 1) of the first sample of every group in A (b, g, d) with the others."""
        b, g, d = A.shape
        own = self.diagonal(A.reshape(b * g, d)).reshape(b, g)
        return np.asarray(own[:, :1] + own[:, 1:] - 2 * self.between(A[:, 0], A[:, 1:]))

    def diagonal(self, x: Matrix) -> Vector:
        """Return the kernel of every sample with itself."""
        total = np.zeros(x.shape[0])
        for p, kernel in zip(self.shares, self.kernels, strict=True):
            total += p * kernel.diag(x)
        return total

    def _combined(self, products: Products, one_by_one: Callable[[Kernel], Matrix]) -> Matrix:
        """Return Σ p_i k_i; kernels that take more than products are asked group by group."""
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
    """Return the samples at rows (b, k) as (b, k, d), dense; of a sparse X only the columns that these fill."""
    if not sparse.issparse(X):
        return np.asarray(X[rows])
    part = X[rows.ravel()]
    columns = np.unique(part.indices)
    dense = part[:, columns].toarray() if len(columns) else np.zeros((part.shape[0], 1), dtype=X.dtype)
    return dense.reshape(*rows.shape, -1)


def _check_narrows(kernel: Kernel) -> None:
    """Refuse a kernel that may say something else of sparse samples without the columns that none of them fills."""
    zero = np.zeros((1, 1))
    if kernel.of_products(Products(zero, zero, zero, zero)) is None and not isinstance(kernel, Laplacian | Chi2):
        msg = (
            f'solver="local" cannot compute the kernel {kernel} of sparse samples, since it is not a function of their '
            'inner products: make them dense with X.toarray(), leave the kernel out, or use solver="dense".'
        )
        raise InvalidInputError(msg)


def _inner_about(A: Matrix, origin: Vector) -> Matrix:
    A = A - origin
    return np.asarray(A @ A.transpose(0, 2, 1))


def _diagonals(M: Matrix) -> Matrix:
    return np.asarray(np.einsum("bii->bi", M))


def _squares(A: Matrix) -> Matrix:
    return np.asarray(np.einsum("...d,...d->...", A, A))


def _sqdist(inner: Matrix, x: Matrix, y: Matrix, A: Matrix) -> Matrix:
    """|x|² + |y|² - 2x'y, and 0 where it is no more than rounding: copies of a sample are at distance 0."""
    D = x + y
    D -= inner
    D -= inner
    D[2 * (1 + np.sqrt(A.shape[-1])) * np.finfo(A.dtype).eps * x >= D] = 0
    return D
