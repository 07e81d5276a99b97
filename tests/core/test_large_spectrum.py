"""The eigensolver of large graphs against LAPACK."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

from kernelweave.core.graphs.coordinates import laplacian
from kernelweave.core.graphs.large_spectrum import large_spectrum, largest_eigenvalue


@pytest.fixture(scope="module")
def S():
    X = make_blobs(600, n_features=4, centers=5, cluster_std=3.0, random_state=0)[0]
    A = kneighbors_graph(X, 8, mode="distance")
    A.data = np.exp(-A.data)
    return sparse.csr_array((A + A.T) / 2, dtype=np.float32)


@pytest.fixture(scope="module")
def exact(S):
    return linalg.eigh(laplacian(S.astype(np.float64)).toarray())


def test_the_smallest_eigenpairs_are_those_of_lapack(S, exact):
    found = large_spectrum(S, 6)
    assert found.converged
    assert_allclose(found.values[1:], exact[0][1:6], rtol=1e-3)
    assert_allclose(np.linalg.svd(exact[1][:, :6].T @ found.vectors, compute_uv=False), 1, atol=1e-3)


def test_the_residual_is_that_of_the_eigenvectors_returned(S):
    found = large_spectrum(S, 6)
    R = laplacian(S.astype(np.float64)) @ found.vectors - found.vectors * found.values
    assert_allclose(found.residual, np.linalg.norm(R, axis=0).max() / found.values[-1], rtol=1e-6)
    assert found.residual < 1e-2


def test_eigenvectors_are_orthonormal_and_the_first_is_constant(S):
    V = large_spectrum(S, 6).vectors
    assert_allclose(V.T @ V, np.eye(6), atol=1e-12)
    assert_allclose(V[:, 0], 1 / np.sqrt(600), rtol=1e-12)


def test_a_small_tolerance_is_reached_in_double_precision(S, exact):
    found = large_spectrum(S, 6, tol=1e-9)
    assert found.converged
    assert_allclose(found.values[1:], exact[0][1:6], rtol=1e-10)


def test_no_eigenpair_is_skipped_where_they_crowd():
    ring = sparse.csr_array(sparse.diags_array([1.0, 1.0, 1.0, 1.0], offsets=[1, -1, 499, -499], shape=(500, 500)))
    found = large_spectrum(ring, 7, tol=1e-5)
    assert found.converged
    assert_allclose(found.values, np.sort(2 - 2 * np.cos(2 * np.pi * np.arange(500) / 500))[:7], atol=1e-8)


def test_parts_that_hang_together_by_a_thread_are_told_apart(S):
    both = sparse.block_diag([S, S], format="lil")
    both[0, 600] = both[600, 0] = 1e-7
    V = large_spectrum(sparse.csr_array(both), 4).vectors
    assert_allclose(np.abs(V[:, 1]), 1 / np.sqrt(1200), rtol=1e-2)
    assert V[0, 1] * V[-1, 1] < 0


def test_the_bound_is_above_the_largest_eigenvalue_and_not_far_from_it(S, exact):
    bound = largest_eigenvalue(laplacian(S.astype(np.float64)).tocsr())
    assert exact[0][-1] <= bound <= 1.5 * exact[0][-1]


def test_eigenvectors_of_the_same_graph_need_no_filter(S):
    first = large_spectrum(S, 9, tol=1e-3)
    again = large_spectrum(S, 6, start=first.vectors, tol=1e-2)
    assert again.n_iter == 0
    assert_allclose(again.values, first.values[:6], rtol=1e-4, atol=1e-9)


def test_eigenvectors_after_the_firm_ones_may_be_less_accurate(S):
    firm, loose = large_spectrum(S, 12, tol=1e-3), large_spectrum(S, 12, firm=5, tol=1e-3)
    assert loose.n_iter <= firm.n_iter
    R = laplacian(S.astype(np.float64)) @ loose.vectors - loose.vectors * loose.values
    residual = np.linalg.norm(R, axis=0) / loose.values[-1]
    assert loose.converged
    assert residual[:5].max() < 1e-3
    assert residual.max() < 1e-2


def test_it_says_if_it_did_not_converge(S):
    found = large_spectrum(S, 6, tol=1e-10, max_iter=1)
    assert not found.converged
    assert found.n_iter == 1


def test_the_constant_eigenvector_alone_needs_no_filter(S):
    found = large_spectrum(S, 1)
    assert found.n_iter == 0
    assert_allclose(found.vectors, 1 / np.sqrt(600))


def test_one_residual_above_the_tolerance_is_enough_not_to_have_converged(S):
    once = large_spectrum(S, 6, max_iter=1)
    R = laplacian(S.astype(np.float64)) @ once.vectors - once.vectors * once.values
    each = np.linalg.norm(R, axis=0)[1:] / once.values[-1]
    assert not large_spectrum(S, 6, tol=float(np.median(each)), max_iter=1).converged
    assert large_spectrum(S, 6, tol=1.01 * float(each.max()), max_iter=1).converged
