import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg

from kernelweave.core.algebra import matrices
from kernelweave.core.algebra.matrices import (
    average_with_transpose,
    definite_inverse,
    eigenpairs,
    floor_spectrum,
    nearest_psd,
    norm_exceeds,
    outer_square,
    ridge_inverse,
    symmetric_spectral_norm,
)


@pytest.mark.parametrize("shift", [0.5, -1.0], ids=["definite", "indefinite"])
def test_the_inverse_with_a_ridge_inverts_and_leaves_the_kernel_as_it_is(small, shift):
    K, M = small.K.copy(), small.K + shift * np.eye(small.n)
    A = ridge_inverse(K, gamma=shift)
    assert_allclose(A @ M, np.eye(small.n), atol=1e-9)
    assert_allclose(A, A.T, atol=0)
    assert_allclose(K, small.K, atol=0)


def test_inverse_of_a_singular_matrix_is_an_error():
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        ridge_inverse(np.ones((4, 4)), gamma=0.0)


@pytest.mark.parametrize("n", [30, 250])
def test_spectral_norm_is_the_largest_singular_value(rng, n):
    M = rng.normal(size=(n, n))
    M = M + M.T
    assert_allclose(symmetric_spectral_norm(M), np.linalg.norm(M, 2), rtol=1e-7)


@pytest.mark.parametrize("n", [20, 59, 60, 150, 300])
def test_a_rough_spectral_norm_is_as_accurate_as_asked(rng, n):
    X = rng.normal(size=(n, 5))
    M = np.linalg.inv(np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 20) + 0.1 * np.eye(n))
    assert_allclose(symmetric_spectral_norm((M + M.T) / 2, tol=0.1), np.linalg.norm(M, 2), rtol=0.1)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_spectral_norm_of_a_large_matrix_of_low_rank_needs_no_luck(rng, rank):
    V = rng.normal(size=(300, rank))
    M = V @ V.T
    assert_allclose(symmetric_spectral_norm(M), np.linalg.norm(M, 2), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("n", [1, 5, 129, 300, 515])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_outer_square_is_the_product_with_the_transpose(rng, n, dtype, order):
    E = rng.normal(size=(n, n)).astype(dtype, order=order)
    assert outer_square(E).dtype == dtype
    assert_allclose(outer_square(E), E @ E.T, atol=50 * n * np.finfo(dtype).eps)
    assert_allclose(outer_square(E), outer_square(E).T, atol=0)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_outer_square_of_many_rows_is_the_same(rng, dtype, order, monkeypatch):
    E = np.asarray(rng.normal(size=(150, 150)), dtype=dtype, order=order)
    by_halves = outer_square(E)
    monkeypatch.setattr(matrices, "_THREADED_FROM", 150)
    assert outer_square(E).dtype == dtype
    assert_allclose(outer_square(E), by_halves, atol=50 * 150 * np.finfo(dtype).eps)
    assert_allclose(outer_square(E), outer_square(E).T, atol=0)


@pytest.mark.parametrize("n", [5, 700])
def test_averaging_in_place_gives_the_symmetric_part(rng, n):
    M = rng.normal(size=(n, n))
    expected = (M + M.T) / 2
    average_with_transpose(M)
    assert_allclose(M, expected, atol=0)


def test_nearest_psd_keeps_a_kernel_and_clips_eigenvalues_else(small):
    assert nearest_psd(small.K) is small.K
    M = small.K - np.eye(small.n)
    values = np.linalg.eigvalsh(M)
    assert values.min() < 0
    assert_allclose(np.linalg.eigvalsh(nearest_psd(M)), np.maximum(values, 0), atol=1e-12)


def test_a_floored_spectrum_is_the_nearest_one(small):
    M = small.K - 2 * np.eye(small.n)
    K = floor_spectrum(M, -0.5)
    values = np.linalg.eigvalsh(M)
    assert values.min() < -0.5
    assert_allclose(np.linalg.eigvalsh(K), np.maximum(values, -0.5), atol=1e-12)
    assert_allclose((K - M) @ (K + 0.5 * np.eye(small.n)), 0, atol=1e-10)  # only what was below the floor is moved
    assert_allclose(floor_spectrum(M.copy(), -0.5, overwrite=True), K, atol=1e-12)


def test_only_a_positive_definite_matrix_has_a_definite_inverse(small):
    assert definite_inverse(small.K - 2 * np.eye(small.n)) is None
    assert_allclose(definite_inverse(small.K) @ small.K, np.eye(small.n), atol=1e-10)


@pytest.mark.parametrize("n", [1, 64, 65, 130, 601, 1001])
def test_a_definite_inverse_is_exact_up_to_rounding_at_every_size(rng, n):
    X = rng.normal(size=(n, n // 2 + 1))
    M = X @ X.T / n
    A = definite_inverse(M, shift=0.1)
    assert_allclose(A, A.T, atol=0)
    assert_allclose(A @ (M + 0.1 * np.eye(n)), np.eye(n), atol=1e-12)


@pytest.mark.parametrize("n", [2, 65, 300, 1001])
def test_a_matrix_that_is_not_definite_in_its_last_row_is_inverted_otherwise(rng, n):
    M = rng.normal(size=(n, n))
    M = M + M.T + np.diag([*np.full(n - 1, 4.0 * n), -n])
    assert definite_inverse(M) is None
    assert_allclose(ridge_inverse(M, gamma=0.0) @ M, np.eye(n), atol=1e-9)


@pytest.mark.parametrize("n", [5, 300])
def test_a_norm_exceeds_what_is_below_it(rng, n):
    for M in (np.diag(rng.uniform(-1, 1, n)), rng.normal(size=(n, n)) / np.sqrt(n)):
        M = (M + M.T) / 2
        norm, rows = np.linalg.norm(M, 2), np.abs(M).sum(axis=1).max()
        assert norm_exceeds(M, 0.85 * norm)
        assert not norm_exceeds(M, 1.01 * norm)
        assert not norm_exceeds(M, 1.01 * rows)


def test_a_matrix_whose_inverse_overflows_has_no_definite_inverse():
    assert definite_inverse(np.diag([1.0, 1e-310])) is None


def test_eigenvectors_are_found_where_the_first_algorithm_fails(small, monkeypatch):
    expected = eigenpairs(small.K, 1, 2)[1]
    eigh = linalg.eigh

    def fail(M, *, subset_by_index=None, **options):
        if subset_by_index is not None:
            raise linalg.LinAlgError
        return eigh(M, **options)

    monkeypatch.setattr(linalg, "eigh", fail)
    assert_allclose(np.abs((eigenpairs(small.K, 1, 2)[1] * expected).sum(axis=0)), 1)
