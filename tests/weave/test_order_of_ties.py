"""Tables with ties: the order of their samples does not choose between answers that are equally good."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import kernelweave
from kernelweave import WeaveClassifier, WeaveClustering

GRID = np.array(list(product([0.0, 1, 2], repeat=3)))
rng = np.random.default_rng(0)
TABLES = {
    "all combinations": GRID,
    "with two copies": np.repeat(GRID, 3, axis=0),
    "few distinct rows": GRID[rng.integers(27, size=200)],
    "very few distinct rows": np.array(list(product([0.0, 1], repeat=3)))[rng.integers(8, size=60)],
    "units": np.eye(20),
}
every = pytest.mark.parametrize("name", TABLES)


def fitted(X, c=3):
    return WeaveClustering(c, solver="dense", random_state=0).fit(X)


def between_rows(model, X):
    """Return the weight of the edges between distinct rows: those of two copies may be exchanged."""
    copies = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    members = np.eye(copies.max() + 1)[copies]
    return members.T @ (model.graph_ @ members)


@pytest.mark.parametrize("c", [3, 6])
@every
def test_the_order_of_the_samples_changes_no_cluster(name, c):
    X = TABLES[name]
    model = fitted(X, c)
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(X))
        other = fitted(X[order], c)
        _, numbers = np.unique(model.labels_[order], return_index=True)
        expected = np.argsort(np.argsort(numbers))[model.labels_[order]]  # in the order of the first samples
        assert_array_equal(other.labels_, expected)
        assert_array_equal(other.confidence_, model.confidence_[order])
        assert_array_equal(other.kernel_shares_, model.kernel_shares_)
        assert_allclose(between_rows(other, X[order]), between_rows(model, X), rtol=1e-12)


@pytest.mark.parametrize("name", ["all combinations", "very few distinct rows", "units"])
def test_the_order_of_the_samples_changes_no_class(name):
    X = TABLES[name]
    y = np.where(np.arange(len(X)) % 4 == 0, np.arange(len(X)) // 4 % 2, -1)
    order = np.random.default_rng(0).permutation(len(X))
    model, other = (WeaveClassifier(solver="dense").fit(X[rows], y[rows]) for rows in (np.arange(len(X)), order))
    assert_array_equal(other.transduction_, model.transduction_[order])
    assert_array_equal(other.label_distributions_, model.label_distributions_[order])


@every
def test_samples_in_an_order_of_their_own_are_found_again(name, tmp_path):
    X = TABLES[name]
    model = fitted(X)
    assert_array_equal(model.predict(X), model.labels_)
    _, first, copies = np.unique(X, axis=0, return_index=True, return_inverse=True)
    assert_array_equal(model.labels_, model.labels_[first][copies.ravel()])
    model.save(tmp_path / "model.kw")
    again = kernelweave.load(tmp_path / "model.kw")
    assert_array_equal(again.predict_proba(X + 0.01), model.predict_proba(X + 0.01))


@every
def test_clusters_are_numbered_in_the_order_of_their_first_samples(name):
    labels = fitted(TABLES[name]).labels_
    _, first = np.unique(labels, return_index=True)
    assert_array_equal(first, np.sort(first))


def test_the_graph_and_the_kernel_have_the_order_of_the_samples():
    X = np.repeat(GRID, 3, axis=0)
    order = np.random.default_rng(0).permutation(len(X))
    model = fitted(X[order])
    nearer = np.abs(X[order][:, None] - X[order]).sum(axis=2) <= 1
    assert model.graph_.toarray()[nearer].sum() > 0.9 * model.graph_.sum()
    assert model.consensus_kernel_[nearer].min() > model.consensus_kernel_[~nearer].mean()
