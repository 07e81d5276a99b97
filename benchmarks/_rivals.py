"""What Weave is compared with: rivals of one call each, without labels to tune them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.kernel_ridge import KernelRidge

from benchmarks._graphs import top_graph
from benchmarks._sets import DataSet
from kernelweave import SMKLClassifier, SMKLClustering, WeaveClassifier, WeaveClustering
from kernelweave.baselines import GFHF, LGC
from kernelweave.core.graphs.coordinates import unit_rows
from kernelweave.core.graphs.normalised import normalised_embedding
from kernelweave.errors import NotFiniteError
from kernelweave.kernels import Gaussian, SelfTuning

Labels = np.ndarray | None


def weave(data: DataSet, seed: int, **options: Any) -> Labels:
    """WeaveClustering as it comes, or with some options."""
    X, given = data.for_weave()
    return WeaveClustering(data.c, random_state=seed, **given, **options).fit(X).labels_


def kmeans(data: DataSet, seed: int) -> Labels:
    """KMeans on the scaled samples, views side by side."""
    return KMeans(data.c, n_init=10, random_state=seed).fit_predict(data.joined)


def njw(data: DataSet, seed: int) -> Labels:
    """Ng, Jordan and Weiss on the average kernel."""
    W = np.maximum(data.kernels().mean(axis=0, dtype=np.float64), 0)
    return KMeans(data.c, n_init=10, random_state=seed).fit_predict(unit_rows(normalised_embedding(W, data.c)))


def self_tuning(data: DataSet, seed: int) -> Labels:
    """scikit-learn's SpectralClustering on a self-tuning 10-nearest-neighbour graph of the scaled samples."""
    W = top_graph(SelfTuning(7).fit(data.joined).gram(data.joined), 10)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        return SpectralClustering(data.c, affinity="precomputed", random_state=seed).fit_predict(W)


def smkl(data: DataSet, seed: int) -> Labels:
    """SMKLClustering with its defaults, in single precision where kernels are large; None where it diverges."""
    model = SMKLClustering(data.c, random_state=seed, dtype=data.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return model.fit(data.for_weave()[0]).labels_
        except NotFiniteError:
            return None


CLUSTERERS: dict[str, tuple[Callable[[DataSet, int], Labels], int]] = {
    "weave": (weave, 5),
    "self-tuning kNN": (self_tuning, 5),
    "average NJW": (njw, 5),
    "k-means": (kmeans, 5),
    "SMKL, its default": (smkl, 1),
}

# Table 2 of the paper: tuned on the labels, so no rival but a mark
PUBLISHED = {"yale": 0.6000, "jaffe": 0.9906, "yeast": 0.4326, "tr11": 0.8309, "tr41": 0.7631, "tr45": 0.7536}


def weave_classes(data: DataSet, y: np.ndarray, **options: Any) -> np.ndarray:
    """WeaveClassifier as it comes, or with some options."""
    X, given = data.for_weave()
    return _fitted(WeaveClassifier(**given, **options), X, y)


def gfhf(data: DataSet, y: np.ndarray) -> np.ndarray:
    """Harmonic functions on the sharp Gaussian (t = 0.1), the kernel that nearly always is the best for them."""
    return _fitted(GFHF("precomputed"), _sharp(data), y)


def lgc(data: DataSet, y: np.ndarray) -> np.ndarray:
    """Local and global consistency on the same Gaussian."""
    return _fitted(LGC("precomputed"), _sharp(data), y)


def ridge(data: DataSet, y: np.ndarray) -> np.ndarray:
    """Supervised kernel ridge on the average of the seven kernels."""
    K, known = _average(data), y >= 0
    model = KernelRidge(alpha=0.1, kernel="precomputed").fit(K[np.ix_(known, known)], _onehot(y)[known])
    return model.predict(K[:, known]).argmax(axis=1)


def smkl_classes(data: DataSet, y: np.ndarray) -> np.ndarray:
    """SMKLClassifier with its default setting; wrong everywhere where it diverges."""
    try:
        return _fitted(SMKLClassifier(kernels="precomputed"), data.kernels("released-7"), y)
    except NotFiniteError:
        return np.full(len(y), -1)


CLASSIFIERS: dict[str, Callable[[DataSet, np.ndarray], np.ndarray]] = {
    "weave": weave_classes,
    "weave, class mass": lambda data, y: weave_classes(data, y, class_mass=True),
    "weave, graph ridge": lambda data, y: weave_classes(data, y, graph="ridge"),
    "weave, graph knn": lambda data, y: weave_classes(data, y, graph="knn"),
    "kernel ridge": ridge,
    "GFHF": gfhf,
    "LGC": lgc,
    "SMKL": smkl_classes,
}


def _fitted(model: Any, X: Any, y: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # samples that no label reaches count as they were guessed
        return model.fit(X, y).transduction_


def _sharp(data: DataSet) -> np.ndarray:
    return np.mean([Gaussian(t=0.1).fit(X).gram(X) for X in data.scaled], axis=0)


def _average(data: DataSet) -> np.ndarray:
    return np.maximum(data.kernels("released-7").mean(axis=0, dtype=np.float64), 0)


def _onehot(y: np.ndarray) -> np.ndarray:
    Y = np.zeros((len(y), y.max() + 1))
    Y[y >= 0, y[y >= 0]] = 1
    return Y
