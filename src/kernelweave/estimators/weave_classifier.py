"""WeaveClassifier: classes from a few labels on one sparse graph of the self-weighted consensus of kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Any, ClassVar, Literal, Self

from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from kernelweave._types import Dtype, LabelsLike, RandomStateLike, Samples, WeightsLike
from kernelweave.core.graphs.affinity import GraphKind
from kernelweave.estimators._classifier import GraphClassifier, class_attributes
from kernelweave.estimators._docs import documented
from kernelweave.estimators._estimator import KernelsLike, threads
from kernelweave.estimators._weaving import CONSTRAINTS, choose
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.partial_labels import encode_partial_labels, read_labels
from kernelweave.samples.reader import ColumnsLike, SamplesLike
from kernelweave.samples.scaling import Scale, Version
from kernelweave.weave.choice import SolverChoice, SolverLike
from kernelweave.weave.plan import LabelTask, Propagation

__all__ = ["WeaveClassifier"]


@documented
class WeaveClassifier(GraphClassifier):
    r"""Classes from a few labels on one sparse graph of the consensus of several kernels, with nothing to tune.

    The graph is that of `WeaveClustering`; the label scores P are harmonic on it:

    .. math:: \min_P \mathrm{Tr}(P^\top L P) \quad \text{s.t. } P_l = Y_l.

    By default the graph is the sum of the ridge representation and a neighbour graph, see the parameter `graph`.

    Parameters
    ----------
    %(kernels: number=12)
    %(weave_samples: task=classes)
    class_mass : bool, default=False
        Scale the scores so that the classes take the shares that they have among the labelled samples (class mass
        normalisation of Zhu, Ghahramani and Lafferty). It helps with few labels drawn at random, and harms where
        classes of different size were given equally many labels.
    propagation : {"auto", "harmonic", "lgc"}, default="auto"
        How labels spread: so that every unlabelled sample has the mean score of its neighbours ("harmonic", as
        above), or by local and global consistency (Zhou et al., 2004), :math:`(I - 0.99 D^{-1/2} S D^{-1/2}) P = Y`,
        which holds up better with a handful of labels among many samples. "auto": "lgc" with the solver "landmark",
        and with "local" if fewer than one sample in 50 is labelled; else "harmonic".
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
        **CONSTRAINTS,
        "class_mass": ["boolean"],
        "propagation": [StrOptions({"auto", "harmonic", "lgc"})],
    }

    scaling_: tuple[Version, ...]
    solver_: SolverChoice
    neighbor_recall_: float
    landmarks_: Samples

    def __init__(
        self,
        *,
        kernels: KernelsLike = "released-12",
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
        samples = self._read(X)
        if isinstance(samples, Chunks):  # counted while they are read
            classes, codes = encode_partial_labels(y, n_samples=len(y) if isinstance(y, Sized) else 0)
        else:
            classes, codes = read_labels(y, samples)
        with threads(self.n_jobs, None if isinstance(samples, Chunks) else samples.n_samples):
            choice, plan = choose(self, samples, n_groups=len(classes), graph="both")
            task = LabelTask(codes, len(classes), self.propagation, self.class_mass)
            found = choice.solver.classify(samples, plan, task, check_random_state(self.random_state))
        attributes = class_attributes(classes, found.scores, found.undecided, found.model)
        fitted = {"embedding_": found.embedding, "solver_": choice, **found.attributes}
        self._keep({**fitted, **attributes}, samples)
        return self
