"""Agreement of clusters with classes: accuracy, normalised mutual information, purity."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kernelweave._plural import counted
from kernelweave.errors import InvalidInputError
from kernelweave.samples.labels import encode_labels

__all__ = ["clustering_accuracy", "normalized_mutual_information", "purity"]


def clustering_accuracy(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Return the share of correct samples under the best one-to-one matching of clusters and classes.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Classes: integers, strings or any other labels that can be sorted.
    y_pred : array-like of shape (n_samples,)
        Clusters. Their labels and their number may differ from those of the classes.

    Returns
    -------
    accuracy : float
        Between 0 and 1. Samples in clusters that are not matched with a class count as wrong.

    Notes
    -----
    The matching is found by the Hungarian method on the contingency table. Unlike the accuracy of a classifier,
    the value does not change when clusters are renamed.

    Examples
    --------
    >>> clustering_accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 1])
    0.75
    """
    from scipy.optimize import linear_sum_assignment

    counts = _counts(y_true, y_pred)
    matched = linear_sum_assignment(counts, maximize=True)
    return float(counts[matched].sum() / counts.sum())


def normalized_mutual_information(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Return the mutual information of clusters and classes, divided by the larger of their entropies.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Classes: integers, strings or any other labels that can be sorted.
    y_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    nmi : float
        Between 0 and 1; 1 if clusters and classes are the same partition. The order of the arguments does not matter.

    Notes
    -----
    The paper divides by the maximum of the entropies, scikit-learn by default by their arithmetic mean, so the value
    here is never larger than scikit-learn's. One class in one cluster scores 1, as in scikit-learn.

    Examples
    --------
    >>> round(normalized_mutual_information([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.6667
    """
    from sklearn.metrics import normalized_mutual_info_score

    codes_true, codes_pred = _codes(y_true, y_pred)
    nmi = normalized_mutual_info_score(codes_true, codes_pred, average_method="max")
    return float(np.clip(nmi, 0.0, 1.0))  # rounding errors can give 1 + 4e-16


def purity(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Return the share of samples that belong to the most frequent class of their cluster.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Classes: integers, strings or any other labels that can be sorted.
    y_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    purity : float
        Above 0, at most 1, and never smaller than the clustering accuracy.

    Notes
    -----
    Purity grows with the number of clusters (one per sample scores 1), so compare it only between equal numbers of
    clusters. The order of the arguments matters; the program released with the paper swaps them.

    Examples
    --------
    >>> purity([0, 0, 1, 1], [0, 1, 2, 3]), purity([0, 1, 2, 3], [0, 0, 1, 1])
    (1.0, 0.5)
    """
    counts = _counts(y_true, y_pred)
    return float(counts.max(axis=0).sum() / counts.sum())


def _counts(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """Count the samples of class i (row) in cluster j (column)."""
    codes_true, codes_pred = _codes(y_true, y_pred)
    shape = codes_true.max() + 1, codes_pred.max() + 1
    cells = np.ravel_multi_index((codes_true, codes_pred), shape)
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)


def _codes(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    _, codes_true = encode_labels(y_true, "y_true")
    _, codes_pred = encode_labels(y_pred, "y_pred")
    if len(codes_true) != len(codes_pred):
        msg = (
            f"y_true and y_pred must label the same samples, got {len(codes_true)} and "
            f"{counted(len(codes_pred), 'label')}: pass both for the same samples, in the same order."
        )
        raise InvalidInputError(msg)
    return codes_true, codes_pred
