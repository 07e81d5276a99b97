import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.linear_model import Lasso

from kernelweave.baselines.sparse_codes import code_objective, code_violation, sparse_codes


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def wide():
    """40 samples of 60 features, in four bundles."""
    rng = np.random.default_rng(0)
    return unit(np.repeat(rng.normal(size=(4, 60)), 10, axis=0) + 0.5 * rng.normal(size=(40, 60)))


@pytest.fixture(scope="module")
def flat():
    """150 samples of 4 features: any 5 are dependent, and some are copies of each other."""
    return unit(load_iris().data)


def solve(X, lam, *, T=None, start=None, tol=1e-6, max_iter=1000):
    G = X @ X.T
    T = np.ones_like(G) if T is None else T
    start = np.zeros_like(G) if start is None else start
    return G, T, sparse_codes(G, T, lam, start=start, tol=tol, max_iter=max_iter)


@pytest.mark.parametrize("lam", [1.5, 20, 1000])
@pytest.mark.parametrize("data", ["wide", "flat"])
def test_codes_satisfy_the_conditions_of_optimality(data, lam, request):
    G, T, codes = solve(request.getfixturevalue(data), lam)
    assert codes.converged
    assert_array_equal(codes.C.diagonal(), 0)
    E = lam * (G - G @ codes.C)
    used = codes.C != 0
    off = ~np.eye(len(G), dtype=bool)
    assert used.any()
    assert_allclose(E[used], np.sign(codes.C[used]), atol=2e-6)
    assert np.abs(E[off]).max() <= 1 + 2e-6
    assert_allclose(codes.residual, code_violation(G, codes.C, T, lam).max(), atol=1e-9)


def test_codes_of_a_sample_are_scikit_learn_s_lasso_on_the_others(wide):
    lam = 30.0
    _, _, codes = solve(wide, lam)
    for i in range(0, 40, 7):
        others = np.delete(wide, i, axis=0)
        lasso = Lasso(1 / (lam * wide.shape[1]), fit_intercept=False, tol=1e-12, max_iter=100_000)
        assert_allclose(np.delete(codes.C[:, i], i), lasso.fit(others.T, wide[i]).coef_, atol=1e-6)


def test_a_dearer_entry_is_used_less(wide):
    G, T, free = solve(wide, 30.0)
    i, j = np.argwhere(free.C != 0)[0]
    T = T.copy()
    T[i, j] = T[j, i] = 100
    _, _, codes = solve(wide, 30.0, T=T)
    assert codes.C[i, j] == codes.C[j, i] == 0
    assert code_violation(G, codes.C, T, 30.0).max() <= 1e-6


def test_no_other_codes_are_better(wide):
    G, T, codes = solve(wide, 30.0)
    best = code_objective(G, codes.C, T, 30.0)
    E = np.eye(40) - codes.C
    assert_allclose(best, np.abs(codes.C).sum() + 15 * np.sum(E * (G @ E)))
    rng = np.random.default_rng(0)
    for scale in (1e-4, 1e-2, 1):
        other = codes.C + scale * rng.normal(size=G.shape) * (rng.uniform(size=G.shape) < 0.1)
        np.fill_diagonal(other, 0)
        assert code_objective(G, other, T, 30.0) > best


@pytest.mark.parametrize("data", ["wide", "flat"])
def test_codes_are_empty_exactly_below_the_largest_inner_product(data, request):
    X = request.getfixturevalue(data)
    G = X @ X.T
    edge = 1 / np.abs(G - np.diag(G.diagonal())).max()
    assert not solve(X, 0.999 * edge)[2].C.any()
    assert solve(X, 1.01 * edge)[2].C.any()


def test_a_solution_is_recognised_at_once(wide):
    G, T, codes = solve(wide, 30.0)
    again = sparse_codes(G, T, 30.0, start=codes.C, tol=1e-5, max_iter=1000)
    assert again.n_iter == 0
    assert_array_equal(again.C, codes.C)


def test_the_start_does_not_matter(wide):
    G, _, codes = solve(wide, 30.0)
    start = np.random.default_rng(0).normal(size=G.shape)
    np.fill_diagonal(start, 0)
    assert_allclose(solve(wide, 30.0, start=start)[2].C, codes.C, atol=1e-8)


def test_copies_of_samples_do_not_break_the_linear_systems(wide):
    X = np.repeat(wide[::4], 3, axis=0)
    G, T, codes = solve(X, 100.0)
    assert codes.converged
    assert code_violation(G, codes.C, T, 100.0).max() <= 1e-6


def test_samples_of_zeros_have_empty_codes_and_stay_out_of_others(wide):
    X = np.vstack([wide, np.zeros((2, 60))])
    _, _, codes = solve(X, 30.0)
    assert_array_equal(codes.C[-2:], 0)
    assert_array_equal(codes.C[:, -2:], 0)
    assert_allclose(codes.C[:40, :40], solve(wide, 30.0)[2].C, atol=1e-9)


def test_too_few_iterations_are_said(flat):
    _, _, codes = solve(flat, 1e5, max_iter=1)
    assert not codes.converged
    assert codes.residual > 1e-6


def test_float32_is_as_exact_as_its_rounding_allows(wide):
    _, _, codes = solve(wide.astype(np.float32), 30.0)
    assert codes.C.dtype == np.float32
    assert codes.converged
    assert_allclose(codes.C, solve(wide, 30.0)[2].C, atol=1e-4)
