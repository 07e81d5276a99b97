import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave.core.algebra.matrices import definite_inverse, floor_spectrum
from kernelweave.core.paper.graph_step import residual
from kernelweave.core.paper.kernel_step import kernel_step
from kernelweave.core.paper.kernel_weights import consensus_distances, self_weights
from kernelweave.core.paper.objective import fit_term, perturbation_term
from kernelweave.core.paper.safeguard import consensus_weights


def weights(small, M, beta, floor, w=None):
    """Return the weights, having checked the distances that come with them."""
    G = np.einsum("aij,bij->ab", small.H, small.H)
    h = np.einsum("aij,ij->a", small.H, M)
    w, d = consensus_weights(G, h, np.vdot(M, M), small.w if w is None else w, beta=beta, floor=floor)
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
        return fit_term(K, M) + perturbation_term(consensus_distances(small.H, K), floor, beta=beta)

    K = kernel_step(small.H, weights(small, M, beta, floor), M, beta=beta)
    directions = rng.normal(size=(50, small.n, small.n))
    assert all(objective(K + 1e-3 * (D + D.T)) > objective(K) for D in directions)
    assert all(objective(K + t * (H - K)) >= objective(K) for H in small.H for t in (1e-3, 0.1))


def test_the_weights_do_not_depend_on_where_the_search_starts(small):
    M = residual(0.1 * small.S)
    first, second = (weights(small, M, 20.0, 1e-9, w=np.asarray(w)) for w in ([1, 1, 1, 1.0], [1e-3, 5, 0.1, 2.0]))
    assert_allclose(first, second, rtol=1e-6)


def test_a_consensus_that_meets_a_kernel_has_finite_weights(small):
    copies = np.concatenate([small.H[:1]] * 5 + [small.H[1:2]])  # the median is the kernel that has the majority
    G = np.einsum("aij,bij->ab", copies, copies)
    w, _ = consensus_weights(G, np.zeros(6), 0.0, np.ones(6), beta=1.0, floor=1e-3)
    assert_allclose(w[:5], 0.5 / 1e-3)
    assert_allclose(w[5], 0.5 / np.linalg.norm(copies[0] - copies[-1]), rtol=1e-3)


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
