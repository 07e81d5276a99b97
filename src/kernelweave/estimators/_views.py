"""Several tables, or groups of columns, as what an estimator is fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from kernelweave.errors import InvalidInputError
from kernelweave.estimators._input import as_bank
from kernelweave.kernels import RECIPES, KernelBank
from kernelweave.kernels.view_bank import ViewBank
from kernelweave.samples import Views
from kernelweave.samples.alignment import need_samples
from kernelweave.samples.scaling import SCALES, Scaling, fit_scaling
from kernelweave.samples.table import is_table

__all__ = ["fit_scalings", "forget_views", "has_views", "labels_in_order", "read_views", "scaled", "view_bank"]


def has_views(estimator: Any, X: Any) -> bool:
    """Tell whether the samples come in views: of columns, or as several tables."""
    if getattr(estimator, "views", None) is not None or isinstance(X, Views):
        return True
    if isinstance(X, Mapping) and not sparse.issparse(X):  # some sparse formats are mappings
        return True
    if hasattr(X, "obs_names"):  # MuData and AnnData
        return True
    return isinstance(X, list | tuple) and len(X) > 0 and any(map(is_table, X))


def read_views(estimator: Any, X: Any, *, reset: bool) -> Views:
    """Return the samples as Views, those of `fit` in its order; keep the names of the views if `reset`."""
    columns = getattr(estimator, "views", None)
    views = _of_columns(estimator, X, columns, reset=reset) if columns is not None else _of_tables(X)
    if not reset:
        return _as_fitted(estimator, views)
    if views.n_samples < 2:
        msg = f"Found {views.n_samples} sample(s) in the views (shape={views.shape}) while a minimum of 2 is required."
        raise InvalidInputError(msg)
    need_samples(views.present, views.names, views.sample_names, least=2)
    estimator.view_names_ = views.names
    estimator.view_widths_ = views.widths
    estimator.n_features_in_ = views.shape[1]
    estimator.sample_names_ = views.sample_names
    return views


def forget_views(estimator: Any) -> None:
    """Drop what a fit before this one, on several views, has left."""
    if hasattr(estimator, "kernel_views_"):
        for name in ("kernel_views_", "view_names_", "view_widths_", "sample_names_"):
            delattr(estimator, name)


def labels_in_order(estimator: Any, y: Any) -> Any:
    """Return labels in the order of the samples: a series with an index is aligned by it if the views have one."""
    samples, index = getattr(estimator, "sample_names_", None), getattr(y, "index", None)
    if samples is None or index is None or not hasattr(y, "reindex"):
        return y
    lacking = [name for name in samples if name not in index]
    if lacking or not index.is_unique:
        what = f"lacks the sample {lacking[0]!r}" if lacking else "holds a sample more than once"
        msg = f"The index of y {what}: give one label for each of the {len(samples)} samples, -1 for unlabelled ones."
        raise InvalidInputError(msg)
    return y.reindex(samples)


def _of_tables(X: Any) -> Views:
    return X if isinstance(X, Views) else Views(X)


def _as_fitted(estimator: Any, views: Views) -> Views:
    names, widths = estimator.view_names_, estimator.view_widths_
    if set(views.names) != set(names):
        msg = f"The model was fitted on the views {', '.join(names)}; got {', '.join(views.names)}."
        raise InvalidInputError(msg)
    views = views.only(names)
    for name, width, fitted in zip(names, views.widths, widths, strict=True):
        if width != fitted:
            msg = f"View {name!r} has {width} features, but {type(estimator).__name__} is expecting {fitted} features."
            raise InvalidInputError(msg)
    return views


def _of_columns(estimator: Any, X: Any, columns: Any, *, reset: bool) -> Views:
    """Return the views of one table that the parameter `views` makes of its columns."""
    if not isinstance(columns, Mapping) or not columns:
        msg = f"views must be a dict of names and columns, such as {{'words': slice(0, 100)}}; got {columns!r}."
        raise InvalidInputError(msg)
    if has_views(object(), X):
        msg = f"views={columns!r} names columns of one table, but several tables were given: leave one of them out."
        raise InvalidInputError(msg)
    table = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=(np.float64, np.float32),
        ensure_all_finite="allow-nan",
        ensure_min_samples=2 if reset else 1,
    )
    names = getattr(estimator, "feature_names_in_", None)
    return Views({str(name): table[:, _columns(name, spec, table.shape[1], names)] for name, spec in columns.items()})


def _columns(view: str, spec: Any, n_columns: int, names: Any) -> Any:
    """Return the positions of a view's columns, from a slice, positions, names or a mask."""
    if isinstance(spec, slice):
        where = np.arange(n_columns)[spec] if _whole(spec) else np.empty(0, dtype=int)
        return _some(view, spec, where)
    wanted = np.atleast_1d(np.asarray(spec))
    if wanted.dtype == bool:
        if wanted.shape != (n_columns,):
            msg = f"views[{view!r}] is a mask of shape {wanted.shape}, but X has {n_columns} columns."
            raise InvalidInputError(msg)
        return _some(view, spec, np.flatnonzero(wanted))
    if wanted.dtype.kind in "iu":
        wrong = wanted[(wanted < -n_columns) | (wanted >= n_columns)]
        if len(wrong):
            msg = f"views[{view!r}] asks for column {wrong[0]}, but X has {n_columns} columns."
            raise InvalidInputError(msg)
        return _some(view, spec, wanted)
    if names is None:
        msg = f"views[{view!r}] names columns, but X has none: pass a data frame, or give positions; got {spec!r}."
        raise InvalidInputError(msg)
    place = {name: i for i, name in enumerate(names)}
    unknown = [name for name in wanted.tolist() if name not in place]
    if unknown:
        msg = f"views[{view!r}] asks for the column {unknown[0]!r}, which X does not have."
        raise InvalidInputError(msg)
    return _some(view, spec, np.array([place[name] for name in wanted.tolist()], dtype=int))


def _whole(spec: slice) -> bool:
    return all(part is None or isinstance(part, int | np.integer) for part in (spec.start, spec.stop, spec.step))


def _some(view: str, spec: Any, where: Any) -> Any:
    if len(where) == 0:
        msg = f"views[{view!r}] = {spec!r} takes no column of X."
        raise InvalidInputError(msg)
    return where


def view_bank(kernels: Any, names: tuple[str, ...]) -> ViewBank:
    """Return the kernels of every view: one recipe for all, or a dict with the views' names."""
    if not isinstance(kernels, Mapping) or not _per_view(kernels, names):
        return ViewBank({name: as_bank(kernels) for name in names})
    if set(kernels) != set(names):
        odd = sorted(set(map(str, kernels)) ^ set(names))
        msg = (
            f"kernels must name every view once, or none: the views are {', '.join(map(repr, names))}, kernels has "
            f"{', '.join(map(repr, kernels))} (see {odd[0]!r})."
        )
        raise InvalidInputError(msg)
    return ViewBank({name: as_bank(kernels[name]) for name in names})


def _per_view(kernels: Mapping[Any, Any], names: tuple[str, ...]) -> bool:
    """Tell whether a dict gives each view its kernels; otherwise it names kernels that all views have."""
    several = (list, tuple, Mapping, KernelBank)
    return bool(set(kernels) & set(names)) or any(
        isinstance(value, several) or (isinstance(value, str) and value in RECIPES) for value in kernels.values()
    )


def fit_scalings(views: Views, scale: Any) -> dict[str, Scaling]:
    """Return how each view is scaled: one method for all, or a dict with the views' names."""
    methods = scale if isinstance(scale, Mapping) else dict.fromkeys(views.names, scale)
    if set(methods) != set(views.names):
        msg = f"scale must name every view: the views are {', '.join(views.names)}; got {', '.join(map(str, methods))}."
        raise InvalidInputError(msg)
    wrong = [method for method in methods.values() if method not in SCALES]
    if wrong:
        msg = f"scale must be one of {', '.join(map(repr, SCALES))}; got {wrong[0]!r}."
        raise InvalidInputError(msg)
    return {name: fit_scaling(X, methods[name]) for name, X in zip(views.names, views.tables, strict=True)}


def scaled(samples: Any, scaling: Any) -> Any:
    """Return a table on its scale, or each view on its own."""
    if not isinstance(samples, Views):
        return scaling.transform(samples)
    return samples.map({name: one.transform for name, one in scaling.items()})
