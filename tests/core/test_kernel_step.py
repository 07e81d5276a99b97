import numpy as np
from numpy.testing import assert_allclose

from kernelweave.core.paper.closed_forms import combine, kernel_step, residual


def test_gradient_of_the_kernel_problem_vanishes(small):
    beta = 3.0
    K = kernel_step(small.H, small.w, residual(small.S), beta=beta)
    gradient = residual(small.S) + 2 * beta * sum(w * (K - H) for w, H in zip(small.w, small.H, strict=True))
    assert_allclose(gradient, 0, atol=1e-10)


def test_kernel_step_is_the_symmetric_part_of_the_paper_s_formula(small):
    beta, S, w = 3.0, small.S, small.w
    printed = 2 * S.T - S @ S.T - np.eye(small.n) + 2 * beta * np.einsum("i,ijk->jk", w, small.H)
    printed /= 2 * beta * w.sum()
    assert_allclose(kernel_step(small.H, w, residual(S), beta=beta), (printed + printed.T) / 2, atol=1e-12)


def test_a_graph_that_expresses_all_leaves_the_weighted_mean(small):
    K = kernel_step(small.H, small.w, residual(np.eye(small.n)), beta=3.0)
    assert_allclose(K, np.average(small.H, axis=0, weights=small.w), atol=1e-13)


def test_combining_kernels_makes_no_temporary_of_the_size_of_the_stack(rng):
    import tracemalloc

    H = rng.random((40, 120, 120))
    tracemalloc.start()
    combine(H, rng.random(40))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * H[0].nbytes
