"""Precomputed kernel matrices: read and checked once, before anything is computed from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from kernelweave._types import Matrix
from kernelweave.errors import InvalidInputError

__all__ = ["KernelStack", "StackLike", "read_cross_stack", "read_stack"]

# one matrix, an (r, n, n) array, a list of matrices, or a mapping of names to matrices
StackLike: TypeAlias = ArrayLike | Iterable[ArrayLike] | Mapping[str, ArrayLike]


@dataclass(frozen=True, slots=True)
class KernelStack:
    """Kernel matrices between m samples and the n training samples.

    Parameters
    ----------
    matrices : array of shape (r, m, n)
        The matrix of every kernel; m = n in `fit`.
    names : tuple of str
        The name of every kernel.
    """

    matrices: Matrix
    names: tuple[str, ...]

    @property
    def n_samples(self) -> int:
        """The number m of samples."""
        return int(self.matrices.shape[1])

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The precision of the matrices."""
        return self.matrices.dtype

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> KernelStack:
        """Return the matrices in another precision."""
        return replace(self, matrices=self.matrices.astype(dtype, copy=copy))


def read_stack(X: StackLike) -> KernelStack:
    """Return the kernel matrices (r, n, n) that a user passes to `fit`, checked.

    Parameters
    ----------
    X : array of shape (n, n) or (r, n, n), list of (n, n), or mapping of name to (n, n)
        Symmetric matrices of finite numbers.

    Returns
    -------
    KernelStack
    """
    matrices, names = _named(X)
    checked = [_symmetric(_checked(K, name), name) for K, name in zip(matrices, names, strict=True)]
    n = len(checked[0])
    for name, K in zip(names, checked, strict=True):
        if len(K) != n:
            msg = (
                f"All kernel matrices must compare the same samples: {names[0]!r} has {n}, {name!r} has {len(K)}. "
                "Align them, one row and column per sample."
            )
            raise InvalidInputError(msg)
    if n < 2:
        msg = (
            f"Found a kernel matrix of {n} sample{'s' * (n != 1)} (shape ({n}, {n})) while a minimum of 2 is required."
        )
        raise InvalidInputError(msg)
    return KernelStack(_stacked(checked), names)


def read_cross_stack(X: StackLike, names: tuple[str, ...], n: int) -> KernelStack:
    """Return the kernel matrices (r, m, n) of new samples with the training samples, checked.

    Parameters
    ----------
    X : array of shape (m, n) or (r, m, n), list of (m, n), or mapping of name to (m, n)
        A row for every new sample, a column for every training sample.
    names : tuple of str
        The kernels of `fit`; a mapping is put in their order.
    n : int
        The number of training samples.

    Returns
    -------
    KernelStack
    """
    matrices, given = _named(X)
    if isinstance(X, Mapping) and set(given) == set(names):
        matrices = [matrices[given.index(name)] for name in names]
    elif isinstance(X, Mapping) or len(matrices) != len(names):
        msg = f"The model was fitted on the kernels {', '.join(names)}; got {', '.join(given)}."
        raise InvalidInputError(msg)
    checked = [_checked(K, name) for K, name in zip(matrices, names, strict=True)]
    for name, K in zip(names, checked, strict=True):
        if K.shape != (len(checked[0]), n):
            msg = (
                f"{name!r} must hold the kernel of every new sample with each of the {n} training samples: expected "
                f"shape ({len(checked[0])}, {n}); got {K.shape}."
            )
            raise InvalidInputError(msg)
    return KernelStack(_stacked(checked), names)


def _named(X: Any) -> tuple[list[Any], tuple[str, ...]]:
    if isinstance(X, Mapping):
        names, matrices = tuple(map(str, X)), list(X.values())
    else:
        matrices = list(X) if not hasattr(X, "ndim") or X.ndim == 3 else [X]
        names = tuple(f"kernel {i}" for i in range(len(matrices)))
    if not matrices:
        msg = "No kernel matrix was given: pass (r, n, n), a list of (n, n), or one (n, n)."
        raise InvalidInputError(msg)
    return matrices, names


def _stacked(matrices: list[Matrix]) -> Matrix:
    dtype = np.float32 if all(K.dtype == np.float32 for K in matrices) else np.float64
    return np.stack(matrices).astype(dtype, copy=False)


def _checked(K: Any, name: str) -> Matrix:
    """Return one matrix of finite numbers, or refuse what is not one."""
    if sparse.issparse(K):
        msg = f"{name!r} is a sparse matrix; precomputed kernels are dense: pass K.toarray()."
        raise InvalidInputError(msg)
    K = np.asarray(K)
    if K.ndim != 2:
        msg = _not_square(name, K.shape)
        raise InvalidInputError(msg)
    if K.dtype.kind not in "fiub":
        msg = f"{name!r} must hold real numbers; got dtype {K.dtype}."
        raise InvalidInputError(msg)
    values: Matrix = K if K.dtype == np.float32 else K.astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        bad = np.argwhere(~np.isfinite(values))
        msg = f"{name!r} holds {len(bad)} NaN or infinite value(s), the first at row {bad[0][0]}, column {bad[0][1]}."
        raise InvalidInputError(msg)
    return values


def _not_square(name: str, shape: tuple[int, ...]) -> str:
    return f"{name!r} must be a square (n, n) matrix; got shape {shape}. Did you mean kernels='released-12'?"


def _symmetric(K: Matrix, name: str) -> Matrix:
    """Return one kernel matrix, or refuse what is not square and symmetric."""
    if K.shape[0] != K.shape[1]:
        msg = _not_square(name, K.shape)
        raise InvalidInputError(msg)
    asymmetry = np.abs(K - K.T).max(initial=0)
    if asymmetry > np.sqrt(np.finfo(K.dtype).eps) * np.abs(K).max(initial=0):
        msg = (
            f"{name!r} must be symmetric; |K - K'| is up to {asymmetry:.3g}. "
            "Pass (K + K.T) / 2 if the asymmetry is meant to be averaged out."
        )
        raise InvalidInputError(msg)
    return K
