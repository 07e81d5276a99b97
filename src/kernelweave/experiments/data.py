"""The data sets that an experiment may use: the paper's, and some that come with scikit-learn."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as bundled

from kernelweave._types import Samples
from kernelweave.datasets import dataset_info, list_datasets, load_dataset
from kernelweave.datasets.registry import DATASETS

__all__ = ["Identity", "LabelledSamples", "identify", "known_datasets", "load_samples"]

_BUNDLED: dict[str, Callable[..., Any]] = {
    "iris": bundled.load_iris,
    "wine": bundled.load_wine,
    "digits": bundled.load_digits,
    "breast-cancer": bundled.load_breast_cancer,
}


@dataclass(frozen=True, slots=True)
class Identity:
    """Name, checksum and shape of the data that a row was computed from."""

    name: str
    sha256: str
    n_samples: int
    n_features: int
    n_classes: int


@dataclass(frozen=True, slots=True)
class LabelledSamples:
    """One data set in memory: samples in rows, and their classes, numbered from 0."""

    X: Samples
    y: NDArray[np.int64]


def known_datasets() -> tuple[str, ...]:
    """Return the names that an experiment may use: data sets with one table, and all of plugins."""
    several = {info.name for info in DATASETS if info.n_views > 1}
    return tuple(dict.fromkeys([*(name for name in list_datasets() if name not in several), *_BUNDLED]))


def identify(name: str) -> Identity:
    """Return the checksum and shape of a data set; the files of the paper's data sets are not needed for it."""
    if name not in _BUNDLED:
        info = dataset_info(name)
        return Identity(info.name, info.sha256 or info.git_blob or "", info.n_samples, info.n_features, info.n_classes)
    samples = load_samples(name)
    content = hashlib.sha256(np.ascontiguousarray(samples.X).tobytes() + samples.y.tobytes())
    n, d = samples.X.shape
    return Identity(name, content.hexdigest(), n, d, len(np.unique(samples.y)))


def load_samples(name: str, data_home: str | os.PathLike[str] | None = None) -> LabelledSamples:
    """Return a data set by its name; `data_home` is that of `kernelweave.datasets.load_dataset`."""
    if name in _BUNDLED:
        X, y = _BUNDLED[name](return_X_y=True)
        return LabelledSamples(np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.int64))
    bunch = load_dataset(name, data_home=data_home)
    return LabelledSamples(bunch.data, bunch.target)
