"""Neighbours: exact where few, approximate and measured where many, repeatable."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs

from kernelweave.errors import MissingPackageError
from kernelweave.weave.local import inverted_lists, neighbours
from kernelweave.weave.local.inverted_lists import InvertedLists, build_lists, true_distances
from kernelweave.weave.local.neighbours import ExactSearch, nearest, search_new


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(400, 5)).astype(np.float32)


@pytest.fixture(scope="module")
def wide():
    """2000 samples of 20 columns in overlapping groups."""
    return make_blobs(2000, n_features=20, centers=10, cluster_std=5.0, random_state=0)[0].astype(np.float32)


@pytest.fixture
def many(monkeypatch):
    """Let 400 samples be many."""
    monkeypatch.setattr(neighbours, "EXACT_UP_TO", 100)
    monkeypatch.setattr(neighbours, "_NEW_EXACT_UP_TO", 100)


def by_hand(X, Q, k):
    D = ((Q[:, None].astype(float) - X[None]) ** 2).sum(axis=2)
    return np.argsort(D, axis=1)[:, :k]


def share(true, found):
    return np.mean([np.isin(a, b).mean() for a, b in zip(true, found, strict=True)])


def test_few_samples_have_their_true_neighbours_nearest_first(X):
    found = nearest(X, 6, seed=0)
    assert_array_equal(found.positions, by_hand(X, X, 7)[:, 1:])
    assert found.recall == 1


def test_sparse_samples_have_the_same_neighbours(X):
    assert_array_equal(nearest(sparse.csr_array(X), 6, seed=0).positions, nearest(X, 6, seed=0).positions)


def test_no_sample_is_its_own_neighbour_even_among_copies():
    index = nearest(np.ones((10, 2), dtype=np.float32), 4, seed=0).positions
    assert (index != np.arange(10)[:, None]).all()


def test_there_are_no_more_neighbours_than_other_samples(X):
    assert nearest(X[:4], 10, seed=0).positions.shape == (4, 3)


def test_new_samples_find_their_nearest(X):
    new = X[:7] + np.float32(0.01)
    assert_array_equal(search_new(X, 3, seed=0).nearest(new, 3), by_hand(X, new, 3))


@pytest.mark.parametrize("columns", [2, 5, 20])
def test_many_samples_are_searched_approximately_repeatably_and_the_recall_is_measured(wide, many, columns):
    X = wide[:, :columns]
    found, again = nearest(X, 6, seed=0), nearest(X, 6, seed=0)
    assert_array_equal(found.positions, again.positions)
    assert found.positions.dtype == np.int32
    assert (found.positions != np.arange(len(X))[:, None]).all()
    true = ExactSearch(X).nearest(X, 7)[:, 1:]
    assert found.recall == pytest.approx(share(true, found.positions), abs=0.02)
    assert found.recall > 0.95


def test_the_neighbours_do_not_depend_on_the_number_of_threads(wide, many, monkeypatch):
    monkeypatch.setattr(inverted_lists, "_BLOCK", 500)
    one, two = (nearest(wide, 6, seed=0, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert_array_equal(one.positions, two.positions)
    assert one.recall == two.recall


def test_samples_in_tight_groups_far_apart_are_found(many):
    X = make_blobs(3000, n_features=20, centers=40, cluster_std=0.01, random_state=0)[0].astype(np.float32)
    found = nearest(X, 6, seed=0)
    assert share(ExactSearch(X).nearest(X, 7), np.column_stack([np.arange(3000), found.positions])) > 0.95


def test_samples_far_from_the_origin_are_found(wide, many):
    X = wide + 1000
    assert (
        share(ExactSearch(X.astype(float)).nearest(X.astype(float), 6)[:, 1:], nearest(X, 6, seed=0).positions) > 0.95
    )


def test_effort_is_raised_until_the_recall_is_high(wide):
    exact = ExactSearch(wide)
    lists = build_lists(wide, 6, exact.nearest, seed=0, n_jobs=1)
    sample = np.arange(300)
    true = exact.nearest(wide[sample], 7)[:, 1:]
    hasty = InvertedLists(wide, exact.nearest, lists.sketch, lists.index, 1, probes=1, factor=1)
    assert share(true, hasty.nearest(wide[sample], 7)) < 0.95
    assert share(true, hasty.tuned(sample, true).nearest(wide[sample], 7)) > 0.95


def test_queries_whose_lists_hold_too_few_samples_are_searched_exactly(wide):
    exact = ExactSearch(wide)
    lists = build_lists(wide, 6, exact.nearest, seed=0, n_jobs=1)
    hasty = InvertedLists(wide, exact.nearest, lists.sketch, lists.index, 1, probes=1, factor=1)
    assert_array_equal(hasty.nearest(wide[:20], 1000), exact.nearest(wide[:20], 1000))


def test_many_sparse_samples_are_projected_or_searched_exactly(many):
    X = load_digits().data.astype(np.float32)
    X[X < 10] = 0
    found = nearest(sparse.csr_array(X), 6, seed=0)
    assert share(ExactSearch(X).nearest(X, 7)[:, 1:], found.positions) > 0.9  # ties among small integers
    noise = sparse.random_array((600, 3000), density=0.01, rng=np.random.default_rng(0), dtype=np.float32).tocsr()
    assert nearest(noise, 6, seed=0).recall > 0.95


@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array])
def test_distances_to_candidates_are_those_of_the_samples(X, as_given):
    candidates = np.random.default_rng(1).integers(0, 400, (50, 9))
    D = true_distances(as_given(X), as_given(X[:50]), candidates)
    assert_allclose(D, ((X[:50, None] - X[candidates]) ** 2).sum(axis=2), rtol=1e-4, atol=1e-5)


def test_many_new_samples_are_searched_approximately(X, many):
    found = search_new(X, 3, seed=0).nearest(X[:50] + np.float32(0.001), 3)
    assert np.mean(found[:, 0] == np.arange(50)) > 0.95


def test_a_missing_package_names_the_extra(X, many, monkeypatch):
    monkeypatch.setattr(inverted_lists, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"kernelweave\[large\]"):
        nearest(X, 6, seed=0)


def test_new_samples_are_searched_exactly_without_the_package(X, many, monkeypatch):
    monkeypatch.setattr(inverted_lists, "find_spec", lambda name: None)
    assert_array_equal(search_new(X, 3, seed=0).nearest(X[:5], 3), by_hand(X, X[:5], 3))


def test_a_sample_that_copies_crowd_out_of_its_own_list_loses_the_last_neighbour():
    near = np.array([[1, 5, 6], [7, 8, 9], [4, 3, 2]], dtype=np.int32)
    assert_array_equal(inverted_lists.without_itself(near, np.array([1, 2, 2])), [[5, 6], [7, 8], [4, 3]])
