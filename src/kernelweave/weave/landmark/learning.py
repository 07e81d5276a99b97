"""What is learned on a sample of the rows: the scale, the kernels' shares, the landmarks, and values at these.

Each sample is joined to its nearest landmarks in the consensus kernel. Sums over the sample's part of that graph give
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

from kernelweave._types import Dtype, HasShape, Matrix, Samples, Vector, WeightsLike
from kernelweave.core.consensus.self_weighted import KernelTiles, kernel_moments, median_weights
from kernelweave.core.graphs.affinity import Affinity, join_pieces
from kernelweave.core.graphs.bipartite import (
    bipartite_harmonic,
    bipartite_sums,
    landmark_embedding,
    nearest_columns,
    relative_affinity,
)
from kernelweave.core.graphs.coordinates import unit_rows
from kernelweave.core.graphs.propagation import LGC_SHARE
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Kernel, KernelBank
from kernelweave.kernels.bank import check_stack, weighted_products
from kernelweave.kernels.base import Pair, Products, row_sqnorms, with_itself
from kernelweave.samples.magnitudes import cast
from kernelweave.samples.scaling import Scale, Scaling, Version, fit_by_view, shrunk
from kernelweave.samples.views import Views
from kernelweave.weave.plan import Propagation

__all__ = [
    "LandmarkRows",
    "LandmarksLike",
    "Settings",
    "block_sums",
    "class_sums",
    "default_landmarks",
    "landmark_classes",
    "landmark_clusters",
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
_TILE_BYTES = 2**20  # of one kernel with all landmarks, so that several of them fit in the processor's cache
_COMPARED = (16, 32, 64)  # landmarks nearest to a sample, of which the nearest in the kernel are found
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
    dtype: Dtype = None
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
        """Return B (n, m), the affinities of samples to their nearest landmarks; rows sum to one."""
        J, B = self.joined(new.tables[0])
        indptr = np.arange(0, J.size + 1, J.shape[1], dtype=np.int32)
        return sparse.csr_array((B.ravel().astype(np.float64), J.ravel(), indptr), shape=(len(J), self.m))

    def joined(self, rows: Samples) -> tuple[NDArray[np.int32], Matrix]:
        """Return the columns J of the nearest landmarks of samples, and the affinities B, computed tile by tile."""
        rows = self.version.scalings["X"].transform(rows).astype(self.dtype, copy=False)
        size = max(64, _TILE_BYTES // (self.m * self.dtype.itemsize))
        own, theirs = self.diagonal(rows), self.diagonal(self.landmarks)
        columns, values = [], []
        for i in range(0, rows.shape[0], size):
            pair = Pair(rows[i : i + size], self.landmarks)
            near = None if self.n_compared == self.m else nearest_rows(pair, self.n_compared)
            D = self.bank.weighted(pair, self.weights) if near is None else self.consensus_at(pair, near)
            D *= -2
            D += own[i : i + size, None]
            D += theirs if near is None else theirs[near]
            np.maximum(D, 0, out=D)
            J, least = nearest_columns(D, min(self.n_neighbors, self.m))
            columns.append(J if near is None else np.take_along_axis(near, J, axis=1))
            values.append(relative_affinity(least))
        return np.concatenate(columns), np.concatenate(values)

    def consensus_at(self, pair: Pair, columns: NDArray[np.int32]) -> Matrix:
        """Return Σ p_i H_i of scaled samples and the landmarks at these columns, for kernels of products."""
        inner, sqdist = (np.take_along_axis(values, columns, axis=1) for values in (pair.inner, pair.sqdist))
        products = Products(inner, sqdist, pair.x, pair.y[0][columns])
        K = weighted_products(self.bank.kernels, self.weights, products, _refused)
        if not np.isfinite(K.sum()):
            self.bank.weighted(pair, self.weights)  # refuses the kernel by its name
        return K

    def diagonal(self, rows: Samples) -> Vector:
        """Return Σ p_i k_i(x, x) of scaled samples."""
        own = with_itself(row_sqnorms(rows))
        return weighted_products(self.bank.kernels, self.weights, own, lambda kernel: kernel.diag(rows))


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
    version = shrunk(fit_by_view(views, settings.scale))
    scaling = version.scalings["X"]
    # single precision is enough for samples of unit length or deviation, and twice as fast; others may have large means
    dtype = np.dtype(settings.dtype or (sample.dtype if scaling.method == "none" else np.float32))
    scaled = cast(scaling.transform(sample), dtype, "X", copy=False)
    bank, r = settings.bank, len(settings.bank.names)
    weighed = scaled[rng.permutation(scaled.shape[0])[:_WEIGHED]]
    tiles = KernelTiles(bank.fit_tiles(weighed), r, weighed.shape[0], partial(check_stack, names=bank.names))
    weights: Vector
    if not isinstance(settings.weights, str):
        weights = np.asarray(settings.weights, dtype=np.float64)
    elif settings.weights == "uniform":
        weights = np.full(r, 1 / r)
    else:
        weights = median_weights(*kernel_moments(tiles.of(np.dtype(np.float32))))
    del tiles  # they hold the products between samples
    landmarks = _landmarks(settings, scaled, scaling, rng)
    k = min(settings.n_neighbors, landmarks.shape[0])
    graph = LandmarkRows(version, bank, weights, landmarks, k, landmarks.shape[0], dtype)
    return replace(graph, n_compared=_enough(graph, weighed))


def _enough(graph: LandmarkRows, rows: Samples) -> int:
    """Return how many of the landmarks nearest to a sample hold the nearest in the kernel, or the number of all.

    Kernels need not decrease with the distance: an even polynomial is large for opposite samples too. Therefore all
    landmarks are compared with some samples. The nearest in the kernel have to be among the first three quarters.
    """
    pair, theirs = Pair(rows, graph.landmarks), graph.diagonal(graph.landmarks)
    K = graph.bank.weighted(pair, graph.weights)
    zero = np.zeros((1, 1), dtype=K.dtype)
    if any(kernel.of_products(Products(zero, zero, zero, zero)) is None for kernel in graph.bank.kernels):
        return graph.m
    D = theirs - 2 * K
    J, _ = nearest_columns(D, graph.n_neighbors)
    rank = pair.sqdist.argsort(axis=1, kind="stable").argsort(axis=1)
    farthest = int(np.take_along_axis(rank, J, axis=1).max()) + 1
    return next((enough for enough in _COMPARED if farthest <= 0.75 * enough and enough < graph.m / 2), graph.m)


def _landmarks(settings: Settings, scaled: Samples, scaling: Scaling, rng: np.random.RandomState) -> Samples:
    """Return the landmarks (m, n_features), scaled like the samples."""
    from sklearn.cluster import KMeans

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
    J, B = graph.joined(rows)
    return bipartite_sums(J, B, graph.m)


def class_sums(graph: LandmarkRows, block: tuple[Samples, NDArray[np.intp], tuple[float, float], int]) -> Matrix:
    """Return [BB_u | BB_l | BY], BY = B_l'Y_l, of a block of the sample, scaled to the rows that it represents."""
    rows, codes, (share_l, share_u), n_classes = block
    J, B = graph.joined(rows)
    known = codes >= 0
    BY = np.zeros((graph.m, n_classes))
    np.add.at(BY, (J[known], codes[known, None]), B[known])
    BB_u, BB_l = bipartite_sums(J[~known], B[~known], graph.m), bipartite_sums(J[known], B[known], graph.m)
    return np.hstack([share_u * BB_u, share_l * BB_l, share_l * BY])


def landmark_clusters(
    graph: LandmarkRows, BB: Matrix, sample: Samples, n_clusters: int, n_components: int, n_init: int, seed: int
) -> tuple[Vector, Matrix, Matrix]:
    """Return eigenvalues, the landmarks' coordinates Q, and the centres of k-means on the sample's rows of BQ."""
    from sklearn.cluster import KMeans

    wanted = max(n_clusters, n_components)
    if wanted > graph.m:
        msg = f"{wanted} clusters or components need as many distinct landmarks; got {graph.m}: raise n_landmarks."
        raise InvalidInputError(msg)
    B = graph.rows(Views.of_table(sample))
    K = graph.bank.weighted(Pair(graph.landmarks), graph.weights)
    joined = join_pieces(sparse.csr_array(BB), Affinity(K))
    # a single component is not the constant one
    values, Q = landmark_embedding(joined.toarray(), max(n_components, min(2, graph.m)))
    Q = Q[:, -n_components:]
    rows = unit_rows(B @ Q)
    kmeans = KMeans(n_clusters, n_init=n_init, random_state=np.random.RandomState(seed)).fit(rows)
    return values, Q, kmeans.cluster_centers_


def landmark_classes(sums: Matrix, n_classes: int, method: Propagation, class_mass: bool) -> Matrix:
    """Return U, the label scores of the landmarks, from [BB_u | BB_l | BY] with BY = B_l'Y_l."""
    m = len(sums)
    BB_u, BB_l, BY = sums[:, :m], sums[:, m : 2 * m], sums[:, 2 * m :]
    e = BB_u.sum(axis=1) + BB_l.sum(axis=1)
    damped = method == "lgc"
    U = bipartite_harmonic(BB_u + BB_l if damped else BB_u, e, BY, alpha=LGC_SHARE if damped else 1.0)
    if class_mass:
        mass, expected = BB_u.sum(axis=1) @ U, BY.sum(axis=0)
        U = U * np.divide(expected, mass, out=np.zeros_like(mass), where=mass > 0)
    return np.asarray(U)
