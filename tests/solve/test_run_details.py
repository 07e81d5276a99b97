"""Problems, histories, starts and steps of a run, one at a time."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.core.graphs.edges import cosine_factors, strongest_edges
from kernelweave.core.paper.closed_forms import combine, consensus_distances, kernel_step, smoothness
from kernelweave.solve import VERSIONS, Outcome, Problem, Record, State, StepError, minimise, smkl
from kernelweave.solve.problem import History, Solution, Workspace
from kernelweave.solve.steps import (
    Beta,
    IdentityStart,
    InferLabels,
    KeepPositiveGraph,
    KernelStart,
    LearnExactGraph,
    LearnFreeGraph,
    LearnGraph,
    ParametriseKernel,
    PerturbKernel,
    PerturbSafely,
    RandomStart,
    RidgeStart,
    SelfWeight,
    SmootherLabels,
    StopIfFar,
    clip_kernel,
    distances_of,
    embed,
    keep_kernel,
    residual_of,
    single_kernel,
    uniform_theta,
)

EPS = float(np.finfo(float).eps)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def state(clustering, rng):
    n = clustering.n
    S = rng.normal(scale=0.1, size=(n, n))
    return State(
        S=S, K=clustering.H.mean(axis=0), w=np.ones(len(clustering.H)), P=np.linalg.qr(rng.normal(size=(n, 3)))[0]
    )


def test_outcomes_are_converged_failed_or_neither():
    assert [one.name for one in Outcome if one.converged] == ["CONVERGED", "LEVEL"]
    assert [one.name for one in Outcome if one.failed] == ["NOT_FINITE", "DIVERGED", "NOT_OPTIMAL"]
    error = StepError(Outcome.DIVERGED)
    assert error.outcome is Outcome.DIVERGED
    assert str(error) == Outcome.DIVERGED.value


def test_a_problem_knows_its_sizes_and_floors(clustering, classification):
    H = clustering.H
    norms = [np.linalg.norm(Hi) for Hi in H]
    assert clustering.n == H.shape[1]
    assert clustering.size == pytest.approx(max(norms))
    assert clustering.floor == pytest.approx(1e-10 * max(norms))
    assert clustering.safeguarded_floor == pytest.approx(1e-6 * max(norms))
    d = [np.linalg.norm(Hi - H.mean(axis=0)) for Hi in H]
    least = [max(x, 0.01 * norm) for x, norm in zip(d, norms, strict=True)]
    assert 30 / Beta().value(clustering) == pytest.approx(sum(0.5 / x for x in least))
    assert_array_equal(clustering.known, np.zeros((clustering.n, 3)))
    assert_array_equal(classification.known, classification.Y)
    assert_array_equal(replace(classification, labelled=None).known, 0)
    other = replace(classification, Y=np.ones_like(classification.Y))
    assert_array_equal(other.known, np.where(classification.labelled[:, None], np.ones((1, 3)), 0))
    assert replace(classification, H=H.astype(np.float32)).known.dtype == np.float32


def test_a_workspace_gives_its_inverse_once_and_for_its_kernel_and_gamma_alone(clustering):
    work, K = Workspace(), clustering.H[0]
    A = np.linalg.inv(K + 2 * np.eye(clustering.n))
    marked = A.copy()
    work.kept = marked, K, 2.0
    assert work.take_inverse(K, 2.0) is marked
    assert work.take_inverse(K, 2.0) is not marked
    for other, gamma in ((K.copy(), 2.0), (K, 3.0)):
        work.kept = marked, K, 2.0
        found = work.take_inverse(other, gamma)
        assert found is not marked
        assert_allclose(found, np.linalg.inv(K + gamma * np.eye(clustering.n)), atol=1e-9)


def test_a_history_is_a_sequence_of_records_with_columns():
    records = tuple(Record({"a": float(i), "b": 2.0}, 0.1 * i, np.array([i, 1.0]), 0.5 + i) for i in range(3))
    history = History(records)
    assert_array_equal(history.objective, [2, 3, 4])
    assert_allclose(history.change, [0, 0.1, 0.2])
    assert_array_equal(history.weights, [[0, 1], [1, 1], [2, 1]])
    assert_array_equal(history.seconds, [0.5, 1.5, 2.5])
    assert {name: list(values) for name, values in history.terms.items()} == {"a": [0, 1, 2], "b": [2, 2, 2]}
    assert history[1] is records[1]
    assert list(history) == list(records)
    assert History(()).terms == {}
    assert Solution(None, history, Outcome.LEVEL, None).n_iter == 3


@pytest.mark.parametrize("version", VERSIONS)
def test_a_solution_has_no_residual(version, clustering):
    scheme = smkl(version, alpha=1e-3, gamma=1.0, classify=False)
    found = minimise(clustering, scheme, max_iter=2, tol=1e-9, rng=np.random.default_rng(0)).state
    assert found.M is None
    assert not found.on_bound


# starts


def test_every_start_has_its_graph_and_its_labels(clustering, classification):
    mean = clustering.H.mean(axis=0)

    def first(problem):
        return problem.H.mean(axis=0), np.full(len(problem.H), 0.5)

    n, work = clustering.n, Workspace()
    rng = np.random.default_rng(3)
    identity = IdentityStart(first)(clustering, rng, work)
    assert_array_equal(identity.S, np.eye(n))
    assert_array_equal(identity.P, np.eye(n, 3))
    assert_array_equal(IdentityStart(first)(classification, rng, work).P, classification.Y)
    zero = KernelStart(first)(classification, rng, work)
    assert_array_equal(zero.S, 0)
    assert_array_equal(zero.P, classification.Y)
    drawn = RandomStart(first, embed)(clustering, np.random.default_rng(3), work)
    assert_array_equal(drawn.S, np.random.default_rng(3).random((n, n)))
    assert_array_equal(drawn.P, embed(clustering, drawn.S))
    ridge = RidgeStart(first, embed, 0.5)(clustering, rng, work)
    A = np.linalg.inv(mean + 0.5 * np.eye(n))
    assert_allclose(ridge.S, np.maximum(np.eye(n) - 0.5 * A, 0), atol=1e-9)
    assert_array_equal(ridge.P, embed(clustering, ridge.S))
    assert_allclose(work.take_inverse(ridge.K, 0.5), A, atol=1e-9)
    for start in (identity, zero, drawn, ridge):
        assert_array_equal(start.K, mean)
        assert_array_equal(start.w, 0.5)
    K, w = single_kernel(clustering)
    assert_array_equal(K, clustering.H[0])
    assert_array_equal(w, [1])
    K, theta = uniform_theta(clustering)
    assert_allclose(theta, 1 / len(clustering.H) ** 2)
    assert_allclose(K, combine(clustering.H, theta))


# steps


@pytest.mark.parametrize("fixed", [True, False])
def test_graph_steps_solve_their_system_and_keep_the_inverse_of_a_fixed_kernel(clustering, state, fixed):
    n, alpha, gamma = clustering.n, 0.2, 0.7
    G = ((state.P[:, None] - state.P) ** 2).sum(axis=2)
    free = np.linalg.solve(state.K + gamma * np.eye(n), state.K - alpha / 4 * G)
    rooted = np.linalg.solve(state.K + gamma * np.eye(n), state.K - alpha / 4 * np.sqrt(G))
    half = np.maximum(rooted, 0)
    cases = (
        (LearnFreeGraph(alpha, gamma, fixed), free),
        (LearnGraph(alpha, gamma, fixed, squared=True, symmetric=False), np.maximum(free, 0)),
        (LearnGraph(alpha, gamma, fixed, squared=False, symmetric=False), half),
        (LearnGraph(alpha, gamma, fixed, squared=False, symmetric=True), (half + half.T) / 2),
    )
    for step, expected in cases:
        work = Workspace()
        after = step(clustering, replace(state, q=1.0), work)
        assert_allclose(after.S, expected, atol=1e-9)
        E = np.eye(n) - expected
        assert_allclose(after.M, E @ E.T, atol=1e-8)
        assert_allclose(residual_of(after), after.M)
        assert_allclose(residual_of(replace(after, M=None)), after.M, atol=1e-8)
        assert after.q is None
        kept = work.kept
        assert (kept is not None) == fixed
        if fixed:
            assert_allclose(kept[0], np.linalg.inv(state.K + gamma * np.eye(n)), atol=1e-9)


def test_the_exact_graph_is_optimal_to_a_billionth_in_both_precisions(clustering, state):
    n = clustering.n
    assert LearnExactGraph(0.1, 0.5).tol == 1e-9
    for dtype in (np.float64, np.float32):
        given = replace(state, S=state.S.astype(dtype), K=state.K.astype(dtype), P=state.P.astype(dtype), q=2.0)
        after = LearnExactGraph(0.1, 0.5)(clustering, given, Workspace())
        G = ((given.P[:, None] - given.P) ** 2).sum(axis=2)
        gradient = (state.K + 0.5 * np.eye(n)) @ after.S - (state.K - 0.1 / 4 * G)
        assert after.S.dtype == dtype
        assert after.S.min() >= 0
        tight = 1e-7 if dtype == np.float64 else 1e-3
        assert np.abs(np.minimum(after.S, gradient)).max() < tight
        E = np.eye(n) - after.S
        assert_allclose(after.M, E @ E.T, atol=1e-3)
        assert after.q is None


def test_kernels_and_weights_follow_from_the_graph(clustering, state):
    H, M = clustering.H, residual_of(state)
    d = consensus_distances(H, state.K)
    assert_allclose(distances_of(clustering, state), d)
    marked = replace(state, d=2 * d)
    assert distances_of(clustering, marked) is marked.d
    weighted = SelfWeight()(clustering, state, Workspace())
    assert_allclose(weighted.w, 0.5 / d)
    assert_allclose(weighted.d, d)
    beta = Beta(beta=4.0)
    for admit in (keep_kernel, clip_kernel):
        after = PerturbKernel(beta, admit)(clustering, state, Workspace())
        K = kernel_step(H, state.w, M, beta=4.0)
        K = np.maximum(K, 0) if admit is clip_kernel else K
        assert_allclose(after.K, K)
        assert_allclose(after.d, consensus_distances(H, K))
    assert PerturbKernel(beta).admit is keep_kernel
    theta = ParametriseKernel()(clustering, marked, Workspace())
    inverse = 1 / np.array([(Hi * M).sum() for Hi in H])
    assert_allclose(theta.w, (inverse / inverse.sum()) ** 2)
    assert_allclose(theta.K, np.tensordot(theta.w, H, axes=1))
    assert theta.d is None


def test_the_safe_consensus_is_the_optimum_or_on_its_bound(clustering, state):
    gamma, work = 0.5, Workspace()
    strong = PerturbSafely(Beta(beta=1e4), gamma)(clustering, state, work)
    assert not strong.on_bound
    assert_allclose(work.kept[0], np.linalg.inv(strong.K + gamma * np.eye(clustering.n)), rtol=1e-5, atol=1e-7)
    assert_allclose(strong.d, consensus_distances(clustering.H, strong.K), rtol=1e-5)
    assert_allclose(strong.w, 0.5 / strong.d, rtol=1e-5)
    M = residual_of(state)
    least = np.linalg.norm(M) / len(clustering.H)  # below it the objective has no minimum
    weak = PerturbSafely(Beta(beta=least), gamma)(clustering, replace(state, d=None), Workspace())
    assert weak.on_bound
    w = 0.5 / np.maximum(consensus_distances(clustering.H, state.K), clustering.safeguarded_floor)
    values, V = np.linalg.eigh(kernel_step(clustering.H, w, M, beta=least))
    assert_allclose(weak.w, w)
    assert_allclose(weak.K, V * np.maximum(values, -gamma / 2) @ V.T, atol=1e-8)
    assert_allclose(weak.d, consensus_distances(clustering.H, weak.K))
    tiny = np.linalg.eigvalsh(PerturbSafely(Beta(beta=1.01 * least), 1e9)(clustering, state, Workspace()).K)[0]
    assert tiny < 0


def test_labels_are_inferred_always_or_where_they_are_smoother(clustering, state):
    P = embed(clustering, state.S)
    after = InferLabels(embed)(clustering, replace(state, q=3.0), Workspace())
    assert_array_equal(after.P, P)
    assert after.q is None
    smoother = SmootherLabels(embed)
    old, new = smoothness(state.S, state.P, P)
    found = smoother(clustering, state, Workspace())
    assert (found is state) == (new > old)
    same = replace(state, P=P)
    assert smoother(clustering, same, Workspace()).q == pytest.approx(new)  # no less smooth is enough
    without = replace(state, P=np.zeros_like(P))
    assert_array_equal(smoother(clustering, without, Workspace()).P, P)


def test_the_last_graph_is_positive_and_its_labels_are_inferred_unless_they_were(clustering, state):
    positive = (np.maximum(state.S, 0) + np.maximum(state.S, 0).T) / 2
    plain = KeepPositiveGraph(embed)(clustering, state)
    assert_array_equal(plain.S, positive)
    assert_array_equal(plain.P, embed(clustering, positive))
    assert plain.factors is None
    known = KeepPositiveGraph(embed)(clustering, replace(state, q=1.0, M=state.S))
    assert known.P is state.P
    assert (known.q, known.M) == (None, None)
    for q in (None, 1.0):
        cut = KeepPositiveGraph(embed, 4)(clustering, replace(state, q=q))
        assert_array_equal(cut.S, strongest_edges(positive, 4))
        assert_array_equal(cut.P, embed(clustering, cut.S))
        assert_array_equal(cut.factors, cosine_factors(positive))  # of all entries, not of those that are kept


def test_a_consensus_of_exactly_a_thousand_times_the_kernels_is_no_failure(clustering, state):
    one = Problem(np.eye(4)[None], c=2)
    far = replace(state, K=1000 * np.eye(4))
    assert StopIfFar()(one, far, Workspace()) is far
    with pytest.raises(StepError, match="grew far beyond"):
        StopIfFar()(one, replace(far, K=1000.1 * np.eye(4)), Workspace())
