"""Labels spread over small graphs, landmarks and strongest edges, against dense solutions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from kernelweave.core.graphs import propagation
from kernelweave.core.graphs.bipartite import (
    bipartite_harmonic,
    bipartite_sums,
    landmark_embedding,
    landmarks_reached,
    nearest_columns,
    relative_affinity,
)
from kernelweave.core.graphs.edges import cosine_factors, strongest_edges, strongest_entries
from kernelweave.core.graphs.propagation import (
    class_mass_factors,
    class_mass_normalised,
    conjugate_gradients,
    consistent,
    consistent_scores,
    equal_mass,
    harmonic_scores,
    normalised_solve,
    reached,
    without_loops,
)

FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@pytest.fixture
def S(rng):
    S = rng.random((12, 12)) * (rng.random((12, 12)) < 0.5)
    S[9:, :9] = S[:9, 9:] = 0  # two parts
    S[9, 10] = S[10, 11] = 0.5
    S[0, 1:9] = 0.1
    return S + np.diag(np.full(12, 3.0))


LABELLED = np.arange(12) < 3
Y = np.eye(3)[np.arange(12) % 3]


@DTYPES
@FORMS
@pytest.mark.parametrize("large", [False, True])
def test_harmonic_scores_solve_the_system_of_the_laplacian(S, form, dtype, large, monkeypatch):
    if large:
        monkeypatch.setattr(propagation, "_FACTORISED_UP_TO", 0)
        monkeypatch.setattr(propagation, "_TOL", 1e-12)
    W = (S + S.T) / 2
    np.fill_diagonal(W, 0)
    L = np.diag(W.sum(axis=1)) - W
    u, known = np.arange(3, 9), np.arange(3)
    F = np.zeros((12, 3))
    F[:3] = Y[:3]
    F[u] = -np.linalg.solve(L[np.ix_(u, u)], L[np.ix_(u, known)] @ Y[:3])
    before = S.astype(dtype)
    found = harmonic_scores(form(before.copy()), Y.astype(dtype), LABELLED)
    assert found.scores.dtype == dtype
    assert_allclose(found.scores, F, atol=1e-4 if large or dtype == np.float32 else 1e-10)
    assert found.converged
    assert (found.n_iter > 0) == (large and form is not np.asarray)


@FORMS
def test_labels_reach_the_samples_of_their_part(S, form):
    assert_array_equal(reached(form(S), LABELLED), np.arange(12) < 9)
    last = np.arange(12) == 11
    assert_array_equal(reached(form(S), last), np.arange(12) >= 9)
    assert_array_equal(reached(form(S), np.zeros(12, dtype=bool)), False)
    everyone = harmonic_scores(form(S), Y, np.ones(12, dtype=bool))
    assert_array_equal(everyone.scores, Y)
    assert (everyone.converged, everyone.n_iter) == (True, 0)
    nobody = harmonic_scores(form(S), Y, np.zeros(12, dtype=bool))
    assert_array_equal(nobody.scores, 0)


@DTYPES
@FORMS
@pytest.mark.parametrize("share", [0.99, 0.5])
def test_consistent_scores_solve_their_system_with_samples_alone(S, form, dtype, share):
    W = (S + S.T) / 2
    np.fill_diagonal(W, 0)
    W[4] = W[:, 4] = 0
    d = W.sum(axis=1)
    root = np.divide(1, np.sqrt(d), out=np.zeros(12), where=d > 0)
    expected = np.linalg.solve(np.eye(12) - share * W * root * root[:, None], Y)
    found = consistent(form(W.astype(dtype)), Y.astype(dtype), share)
    assert_allclose(found.scores, expected, rtol=1e-2 if dtype == np.float32 else 1e-9, atol=1e-4)
    assert found.scores.dtype == dtype
    assert_array_equal(consistent(form(W), Y).scores, consistent(form(W), Y, 0.99).scores)


@FORMS
def test_consistent_scores_read_the_known_labels_alone_and_keep_them(S, form):
    W = (S + S.T) / 2
    np.fill_diagonal(W, 0)
    known = np.where(LABELLED[:, None], Y, 0)
    expected = consistent(W, known * equal_mass(np.sqrt(W.sum(axis=1)) @ known)).scores
    found = consistent_scores(form(S), Y, LABELLED)
    assert_array_equal(found.scores[:3], Y[:3])
    assert_allclose(found.scores[3:], np.maximum(expected[3:], 0), atol=1e-9)
    assert found.scores.min() >= 0


@FORMS
def test_the_graph_without_loops_is_symmetric(S, form):
    W = without_loops(form(S))
    W = W.toarray() if sparse.issparse(W) else W
    expected = (S + S.T) / 2
    np.fill_diagonal(expected, 0)
    assert_allclose(W, expected)


def test_a_singular_system_gets_the_smallest_ridge_that_works():
    W = np.array([[0.0, 1.0], [1.0, 0.0]])
    right = np.array([[1.0], [1.0]])
    for form in (np.asarray, sparse.csr_array):
        F, converged, n_iter = normalised_solve(form(W), np.ones(2), right, 1.0)
        assert np.isfinite(F).all()
        assert F.min() > 1e14
        assert_allclose(F[0], F[1], rtol=0.5)
        assert (converged, n_iter) == (True, 0)
    F, _, _ = normalised_solve(W, np.ones(2), right, 1.0)
    assert_allclose(F, 1 / (2 * np.finfo(float).eps), rtol=0.3)


def naive_gradients(A, b, tol, max_iter):
    """Preconditioned conjugate gradients of one column, by the book."""
    D = A.diagonal()
    x, r = np.zeros_like(b), b.copy()
    z = r / D
    p, size = z.copy(), r @ z
    goal = tol**2 * size
    steps = 0
    while size > goal and steps < max_iter:
        q = A @ p
        a = size / (p @ q)
        x, r = x + a * p, r - a * q
        z = r / D
        new = r @ z
        p, size, steps = z + new / size * p, new, steps + 1
    return x, steps, size <= goal


@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_conjugate_gradients_are_those_of_every_column(tol):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, 20))
    A = A @ A.T / 20 + np.diag(rng.uniform(0.5, 3, size=20))
    b = rng.normal(size=(20, 1))
    before = b.copy()
    x, converged, steps = conjugate_gradients(lambda F: A @ F, b, A.diagonal(), tol=tol)
    expected, naive_steps, ended = naive_gradients(A, b[:, 0], tol, 2000)
    assert (steps, converged) == (naive_steps, ended)
    assert_allclose(x[:, 0], expected, rtol=1e-6, atol=1e-9)
    assert_array_equal(b, before)
    x, converged, steps = conjugate_gradients(lambda F: A @ F, b, A.diagonal(), tol=tol, max_iter=2)
    assert (converged, steps) == (False, 2)
    assert_allclose(x[:, 0], naive_gradients(A, b[:, 0], tol, 2)[0], rtol=1e-8)
    exact = conjugate_gradients(lambda F: A @ F, b, A.diagonal(), tol=tol, max_iter=naive_steps)
    assert exact[1:] == (True, naive_steps)


def test_a_right_side_of_zeros_needs_no_step():
    F, converged, steps = conjugate_gradients(lambda F: F, np.zeros((3, 2)), np.ones(3))
    assert_array_equal(F, 0)
    assert (converged, steps) == (True, 0)


def test_class_masses_are_those_of_zhu(rng):
    F, labelled = rng.random((8, 3)), np.arange(8) < 3
    F[labelled] = np.eye(3)[[0, 0, 1]]
    F[~labelled, 2] = 0
    mass = F[3:].sum(axis=0)
    for shares, expected in ((None, np.array([2.0, 1.0, 0.0])), ((0.2, 0.3, 0.5), np.array([0.2, 0.3, 0.5]))):
        found = class_mass_normalised(F, labelled, shares)
        assert_array_equal(found[:3], F[:3])
        for j in range(2):
            factor = expected[j] / expected.sum() / (mass[j] / mass.sum())
            assert_allclose(found[3:, j], F[3:, j] * factor)
            if shares is None:
                assert class_mass_factors(F, labelled)[j] == pytest.approx(factor)
        assert_array_equal(found[3:, 2], 0)
    assert class_mass_factors(F, labelled)[2] == 1


# landmarks


@DTYPES
@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_nearest_landmarks_are_those_of_a_stable_sort(rng, k, dtype):
    D = rng.integers(6, size=(9, 5)).astype(dtype)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    J, least = nearest_columns(D.copy(), k)
    assert_array_equal(J, order)
    assert_array_equal(least, np.take_along_axis(D, order, axis=1))
    assert (J.dtype, least.dtype) == (np.int32, dtype)


def test_relative_affinities_are_in_units_of_the_last_distance(rng):
    D = np.sort(rng.random((5, 4)), axis=1)
    D[2] = 0
    expected = np.exp(-D / np.where(D[:, -1:] > 0, D[:, -1:], 1))
    assert_allclose(relative_affinity(D), expected / expected.sum(axis=1, keepdims=True))


@pytest.fixture
def bipartite(rng):
    J, D = nearest_columns(rng.random((30, 7)), 3)
    B = relative_affinity(D)
    full = np.zeros((30, 7))
    np.put_along_axis(full, J.astype(int), B, axis=1)
    return full


def test_the_embedding_of_landmarks_gives_orthonormal_eigenvectors_of_samples(bipartite):
    full = np.column_stack([bipartite, np.zeros(30)])  # one landmark that no sample is joined to
    BB = bipartite_sums([sparse.csr_array(full)])
    assert_allclose(BB, full.T @ full)
    values, Q = landmark_embedding(BB, 4)
    P = full @ Q
    e = full.sum(axis=0)
    N = full[:, :7] / e[:7] @ full[:, :7].T
    exact, V = np.linalg.eigh(N)
    assert_allclose(values, exact[::-1][:4])
    assert_allclose(P.T @ P, np.eye(4), atol=1e-10)
    assert_allclose(np.abs((P * V[:, ::-1][:, :4]).sum(axis=0)), 1)
    root = np.sqrt(e[:7])
    assert ((root[:, None] * Q[:7] * np.sqrt(values)) ** 3).sum(axis=0).min() > -1e-12
    every, all_Q = landmark_embedding(BB, 8)
    assert every.min() == 0
    assert np.isfinite(all_Q).all()
    assert_array_equal(all_Q[7], 0)


@pytest.mark.parametrize("seed", range(4))
def test_the_signs_of_landmark_eigenvectors_are_those_of_the_sum_of_cubes(seed):
    B = np.random.default_rng(seed).random((20, 9)) ** 4
    B /= B.sum(axis=1, keepdims=True)
    values, Q = landmark_embedding(B.T @ B, 9)
    V = np.sqrt(B.sum(axis=0))[:, None] * Q * np.sqrt(values)
    assert_allclose(V.T @ V, np.eye(9), atol=1e-8)
    assert (V**3).sum(axis=0).min() > 0
    assert V.sum(axis=0).min() < 0


def test_landmarks_out_of_reach_and_without_samples_get_nothing(bipartite):
    full = bipartite
    apart = np.zeros((34, 9))
    apart[:30, :7], apart[30:, 7] = full, 1
    labelled = np.arange(34) < 5
    Y = np.eye(2)[np.arange(34) % 2]
    e = apart.sum(axis=0)
    BB_u = apart[~labelled].T @ apart[~labelled]
    BY = apart[labelled].T @ Y[labelled]
    assert_array_equal(landmarks_reached(BB_u, BY.sum(axis=1)), [True] * 7 + [False] * 2)
    U = bipartite_harmonic(BB_u, e, BY)
    expected = np.linalg.solve(np.diag(e[:7]) - BB_u[:7, :7], BY[:7])
    assert_allclose(U[:7], expected, rtol=1e-9)
    assert_array_equal(U[7:], 0)
    damped = bipartite_harmonic(BB_u, e, BY, alpha=0.6)
    assert_allclose(damped[:7], np.linalg.solve(np.diag(e[:7]) - 0.6 * BB_u[:7, :7], BY[:7]), rtol=1e-9)
    assert U.min() >= 0


# strongest edges


@pytest.mark.parametrize("seed", range(5))
def test_strongest_edges_are_rows_cosines_and_the_best_ties(seed):
    rng = np.random.default_rng(seed)
    X = np.r_[rng.normal(size=(8, 2)), rng.normal(size=(6, 2)) + 4, rng.normal(size=(3, 2)) - 5]
    S = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 4) * np.outer(w := rng.uniform(0.5, 2, 17), w)
    d = np.maximum(S.diagonal(), S.max(axis=1))
    cosines = S / np.sqrt(np.outer(d, d))
    C = np.zeros_like(S)
    for i in range(17):
        others = sorted((j for j in range(17) if j != i), key=lambda j: -cosines[i, j])[:2]
        C[i, others] = S[i, others]
    W = (C + C.T) / 2
    _, piece = connected_components(sparse.csr_array(W))
    Z = S.copy()
    np.fill_diagonal(Z, 0)
    between = np.array(
        [[Z[np.ix_(piece == a, piece == b)].max() if a != b else 0 for b in set(piece)] for a in set(piece)]
    )
    tree = minimum_spanning_tree(sparse.csr_array(-between)).toarray()
    for a, b in zip(*np.nonzero(tree), strict=True):
        inside = np.where(np.outer(piece == a, piece == b), Z, 0)
        i, j = np.unravel_index(inside.argmax(), inside.shape)
        W[i, j] = W[j, i] = Z[i, j]
    np.fill_diagonal(W, S.diagonal())
    before = S.copy()
    assert_allclose(strongest_edges(S, 2), W, rtol=1e-12)
    assert_array_equal(S, before)


@DTYPES
def test_entries_equal_to_the_kth_largest_are_kept(dtype):
    S = np.array([[5.0, 4.0, 4.0, 1.0], [1.0, 2.0, 3.0, 4.0]], dtype=dtype)
    ones = np.ones(4, dtype=dtype)
    assert_array_equal(strongest_entries(S, 2, ones), [[5, 4, 4, 0], [0, 0, 3, 4]])
    assert_array_equal(strongest_entries(S, 1, ones), [[5, 0, 0, 0], [0, 0, 0, 4]])
    assert_array_equal(strongest_entries(S, 1, np.array([0.1, 2, 1, 0.1], dtype=dtype)), [[0, 4, 0, 0], [0, 2, 0, 0]])
    assert strongest_entries(S, 4, ones) is S
    assert strongest_entries(S, 5, ones) is S
    assert_array_equal(strongest_entries(S, 3, ones)[1], [0, 2, 3, 4])


def test_the_factors_of_cosines_are_roots_of_the_diagonal_or_of_the_largest_entry():
    S = np.array([[4.0, 1.0, 0.0], [1.0, 0.5, 2.0], [0.0, 0.0, 0.0]])
    assert_allclose(cosine_factors(S), [1 / 2, 1 / np.sqrt(2), 1])
    assert cosine_factors(S.astype(np.float32)).dtype == np.float32


def test_entries_within_a_billionth_of_the_kth_largest_are_equal_to_it():
    for apart, kept in ((0.5e-9, True), (1.5e-9, False)):
        S = np.array([[1.0, 1 - apart, 0.5]])
        assert (strongest_entries(S, 1, np.ones(3))[0, 1] > 0) == kept


def test_conjugate_gradients_give_up_after_two_thousand_steps_and_end_at_a_hundred_thousandth():
    stuck = conjugate_gradients(lambda F: np.zeros_like(F), np.ones((3, 1)), np.ones(3))
    assert stuck[1:] == (False, 2000)
    A = np.diag(np.logspace(0, 3, 60)) + 0.3
    b = np.ones((60, 1))
    given = [conjugate_gradients(lambda F: A @ F, b, np.ones(60), tol=tol)[2] for tol in (1e-5, 1e-4, 1e-6)]
    assert conjugate_gradients(lambda F: A @ F, b, np.ones(60))[2] == given[0]
    assert len(set(given)) == 3
