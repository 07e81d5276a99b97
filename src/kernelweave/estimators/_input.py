"""From what a user passes as `kernels` and X to the stack H of kernel matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Kernel, KernelBank, recipe
from kernelweave.kernels._types import Matrix

__all__ = ["as_bank", "check_n_clusters", "check_samples", "kernel_stack"]


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
    if isinstance(X, Mapping):
        names, matrices = tuple(map(str, X)), list(X.values())
    else:
        matrices = list(X) if not hasattr(X, "ndim") or X.ndim == 3 else [X]
        names = tuple(f"kernel {i}" for i in range(len(matrices)))
    if not matrices:
        msg = "No kernel matrix was given: pass (r, n, n), a list of (n, n), or one (n, n)."
        raise InvalidInputError(msg)
    checked = [_checked(K, name) for K, name in zip(matrices, names, strict=True)]
    n = len(checked[0])
    for name, K in zip(names, checked, strict=True):
        if len(K) != n:
            msg = (
                f"All kernel matrices must compare the same samples: {names[0]!r} has {n}, {name!r} has {len(K)}. "
                "Align them, one row and column per sample."
            )
            raise InvalidInputError(msg)
    dtype = np.float32 if all(K.dtype == np.float32 for K in checked) else np.float64
    if n < 2:
        msg = "Found a kernel matrix of 1 sample (shape (1, 1)) while a minimum of 2 is required."
        raise InvalidInputError(msg)
    return np.stack(checked).astype(dtype, copy=False), names


def _checked(K: Any, name: str) -> Matrix:
    """Return one kernel matrix, or say what keeps it from being one."""
    if sparse.issparse(K):
        msg = f"{name!r} is a sparse matrix; precomputed kernels are dense: pass K.toarray()."
        raise InvalidInputError(msg)
    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        msg = f"{name!r} must be a square (n, n) matrix; got shape {K.shape}. Did you mean kernels='released-12'?"
        raise InvalidInputError(msg)
    if K.dtype.kind not in "fiub":
        msg = f"{name!r} must hold real numbers; got dtype {K.dtype}."
        raise InvalidInputError(msg)
    K = K if K.dtype == np.float32 else K.astype(np.float64, copy=False)
    if not np.isfinite(K).all():
        bad = np.argwhere(~np.isfinite(K))
        msg = f"{name!r} holds {len(bad)} NaN or infinite value(s), the first at row {bad[0][0]}, column {bad[0][1]}."
        raise InvalidInputError(msg)
    asymmetry = np.abs(K - K.T).max(initial=0)
    if asymmetry > np.sqrt(np.finfo(K.dtype).eps) * np.abs(K).max(initial=0):
        msg = (
            f"{name!r} must be symmetric; |K - K'| is up to {asymmetry:.3g}. "
            "Pass (K + K.T) / 2 if the asymmetry is meant to be averaged out."
        )
        raise InvalidInputError(msg)
    return K
