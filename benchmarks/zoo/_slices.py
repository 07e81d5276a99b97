"""Slices of scikit-learn's data sets, in several units."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from benchmarks.zoo._member import Built, Member

__all__ = ["SLICES"]


def _first_digits(n: int, seed: int) -> Built:
    X, y = load_digits(return_X_y=True)
    return X[:n], y[:n]


def _half_of_digits(seed: int) -> Built:
    X, y = load_digits(return_X_y=True)
    rows = np.sort(np.random.default_rng(seed).permutation(len(X))[: len(X) // 2])
    return X[rows], y[rows]


def _few_digits(seed: int) -> Built:
    X, y = load_digits(n_class=5, return_X_y=True)
    rows = np.sort(np.random.default_rng(seed).permutation(len(X))[:350])
    return X[rows], y[rows]


def _iris(factor: float, seed: int) -> Built:
    X, y = load_iris(return_X_y=True)
    return X * factor, y


def _wine(seed: int) -> Built:
    X, y = load_wine(return_X_y=True)
    return X, y


def _wine_in_thousandths(seed: int) -> Built:
    X, y = load_wine(return_X_y=True)
    X = X.copy()
    X[:, 0] *= 1000  # alcohol in thousandths of a per cent
    return X, y


def _cancer(seed: int) -> Built:
    X, y = load_breast_cancer(return_X_y=True)
    return X, y


def _cancer_units(seed: int) -> Built:
    X, y = load_breast_cancer(return_X_y=True)
    return X * 10.0 ** np.random.default_rng(seed).uniform(-3, 3, X.shape[1]), y


SLICES = (
    *(
        Member(f"digits-{n}", "slice", f"the first {n} of scikit-learn's digits", partial(_first_digits, n))
        for n in (300, 600, 900, 1200)
    ),
    Member("digits-half", "slice", "a random half of the digits", _half_of_digits),
    Member("digits-0-4", "slice", "350 digits from 0 to 4", _few_digits),
    Member("iris", "slice", "iris", partial(_iris, 1.0)),
    Member("iris-1e6", "units", "iris, all columns times 1e6", partial(_iris, 1e6)),
    Member("wine", "units", "wine as it is, columns of very different range", _wine),
    Member("wine-thousandths", "units", "wine, alcohol in thousandths", _wine_in_thousandths),
    Member("cancer", "units", "breast cancer as it is", _cancer),
    Member("cancer-units", "units", "breast cancer, every column in a random unit", _cancer_units),
)
