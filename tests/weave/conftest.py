"""Small data, and one way to fit models through landmarks."""

import numpy as np
import pytest

from kernelweave import Landmark, WeaveClassifier, WeaveClustering
from kernelweave.weave import choice

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
    def call(X, seed=0, *, n_landmarks=60, landmarks="kmeans", **options):
        options = {"n_clusters": N_GROUPS, "kernels": "released-7", "n_jobs": 1} | options
        return WeaveClustering(solver=Landmark(n_landmarks, landmarks), random_state=seed, **options).fit(X)

    return call


@pytest.fixture(scope="session")
def classify():
    def call(X, codes, seed=0, **options):
        options = {"kernels": "released-7", "n_jobs": 1} | options
        return WeaveClassifier(solver=Landmark(60), random_state=seed, **options).fit(X, codes)

    return call


@pytest.fixture
def three_solvers(monkeypatch):
    """Let "auto" choose among the first three solvers only, whatever others there are."""
    few = {name: choice.SOLVERS[name] for name in ("dense", "local", "landmark")}
    monkeypatch.setattr(choice, "SOLVERS", few)
