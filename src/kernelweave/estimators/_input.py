"""From what a user passes as `kernels` and X to the stack H of kernel matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from kernelweave._types import Matrix
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Kernel, KernelBank, recipe

__all__ = ["as_bank", "check_n_clusters", "check_samples", "cross_stack", "kernel_stack"]


def as_bank(kernels: Any) -> KernelBank:
    """Return an unfitted bank from a recipe's name, a bank, a kernel, or a list or mapping of kernels."""
    if isinstance(kernels, str):
        return recipe(kernels)
    if isinstance(kernels, KernelBank):
        return kernels.unfitted()
    if isinstance(kernels, Kernel) or callable(kernels):
        return KernelBank([kernels])
    if isinstance(kernels, Sequence | Mapping):
        return KernelBank(kernels)
    msg = (
        f"kernels must be a recipe's name, 'precomputed', a KernelBank, or a list or dict of kernels; got {kernels!r}."
    )
    raise InvalidInputError(msg)


def check_n_clusters(n_clusters: int, n_samples: int) -> None:
    """Refuse more clusters than samples."""
    if n_clusters > n_samples:
        msg = f"n_clusters={n_clusters} is more than the n_samples={n_samples} given."
        raise InvalidInputError(msg)


def check_samples(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X as finite floats, dense or CSR, of the width that was fitted."""
    return validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=(np.float64, np.float32),
        ensure_min_samples=2 if reset else 1,
    )


def kernel_stack(X: Any) -> tuple[Matrix, tuple[str, ...]]:
    """Return (r, n, n) kernel matrices and their names from precomputed input, checked."""
    matrices, names = _matrices(X)
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
        msg = "Found a kernel matrix of 1 sample (shape (1, 1)) while a minimum of 2 is required."
        raise InvalidInputError(msg)
    return _stacked(checked), names


def cross_stack(X: Any, names: tuple[str, ...], n: int) -> Matrix:
    """Return (r, m, n) precomputed kernels of m new samples with the n training samples, in the order of `names`."""
    matrices, given = _matrices(X)
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
    return _stacked(checked)


def _matrices(X: Any) -> tuple[list[Any], tuple[str, ...]]:
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
    """Return one matrix of finite numbers, or say what keeps it from being one."""
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
    K = K if K.dtype == np.float32 else K.astype(np.float64, copy=False)
    if not np.isfinite(K).all():
        bad = np.argwhere(~np.isfinite(K))
        msg = f"{name!r} holds {len(bad)} NaN or infinite value(s), the first at row {bad[0][0]}, column {bad[0][1]}."
        raise InvalidInputError(msg)
    return K


def _not_square(name: str, shape: tuple[int, ...]) -> str:
    return f"{name!r} must be a square (n, n) matrix; got shape {shape}. Did you mean kernels='released-12'?"


def _symmetric(K: Matrix, name: str) -> Matrix:
    """Return one kernel matrix, or say what keeps it from being one."""
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
