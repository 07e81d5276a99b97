"""What is learned on a sample of the rows: the scale, the kernels' shares, the landmarks, and sums over their graph."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from kernelweave._types import Dtype, HasShape, Matrix, Samples, Vector, WeightsLike
from kernelweave.core.consensus.self_weighted import KernelTiles, kernel_moments, median_weights
from kernelweave.core.graphs.bipartite import bipartite_sums
from kernelweave.core.graphs.coordinates import unit_rows
from kernelweave.kernels import KernelBank
from kernelweave.samples.scaling import Scale, Scaling
from kernelweave.samples.views import Views
from kernelweave.weave.landmark.landmark_rows import LandmarkRows
from kernelweave.weave.version_choice import best_version

__all__ = [
    "LandmarksLike",
    "Settings",
    "block_sums",
    "class_sums",
    "default_landmarks",
    "landmark_memory",
    "learn_graph",
    "sample_size",
]

LandmarksLike: TypeAlias = Literal["kmeans", "random"] | Sequence[Sequence[float]] | HasShape

_LANDMARKS = 1000
_PER_LANDMARK = 20  # rows of the sample
_LEAST_SAMPLE = 10_000
_WEIGHED = 2000  # rows on which the kernels are weighed
_TILE = 512
_KMEANS_STEPS = 10  # k-means need not converge: landmarks only have to cover the samples


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of a fit with landmarks."""

    bank: KernelBank
    landmarks: LandmarksLike = "kmeans"
    n_landmarks: int = _LANDMARKS
    n_neighbors: int = 3
    weights: WeightsLike = "self"
    scale: Scale = "auto"
    n_groups: int = 10
    dtype: Dtype = None
    seed: int = 0


def default_landmarks(n: int, n_clusters: int) -> int:
    """Return the number of landmarks for n samples: 1000, 20 per cluster if that is more, at most a quarter of n."""
    return min(n, max(min(max(_LANDMARKS, 20 * n_clusters), n // 4), n_clusters))


def sample_size(m: int) -> int:
    """Return the size of the sample to learn from: 20 rows per landmark, at least 10,000."""
    return max(_PER_LANDMARK * m, _LEAST_SAMPLE)


def landmark_memory(n_features: int, m: int, r: int, itemsize: int, *, n: int, c: int) -> int:
    """Return about how many bytes a fit needs in addition to X: sample, kernels, m x m sums, chunks, results."""
    sample = min(n, sample_size(m)) * n_features * (2 * itemsize + 4)
    weighing = (2 * itemsize + 4) * min(n, _WEIGHED) ** 2 + 3 * r * _TILE**2 * 4
    learning = sample + max(weighing, 4 * 8 * m**2) + m * n_features * itemsize
    return learning + 6 * 16 * 2**20 + n * (4 + 8 * c)


def learn_graph(settings: Settings, sample: Samples) -> LandmarkRows:
    """Return landmarks and kernels' shares learned from a sample that is sorted by its coordinates."""
    rng = np.random.RandomState(settings.seed)
    views = Views.of_table(sample)
    version = best_version(views, settings.scale, settings.bank, settings.weights, settings.n_groups, rng)
    scaling = version.scalings["X"]
    # single precision is enough for samples of unit length or deviation, and twice as fast; others may have large means
    dtype = np.dtype(settings.dtype or (sample.dtype if scaling.method == "none" else np.float32))
    scaled = scaling.transform(sample).astype(dtype, copy=False)
    bank, weights = _weigh(settings, scaled[rng.permutation(scaled.shape[0])[:_WEIGHED]])
    landmarks = _landmarks(settings, scaled, scaling, rng)
    k = min(settings.n_neighbors, landmarks.shape[0])
    return LandmarkRows(version, bank, weights, landmarks, k, dtype)


def _weigh(settings: Settings, rows: Samples) -> tuple[KernelBank, Vector]:
    """Return the bank fixed on these rows, and the kernels' shares."""
    bank = settings.bank.unfitted()
    tile = bank.fit_tiles(rows)
    r = len(bank)
    if not isinstance(settings.weights, str):
        return bank, np.asarray(settings.weights, dtype=np.float64)
    if settings.weights == "uniform":
        return bank, np.full(r, 1 / r)
    return bank, median_weights(*kernel_moments(KernelTiles(tile, r, rows.shape[0]).of(np.dtype(np.float32))))


def _landmarks(settings: Settings, scaled: Samples, scaling: Scaling, rng: np.random.RandomState) -> Samples:
    """Return the landmarks (m, n_features), scaled like the samples."""
    m, how = settings.n_landmarks, settings.landmarks
    if not isinstance(how, str):
        return scaling.transform(np.asarray(how, dtype=np.float64)).astype(scaled.dtype)
    if how == "random":
        return scaled[np.sort(rng.permutation(scaled.shape[0])[:m])]
    model = KMeans(m, init="random", n_init=1, max_iter=_KMEANS_STEPS, random_state=rng)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # fewer distinct rows than landmarks: copies are removed below
        model.fit(scaled.astype(np.float32, copy=False))
    centres = np.unique(model.cluster_centers_, axis=0)
    return (unit_rows(centres) if scaling.method == "unit" else centres).astype(scaled.dtype)


def block_sums(graph: LandmarkRows, rows: Samples) -> Matrix:
    """Return BB = B'B of a block of the sample."""
    J, B = graph.joined(graph.scaled(rows))
    return bipartite_sums(J, B, graph.m)


def class_sums(graph: LandmarkRows, block: tuple[Samples, NDArray[np.intp], tuple[float, float], int]) -> Matrix:
    """Return [BB_u | BB_l | BY], BY = B_l'Y_l, of a block of the sample, scaled to the rows that it represents."""
    rows, codes, (share_l, share_u), n_classes = block
    J, B = graph.joined(graph.scaled(rows))
    known = codes >= 0
    BY = np.zeros((graph.m, n_classes))
    np.add.at(BY, (J[known], codes[known, None]), B[known])
    BB_u, BB_l = bipartite_sums(J[~known], B[~known], graph.m), bipartite_sums(J[known], B[known], graph.m)
    return np.hstack([share_u * BB_u, share_l * BB_l, share_l * BY])
