"""NEMO: neighbourhood based multi-omics clustering, for views that lack samples."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg
from sklearn.utils._param_validation import StrOptions

from kernelweave._types import Matrix, RandomStateLike
from kernelweave.baselines._spectral_step import Init, SpectralClusterer, spectral_rows
from kernelweave.baselines.neighbour_similarity import SimilarityScheme, normal_density, pair_scales, strongest_shares
from kernelweave.baselines.view_distances import distance_bank, distances_by_view
from kernelweave.core.graphs.normalised import normalised_affinity
from kernelweave.estimators._estimator import KernelLike
from kernelweave.kernels.view_bank import Bank
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.views import Views

__all__ = ["NEMO", "count_by_eigengap", "relative_network", "relative_similarity"]

_SAMPLES_PER_NEIGHBOUR = 6
_MOST_CLUSTERS = 15  # that "auto" tries
_SHARPNESS = 0.5  # of the released similarities


class NEMO(SpectralClusterer):
    r"""Clusters of the mean relative similarity of the samples, over the views that both samples of a pair have.

    In view v, with similarities s and :math:`N_i` the `n_neighbors` samples that are most similar to i, itself
    included,

    .. math:: R^v_{ij} = \frac{s_{ij}}{\sum_{k \in N_i} s_{ik}} [j \in N_i]
              + \frac{s_{ij}}{\sum_{k \in N_j} s_{jk}} [i \in N_j],

    and R is the mean of :math:`R^v` over the views that have both i and j. Two samples without a common view get the
    mean of all pairs that have one. R is clustered by spectral clustering. Nothing is imputed, and nothing iterates.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        The number of clusters. "auto": the i from 2 to 15 with the largest :math:`i (e_{i+1} - e_i)`, where e are the
        eigenvalues of the normalised Laplacian of R, ascending.
    kernel : kernel, str or callable, default=None
        Whose distances count: None, those of the features as they are; a kernel, those of its space. "precomputed":
        `fit` takes Gram matrices. "distances": `fit` takes squared distances.
    n_neighbors : int or "auto", default="auto"
        The number of neighbours in every view, the sample itself included; "auto" is a sixth of the samples that the
        view has, and at least 2.
    scheme : {"released", "printed"}, default="released"
        The similarities. "printed": the normal density of the distance of i and j, whose variance is the mean of their
        squared distance and of the mean squared distances of i and j to their neighbours. "released": the same
        with squared distances in place of distances, and half their mean for the deviation, as the released program
        has it.
    init : {"k-means++", "released"}, default="k-means++"
        How k-means starts, as in `KernelSpectralClustering`.
    n_init : int, default=10
        How often k-means starts; the best partition is kept.
    random_state : int, RandomState or None, default=None
        Seed of k-means.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None takes one below 2000 samples and else leaves them as they are,
        -1 takes every core.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of every sample.
    n_clusters_ : int
        The number of clusters, given or found.
    n_neighbors_ : tuple of int
        The number of neighbours in every view.
    graph_ : array of shape (n_samples, n_samples)
        The mean relative similarities R.
    embedding_ : array of shape (n_samples, n_clusters)
        The rows that k-means clustered.
    view_names_, view_shares_
        The views' names, "X" for one table, and their shares, which are equal: NEMO learns no weights.
    n_features_in_ : int
        The number of features seen in `fit`, of all views together; of samples, if there are no features.

    Notes
    -----
    *Good for* views that many samples lack, such as omics measured for some patients only; the similarities of
    every view are relative, so their scales need not match. All views count alike, so a view of noise does harm.
    *Costs* little: (n, n) matrices, one for each view and a few more, a sort of their rows, and `n_clusters`
    eigenvectors ("auto": up to 16 eigenvalues more).

    The features are taken as they are; published examples standardise every column first. The released program reads
    the clusters by rotating the eigenvectors to indicators, here k-means clusters their rows.

    References
    ----------
    Rappoport, Shamir: NEMO: cancer subtyping by integration of partial multi-omic data. Bioinformatics 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave import Views
    >>> from kernelweave.baselines import NEMO
    >>> X, y = load_iris(return_X_y=True)
    >>> views = Views({"sepal": X[:, :2], "petal": X[:, 2:]}, missing={"sepal": range(0, 150, 5)})
    >>> model = NEMO(3, random_state=0).fit(views)
    >>> model.labels_.shape, model.n_neighbors_
    ((150,), (20, 25))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SpectralClusterer._parameter_constraints,
        "n_clusters": [*SpectralClusterer._parameter_constraints["n_clusters"], StrOptions({"auto"})],
        "n_neighbors": [*SpectralClusterer._parameter_constraints["n_neighbors"], StrOptions({"auto"})],
        "scheme": [StrOptions({"released", "printed"})],
    }
    _of_matrices = ("precomputed", "distances")
    _matrices: ClassVar[float] = 8.0

    n_clusters_: int
    n_neighbors_: tuple[int, ...]

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        kernel: KernelLike = None,
        n_neighbors: int | Literal["auto"] = "auto",
        scheme: SimilarityScheme = "released",
        init: Init = "k-means++",
        n_init: int = 10,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.scheme = scheme
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _build_kernels(self, samples: Views | KernelStack) -> tuple[Bank, Matrix]:
        """Return the bank, and the squared distances (v, n, n); NaN for a sample that the view lacks."""
        bank = distance_bank(self.kernel, samples)
        self._check_memory(samples, len(bank))
        parts = distances_by_view("NEMO", self.kernel, samples)
        if samples.complete:
            return bank, np.stack(parts)
        D = np.full((len(parts), samples.n_samples, samples.n_samples), np.nan, dtype=samples.dtype)
        for Dv, part, known in zip(D, parts, samples.present, strict=True):
            Dv[np.ix_(known, known)] = part
        return bank, D

    def _cluster(self, H: Matrix, names: tuple[str, ...], rng: np.random.RandomState) -> dict[str, Any]:
        D = H
        sizes = np.isfinite(D.diagonal(axis1=1, axis2=2)).sum(axis=1)
        k = tuple(_neighbours(int(size), self.n_neighbors) for size in sizes)
        R = relative_network(D, k, scheme=self.scheme)
        c = count_by_eigengap(R) if self.n_clusters == "auto" else int(self.n_clusters)
        P = spectral_rows(R, c, "njw")
        return {
            "labels_": self._rows_clustered(P, rng),
            "n_clusters_": c,
            "n_neighbors_": k,
            "graph_": R,
            "embedding_": P,
        }


def _neighbours(n: int, given: int | Literal["auto"]) -> int:
    """Return how many neighbours samples have in a view of n samples."""
    return min(n, max(2, round(n / _SAMPLES_PER_NEIGHBOUR)) if given == "auto" else int(given))


def relative_similarity(D: Matrix, k: int, *, scheme: SimilarityScheme) -> Matrix:
    """R_ij = s_ij / Σ_{N_i} s [j in N_i] + s_ij / Σ_{N_j} s [i in N_j] from squared distances D of one view."""
    E = pair_scales(D, k)
    s = normal_density(D, _SHARPNESS * E) if scheme == "released" else normal_density(np.sqrt(D), np.sqrt(E))
    shares = strongest_shares(s, k)
    return shares + shares.T


def relative_network(D: Matrix, k: tuple[int, ...], *, scheme: SimilarityScheme) -> Matrix:
    """Return the mean of R over the views that have both samples, from D (v, n, n), NaN where a sample is missing."""
    present = np.isfinite(D.diagonal(axis1=1, axis2=2))
    total = np.zeros(D.shape[1:], dtype=D.dtype)
    for Dv, known, kv in zip(D, present, k, strict=True):
        both = np.ix_(known, known)
        total[both] += relative_similarity(Dv[both], kv, scheme=scheme)
    common = present.T.astype(np.intp) @ present
    R = total / np.maximum(common, 1).astype(D.dtype)
    known = (common > 0) & ~np.eye(len(R), dtype=bool)
    R[common == 0] = R[known].mean() if known.any() else 0
    return R


def count_by_eigengap(R: Matrix) -> int:
    """Return the i from 2 to 15 with the largest i (e_{i+1} - e_i), e the eigenvalues of the normalised Laplacian."""
    n = len(R)
    W = R.astype(np.float64)
    np.fill_diagonal(W, 0)
    most = min(_MOST_CLUSTERS, n - 1)
    largest = linalg.eigvalsh(normalised_affinity(W), subset_by_index=(n - 1 - most, n - 1))
    e = 1 - largest[::-1]
    numbers = np.arange(2, most + 1)
    return int(numbers[np.argmax(numbers * np.diff(e)[1:])])
