"""Squared distances of the samples in every view: a table, several tables, Gram matrices, or distances as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from kernelweave._types import Matrix, Samples
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Kernel, KernelBank, Pair

__all__ = ["checked_distances", "feature_distances", "gram_distances", "views_of"]


def views_of(X: Any, names: tuple[str, ...] | None = None) -> dict[str, Samples]:
    """Return the tables by name: those of a dict, or of a list of tables; {} if X is one table itself.

    With `names`, the views of `fit`, in that order.
    """
    if isinstance(X, Mapping) and not sparse.issparse(X):  # some sparse formats are dicts
        views = {str(name): view for name, view in X.items()}
    elif isinstance(X, list | tuple) and X and all(_is_table(view) for view in X):
        views = {f"view {i}": view for i, view in enumerate(X)}
    else:
        return {}
    if names is not None and set(views) != set(names):
        msg = f"The model was fitted on the views {', '.join(names)}; got {', '.join(views)}."
        raise InvalidInputError(msg)
    return {name: _checked(views[name], name, views) for name in names or views}


def feature_distances(X: Samples, kernel: Kernel | None) -> Matrix:
    """||x_i - x_j||², in the space of the kernel if there is one."""
    if kernel is None:
        return Pair(X).sqdist
    return gram_distances(KernelBank([kernel]).fit_grams(X)[0])


def gram_distances(K: Matrix) -> Matrix:
    """K_ii + K_jj - 2 K_ij; raises where that is negative, as it cannot be for a Gram matrix."""
    D = K.diagonal()[:, None] + K.diagonal() - 2 * K
    if D.min() < -np.sqrt(np.finfo(K.dtype).eps) * np.abs(K).max():
        i, j = np.unravel_index(D.argmin(), D.shape)
        msg = (
            f"This is not a Gram matrix: samples {i} and {j} would be at a squared distance of {D.min():.3g}. For "
            "squared distances use kernel='distances'."
        )
        raise InvalidInputError(msg)
    np.fill_diagonal(D, 0)
    return np.maximum(D, 0)


def checked_distances(D: Matrix) -> Matrix:
    """D (v, n, n), if it can hold squared distances."""
    if D.min() < 0 or D.diagonal(axis1=1, axis2=2).any():
        msg = (
            f"Squared distances must be at least 0, and 0 on the diagonal; got a minimum of {D.min():.3g} and up to "
            f"{D.diagonal(axis1=1, axis2=2).max():.3g} on the diagonal. For Gram matrices use kernel='precomputed'."
        )
        raise InvalidInputError(msg)
    return D


def _is_table(view: Any) -> bool:
    return sparse.issparse(view) or np.ndim(view) == 2


def _checked(view: Any, name: str, views: dict[str, Any]) -> Samples:
    table = check_array(view, accept_sparse="csr", dtype=(np.float64, np.float32), input_name=name)
    first_name, first = next(iter(views.items()))
    n = first.shape[0] if hasattr(first, "shape") else len(first)
    if table.shape[0] != n:
        msg = (
            f"All views must hold the same samples: {first_name!r} has {n}, {name!r} has {table.shape[0]}. "
            "Align them, one row per sample."
        )
        raise InvalidInputError(msg)
    return table
