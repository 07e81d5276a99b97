"""LMVSC: the quadratic programs, the singular vectors, and memory that is linear in the samples."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from kernelweave.baselines import LMVSC
from kernelweave.baselines.lmvsc import anchor_codes
from kernelweave.errors import NotEnoughMemoryError


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)) + 10, rng.normal(size=(8, 3)) + 10


def codes(table, alpha, **parameters):
    return anchor_codes(*table, alpha=alpha, **{"tol": 1e-12, "max_iter": 100_000, **parameters})


def spread(X):
    return X.var(axis=0).sum()


@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
def test_every_row_satisfies_the_kkt_conditions_of_its_program(table, alpha):
    X, A = table
    Z = codes(table, alpha).Z
    assert_allclose(Z.sum(axis=1), 1, atol=1e-12)
    assert (Z >= 0).all()
    gradient = 2 * (Z @ A - X) @ A.T + 2 * alpha * spread(X) * Z
    multiplier = (gradient * Z).sum(axis=1, keepdims=True)
    assert (gradient - multiplier > -1e-5).all()  # no anchor would lower the objective
    assert_allclose(np.where(Z > 1e-6, gradient - multiplier, 0), 0, atol=1e-5)


def test_a_general_solver_finds_the_same(table):
    X, A = table
    ridge = 0.5 * spread(X)
    for x, z in zip(X[:5], codes(table, 0.5).Z, strict=False):
        found = optimize.minimize(
            lambda a, x=x: ((x - a @ A) ** 2).sum() + ridge * (a**2).sum(),
            np.full(8, 1 / 8),
            bounds=[(0, 1)] * 8,
            constraints={"type": "eq", "fun": lambda a: a.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        assert_allclose(z, found.x, atol=1e-5)


def test_objective_and_certificate_are_those_of_the_codes(table):
    X, A = table
    found = codes(table, 0.3, tol=1e-4)
    Z = found.Z
    assert_allclose(found.objective, ((X - Z @ A) ** 2).sum() + 0.3 * spread(X) * (Z**2).sum())
    assert 0 <= found.gap <= 1e-4
    assert found.objective - codes(table, 0.3).objective <= 40 * found.gap * spread(X)


def test_a_large_ridge_spreads_the_weight_evenly_and_none_finds_the_sample_itself(table):
    A = table[1]
    assert_allclose(codes(table, 1e9).Z, 1 / 8, atol=1e-6)
    Z = anchor_codes(A, A, alpha=0, tol=1e-14, max_iter=10_000).Z
    assert_allclose(Z @ A, A, atol=1e-5)


def test_units_and_origin_of_the_features_do_not_matter(table):
    X, A = table
    assert_allclose(codes((1000 * X - 7, 1000 * A - 7), 0.3).Z, codes(table, 0.3).Z, atol=1e-5)


def test_sparse_and_dense_samples_have_the_same_codes(table):
    X, A = table
    assert_allclose(codes((sparse.csr_array(X), A), 0.3).Z, codes(table, 0.3).Z, atol=1e-8)


def test_the_embedding_holds_the_left_singular_vectors_of_the_scaled_codes():
    X, _ = make_blobs(80, n_features=5, centers=3, cluster_std=2, random_state=0)
    views = [X[:, :2], X[:, 2:]]
    model = LMVSC(3, n_anchors=10, tol=1e-10, random_state=0).fit(views)
    pairs = zip(views, model.anchors_, strict=True)
    Z = [anchor_codes(table, A, alpha=1.0, tol=1e-10, max_iter=10_000).Z for table, A in pairs]
    wide = np.hstack([one / np.sqrt(one.sum(axis=0)) for one in Z]) / np.sqrt(2)
    U = np.linalg.svd(wide, full_matrices=False)[0][:, :3]
    assert_allclose(np.abs(U.T @ model.embedding_), np.eye(3), atol=1e-6)


def test_the_number_of_anchors_has_its_bounds():
    X, _ = make_blobs(60, n_features=3, centers=3, random_state=0)
    assert len(LMVSC(3, random_state=0).fit(X).anchors_[0]) == 12
    assert len(LMVSC(20, random_state=0).fit(X).anchors_[0]) == 20
    assert len(LMVSC(3, n_anchors=500, random_state=0).fit(X).anchors_[0]) == 60


def test_constant_samples_are_one_point():
    model = LMVSC(1, random_state=0).fit(np.ones((20, 3)))
    assert_allclose(model.objective_, 20 / 4, rtol=1e-6)  # equal weights of four equal anchors


def test_memory_is_far_below_a_matrix_of_all_pairs():
    n = 12_000
    X = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    tracemalloc.start()
    LMVSC(3, n_anchors=10, tol=1e-2, n_init=1, random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n / 10
    assert LMVSC.estimate_memory(2 * n) == 2 * LMVSC.estimate_memory(n)


def test_more_anchors_need_more_memory(monkeypatch):
    X = np.random.default_rng(0).normal(size=(2000, 2))
    monkeypatch.setenv("KERNELWEAVE_MEMORY", str(2 * LMVSC.estimate_memory(2000)))
    LMVSC(3, tol=0.1, n_init=1, random_state=0).fit(X)
    with pytest.raises(NotEnoughMemoryError, match=r"LMVSC of 2000 samples needs about .*or fewer samples or anchors"):
        LMVSC(3, n_anchors=500).fit(X)


def test_too_few_steps_are_said(table):
    with pytest.warns(
        ConvergenceWarning, match=r"LMVSC stopped after 1 iteration, with certificate .*: raise max_iter"
    ):
        LMVSC(3, alpha=0.01, max_iter=1, random_state=0).fit(table[0])
