"""The data sets that an experiment may name: the paper's, and those that come with scikit-learn."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as bundled

from kernelweave.datasets import dataset_info, list_datasets, load_dataset

__all__ = ["Identity", "Samples", "identify", "known_datasets", "load_samples"]

_BUNDLED: dict[str, Callable[..., Any]] = {
    "iris": bundled.load_iris,
    "wine": bundled.load_wine,
    "digits": bundled.load_digits,
    "breast-cancer": bundled.load_breast_cancer,
}


@dataclass(frozen=True, slots=True)
class Identity:
    """What a row must say of the data that it was computed from."""

    name: str
    sha256: str
    n_samples: int
    n_features: int
    n_classes: int


@dataclass(frozen=True, slots=True)
class Samples:
    """One data set in memory: samples in rows, a class from 0 for each."""

    X: Any
    y: NDArray[np.int64]


def known_datasets() -> tuple[str, ...]:
    """Return the names that an experiment may use."""
    return (*list_datasets(), *_BUNDLED)


def identify(name: str) -> Identity:
    """Return a data set's checksum and shape; the paper's need not be at hand for it."""
    if name not in _BUNDLED:
        info = dataset_info(name)
        return Identity(info.name, info.sha256, info.n_samples, info.n_features, info.n_classes)
    samples = load_samples(name)
    content = hashlib.sha256(np.ascontiguousarray(samples.X).tobytes() + samples.y.tobytes())
    return Identity(name, content.hexdigest(), *samples.X.shape, len(np.unique(samples.y)))


def load_samples(name: str, data_home: str | os.PathLike[str] | None = None) -> Samples:
    """Return a data set by its name, as `kernelweave.datasets.load_dataset` finds it."""
    if name in _BUNDLED:
        X, y = _BUNDLED[name](return_X_y=True)
        return Samples(np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.int64))
    bunch = load_dataset(name, data_home=data_home)
    return Samples(bunch.data, bunch.target)
