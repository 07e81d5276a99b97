"""WeaveClustering: clusters from one sparse graph of the self-weighted consensus of kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from kernelweave._types import Dtype, Matrix, RandomStateLike, Samples, Vector, WeightsLike
from kernelweave.core.graphs.affinity import GraphKind
from kernelweave.estimators._clusterer import GraphClusterer
from kernelweave.estimators._docs import documented
from kernelweave.estimators._estimator import AT_LEAST_ONE, KernelsLike, check_n_clusters, threads
from kernelweave.estimators._weaving import CONSTRAINTS, check_parameters, choose
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.reader import ColumnsLike, SamplesLike
from kernelweave.samples.scaling import Scale, Scaling
from kernelweave.select import ClusterEvidence
from kernelweave.weave.choice import SolverChoice, SolverLike
from kernelweave.weave.plan import EmbeddingKind, Reading

__all__ = ["WeaveClustering"]


@documented
class WeaveClustering(GraphClusterer):
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
    %(kernels: number=12)
    %(weave_samples: graph=ridge)
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
    %(solver)
    %(weave_run: processes=, or processes if `consensus`)

    Attributes
    ----------
    %(memberships: elsewhere=, with `consensus` by its co-association with the members)
    n_clusters_ : int
        The number of clusters, as given or as chosen.
    cluster_evidence_ : ClusterEvidence
        If n_clusters is "auto": what spoke for each number.
    %(woven: pieces=, joined where it fell into pieces)
    embedding_ : array of shape (n_samples, n_components)
        The rows that k-means clustered; eigenvectors as they are if several embeddings were merged.
    eigenvalues_ : array
        The smallest eigenvalues of the graph's Laplacian, in units of the mean degree.
    co_association_ : array of shape (n_samples, n_samples)
        With `consensus`: the share of the partitions that put two samples together.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "n_clusters": [AT_LEAST_ONE, StrOptions({"auto"})],
        "embedding": [StrOptions({"auto", "merged", "raw", "soft", "unit", "commute"})],
        "n_components": [AT_LEAST_ONE, None],
        "consensus": ["boolean"],
    }

    n_clusters_: int
    cluster_evidence_: ClusterEvidence
    eigenvalues_: Vector
    co_association_: Matrix
    scaling_: Scaling | dict[str, Scaling]
    solver_: SolverChoice
    neighbor_recall_: float
    landmarks_: Samples

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        kernels: KernelsLike = "released-12",
        views: Mapping[str, ColumnsLike] | None = None,
        scale: Scale | Mapping[str, Scale] = "auto",
        weights: WeightsLike = "self",
        graph: Literal["auto"] | GraphKind = "auto",
        gamma: float | Literal["auto"] = "auto",
        n_neighbors: int = 10,
        embedding: EmbeddingKind = "auto",
        n_components: int | None = None,
        consensus: bool = False,
        n_init: int = 10,
        random_state: RandomStateLike = None,
        solver: SolverLike = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        dtype: Dtype = None,
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
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.dtype = dtype

    def fit(self, X: SamplesLike, y: object = None) -> Self:
        """Weave the graph and cluster the samples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or several of them
            The samples; a dict or list of tables, or `Views`, which samples may be missing from; what is read in
            chunks: a path, a dask collection, an iterator, a function, or `Chunks`; or kernel matrices, if kernels are
            "precomputed": an array of shape (r, n, n), a list or dict of (n, n), or one (n, n).
        y : ignored
            There for scikit-learn's convention.

        Returns
        -------
        self
        """
        check_parameters(self)
        with threads(self.n_jobs):
            samples = self._read(X)
            if self.n_clusters != "auto" and not isinstance(samples, Chunks):
                check_n_clusters(self.n_clusters, samples.n_samples)
            n_groups = 50 if self.n_clusters == "auto" else self.n_clusters
            choice, plan = choose(self, samples, n_groups=n_groups, graph="ridge")
            reading = Reading(self.n_clusters, self.embedding, self.n_components, self.n_init, self.consensus)
            found = choice.solver.cluster(samples, plan, reading, check_random_state(self.random_state))
        attributes = {
            **found.attributes,
            "_graph_model": found.model,
            "labels_": found.labels,
            "membership_": found.membership,
            "confidence_": found.confidence,
            "margin_": found.margin,
            "embedding_": found.embedding,
            "eigenvalues_": found.eigenvalues,
            "n_clusters_": found.membership.shape[1],
            "solver_": choice,
        }
        if found.evidence is not None:
            attributes["cluster_evidence_"] = found.evidence
        self._keep(attributes, samples)
        return self
