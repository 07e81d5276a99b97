"""WeaveClustering: clusters from one sparse graph of the self-weighted consensus of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from kernelweave.core.graphs.membership import memberships
from kernelweave.core.partitions.agreement import co_association, membership, merge
from kernelweave.errors import InvalidInputError
from kernelweave.estimators._input import check_n_clusters, kernel_stack
from kernelweave.estimators._new_samples import PredictsClusters
from kernelweave.estimators._run import threads
from kernelweave.estimators._weave import WeaveEstimator, one_of
from kernelweave.estimators._weave_auto import Spectra, candidate_partitions, perturbed_graphs
from kernelweave.estimators._weave_consensus import draw_members, member_partitions
from kernelweave.estimators._weave_landmark import keep_landmark_model, landmark_labels, landmark_options
from kernelweave.estimators._weave_local import fit_local
from kernelweave.estimators._weave_local_answers import (
    local_clusters,
    local_embedding,
    local_graphs,
    local_spectrum,
)
from kernelweave.estimators._weave_partition import EMBEDDINGS, cluster, embedded, sample_order, spectrum, wide
from kernelweave.estimators._weave_tiles import KernelTiles
from kernelweave.select import cluster_evidence

__all__ = ["WeaveClustering"]


class WeaveClustering(ClusterMixin, PredictsClusters, WeaveEstimator):
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
        then `fit` takes kernel matrices. With several views a dict may give each its own, by the names of the
        views: ``{"words": Cosine(), "links": "released-7"}``; anything else goes for every view.
    views : dict of columns, default=None
        The columns of each view in one X, by name: slices, positions, names of columns or masks, such as
        ``{"words": slice(0, 500), "links": slice(500, None)}``; every view gets its own kernels. Not with several
        tables, which are views by themselves.
    scale : {"auto", "unit", "zscore", "none"} or dict, default="auto"
        What happens to the samples before the kernels see them: rows at unit length, columns standardised, or
        nothing. "auto" decides from the data and says in `scaling_` what it chose and why. Every view is
        scaled for itself; a dict gives each its method.
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
    embedding : {"auto", "merged", "raw", "soft", "unit", "commute"}, default="auto"
        What k-means clusters: eigenvectors as they are ("raw"), their rows divided by the root of their length
        ("soft"), rows of unit length, or eigenvectors divided by the roots of their eigenvalues, whose distances are
        commute times. "merged" clusters all of these, and commute times of half as many eigenvectors again, and
        merges what the five partitions agree on by average linkage, which takes a matrix of all pairs. "auto" is
        "merged" up to 5000 samples, and "unit" above.
    n_components : int or None, default=None
        The number of eigenvectors; None takes `n_clusters`.
    consensus : bool, default=False
        Cluster 24 graphs under perturbed weights, gamma and n_neighbors, each in three embeddings, and merge what
        the partitions agree on. Slower, somewhat better, and it tells how sure each sample is.
    n_init : int, default=10
        How often k-means starts; the best partition is kept. A third as often for each embedding that is merged.
    random_state : int, RandomState or None, default=None
        Seed of k-means and of the perturbations.
    solver : {"auto", "dense", "local", "landmark"}, default="auto"
        How the graph is woven. "dense": as above, from n x n kernels, up to some thousand samples. "local": every
        sample against its nearest neighbours only, up to about a million samples. "landmark": through a few
        landmarks, linear in n and in one pass over the data. "auto" takes the first of these that fits the samples
        and the memory; `solver_` says which, and why.
    n_candidates : int or None, default=None
        With "local": how many nearest neighbours each sample is compared with; None takes 60 up to 5000 samples, and
        15 above, but not fewer than one and a half times `n_neighbors`.
    n_landmarks : int or None, default=None
        With "landmark": how many landmarks; None takes 1000, or fewer for few samples.
    landmarks : {"kmeans", "random"} or array of shape (n_landmarks, n_features), default="kmeans"
        With "landmark": centres of k-means, samples drawn at random, or your own.
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
    view_names_, view_shares_, kernel_views_
        If there are views: their names, the share of each in the consensus, and the view of every kernel.
    graph_ : sparse array of shape (n_samples, n_samples)
        The graph, joined where it fell into pieces.
    consensus_kernel_ : array of shape (n_samples, n_samples)
        The consensus of the kernels.
    embedding_ : array of shape (n_samples, n_components)
        The rows that k-means clustered; eigenvectors as they are if several embeddings were merged.
    eigenvalues_ : array
        The smallest eigenvalues of the graph's Laplacian, in units of the mean degree.
    scaling_ : Scaling
        What was done to the samples, and why; a dict with several views; not with precomputed kernels.
    co_association_ : array of shape (n_samples, n_samples)
        With `consensus`: the share of the partitions that put two samples together.
    membership_ : array of shape (n_samples, n_clusters)
        How far every sample belongs to every cluster: by the votes of its neighbours and by its place in the embedding;
        with `consensus` by its co-association with the members. Not with the solver "landmark".
    confidence_ : array of shape (n_samples,)
        The membership of every sample in its own cluster.
    margin_ : array of shape (n_samples,)
        The same less the largest membership in another cluster.
    solver_ : SolverChoice
        The `name` of the solver that was taken, and the `reason`.
    neighbor_recall_ : float
        With "local": the share of each sample's true neighbours among its candidates, 1 where the search was exact.
    landmarks_ : array of shape (n_landmarks, n_features)
        With "landmark": the landmarks. `graph_` and `embedding_` do not exist then, nor does `consensus_kernel_`
        with "local" or "landmark".
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
        views: Any = None,
        scale: str = "auto",
        weights: Any = "self",
        graph: str = "ridge",
        gamma: float = 0.1,
        n_neighbors: int = 10,
        embedding: str = "auto",
        n_components: int | None = None,
        consensus: bool = False,
        n_init: int = 10,
        random_state: Any = None,
        solver: str = "auto",
        n_candidates: int | None = None,
        n_landmarks: int | None = None,
        landmarks: Any = "kmeans",
        n_jobs: int | None = None,
        verbose: int = 0,
        dtype: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.views = views
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
        self.solver = solver
        self.n_candidates = n_candidates
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.dtype = dtype

    def fit(self, X: Any, y: Any = None) -> Self:
        """Weave the graph and cluster the samples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or several of them
            The samples; a dict or list of tables, or `Views`, which samples may be missing from; or kernel matrices,
            if kernels are "precomputed": an array of shape (r, n, n), a list or dict of (n, n), or one (n, n).
        y : ignored
            There for scikit-learn's convention.

        Returns
        -------
        self
        """
        one_of("embedding", self.embedding, EMBEDDINGS)
        random_state = self._begin()
        fit = {"dense": self._fit_dense, "local": self._fit_local, "landmark": self._fit_landmark}[self._choose(X)]
        with threads(self.n_jobs):
            fit(X, random_state)
        return self

    def _fit_dense(self, X: Any, random_state: np.random.RandomState) -> None:
        embedding = "merged" if self.embedding == "auto" else self.embedding
        tiles = self._read_kernels(X)
        self._check_n_clusters(tiles.n_samples)
        self._combine(tiles)
        if not self.consensus:
            tiles = None  # with it go the products between samples, twice the size of the kernel
        self._weave(join=True)
        self.n_clusters_ = self._count_clusters(self._perturbed_graphs, random_state)
        m = self.n_components or self.n_clusters_
        self.eigenvalues_, P = spectrum(self.graph_, wide(m) + 1)
        self.embedding_ = embedded(self.eigenvalues_, P, embedding, m)
        if self.consensus:
            self._merge(tiles, sample_order(P), random_state)
        else:
            self.labels_ = cluster(
                self.eigenvalues_, P, embedding, m, self.n_clusters_, n_init=self.n_init, random_state=random_state
            )
            self._keep_membership(memberships(self.graph_, self.embedding_, self.labels_, self.n_clusters_))
        self._remember(X, kernel_stack(X)[0] if self._precomputed else self.consensus_kernel_)

    def _fit_local(self, X: Any, random_state: np.random.RandomState) -> None:
        self._local, drawn = fit_local(self, X, random_state, join=True)
        n = self.graph_.shape[0]
        self._check_n_clusters(n)
        embedding = local_embedding(self.embedding, n)
        self.n_clusters_ = self._count_clusters(lambda: local_graphs(self, drawn), random_state)
        m = self.n_components or self.n_clusters_
        size = (wide(m) if embedding == "merged" else m) + 1
        self.eigenvalues_, P = local_spectrum(self, self.graph_, size, random_state)
        self.embedding_ = embedded(self.eigenvalues_, P, embedding, m)
        self.labels_ = local_clusters(
            self.eigenvalues_, P, embedding, m, self.n_clusters_, n_init=self.n_init, random_state=random_state
        )
        self._keep_membership(memberships(self.graph_, self.embedding_, self.labels_, self.n_clusters_))
        self._remember(X, None)

    def _fit_landmark(self, X: Any, random_state: np.random.RandomState) -> None:
        from kernelweave.weave.landmark import fit_landmark_clustering

        if self.n_clusters == "auto":
            msg = 'solver="landmark" does not choose a number of clusters: give n_clusters, or use solver="local".'
            raise InvalidInputError(msg)
        found = fit_landmark_clustering(
            X,
            n_clusters=self.n_clusters,
            n_components=self.n_components,
            n_init=self.n_init,
            random_state=random_state,
            **landmark_options(self),
        )
        self.n_clusters_ = int(self.n_clusters)
        self.labels_ = found.labels
        self.eigenvalues_ = found.eigenvalues
        keep_landmark_model(self, found.model)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the cluster of every sample: that of `fit` for training samples, the likeliest one for new ones.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples; or, if kernels are "precomputed", those of `fit`, or the kernels of new samples with the training
            samples: (r, m, n), a list or dict of (m, n), or one (m, n). With the solver "landmark" also what is read in
            chunks, as in `fit`.

        Returns
        -------
        array of shape (n_samples,)
            Clusters, numbered as in `labels_`. A sample that is similar to nothing is in cluster 0, with a warning.
        """
        check_is_fitted(self)
        return landmark_labels(self, X) if self.solver_.name == "landmark" else super().predict(X)

    def _check_n_clusters(self, n: int) -> None:
        if self.n_clusters != "auto":
            check_n_clusters(self.n_clusters, n)

    def _numbers(self) -> dict[str, Any]:
        numbers = super()._numbers()
        if isinstance(self.n_clusters, str):
            one_of("n_clusters, if not a number,", self.n_clusters, ("auto",))
            del numbers["n_clusters"]
        return numbers

    def _perturbed_graphs(self) -> Spectra:
        graphs = perturbed_graphs(
            self.graph_, self.consensus_kernel_, graph=self.graph, gamma=self.gamma, n_neighbors=self.n_neighbors
        )
        return graphs, spectrum

    def _count_clusters(self, perturbed: Callable[[], Spectra], random_state: np.random.RandomState) -> int:
        """Return the number of clusters, as given or as the graph and two perturbed ones suggest."""
        if self.n_clusters != "auto":
            return int(self.n_clusters)
        graphs, find = perturbed()
        evidence = cluster_evidence(self.graph_, candidate_partitions(graphs, random_state, find))
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
        self._keep_membership(membership(self.co_association_, self.labels_))
