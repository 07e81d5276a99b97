"""What a kernel is, and the algebra of kernels: sums, products, multiples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import reduce
from numbers import Real
from typing import Any

import numpy as np

from kernelweave._types import Matrix, Samples, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.pair import HasProducts, Pair, read_pair
from kernelweave.samples.numbers import as_samples

__all__ = ["Kernel", "Product", "Scaled", "Sum"]


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


def _need_kernels(kernels: tuple[Kernel, ...], what: str) -> None:
    if not (isinstance(kernels, tuple) and kernels and all(isinstance(k, Kernel) for k in kernels)):
        msg = f"A {what} takes a tuple of one or more kernels; got {kernels!r}."
        raise InvalidInputError(msg)


def _reduced(operation: np.ufunc, kernels: tuple[Kernel, ...], products: HasProducts) -> Matrix | None:
    """Return the sum or product of kernels, or None if one of them needs the samples."""
    total: Matrix | None = None
    for kernel in kernels:
        K = kernel.of_products(products)
        if K is None:
            return None
        total = K if total is None else np.asarray(operation(total, K))
    return total


@dataclass(frozen=True, slots=True)
class Sum(Kernel):
    """The sum of kernels, `k1 + k2`."""

    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        _need_kernels(self.kernels, "sum")

    def evaluate(self, pair: Pair) -> Matrix:
        """Add the kernels up."""
        K = self.kernels[0].evaluate(pair)
        for kernel in self.kernels[1:]:
            K += kernel.evaluate(pair)
        return K

    def diag(self, X: Samples) -> Vector:
        """Add the diagonals up."""
        return np.asarray(reduce(np.add, (k.diag(X) for k in self.kernels)))

    def of_products(self, products: HasProducts) -> Matrix | None:
        """Add the kernels up."""
        return _reduced(np.add, self.kernels, products)

    def __str__(self) -> str:
        return " + ".join(map(str, self.kernels))


@dataclass(frozen=True, slots=True)
class Product(Kernel):
    """The elementwise product of kernels, `k1 * k2`."""

    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        _need_kernels(self.kernels, "product")

    def evaluate(self, pair: Pair) -> Matrix:
        """Multiply the kernels elementwise."""
        K = self.kernels[0].evaluate(pair)
        for kernel in self.kernels[1:]:
            K *= kernel.evaluate(pair)
        return K

    def diag(self, X: Samples) -> Vector:
        """Multiply the diagonals."""
        return np.asarray(reduce(np.multiply, (k.diag(X) for k in self.kernels)))

    def of_products(self, products: HasProducts) -> Matrix | None:
        """Multiply the kernels elementwise."""
        return _reduced(np.multiply, self.kernels, products)

    def __str__(self) -> str:
        return " * ".join(map(as_operand, self.kernels))


@dataclass(frozen=True, slots=True)
class Scaled(Kernel):
    """A positive multiple of a kernel, `2 * k`."""

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
