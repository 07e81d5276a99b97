import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg

from kernelweave.core.algebra.matrices import eigenpairs
from kernelweave.core.graphs.normalised import count_pieces, normalised_affinity, normalised_embedding


def affinity(rng, n=12):
    W = rng.random((n, n))
    return W + W.T


def test_the_roots_of_the_degrees_are_an_eigenvector_of_eigenvalue_one(rng):
    W = affinity(rng)
    root = np.sqrt(W.sum(axis=1))
    assert_allclose(normalised_affinity(W) @ root, root, atol=1e-12)


def test_the_embedding_spans_the_largest_eigenvalues_largest_first(rng):
    W = affinity(rng)
    P = normalised_embedding(W, 3)
    N = normalised_affinity(W)
    values = np.sort(np.linalg.eigvalsh(N))[::-1][:3]
    assert_allclose(P.T @ P, np.eye(3), atol=1e-12)
    assert_allclose(N @ P, P * values, atol=1e-12)


def test_a_sample_without_positive_degree_is_similar_to_nothing(rng):
    W = affinity(rng)
    W[2] = W[:, 2] = 0
    W[5] = W[:, 5] = -W[5]
    N = normalised_affinity(W)
    assert np.isfinite(N).all()
    assert_array_equal(N[[2, 5]], 0)
    assert_array_equal(N[:, [2, 5]], 0)


def narrow_gaussian(seed, n=60):
    X = np.random.default_rng(seed).random((n, 20))
    d = ((X[:, None] - X) ** 2).sum(axis=2)
    return np.exp(-200 * d / d.max())


@pytest.mark.parametrize("seed", range(4))
def test_nearly_equal_eigenvalues_lose_no_eigenvector(seed):
    # for some of these, as for the paper's narrow kernels, LAPACK's evr gives fewer eigenvectors than it is asked for
    P = normalised_embedding(narrow_gaussian(seed), 3)
    assert_allclose(P.T @ P, np.eye(3), atol=1e-10)


@pytest.fixture
def forgetful_lapack(monkeypatch):
    """Let LAPACK return one eigenvector where it is asked for some, as its evr does where eigenvalues coincide."""
    eigh = linalg.eigh

    def forgetful(*args, subset_by_index=None, **kwargs):
        values, V = eigh(*args, subset_by_index=subset_by_index, **kwargs)
        return (values, V) if subset_by_index is None else (values[:1], V[:, :1])

    monkeypatch.setattr(linalg, "eigh", forgetful)


def assert_eigenvectors(M, V, values):
    """V'V = I and MV = V diag(values), up to the backward error of a symmetric eigensolver: n eps ||M||."""
    bound = len(M) * np.finfo(float).eps * np.abs(values).max()
    assert_allclose(V.T @ V, np.eye(len(values)), atol=len(M) * np.finfo(float).eps)
    assert_allclose(M @ V, V * values, atol=bound)


@pytest.mark.usefixtures("forgetful_lapack")
@pytest.mark.parametrize("seed", range(4))
def test_eigenvectors_that_lapack_leaves_out_are_computed_another_way(seed):
    # the largest eigenvalues agree to rounding, so that no basis of their eigenvectors is the right one: it must be
    # orthonormal and solve the eigenvalue equation
    M = narrow_gaussian(seed)
    assert_eigenvectors(M, eigenpairs(M, 57, 59)[1], np.linalg.eigvalsh(M)[57:])


@pytest.mark.usefixtures("forgetful_lapack")
def test_eigenvectors_that_lapack_leaves_out_are_those_asked_for(rng):
    # eigenvalues apart by 1 determine each eigenvector up to its sign
    Q = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    M = (Q * np.arange(20)) @ Q.T
    found = eigenpairs(M, 5, 8)[1]
    assert_eigenvectors(M, found, np.arange(5.0, 9.0))
    assert_allclose(np.abs(np.sum(found * Q[:, 5:9], axis=0)), 1, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pieces_are_those_without_entries_above_rounding(rng, dtype):
    W = np.kron(np.eye(4), affinity(rng, 5)).astype(dtype)
    assert count_pieces(W, 9) == 4
    assert count_pieces(W, 3) == 3
    weak = W + np.finfo(dtype).eps * 1e-2
    assert count_pieces(weak, 9) == 4
    assert count_pieces(W + dtype(1e-3), 9) == 1
    W[:5, :5] = np.eye(5)
    assert count_pieces(W, 9) == 8
    assert count_pieces(np.zeros((3, 3), dtype=dtype), 9) == 3


def test_a_long_chain_is_one_piece():
    assert count_pieces(np.diag(np.ones(499), 1) + np.diag(np.ones(499), -1), 9) == 1
