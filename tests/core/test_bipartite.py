"""The graph between samples and landmarks agrees with the dense graph that it stands for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from kernelweave.core.graphs.bipartite import (
    bipartite_harmonic,
    bipartite_sums,
    class_sums,
    landmark_embedding,
    landmarks_reached,
    nearest_columns,
    relative_affinity,
)
from kernelweave.core.graphs.propagation import harmonic_scores

N, M, K = 80, 15, 4


@pytest.fixture
def graph():
    D = np.random.default_rng(0).random((N, M))
    J, V = nearest_columns(D.copy(), K)
    values = relative_affinity(V)
    B = np.zeros((N, M))
    np.put_along_axis(B, J.astype(np.intp), values, axis=1)
    return D, J, values, B


def test_nearest_columns_are_those_of_a_full_sort(graph):
    D, J, _, _ = graph
    assert np.array_equal(J, np.argsort(D, axis=1)[:, :K])


def test_affinities_fall_with_distance_and_sum_to_one(graph):
    _, _, values, _ = graph
    assert_allclose(values.sum(axis=1), 1)
    assert (np.diff(values, axis=1) <= 0).all()


def test_a_sample_that_coincides_with_all_its_landmarks_shares_itself_equally():
    assert_allclose(relative_affinity(np.zeros((1, 4))), 0.25)


def test_sums_are_the_product_of_the_graph_with_itself(graph):
    _, _, _, B = graph
    S = bipartite_sums([sparse.csr_array(B)])
    assert_allclose(S, B.T @ B, atol=1e-12)
    assert_allclose(S.sum(axis=1), B.sum(axis=0))


@pytest.mark.parametrize("size", [7, 20, 40, 80])  # twelve, four, two parts and one
def test_sums_over_parts_are_those_of_the_whole(graph, size):
    B = sparse.csr_array(graph[3])
    codes = np.where(np.arange(N) % 3 == 0, np.arange(N) % 2, -1)
    parts = [slice(i, i + size) for i in range(0, N, size)]
    assert_allclose(bipartite_sums(B[rows] for rows in parts), (B.T @ B).toarray(), rtol=1e-12)
    known, Y = codes >= 0, np.eye(2)[codes]
    expected = [5 * B[~known].T @ B[~known], 3 * B[known].T @ B[known], 3 * B[known].T @ Y[known]]
    found = class_sums(((B[rows], codes[rows]) for rows in parts), 2, (3.0, 5.0))
    assert_allclose(found, np.hstack([np.asarray(one.todense() if sparse.issparse(one) else one) for one in expected]))


def test_the_landmarks_eigenvectors_spread_to_those_of_the_samples_graph(graph):
    _, _, _, B = graph
    W = (B / B.sum(axis=0)) @ B.T
    expected, V = np.linalg.eigh(W)
    found, Q = landmark_embedding(bipartite_sums([sparse.csr_array(B)]), 5)
    P = B @ Q
    assert_allclose(found, expected[::-1][:5], atol=1e-10)
    assert_allclose(P.T @ P, np.eye(5), atol=1e-9)
    assert_allclose(np.abs(np.sum(P * V[:, ::-1][:, :5], axis=0)), 1, atol=1e-9)


def test_harmonic_scores_are_those_of_the_bipartite_graph_as_a_whole(graph):
    _, _, _, B = graph
    labelled = np.arange(N) < 10
    Y = np.eye(2)[np.arange(N) % 2]
    whole = np.zeros((N + M, N + M))
    whole[:N, N:], whole[N:, :N] = B, B.T
    expected = harmonic_scores(
        whole, np.vstack([Y, np.zeros((M, 2))]), np.append(labelled, np.zeros(M, dtype=bool))
    ).scores
    G = bipartite_harmonic(B[~labelled].T @ B[~labelled], B.sum(axis=0), B[labelled].T @ Y[labelled])
    assert_allclose((B @ G)[~labelled], expected[:N][~labelled], atol=1e-8)


def test_damped_scores_are_those_of_local_and_global_consistency(graph):
    _, _, _, B = graph
    labelled = np.arange(N) < 10
    Y = np.eye(2)[np.arange(N) % 2] * labelled[:, None]
    W = (B / B.sum(axis=0)) @ B.T
    expected = np.linalg.solve(np.eye(N) - 0.9 * W, Y)
    G = bipartite_harmonic(B.T @ B, B.sum(axis=0), B.T @ Y, alpha=0.9)
    assert_allclose(0.9 * (B @ G)[~labelled], expected[~labelled], atol=1e-9)


def test_landmarks_out_of_reach_of_every_label_get_nothing():
    S = np.kron(np.eye(2), np.ones((3, 3)))
    R = np.array([[1.0, 0], [0, 1], [0, 0], [0, 0], [0, 0], [0, 0]])
    assert landmarks_reached(S, R.sum(axis=1)).tolist() == [True] * 3 + [False] * 3
    G = bipartite_harmonic(S, S.sum(axis=1) + R.sum(axis=1), R)
    assert (G[:3] > 0).all()
    assert not G[3:].any()
