"""WeaveClassifier: classes from a few labels on one sparse graph of the self-weighted consensus of kernels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernelweave._types import Mask, Matrix
from kernelweave.core.graphs.propagation import class_mass_factors, class_mass_normalised, harmonic, reached
from kernelweave.estimators._inductive import InductiveClassifier
from kernelweave.estimators._input import kernel_stack
from kernelweave.estimators._run import threads
from kernelweave.estimators._weave import WeaveEstimator, one_of
from kernelweave.estimators._weave_landmark import keep_landmark_model, landmark_options, landmark_probabilities
from kernelweave.estimators._weave_local import fit_local
from kernelweave.estimators._weave_local_answers import propagated
from kernelweave.samples.partial_labels import encode_partial_labels

__all__ = ["WeaveClassifier"]


class WeaveClassifier(InductiveClassifier, WeaveEstimator):
    r"""Classes from a few labels on one sparse graph of the consensus of several kernels, with nothing to tune.

    The graph is that of `WeaveClustering`; the label scores P are harmonic on it:

    .. math:: \min_P \mathrm{Tr}(P^\top L P) \quad \text{s.t. } P_l = Y_l.

    By default the graph sums the ridge representation and a plain neighbour graph, see the parameter `graph`.

    Parameters
    ----------
    kernels : str, KernelBank, list or dict of kernels, default="released-12"
        As in `WeaveClustering`.
    views : dict of columns, default=None
        The columns of each view in one X, by name, see `WeaveClustering`.
    scale : {"auto", "unit", "zscore", "none"} or dict, default="auto"
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
    propagation : {"auto", "harmonic", "lgc"}, default="auto"
        How labels spread: so that every unlabelled sample has the mean score of its neighbours ("harmonic", as
        above), or by local and global consistency (Zhou et al., 2004), :math:`(I - 0.99 D^{-1/2} S D^{-1/2}) P = Y`,
        which holds up better with a handful of labels among many samples. "auto": "lgc" with the solver "landmark",
        and with "local" if fewer than one sample in 50 is labelled; else "harmonic".
    solver : {"auto", "dense", "local", "landmark"}, default="auto"
        How the graph is woven, see `WeaveClustering`.
    n_candidates, n_landmarks, landmarks
        As in `WeaveClustering`.
    random_state : int, RandomState or None, default=None
        With "local" and "landmark": seed of the rows that kernels are weighed on, of neighbours and landmarks.
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
    kernel_weights_, kernel_shares_, kernel_names_, consensus_kernel_, scaling_, solver_, n_features_in_
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
        views: Any = None,
        scale: str = "auto",
        weights: Any = "self",
        graph: str = "both",
        gamma: float = 0.1,
        n_neighbors: int = 10,
        class_mass: bool = False,
        propagation: str = "auto",
        solver: str = "auto",
        n_candidates: int | None = None,
        n_landmarks: int | None = None,
        landmarks: Any = "kmeans",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        dtype: Any = None,
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
        self.n_candidates = n_candidates
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.dtype = dtype

    def fit(self, X: Any, y: Any) -> Self:
        """Weave the graph and infer the classes of the unlabelled samples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or several of them
            Labelled and unlabelled samples in any order; a dict or list of tables, or `Views`, which samples may be
            missing from; or kernel matrices, if kernels are "precomputed": an array of shape (r, n, n), a list or dict
            of (n, n), or one (n, n).
        y : array of shape (n_samples,)
            The class of every labelled sample, and -1 for the unlabelled ones.

        Returns
        -------
        self
        """
        one_of("propagation", self.propagation, ("auto", "harmonic", "lgc"))
        random_state = self._begin()
        fit = {"dense": self._fit_dense, "local": self._fit_local, "landmark": self._fit_landmark}[self._choose(X)]
        with threads(self.n_jobs):
            fit(X, y, random_state)
        return self

    def _fit_dense(self, X: Any, y: Any, random_state: np.random.RandomState) -> None:
        tiles = self._read_kernels(X)
        Y, labelled = self._read_labels(y, tiles)
        self._combine(tiles)
        del tiles  # with it go the products between samples, twice the size of the kernel
        self._weave(join=False)
        lgc = self.propagation == "lgc"
        self.embedding_ = propagated(self, Y, labelled) if lgc else harmonic(self.graph_, Y, labelled)
        self._keep_scores(labelled)
        self._remember(X, kernel_stack(X)[0] if self._precomputed else self.consensus_kernel_)

    def _fit_local(self, X: Any, y: Any, random_state: np.random.RandomState) -> None:
        self._local, _ = fit_local(self, X, random_state, join=False)
        Y, labelled = self._read_labels(y, self.graph_)
        self.embedding_ = propagated(self, Y, labelled)
        self._keep_scores(labelled)
        self._remember(X, None)

    def _fit_landmark(self, X: Any, y: Any, random_state: np.random.RandomState) -> None:
        from kernelweave.weave.landmark import fit_landmark_classes

        self.classes_, codes = encode_partial_labels(y, n_samples=len(y) if hasattr(y, "__len__") else 0)
        found = fit_landmark_classes(
            X,
            codes,
            n_classes=len(self.classes_),
            method="harmonic" if self.propagation == "harmonic" else "lgc",
            class_mass=self.class_mass,
            random_state=random_state,
            **landmark_options(self),
        )
        self.embedding_ = found.scores
        self._keep_labels(found.scores, found.undecided)
        keep_landmark_model(self, found.model)

    def _keep_scores(self, labelled: Mask) -> None:
        self._class_factors = class_mass_factors(self.embedding_, labelled) if self.class_mass else None
        scores = class_mass_normalised(self.embedding_, labelled) if self.class_mass else self.embedding_
        self._keep_labels(scores, ~reached(self.graph_, labelled))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every sample: that of `fit` for training samples, the likeliest one for new ones.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples; or, if kernels are "precomputed", those of `fit`, or the kernels of new samples with the training
            samples: (r, m, n), a list or dict of (m, n), or one (m, n). With the solver "landmark" also what is read in
            chunks, as in `fit`.

        Returns
        -------
        array of shape (n_samples,)
            One of `classes_` for every sample; the first for a new sample that is similar to nothing, with a warning.
        """
        probabilities = self.predict_proba(X)  # first: it says so if the model is not fitted
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Matrix:
        """Return the probability of every class: that of `fit` for training samples, that of neighbours for new ones.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples, as in `predict`.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Rows sum to one; the columns follow `classes_`. A new sample that is similar to no sample with a class has
            equal entries, with a warning.
        """
        check_is_fitted(self)
        return landmark_probabilities(self, X) if self.solver_.name == "landmark" else super().predict_proba(X)

    def _extend(self, S: Any) -> Matrix:
        scores = super()._extend(S)
        return scores if self._class_factors is None else scores * self._class_factors
