"""The accuracy of a classifier: cross-validation over the labels that were given."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.validation import _num_samples

from kernelweave._plural import counted
from kernelweave._types import LabelsLike, Tables
from kernelweave.errors import InvalidInputError
from kernelweave.estimators.whole_numbers import check_seed, check_whole
from kernelweave.explain._frames import need_pandas
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.partial_labels import encode_partial_labels, labels_in_order, need_one_order

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LabelCheck", "check_labels"]

_Z = 1.959963984540054  # of a normal distribution, for intervals of 95 %


@dataclass(frozen=True)
class LabelCheck:
    """The result of a cross-validation over given labels.

    Parameters
    ----------
    classes : tuple of str
        The classes.
    confusion : array of shape (n_classes, n_classes)
        The number of labelled samples by given class (rows) and by the class that was predicted without the label.
    n_splits : int
        The number of parts into which the labelled samples were divided.
    """

    classes: tuple[str, ...]
    confusion: NDArray[np.intp] = field(repr=False)
    n_splits: int

    @property
    def n_labels(self) -> int:
        """The number of labelled samples."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """The share of the labelled samples whose class was predicted without their label."""
        return float(np.trace(self.confusion) / self.n_labels)

    @property
    def interval(self) -> tuple[float, float]:
        """An interval of 95 % for the accuracy, by Wilson's formula."""
        n, p = self.n_labels, self.accuracy
        centre = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = _Z / (1 + _Z**2 / n) * np.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2))
        return max(0.0, float(centre - half)), min(1.0, float(centre + half))

    @cached_property
    def table(self) -> pd.DataFrame:
        """The confusion matrix as a data frame: given classes in rows, predicted ones in columns."""
        pd = need_pandas()
        names = list(self.classes)
        return pd.DataFrame(self.confusion, pd.Index(names, name="given"), pd.Index(names, name="predicted"))

    def to_json(self) -> dict[str, Any]:
        """Return plain lists and dicts, from which `from_json` makes the same object."""
        return {"classes": list(self.classes), "confusion": self.confusion.tolist(), "n_splits": self.n_splits}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> LabelCheck:
        """Return the object that `to_json` was called of."""
        size = len(found["classes"])
        confusion = np.array(found["confusion"], dtype=np.intp).reshape(size, size)
        return cls(tuple(map(str, found["classes"])), confusion, int(found["n_splits"]))


def check_labels(
    model: BaseEstimator, X: Tables, y: LabelsLike, *, n_splits: int = 5, random_state: int | None = 0
) -> LabelCheck:
    """Cross-validate a classifier over the labels that it was given.

    The labelled samples are divided into `n_splits` parts with about the same shares of all classes. The model is
    fitted once for each part, on all samples and the labels of the other parts, and predicts the part. Unlabelled
    samples take part in every fit, as in the fit that is checked.

    Parameters
    ----------
    model : classifier
        A classifier with ``transduction_``, fitted or not; it is not changed.
    X, y
        As in the model's `fit`.
    n_splits : int, default=5
        The number of parts; fewer if a class has fewer labels.
    random_state : int or None, default=0
        Seed of the division.

    Returns
    -------
    LabelCheck
        The accuracy with its interval, and the confusion matrix.

    Raises
    ------
    InvalidInputError
        If a class has fewer than two labels, n_splits is less than 2, or the model finds no classes of others.

    Notes
    -----
    The accuracy holds for samples that resemble the labelled ones. Labels that were chosen because they are clear give
    too high a value. Every fit has fewer labels than the model that is checked, which gives a slightly lower one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave import WeaveClassifier
    >>> from kernelweave.explain import check_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> y[::2] = -1
    >>> found = check_labels(WeaveClassifier(), X, y)
    >>> found.n_labels, found.accuracy > 0.8
    (75, True)
    """
    from sklearn.model_selection import StratifiedKFold

    check_whole(n_splits, "n_splits", 2)
    check_seed(random_state)
    if not is_classifier(model):
        msg = f"Labels are checked by a classifier, which can be fitted without some of them; got {model!r}."
        raise InvalidInputError(msg)
    y = _in_order(model, X, y)
    classes, codes = encode_partial_labels(y, n_samples=_num_samples(y))
    labelled = np.flatnonzero(codes >= 0)
    counts = np.bincount(codes[labelled])
    if counts.min() < 2:
        rare = str(classes[counts.argmin()])
        msg = f"Class {rare!r} has {counted(int(counts.min()), 'label')}; a cross-validation needs two of every class."
        raise InvalidInputError(msg)
    parts = int(min(n_splits, counts.min()))
    confusion = np.zeros((len(classes), len(classes)), dtype=np.intp)
    folds = StratifiedKFold(parts, shuffle=True, random_state=random_state)
    for _, held in folds.split(labelled, codes[labelled]):
        hidden = codes.copy()
        hidden[labelled[held]] = -1
        found = _refitted(model, X, hidden)[labelled[held]]
        np.add.at(confusion, (codes[labelled[held]], found), 1)
    return LabelCheck(tuple(map(str, classes)), confusion, parts)


def _in_order(model: BaseEstimator, X: Tables, y: LabelsLike) -> LabelsLike:
    """Return labels in the order of the samples, as `fit` aligns a series."""
    need_one_order(X, y)
    if not hasattr(y, "reindex") or not hasattr(model, "_read"):
        return y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as in the fits
        samples = model._read(X)
    return y if isinstance(samples, Chunks) else labels_in_order(y, samples)


def _refitted(model: BaseEstimator, X: Tables, codes: NDArray[np.intp]) -> NDArray[np.intp]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one of several fits: what they warn of shows in the accuracy
        fitted = clone(model).fit(X, codes)
    if not hasattr(fitted, "transduction_"):
        msg = (
            "Labels are checked by a classifier that finds the classes of unlabelled samples, such as "
            f"WeaveClassifier; {type(model).__name__} has no transduction_: use cross_val_score of scikit-learn."
        )
        raise InvalidInputError(msg)
    return np.asarray(fitted.transduction_, dtype=np.intp)
