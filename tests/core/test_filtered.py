"""The filtered eigensolver against LAPACK."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

from kernelweave.core.graphs import coordinates
from kernelweave.core.graphs.coordinates import bottom_eigenpairs, bottom_spectrum, laplacian
from kernelweave.core.graphs.filtered import filtered_eigenpairs


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(600, n_features=4, centers=5, cluster_std=2.0, random_state=0)


@pytest.fixture(scope="module")
def S(blobs):
    A = kneighbors_graph(blobs[0], 8, mode="distance")
    A.data = np.exp(-A.data)
    return sparse.csr_array((A + A.T) / 2)


def test_the_filtered_solver_finds_the_smallest_eigenpairs(S):
    found = filtered_eigenpairs(S, 6, seed=0, tol=1e-6)
    values, V = linalg.eigh(laplacian(S).toarray(), subset_by_index=(0, 5))
    assert found.converged
    assert_allclose(found.values, np.maximum(values, 0), atol=1e-9)
    assert_allclose(abs(np.linalg.svd(V.T @ found.vectors)[1]), 1, atol=1e-6)
    assert_allclose(found.vectors.T @ found.vectors, np.eye(6), atol=1e-10)


def test_no_eigenpair_is_skipped_where_they_crowd():
    ring = sparse.csr_array(sparse.diags_array([1.0, 1.0, 1.0, 1.0], offsets=[1, -1, 499, -499], shape=(500, 500)))
    found = filtered_eigenpairs(ring, 7, seed=0, tol=1e-5)
    exact = np.sort(2 - 2 * np.cos(2 * np.pi * np.arange(500) / 500))[:7]  # in pairs
    assert found.converged
    assert_allclose(found.values, exact, atol=1e-8)


def test_the_filtered_solver_says_if_it_did_not_converge(S):
    found = filtered_eigenpairs(S, 6, seed=0, tol=1e-10, max_iter=1)
    assert not found.converged
    assert found.residual > 1e-10


def test_the_filtered_solver_is_repeatable(S):
    here, there = (filtered_eigenpairs(S, 4, seed=3) for _ in range(2))
    assert_allclose(here.vectors, there.vectors, atol=0)


def test_the_two_eigen_solvers_agree(S, monkeypatch):
    direct = bottom_spectrum(S, 5, seed=0)
    monkeypatch.setattr(coordinates, "_FACTORISED_UP_TO", 100)
    found = bottom_spectrum(S, 5, seed=0)
    assert direct.n_iter == 0
    assert found.n_iter > 0
    # errors of eigenvalues are squares of those of eigenvectors, which are a hundredth here
    assert_allclose(found.values, direct.values, rtol=1e-2, atol=1e-4 * direct.values[-1])


def test_filters_that_start_from_a_similar_graph_find_the_eigenpairs_of_the_factorisation(S):
    other = S.copy()
    other.data = other.data * np.random.default_rng(0).uniform(0.5, 1.5, other.nnz)
    other = sparse.csr_array((other + other.T) / 2)
    cold = bottom_spectrum(other, 6)
    warm = bottom_spectrum(other, 6, start=bottom_spectrum(S, 12).vectors)
    assert warm.n_iter > 0
    assert cold.n_iter == 0
    assert_allclose(warm.values, cold.values, atol=1e-5 * cold.values[-1])
    overlap = np.linalg.svd(warm.vectors.T @ cold.vectors, compute_uv=False)
    assert_allclose(overlap, 1, atol=1e-3)


def test_a_start_from_a_similar_graph_is_permuted_with_the_samples(S):
    order = np.random.default_rng(1).permutation(S.shape[0])
    start = bottom_spectrum(S, 12).vectors
    other = sparse.csr_array(S.power(0.5))
    found = bottom_spectrum(other, 6, start=start)
    moved = bottom_spectrum(other[order][:, order], 6, start=start[order])
    assert found.n_iter == moved.n_iter > 0
    assert_allclose(moved.values, found.values, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("n_features", [1, 20])
def test_graphs_that_filters_solve_slowly_are_factorised(n_features):
    X, _ = make_blobs(1200, n_features=n_features, centers=5, cluster_std=3.0, random_state=0)
    A = kneighbors_graph(X, 8)
    S = sparse.csr_array((A + A.T) / 2)
    found = bottom_spectrum(S, 6)
    values, _ = bottom_eigenpairs(S, 6)
    assert (found.n_iter > 0) == (n_features == 20)
    assert_allclose(found.values, values, atol=1e-6 * values[-1])


def test_the_block_to_start_from_holds_the_eigenvectors_and_further_ones(S):
    found = filtered_eigenpairs(S, 6, seed=0)
    assert found.block.shape == (600, 14)
    assert_allclose(found.block[:, :6], found.vectors, atol=0)


def test_permuting_the_samples_permutes_the_eigenvectors_of_the_filters(S):
    order = np.random.default_rng(1).permutation(S.shape[0])
    here, there = (filtered_eigenpairs(graph, 4, seed=0) for graph in (S, sparse.csr_array(S[order][:, order])))
    assert_allclose(there.vectors, here.vectors[order], atol=1e-5)
