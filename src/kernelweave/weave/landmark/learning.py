"""What is learned on a sample of the rows: the kernels' shares, the landmarks, and values at these.

Each row is joined to its nearest landmarks in the consensus kernel. Sums over the sample's part of that graph give
coordinates and cluster centres, or label scores.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kernelweave._types import HasShape, Labels, Matrix, Samples, Vector, WeightsLike
from kernelweave.core.consensus.self_weighted import median_weights
from kernelweave.core.graphs.affinity import Affinity
from kernelweave.core.graphs.bipartite import (
    bipartite_harmonic,
    bipartite_sums,
    class_sums,
    landmark_embedding,
    nearest_columns,
    relative_affinity,
)
from kernelweave.core.graphs.coordinates import unit_rows
from kernelweave.core.graphs.edges import join_pieces
from kernelweave.core.graphs.new_rows import unlike_all
from kernelweave.core.graphs.propagation import LGC_SHARE, equal_mass
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Kernel, KernelBank
from kernelweave.kernels.bank import KernelTiles, check_stack, kernel_moments, weighted_diagonal, weighted_products
from kernelweave.kernels.base import Pair, Products
from kernelweave.kernels.view_bank import KernelsLike, bank_of
from kernelweave.samples.scaling import Scaling, Version
from kernelweave.samples.source import Sample
from kernelweave.samples.views import Views
from kernelweave.weave.consensus_kernel import given_weights
from kernelweave.weave.graph_model import Centres, GraphModel
from kernelweave.weave.plan import ClusterTask, LabelTask

__all__ = [
    "LandmarkRows",
    "LandmarksLike",
    "Settings",
    "default_landmarks",
    "landmark_classes",
    "landmark_memory",
    "learn_classes",
    "learn_clusters",
    "learn_graph",
    "sample_size",
]

LandmarksLike: TypeAlias = Literal["kmeans", "random"] | Sequence[Sequence[float]] | HasShape

_LANDMARKS = 1000
_PER_LANDMARK = 20  # rows of the sample
_LEAST_SAMPLE = 10_000
_WEIGHED = 2000  # rows on which the kernels are weighed
_TILE = 512
_TILE_BYTES = 2**20  # of one kernel with all landmarks, so that several of them fit in the processor's cache
_COMPARED = (16, 32, 64)  # landmarks nearest to a sample, of which the nearest in the kernel are found
_CENTRES = 4  # arrays of single precision that k-means holds for the centres at once
_BLOCK = 4096  # rows of the sample that are summed together
_KMEANS_STEPS = 10  # k-means need not converge: landmarks only have to cover the samples


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of a fit with landmarks, whatever their number."""

    kernels: KernelsLike = "auto"
    weights: WeightsLike = "self"
    landmarks: LandmarksLike = "kmeans"
    n_neighbors: int = 3
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class LandmarkRows:
    """The landmarks, and the consensus kernel that joins a sample to the nearest of them.

    Parameters
    ----------
    version : Version
        How samples are scaled.
    bank : KernelBank
        The kernels, fixed on a sample of the rows.
    weights : array of shape (n_kernels,)
        Their shares in the consensus.
    landmarks : array or sparse array of shape (n_landmarks, n_features)
        The landmarks, scaled like the samples.
    n_neighbors : int
        How many landmarks a sample is joined to.
    n_compared : int
        How many of the landmarks, the nearest by Euclidean distance, a sample is compared with in the consensus kernel;
        all where these need not hold the nearest in the kernel.
    dtype : dtype
        The precision of the kernels.
    """

    chunked: ClassVar[bool] = True

    version: Version
    bank: KernelBank
    weights: Vector
    landmarks: Samples
    n_neighbors: int
    n_compared: int
    dtype: np.dtype[Any]

    @property
    def m(self) -> int:
        """The number of landmarks."""
        return int(self.landmarks.shape[0])

    @property
    def row_bytes(self) -> int:
        """About how much memory the row of one sample takes; kernels are computed tile by tile."""
        return 32 * min(self.n_neighbors, self.m) + 16 * int(self.landmarks.shape[1])

    def rows(self, new: Views) -> sparse.csr_array:
        """Return B (n, m), the affinities of samples to their nearest landmarks; rows sum to one.

        The row of a sample that is similar to no landmark is 0: it is as far from all of them.
        """
        (scaling,) = self.version.scalings.values()
        return self.joined(scaling.transform(new.tables[0]).astype(self.dtype, copy=False), similar=True)

    def joined(self, scaled: Samples, *, similar: bool = False) -> sparse.csr_array:
        """Return B of scaled samples, computed tile by tile; with `similar`, rows of those like no landmark are 0."""
        n, k = scaled.shape[0], min(self.n_neighbors, self.m)
        size = max(64, _TILE_BYTES // (self.m * self.dtype.itemsize))
        own, theirs = (weighted_diagonal(self.bank.kernels, self.weights, X) for X in (scaled, self.landmarks))
        columns, values = np.empty((n, k), dtype=np.int32), np.empty((n, k))
        for i in range(0, n, size):
            pair = Pair(scaled[i : i + size], self.landmarks)
            near = None if self.n_compared == self.m else nearest_rows(pair, self.n_compared)
            D = self.bank.weighted(pair, self.weights) if near is None else self.consensus_at(pair, near)
            alone = unlike_all(D, own[i : i + size]) if similar else np.zeros(len(D), dtype=bool)
            D *= -2
            D += own[i : i + size, None]
            D += theirs if near is None else theirs[near]
            np.maximum(D, 0, out=D)
            J, least = nearest_columns(D, k)
            columns[i : i + size] = J if near is None else np.take_along_axis(near, J, axis=1)
            values[i : i + size] = np.where(alone[:, None], 0, relative_affinity(least))
        indptr = np.arange(0, n * k + 1, k, dtype=np.int32)
        return sparse.csr_array((values.ravel(), columns.ravel(), indptr), shape=(n, self.m))

    def consensus_at(self, pair: Pair, columns: NDArray[np.int32]) -> Matrix:
        """Return Σ p_i H_i of scaled samples and the landmarks at these columns, for kernels of products."""
        inner, sqdist = (np.take_along_axis(values, columns, axis=1) for values in (pair.inner, pair.sqdist))
        products = Products(inner, sqdist, pair.x, pair.y[0][columns])
        K = weighted_products(self.bank.kernels, self.weights, products, _refused)
        if not np.isfinite(K.sum()):
            self.bank.weighted(pair, self.weights)  # refuses the kernel by its name
        return K


def nearest_rows(pair: Pair, k: int) -> NDArray[np.int32]:
    """Return the k rows of Y nearest to every row of X by Euclidean distance, in ascending order."""
    return np.sort(nearest_columns(pair.sqdist.copy(), k)[0], axis=1)


def _refused(kernel: Kernel) -> Matrix:
    msg = f"{kernel} is not a function of products, so it has to be compared with all landmarks."
    raise TypeError(msg)


def default_landmarks(n: int, n_clusters: int) -> int:
    """Return the number of landmarks for n samples: 1000, 20 per cluster if that is more, at most a quarter of n."""
    return min(n, max(min(max(_LANDMARKS, 20 * n_clusters), n // 4), n_clusters))


def sample_size(m: int) -> int:
    """Return the size of the sample to learn from: 20 rows per landmark, at least 10,000."""
    return max(_PER_LANDMARK * m, _LEAST_SAMPLE)


def landmark_memory(
    n_features: int, m: int, r: int, itemsize: int, *, n: int, c: int, n_numbers: int | None = None
) -> int:
    """Return about how many bytes a fit needs in addition to X: sample, kernels, m x m sums, chunks, results.

    `n_numbers` is how many numbers the n samples hold, None if there is one for every feature.
    """
    n_numbers = n * n_features if n_numbers is None else n_numbers
    sample = min(n, sample_size(m)) * n_numbers * (2 * itemsize + 4) // max(n, 1)
    weighing = (2 * itemsize + 4) * min(n, _WEIGHED) ** 2 + 3 * r * _TILE**2 * 4
    learning = sample + max(weighing, 4 * 8 * m**2) + _CENTRES * m * n_features * 4
    return learning + 6 * 16 * 2**20 + n * (4 + 8 * c)


def learn_clusters(settings: Settings, m: int, sample: Sample, task: ClusterTask) -> tuple[GraphModel, Vector]:
    """Return the graph with the landmarks' coordinates Q and the centres of clusters, and eigenvalues of its Laplacian.

    The centres are those of k-means on the sample's rows of BQ. The eigenvalues are those of I - B diag(e)^-1 B',
    ascending: all degrees are 1.
    """
    from sklearn.cluster import KMeans

    graph = learn_graph(settings, m, sample)
    c, q = int(task.n_clusters), task.n_components or int(task.n_clusters)
    if max(c, q) > graph.m:
        msg = (
            f"{max(c, q)} clusters or components need as many distinct landmarks; got {graph.m}: raise n_landmarks, or "
            "ask for fewer if X has no more distinct samples."
        )
        raise InvalidInputError(msg)
    X, K = sample.views.tables[0], graph.bank.weighted(Pair(graph.landmarks), graph.weights)
    BB = bipartite_sums(graph.joined(X[i : i + _BLOCK]) for i in range(0, X.shape[0], _BLOCK))
    BB = join_pieces(sparse.csr_array(BB), Affinity(K)).toarray()
    values, Q = landmark_embedding(BB, max(q, min(2, graph.m)))  # a single component is not the constant one
    Q = Q[:, -q:]
    kmeans = KMeans(c, n_init=task.n_init, random_state=np.random.RandomState(settings.seed))
    kmeans.fit(unit_rows(graph.joined(X) @ Q))
    centres = Centres(kmeans.cluster_centers_, np.ones(c, dtype=np.intp), unit=True)
    return GraphModel(graph, Q, centres=centres), 1 - values


def learn_classes(
    settings: Settings, m: int, sample: Sample, codes: Labels, shares: tuple[float, float], task: LabelTask
) -> GraphModel:
    """Return the graph and the landmarks' label scores, from the codes of the sample; `shares` as in `class_sums`."""
    graph = learn_graph(settings, m, sample)
    blocks = (slice(i, i + _BLOCK) for i in range(0, len(codes), _BLOCK))
    parts = ((graph.joined(sample.views.tables[0][rows]), codes[rows]) for rows in blocks)
    sums = class_sums(parts, task.n_classes, shares)
    U = landmark_classes(sums, harmonic=task.propagation == "harmonic", class_mass=task.class_mass)
    return GraphModel(graph, U, U)


def learn_graph(settings: Settings, m: int, sample: Sample) -> LandmarkRows:
    """Return m landmarks, fewer if the sample has fewer distinct rows, and the kernels' shares."""
    rng = np.random.RandomState(settings.seed)
    scaled, version = sample.views.tables[0], sample.version
    (view,) = sample.views.names
    bank = bank_of(settings.kernels, sample.views).banks[view]
    weighed = scaled[rng.permutation(scaled.shape[0])[:_WEIGHED]]
    tiles = KernelTiles(
        bank.fit_tiles(weighed), len(bank.names), weighed.shape[0], partial(check_stack, names=bank.names)
    )
    if isinstance(settings.weights, str) and settings.weights == "self":
        weights = median_weights(*kernel_moments(tiles.of(np.dtype(np.float32))))
    else:
        weights = given_weights(settings.weights, bank.names)
    del tiles  # they hold the products between samples
    landmarks = _landmarks(settings, m, scaled, version.scalings[view], rng)
    k = min(settings.n_neighbors, landmarks.shape[0])
    graph = LandmarkRows(version, bank, weights, landmarks, k, landmarks.shape[0], scaled.dtype)
    return replace(graph, n_compared=_enough(graph, weighed))


def _enough(graph: LandmarkRows, rows: Samples) -> int:
    """Return how many of the landmarks nearest to a sample hold the nearest in the kernel, or the number of all.

    Kernels need not decrease with the distance: an even polynomial is large for opposite samples too. Therefore all
    landmarks are compared with some samples. The nearest in the kernel have to be among the first three quarters.
    """
    J = graph.joined(rows).indices.reshape(rows.shape[0], -1)
    zero = np.zeros((1, 1))
    if any(kernel.of_products(Products(zero, zero, zero, zero)) is None for kernel in graph.bank.kernels):
        return graph.m
    rank = Pair(rows, graph.landmarks).sqdist.argsort(axis=1, kind="stable").argsort(axis=1)
    farthest = int(np.take_along_axis(rank, J, axis=1).max()) + 1
    return next((enough for enough in _COMPARED if farthest <= 0.75 * enough and enough < graph.m / 2), graph.m)


def _landmarks(settings: Settings, m: int, scaled: Samples, scaling: Scaling, rng: np.random.RandomState) -> Samples:
    """Return the landmarks (m, n_features), scaled like the samples."""
    from sklearn.cluster import KMeans

    how = settings.landmarks
    if not isinstance(how, str):
        return scaling.transform(np.asarray(how, dtype=np.float64)).astype(scaled.dtype)
    if how == "random":
        return scaled[np.sort(rng.permutation(scaled.shape[0])[:m])]
    model = KMeans(m, init="random", n_init=1, max_iter=_KMEANS_STEPS, random_state=rng)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # fewer distinct rows than landmarks: copies are removed below
        raw = scaling.method == "none" and scaling.unit is None  # may be large, or far from the origin
        model.fit(scaled if raw else scaled.astype(np.float32, copy=False))
    centres = np.unique(model.cluster_centers_, axis=0)
    return (unit_rows(centres) if scaling.method == "unit" else centres).astype(scaled.dtype)


def landmark_classes(sums: Matrix, *, harmonic: bool, class_mass: bool) -> Matrix:
    """Return U, the label scores of the landmarks, from [BB_u | BB_l | BY], `harmonic` or by LGC.

    By LGC the labels of all classes have the same mass, as in `consistent_scores`: all degrees are 1 here.
    """
    m = len(sums)
    BB_u, BB_l, BY = sums[:, :m], sums[:, m : 2 * m], sums[:, 2 * m :]
    e = BB_u.sum(axis=1) + BB_l.sum(axis=1)
    if harmonic:
        U = bipartite_harmonic(BB_u, e, BY)
    else:
        U = bipartite_harmonic(BB_u + BB_l, e, BY * equal_mass(BY.sum(axis=0)), alpha=LGC_SHARE)
    if class_mass:
        mass, expected = BB_u.sum(axis=1) @ U, BY.sum(axis=0)
        U = U * np.divide(expected, mass, out=np.zeros_like(mass), where=mass > 0)
    return np.asarray(U)
