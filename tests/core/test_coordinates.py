"""The bottom of the spectrum of a sparse graph, and coordinates from it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave.core.graphs.affinity import Affinity, GraphRule
from kernelweave.core.graphs.coordinates import bottom_eigenpairs, commute_rows, laplacian, unit_rows
from kernelweave.core.graphs.edges import join_pieces


def cut(Z, k):
    Z = Z.copy()
    np.fill_diagonal(Z, 0)
    return GraphRule("ridge", n_neighbors=k).weave(lambda kind: Affinity(Z), len(Z)).graph


def graph(rng, n, k=6):
    X = rng.normal(size=(n, 3))
    Z = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    return join_pieces(cut(Z, k), Affinity(Z))


@pytest.mark.parametrize("n", [50, 400])
def test_the_smallest_eigenpairs_are_those_of_the_dense_laplacian(rng, n):
    S = graph(rng, n)
    values, V = bottom_eigenpairs(S, 9)
    L = laplacian(S.toarray())
    assert_allclose(values, np.linalg.eigvalsh(L)[:9], atol=1e-10)
    assert_allclose(L @ V, V * values, atol=1e-9)
    assert_allclose(V.T @ V, np.eye(9), atol=1e-10)


def test_all_null_vectors_of_a_graph_in_pieces_are_found(rng):
    Z = np.zeros((300, 300))
    for block in (slice(0, 100), slice(100, 180), slice(180, 300)):
        m = block.stop - block.start
        Z[block, block] = rng.uniform(0.5, 1, size=(m, m))
    values, _ = bottom_eigenpairs(cut(Z, 20), 5)
    assert_allclose(values[:3], 0, atol=1e-10)
    assert values[3] > 1e-3


@pytest.mark.parametrize("n", [50, 400])
def test_permuting_the_samples_permutes_the_eigenvectors_signs_included(rng, n):
    S = graph(rng, n)
    order = rng.permutation(n)
    _, V = bottom_eigenpairs(S, 6)
    _, permuted = bottom_eigenpairs(S[order][:, order].tocsr(), 6)
    assert_allclose(permuted, V[order], atol=1e-7)


def test_all_coordinates_together_give_commute_times(rng):
    S = graph(rng, 30)
    L = laplacian(S.toarray())
    values, V = bottom_eigenpairs(S, 30)
    rows = V[:, 1:] / np.sqrt(values[1:])
    inverse = np.linalg.pinv(L)
    d = inverse.diagonal()
    commute = d[:, None] + d - 2 * inverse
    assert_allclose(((rows[:, None] - rows) ** 2).sum(axis=2), commute, atol=1e-7)
    damped = V[:, 1:] / np.sqrt(values[1:] + 1e-3 * values[-1])
    assert_allclose(commute_rows(values, V), damped)


def test_a_graph_without_edges_keeps_its_eigenvectors_as_coordinates():
    V = np.eye(6, 3)
    assert_allclose(commute_rows(np.zeros(3), V), V)


def test_soft_rows_have_the_root_of_their_length_and_unit_rows_length_one(rng):
    P = rng.normal(size=(6, 3))
    P[2] = 0
    lengths = np.linalg.norm(P, axis=1)
    assert_allclose(np.linalg.norm(unit_rows(P, 0.5), axis=1), np.sqrt(lengths))
    assert_allclose(np.linalg.norm(unit_rows(P), axis=1), lengths > 0)


def test_laplacian_is_the_quadratic_form_of_differences(small):
    total = sum(
        small.S[i, j] * np.sum((small.P[i] - small.P[j]) ** 2) / 2 for i in range(small.n) for j in range(small.n)
    )
    assert_allclose(np.trace(small.P.T @ laplacian(small.S) @ small.P), total)
