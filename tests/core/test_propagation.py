"""Labels spread over a graph: direct and iterative solvers, weak edges, class masses."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

from kernelweave.core.graphs import propagation
from kernelweave.core.graphs.coordinates import laplacian
from kernelweave.core.graphs.propagation import (
    balance,
    class_mass_factors,
    class_mass_normalised,
    conjugate_gradients,
    consistent,
    consistent_scores,
    equal_mass,
    harmonic_scores,
    reached,
    without_loops,
)


@pytest.fixture
def two_parts():
    """Samples 0-2 and 3-5 are cliques without an edge between them."""
    return np.kron(np.eye(2), np.ones((3, 3)))


# harmonic functions


def test_harmonic_labels_solve_the_harmonic_system(small):
    labelled = np.arange(small.n) % 5 == 0
    Y = np.eye(small.c)[np.arange(small.n) % small.c]
    P = harmonic_scores(small.S, Y, labelled).scores
    assert_array_equal(P[labelled], Y[labelled])
    assert_allclose((laplacian(small.S) @ P)[~labelled], 0, atol=1e-12)
    assert_allclose(P.sum(axis=1), 1)
    assert P.min() >= 0


def test_harmonic_labels_do_not_read_the_labels_of_unlabelled_samples(small, rng):
    labelled = np.arange(small.n) % 5 == 0
    Y = np.eye(small.c)[np.arange(small.n) % small.c]
    rubbish = np.where(labelled[:, None], Y, rng.normal(size=Y.shape))
    assert_array_equal(harmonic_scores(small.S, Y, labelled).scores, harmonic_scores(small.S, rubbish, labelled).scores)


def test_samples_out_of_reach_of_every_label_are_found_and_score_zero(two_parts):
    labelled = np.arange(6) == 1
    assert_array_equal(reached(two_parts, labelled), [True] * 3 + [False] * 3)
    Y = np.tile([1.0, 0.0], (6, 1))
    scores = harmonic_scores(two_parts, Y, labelled).scores
    assert_allclose(scores[:3], [[1, 0]] * 3, atol=1e-15)
    assert_array_equal(scores[3:], 0)


def test_labels_reach_the_end_of_a_chain_and_against_the_direction_of_an_edge():
    chain = np.diag(np.ones(8), 1)  # sample i has an edge to i + 1 only
    chain[4, 5] = 0
    labelled = np.arange(9) == 2
    for S in (chain, sparse.csr_array(chain)):
        assert_array_equal(reached(S, labelled), np.arange(9) < 5)


def test_harmonic_labels_permute_with_the_samples(small, rng):
    labelled = np.arange(small.n) % 4 == 0
    Y = np.eye(small.c)[np.arange(small.n) % small.c]
    order = rng.permutation(small.n)
    permuted = harmonic_scores(small.S[np.ix_(order, order)], Y[order], labelled[order]).scores
    assert_allclose(permuted, harmonic_scores(small.S, Y, labelled).scores[order], atol=1e-13)


def test_a_sparse_graph_gives_the_laplacian_and_the_harmonic_labels_of_the_dense_one(rng):
    S = rng.uniform(size=(40, 40)) * (rng.uniform(size=(40, 40)) < 0.1)
    S[30:, :30] = S[:30, 30:] = 0  # no label reaches the last samples
    labelled = np.arange(40) < 6
    Y = np.eye(3)[np.arange(40) % 3]
    thin = sparse.csr_array(S)
    assert_allclose(laplacian(thin).toarray(), laplacian(S), atol=1e-14)
    assert_array_equal(reached(thin, labelled), reached(S, labelled))
    assert_allclose(harmonic_scores(thin, Y, labelled).scores, harmonic_scores(S, Y, labelled).scores, atol=1e-10)


# groups that hang by edges below rounding: L_uu is singular to working precision


def exactly_harmonic(W, Y, labelled):
    """Solve (D - W)_uu F_u = W_ul Y_l in rational arithmetic, by Gauss-Jordan."""
    u, known = np.flatnonzero(~labelled), np.flatnonzero(labelled)
    W = [[Fraction(float(w)) if i != j else Fraction(0) for j, w in enumerate(row)] for i, row in enumerate(W)]
    rows = [
        [sum(W[i]) if i == j else -W[i][j] for j in u] + [sum(W[i][k] for k in known if Y[k, c]) for c in range(2)]
        for i in u
    ]
    for k in range(len(u)):
        pivot = [value / rows[k][k] for value in rows[k]]
        rows = [[a - row[k] * b for a, b in zip(row, pivot, strict=True)] for row in rows]
        rows[k] = pivot
    F = Y.astype(float)
    F[u] = [[float(value) for value in row[-2:]] for row in rows]
    return F


@pytest.fixture(params=[1e-3, 1e-12, 1e-17, 1e-30, 1e-200], ids="leak={:.0e}".format)
def chain(request):
    """Unlabelled group 0-3, tied by `leak` to unlabelled 4-7 with weights of another scale, and these to labels."""
    rng, leak = np.random.default_rng(0), request.param
    W = np.zeros((12, 12))
    for a, b, scale in ((0, 0, 1), (4, 4, leak**0.5), (8, 8, 1), (0, 4, leak), (4, 8, leak)):
        W[a : a + 4, b : b + 4] = scale * rng.uniform(0.5, 1, (4, 4))
    labelled = np.arange(12) >= 10
    Y = np.zeros((12, 2))
    Y[10, 0] = Y[11, 1] = 1
    return (W + W.T) / 2, Y, labelled


def test_groups_that_hang_by_edges_below_rounding_get_their_exact_scores(chain):
    W, Y, labelled = chain
    assert_allclose(harmonic_scores(W, Y, labelled).scores, exactly_harmonic(W, Y, labelled), rtol=1e-9)


def test_a_sparse_graph_gives_such_groups_their_exact_scores_or_none(chain):
    W, Y, labelled = chain
    found = harmonic_scores(sparse.csr_array(W), Y, labelled).scores
    scored = found.any(axis=1)
    assert scored[8:].all()
    assert_allclose(found[scored], exactly_harmonic(W, Y, labelled)[scored], rtol=1e-9)


def test_a_large_diagonal_does_not_change_the_scores(chain):
    W, Y, labelled = chain
    assert_array_equal(
        harmonic_scores(W + 1e3 * np.eye(12), Y, labelled).scores, harmonic_scores(W, Y, labelled).scores
    )


@pytest.fixture
def scores():
    F = np.random.default_rng(0).dirichlet([3, 2, 1], size=20)
    labelled = np.arange(20) % 4 == 0
    F[labelled] = np.eye(3)[[0, 1, 2, 0, 1]]
    return F, labelled


def test_class_masses_of_the_unlabelled_get_the_shares_of_the_labelled(scores):
    F, labelled = scores
    mass = class_mass_normalised(F, labelled)[~labelled].sum(axis=0)
    assert_allclose(mass / mass.sum(), [0.4, 0.4, 0.2])
    assert_allclose(mass.sum(), F[~labelled].sum())


def test_class_masses_can_be_given_and_labelled_rows_stay(scores):
    F, labelled = scores
    G = class_mass_normalised(F, labelled, np.array([2.0, 1.0, 1.0]))
    mass = G[~labelled].sum(axis=0)
    assert_allclose(mass / mass.sum(), [0.5, 0.25, 0.25])
    assert_array_equal(G[labelled], F[labelled])


def test_scores_that_have_the_right_masses_do_not_change(scores):
    F, labelled = scores
    once = class_mass_normalised(F, labelled)
    assert_allclose(class_mass_normalised(once, labelled), once)


def test_a_class_without_mass_stays_without_and_nothing_is_nan(scores):
    F, labelled = scores
    F[~labelled, 2] = 0
    G = class_mass_normalised(F.astype(np.float32), labelled)
    assert G.dtype == np.float32
    assert_array_equal(G[~labelled, 2], 0)
    assert np.isfinite(G).all()


def test_class_mass_factors_are_what_the_normalisation_multiplies_by(scores):
    F, labelled = scores
    assert_allclose(F[~labelled] * class_mass_factors(F, labelled), class_mass_normalised(F, labelled)[~labelled])
    F[~labelled, 2] = 0
    assert class_mass_factors(F, labelled)[2] == 1


# sparse graphs: direct up to 10,000 unknown samples, conjugate gradients above


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(600, n_features=4, centers=5, cluster_std=2.0, random_state=0)


@pytest.fixture(scope="module")
def S(blobs):
    A = kneighbors_graph(blobs[0], 8, mode="distance")
    A.data = np.exp(-A.data)
    return sparse.csr_array((A + A.T) / 2)


@pytest.fixture(params=["direct", "gradients"])
def solver(request, monkeypatch):
    """Let few samples be solved for directly, or by conjugate gradients as many are."""
    if request.param == "gradients":
        monkeypatch.setattr(propagation, "_FACTORISED_UP_TO", 0)
    return request.param


def labels_of(y, each):
    known = np.zeros(len(y), dtype=bool)
    for c in np.unique(y):
        known[np.flatnonzero(y == c)[:each]] = True
    return np.eye(y.max() + 1)[y] * known[:, None], known


def test_harmonic_scores_of_a_sparse_graph_are_those_of_the_dense_one(S, blobs, solver):
    Y, known = labels_of(blobs[1], 2)
    found = harmonic_scores(S, Y, known)
    assert found.converged
    assert (found.n_iter > 0) == (solver == "gradients")
    assert_allclose(
        found.scores, harmonic_scores(S.toarray(), Y, known).scores, atol=1e-3 if solver == "gradients" else 1e-10
    )
    assert_allclose(found.scores[~known].sum(axis=1), 1, atol=1e-3)


def test_consistent_scores_solve_their_system(S, blobs, solver):
    Y, known = labels_of(blobs[1], 2)
    d = 1 / np.sqrt(S.sum(axis=1))
    exact = np.linalg.solve(np.eye(600) - 0.99 * S.toarray() * d * d[:, None], Y * equal_mass(1 / d @ Y))
    found = consistent_scores(S, Y, known)
    assert found.converged
    assert (found.n_iter > 0) == (solver == "gradients")
    assert_allclose(found.scores[~known], exact[~known], rtol=1e-2, atol=1e-4)
    assert_allclose(found.scores[known], Y[known])
    assert_allclose(found.passed_on, exact * d[:, None], rtol=1e-2, atol=1e-4)


@pytest.mark.usefixtures("solver")
def test_scores_of_unlabelled_samples_are_means_of_what_their_neighbours_pass_on(S, blobs):
    Y, known = labels_of(blobs[1], 2)
    F, _, _, passed_on = consistent_scores(S, Y, known)
    d = S.sum(axis=1)
    assert_allclose((0.99 * S @ passed_on / np.sqrt(d)[:, None])[~known], F[~known], rtol=1e-2, atol=1e-4)


def test_no_class_has_more_of_the_consistent_scores_for_having_more_labels(S, blobs):
    y, known = blobs[1], np.zeros(600, dtype=bool)
    for label in range(5):
        known[np.flatnonzero(y == label)[: 4**label]] = True
    Y = np.eye(5)[y] * known[:, None]
    d = S.sum(axis=1)
    mass = d @ consistent_scores(S, Y, known).passed_on  # √d is an eigenvector of N
    assert_allclose(mass, mass[0], rtol=1e-6)
    assert mass[0] == pytest.approx(100 * (np.sqrt(d) @ Y).mean())


def test_classes_without_mass_keep_their_factor():
    assert_allclose(equal_mass(np.array([2.0, 0, 4])), [1.5, 1, 0.75])
    assert_allclose(equal_mass(np.zeros(2)), 1)


def test_balanced_scores_are_far_from_no_class_and_have_the_same_mean_with_few_labels():
    F = np.random.default_rng(0).uniform([0.7, 0.3, 0.2], [0.9, 0.5, 0.4], size=(40, 3))
    of = np.arange(40) >= 4
    b, f = balance(F, of, 0)  # no labels at all
    assert_allclose(b, F[4:].min(axis=0), rtol=1e-7)
    assert_allclose(((F - b) * f)[4:].mean(axis=0), 1)
    shares = [balance(F, of, many)[1] for many in (0, 15, 15_000_000)]
    assert_allclose(shares[1] ** 2, shares[0])  # five labels of each class: the root
    assert_allclose(shares[2], 1, rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_that_are_the_same_everywhere_stay_scores(dtype):
    F = np.tile(np.array([0.7, 0.3], dtype=dtype), (5, 1))
    b, f = balance(F, np.ones(5, dtype=bool), 2)
    assert b.dtype == f.dtype == dtype
    assert ((F - b) * f > 0).all()
    nobody = balance(F, np.zeros(5, dtype=bool), 2)
    assert_allclose(nobody, [[0, 0], [1, 1]])


@pytest.mark.parametrize("spread", [harmonic_scores, consistent_scores])
def test_the_solver_for_few_samples_and_the_one_for_many_agree(S, blobs, spread, monkeypatch):
    Y, known = labels_of(blobs[1], 2)
    direct = spread(S, Y, known)
    monkeypatch.setattr(propagation, "_FACTORISED_UP_TO", 0)
    gradients = spread(S, Y, known)
    assert direct.n_iter == 0 < gradients.n_iter
    assert_allclose(gradients.scores, direct.scores, atol=1e-3)
    assert_array_equal(gradients.scores.argmax(axis=1), direct.scores.argmax(axis=1))


def test_the_number_of_unknown_samples_decides_which_solver_is_taken(S, blobs, monkeypatch):
    Y, known = labels_of(blobs[1], 2)
    unknown = int(np.count_nonzero(~known))
    monkeypatch.setattr(propagation, "_FACTORISED_UP_TO", unknown)
    assert harmonic_scores(S, Y, known).n_iter == 0
    monkeypatch.setattr(propagation, "_FACTORISED_UP_TO", unknown - 1)
    assert harmonic_scores(S, Y, known).n_iter > 0


@pytest.mark.usefixtures("solver")
def test_single_precision_scores_stay_in_it(S, blobs):
    Y, known = labels_of(blobs[1], 2)
    for spread in (harmonic_scores, consistent_scores):
        single = spread(S.astype(np.float32), Y.astype(np.float32), known).scores
        assert single.dtype == np.float32
        assert_allclose(single, spread(S, Y, known).scores, atol=1e-3)


@pytest.mark.usefixtures("solver")
def test_no_score_reaches_a_piece_without_labels():
    S = sparse.csr_array(np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3)))
    Y = np.zeros((6, 2))
    Y[0, 0] = Y[1, 1] = 1
    for spread in (harmonic_scores, consistent_scores):
        scores = spread(S, Y, Y.any(axis=1)).scores
        assert_allclose(scores[3:], 0)
        assert (scores[2] > 0).all()


@pytest.mark.usefixtures("solver")
def test_samples_without_edges_have_no_score():
    S = sparse.csr_array(np.pad(np.ones((2, 2)) - np.eye(2), (0, 1)))
    Y = np.array([[1.0, 0], [0, 1], [0, 0]])
    assert_allclose(consistent_scores(S, Y, Y.any(axis=1)).scores, Y)


def test_consistency_on_a_dense_graph_is_that_on_the_sparse_one(S, blobs):
    Y, _ = labels_of(blobs[1], 2)
    assert_allclose(consistent(S.toarray(), Y, 0.9).scores, consistent(S, Y, 0.9).scores, atol=1e-10)


def test_conjugate_gradients_say_if_they_did_not_converge():
    A = np.diag(np.geomspace(1, 1e8, 50)) + 1
    _, converged, steps = conjugate_gradients(lambda V: A @ V, np.ones((50, 1)), np.ones(50), max_iter=3)
    assert not converged
    assert steps == 3


def test_a_system_that_is_singular_in_floating_point_is_solved_with_a_ridge():
    edges = np.array([[0, 1e-30, 0], [1e-30, 0, 1], [0, 1, 0]])  # the edge to the label is lost beside the other one
    labelled = np.array([True, False, False])
    for S in (edges, sparse.csr_array(edges)):
        assert_allclose(
            harmonic_scores(S, np.array([[1.0, 0], [0, 0], [0, 0]]), labelled).scores, [[1, 0]] * 3, atol=1e-6
        )


def test_the_graph_without_loops_is_the_symmetric_part_without_its_diagonal():
    S = np.random.default_rng(0).random((8, 8))
    expected = (S + S.T) / 2 * (1 - np.eye(8))
    assert_allclose(without_loops(S), expected)
    assert_allclose(without_loops(sparse.csr_array(S)).toarray(), expected)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_conjugate_gradients_stop_at_the_first_step_within_the_tolerance_in_any_unit(unit, tol):
    rng = np.random.default_rng(0)
    A = np.diag(np.linspace(1, 50, 30)) + 0.1 * np.ones((30, 30))
    right = unit * rng.normal(size=(30, 3))

    def solved(**options):
        return conjugate_gradients(lambda F: A @ F, right.copy(), A.diagonal(), tol=tol, **options)

    def error(F):  # in the norm of the preconditioner, the largest over the columns
        R = (right - A @ F) / np.sqrt(A.diagonal())[:, None]
        return (np.linalg.norm(R, axis=0) / np.linalg.norm(right / np.sqrt(A.diagonal())[:, None], axis=0)).max()

    F, converged, steps = solved()
    assert converged
    assert error(F) <= tol * (1 + 1e-6)
    before, converged, n_steps = solved(max_iter=steps - 1)
    assert (converged, n_steps) == (False, steps - 1)
    assert error(before) > tol


def test_a_class_without_mass_among_the_unlabelled_has_the_factor_one():
    F = np.array([[1.0, 0], [0, 1], [0.1, 0], [0.2, 0]])
    labelled = np.array([True, True, False, False])
    assert_allclose(class_mass_factors(F, labelled), [0.5, 1])
    F[2:, 1] = 0.05  # a small mass is a mass
    assert_allclose(class_mass_factors(F, labelled), [0.2 / 0.3, 2])


def test_a_column_of_zeros_is_solved_by_zeros_beside_others():
    A, right = np.diag(np.arange(1.0, 6)) + 0.1, np.zeros((5, 2))
    right[:, 0] = np.arange(5.0)
    F, converged, _ = conjugate_gradients(lambda F: A @ F, right, A.diagonal(), tol=1e-12)
    assert converged
    assert_array_equal(F[:, 1], 0)
    assert_allclose(A @ F, right, atol=1e-8)
