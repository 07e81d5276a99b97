"""What sets every group apart: the features whose mean in it lies farthest from that of all samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from kernelweave.errors import InvalidInputError
from kernelweave.report._facts import Facts

__all__ = ["profiles"]

_FEATURES = 4


def profiles(X: Any, facts: Facts) -> list[list[tuple[str, float]]]:
    """Return for every group its most telling features, and the distance of their mean in standard deviations."""
    values, names = _columns(X)
    if len(values) != facts.n:
        msg = f"X must hold the model's {facts.n} samples; got {len(values)} rows."
        raise InvalidInputError(msg)
    present = np.isfinite(values)
    values = np.where(present, values, 0)
    counts = np.maximum(present.sum(axis=0), 1)
    mean = values.sum(axis=0) / counts
    deviation = np.sqrt((np.where(present, values - mean, 0) ** 2).sum(axis=0) / counts)
    told = deviation > 1e-12 * np.maximum(np.abs(mean), 1e-300)  # a constant feature sets nothing apart
    found = []
    for k in range(len(facts.names)):
        members = facts.codes == k
        own = values[members].sum(axis=0) / np.maximum(present[members].sum(axis=0), 1)
        known = told & present[members].any(axis=0)
        z = np.where(known, (own - mean) / np.where(told, deviation, 1), 0)
        order = np.argsort(-np.abs(z), kind="stable")[:_FEATURES]
        found.append([(names[j], float(z[j])) for j in order if z[j] != 0])
    return found


def _columns(X: Any) -> tuple[npt.NDArray[np.float64], list[str]]:
    if isinstance(X, Mapping):
        return _views(X)
    if sparse.issparse(X):
        X = X.toarray()
    values = np.asarray(X, dtype=float)
    if values.ndim != 2:
        msg = f"X must be a table of samples by features; got {values.ndim} dimension(s)."
        raise InvalidInputError(msg)
    return values, [str(name) for name in getattr(X, "columns", range(values.shape[1]))]


def _views(X: Mapping[str, Any]) -> tuple[npt.NDArray[np.float64], list[str]]:
    """Return all views side by side, NaN where a sample lacks one."""
    from kernelweave.samples import Views

    views = Views(X)
    parts, names = [], []
    for view, table, known in zip(views.names, views.tables, views.present, strict=True):
        part = np.full((views.n_samples, table.shape[1]), np.nan)
        part[known] = table.toarray() if sparse.issparse(table) else table
        parts.append(part)
        columns = getattr(X[view], "columns", range(table.shape[1]))
        names += [f"{view}: {name}" for name in columns]
    return np.hstack(parts), names
