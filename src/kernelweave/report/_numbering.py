"""Clusters numbered by size on the page: 1 is the largest."""

from __future__ import annotations

import copy

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernelweave.plots._fitted import groups

__all__ = ["number_by_size"]


def number_by_size(model: BaseEstimator) -> tuple[BaseEstimator, tuple[str, ...]]:
    """Return a copy of a clusterer whose clusters are 1, 2, ... by size, and the label of each in the model.

    The classes of a classifier keep their names and their order.
    """
    check_is_fitted(model)
    kind, names, codes = groups(model)
    labels = tuple(map(str, names))
    if kind != "cluster":
        return model, labels
    order = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    numbered = copy.copy(model)
    numbered.labels_ = place[codes] + 1
    M = getattr(model, "membership_", None)
    if M is not None and np.shape(M)[1] == len(names):
        numbered.membership_ = np.asarray(M)[:, order]
    for name in ("confidence_", "margin_"):  # computed from the labels of the model
        if hasattr(model, name):
            setattr(numbered, name, getattr(model, name))
    return numbered, tuple(labels[k] for k in order)
