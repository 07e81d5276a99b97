"""Repeats that differ only in the seed of k-means share one fit: its embedding is clustered again for every seed."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from kernelweave.experiments.choices import Parameters

__all__ = ["shares_a_fit"]


def shares_a_fit(cls: type[BaseEstimator], parameters: Parameters) -> bool:
    """Return whether the seed only affects k-means, so that `labels_for` replaces another fit.

    The scheme "printed" starts from a random graph: each of its repeats needs a fit.
    """
    return hasattr(cls, "labels_for") and parameters.get("scheme") != "printed"
