"""The practical default: one sparse graph from the self-weighted consensus of kernels, to cluster or classify with."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin

from kernelweave.core.labels import class_mass_normalised, harmonic, reached
from kernelweave.errors import InvalidInputError
from kernelweave.estimators._agreement import co_association, membership, merge
from kernelweave.estimators._input import kernel_stack
from kernelweave.estimators._run import threads
from kernelweave.estimators._transductive import TransductiveClassifier
from kernelweave.estimators._weave import WeaveEstimator, one_of
from kernelweave.estimators._weave_auto import candidate_partitions, perturbed_graphs
from kernelweave.estimators._weave_consensus import draw_members, member_partitions
from kernelweave.estimators._weave_partition import EMBEDDINGS, cluster, embedded, sample_order, spectrum, wide
from kernelweave.estimators._weave_tiles import KernelTiles
from kernelweave.select import cluster_evidence

__all__ = ["WeaveClassifier", "WeaveClustering"]


class WeaveClustering(ClusterMixin, WeaveEstimator):
    r"""Clusters from one sparse graph of the consensus of several kernels, with nothing to tune.

    The consensus is the geometric median of the kernels, the graph its ridge representation, cut to the largest
    entries of each row, and the clusters those of k-means on the bottom eigenvectors of the graph's Laplacian:

    .. math:: K = \arg\min_K \sum_i \|H_i - K\|_F, \qquad
              Z = \arg\min_Z \mathrm{Tr}(K - 2KZ + Z^\top K Z) + g \|Z\|_F^2 = I - g (K + g I)^{-1}, \qquad
              P = \arg\min_{P^\top P = I} \mathrm{Tr}(P^\top L P),

    with :math:`g = \gamma\,\mathrm{Tr}(K)/n` and L the Laplacian of the `n_neighbors` largest positive entries of
    each row of Z. These are the steps of SMKL without their loop; on labelled data sets the loop brought nothing.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        The number of clusters. "auto" chooses the smallest number, up to 50 and n_samples / 8, that is nearly best in
        modularity · √stability of the graph's partitions; `cluster_evidence_` shows it. On data sets with known
        classes it is rarely exact: see docs/label-free.md for how far off to expect it.
    kernels : str, KernelBank, list or dict of kernels, default="released-12"
        A recipe ("released-12", "released-7", "printed-12", "printed-7"), kernels of your own, or "precomputed":
        then `fit` takes kernel matrices.
    scale : {"auto", "unit", "zscore", "none"}, default="auto"
        What happens to the samples before the kernels see them: rows at unit length, columns standardised, or
        nothing. "auto" decides from the data and says in `scaling_` what it chose and why.
    weights : {"self", "uniform"} or array of shape (n_kernels,), default="self"
        The shares of the kernels in the consensus: large for kernels near it and next to nothing for kernels that
        follow no other ("self"), equal, or your own.
    graph : {"ridge", "knn", "both"}, default="ridge"
        How two samples are joined: by the ridge representation above; by the distance between them in the consensus
        kernel, in units of the distances of both to their seventh neighbours; or by the sum of both, the first with
        twice and the second with half as many neighbours, in equal parts.
    gamma : float, default=0.1
        The ridge, relative to the mean diagonal of the consensus kernel.
    n_neighbors : int, default=10
        How many entries each row of the graph keeps, before it is made symmetric.
    embedding : {"merged", "raw", "soft", "unit", "commute"}, default="merged"
        What k-means clusters: eigenvectors as they are ("raw"), their rows divided by the root of their length
        ("soft"), rows of unit length, or eigenvectors divided by the roots of their eigenvalues, whose distances are
        commute times. "merged" clusters all of these, and commute times of half as many eigenvectors again, and
        merges what the five partitions agree on by average linkage.
    n_components : int or None, default=None
        The number of eigenvectors; None takes `n_clusters`.
    consensus : bool, default=False
        Cluster 24 graphs under perturbed weights, gamma and n_neighbors, each in three embeddings, and merge what
        the partitions agree on. Slower, somewhat better, and it tells how sure each sample is.
    n_init : int, default=10
        How often k-means starts; the best partition is kept. A third as often for each embedding that is merged.
    random_state : int, RandomState or None, default=None
        Seed of k-means and of the perturbations.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`, or processes if `consensus`: None leaves them as they are, -1
        takes every core.
    verbose : int, default=0
        1 writes what was chosen and found to the standard error stream.
    dtype : {None, "float32", "float64"}, default=None
        The precision of the kernels and the graph; None takes that of the data.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of every sample.
    n_clusters_ : int
        The number of clusters, as given or as chosen.
    cluster_evidence_ : ClusterEvidence
        If n_clusters is "auto": what spoke for each number.
    kernel_weights_, kernel_shares_ : array of shape (n_kernels,)
        The shares of the kernels in the consensus; they sum to one.
    kernel_names_ : tuple of str
        The kernels' names in the order of the weights.
    graph_ : sparse array of shape (n_samples, n_samples)
        The graph, joined where it fell into pieces.
    consensus_kernel_ : array of shape (n_samples, n_samples)
        The consensus of the kernels.
    embedding_ : array of shape (n_samples, n_components)
        The rows that k-means clustered; eigenvectors as they are if several embeddings were merged.
    eigenvalues_ : array
        The smallest eigenvalues of the graph's Laplacian, in units of the mean degree.
    scaling_ : Scaling
        What was done to the samples, and why; not with precomputed kernels.
    co_association_ : array of shape (n_samples, n_samples)
        With `consensus`: the share of the partitions that put two samples together.
    confidence_ : array of shape (n_samples,)
        With `consensus`: how much of a sample's co-association goes to its own cluster, from 0 to 1.
    n_features_in_ : int
        The number of features seen in `fit`; of samples, if kernels are "precomputed".

    See Also
    --------
    SMKLClustering : The paper's model, with its loop.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave import WeaveClustering
    >>> X, y = load_iris(return_X_y=True)
    >>> model = WeaveClustering(n_clusters=3, random_state=0).fit(X)
    >>> model.labels_.shape, model.scaling_.method
    ((150,), 'none')
    """

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        kernels: Any = "released-12",
        scale: str = "auto",
        weights: Any = "self",
        graph: str = "ridge",
        gamma: float = 0.1,
        n_neighbors: int = 10,
        embedding: str = "merged",
        n_components: int | None = None,
        consensus: bool = False,
        n_init: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        dtype: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.scale = scale
        self.weights = weights
        self.graph = graph
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.embedding = embedding
        self.n_components = n_components
        self.consensus = consensus
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.dtype = dtype

    def fit(self, X: Any, y: Any = None) -> Self:
        """Weave the graph and cluster the samples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The samples; or kernel matrices, if kernels are "precomputed": an array of shape (r, n, n), a list or
            dict of (n, n), or one (n, n).
        y : ignored
            There for scikit-learn's convention.

        Returns
        -------
        self
        """
        one_of("embedding", self.embedding, EMBEDDINGS)
        random_state = self._begin()
        with threads(self.n_jobs):
            tiles = self._read_kernels(X)
            if self.n_clusters != "auto" and self.n_clusters > tiles.n_samples:
                msg = f"n_clusters={self.n_clusters} is more than the n_samples={tiles.n_samples} given."
                raise InvalidInputError(msg)
            self._combine(tiles)
            if not self.consensus:
                tiles = None  # with it go the products between samples, twice the size of the kernel
            self._weave(join=True)
            self.n_clusters_ = self._count_clusters(random_state)
            m = self.n_components or self.n_clusters_
            self.eigenvalues_, P = spectrum(self.graph_, wide(m) + 1)
            self.embedding_ = embedded(self.eigenvalues_, P, self.embedding, m)
            if self.consensus:
                self._merge(tiles, sample_order(P), random_state)
            else:
                self.labels_ = cluster(
                    self.eigenvalues_,
                    P,
                    self.embedding,
                    m,
                    self.n_clusters_,
                    n_init=self.n_init,
                    random_state=random_state,
                )
        return self

    def _numbers(self) -> dict[str, Any]:
        numbers = super()._numbers()
        if isinstance(self.n_clusters, str):
            one_of("n_clusters, if not a number,", self.n_clusters, ("auto",))
            del numbers["n_clusters"]
        return numbers

    def _count_clusters(self, random_state: np.random.RandomState) -> int:
        """Return the number of clusters, as given or as the graph and two perturbed ones suggest."""
        if self.n_clusters != "auto":
            return int(self.n_clusters)
        graphs = perturbed_graphs(
            self.graph_, self.consensus_kernel_, graph=self.graph, gamma=self.gamma, n_neighbors=self.n_neighbors
        )
        evidence = cluster_evidence(self.graph_, candidate_partitions(graphs, random_state))
        self._say(f"number of clusters: {evidence.chosen}, of {evidence.n_clusters[0]} to {evidence.n_clusters[-1]}")
        self.cluster_evidence_ = evidence
        return evidence.chosen

    def _merge(self, tiles: KernelTiles, order: NDArray[np.intp], random_state: np.random.RandomState) -> None:
        """Cluster perturbed graphs and keep what they agree on; ties are broken in the given order of the samples."""
        members = draw_members(
            self.kernel_shares_, gamma=self.gamma, n_neighbors=self.n_neighbors, random_state=random_state
        )
        partitions = member_partitions(
            tiles,
            members,
            self.n_clusters_,
            graph=self.graph,
            n_jobs=self.n_jobs,
            watch=lambda i: self._say(f"consensus: graph {i} of {len(members)}"),
        )
        self.co_association_ = co_association(partitions)
        self.labels_ = np.empty(len(order), dtype=np.int32)
        self.labels_[order] = merge(self.co_association_[np.ix_(order, order)], self.n_clusters_)
        self.confidence_ = membership(self.co_association_, self.labels_)[np.arange(len(order)), self.labels_]


class WeaveClassifier(TransductiveClassifier, WeaveEstimator):
    r"""Classes from a few labels on one sparse graph of the consensus of several kernels, with nothing to tune.

    The graph is that of `WeaveClustering`; the label scores P are harmonic on it:

    .. math:: \min_P \mathrm{Tr}(P^\top L P) \quad \text{s.t. } P_l = Y_l.

    By default the graph sums the ridge representation and a plain neighbour graph, see the parameter `graph`.

    Parameters
    ----------
    kernels : str, KernelBank, list or dict of kernels, default="released-12"
        As in `WeaveClustering`.
    scale : {"auto", "unit", "zscore", "none"}, default="auto"
        What happens to the samples before the kernels see them, see `WeaveClustering`.
    weights : {"self", "uniform"} or array of shape (n_kernels,), default="self"
        The shares of the kernels in the consensus, see `WeaveClustering`.
    graph : {"ridge", "knn", "both"}, default="both"
        How two samples are joined, see `WeaveClustering`.
    gamma : float, default=0.1
        The ridge, relative to the mean diagonal of the consensus kernel.
    n_neighbors : int, default=10
        How many entries each row of the graph keeps, before it is made symmetric.
    class_mass : bool, default=False
        Scale the scores so that the classes take the shares that they have among the labelled samples (class mass
        normalisation of Zhu, Ghahramani and Lafferty). It helps with few labels drawn at random, and harms where
        classes of different size were given equally many labels.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None leaves them as they are, -1 takes every core.
    verbose : int, default=0
        1 writes what was chosen and found to the standard error stream.
    dtype : {None, "float32", "float64"}, default=None
        The precision of the kernels and the graph; None takes that of the data.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels.
    transduction_ : array of shape (n_samples,)
        The class of every sample of `fit`, given or inferred.
    label_distributions_ : array of shape (n_samples, n_classes)
        The probability of every class for every sample of `fit`.
    undecided_ : array of bool of shape (n_samples,)
        Which samples no label reaches on the graph; their distribution is uniform.
    graph_ : sparse array of shape (n_samples, n_samples)
        The graph.
    embedding_ : array of shape (n_samples, n_classes)
        The harmonic label scores P; known labels are one-hot.
    kernel_weights_, kernel_shares_, kernel_names_, consensus_kernel_, scaling_, n_features_in_
        As in `WeaveClustering`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave import WeaveClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> y[5::10] = y[7::10] = -1  # unlabelled
    >>> WeaveClassifier().fit(X, y).predict(X[5:8])
    array([0, 0, 0])
    """

    def __init__(
        self,
        *,
        kernels: Any = "released-12",
        scale: str = "auto",
        weights: Any = "self",
        graph: str = "both",
        gamma: float = 0.1,
        n_neighbors: int = 10,
        class_mass: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        dtype: Any = None,
    ) -> None:
        self.kernels = kernels
        self.scale = scale
        self.weights = weights
        self.graph = graph
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.class_mass = class_mass
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.dtype = dtype

    def fit(self, X: Any, y: Any) -> Self:
        """Weave the graph and infer the classes of the unlabelled samples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Labelled and unlabelled samples in any order; or kernel matrices, if kernels are "precomputed": an
            array of shape (r, n, n), a list or dict of (n, n), or one (n, n).
        y : array of shape (n_samples,)
            The class of every labelled sample, and -1 for the unlabelled ones.

        Returns
        -------
        self
        """
        self._check_parameters()
        with threads(self.n_jobs):
            tiles = self._read_kernels(X)
            Y, labelled = self._read_labels(y, tiles)
            self._combine(tiles)
            del tiles  # with it go the products between samples, twice the size of the kernel
            self._weave(join=False)
            self.embedding_ = harmonic(self.graph_, Y, labelled)
        scores = class_mass_normalised(self.embedding_, labelled) if self.class_mass else self.embedding_
        self._keep_labels(scores, ~reached(self.graph_, labelled))
        self._remember(X, kernel_stack(X)[0] if self._precomputed else self.consensus_kernel_)
        return self
