"""The features that set every group apart: those whose mean in the group is farthest from the mean of all samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from kernelweave._types import Samples, Tables
from kernelweave.errors import InvalidInputError
from kernelweave.plots._style import counted
from kernelweave.report._facts import Facts
from kernelweave.samples import Views

__all__ = ["profiles"]

_FEATURES = 4


def profiles(X: Tables, facts: Facts) -> list[list[tuple[str, float]]]:
    """Return the features that set every group apart, and the difference of their means in standard deviations."""
    values, names = _columns(X)
    if len(values) != facts.n:
        msg = f"X must hold the model's {counted(facts.n, 'sample')}; got {counted(len(values), 'row')}."
        raise InvalidInputError(msg)
    present = np.isfinite(values)
    values = np.where(present, values, 0)
    counts = np.maximum(present.sum(axis=0), 1)
    mean = values.sum(axis=0) / counts
    deviation = np.sqrt((np.where(present, values - mean, 0) ** 2).sum(axis=0) / counts)
    varies = deviation > 1e-12 * np.maximum(np.abs(mean), 1e-300)
    found = []
    for k in range(len(facts.names)):
        members = facts.codes == k
        own = values[members].sum(axis=0) / np.maximum(present[members].sum(axis=0), 1)
        known = varies & present[members].any(axis=0)
        z = np.where(known, (own - mean) / np.where(varies, deviation, 1), 0)
        order = np.argsort(-np.abs(z), kind="stable")[:_FEATURES]
        found.append([(names[j], float(z[j])) for j in order if z[j] != 0])
    return found


def _columns(X: Tables) -> tuple[npt.NDArray[np.float64], list[str]]:
    """Return the columns of one table, or of all views side by side, and their names."""
    if isinstance(X, Views):
        return _side_by_side(X, [None] * len(X.names))
    if isinstance(X, Mapping) and not sparse.issparse(X):  # some sparse formats are mappings
        return _side_by_side(Views(X), list(X.values()))
    if isinstance(X, list | tuple) and X and all(len(np.shape(table)) == 2 for table in X):
        return _side_by_side(Views(X), list(X))
    if hasattr(X, "obs_names"):  # an AnnData, or a MuData with its modalities in `mod`
        return _side_by_side(Views(X), list(X.mod.values()) if hasattr(X, "mod") else [X])
    try:
        values = _dense(X)
    except (TypeError, ValueError) as error:
        msg = f"X must be a table of numbers in memory; got {type(X).__name__} ({error}): leave X out of the report."
        raise InvalidInputError(msg) from error
    if values.ndim != 2:
        msg = f"X must be a table of samples by features; got {counted(values.ndim, 'dimension')}."
        raise InvalidInputError(msg)
    return values, _names(X, values.shape[1])


def _side_by_side(views: Views, given: Sequence[object]) -> tuple[npt.NDArray[np.float64], list[str]]:
    """Return all views side by side, NaN where a sample lacks one; `given` are the user's tables, with their names."""
    parts, names = [], []
    for view, table, known, source in zip(views.names, views.tables, views.present, given, strict=True):
        part = np.full((views.n_samples, table.shape[1]), np.nan)
        part[known] = _dense(table)
        parts.append(part)
        columns = _names(source, table.shape[1])
        names += columns if len(views.names) == 1 else [f"{view}: {name}" for name in columns]
    return np.hstack(parts), names


def _dense(table: Samples) -> npt.NDArray[np.float64]:
    return np.asarray(table.toarray() if sparse.issparse(table) else table, dtype=float)


def _names(table: object, width: int) -> list[str]:
    return [str(name) for name in getattr(table, "var_names", getattr(table, "columns", range(width)))]
