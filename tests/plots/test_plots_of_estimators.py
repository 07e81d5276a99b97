"""The plots read what the estimators learn."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from kernelweave import estimators, plots

MODELS = [getattr(estimators, name) for name in estimators.__all__ if name.startswith(("KGL", "PMKL", "SMKL"))]


@pytest.fixture(scope="module")
def samples():
    return make_blobs(60, centers=3, cluster_std=0.5, random_state=0)


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)
def test_every_estimator_can_be_drawn(kind, samples):
    X, y = samples
    partly = np.where(np.arange(60) % 5 == 0, y, -1)
    model = kind(tol=1e-2, n_clusters=3, random_state=0) if kind.__name__.endswith("Clustering") else kind(tol=1e-2)
    model.fit(X, partly)
    for name in ("plot_weights", "plot_graph", "plot_embedding", "plot_convergence", "plot_confidence"):
        assert getattr(plots, name)(model).has_data()
