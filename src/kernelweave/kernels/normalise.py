"""Kernels put on a common scale, for new samples too: centring, trace, maximum, diameter."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace

import numpy as np

from kernelweave._types import Matrix, Samples, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.base import HasProducts, Kernel, Pair, as_operand, need_kernel
from kernelweave.samples.numbers import as_samples, equal_samples

__all__ = ["Centered", "DiameterNormalized", "MaxNormalized", "TraceNormalized"]


@dataclass(frozen=True, slots=True)
class Centered(Kernel):
    r"""A kernel whose features have mean zero over the training samples :math:`x_1, \ldots, x_n`.

    .. math:: k(x, y) - \tfrac{1}{n}\sum_j k(x, x_j) - \tfrac{1}{n}\sum_j k(x_j, y)
              + \tfrac{1}{n^2}\sum_{ij} k(x_i, x_j)

    Parameters
    ----------
    kernel : Kernel
        The kernel to centre.
    training, means : optional
        The training samples, and the mean of the kernel of each of them with all; `fit` sets them.
    """

    kernel: Kernel
    training: Samples | None = field(default=None, repr=False, compare=False)
    means: Vector | None = field(default=None, repr=False, compare=False)  # of every training sample with all

    def __post_init__(self) -> None:
        need_kernel(self.kernel, "Centered")

    def fix(self, pair: Pair) -> Kernel:
        """Keep the training samples, whose mean is the origin."""
        kernel = self.kernel.fix(pair)
        return Centered(kernel, pair.X, kernel.evaluate(pair).mean(axis=1))

    def evaluate(self, pair: Pair) -> Matrix:
        """Take away the means."""
        x, mean = self._means(pair.X)
        y = x if pair.same else self._means(pair.Y)[0]
        K = self.kernel.evaluate(pair)
        K -= x[:, None]
        K -= y
        K += mean
        return K

    def diag(self, X: Samples) -> Vector:
        """Return the squared distance of every sample to the mean."""
        X = as_samples(X)
        x, mean = self._means(X)
        k = self.kernel.diag(X)
        d = k - 2 * x + mean
        # a sample at the mean has distance zero only up to rounding, which cosine normalisation would amplify
        d[np.abs(d) <= 16 * np.finfo(d.dtype).eps * (np.abs(k) + 2 * np.abs(x) + abs(mean))] = 0
        return np.asarray(d)

    def _means(self, X: Samples) -> tuple[Vector, float]:
        if self.training is None or self.means is None:
            msg = f"{self} has no origin yet: call kernel.fit(X) on the training samples first."
            raise InvalidInputError(msg)
        known = equal_samples(X, self.training)  # by content: a copy of the kernel holds a copy of the samples
        means = self.means if known else self.kernel.evaluate(Pair(X, self.training)).mean(axis=1)
        return means, float(self.means.mean())

    def __str__(self) -> str:
        return f"centered({self.kernel})"


@dataclass(frozen=True, slots=True)
class _Rescaled(Kernel):
    """A kernel times one factor that the training samples fix."""

    kernel: Kernel
    factor: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        need_kernel(self.kernel, type(self).__name__)

    @abstractmethod
    def measure(self, kernel: Kernel, pair: Pair) -> float:
        """Return the size by which the kernel is divided."""

    def fix(self, pair: Pair) -> Kernel:
        """Set the factor from the training samples."""
        kernel = self.kernel.fix(pair)
        size = self.measure(kernel, pair)
        if not (np.isfinite(size) and size > 0):
            msg = f"{type(self).__name__} divides by the size of {kernel}, which is {size:g} on these samples."
            raise InvalidInputError(msg)
        return replace(self, kernel=kernel, factor=1 / size)

    def evaluate(self, pair: Pair) -> Matrix:
        """Multiply by the factor."""
        K = self.kernel.evaluate(pair)
        K *= self._fixed_factor()
        return K

    def of_products(self, products: HasProducts) -> Matrix | None:
        """Multiply by the factor."""
        K = self.kernel.of_products(products)
        return None if K is None else K * K.dtype.type(self._fixed_factor())

    def diag(self, X: Samples) -> Vector:
        """Multiply by the factor."""
        return np.asarray(self.kernel.diag(X) * self._fixed_factor())

    def _fixed_factor(self) -> float:
        if self.factor is None:
            msg = f"{self} has no scale yet: call kernel.fit(X) on the training samples first."
            raise InvalidInputError(msg)
        return self.factor

    def __str__(self) -> str:
        return as_operand(self.kernel)


@dataclass(frozen=True, slots=True)
class TraceNormalized(_Rescaled):
    """A kernel divided by its mean diagonal, so that its trace over the n training samples is n.

    Parameters
    ----------
    kernel : Kernel
        The kernel to divide.
    factor : float, optional
        What the kernel is multiplied by; `fit` takes it from the training samples.
    """

    def measure(self, kernel: Kernel, pair: Pair) -> float:
        """Return the mean diagonal."""
        return float(kernel.diag(pair.X).mean())


@dataclass(frozen=True, slots=True)
class MaxNormalized(_Rescaled):
    """A kernel divided by its largest absolute value over the training samples.

    Parameters
    ----------
    kernel : Kernel
        The kernel to divide.
    factor : float, optional
        What the kernel is multiplied by; `fit` takes it from the training samples.
    """

    def measure(self, kernel: Kernel, pair: Pair) -> float:
        """Return the largest absolute value."""
        return float(np.abs(kernel.evaluate(pair)).max())


@dataclass(frozen=True, slots=True)
class DiameterNormalized(_Rescaled):
    """A kernel divided by the largest squared distance between two training samples, as the paper prints.

    Parameters
    ----------
    kernel : Kernel
        The kernel to divide.
    factor : float, optional
        What the kernel is multiplied by; `fit` takes it from the training samples.
    """

    def measure(self, kernel: Kernel, pair: Pair) -> float:
        """Return the largest squared distance."""
        return float(pair.sqdist.max())
