"""Kernels of the inner product: linear, polynomial, cosine; any kernel as a cosine."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from kernelweave._types import Matrix, Samples, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.base import Kernel, as_operand, is_count, need_kernel
from kernelweave.kernels.pair import HasProducts, Pair, row_sqnorms, with_itself
from kernelweave.samples.numbers import as_samples

__all__ = ["Cosine", "CosineNormalized", "Linear", "Polynomial", "inverse_roots"]

_SHARED = 2**21  # cosines of this many pairs at the most are kept for the next kernel: those of blocks and tiles


@dataclass(frozen=True, slots=True)
class Linear(Kernel):
    r"""The inner product, :math:`k(x, y) = x^\top y`."""

    degree: ClassVar[int] = 1  # as a polynomial
    offset: ClassVar[float] = 0.0

    def of_products(self, products: HasProducts) -> Matrix:
        """Return the inner products."""
        return products.inner.copy()

    def diag(self, X: Samples) -> Vector:
        """Return the squared lengths."""
        return row_sqnorms(as_samples(X))


@dataclass(frozen=True, slots=True)
class Polynomial(Kernel):
    r"""Polynomial kernel, :math:`k(x, y) = (a + x^\top y)^b`.

    Parameters
    ----------
    degree : int, default=2
        The paper's b, at least 1.
    offset : float, default=0
        The paper's a, not negative.
    """

    degree: int = 2
    offset: float = 0.0

    def __post_init__(self) -> None:
        if not is_count(self.degree):
            msg = f"The degree of a polynomial kernel must be a whole number of at least 1; got {self.degree}."
            raise InvalidInputError(msg)
        if not (isinstance(self.offset, Real) and 0 <= self.offset < np.inf):
            msg = f"The offset of a polynomial kernel must be finite and not negative; got {self.offset}."
            raise InvalidInputError(msg)

    def of_products(self, products: HasProducts) -> Matrix:
        """Raise the shifted inner products to the degree."""
        return _power(products.inner + products.inner.dtype.type(self.offset), int(self.degree))

    def diag(self, X: Samples) -> Vector:
        """Raise the shifted squared lengths to the degree."""
        with np.errstate(over="ignore"):  # who uses a diagonal refuses what is not finite
            return np.asarray((row_sqnorms(as_samples(X)) + float(self.offset)) ** int(self.degree))


@dataclass(frozen=True, slots=True)
class Cosine(Kernel):
    r"""The cosine of the angle, :math:`k(x, y) = x^\top y / (\|x\| \|y\|)`; 0 for a zero sample."""

    def of_products(self, products: HasProducts) -> Matrix:
        """Return the cosines."""
        return _shifted_cosines(products, 0.0).copy()

    def diag(self, X: Samples) -> Vector:
        """Return one per sample, zero for a zero sample."""
        X = as_samples(X)
        return np.asarray(row_sqnorms(X) > 0, dtype=X.dtype)


@dataclass(frozen=True, slots=True)
class CosineNormalized(Kernel):
    r"""A kernel with ones on its diagonal, :math:`k(x, y) / \sqrt{k(x, x)\, k(y, y)}`.

    A sample with :math:`k(x, x) = 0` is similar to nothing: its values are 0.
    """

    kernel: Kernel

    def __post_init__(self) -> None:
        need_kernel(self.kernel, "CosineNormalized")

    def evaluate(self, pair: Pair) -> Matrix:
        """Divide by the roots of both diagonals."""
        K = self.of_products(pair)
        if K is None:
            x = inverse_roots(self._checked_diag(pair.X))
            y = x if pair.same else inverse_roots(self._checked_diag(pair.Y))
            K = self.kernel.evaluate(pair)
            K *= x[:, None]
            K *= y
        return K

    def of_products(self, products: HasProducts) -> Matrix | None:
        """Divide by the roots of both diagonals."""
        if isinstance(self.kernel, Linear | Polynomial):
            return _power(_shifted_cosines(products, float(self.kernel.offset)).copy(), int(self.kernel.degree))
        x = self.kernel.of_products(with_itself(products.x))
        y = self.kernel.of_products(with_itself(products.y))
        if (
            x is None or y is None or min(x.min(initial=0), y.min(initial=0)) < 0
        ):  # `evaluate` names the sample that is negative
            return None
        K = self.kernel.of_products(products)
        if K is None:
            return None
        K *= inverse_roots(x)
        K *= inverse_roots(y)
        return K

    def diag(self, X: Samples) -> Vector:
        """Return one per sample, zero where the kernel vanishes."""
        d = self._checked_diag(X)
        return np.asarray(d > 0, dtype=d.dtype)

    def _checked_diag(self, X: Samples) -> Vector:
        d = self.kernel.diag(X)
        if (d < 0).any():
            i = int(d.argmin())
            msg = f"{self.kernel} is not a kernel: k(x, x) = {d[i]:g} < 0 at sample {i}, so it has no cosine form."
            raise InvalidInputError(msg)
        return d

    def __str__(self) -> str:
        return as_operand(self.kernel)


def _shifted_cosines(products: HasProducts, a: float) -> Matrix:
    """Return (a + x'y) / √((a + |x|²)(a + |y|²)), which kernels of several degrees share; 0 for a zero sample."""
    K = products.cosines.get(a)
    if K is None:
        offset = products.inner.dtype.type(a)
        K = products.inner + offset
        for lengths in (products.x, products.y):
            K *= inverse_roots(lengths + offset) + 0 * lengths  # 0 · inf is NaN, which a bank refuses
        if K.size <= _SHARED:
            products.cosines[a] = K
    return K


def _power(K: Matrix, degree: int) -> Matrix:
    """Raise K to a power, in place."""
    while degree % 2 == 0:  # numpy squares much faster than it raises to a power
        K *= K
        degree //= 2
    return K if degree == 1 else np.power(K, degree, out=K)


def inverse_roots(d: Vector) -> Vector:
    """Return 1/sqrt(d), and 0 where d is 0, so that a zero sample gets similarity 0 instead of NaN."""
    return np.divide(1, np.sqrt(d), out=np.zeros_like(d), where=d > 0)
