"""What classifiers from a few labels share: labels in and out, and answers for training and new samples."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from kernelweave._types import Array, Graph, LabelsLike, Mask, Matrix, Vector
from kernelweave.core.graphs.new_rows import distributions
from kernelweave.core.graphs.propagation import one_hot, reached
from kernelweave.errors import NewSamplesError, UndecidedWarning
from kernelweave.estimators._estimator import KernelModel
from kernelweave.runtime import threads
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.digests import Seen
from kernelweave.samples.partial_labels import labelled_rows, labels_in_order, need_one_order, read_labels
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.reader import SamplesLike
from kernelweave.samples.views import Views
from kernelweave.weave.graph_model import Answers, GraphModel
from kernelweave.weave.plan import KernelShares

__all__ = ["GraphClassifier", "TransductiveClassifier", "class_attributes"]

_CLASSES = ("classes_", "transduction_", "label_distributions_", "undecided_")


def _score(self: Any, X: SamplesLike, y: LabelsLike, sample_weight: ArrayLike | None = None) -> float:
    """Return the accuracy of `predict` for the samples that have a label.

    Parameters
    ----------
    X : samples, as in `fit`
        As in `predict`.
    y : array of shape (n_samples,)
        The true classes. Samples whose label is missing (-1, None, NaN or an empty text) do not count.
    sample_weight : array of shape (n_samples,), optional
        Weights of the samples.

    Returns
    -------
    float
        The share of right classes among the samples with a label.
    """
    from sklearn.metrics import accuracy_score  # slow to import, and needed here only

    found = self.predict(X)  # first: it says so if the model is not fitted
    need_one_order(X, y)
    if hasattr(y, "reindex"):  # several tables are joined by the names of their samples
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `predict` has warned
            samples = self._read_again(X)
        y = y if isinstance(samples, Chunks) else labels_in_order(y, samples)
    check_consistent_length(found, y, sample_weight)
    rows, known = labelled_rows(y)
    weights = None if sample_weight is None else np.asarray(sample_weight)[rows]
    return float(accuracy_score(known, found[rows], sample_weight=weights))


class GraphClassifier(ClassifierMixin, KernelModel):  # type: ignore[misc]
    """Classifies the samples that it is fitted on, and new ones by the scores of their neighbours on the graph."""

    _only_kernels = True
    _fitted_always = (*KernelModel._fitted_always, *_CLASSES, "kernel_names_", "_graph_model")

    classes_: Array
    transduction_: Array
    label_distributions_: Matrix
    undecided_: Mask
    embedding_: Matrix
    graph_: Graph
    consensus_kernel_: Matrix
    kernel_weights_: Vector

    score = _score

    def predict(self, X: SamplesLike) -> Array:
        """Return the class of every sample: that of `fit` for training samples, the likeliest one for new ones.

        A model of the solver "landmark" keeps no training samples and takes all as new ones: a labelled sample may get
        another class than the given one.

        Parameters
        ----------
        X : samples, as in `fit`
            New ones or not; if kernels are "precomputed", the kernels of the samples with the training samples:
            (r, m, n), a list or dict of (m, n), or one (m, n).

        Returns
        -------
        array of shape (n_samples,)
            One of `classes_` for every sample; the first for a new sample that is similar to nothing, with a warning.
        """
        check_is_fitted(self)
        return self._labels_of(self._answers(X))

    def predict_proba(self, X: SamplesLike) -> Matrix:
        """Return the probability of every class: that of `fit` for training samples, that of neighbours for new ones.

        A model of the solver "landmark" keeps no training samples and takes all as new ones: the given class of
        a labelled sample is not certain there.

        Parameters
        ----------
        X : samples, as in `fit`
            As in `predict`.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Rows sum to one; the columns follow `classes_`. A new sample that is similar to no sample with a class has
            equal entries, with a warning.
        """
        check_is_fitted(self)
        return self._shares_of(self._answers(X))

    def undecided(self, X: SamplesLike) -> Mask:
        """Return which samples are similar to no training sample with a class.

        Parameters
        ----------
        X : samples, as in `fit`
            As in `predict`.

        Returns
        -------
        array of bool of shape (n_samples,)
            True for the samples that `predict_proba` gives equal probabilities.
        """
        check_is_fitted(self)
        return self._answers(X, warn=False).undecided

    def _labels_of(self, found: Answers) -> Array:
        """Return the classes of samples whose distributions are known."""
        likeliest: Array = self.classes_[found.distributions.argmax(axis=1)]
        return likeliest

    def _shares_of(self, found: Answers) -> Matrix:
        """Return the probability of every class for samples whose distributions are known."""
        return found.distributions


class TransductiveClassifier(ClassifierMixin, KernelModel):  # type: ignore[misc]
    """Classifies the unlabelled samples among those it is fitted on, and answers for these only."""

    _fitted_always = (*KernelModel._fitted_always, *_CLASSES, "_seen")
    _advice: ClassVar[str] = "use a wider kernel"  # where no label reaches some samples

    classes_: Array
    transduction_: Array
    label_distributions_: Matrix
    undecided_: Mask
    graph_: Matrix
    _seen: Seen

    score = _score

    def fit(self, X: SamplesLike, y: LabelsLike) -> Self:
        """Find the classes of the unlabelled samples, and what the model learns with them.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or several of them
            Labelled and unlabelled samples in any order; for SCAN, LaplaceLearning and PoissonLearning also a dict or
            list of tables, or `Views`, which samples may be missing from; or kernel matrices, if the kernel is
            "precomputed".
        y : array of shape (n_samples,)
            The class of every labelled sample; -1, None, NaN or an empty text for the unlabelled ones.

        Returns
        -------
        self
        """
        self._validate_params()
        samples = self._read(X, y)
        if isinstance(samples, Chunks):
            raise self._no_chunks()
        classes, codes = read_labels(y, samples, X)
        with threads(self.n_jobs, samples.n_samples):
            bank, H = self._build_kernels(samples)
            Y, labelled = one_hot(codes, len(classes), samples.dtype)
            F, found = self._classify(H, Y, labelled)
        undecided = ~reached(found["graph_"], labelled)
        found["_seen"] = Seen(samples.digests())
        found |= class_attributes(classes, F, undecided, advice=self._advice)
        self._keep(found, samples, KernelShares.equal(bank))
        return self

    @abstractmethod
    def _classify(self, H: Matrix, Y: Matrix, labelled: Mask) -> tuple[Matrix, dict[str, Any]]:
        """Return the label scores (n, c), and fitted attributes, `graph_` among them; H may be overwritten."""

    def predict(self, X: SamplesLike) -> Array:
        """Return the class of samples that were part of `fit`.

        Parameters
        ----------
        X : samples, as in `fit`
            Training samples, in any order and number; the same kernel matrices as in `fit` if they were precomputed.

        Returns
        -------
        array of shape (n_samples,)
            One of `classes_` for every sample.
        """
        probabilities = self.predict_proba(X)  # first: it says so if the model is not fitted
        found: Array = self.classes_[probabilities.argmax(axis=1)]
        return found

    def predict_proba(self, X: SamplesLike) -> Matrix:
        """Return the probability of every class for samples that were part of `fit`.

        Parameters
        ----------
        X : samples, as in `fit`
            Training samples, in any order and number; the same kernel matrices as in `fit` if they were precomputed.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Rows sum to one; the columns follow `classes_`.
        """
        check_is_fitted(self)
        samples = self._read_again(X)
        if isinstance(samples, Chunks):
            raise self._no_chunks()
        found: Matrix = self.label_distributions_[self._rows_of_fit(samples)]
        return found

    def _rows_of_fit(self, samples: Views | KernelStack) -> NDArray[np.intp]:
        """Return the position of every sample in the training set; the error for new ones says if views are absent."""
        try:
            return self._seen.rows(samples)
        except NewSamplesError as error:
            if samples.complete or samples.present.any(axis=1).all():
                raise
            given = ", ".join(name for name, known in zip(samples.names, samples.present, strict=True) if known.any())
            msg = f"The model was fitted on the views {', '.join(self.view_names_)}; got {given}. {error}"
            raise NewSamplesError(msg) from error


def class_attributes(
    classes: Array,
    F: Matrix,
    undecided: Mask,
    model: GraphModel | None = None,
    *,
    advice: str = "choose parameters that cut fewer edges",
) -> dict[str, Any]:
    """Return the fitted attributes of a classifier from label scores.

    Samples that no label reaches get the uniform distribution, and are marked. Of classes with equal scores, the first
    is chosen.
    """
    # scores may underflow at the end of a chain of weak edges: such samples are undecided too
    P, undecided = distributions(np.where(undecided[:, None], 0, np.maximum(F, 0)))
    if undecided.any():
        _warn_undecided(undecided, advice)
    found: dict[str, Any] = {
        "classes_": classes,
        "undecided_": undecided,
        "label_distributions_": P,
        "transduction_": classes[P.argmax(axis=1)],
    }
    if model is not None:
        found["_graph_model"] = replace(model, distributions=P, undecided=undecided) if model.seen else model
    return found


def _warn_undecided(undecided: Mask, advice: str) -> None:
    count = int(np.count_nonzero(undecided))
    msg = (
        f"{count} of {len(undecided)} samples {'lies' if count == 1 else 'lie'} in parts of the learned graph that "
        f"hold no label (first such sample: {np.flatnonzero(undecided)[0]}), so their class is undefined: they get "
        f"uniform probabilities and are marked in undecided_. Label at least one sample in each part, or {advice}."
    )
    warnings.warn(msg, UndecidedWarning, stacklevel=4)
