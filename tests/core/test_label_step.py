import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg

from kernelweave.core.graphs.coordinates import laplacian
from kernelweave.core.paper.closed_forms import embedding


@pytest.fixture
def two_parts():
    """Samples 0-2 and 3-5 are cliques without an edge between them."""
    return np.kron(np.eye(2), np.ones((3, 3)))


def test_embedding_is_orthonormal_and_beats_random_orthonormal_ones(small, rng):
    P, L = embedding(small.S, small.c), laplacian(small.S)
    assert_allclose(P.T @ P, np.eye(small.c), atol=1e-12)
    others = (np.linalg.qr(rng.normal(size=P.shape))[0] for _ in range(200))
    assert all(np.trace(P.T @ L @ P) <= np.trace(Q.T @ L @ Q) for Q in others)
    assert_allclose(np.trace(P.T @ L @ P), np.linalg.eigvalsh(L)[: small.c].sum(), atol=1e-10)


def test_embedding_of_a_graph_in_parts_is_constant_on_each_part(two_parts):
    P = embedding(two_parts, 2)
    assert_allclose(P[:3] - P[0], 0, atol=1e-12)
    assert_allclose(P[3:] - P[3], 0, atol=1e-12)
    assert np.linalg.norm(P[0] - P[3]) > 0.5


@pytest.mark.parametrize("n", [30, 450])
def test_embedding_in_the_memory_of_the_graph_is_the_same(rng, n):
    S = rng.random((n, n))
    S += S.T
    assert_array_equal(embedding(S.copy(), 3, overwrite=True), embedding(S, 3))


@pytest.mark.parametrize("uneven", [0.1, 1e-3, 1e-5])
def test_embedding_is_accurate_to_a_millionth_where_the_next_eigenvalue_is_near(uneven):
    groups = np.arange(450) % 5  # a ring of five groups: the second and third eigenvalue are the same but for
    apart = (groups[:, None] - groups) % 5  # one edge of the ring that is heavier than the others
    S = np.where(apart == 0, 1.0, np.where((apart == 1) | (apart == 4), 0.05, 0))
    S[np.ix_(groups == 0, groups == 1)] *= 1 + uneven
    S[np.ix_(groups == 1, groups == 0)] *= 1 + uneven
    values, V = linalg.eigh(laplacian(S))
    assert values[2] - values[1] < 0.03 * uneven * values[-1]
    P = embedding(S, 2)
    assert np.linalg.norm(P - V[:, :2] @ (V[:, :2].T @ P), 2) < 1e-6


def test_embedding_of_a_graph_without_edges_is_the_first_unit_vectors():
    assert_array_equal(embedding(np.eye(5), 2), np.eye(5, 2))


def random_graph(n, c, within, between):
    rng, groups = np.random.default_rng(0), np.arange(n) % c
    chance = np.where(groups[:, None] == groups, within, between)
    S = np.triu(np.where(rng.random((n, n)) < chance, rng.random((n, n)), 0), 1)
    return S + S.T


@pytest.mark.parametrize(("within", "between"), [(0.1, 0.05), (0.05, 0.03), (0.3, 0)])
def test_embedding_of_many_samples_spans_the_eigenvectors_that_lapack_finds(within, between):
    S = random_graph(420, 3, within, between)  # without edges between groups, 0 is an eigenvalue three times
    P, V = embedding(S, 3), linalg.eigh(laplacian(S))[1][:, :3]
    assert_allclose(P @ P.T, V @ V.T, atol=1e-9)
