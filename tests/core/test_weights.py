import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave.core.paper.graph_step import residual
from kernelweave.core.paper.kernel_weights import (
    consensus_distances,
    distance_floor,
    kernel_products,
    kernel_residuals,
    parametrised_weights,
    self_weights,
)


def test_self_weights_are_half_the_inverse_distances(small):
    d = consensus_distances(small.H, small.K)
    assert_allclose(d, [np.linalg.norm(H - small.K) for H in small.H])
    assert_allclose(self_weights(d, 0.0), 1 / (2 * d))


def test_a_kernel_that_is_the_consensus_has_a_finite_weight(small):
    d = consensus_distances(small.H, small.H[2])
    w = self_weights(d, distance_floor(np.linalg.norm(small.H[0])))
    assert d[2] == 0
    assert np.isfinite(w).all()
    assert w.argmax() == 2


def test_the_fixed_point_of_weights_and_mean_is_the_geometric_median(small):
    K = small.K
    for _ in range(500):
        w = self_weights(consensus_distances(small.H, K), distance_floor(np.linalg.norm(small.H[0])))
        K = np.average(small.H, axis=0, weights=w)
    unit = [(K - H) / np.linalg.norm(K - H) for H in small.H]
    assert_allclose(sum(unit), 0, atol=1e-10)


def test_parametrised_weights_beat_random_feasible_ones(small, rng):
    h = kernel_residuals(small.H, residual(small.S))
    theta = parametrised_weights(h)
    assert_allclose(np.sqrt(theta).sum(), 1)
    others = rng.dirichlet(np.ones(small.r), size=10_000) ** 2
    assert h @ theta <= (others @ h).min()


def test_kernel_products_are_the_inner_products_in_double_precision(rng):
    H = rng.normal(size=(3, 150, 150))
    assert_allclose(kernel_products(H), np.einsum("aij,bij->ab", H, H))
    assert kernel_products(H.astype(np.float32)).dtype == np.float64


def test_kernel_residuals_are_the_traces_of_the_paper(small):
    S = small.S
    traces = [np.trace(H - 2 * H @ S + S.T @ H @ S) for H in small.H]
    assert_allclose(kernel_residuals(small.H, residual(S)), traces, rtol=1e-12)


@pytest.mark.parametrize(("h", "theta"), [([0.0, 0.0], [0.25, 0.25]), ([0.0, 1.0], [1.0, 0.0]), ([2.0], [1.0])])
def test_parametrised_weights_of_kernels_without_residual_are_not_nan(h, theta):
    assert_allclose(parametrised_weights(np.array(h)), theta, atol=1e-12)
