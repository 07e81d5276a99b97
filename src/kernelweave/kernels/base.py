"""What a kernel is, the pairs of samples that it compares, and the algebra of kernels: sums, products, multiples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property, reduce
from numbers import Real
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from kernelweave._plural import counted
from kernelweave._types import Matrix, Samples, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.samples.numbers import as_samples

__all__ = [
    "HasProducts",
    "Kernel",
    "Pair",
    "Product",
    "Products",
    "Scaled",
    "Sum",
    "inverse_roots",
    "read_pair",
    "row_sqnorms",
    "with_itself",
]


@np.errstate(over="ignore", invalid="ignore")  # `KernelBank` refuses kernels that are not finite
def row_sqnorms(X: Samples) -> Vector:
    """Return the squared length of every row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def inverse_roots(d: Vector) -> Vector:
    """Return 1/sqrt(d), and 0 where d is 0, so that a zero sample gets similarity 0 instead of NaN."""
    return np.divide(1, np.sqrt(d), out=np.zeros_like(d), where=d > 0)


class HasProducts(Protocol):
    """What most kernels read of pairs of samples, in arrays of one shape or that broadcast to one."""

    @property
    def inner(self) -> Matrix:
        """The inner products x'y."""

    @property
    def sqdist(self) -> Matrix:
        """The squared distances |x - y|²."""

    @property
    def x(self) -> Matrix:
        """The squared lengths |x|²."""

    @property
    def y(self) -> Matrix:
        """The squared lengths |y|²."""

    @property
    def cosines(self) -> dict[float, Matrix]:
        """The cosines that kernels have computed, by the offset."""


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """The products of some pairs of samples, for callers that have computed them already."""

    inner: Matrix  # x'y
    sqdist: Matrix  # |x - y|²
    x: Matrix  # |x|²
    y: Matrix  # |y|²
    cosines: dict[float, Matrix] = field(default_factory=dict)


def with_itself(sqnorms: Matrix) -> Products:
    """Return the products of every sample with itself, from the squared lengths."""
    return Products(sqnorms, np.zeros_like(sqnorms), sqnorms, sqnorms)


class Pair:
    """Samples X against samples Y (X itself by default), with shared products computed on demand.

    Several kernels read the products, so they are read-only.

    Parameters
    ----------
    X, Y : arrays or CSR arrays of shape (n, d) and (m, d)
        Floating-point samples. They are not checked: `read_pair` does that for what a user passes.
    """

    _tile_of: tuple[Pair, slice, slice]  # of a tile only: the whole pair, and the rows and columns of the tile

    def __init__(self, X: Samples, Y: Samples | None = None) -> None:
        self.X = X
        self.Y = X if Y is None else Y
        self.same = self.Y is X
        self.shape: tuple[int, int] = (self.X.shape[0], self.Y.shape[0])
        self.dtype: np.dtype[Any] = np.result_type(self.X.dtype, self.Y.dtype)  # float32 only if all samples are
        self.x: Matrix = row_sqnorms(self.X)[:, None]  # the squared lengths of the rows of X, as a column
        self.y: Matrix = self.x.T if self.same else row_sqnorms(self.Y)[None, :]
        self.cosines: dict[float, Matrix] = {}
        self.diameters: dict[type, float] = {}  # the largest distances that kernels have computed, by their class

    def tile(self, rows: slice, cols: slice, dtype: DTypeLike | None = None) -> Pair:
        """Return some rows of X against some rows of Y, whose products are slices of those of the whole pair.

        Parameters
        ----------
        rows, cols : slice
            The rows of X, and those of Y.
        dtype : dtype, optional
            The precision of the tile, by default that of the pair.
        """
        tile = object.__new__(Pair)
        tile._tile_of = self, rows, cols
        tile.same = self.same and rows == cols
        tile.shape = (len(range(self.shape[0])[rows]), len(range(self.shape[1])[cols]))
        tile.dtype = np.dtype(dtype or self.dtype)
        with np.errstate(over="ignore"):  # kernels of what overflows are not finite, and refused by name
            tile.x, tile.y = (part.astype(tile.dtype, copy=False) for part in (self.x[rows], self.y[:, cols]))
        tile.cosines, tile.diameters = {}, {}
        return tile

    @cached_property
    def X(self) -> Samples:
        """The rows of a tile; most kernels read the products alone."""
        whole, rows, _ = self._tile_of
        return whole.X[rows].astype(self.dtype, copy=False)

    @cached_property
    def Y(self) -> Samples:
        """The samples that the rows of a tile are compared with."""
        whole, _, cols = self._tile_of
        return self.X if self.same else whole.Y[cols].astype(self.dtype, copy=False)

    @cached_property
    @np.errstate(over="ignore", invalid="ignore")
    def inner(self) -> Matrix:
        """The inner products x'y."""
        if hasattr(self, "_tile_of"):
            whole, rows, cols = self._tile_of
            return whole.inner[rows, cols].astype(self.dtype, copy=False)
        found = self.X @ self.Y.T
        found = np.asarray(found.toarray() if sparse.issparse(found) else found)
        found.setflags(write=False)
        return found

    @cached_property
    @np.errstate(over="ignore", invalid="ignore")
    def sqdist(self) -> Matrix:
        """The squared Euclidean distances x'x + y'y - 2x'y; exactly zero between copies of a sample."""
        if hasattr(self, "_tile_of"):
            whole, rows, cols = self._tile_of
            return whole.sqdist[rows, cols].astype(self.dtype, copy=False)
        near, X = self, self.X
        if not (sparse.issparse(X) or sparse.issparse(self.Y)):
            mean = self.Y.mean(axis=0)
            if mean @ mean > 0.999 * self.y.mean():  # so far from 0 that the distances would cancel
                near = Pair(X - mean, None if self.same else self.Y - mean)
        D = near.x + near.y  # first, so that D is exactly symmetric
        D -= near.inner
        D -= near.inner
        # two sums of the same squares, added in different orders, may differ by this share of |x|²
        terms = np.diff(X.indptr).max(initial=0) if sparse.issparse(X) else X.shape[1]
        least = 2 * (1 + np.sqrt(terms)) * np.finfo(X.dtype).eps * near.x
        if self.same:
            np.fill_diagonal(D, np.inf)
        near_0 = np.flatnonzero(D.min(axis=1, initial=np.inf) <= least[:, 0])  # few; a mask of all pairs takes long
        D[near_0] = np.where(least[near_0] >= D[near_0], 0, D[near_0])
        if self.same:
            np.fill_diagonal(D, 0)
        D.setflags(write=False)
        return D


def read_pair(X: Samples, Y: Samples | None = None) -> Pair:
    """Return what a user passes as samples as a pair of floating-point tables of the same width."""
    pair = Pair(as_samples(X), None if Y is None or Y is X else as_samples(Y))
    if pair.X.shape[1] != pair.Y.shape[1]:
        msg = (
            f"X has {counted(pair.X.shape[1], 'feature')} but Y has {pair.Y.shape[1]}: "
            "a kernel compares samples of one feature space."
        )
        raise InvalidInputError(msg)
    return pair


class Kernel(ABC):
    """A frozen similarity function of two samples.

    A new kernel writes `diag` and one of two methods: `of_products` if it needs only inner products, distances and
    lengths of the samples, which a bank computes once for all kernels, or else `evaluate`. A kernel whose constants
    depend on the data (a bandwidth relative to the diameter, say) also writes `fix`, which returns a copy with those
    constants set, so that new samples are measured on the scale of the training samples.
    """

    __slots__ = ()

    def evaluate(self, pair: Pair) -> Matrix:
        """Return the kernel of every row of `pair.X` with every row of `pair.Y`, in a new array."""
        K = self.of_products(pair)
        if K is None:
            msg = f"{type(self).__name__} must define evaluate(pair) or of_products(products)."
            raise NotImplementedError(msg)
        return K

    @abstractmethod
    def diag(self, X: Samples) -> Vector:
        """Return the kernel of every sample with itself."""

    def of_products(self, products: HasProducts) -> Matrix | None:
        """Return k(x, y) of pairs of samples from their products, in a new array; None if it needs the samples."""
        return None

    def fix(self, pair: Pair) -> Kernel:
        """Return this kernel with the constants that depend on the training samples `pair.X` set.

        The kernels that a kernel is made of (fields of a dataclass that hold a kernel or several) are fixed.
        """
        names: list[str] = [f.name for f in fields(self)] if is_dataclass(self) else []
        changed: dict[str, Any] = {}
        for name in names:
            part = fixed = getattr(self, name)
            if isinstance(part, Kernel):
                fixed = part.fix(pair)
            elif isinstance(part, tuple) and all(isinstance(one, Kernel) for one in part):
                fixed = tuple(one.fix(pair) for one in part)
            if fixed is not part:
                changed[name] = fixed
        return replace(self, **changed) if changed else self  # type: ignore[type-var]

    def fit(self, X: Samples) -> Kernel:
        """Return this kernel fixed on the training samples X; the kernel itself does not change."""
        return self.fix(read_pair(X))

    def gram(self, X: Samples, Y: Samples | None = None) -> Matrix:
        """Return the (n, m) kernel matrix of X with Y, or of X with itself."""
        return self.evaluate(read_pair(X, Y))

    def __add__(self, other: object) -> Kernel:
        return Sum((self, other)) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: object) -> Kernel:
        if isinstance(other, Kernel):
            return Product((self, other))
        return Scaled(self, float(other)) if isinstance(other, Real) else NotImplemented

    __rmul__ = __mul__

    def __str__(self) -> str:
        """Return the short name that weights and plots show: the class and what was set on it."""
        names: list[str] = [f.name for f in fields(self) if f.repr] if is_dataclass(self) else []
        shown = [f"{name}={getattr(self, name):g}" for name in names if isinstance(getattr(self, name), Real)]
        name = type(self).__name__.lower()
        return f"{name}({', '.join(shown)})" if shown else name


def need_kernel(kernel: object, what: str) -> None:
    """Refuse what is not a kernel."""
    if not isinstance(kernel, Kernel):
        msg = f"{what} takes a kernel; got {kernel!r}. Wrap a name or a function of two samples in Pairwise(...)."
        raise InvalidInputError(msg)


def is_positive(value: object) -> bool:
    """Tell whether a parameter is a positive, finite number."""
    return isinstance(value, Real) and 0 < float(value) < np.inf


def is_count(value: object) -> bool:
    """Tell whether a parameter is a whole number of at least 1."""
    return is_positive(value) and float(value).is_integer()  # type: ignore[arg-type]


def as_operand(kernel: Kernel) -> str:
    """Return the name of a kernel as part of a product: a sum goes in parentheses."""
    return f"({kernel})" if isinstance(kernel, Sum) else str(kernel)


@dataclass(frozen=True, slots=True)
class _Combined(Kernel):
    """Kernels that are combined entry by entry."""

    kernels: tuple[Kernel, ...]

    _operation: ClassVar[np.ufunc]

    def __post_init__(self) -> None:
        if not (isinstance(self.kernels, tuple) and self.kernels and all(isinstance(k, Kernel) for k in self.kernels)):
            msg = f"A {type(self).__name__.lower()} takes a tuple of one or more kernels; got {self.kernels!r}."
            raise InvalidInputError(msg)

    def evaluate(self, pair: Pair) -> Matrix:
        """Combine the kernels."""
        K = self.kernels[0].evaluate(pair)
        for kernel in self.kernels[1:]:
            self._operation(K, kernel.evaluate(pair), out=K)
        return K

    def diag(self, X: Samples) -> Vector:
        """Combine the diagonals."""
        return np.asarray(reduce(self._operation, (k.diag(X) for k in self.kernels)))

    def of_products(self, products: HasProducts) -> Matrix | None:
        """Combine the kernels; None if one of them needs the samples."""
        total: Matrix | None = None
        for kernel in self.kernels:
            K = kernel.of_products(products)
            if K is None:
                return None
            total = K if total is None else np.asarray(self._operation(total, K))
        return total


@dataclass(frozen=True, slots=True)
class Sum(_Combined):
    """The sum of kernels, `k1 + k2`.

    Parameters
    ----------
    kernels : tuple of Kernel
        The kernels to add up, at least one.
    """

    _operation = np.add

    def __str__(self) -> str:
        return " + ".join(map(str, self.kernels))


@dataclass(frozen=True, slots=True)
class Product(_Combined):
    """The elementwise product of kernels, `k1 * k2`.

    Parameters
    ----------
    kernels : tuple of Kernel
        The kernels to multiply, at least one.
    """

    _operation = np.multiply

    def __str__(self) -> str:
        return " * ".join(map(as_operand, self.kernels))


@dataclass(frozen=True, slots=True)
class Scaled(Kernel):
    """A positive multiple of a kernel, `2 * k`.

    Parameters
    ----------
    kernel : Kernel
        The kernel to multiply.
    factor : float
        The multiple.
    """

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        need_kernel(self.kernel, "Scaled")
        if not is_positive(self.factor):
            msg = f"A kernel can be multiplied by a positive number only (else it is not a kernel); got {self.factor}."
            raise InvalidInputError(msg)

    def evaluate(self, pair: Pair) -> Matrix:
        """Multiply the kernel by the factor."""
        K = self.kernel.evaluate(pair)
        K *= self.factor
        return K

    def diag(self, X: Samples) -> Vector:
        """Multiply the diagonal by the factor."""
        return np.asarray(self.kernel.diag(X) * float(self.factor))

    def of_products(self, products: HasProducts) -> Matrix | None:
        """Multiply the kernel by the factor."""
        K = self.kernel.of_products(products)
        return None if K is None else K * K.dtype.type(self.factor)

    def __str__(self) -> str:
        return f"{self.factor:g} * {as_operand(self.kernel)}"


def ones_like_rows(X: Samples) -> Vector:
    """Return a one per sample, in the samples' precision: the diagonal of every kernel k(x, x) = 1."""
    X = as_samples(X)
    return np.ones(X.shape[0], dtype=X.dtype)
