"""Fitted models made up for the plots, and a figure that is closed after the test."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.base import BaseEstimator

from kernelweave.select import ClusterEvidence
from kernelweave.solve import History, Outcome, Record

mpl.use("Agg")

import matplotlib.pyplot as plt


class Model(BaseEstimator):
    """An estimator whose fitted attributes are given."""

    def fit(self, X, y=None):
        return self


@pytest.fixture
def fitted():
    """Make a model that has learned what is given, and nothing else."""

    def make(**attributes):
        model = Model()
        for name, value in attributes.items():
            setattr(model, f"{name}_", value)
        return model

    return make


@pytest.fixture
def run(fitted):
    """Make a model from the terms of its objective and the change of its graph in every iteration."""

    def make(terms, change, outcome=Outcome.CONVERGED):
        records = [
            Record({name: float(values[i]) for name, values in terms.items()}, float(change[i]), np.ones(2), 0.1)
            for i in range(len(change))
        ]
        return fitted(history=History(tuple(records)), outcome=outcome)

    return make


@pytest.fixture
def clusterer(fitted, run):
    """Make a model with everything that a clusterer learns."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=40)
    ran = run({"fit": [3, 2], "ridge": [2, 1]}, [0.5, 0.1])
    return fitted(
        kernel_shares=np.array([0.2, 0.5, 0.3]),
        kernel_names=("linear", "cosine", "gaussian(t=1)"),
        graph=rng.random((40, 40)),
        labels=labels,
        cluster_evidence=ClusterEvidence(
            np.arange(2, 6), np.full(4, 3.0), *(np.full(4, share) for share in (0.9, 0.5, 0.45, 0.6)), 2.5, 2, "gap"
        ),
        eigenvalues=np.array([0, 0.1, 0.15, 0.4, 0.5]),
        confidence=rng.random(40),
        embedding=np.eye(3)[labels] + 0.1 * rng.normal(size=(40, 3)),
        history=ran.history_,
        outcome=ran.outcome_,
    )


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    plt.close("all")


@pytest.fixture
def texts():
    """Read every text that is drawn in the axes, its ticks and titles aside."""
    return lambda ax: [text.get_text() for text in ax.texts]
