"""Kernels of categories, given as columns of 0 and 1: the share of columns in which two samples agree."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from kernelweave._types import Matrix, Samples, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.base import HasProducts, Kernel, Pair, inverse_roots, is_count, row_sqnorms
from kernelweave.samples.numbers import as_samples

__all__ = ["Overlap", "RareOverlap"]


@dataclass(frozen=True, slots=True)
class Overlap(Kernel):
    r"""The share of categorical columns in which two samples agree, to a power.

    .. math:: k(x, y) = \left(\frac{x^\top y}{\|x\|\, \|y\|}\right)^{power}

    where x and y hold a 1 for every category that a sample has. Without missing cells this is the number of columns in
    which they agree divided by the number of columns. A missing cell, given by the shares of the categories, agrees
    with each category as often as a known cell does on average.

    Parameters
    ----------
    power : int, default=1
        A larger one lets samples that differ in few columns be less similar.
    """

    power: int = 1

    def __post_init__(self) -> None:
        _check_power(self)

    def of_products(self, products: HasProducts) -> Matrix:
        """Return the cosines, to the power."""
        K = np.array(products.inner)
        K *= inverse_roots(products.x)
        K *= inverse_roots(products.y)
        return _raised(K, self.power)

    def diag(self, X: Samples) -> Vector:
        """Return one per sample, zero for one without categories."""
        d = row_sqnorms(as_samples(X))
        return np.asarray(d > 0, dtype=d.dtype)


@dataclass(frozen=True, slots=True)
class RareOverlap(Kernel):
    r"""The share of categorical columns in which two samples agree, where rare categories count more, to a power.

    .. math:: k(x, y) = \left(\frac{\sum_c w_c x_c y_c}{\sqrt{\sum_c w_c x_c^2 \sum_c w_c y_c^2}}\right)^{power},
              \quad w_c = -\log p_c

    with the share :math:`p_c` of the training samples that have category c.

    Parameters
    ----------
    power : int, default=1
        A larger one lets samples that differ in few columns be less similar.
    weights : array of shape (n_categories,), optional
        The weights of the categories; `fit` computes them if they are not given.
    """

    power: int = 1
    weights: Vector | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_power(self)

    def fix(self, pair: Pair) -> Kernel:
        """Take the weights from the training samples, unless they were given."""
        if self.weights is not None:
            return self
        smallest = float(pair.X.min())
        if smallest < 0:
            msg = f"RareOverlap compares categories, which are not negative; the smallest value is {smallest:g}."
            raise InvalidInputError(msg)
        has = pair.X.minimum(1) if sparse.issparse(pair.X) else np.minimum(pair.X, 1)
        shares = np.asarray(has.mean(axis=0, dtype=np.float64)).ravel()
        tiny = 1 / (2 * pair.X.shape[0])  # a category that no training sample has counts like half a sample
        return replace(self, weights=-np.log(np.clip(shares, tiny, 1)))

    def evaluate(self, pair: Pair) -> Matrix:
        """Return the weighted cosines, to the power."""
        X = self._weighed(pair.X)
        Y = X if pair.same else self._weighed(pair.Y)
        K = X @ Y.T
        K = np.asarray(K.toarray() if sparse.issparse(K) else K, dtype=pair.dtype)
        x = inverse_roots(row_sqnorms(X))
        y = x if pair.same else inverse_roots(row_sqnorms(Y))
        K *= x[:, None]
        K *= y
        return _raised(K, self.power)

    def diag(self, X: Samples) -> Vector:
        """Return one per sample, zero for one without categories that count."""
        d = row_sqnorms(self._weighed(as_samples(X)))
        return np.asarray(d > 0, dtype=d.dtype)

    def _weighed(self, X: Samples) -> Samples:
        if self.weights is None:
            msg = f"{self} has no weights of categories yet: call kernel.fit(X) on the training samples first."
            raise InvalidInputError(msg)
        roots = np.sqrt(self.weights).astype(X.dtype)
        return sparse.csr_array(X @ sparse.diags_array(roots)) if sparse.issparse(X) else X * roots

    def __str__(self) -> str:
        return "rare overlap" if self.power == 1 else f"rare overlap(power={self.power})"


def _check_power(kernel: Overlap | RareOverlap) -> None:
    if not is_count(kernel.power):
        msg = f"{type(kernel).__name__} needs a whole power of at least 1, else it is not a kernel; got {kernel.power}."
        raise InvalidInputError(msg)


def _raised(K: Matrix, power: int) -> Matrix:
    return K if power == 1 else np.power(K, power, out=K)
