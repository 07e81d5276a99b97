import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave.core.paper import closed_forms as steps
from kernelweave.core.paper.closed_forms import (
    DISTANCE_FLOOR,
    consensus_distances,
    consensus_weights,
    kernel_products,
    kernel_residuals,
    kernel_step,
    parametrised_weights,
    perturbation_term,
    residual,
    self_weights,
)


def test_self_weights_are_half_the_inverse_distances(small):
    d = consensus_distances(small.H, small.K)
    assert_allclose(d, [np.linalg.norm(H - small.K) for H in small.H])
    assert_allclose(self_weights(d, 0.0), 1 / (2 * d))


def test_a_kernel_that_is_the_consensus_has_a_finite_weight(small):
    d = consensus_distances(small.H, small.H[2])
    w = self_weights(d, DISTANCE_FLOOR * np.linalg.norm(small.H[0]))
    assert d[2] == 0
    assert np.isfinite(w).all()
    assert w.argmax() == 2


def test_the_fixed_point_of_weights_and_mean_is_the_geometric_median(small):
    K = small.K
    for _ in range(500):
        w = self_weights(consensus_distances(small.H, K), DISTANCE_FLOOR * np.linalg.norm(small.H[0]))
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


def weights(small, M, beta, floor, w=None):
    """Return the weights, having checked the distances that come with them."""
    HH = np.einsum("aij,bij->ab", small.H, small.H)
    h = np.einsum("aij,ij->a", small.H, M)
    w, d = consensus_weights(HH, h, np.vdot(M, M), small.w if w is None else w, beta=beta, floor=floor)
    assert_allclose(d, consensus_distances(small.H, kernel_step(small.H, w, M, beta=beta)), rtol=1e-7)
    return w


@pytest.mark.parametrize("beta", [20.0, 1e3])
def test_weights_and_consensus_are_a_fixed_point_of_the_paper_s_two_steps(small, beta):
    M = residual(0.1 * small.S)
    w = weights(small, M, beta, 1e-9)
    K = kernel_step(small.H, w, M, beta=beta)
    assert_allclose(self_weights(consensus_distances(small.H, K), 1e-9), w, rtol=1e-7)


def test_the_consensus_is_the_minimum_over_all_kernels(small, rng):
    beta, floor, M = 20.0, 1e-9, residual(0.1 * small.S)

    def objective(K):
        return np.vdot(K, M) + perturbation_term(consensus_distances(small.H, K), floor, beta=beta)

    K = kernel_step(small.H, weights(small, M, beta, floor), M, beta=beta)
    directions = rng.normal(size=(50, small.n, small.n))
    assert all(objective(K + 1e-3 * (D + D.T)) > objective(K) for D in directions)
    assert all(objective(K + t * (H - K)) >= objective(K) for H in small.H for t in (1e-3, 0.1))


def test_the_weights_do_not_depend_on_where_the_search_starts(small):
    M = residual(0.1 * small.S)
    first, second = (weights(small, M, 20.0, 1e-9, w=np.asarray(w)) for w in ([1, 1, 1, 1.0], [1e-3, 5, 0.1, 2.0]))
    assert_allclose(first, second, rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_extrapolated_steps_make_the_search_much_faster(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    H, M = np.stack([np.diag(rng.exponential(size=12) ** 3) for _ in range(3)]), residual(np.diag(rng.random(12)))
    HH, h, start = kernel_products(H), kernel_residuals(H, M), np.array([0.01, 5, 0.1])

    def distance_after_eight_cycles(max_stride):
        monkeypatch.setattr(steps, "_MAX_CYCLES", 8)
        monkeypatch.setattr(steps, "_MAX_STRIDE", max_stride)
        w, d = consensus_weights(HH, h, np.vdot(M, M), start, beta=3.0, floor=1e-9)
        return np.abs(np.log(self_weights(d, 1e-9) / w)).max()

    assert distance_after_eight_cycles(1e3) < 0.01 * distance_after_eight_cycles(1.0)


def test_no_cycle_of_the_search_increases_the_objective(rng, monkeypatch):
    n, beta, floor = 12, 3.0, 1e-9
    H = np.stack([np.diag(rng.exponential(size=n) ** 3) for _ in range(3)])
    M = residual(np.diag(rng.random(n)))
    for start in np.exp(rng.normal(scale=3, size=(20, 3))):
        found = []
        for cycles in range(1, 7):
            monkeypatch.setattr(steps, "_MAX_CYCLES", cycles)
            w, _ = consensus_weights(
                kernel_products(H), kernel_residuals(H, M), np.vdot(M, M), start, beta=beta, floor=floor
            )
            K = kernel_step(H, w, M, beta=beta)
            found.append(np.vdot(K, M) + perturbation_term(consensus_distances(H, K), floor, beta=beta))
        assert np.diff(found).max() <= 1e-9 * abs(found[0])


def test_a_consensus_that_is_equal_to_a_kernel_has_finite_weights(small):
    copies = np.concatenate([small.H[:1]] * 5 + [small.H[1:2]])  # the median is the kernel that has the majority
    HH = np.einsum("aij,bij->ab", copies, copies)
    w, _ = consensus_weights(HH, np.zeros(6), 0.0, np.ones(6), beta=1.0, floor=1e-3)
    assert_allclose(w[:5], 0.5 / 1e-3)
    assert_allclose(w[5], 0.5 / np.linalg.norm(copies[0] - copies[-1]), rtol=1e-3)
