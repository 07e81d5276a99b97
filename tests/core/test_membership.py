"""How far samples belong to clusters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave.core.graphs.coordinates import nearness, votes
from kernelweave.core.partitions.kmeans import cluster_means

LABELS = np.array([0, 0, 0, 1, 1, 2])


@pytest.fixture
def S():
    W = np.kron(np.eye(2), np.ones((3, 3)))
    W[2, 3] = W[3, 2] = 1
    return W + np.eye(6)


def near(P, labels, c):
    (means,), (sizes,) = cluster_means(P, labels[None], c)
    return nearness(P, means, sizes)


def test_votes_are_the_shares_of_neighbours_without_the_sample_itself(S):
    assert_allclose(votes(S, LABELS, 3)[2], [2 / 3, 1 / 3, 0])
    assert_allclose(votes(S, LABELS, 3)[5], [0, 1, 0])
    assert_allclose(votes(sparse.csr_array(S), LABELS, 3), votes(S, LABELS, 3))


def test_a_sample_without_neighbours_belongs_to_its_own_cluster():
    assert_array_equal(votes(np.eye(6), LABELS, 3), np.eye(3)[LABELS])


def test_a_sample_at_the_mean_of_a_cluster_belongs_to_it_and_an_empty_cluster_has_no_members():
    P = np.array([[0.0], [1.0], [2.0], [10.0], [12.0], [30.0]])
    F = near(P, LABELS, 4)
    assert F[1, 0] > 0.999
    assert_array_equal(F[:, 3], 0)
    assert_allclose(F.sum(axis=1), 1)
    assert F[0, 0] == pytest.approx(1 / (1 + 1 / 121 + 1 / 900))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_votes_and_nearness_sum_to_one_and_are_permuted_with_the_samples(S, dtype):
    S, P = S.astype(dtype), np.random.default_rng(0).normal(size=(6, 2)).astype(dtype)
    F, M = votes(S, LABELS, 3), near(P, LABELS, 3)
    assert F.dtype == dtype
    assert_allclose(F.sum(axis=1), 1, rtol=1e-5)
    assert_allclose(M.sum(axis=1), 1, rtol=1e-5)
    order = np.array([3, 1, 5, 0, 2, 4])
    assert_allclose(votes(S[np.ix_(order, order)], LABELS[order], 3), F[order], rtol=1e-4)
    assert_allclose(near(P[order], LABELS[order], 3), M[order], rtol=1e-4)
