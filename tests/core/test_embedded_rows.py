"""Coordinates from eigenpairs, and what is read off them, against their formulas row by row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

from kernelweave.core.graphs import coordinates
from kernelweave.core.graphs.coordinates import (
    bottom_eigenpairs,
    bottom_spectrum,
    commute_rows,
    eigenvalue_gaps,
    embedded,
    laplacian,
    margins,
    nearness,
    row_order,
    shrinkage,
    unit_rows,
    votes,
)
from kernelweave.core.graphs.large_spectrum import large_spectrum


def neighbours(n, k=8, seed=0):
    X = make_blobs(n, n_features=4, centers=4, cluster_std=3.0, random_state=seed)[0]
    A = kneighbors_graph(X, k, mode="distance")
    A.data = np.exp(-A.data)
    return sparse.csr_array((A + A.T) / 2)


@pytest.fixture(scope="module")
def S():
    return neighbours(420)


@pytest.fixture(scope="module")
def exact(S):
    return np.linalg.eigh(laplacian(S.toarray()))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sparse_and_a_dense_graph_have_the_laplacian_of_their_symmetric_part(rng, dtype):
    S = (rng.random((9, 9)) * (rng.random((9, 9)) < 0.5)).astype(dtype)
    before = S.copy()
    W = (S + S.T) / 2
    expected = np.diag(W.sum(axis=1)) - W
    assert_allclose(laplacian(S), expected, atol=1e-6)
    assert_allclose(laplacian(sparse.csr_array(S)).toarray(), expected, atol=1e-6)
    assert_array_equal(S, before)


def test_a_small_graph_is_solved_directly_and_a_start_needs_more_vectors_than_are_asked_for(S, exact):
    values, V = exact
    plain = bottom_spectrum(S, 5)
    same_width = bottom_spectrum(S, 5, start=V[:, :5])
    for found in (plain, same_width):
        assert (found.converged, found.residual, found.n_iter) == (True, 0.0, 0)
        assert_allclose(found.values, values[:5], atol=1e-10)
        assert found.block.shape == (420, 5)
    warm = bottom_spectrum(S, 5, start=V[:, :9])
    assert warm.n_iter >= 1
    assert warm.converged
    assert_allclose(warm.values, values[:5], atol=1e-8)


def test_the_size_of_a_graph_decides_how_it_is_solved(S, exact, monkeypatch):
    start = exact[1][:, :9]
    monkeypatch.setattr(coordinates, "_DENSE_BELOW", 421)
    assert bottom_spectrum(S, 5, start=start).n_iter == 0
    monkeypatch.setattr(coordinates, "_DENSE_BELOW", 420)
    assert bottom_spectrum(S, 5, start=start).n_iter > 0
    monkeypatch.setattr(coordinates, "_FILTERED_FROM", 421)
    assert bottom_spectrum(S, 5).n_iter == 0
    monkeypatch.setattr(coordinates, "_FILTERED_FROM", 420)
    filtered = bottom_spectrum(S, 5)
    assert filtered.n_iter > 0
    assert filtered.residual < 1e-4
    monkeypatch.setattr(coordinates, "_FACTORISED_UP_TO", 420)
    assert_array_equal(bottom_spectrum(S, 5).vectors, filtered.vectors)
    monkeypatch.setattr(coordinates, "_FACTORISED_UP_TO", 419)
    assert_array_equal(bottom_spectrum(S, 5).vectors, large_spectrum(S, 5).vectors)


def test_a_long_path_is_left_to_the_factorisation(monkeypatch):
    path = sparse.csr_array(sparse.diags_array([1.0, 1.0], offsets=[1, -1], shape=(450, 450)))
    monkeypatch.setattr(coordinates, "_FILTERED_FROM", 400)
    found = bottom_spectrum(path, 3)
    assert found.n_iter == 0
    assert_allclose(found.values, 2 - 2 * np.cos(np.pi * np.arange(3) / 450), atol=1e-10)


def test_no_more_eigenpairs_are_returned_than_there_are_samples():
    S = neighbours(12, k=3)
    assert bottom_spectrum(S, 50).vectors.shape == (12, 12)
    L = laplacian(S.toarray())
    values, V = bottom_eigenpairs(S, 12)
    assert_allclose(V * values @ V.T, L, atol=1e-10)
    assert values.min() >= 0
    assert ((V**3).sum(axis=0) > -1e-12).all()


def test_as_many_eigenpairs_as_samples_of_a_large_graph_are_found(S, exact):
    values, _ = bottom_eigenpairs(S, 420)
    assert_allclose(values, np.maximum(exact[0], 0), atol=1e-10)


def test_a_large_graph_without_edges_has_the_eigenvalue_zero_alone():
    values, V = bottom_eigenpairs(sparse.csr_array((401, 401)), 3)
    assert_allclose(values, 0, atol=1e-12)
    assert_allclose(V.T @ V, np.eye(3), atol=1e-10)


def test_every_embedding_is_made_of_the_first_eigenvectors(exact):
    values, V = exact[0][:6], exact[1][:, :6]
    assert_array_equal(embedded(values, V, "plain", 3), V[:, :3])
    assert_array_equal(embedded(values, V, "plain", 2), V[:, :2])
    assert_array_equal(embedded(values, V, "plain", 1), V[:, [1]])
    assert_array_equal(embedded(values, V, "unit", 3), unit_rows(V[:, :3]))
    assert_array_equal(embedded(values, V, "soft", 3), unit_rows(V[:, :3], 0.5))
    assert_array_equal(embedded(values, V, "commute", 3), commute_rows(values[:4], V[:, :4]))
    assert embedded(values, V, "commute", 3).shape[1] == 3


def test_commute_rows_of_one_eigenpair_or_of_pieces_are_the_eigenvectors(exact):
    V = exact[1][:, :3]
    assert_array_equal(commute_rows(np.zeros(1), V[:, :1]), V[:, :1])
    assert_array_equal(commute_rows(np.zeros(3), V), V)
    one = commute_rows(np.array([0.0, 0.0, 2.0]), V)
    assert_allclose(one, V[:, 1:] / np.sqrt([0.002, 2.002]))


def test_a_row_of_zeros_stays_and_other_rows_keep_their_direction(rng):
    P = rng.normal(size=(5, 3))
    P[2] = 0
    for rows, power in ((unit_rows(P), 1), (unit_rows(P, 0.5), 0.5)):
        assert_array_equal(rows[2], 0)
        for i in (0, 1, 3, 4):
            assert_allclose(rows[i], P[i] / np.linalg.norm(P[i]) ** power)


def test_rows_are_ordered_by_the_last_column_and_then_by_those_before():
    V = np.array([[1.0, 2.0, 3.0], [0.0, 5.0, 1.0], [2.0, 1.0, 3.0], [0.0, 2.0, 3.0], [9.0, 9.0, -1.0]])
    expected = sorted(range(5), key=lambda i: tuple(V[i, ::-1]))
    assert_array_equal(row_order(V), expected)
    assert_array_equal(row_order(V[[0, 1, 4]]), [2, 1, 0])
    assert_array_equal(row_order(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])), [1, 0, 2])


def test_a_gap_is_the_ratio_of_two_eigenvalues_seen_by_a_fifth_of_the_graphs():
    spectra = [np.array([0.0, 0.1 * g, 0.2, 1.0 * g]) for g in (1, 2, 3, 4, 5, 7)]
    numbers = np.array([1, 2, 3, 4])
    ratios = np.array([[max(v[k], 1e-6) / max(v[k - 1], 1e-6) if k < 4 else 1 for k in numbers] for v in spectra])
    assert_allclose(eigenvalue_gaps(spectra, None, numbers), np.quantile(ratios, 0.8, axis=0))
    assert eigenvalue_gaps(spectra, None, numbers)[3] == 1
    null = [np.array([0.0, 0.2, 0.3, 0.3 * (1 + g)]) for g in range(6)]
    without = np.array([[max(v[k], 1e-6) / max(v[k - 1], 1e-6) if k < 4 else 1 for k in numbers] for v in null])
    expected = np.quantile(ratios / np.maximum(without, 1), 0.8, axis=0)
    assert_allclose(eigenvalue_gaps(spectra, null, numbers), expected)
    falling = [np.array([4.0, 2.0])] * 2  # relative to less than 1 nothing stands out more
    assert_allclose(eigenvalue_gaps([np.array([1.0, 3.0])] * 2, falling, np.array([1])), 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_votes_are_counted_edge_by_edge(rng, dtype, form):
    S = (rng.random((8, 8)) * (rng.random((8, 8)) < 0.6)).astype(dtype)
    S[3] = 0
    S[3, 3] = 2  # a loop alone
    labels = np.array([0, 1, 2, 1, 0, 2, 1, 0])
    expected = np.zeros((8, 4))
    for i in range(8):
        for j in range(8):
            expected[i, labels[j]] += S[i, j] if i != j else 0
        expected[i] = expected[i] / expected[i].sum() if expected[i].sum() > 0 else np.eye(4)[labels[i]]
    assert_allclose(votes(form(S), labels, 4), expected, rtol=1e-5, atol=1e-6)


def test_a_sample_whose_edges_are_rounding_of_its_loop_is_alone():
    eps = np.finfo(float).eps
    labels = np.array([0, 1])
    assert_array_equal(votes(np.array([[4.0, 4 * eps], [0.0, 1.0]]), labels, 2), np.eye(2))
    assert_array_equal(votes(np.array([[4.0, 16 * eps], [0.0, 1.0]]), labels, 2)[0], [0, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearness_is_inverse_to_squared_distances(rng, dtype):
    P, means = rng.normal(size=(6, 2)).astype(dtype), rng.normal(size=(3, 2))
    D = np.array([[((x.astype(float) - m) ** 2).sum() for m in means] for x in P])
    expected = np.array([2, 0, 1])[None] > 0
    expected = expected / D
    assert_allclose(nearness(P, means, np.array([2, 0, 1])), expected / expected.sum(axis=1, keepdims=True), rtol=1e-9)


def test_a_sample_at_two_means_is_shared_by_them_also_where_all_is_zero():
    assert_allclose(nearness(np.zeros((2, 2)), np.zeros((2, 2)), np.array([1, 1])), 0.5)
    found = nearness(np.array([[1.0], [2.0]]), np.array([[1.0], [3.0]]), np.array([1, 1]))
    least = 9 * np.finfo(float).eps
    assert_allclose(found[0], np.array([1 / least, 1 / 4]) / (1 / least + 1 / 4), rtol=1e-12)
    assert found[0, 1] == pytest.approx(least / 4, rel=1e-6)
    at_zero = nearness(np.array([[0.0], [2e-9]]), np.array([[0.0], [0.0]]), np.array([1, 1]))
    assert_allclose(at_zero, 0.5)
    least = np.finfo(float).eps  # of the size 1 where all means are 0
    small = np.sqrt(least) * np.array([[0.5], [1.2]])
    assert_allclose(nearness(small, np.zeros((1, 1)), np.array([3])), 1)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_shrinkage_is_the_quotient_of_means_over_neighbours(rng, form):
    S, P = rng.random((7, 7)), np.abs(rng.normal(size=(7, 3)))
    S[2] = 0
    S[2, 2] = 5  # without neighbours: its mean is 0
    P[:, 2] = 0
    W = S - np.diag(S.diagonal())
    means = np.array([W[i] @ P / W[i].sum() if W[i].sum() > 0 else np.zeros(3) for i in range(7)])
    expected = [(P[:, j] @ means[:, j]) / (P[:, j] @ P[:, j]) for j in range(2)]
    assert_allclose(shrinkage(form(S), P), [*expected, 1])


def test_columns_that_averaging_removes_are_not_scaled():
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert_array_equal(shrinkage(swap, np.array([[1.0, 1.0], [-1.0, 1.0]])), [1, 1])
    root = np.sqrt(np.finfo(float).eps)
    for share, expected in ((0.5, 1), (2.0, 2.0 * root)):  # x = (1, y): 2 y / (1 + y²)
        y = share * root / 2
        assert_allclose(shrinkage(swap, np.array([[1.0], [y]])), expected, rtol=1e-6)


def test_the_margin_is_the_lead_over_the_next_cluster(rng):
    M, labels = rng.random((6, 3)), np.array([0, 1, 2, 0, 1, 2])
    before = M.copy()
    confidence, margin = margins(M, labels)
    for i, k in enumerate(labels):
        assert confidence[i] == M[i, k]
        assert margin[i] == pytest.approx(M[i, k] - max(M[i, j] for j in range(3) if j != k))
    assert_array_equal(M, before)
    only = np.ones((4, 1))
    for found in margins(only, np.zeros(4, dtype=int)):
        assert_array_equal(found, 1)
