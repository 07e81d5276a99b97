"""Late fusion: every block update is optimal, and the objective never falls."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ortho_group
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from kernelweave.baselines import LateFusion
from kernelweave.baselines.late_fusion import fuse_partitions, fused_rows, fusion_weights, nearest_rotation
from kernelweave.baselines.unit_kernels import partition_matrix, unit_kernel
from kernelweave.kernels import Gaussian
from kernelweave.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(60, n_features=4, centers=3, cluster_std=2.0, random_state=0)


@pytest.fixture(scope="module")
def base(blobs):
    X = blobs[0]
    noise = np.random.default_rng(0).normal(size=(60, 3))
    kernels = [unit_kernel(Gaussian(t=0.3).fit(table).gram(table)) for table in (X, X[:, :2], noise)]
    return np.stack([partition_matrix(K, 3) for K in kernels])


@pytest.fixture
def start():
    return np.random.default_rng(1).integers(3, size=60)


def test_no_rotation_is_better_than_the_nearest_one():
    M = np.random.default_rng(0).normal(size=(4, 4))
    best = np.vdot(nearest_rotation(M), M)
    assert_allclose(best, np.linalg.svd(M, compute_uv=False).sum())
    assert all(np.vdot(W, M) < best for W in ortho_group.rvs(4, size=200, random_state=0))


def test_no_weights_are_better_than_the_fusion_weights():
    nu = np.array([3.0, 0.5, 0.0, 1.0])
    best = fusion_weights(nu)
    assert_allclose(np.linalg.norm(best), 1)
    others = np.abs(np.random.default_rng(0).normal(size=(200, 4)))
    assert (others / np.linalg.norm(others, axis=1, keepdims=True) @ nu < best @ nu).all()
    assert_allclose(fusion_weights(np.zeros(4)), 0.5)


def test_the_objective_never_falls_and_ends_where_labels_rest(base, start):
    found = fuse_partitions(base, start, max_iter=200, tol=1e-12)
    assert found.converged
    assert len(found.history) > 2
    assert (np.diff(found.history) >= -1e-12).all()
    again = fuse_partitions(base, found.z, max_iter=200, tol=1e-12)
    assert_array_equal(again.z, found.z)


def test_at_the_end_no_block_can_be_improved_alone(base, start):
    found = fuse_partitions(base, start, max_iter=500, tol=1e-14)
    eye, E = np.eye(3), found.E  # in the coordinates of the clusters, so that C is the identity
    value = np.vdot(eye[found.z], E)
    assert_allclose(value, found.history[-1])
    assert_array_equal(found.z, E.argmax(axis=1))
    assert_allclose(nearest_rotation(eye[found.z].T @ E), eye, atol=1e-4)
    best = np.stack([nearest_rotation(H.T @ eye[found.z]) for H in base])
    assert_allclose(np.vdot(eye[found.z], fused_rows(base, best, found.w)), value, rtol=1e-8)
    nu = np.array([np.vdot(eye[found.z], H @ W) for H, W in zip(base, best, strict=True)])
    assert_allclose(found.w, fusion_weights(nu), atol=1e-4)


def test_rotating_the_partitions_of_the_kernels_changes_nothing(base, start):
    rotations = ortho_group.rvs(3, size=len(base), random_state=0)
    found = fuse_partitions(base, start, max_iter=200, tol=1e-12)
    rotated = fuse_partitions(base @ rotations, start, max_iter=200, tol=1e-12)
    assert_array_equal(rotated.z, found.z)
    assert_allclose(rotated.history, found.history, rtol=1e-10)
    assert_allclose(rotated.w, found.w, rtol=1e-8)


def test_a_kernel_of_noise_has_the_least_weight():
    X, y = make_blobs(60, n_features=4, centers=3, random_state=0)
    noise = np.random.default_rng(0).normal(size=(60, 3))
    model = LateFusion(3, kernels=[Gaussian(t=0.3)], random_state=0).fit({"a": X, "b": X[:, :2], "noise": noise})
    assert model.kernel_weights_.argmin() == 2
    assert_allclose((model.kernel_weights_**2).sum(), 1)
    assert clustering_accuracy(y, model.labels_) == 1


def test_more_starts_never_lower_the_objective(blobs):
    one, ten = (LateFusion(6, n_init=n, random_state=0).fit(blobs[0]) for n in (1, 10))
    assert ten.objective_ >= one.objective_


def test_too_few_iterations_are_said(blobs):
    with pytest.warns(ConvergenceWarning, match=r"LateFusion stopped after 1 iteration, with labels still changing"):
        LateFusion(3, max_iter=1, random_state=0).fit(blobs[0])
