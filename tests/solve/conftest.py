"""Small problems for the solver: clustering and classification on three blobs."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from kernelweave.kernels import recipe
from kernelweave.solve import Problem


@pytest.fixture(scope="session")
def blobs():
    return make_blobs(45, n_features=4, centers=3, cluster_std=1.5, random_state=0)


@pytest.fixture(scope="session")
def clustering(blobs):
    X, _ = blobs
    return Problem(recipe("released-7").fit(X).grams(X), c=3)


@pytest.fixture(scope="session")
def classification(blobs):
    X, y = blobs
    labelled = np.arange(len(y)) % 5 == 0
    Y = np.where(labelled[:, None], np.eye(3)[y], 0)
    return Problem(recipe("released-7").fit(X).grams(X), c=3, Y=Y, labelled=labelled)
