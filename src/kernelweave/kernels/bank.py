"""The bank: an ordered, named set of kernels, fixed once on the training samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from kernelweave._types import Matrix, Samples
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.base import Kernel
from kernelweave.kernels.pair import Pair
from kernelweave.kernels.pairwise import Pairwise

__all__ = ["KernelBank", "as_kernel"]

KernelLike: TypeAlias = Kernel | str | Callable[..., float]


def as_kernel(spec: KernelLike) -> Kernel:
    """Return a kernel from a kernel, the name of a scikit-learn metric, or a function of two samples."""
    return spec if isinstance(spec, Kernel) else Pairwise(spec)


class KernelBank:
    """An ordered, named set of kernels.

    Parameters
    ----------
    kernels : mapping of name to kernel, or sequence of kernels
        A kernel is a `Kernel`, the name of a scikit-learn metric, or a function of two samples. In a sequence
        each kernel is named after itself.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import Gaussian, KernelBank, Linear
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> bank = KernelBank({"near": Gaussian(t=0.1), "far": Gaussian(t=1), "line": Linear()}).fit(X)
    >>> bank.names, bank.grams(X).shape
    (('near', 'far', 'line'), (3, 20, 20))
    """

    def __init__(self, kernels: Mapping[str, KernelLike] | Sequence[KernelLike]) -> None:
        if isinstance(kernels, Mapping):
            named = {str(name): as_kernel(spec) for name, spec in kernels.items()}
        elif isinstance(kernels, Sequence) and not isinstance(kernels, str):
            named = _named([as_kernel(spec) for spec in kernels])
        else:
            msg = f"A KernelBank takes a mapping of names to kernels or a list of kernels; got {kernels!r}."
            raise InvalidInputError(msg)
        if not named:
            msg = "A KernelBank needs at least one kernel; got none."
            raise InvalidInputError(msg)
        if len(named) < len(kernels):
            msg = f"The names of kernels must differ; got {', '.join(map(repr, kernels))}."
            raise InvalidInputError(msg)
        self._kernels = named
        self._fixed: tuple[Kernel, ...] | None = None
        self._n_features = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every kernel, in order."""
        return tuple(self._kernels)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels in order: as fixed on the training samples, or as given while the bank is not fitted."""
        return self._fixed if self._fixed is not None else tuple(self._kernels.values())

    def __len__(self) -> int:
        return len(self._kernels)

    def __repr__(self) -> str:
        state = "fitted" if self._fixed is not None else "not fitted"
        return f"KernelBank({', '.join(self.names)}; {state})"

    def unfitted(self) -> KernelBank:
        """Return a bank of the same kernels that is not fixed on any samples."""
        return KernelBank(self._kernels)

    def fit(self, X: Samples) -> KernelBank:
        """Fix every data-dependent constant on the training samples X, and return the bank."""
        self._fix(_checked_pair(X))
        return self

    def grams(self, X: Samples, Y: Samples | None = None) -> Matrix:
        """Return the kernel matrices of X with Y (or with itself) as one array of shape (r, n, m)."""
        return self._stack(_checked_pair(X, Y))

    def fit_grams(self, X: Samples) -> Matrix:
        """Fit on X and return its kernel matrices, computing the products between samples once for both."""
        pair = _checked_pair(X)
        self._fix(pair)
        return self._stack(pair)

    def fit_tiles(self, X: Samples) -> Callable[..., Matrix]:
        """Fit on X and return a function of rows, columns and, if not that of X, precision: a tile (r, b, b') of H.

        The products between samples are made once and kept with the function; the kernels are not.
        """
        pair = _checked_pair(X)
        self._fix(pair)

        def tile(rows: slice, cols: slice, dtype: Any = None) -> Matrix:
            return self._stack(pair.tile(rows, cols, dtype))

        return tile

    def each(self, X: Samples, Y: Samples | None = None) -> Iterator[Matrix]:
        """Yield the kernel matrices one by one, so that never more than one of them is in memory."""
        pair = _checked_pair(X, Y)
        return self._each(pair, self._fixed_for(pair))

    def _fix(self, pair: Pair) -> None:
        self._fixed = tuple(kernel.fix(pair) for kernel in self._kernels.values())
        self._n_features = pair.X.shape[1]

    def _fixed_for(self, pair: Pair) -> tuple[Kernel, ...]:
        if self._fixed is None:
            msg = "This KernelBank is not fitted: call bank.fit(X) on the training samples first."
            raise InvalidInputError(msg)
        if pair.X.shape[1] != self._n_features:
            msg = f"X has {pair.X.shape[1]} features, but the bank was fitted on samples of {self._n_features}."
            raise InvalidInputError(msg)
        return self._fixed

    def _each(self, pair: Pair, fixed: tuple[Kernel, ...]) -> Iterator[Matrix]:
        for name, kernel in zip(self.names, fixed, strict=True):
            K = kernel.evaluate(pair)
            shape = (pair.X.shape[0], pair.Y.shape[0])
            if K.shape != shape:
                msg = f"Kernel {name!r} gave a matrix of shape {K.shape}; expected {shape}."
                raise InvalidInputError(msg)
            if not np.isfinite(K).all():
                msg = f"Kernel {name!r} gave inf or NaN for these samples: check its parameters and the scale of X."
                raise InvalidInputError(msg)
            yield K

    def _stack(self, pair: Pair) -> Matrix:
        fixed = self._fixed_for(pair)
        shape = (len(self), pair.X.shape[0], pair.Y.shape[0])
        H = np.empty(shape, dtype=pair.dtype)
        for i, K in enumerate(self._each(pair, fixed)):
            H[i] = K
        return H


def _named(kernels: Sequence[Kernel]) -> dict[str, Kernel]:
    """Name kernels after themselves; a repeated name gets its count."""
    names = [str(kernel) for kernel in kernels]
    counts = [names[: i + 1].count(name) for i, name in enumerate(names)]
    return {name if c == 1 else f"{name} #{c}": k for name, c, k in zip(names, counts, kernels, strict=True)}


def _checked_pair(X: Samples, Y: Samples | None = None) -> Pair:
    pair = Pair(X, Y)
    for name, Z in (("X", pair.X),) if pair.same else (("X", pair.X), ("Y", pair.Y)):
        if 0 in Z.shape:
            msg = f"{name} is empty: its shape is {Z.shape}."
            raise InvalidInputError(msg)
        values = Z.data if sparse.issparse(Z) else Z
        if not np.isfinite(values).all():
            msg = (
                f"{name} holds {np.count_nonzero(~np.isfinite(values))} NaN or infinite value(s); "
                "kernels need finite numbers. Impute or drop them first."
            )
            raise InvalidInputError(msg)
    return pair
