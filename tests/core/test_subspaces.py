"""Both filtered eigensolvers: bounds of the spectrum, the polynomial, bases, and what they report."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

from kernelweave.core.graphs import filtered
from kernelweave.core.graphs import large_spectrum as large
from kernelweave.core.graphs.coordinates import laplacian
from kernelweave.core.graphs.filtered import block_products, chebyshev, filtered_eigenpairs, orthonormal
from kernelweave.core.graphs.large_spectrum import large_spectrum, largest_eigenvalue

SOLVERS = pytest.mark.parametrize("solve", [filtered_eigenpairs, large_spectrum])


@pytest.fixture(scope="module")
def S():
    X = make_blobs(300, n_features=3, centers=4, cluster_std=3.0, random_state=1)[0]
    A = kneighbors_graph(X, 7, mode="distance")
    A.data = np.exp(-A.data)
    return sparse.csr_array((A + A.T) / 2)


@pytest.fixture(scope="module")
def exact(S):
    return np.linalg.eigh(laplacian(S.toarray()))


@pytest.mark.parametrize("degree", [1, 2, 3, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_filter_is_the_chebyshev_polynomial_of_the_eigenvalues(S, exact, degree, dtype):
    values, Q = exact
    L = sparse.csr_array(laplacian(S)).astype(dtype)
    V = np.random.default_rng(0).normal(size=(300, 2)).astype(dtype)
    before = V.copy()
    edge, top = 0.3 * values[-1], 1.1 * values[-1]
    mapped = (2 * values - top - edge) / (top - edge)
    factors = np.polynomial.chebyshev.chebval(mapped, [0] * degree + [1])
    found = chebyshev(L, V, degree, edge, top)
    assert found.dtype == dtype
    assert_allclose(found, Q @ (factors[:, None] * (Q.T @ V)), rtol=2e-3, atol=2e-3 if dtype == np.float32 else 1e-9)
    assert_array_equal(V, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_basis_has_the_span_of_its_columns_also_where_they_nearly_depend(dtype):
    rng = np.random.default_rng(0)
    V = rng.normal(size=(50, 4)).astype(dtype)
    Q = orthonormal(V)
    assert Q.dtype == dtype
    tight = 1e-5 if dtype == np.float32 else 1e-13
    assert_allclose(Q.T @ Q, np.eye(4), atol=tight)
    assert_allclose(Q @ (Q.T @ V), V, atol=100 * tight)
    V[:, 3] = V[:, 2]
    Q = orthonormal(V)
    assert Q.dtype == dtype
    assert_allclose(Q.T @ Q, np.eye(4), atol=tight)
    assert_allclose(Q @ (Q.T @ V), V, atol=100 * tight)
    near = rng.normal(size=(50, 2)) @ np.ones((2, 2)) + 1e-6 * rng.normal(size=(50, 2))
    assert_allclose(orthonormal(near).T @ orthonormal(near), np.eye(2), atol=1e-13)


@pytest.mark.parametrize("rows", [1, 1023, 1024, 1025, 2500])
def test_products_of_blocks_are_summed_in_double_precision(rows):
    rng = np.random.default_rng(rows)
    A, B = rng.random((rows, 3)).astype(np.float32), rng.random((rows, 2)).astype(np.float32)
    found = block_products(A, B)
    assert found.dtype == np.float64
    assert_allclose(found, A.astype(float).T @ B.astype(float), rtol=1e-13)


@SOLVERS
@pytest.mark.parametrize("q", [2, 5])
def test_what_is_reported_is_what_the_eigenvectors_have(S, exact, solve, q):
    found = solve(S, q, tol=1e-6)
    L = laplacian(S.toarray())
    V, values = found.vectors, found.values
    assert found.converged
    assert_allclose(values, np.maximum(exact[0][:q], 0), atol=1e-9)
    assert_allclose(V.T @ V, np.eye(q), atol=1e-10)
    assert ((V**3).sum(axis=0) > -1e-9).all()
    R = np.linalg.norm(L @ V - V * values, axis=0)
    assert found.residual == pytest.approx(R.max() / values[-1], rel=0.01, abs=1e-12)
    assert found.residual < 1e-6
    assert found.n_iter > 0
    assert values.min() >= 0
    assert_array_equal(found.block[:, :q], V)


@SOLVERS
def test_progress_is_told_after_every_filter_with_its_limit(S, solve):
    told = []
    found = solve(S, 4, tol=1e-6, max_iter=25, progress=lambda *what: told.append(what))
    assert [done for _, done, _ in told] == list(range(1, found.n_iter + 1))
    assert {limit for _, _, limit in told} == {25}
    assert float(told[-1][0].removeprefix("eigenvectors (residual ").removesuffix(")")) < 1e-6


@SOLVERS
def test_no_more_filters_are_applied_than_allowed_and_none_at_zero(S, solve):
    assert solve(S, 4, tol=1e-12, max_iter=2).n_iter == 2
    none = solve(S, 4, max_iter=0)
    assert none.n_iter == 0
    assert not none.converged


@SOLVERS
def test_eigenvectors_after_the_firm_ones_have_ten_times_the_tolerance(S, solve):
    once = solve(S, 6, max_iter=1)
    L = laplacian(S.toarray())
    each = np.linalg.norm(L @ once.vectors - once.vectors * once.values, axis=0) / once.values[-1]
    assert each[:3].max() < each[3:].max()
    tol = each[3:].max() / 9.9
    assert each[:3].max() < 9.9 * tol
    loose = max(tol, 1.01 * each[:3].max())
    assert solve(S, 6, max_iter=1, firm=3, tol=loose).converged == (each[3:].max() < 10 * loose)
    assert not solve(S, 6, max_iter=1, tol=0.99 * each.max()).converged
    assert solve(S, 6, max_iter=1, tol=1.01 * each.max()).converged
    assert not solve(S, 6, max_iter=1, firm=6, tol=each[3:].max() / 2).converged
    few = each[:1].max() * 1.01
    assert solve(S, 6, max_iter=1, firm=1, tol=max(few, each.max() / 9)).converged
    assert not solve(S, 6, max_iter=1, firm=1, tol=each.max() / 10.5).converged


@SOLVERS
def test_a_start_near_the_eigenvectors_needs_fewer_filters(S, exact, solve):
    rng = np.random.default_rng(0)
    start = exact[1][:, :9] + 1e-4 * rng.normal(size=(300, 9))
    warm, cold = solve(S, 4, start=start, tol=1e-3), solve(S, 4, tol=1e-3)
    assert warm.n_iter < cold.n_iter
    assert_allclose(warm.values, np.maximum(exact[0][:4], 0), atol=1e-6)


def test_the_block_of_the_filtered_solver_has_eight_spare_vectors_or_all(S):
    assert filtered_eigenpairs(S, 4).block.shape == (300, 12)
    small = sparse.csr_array(S[:10][:, :10])
    assert filtered_eigenpairs(small, 4).block.shape == (10, 10)


def test_the_first_filter_starts_from_the_constant_vector(S):
    once = filtered_eigenpairs(S, 3, max_iter=1)
    assert_allclose(once.vectors[:, 0], 1 / np.sqrt(300), rtol=1e-6)
    assert once.values[0] == pytest.approx(0, abs=1e-10)


def test_a_degree_above_the_most_ends_the_search_before_a_filter(S):
    assert filtered_eigenpairs(S, 4, max_degree=1).n_iter == 0
    assert filtered_eigenpairs(S, 4, max_degree=10_000, tol=1e-6).converged


def test_the_order_of_samples_does_not_change_the_first_filter(S):
    order = np.random.default_rng(0).permutation(300)
    here = filtered_eigenpairs(S, 4, max_iter=1)
    there = filtered_eigenpairs(sparse.csr_array(S[order][:, order]), 4, max_iter=1)
    assert_allclose(there.vectors, here.vectors[order], atol=1e-6)


def test_the_bound_of_the_spectrum_holds_with_samples_that_have_no_edges():
    rng = np.random.default_rng(0)
    for zero in ([], [0], [5, 9], [9]):
        W = rng.random((10, 10)) * (rng.random((10, 10)) < 0.4)
        W = W + W.T
        W[zero] = W[:, zero] = 0
        d = W.sum(axis=1)
        near = [d[i] + max((d[j] for j in range(10) if W[i, j] > 0), default=0) for i in range(10)]
        bound = filtered._largest(sparse.csr_array(W), d)
        assert max(near) <= bound <= 2 * d.max() + 1e-12
        if not zero:
            assert bound == pytest.approx(max(near))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_lanczos_bounds_the_largest_eigenvalue_of_any_graph(n, dtype):
    W = np.random.default_rng(n).random((n, n))
    L = laplacian(W + W.T)
    top = np.linalg.eigvalsh(L)[-1]
    bound = largest_eigenvalue(sparse.csr_array(L.astype(dtype)))
    assert bound >= top * (1 - 1e-5) - 1e-6
    assert bound <= 1.3 * top + 1e-6
    if n <= 5:
        assert bound == pytest.approx(top, rel=1e-3, abs=1e-6)  # all of the space after n steps


def test_the_large_solver_keeps_to_double_precision_where_single_is_too_coarse(S, exact):
    found = large_spectrum(S, 5, tol=1e-8)
    assert found.converged
    assert_allclose(found.values, np.maximum(exact[0][:5], 0), atol=1e-12)
    assert_allclose(found.vectors[:, 0], 1 / np.sqrt(300), rtol=1e-14)


@pytest.mark.parametrize("q", [1, 2, 9, 11])
def test_a_graph_of_few_samples_has_all_its_eigenpairs(q):
    W = np.random.default_rng(0).random((12, 12))
    W = (W + W.T) / 2
    np.fill_diagonal(W, 0)
    exact = np.maximum(np.linalg.eigvalsh(laplacian(W))[:q], 0)
    assert_allclose(large_spectrum(sparse.csr_array(W), q, tol=1e-6).values, exact, atol=1e-6)


@pytest.mark.parametrize(
    ("module", "solve", "factor"), [(filtered, filtered_eigenpairs, 2.5), (large, large_spectrum, 4.5)]
)
@pytest.mark.parametrize("shape", ["complete", "path"])
def test_the_degree_of_a_filter_follows_from_what_it_has_to_damp(module, solve, factor, shape, monkeypatch):
    seen = []

    def recorded(L, V, degree, edge, top):
        seen.append((degree, edge, top))
        return chebyshev(L, V, degree, edge, top)

    monkeypatch.setattr(module, "chebyshev", recorded)
    n = 100 if shape == "complete" else 1200
    A = np.ones((n, n)) - np.eye(n) if shape == "complete" else np.eye(n, k=1) + np.eye(n, k=-1)
    solve(sparse.csr_array(A), 3, max_iter=12, tol=1e-12)
    largest = n if shape == "complete" else 4
    for degree, edge, top in seen:
        assert 1e-7 * top <= edge <= 0.5 * top
        assert degree == int(np.clip(factor * np.sqrt(top / edge), 10, 120))
        assert 0.99 * largest <= top <= 2.01 * largest
    assert seen[0][1] == pytest.approx(0.2 * A.sum() / n)
    if shape == "path":
        assert seen[-1][0] == 120
    elif solve is filtered_eigenpairs:
        assert seen[0][0] == 10


def test_at_least_half_of_the_spectrum_is_damped(monkeypatch):
    seen = []
    monkeypatch.setattr(filtered, "chebyshev", lambda *given: seen.append(given[3:]) or chebyshev(*given))
    W = np.random.default_rng(0).random((16, 16))
    found = filtered_eigenpairs(sparse.csr_array(W + W.T), 6, tol=1e-13, max_iter=3)  # a block of 14
    assert len(seen) > 1
    assert np.linalg.eigvalsh(laplacian(W + W.T))[13] > 0.5 * seen[1][1]
    for edge, top in seen[1:]:
        assert edge == 0.5 * top
    edge, top = seen[0]
    needed = 2.5 * np.sqrt(top / edge)
    assert filtered_eigenpairs(sparse.csr_array(W + W.T), 6, max_degree=needed, max_iter=1).n_iter == 1
    assert filtered_eigenpairs(sparse.csr_array(W + W.T), 6, max_degree=0.99 * needed, max_iter=1).n_iter == 0
    assert found.values[0] == pytest.approx(0, abs=1e-12)


def test_a_part_of_the_spectrum_is_damped_also_where_a_graph_is_in_many_pieces(monkeypatch):
    seen = []
    monkeypatch.setattr(filtered, "chebyshev", lambda *given: seen.append(given[3:]) or chebyshev(*given))
    pairs = sparse.csr_array(np.kron(np.eye(30), [[0.0, 3.0], [3.0, 0.0]]))
    filtered_eigenpairs(pairs, 3, start=np.kron(np.eye(30, 11), np.ones((2, 1))), tol=0.0, max_iter=1)
    assert seen[0] == (pytest.approx(6e-7), 6.0)


@SOLVERS
def test_what_is_not_said_is_a_hundredth_in_forty_filters_from_the_seed_zero(S, solve):
    told = []
    plain = solve(S, 4, progress=lambda *what: told.append(what))
    given = solve(S, 4, tol=1e-2, max_iter=40, seed=0)
    assert_array_equal(plain.vectors, given.vectors)
    assert {limit for _, _, limit in told} == {40}
    assert abs(solve(S, 4, seed=1).vectors - plain.vectors).max() > 0


def naive_bound(L, seed):
    """Return the largest eigenvalue of the matrix of twelve steps of Lanczos, and the last residual on top."""
    v = np.random.RandomState(seed).standard_normal(len(L))
    Q = [v / np.linalg.norm(v)]
    alpha, beta = [], []
    for _ in range(min(12, len(L))):
        w = L @ Q[-1]
        alpha.append(w @ Q[-1])
        for q in Q:
            w -= (w @ q) * q
        beta.append(np.linalg.norm(w))
        Q.append(w / beta[-1])
    T = np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1)
    return np.linalg.eigvalsh(T)[-1] + beta[-1]


@pytest.mark.parametrize("seed", [0, 3])
def test_the_bound_is_that_of_twelve_steps_of_lanczos(S, seed):
    L = laplacian(S.toarray())
    found = largest_eigenvalue(sparse.csr_array(L), seed)
    assert found == pytest.approx(naive_bound(L, seed), rel=1e-8)
    if seed == 0:
        assert largest_eigenvalue(sparse.csr_array(L)) == found


def test_spectra_are_themselves_alone(S):
    one, two = (filtered_eigenpairs(S, 2) for _ in range(2))
    assert one != two
    assert len({one, two}) == 2
