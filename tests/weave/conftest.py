"""Small data and one way to call the landmark functions."""

import numpy as np
import pytest

from kernelweave.kernels import recipe
from kernelweave.weave.landmark import fit_landmark_classes, fit_landmark_clustering

N_GROUPS = 4


def make_groups(n, d=6, spread=1.0, seed=0):
    rng = np.random.default_rng(seed)
    centres = 4 * np.random.default_rng(5).normal(size=(N_GROUPS, d))
    y = rng.integers(N_GROUPS, size=n)
    return centres[y] + spread * rng.normal(size=(n, d)), y


@pytest.fixture(scope="session")
def groups():
    return make_groups(900)


@pytest.fixture(scope="session")
def fit():
    def call(X, seed=0, **options):
        options = {"n_clusters": N_GROUPS, "n_landmarks": 60, "n_jobs": 1} | options
        return fit_landmark_clustering(X, recipe("released-7"), random_state=np.random.RandomState(seed), **options)

    return call


@pytest.fixture(scope="session")
def classify():
    def call(X, codes, seed=0, **options):
        options = {"n_classes": N_GROUPS, "n_landmarks": 60, "n_jobs": 1} | options
        return fit_landmark_classes(X, codes, recipe("released-7"), random_state=np.random.RandomState(seed), **options)

    return call
