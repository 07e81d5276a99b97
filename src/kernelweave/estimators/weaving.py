"""The Weave estimators: clusters, or classes from a few labels, of sparse graphs of the self-weighted consensus."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Any, ClassVar, Literal, Self

from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted

from kernelweave._types import Dtype, LabelsLike, RandomStateLike, Samples, Vector, WeightsLike
from kernelweave.core.graphs.affinity import GraphKind
from kernelweave.estimators._classifier import GraphClassifier, class_attributes
from kernelweave.estimators._clusterer import GraphClusterer
from kernelweave.estimators._docs import documented
from kernelweave.estimators._estimator import AT_LEAST_ONE, RIDGE, KernelModel, KernelsLike
from kernelweave.runtime import Reporter, available_memory, threads
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.partial_labels import encode_partial_labels, need_one_order, read_labels
from kernelweave.samples.reader import SamplesLike
from kernelweave.samples.scaling import SCALES, Scale, Version
from kernelweave.samples.view_columns import ColumnsLike
from kernelweave.select import ClusterEvidence
from kernelweave.weave.choice import SOLVERS, SolverChoice, SolverLike, plan_fit
from kernelweave.weave.clarity import Clarity
from kernelweave.weave.dense import Dense
from kernelweave.weave.plan import ClusterTask, EmbeddingKind, LabelTask, Propagation

__all__ = ["WeaveClassifier", "WeaveClustering"]


class _SolverObject(HasMethods):  # type: ignore[misc]
    """The constraint of a solver: an object, not a class, with its methods, its name and `supports`."""

    def is_satisfied_by(self, val: object) -> bool:
        declared = hasattr(val, "name") and isinstance(getattr(val, "supports", None), frozenset | set)
        return declared and not isinstance(val, type) and bool(super().is_satisfied_by(val))

    def __str__(self) -> str:
        return f"a solver object, such as Local(), with a name, supports, {', '.join(self.methods)}"


_CONSTRAINTS: dict[str, list[Any]] = {
    **KernelModel._parameter_constraints,
    "scale": [StrOptions(set(SCALES)), Mapping],
    "weights": [StrOptions({"self", "uniform"}), "array-like"],
    "graph": [StrOptions({"auto", "ridge", "knn", "both"})],
    "gamma": [RIDGE, StrOptions({"auto"})],
    "n_neighbors": [AT_LEAST_ONE, StrOptions({"auto"})],
    "solver": [StrOptions({"auto", *SOLVERS}), _SolverObject(["memory", "cluster", "classify"])],
}


@documented
class WeaveClustering(GraphClusterer):
    r"""Clusters that several graphs of the consensus of several kernels agree on, with nothing to tune.

    The consensus is the geometric median of the kernels, a graph its ridge representation, cut to the largest
    entries of each row, and the clusters those of k-means on the bottom eigenvectors of the graph's Laplacian:

    .. math:: K = \arg\min_K \sum_i \|H_i - K\|_F,

    .. math:: Z = \arg\min_Z \mathrm{Tr}(K - 2KZ + Z^\top K Z) + g \|Z\|_F^2 = I - g (K + g I)^{-1},

    .. math:: P = \arg\min_{P^\top P = I} \mathrm{Tr}(P^\top L P),

    with :math:`g = \gamma\,\mathrm{Tr}(K)/n`. These are the steps of SMKL without their loop. It is not known which
    scaling of the samples, which number of neighbours and which embedding is right, so none of them is chosen. Two
    versions of the samples are compared, with four to eight graphs each, and every graph is clustered in five ways. The
    weight of a graph is the share of its version times the eighth power of the mean adjusted Rand index of its five
    partitions, the sixteenth where a table has fewer than ten columns. All partitions are merged by average linkage of
    their weighted co-association.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        The number of clusters. "auto" takes the number after which a gap between eigenvalues stands out from that of
        samples without structure, or the number that different graphs agree on, up to 50 and n_samples / 8. With one to
        nine columns, it is the largest number of clusters that have valleys of density between them, or the number of
        Gaussian clusters of one shape, if these describe the samples better than clusters of different shapes. It is 1
        if no structure is found. `cluster_evidence_` has the evidence for each number; `docs/label-free.md` tells how
        far off the number is on known data sets.
    %(kernels: default=auto)
    %(weave_samples: task=clusters)
    embedding : {"auto", "merged", "raw", "soft", "unit", "commute"}, default="auto"
        What k-means clusters: eigenvectors as they are ("raw"), their rows divided by the root of their length
        ("soft"), rows of unit length, or eigenvectors divided by the roots of their eigenvalues, whose distances are
        commute times. "merged", which is "auto", clusters all of these, and commute times of half as many eigenvectors
        again.
    n_components : int or None, default=None
        The number of eigenvectors; None takes `n_clusters`.
    n_init : int, default=12
        How often k-means starts; the best partition is kept. A quarter as often for each embedding that is merged.
    random_state : int, RandomState or None, default=None
        Seed of k-means, and of the samples without structure for `n_clusters="auto"`.
    %(solver)
    %(weave_run: processes=)

    Attributes
    ----------
    %(memberships: how=the mean share of the partitions that join it to a member.)
    clarity_ : float
        How far the clusters stand out from those of samples without structure, from 0 to 1, measured on at most 300
        samples when it, a membership or a confidence is first read. Below 1, memberships are drawn towards equal
        shares. It is 0 for a single cluster, and 1 where it is not measured: with precomputed kernels, and with fewer
        than 16 samples.
    n_clusters_ : int
        The number of clusters, as given or as chosen.
    cluster_evidence_ : ClusterEvidence
        If n_clusters is "auto": the evidence for each number.
    %(woven: pieces=: the sum of all graphs by their weights)
    embedding_ : array of shape (n_samples, n_components)
        Eigenvectors of `graph_`, as `embedding` says; as they are if several embeddings were merged.
    eigenvalues_ : array
        The smallest eigenvalues of the Laplacian of `graph_`, in units of the mean degree, ascending; with "landmark",
        those of the graph that joins samples by their landmarks.

    See Also
    --------
    SMKLClustering : The paper's model, with its loop.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave import WeaveClustering
    >>> X, y = load_iris(return_X_y=True)
    >>> model = WeaveClustering(n_clusters=3, random_state=0).fit(X)
    >>> model.labels_.shape, [version.name for version in model.scaling_]
    ((150,), ['direction', 'zscore'])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CONSTRAINTS,
        "n_clusters": [AT_LEAST_ONE, StrOptions({"auto"})],
        "embedding": [StrOptions({"auto", "merged", "raw", "soft", "unit", "commute"})],
        "n_components": [AT_LEAST_ONE, None],
    }

    _fitted_always = (*GraphClusterer._fitted_always, "_clarity")
    _matrices = Dense.matrices
    _keeps_kernels = False

    n_clusters_: int
    cluster_evidence_: ClusterEvidence
    eigenvalues_: Vector
    scaling_: tuple[Version, ...]
    solver_: SolverChoice
    neighbor_recall_: float
    landmarks_: Samples
    _clarity: Clarity | None

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        kernels: KernelsLike = "auto",
        views: Mapping[str, ColumnsLike] | None = None,
        scale: Scale | Mapping[str, Scale] = "auto",
        weights: WeightsLike = "self",
        graph: Literal["auto"] | GraphKind = "auto",
        gamma: float | Literal["auto"] = "auto",
        n_neighbors: int | Literal["auto"] = "auto",
        embedding: EmbeddingKind = "auto",
        n_components: int | None = None,
        n_init: int = 12,
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
        self._check_parameters()
        samples = self._read(X)
        say = Reporter(type(self).__name__, self.verbose)
        say("samples:", samples)
        with threads(self.n_jobs, samples.n_samples):
            n_clusters = self.n_clusters if self.n_clusters == "auto" else int(self.n_clusters)  # np.int8 overflows
            n_groups = 50 if n_clusters == "auto" else n_clusters
            given, free = vars(self), available_memory()  # a subclass may not take all parameters
            choice, plan = plan_fit(given, samples, free, say, n_groups=n_groups, graph="ridge")
            q = None if self.n_components is None else int(self.n_components)
            task = ClusterTask(n_clusters, self.embedding, q, int(self.n_init))
            found = choice.solver.cluster(samples, plan, task, check_random_state(self.random_state))
        attributes = {
            **found.attributes,
            "_graph_model": found.model,
            "_clarity": found.clarity,
            "_membership": found.membership,
            "labels_": found.labels,
            "embedding_": found.embedding,
            "eigenvalues_": found.eigenvalues,
            "n_clusters_": found.membership.shape[1],
            "solver_": choice,
        }
        if found.evidence is not None:
            attributes["cluster_evidence_"] = found.evidence
        self._keep(attributes, samples, found.kernels)
        return self

    @property
    def clarity_(self) -> float:
        """How far the clusters stand out from those of samples without structure, from 0 to 1."""
        check_is_fitted(self)
        if self._clarity is None:
            msg = f'The solver "{self.solver_.solver.name}" does not measure clarity_: use one of {", ".join(SOLVERS)}.'
            raise AttributeError(msg)
        return self._clarity.value

    def _clear(self) -> float:
        return 1.0 if self._clarity is None else self._clarity.value


@documented
class WeaveClassifier(GraphClassifier):
    r"""Classes from a few labels on one sparse graph of the consensus of several kernels, with nothing to tune.

    The graph is that of `WeaveClustering`; the label scores P are harmonic on it:

    .. math:: \min_P \mathrm{Tr}(P^\top L P) \quad \text{s.t. } P_l = Y_l.

    By default the graph is the sum of the ridge representation and a neighbour graph, see the parameter `graph`.

    Parameters
    ----------
    %(kernels: default=auto)
    %(weave_samples: task=classes)
    class_mass : bool, default=False
        Scale harmonic scores so that the classes take the shares that they have among the labelled samples (class mass
        normalisation of Zhu, Ghahramani and Lafferty), instead of what `propagation="auto"` does. With few labels it is
        less accurate where they were drawn at random, and about as accurate with equally many of each. Not with "lgc".
    propagation : {"auto", "harmonic", "lgc"}, default="auto"
        How labels spread: so that every unlabelled sample has the mean score of its neighbours ("harmonic", as
        above), or by local and global consistency ("lgc", after Zhou et al., 2004),
        :math:`(I - 0.99 D^{-1/2} S D^{-1/2}) P = Y`, the labels of all classes with the same mass, which holds up
        better with a handful of labels among many samples. "auto": harmonic scores, balanced so that with few labels
        the classes depend less on the number and position of the labels; "lgc" with the solver "landmark", and with
        "local" if fewer than one sample in 50 is labelled.
    %(solver)
    random_state : int, RandomState or None, default=None
        With "local" and "landmark": seed of the rows that kernels are weighed on, of neighbours and landmarks.
    %(weave_run: processes=)

    Attributes
    ----------
    %(classes)
    %(woven: pieces=)
    embedding_ : array of shape (n_samples, n_classes)
        The label scores P; known labels are one-hot.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave import WeaveClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> y[5::10] = y[7::10] = -1  # unlabelled
    >>> WeaveClassifier().fit(X, y).predict(X[5:8])
    array([0, 0, 0])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CONSTRAINTS,
        "class_mass": ["boolean"],
        "propagation": [StrOptions({"auto", "harmonic", "lgc"})],
    }

    _matrices = Dense.matrices
    _keeps_kernels = False

    scaling_: tuple[Version, ...]
    solver_: SolverChoice
    neighbor_recall_: float
    landmarks_: Samples

    def __init__(
        self,
        *,
        kernels: KernelsLike = "auto",
        views: Mapping[str, ColumnsLike] | None = None,
        scale: Scale | Mapping[str, Scale] = "auto",
        weights: WeightsLike = "self",
        graph: Literal["auto"] | GraphKind = "auto",
        gamma: float | Literal["auto"] = "auto",
        n_neighbors: int | Literal["auto"] = "auto",
        class_mass: bool = False,
        propagation: Propagation = "auto",
        solver: SolverLike = "auto",
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        dtype: Dtype = None,
    ) -> None:
        self.kernels = kernels
        self.views = views
        self.scale = scale
        self.weights = weights
        self.graph = graph
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.class_mass = class_mass
        self.propagation = propagation
        self.solver = solver
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.dtype = dtype

    def fit(self, X: SamplesLike, y: LabelsLike) -> Self:
        """Weave the graph and infer the classes of the unlabelled samples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or several of them
            Labelled and unlabelled samples in any order; a dict or list of tables, or `Views`, which samples may be
            missing from; what is read in chunks: a path, a dask collection, an iterator, a function, or `Chunks`; or
            kernel matrices, if kernels are "precomputed": an array of shape (r, n, n), a list or dict of (n, n), or
            one (n, n).
        y : array of shape (n_samples,)
            The class of every labelled sample; -1, None, NaN or an empty text for the unlabelled ones.

        Returns
        -------
        self
        """
        self._check_parameters()
        samples = self._read(X, y)
        if isinstance(samples, Chunks):
            need_one_order(samples, y)  # the samples are counted while they are read
            classes, codes = encode_partial_labels(y, n_samples=len(y) if isinstance(y, Sized) else 0)
        else:
            classes, codes = read_labels(y, samples, X)
        say = Reporter(type(self).__name__, self.verbose)
        say("samples:", samples)
        with threads(self.n_jobs, samples.n_samples):
            given, free = vars(self), available_memory()  # a subclass may not take all parameters
            choice, plan = plan_fit(given, samples, free, say, n_groups=len(classes), graph="both")
            task = LabelTask(codes, len(classes), "harmonic" if self.class_mass else self.propagation, self.class_mass)
            found = choice.solver.classify(samples, plan, task, check_random_state(self.random_state))
        fitted = {"embedding_": found.embedding, "solver_": choice, **found.attributes}
        fitted |= class_attributes(classes, found.scores, found.undecided, found.model)
        self._keep(fitted, samples, found.kernels)
        return self
