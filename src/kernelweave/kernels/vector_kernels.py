"""Kernels of vectors: of their inner products (linear, polynomial, cosine) and distances (Gaussian, Laplacian, Chi2).

Bandwidths are relative to the data: to the largest distance, or to that of a neighbour. Any kernel becomes a cosine.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy import sparse

from kernelweave._plural import counted
from kernelweave._types import Matrix, Samples, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.base import (
    HasProducts,
    Kernel,
    Pair,
    as_operand,
    inverse_roots,
    is_count,
    is_positive,
    need_kernel,
    ones_like_rows,
    row_sqnorms,
    with_itself,
)
from kernelweave.kernels.pairwise import need_counts
from kernelweave.samples.numbers import as_samples, as_writable, equal_samples

__all__ = ["Chi2", "Cosine", "CosineNormalized", "Gaussian", "Laplacian", "Linear", "Polynomial", "SelfTuning"]

_ROUNDED = 4  # spacings of numbers by which equal samples may differ after scaling
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

    Parameters
    ----------
    kernel : Kernel
        The kernel to normalise.
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
        if x is None or y is None or min(x.min(initial=0), y.min(initial=0)) < 0:
            return None  # `evaluate` names the sample that is negative
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


@dataclass(frozen=True, slots=True)
class _OfDiameter(Kernel):
    """A kernel whose bandwidth is `t` times the largest distance between two training samples."""

    t: float = 1.0
    diameter: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        given = {"t": self.t} if self.diameter is None else {"t": self.t, "diameter": self.diameter}
        for name, value in given.items():
            if not is_positive(value):
                msg = f"{type(self).__name__} needs a positive, finite {name}; got {value}."
                raise InvalidInputError(msg)

    @abstractmethod
    def largest(self, pair: Pair) -> float:
        """Return the largest distance between two samples."""

    def fix(self, pair: Pair) -> Kernel:
        """Take the diameter from the training samples, unless it was given."""
        if self.diameter is not None:
            return self
        if type(self) not in pair.diameters:  # which kernels of several widths share
            pair.diameters[type(self)] = self.largest(pair)
        diameter = pair.diameters[type(self)]
        if not np.isfinite(diameter):
            msg = (
                f"The distances of samples for {type(self).__name__} are larger than any number of {pair.dtype}: scale "
                "the samples."
            )
            raise InvalidInputError(msg)
        if diameter == 0:
            msg = (
                f"All {pair.X.shape[0]} samples are identical, so {type(self).__name__} has no scale to measure "
                "distances by. Check that the right columns were read, or give the kernel a diameter."
            )
            raise InvalidInputError(msg)
        return replace(self, diameter=diameter)

    def diag(self, X: Samples) -> Vector:
        """Return one per sample."""
        return ones_like_rows(X)

    def width(self) -> float:
        """Return the bandwidth, or refuse a kernel that was not fitted."""
        if self.diameter is None:
            msg = f"{self} has no scale yet: call kernel.fit(X) on the training samples, or give it a diameter."
            raise InvalidInputError(msg)
        return self.t * self.diameter


@dataclass(frozen=True, slots=True)
class Gaussian(_OfDiameter):
    r"""Gaussian kernel whose bandwidth is relative to the diameter of the data.

    .. math:: k(x, y) = \exp(-\|x - y\|^2 / (2 t^2 d_{\max}^2))

    Parameters
    ----------
    t : float, default=1
        The bandwidth in diameters.
    diameter : float, optional
        The largest distance between two training samples; `fit` takes it from the data if it is not given.

    Notes
    -----
    The paper prints :math:`\exp(-\|x-y\|^2/(t d_{\max}^2))`; its released program, which made its figures,
    computes the formula above. The printed kernel with t is this one with :math:`\sqrt{t/2}`.
    """

    def largest(self, pair: Pair) -> float:
        """Return the largest Euclidean distance, 0 if samples differ by rounding only."""
        diameter = float(np.sqrt(pair.sqdist.max()))
        length = float(np.sqrt(pair.x.max()))  # rows of one direction differ by rounding once they have unit length
        return 0.0 if diameter <= _ROUNDED * np.finfo(pair.dtype).eps * length < np.inf else diameter

    def of_products(self, products: HasProducts) -> Matrix:
        """Return the Gaussian of the distances."""
        width = self.width()
        K = products.sqdist * products.sqdist.dtype.type(-0.5 / (width * width))  # not width ** 2, which may raise
        return np.exp(K, out=K)


@dataclass(frozen=True, slots=True)
class _Decaying(_OfDiameter):
    r"""A kernel that decays with a distance, :math:`\exp(-d(x, y) / (t\, d_{\max}))`."""

    @abstractmethod
    def distances(self, pair: Pair) -> Matrix:
        """Return the distances of two sets of samples, as a new array."""

    def largest(self, pair: Pair) -> float:
        """Return the largest distance."""
        return float(self.distances(pair).max())

    def evaluate(self, pair: Pair) -> Matrix:
        """Return the decay with distance."""
        D = self.distances(pair)
        D *= D.dtype.type(-1 / self.width())
        return np.exp(D, out=D)


@dataclass(frozen=True, slots=True)
class Laplacian(_Decaying):
    r"""Laplacian kernel, :math:`k(x, y) = \exp(-\|x - y\|_1 / (t\, d_{\max}))`, with the city-block diameter.

    Parameters
    ----------
    t : float, default=1
        The bandwidth in diameters.
    diameter : float, optional
        The largest city-block distance between two training samples; `fit` takes it from the data.
    """

    def distances(self, pair: Pair) -> Matrix:
        """Return city-block distances."""
        from sklearn.metrics.pairwise import manhattan_distances

        return np.asarray(manhattan_distances(pair.X, pair.Y), dtype=pair.dtype)


@dataclass(frozen=True, slots=True)
class Chi2(_Decaying):
    r"""Exponential chi-squared kernel for histograms and counts.

    .. math:: k(x, y) = \exp(-\chi^2(x, y) / (t\, d_{\max})), \quad
              \chi^2(x, y) = \sum_j (x_j - y_j)^2 / (x_j + y_j)

    Parameters
    ----------
    t : float, default=1
        The bandwidth in diameters.
    diameter : float, optional
        The largest chi-squared distance between two training samples; `fit` takes it from the data.
    """

    def distances(self, pair: Pair) -> Matrix:
        """Return chi-squared distances."""
        from sklearn.metrics.pairwise import additive_chi2_kernel

        for X in (pair.X, pair.Y):
            if sparse.issparse(X):
                msg = "Chi2 takes dense samples; got a sparse matrix. Pass X.toarray() if it fits, or use Cosine."
                raise InvalidInputError(msg)
        need_counts("Chi2", pair.X, pair.Y)
        return np.asarray(-additive_chi2_kernel(as_writable(pair.X), as_writable(pair.Y)))


@dataclass(frozen=True, slots=True)
class SelfTuning(Kernel):
    r"""Gaussian kernel with a scale of its own for every sample (Zelnik-Manor and Perona, 2004).

    .. math:: k(x, y) = \exp(-\|x - y\|^2 / (\sigma_x \sigma_y))

    where :math:`\sigma_x` is the distance from x to its k-th nearest training sample other than itself.

    Parameters
    ----------
    n_neighbors : int, default=7
        Which neighbour sets the scale.
    training, scales : optional
        The training samples, and the scale of each; `fit` sets them.
    """

    n_neighbors: int = 7
    training: Samples | None = field(default=None, repr=False, compare=False)
    scales: Vector | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not is_count(self.n_neighbors):
            msg = f"SelfTuning needs a whole number of neighbours, at least 1; got {self.n_neighbors}."
            raise InvalidInputError(msg)

    def fix(self, pair: Pair) -> Kernel:
        """Keep the training samples, in which neighbours are looked for, and their scales."""
        if pair.X.shape[0] <= self.n_neighbors:
            msg = (
                f"SelfTuning looks for {counted(int(self.n_neighbors), 'neighbour')} of each sample, but there "
                f"{'is' if pair.X.shape[0] == 1 else 'are'} only {counted(pair.X.shape[0], 'sample')}. "
                f"{'Lower n_neighbors' if pair.X.shape[0] > 1 else 'Pass more samples'}."
            )
            raise InvalidInputError(msg)
        return replace(self, training=pair.X, scales=self._distances_to_neighbour(pair))

    def evaluate(self, pair: Pair) -> Matrix:
        """Return the Gaussian of the distances in units of both samples' scales."""
        x = self._scales(pair.X)
        y = x if pair.same else self._scales(pair.Y)
        tiny = np.finfo(x.dtype).tiny
        K = np.outer(x, y)
        np.maximum(K, tiny, out=K)  # a sample with k exact copies has scale 0: it is similar to its copies only
        with np.errstate(over="ignore"):
            np.divide(pair.sqdist, -K, out=K)
        return np.exp(K, out=K)

    def diag(self, X: Samples) -> Vector:
        """Return one per sample."""
        return ones_like_rows(X)

    def _scales(self, X: Samples) -> Vector:
        if self.training is None or self.scales is None:
            msg = f"{self} has no training samples to take scales from: call kernel.fit(X) first."
            raise InvalidInputError(msg)
        if equal_samples(X, self.training):  # by content: a copy of the kernel holds a copy of the samples
            return self.scales
        return self._distances_to_neighbour(Pair(X, self.training))

    def _distances_to_neighbour(self, pair: Pair) -> Vector:
        k = int(self.n_neighbors)
        D = np.partition(pair.sqdist, (0, k - 1, k), axis=1)
        itself = D[:, 0] == 0  # a copy of the sample among the training samples is not its neighbour
        return np.asarray(np.sqrt(np.where(itself, D[:, k], D[:, k - 1])))
