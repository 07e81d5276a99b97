"""Linear algebra on matrices of sizes around those of tiles and blocks, in both precisions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg

from kernelweave.core.algebra import matrices
from kernelweave.core.algebra.centring import centre
from kernelweave.core.algebra.matrices import (
    SymmetricOperator,
    average_with_transpose,
    definite_inverse,
    eigenpairs,
    floor_spectrum,
    largest_columns,
    nearest_psd,
    outer_square,
    ridge_inverse,
    symmetric_part,
    symmetric_spectral_norm,
)
from kernelweave.core.algebra.simplex import project_simplex
from kernelweave.core.graphs.normalised import normalised_affinity, normalised_embedding

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
SIZES = pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 127, 128, 129, 257])


def definite(n, dtype=np.float64):
    A = np.random.default_rng(n).normal(size=(n, n + 5))
    return (A @ A.T / n + np.eye(n)).astype(dtype)


@DTYPES
@SIZES
def test_a_definite_matrix_is_inverted_by_halves_and_by_lapack_alike(n, dtype, monkeypatch):
    M = definite(n, dtype)
    before = M.copy()
    expected = np.linalg.inv(M.astype(float))
    atol = 1e-4 if dtype == np.float32 else 1e-11
    for small in (64, n, n - 1):  # LAPACK inverts up to here
        monkeypatch.setattr(matrices, "_SMALL", max(small, 1))
        A = definite_inverse(M)
        assert A.dtype == dtype
        assert_allclose(A, expected, atol=atol)
        assert_array_equal(A, A.T)
        assert_array_equal(M, before)
        assert_allclose(definite_inverse(M - dtype(0.5) * np.eye(n, dtype=dtype), shift=0.5), expected, atol=atol)
        assert_allclose(ridge_inverse(M, gamma=0.0), expected, atol=atol)
        assert_array_equal(M, before)


@DTYPES
def test_an_indefinite_matrix_is_inverted_also_with_a_ridge(dtype):
    M = definite(20) - 3 * np.eye(20)
    assert np.linalg.eigvalsh(M)[0] < -0.1
    M = M.astype(dtype)
    expected = np.linalg.inv(M.astype(float))
    scale = np.abs(expected).max()
    before = M.copy()
    for A in (ridge_inverse(M, gamma=0.0), ridge_inverse(M - np.eye(20, dtype=dtype), gamma=1.0)):
        assert_allclose(A, expected, atol=(1e-3 if dtype == np.float32 else 1e-10) * scale)
        assert_array_equal(A, A.T)
    assert_array_equal(M, before)


@DTYPES
def test_a_condition_beyond_the_precision_is_singular_and_one_within_is_not(dtype):
    eps = float(np.finfo(dtype).eps)
    fine = ridge_inverse(np.diag([1.0, -4 * eps]).astype(dtype), gamma=0.0)
    assert_allclose(fine, np.diag([1.0, -0.25 / eps]), rtol=1e-5)
    for M in (np.diag([1.0, -eps / 4]), np.diag([1.0, 0.0]), np.diag([2.0, -eps / 4, 3.0])):
        with pytest.raises(np.linalg.LinAlgError, match="singular up to rounding"):
            ridge_inverse(M.astype(dtype), gamma=0.0)


def test_the_condition_is_that_of_the_norm_of_columns():
    v = np.r_[np.sqrt(0.5), np.full(99, np.sqrt(0.5 / 99))]
    eps = np.finfo(float).eps
    for units, singular in ((12, True), (400, False)):  # sums of columns are five times the eigenvalues
        M = np.eye(100) - (1 + units * eps) * np.outer(v, v)
        if singular:
            with pytest.raises(np.linalg.LinAlgError, match="singular up to rounding"):
                ridge_inverse(M, gamma=0.0)
        else:
            assert np.isfinite(ridge_inverse(M, gamma=0.0)).all()


def test_a_matrix_with_a_zero_pivot_or_a_negative_eigenvalue_has_no_definite_inverse():
    for M in (np.zeros((3, 3)), np.diag([1.0, 0.0]), np.diag([1.0, -1.0]), np.ones((2, 2))):
        assert definite_inverse(M) is None


@DTYPES
@pytest.mark.parametrize("n", [1, 127, 128, 129, 300])
def test_tiles_cover_the_whole_matrix(n, dtype):
    rng = np.random.default_rng(n)
    M = rng.normal(size=(n, n)).astype(dtype)
    mean = (M + M.T) / 2
    assert_array_equal(symmetric_part(M), mean)
    C = M.copy()
    average_with_transpose(C)
    assert_array_equal(C, mean)
    for E in (M, np.asfortranarray(M), M[:, : max(n // 2, 1)].copy()):
        assert_allclose(outer_square(E), E @ E.T, rtol=1e-3, atol=1e-4 * n)
        assert_array_equal(outer_square(E), outer_square(E).T)


def test_a_ridge_is_added_to_the_diagonal_of_a_new_matrix():
    for M in (np.diag([0.0, 1.0, 2.0]), np.diag([0.0, 1.0, -6.0])):
        d = M.diagonal().copy()
        assert_allclose(ridge_inverse(M, gamma=2.0), np.diag(1 / (d + 2)), rtol=1e-14)
        assert_array_equal(M, np.diag(d))


@DTYPES
@pytest.mark.parametrize("n", [1, 6, 30])
def test_centring_takes_the_means_of_rows_and_columns_away_in_place(n, dtype):
    K = definite(n, dtype) + 7
    C = np.eye(n) - 1 / n
    expected = C @ K.astype(float) @ C
    found = centre(K)
    assert found is K
    assert_allclose(K, expected, atol=1e-4 if dtype == np.float32 else 1e-12)
    assert_allclose(K.sum(axis=1), 0, atol=1e-3 if dtype == np.float32 else 1e-10)


@DTYPES
@pytest.mark.parametrize("n", [1, 2, 5, 59, 60, 199, 200, 230])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_norm_is_the_largest_absolute_eigenvalue(n, sign, dtype):
    M = np.random.default_rng(n).normal(size=(n, n))
    M = sign * (M + M.T - 2 * np.eye(n))
    M = M.astype(dtype)
    exact = np.abs(np.linalg.eigvalsh(M.astype(float))).max()
    assert symmetric_spectral_norm(M) == pytest.approx(exact, rel=1e-4 if dtype == np.float32 else 1e-7)
    assert symmetric_spectral_norm(M, tol=0.01) == pytest.approx(exact, rel=0.02)
    assert symmetric_spectral_norm(M, tol=0.1) == pytest.approx(exact, rel=0.2)


def test_a_matrix_of_zeros_has_the_norm_zero_and_one_entry_is_enough_for_more():
    assert symmetric_spectral_norm(np.zeros((250, 250))) == 0
    one = np.zeros((250, 250))
    one[3, 3] = -2
    assert symmetric_spectral_norm(one) == pytest.approx(2)


def test_only_the_upper_triangle_is_read_by_the_operator():
    M = definite(12)
    v = np.random.default_rng(0).normal(size=12)
    operator = SymmetricOperator(np.triu(M))
    assert_allclose(operator.matvec(v), M @ v)
    assert_allclose(operator @ v, M @ v)


@DTYPES
def test_the_nearest_semidefinite_matrix_has_no_negative_part(dtype):
    values, V = np.linalg.eigh(definite(15))
    moved = values - values[6]
    M = (V * moved @ V.T).astype(dtype)
    expected = V * np.maximum(moved, 0) @ V.T
    assert_allclose(nearest_psd(M), expected, atol=1e-5 if dtype == np.float32 else 1e-12)
    assert_allclose(nearest_psd(-np.eye(3)), 0)
    D = definite(15, dtype)
    assert nearest_psd(D) is D
    for overwrite in (False, True):
        floored = floor_spectrum(M.copy(), -0.25, overwrite=overwrite)
        expected_floor = V * np.maximum(moved, -0.25) @ V.T
        assert_allclose(floored, expected_floor, atol=1e-5 if dtype == np.float32 else 1e-12)
    before = M.copy()
    floor_spectrum(M, 0.1)
    assert_array_equal(M, before)


@pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 4), (3, 5), (9, 9), (0, 9)])
def test_eigenvectors_are_those_of_the_eigenvalues_asked_for(first, last):
    M = definite(10)
    values, V = np.linalg.eigh(M)
    found = eigenpairs(M, first, last)[1]
    assert found.shape == (10, last - first + 1)
    assert_allclose(np.abs((found * V[:, first : last + 1]).sum(axis=0)), 1)
    assert_allclose(M @ found, found * values[first : last + 1], atol=1e-10)


def test_eigenvectors_of_a_failing_algorithm_are_those_asked_for(monkeypatch):
    M = definite(10)
    expected = np.linalg.eigh(M)[1]
    eigh = linalg.eigh
    monkeypatch.setattr(
        linalg,
        "eigh",
        lambda M, *, subset_by_index=None, **more: (np.zeros(0), M[:, :1]) if subset_by_index else eigh(M, **more),
    )
    for first, last in ((0, 1), (2, 5)):
        found = eigenpairs(M, first, last)[1]
        assert_allclose(np.abs((found * expected[:, first : last + 1]).sum(axis=0)), 1)


@DTYPES
@pytest.mark.parametrize("width", [1, 3, 7, 8, 9, 16, 17, 33, 64, 65, 100])
@pytest.mark.parametrize("k", [1, 2, 3, 8])
def test_the_largest_columns_are_those_of_a_stable_sort(width, k, dtype):
    rng = np.random.default_rng(width)
    for values in (rng.normal(size=(9, width)), rng.integers(3, size=(9, width)), np.full((2, width), -np.inf)):
        values = values.astype(dtype)
        expected = np.argsort(-values, axis=1, kind="stable")[:, :k]
        assert_array_equal(largest_columns(values, k), expected)


@pytest.mark.parametrize("seed", range(4))
def test_the_projection_on_the_simplex_meets_its_optimality_conditions(seed):
    rng = np.random.default_rng(seed)
    V, free = rng.normal(size=(6, 8)), rng.random((6, 8)) < 0.6
    free[0] = True
    for mask in (None, free):
        P = project_simplex(V, free=mask)
        assert_allclose(P.sum(axis=0), 1)
        assert P.min() >= 0
        allowed = np.ones_like(free) if mask is None else mask
        assert_array_equal(P[~allowed], 0)
        for j in range(8):
            own = P[:, j] > 0
            theta = (V - P)[own, j]
            assert_allclose(theta, theta[0], atol=1e-12)
            assert (V[allowed[:, j] & ~own, j] <= theta[0] + 1e-12).all()
    assert_array_equal(project_simplex(np.array([[0.5, 3.0], [-0.5, 2.0]])), [[1, 1], [0, 0]])
    assert_allclose(project_simplex(np.zeros((4, 1), dtype=np.float32)), 0.25)


@DTYPES
def test_affinities_are_normalised_by_the_roots_of_both_degrees(dtype):
    W = np.random.default_rng(0).random((7, 7)).astype(dtype)
    W = (W + W.T) / 2
    W[3] = W[:, 3] = 0
    W[5, 5] = -20  # a negative degree
    d = W.sum(axis=1)
    expected = [[W[i, j] / np.sqrt(d[i] * d[j]) if min(d[i], d[j]) > 0 else 0 for j in range(7)] for i in range(7)]
    assert_allclose(normalised_affinity(W), expected, rtol=1e-5)
    V = np.linalg.eigh(np.array(expected, dtype=float))[1]
    P = normalised_embedding(W, 2)
    assert_allclose(np.abs((P * V[:, ::-1][:, :2]).sum(axis=0)), 1, atol=1e-4)
