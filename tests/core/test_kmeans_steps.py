import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from kernelweave.core.partitions.kmeans import best_start, nearer, nearest, own_distances, reassigned, refilled

EPS = np.finfo(float).eps


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_every_cluster_has_a_sample_and_no_more_move_than_were_missing(c, seed):
    rng = np.random.default_rng(seed)
    z = rng.integers(rng.integers(1, c + 1), size=(3, 8))
    full = refilled(z, rng.random((3, 8)), c, 0.0)
    for before, after in zip(z, full, strict=True):
        assert len(set(after)) == c
        assert (before != after).sum() == c - len(set(before))


def test_an_empty_cluster_gets_the_sample_farthest_from_its_centre():
    D = np.array([[[0.0, 9, 9], [2, 8, 9], [5, 6, 9], [7, 3, 9]]]).transpose(0, 2, 1)
    assert_array_equal(nearest(D, 0.0), [[0, 0, 2, 1]])


def test_the_last_sample_of_a_cluster_is_not_taken_from_it():
    D = np.array([[[9.0, 8, 99], [0, 1, 99], [0, 1, 99]]]).transpose(0, 2, 1)
    assert_array_equal(nearest(D, 0.0), [[1, 2, 0]])


@pytest.mark.parametrize("slack", [0.0, 1e-9])
def test_without_ties_every_sample_goes_to_its_nearest_centre(rng, slack):
    D = rng.random((3, 4, 50))
    z = rng.integers(4, size=(3, 50))
    assert_array_equal(nearest(D, slack), D.argmin(axis=1))
    assert_array_equal(nearer(D, z, own_distances(D, z), slack), D.argmin(axis=1))
    assert_array_equal(reassigned(D, z, slack), D.argmin(axis=1))


@given(st.integers(0, 2**32 - 1))
def test_the_last_digit_of_a_distance_moves_no_sample(seed):
    rng = np.random.default_rng(seed)
    D = rng.integers(1, 4, size=(2, 4, 30)).astype(float)  # many ties
    noisy = D * (1 + EPS * rng.integers(-2, 3, size=D.shape))
    slack = 4 * EPS * D.max()  # two errors of 2 eps each
    assert_array_equal(nearest(noisy, slack), nearest(D, slack))
    z = rng.integers(4, size=(2, 30))
    assert_array_equal(reassigned(noisy, z, slack), reassigned(D, z, slack))


def test_a_slack_per_start_holds_for_that_start_alone():
    D = np.array([[[1.0], [0.9]], [[1.0], [0.9]]])
    z = np.zeros((2, 1), dtype=np.intp)
    assert_array_equal(nearer(D, z, own_distances(D, z), np.array([0.2, 0.05])), [[0], [1]])


def test_a_sample_stays_where_no_centre_is_nearer_by_more_than_the_slack():
    D = np.array([[[1.0, 1.0], [1.0, 0.9], [1.2, 1.3]]])
    z = np.array([[1, 0]])
    assert_array_equal(nearer(D, z, own_distances(D, z), 0.2), z)
    assert_array_equal(nearer(D, z, own_distances(D, z), 0.0), [[1, 1]])


def test_of_starts_that_differ_by_rounding_the_first_is_the_best():
    costs = np.array([3.0, 2 + 4 * EPS, 2.0, 2.5])
    assert best_start(costs, 8 * EPS) == 1
    assert best_start(costs, 0.0) == 2
    assert best_start(costs[::-1], 8 * EPS) == 1
