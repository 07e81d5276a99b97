"""Small data for the estimators."""

import numpy as np
import pytest
from sklearn.datasets import load_iris


@pytest.fixture(scope="session")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="session")
def partly_labelled(iris):
    X, y = iris
    return X, np.where(np.arange(len(y)) % 10 == 0, y, -1)
