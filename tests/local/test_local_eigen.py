"""The filtered eigen solver against LAPACK, and labels by conjugate gradients against direct solutions."""

import numpy as np
import pytest
from kernelweave.weave.local.filtered import filtered_eigenpairs
from kernelweave.weave.local.gradients import conjugate_gradients
from numpy.testing import assert_allclose
from scipy import linalg, sparse
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

from kernelweave.core.graphs.propagation import harmonic, laplacian
from kernelweave.metrics import clustering_accuracy
from kernelweave.weave.local import bottom_spectrum, harmonic_scores, lgc_scores, partition_many
from kernelweave.weave.local import filtered as eigen
from kernelweave.weave.local import local_kmeans as partition


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


def test_the_filtered_solver_says_if_it_did_not_converge(S, monkeypatch):
    monkeypatch.setattr(eigen, "_MAX_ITER", 1)
    found = filtered_eigenpairs(S, 6, seed=0, tol=1e-10)
    assert not found.converged
    assert found.residual > 1e-10


def test_the_filtered_solver_is_repeatable(S):
    here, there = (filtered_eigenpairs(S, 4, seed=3) for _ in range(2))
    assert_allclose(here.vectors, there.vectors, atol=0)


def test_the_two_eigen_solvers_agree(S, monkeypatch):
    direct = bottom_spectrum(S, 5, seed=0)
    monkeypatch.setattr(eigen, "_FACTORISED_UP_TO", 100)
    filtered = bottom_spectrum(S, 5, seed=0)
    assert direct.n_iter == 0
    assert filtered.n_iter > 0
    # errors of eigenvalues are squares of those of eigenvectors, which are a hundredth here
    assert_allclose(filtered.values, direct.values, rtol=1e-2, atol=1e-4 * direct.values[-1])


def labels_of(y, each):
    known = np.zeros(len(y), dtype=bool)
    for c in np.unique(y):
        known[np.flatnonzero(y == c)[:each]] = True
    return np.eye(y.max() + 1)[y] * known[:, None], known


def test_harmonic_scores_are_those_of_the_direct_solver(S, blobs):
    Y, known = labels_of(blobs[1], 2)
    found = harmonic_scores(S, Y, known)
    assert found.converged
    assert_allclose(found.scores, harmonic(S, Y, known), atol=1e-3)
    assert_allclose(found.scores[~known].sum(axis=1), 1, atol=1e-3)


def test_lgc_scores_solve_their_system(S, blobs):
    Y, known = labels_of(blobs[1], 2)
    d = 1 / np.sqrt(S.sum(axis=1))
    exact = np.linalg.solve(np.eye(600) - 0.99 * S.toarray() * d * d[:, None], Y)
    found = lgc_scores(S, Y, known)
    assert found.converged
    assert_allclose(found.scores[~known], exact[~known], rtol=1e-2, atol=1e-4)
    assert_allclose(found.scores[known], Y[known])


def test_no_score_reaches_a_piece_without_labels():
    S = sparse.csr_array(np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3)))
    Y = np.zeros((6, 2))
    Y[0, 0] = Y[1, 1] = 1
    for spread in (harmonic_scores, lgc_scores):
        scores = spread(S, Y, Y.any(axis=1)).scores
        assert_allclose(scores[3:], 0)
        assert (scores[2] > 0).all()


def test_samples_without_edges_have_no_score():
    S = sparse.csr_array(np.pad(np.ones((2, 2)) - np.eye(2), (0, 1)))
    Y = np.array([[1.0, 0], [0, 1], [0, 0]])
    assert_allclose(lgc_scores(S, Y, Y.any(axis=1)).scores, Y)


def test_conjugate_gradients_say_if_they_did_not_converge():
    A = np.diag(np.geomspace(1, 1e8, 50)) + 1
    _, converged, steps = conjugate_gradients(lambda V: A @ V, np.ones((50, 1)), np.ones(50), max_iter=3)
    assert not converged
    assert steps == 3


def test_k_means_started_on_a_part_finds_the_groups_of_the_whole(monkeypatch):
    monkeypatch.setattr(partition, "_STARTS_ON", 100)
    X, y = make_blobs(1000, centers=4, cluster_std=0.3, random_state=1)
    found = partition_many(X, 4, n_init=5, random_state=np.random.RandomState(0))
    assert clustering_accuracy(y, found) == 1
