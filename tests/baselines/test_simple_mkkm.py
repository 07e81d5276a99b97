"""SimpleMKKM: a convex problem on the simplex, solved by reduced gradients."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from kernelweave.baselines import SimpleMKKM
from kernelweave.baselines.simple_mkkm import min_max_weights, partition_value, reduced_gradient
from kernelweave.baselines.unit_kernels import unit_kernel
from kernelweave.kernels import Gaussian, Linear


@pytest.fixture(scope="module")
def H():
    X, _ = make_blobs(50, n_features=4, centers=3, random_state=0)
    rng = np.random.default_rng(0)
    tables = [X, X[:, :2], rng.normal(size=(50, 5)), X[:, 2:] + rng.normal(size=(50, 2))]
    return np.stack([unit_kernel(Gaussian(t=0.3).fit(table).gram(table)) for table in tables])


def on_the_simplex(r, count):
    return np.random.default_rng(1).dirichlet(np.ones(r), size=count)


def test_a_unit_kernel_has_a_unit_diagonal_and_is_that_of_centred_unit_samples():
    X = np.random.default_rng(0).normal(size=(20, 3))
    centred = X - X.mean(axis=0)
    rows = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    assert_allclose(unit_kernel(X @ X.T), rows @ rows.T, atol=1e-12)
    assert_array_equal(unit_kernel(np.ones((5, 5))), 0)


def test_a_sample_that_its_view_lacks_stays_near_the_mean():
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[:3] = X[3:].mean(axis=0) + 1e-3
    known = np.arange(20) >= 3
    K = unit_kernel(X @ X.T, known)
    assert_allclose(K.diagonal()[known], 1)
    assert (K.diagonal()[~known] < 1e-4).all()


def test_the_gradient_is_that_of_finite_differences(H):
    w, step = on_the_simplex(len(H), 1)[0], 1e-6
    _, g, _ = partition_value(H, w, 3)
    for m, e in enumerate(np.eye(len(H)) * step):
        difference = partition_value(H, w + e, 3)[0] - partition_value(H, w - e, 3)[0]
        assert_allclose(difference / (2 * step), g[m], rtol=1e-6)


def test_the_value_is_the_sum_of_the_largest_eigenvalues(H):
    w = on_the_simplex(len(H), 1)[0]
    values = np.linalg.eigvalsh(np.tensordot(w**2, H, axes=1))
    assert_allclose(partition_value(H, w, 3)[0], values[-3:].sum())


def test_the_reduced_gradient_stays_on_the_simplex():
    w, g = np.array([0.0, 0.0, 0.4, 0.6]), np.array([3.0, 1.0, 5.0, 2.0])
    d = reduced_gradient(w, g)
    assert_allclose(d, [0.0, -1.0, 3.0, -2.0])  # the first weight would fall below 0
    assert_allclose(d.sum(), 0)


def test_the_objective_never_rises_and_the_reduced_gradient_ends_at_zero(H):
    found = min_max_weights(H, 3, max_iter=500, tol=1e-6)
    assert found.converged
    assert (np.diff(found.history) < 0).all()
    _, g, _ = partition_value(H, found.w, 3)
    assert_allclose(reduced_gradient(found.w, g), 0, atol=2e-6 * g.max())
    assert_allclose(found.w.sum(), 1)
    assert (found.w >= 0).all()


def test_the_weights_are_the_global_minimum_since_the_problem_is_convex(H):
    found = min_max_weights(H, 3, max_iter=500, tol=1e-6)
    others = on_the_simplex(len(H), 200)
    values = np.array([partition_value(H, w, 3)[0] for w in others])
    assert found.history[-1] < values.min()
    ends = [partition_value(H, (w + found.w) / 2, 3)[0] for w in others]
    assert (ends <= (values + found.history[-1]) / 2 + 1e-12).all()


def test_a_kernel_that_is_easier_to_partition_has_less_weight(H):
    found = min_max_weights(H, 3, max_iter=500, tol=1e-8)
    traces = np.array([np.trace(found.P.T @ K @ found.P) for K in H])
    assert_allclose(found.w, (1 / traces) / (1 / traces).sum(), rtol=1e-5)


def test_one_kernel_has_weight_one_and_equal_kernels_have_equal_weights(H):
    assert_allclose(min_max_weights(H[:1], 3, max_iter=10, tol=1e-6).w, [1.0])
    assert_allclose(min_max_weights(H[[0, 0, 0]], 3, max_iter=10, tol=1e-6).w, 1 / 3)


def test_the_embedding_is_that_of_the_weighted_kernel_and_the_residual_is_reported():
    X, _ = make_blobs(60, n_features=4, centers=3, random_state=0)
    model = SimpleMKKM(3, random_state=0).fit(X)
    assert model.reduced_gradient_ <= 1e-4
    assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)
    assert_allclose(model.kernel_shares_, model.kernel_weights_**2 / (model.kernel_weights_**2).sum())


def test_a_constant_view_gets_no_weight():
    X, _ = make_blobs(60, n_features=4, centers=3, random_state=0)
    kernels = {"values": [Gaussian(t=0.3), Linear()], "constant": [Linear()]}
    model = SimpleMKKM(3, kernels=kernels, random_state=0).fit({"values": X, "constant": np.ones((60, 2))})
    assert model.view_shares_[1] == 0
    assert_allclose(model.view_shares_[0], 1)


def test_too_few_iterations_are_said(H):
    with pytest.warns(ConvergenceWarning, match=r"SimpleMKKM stopped after 1 iteration, with a reduced gradient of .*"):
        SimpleMKKM(3, kernels="precomputed", max_iter=1).fit(H)
