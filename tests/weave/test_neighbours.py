"""Neighbours: exact where few, approximate and measured where many, repeatable."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from kernelweave.errors import MissingPackageError, RecallWarning
from kernelweave.weave.local import neighbours
from kernelweave.weave.local.neighbours import nearest, nearest_among


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(400, 5)).astype(np.float32)


@pytest.fixture
def many(monkeypatch):
    """Let 400 samples be many."""
    monkeypatch.setattr(neighbours, "EXACT_UP_TO", 100)
    monkeypatch.setattr(neighbours, "_EXACT_PAIRS", 100)


def by_hand(X, Q, k):
    D = ((Q[:, None].astype(float) - X[None]) ** 2).sum(axis=2)
    return np.argsort(D, axis=1)[:, :k]


def test_few_samples_have_their_true_neighbours_nearest_first(X):
    found = nearest(X, 6, seed=0)
    assert_array_equal(found.index, by_hand(X, X, 7)[:, 1:])
    assert found.exact
    assert found.recall == 1


def test_sparse_samples_have_the_same_neighbours(X):
    assert_array_equal(nearest(sparse.csr_array(X), 6, seed=0).index, nearest(X, 6, seed=0).index)


def test_no_sample_is_its_own_neighbour_even_among_copies():
    index = nearest(np.ones((10, 2), dtype=np.float32), 4, seed=0).index
    assert (index != np.arange(10)[:, None]).all()


def test_there_are_no_more_neighbours_than_other_samples(X):
    assert nearest(X[:4], 10, seed=0).index.shape == (4, 3)


def test_new_samples_find_their_nearest(X):
    new = X[:7] + np.float32(0.01)
    assert_array_equal(nearest_among(X, new, 3, seed=0), by_hand(X, new, 3))


@pytest.mark.slow  # numba compiles
def test_many_samples_are_searched_approximately_repeatably_and_the_recall_is_measured(X, many):
    found, again = nearest(X, 6, seed=0), nearest(X, 6, seed=0)
    assert_array_equal(found.index, again.index)
    assert not found.exact
    assert found.index.dtype == np.int32
    assert (found.index != np.arange(400)[:, None]).all()
    true = by_hand(X, X, 7)[:, 1:]
    share = np.mean([np.isin(a, b).mean() for a, b in zip(true, found.index, strict=True)])
    assert found.recall == pytest.approx(share, abs=0.02)
    assert found.recall > 0.95


@pytest.mark.slow
def test_many_new_samples_are_searched_approximately(X, many):
    found = nearest_among(X, X[:50] + np.float32(0.001), 3, seed=0)
    assert np.mean(found[:, 0] == np.arange(50)) > 0.95


def test_a_poor_search_is_warned_of(X, many, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(neighbours, "_descend", lambda X, k, **options: rng.integers(0, 400, (400, k), dtype=np.int32))
    with pytest.warns(RecallWarning, match="of the true ones"):
        nearest(X, 6, seed=0)


def test_a_missing_package_names_the_extra(X, many, monkeypatch):
    monkeypatch.setattr(neighbours, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"kernelweave\[large\]"):
        nearest(X, 6, seed=0)
