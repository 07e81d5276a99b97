"""What the versions consist of, the loop, its leaps, and when it stops."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave.core.paper.closed_forms import consensus_distances, perturbation_term, smoothness
from kernelweave.core.partitions.hartigan import best_partition
from kernelweave.solve import VERSIONS, Outcome, Problem, Record, State, StepError, kgl, minimise, pmkl, smkl
from kernelweave.solve.loop import (
    Leaps,
    SmallChange,
    extrapolated,
    graph_change,
    joint_change,
    small_change_or_level,
    spectral_change,
    why_still_changing,
)
from kernelweave.solve.scheme import Iteration, Scheme, still_changing, sweeps, unchanged
from kernelweave.solve.schemes import Terms
from kernelweave.solve.steps import (
    Beta,
    KeepPositiveGraph,
    embed,
    propagate,
    residual_of,
)

EPS = float(np.finfo(float).eps)


@pytest.fixture
def state(clustering):
    rng, n = np.random.default_rng(0), clustering.n
    S = rng.normal(scale=0.1, size=(n, n))
    return State(
        S=S, K=clustering.H.mean(axis=0), w=np.ones(len(clustering.H)), P=np.linalg.qr(rng.normal(size=(n, 3)))[0]
    )


# schemes


AUTO = {  # what "auto" stands for: whether samples are scaled, neighbours that are kept, and the gamma of PMKL
    "printed": (False, None, 0.1),
    "released": (False, None, 0.1),
    "exact": (True, 15, 0.001),
    "safeguarded": (True, 15, 0.001),
}


@pytest.mark.parametrize("version", AUTO)
def test_the_first_versions_keep_what_auto_stands_for(version):
    found = VERSIONS[version]
    assert (found.scaled, found.n_neighbors, found.pmkl_gamma) == AUTO[version]
    for asked in ("auto", "all", 7):
        scheme = kgl(version, alpha=1, gamma=1, classify=False, n_neighbors=asked)
        if version == "safeguarded" or scheme.n_neighbors is not None:
            assert scheme.finish == KeepPositiveGraph(embed, scheme.n_neighbors)
        else:
            assert scheme.finish is unchanged


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_says_what_auto_stands_for(version):
    found = VERSIONS[version]
    assert pmkl(version, alpha=1, gamma="auto", classify=False).gamma == found.pmkl_gamma
    assert pmkl(version, alpha=1, gamma=0.25, classify=False).gamma == 0.25
    for asked, kept in (("auto", found.n_neighbors), ("all", None), (7, 7)):
        assert kgl(version, alpha=1, gamma=1, classify=False, n_neighbors=asked).n_neighbors == kept
    assert kgl(version, alpha=1, gamma=1, classify=True, n_neighbors=7).finish == KeepPositiveGraph(propagate, 7)


@pytest.mark.parametrize("version", AUTO)
@pytest.mark.parametrize("classify", [True, False])
def test_the_steps_of_the_first_versions_are_theirs_in_order(version, classify):
    scheme = smkl(version, alpha=2, beta=3, gamma=4, classify=classify)
    names = [type(step).__name__ for step in scheme.steps]
    expected = {
        "printed": ["LearnGraph", "PerturbKernel", "SelfWeight", "InferLabels", "StopIfFar"],
        "exact": ["LearnExactGraph", "SelfWeight", "PerturbKernel", "InferLabels"],
        "safeguarded": ["LearnFreeGraph", "PerturbSafely", "SmootherLabels"],
        "released": ["SelfWeight", "PerturbKernel", "LearnGraph", "InferLabels", "StopIfFar"]
        if classify
        else ["InferLabels", "SelfWeight", "LearnGraph", "PerturbKernel", "StopIfFar"],
    }[version]
    assert names == expected
    graph = next(step for step in scheme.steps if hasattr(step, "alpha"))
    assert (graph.alpha, graph.gamma, scheme.alpha, scheme.gamma) == (2, 4, 2, 4)
    if version != "exact":
        assert not graph.fixed_kernel
        (fixed, *_) = [s for s in kgl(version, alpha=2, gamma=4, classify=classify).steps if hasattr(s, "alpha")]
        assert fixed.fixed_kernel
    if version in ("printed", "released"):
        assert (graph.squared, graph.symmetric) == (version == "printed", version == "released")
    stop = {"printed": SmallChange(1), "released": SmallChange(6)}.get(version, small_change_or_level)
    assert scheme.stop == stop
    change = {"released": spectral_change, "safeguarded": joint_change}.get(version, graph_change)
    assert scheme.change is change
    assert scheme.partition is (None if version in ("printed", "released") else best_partition)
    assert scheme.at_max_iter is (why_still_changing if version == "safeguarded" else still_changing)
    assert scheme.iterations is (Leaps if version == "safeguarded" else sweeps)


def test_the_objective_has_the_terms_of_the_paper(clustering, state):
    n, M = clustering.n, residual_of(state)
    d = consensus_distances(clustering.H, state.K)
    terms = Terms(2.0, 3.0, Beta(beta=5.0))(clustering, state)
    assert terms["fit"] == pytest.approx(np.trace(state.K - 2 * state.K @ state.S + state.S.T @ state.K @ state.S))
    assert terms["ridge"] == pytest.approx(3 * (state.S**2).sum())
    assert terms["smoothness"] == pytest.approx(2 * smoothness(state.S, state.P)[0])
    assert terms["perturbation"] == pytest.approx(5 * d.sum())
    known = Terms(2.0, 3.0)(clustering, replace(state, q=7.0, M=np.eye(n)))
    assert known == {"fit": pytest.approx(np.trace(state.K)), "ridge": terms["ridge"], "smoothness": 14.0}
    below = Terms(2.0, 3.0, Beta(beta=5.0), lambda problem: 1e3)(clustering, state)
    assert below["perturbation"] == pytest.approx(perturbation_term(d, 1e3, beta=5.0))
    assert M.shape == (n, n)


def test_a_relative_beta_is_used_where_none_is_given(clustering):
    d = consensus_distances(clustering.H, clustering.H.mean(axis=0))
    at_mean = (0.5 / np.maximum(d, 0.01 * np.linalg.norm(clustering.H, axis=(1, 2)))).sum()
    for given, expected in (({"beta": 3.0}, 3.0), ({}, 30 / at_mean)):
        scheme = smkl("exact", alpha=1, gamma=1, classify=False, **given)
        assert scheme.terms.beta.value(clustering) == pytest.approx(expected)
    scheme = smkl("exact", alpha=1, gamma=1, classify=False, relative_beta=6.0)
    assert scheme.terms.beta.value(clustering) == pytest.approx(6 / at_mean)


# the loop


@dataclass
class Halve:
    """A step that halves the distance of S to a limit."""

    limit: np.ndarray
    fail_at: int = -1
    seen: list = field(default_factory=list)

    def __call__(self, problem, state, work):
        self.seen.append(state)
        if len(self.seen) == self.fail_at:
            raise StepError(Outcome.DIVERGED)
        return replace(state, S=(state.S + self.limit) / 2)


def toy(steps, **more):
    return Scheme(
        name="toy",
        start=lambda problem, rng, work: State(np.zeros((4, 4)), np.eye(4), np.ones(1), np.eye(4, 2)),
        steps=tuple(steps),
        terms=lambda problem, state: {"fit": float(((state.S - 1) ** 2).sum())},
        change=graph_change,
        stop=SmallChange(),
        alpha=0.0,
        gamma=0.0,
        **more,
    )


PROBLEM = Problem(np.eye(4)[None], c=2)


def test_a_run_records_the_largest_change_of_its_steps_and_ends_below_the_tolerance():
    step, ended, watched = Halve(np.ones((4, 4))), [], []
    scheme = toy([step, Halve(np.ones((4, 4)))], finish=lambda problem, state: ended.append(state) or state)
    given = {"max_iter": 100, "tol": 1e-3, "rng": np.random.default_rng(0)}
    solution = minimise(PROBLEM, scheme, watch=lambda *what: watched.append(what), **given)
    x, changes = 0.0, []
    while not changes or changes[-1] >= 1e-3:
        pair = []
        for _ in range(2):
            new = (x + 1) / 2
            pair.append((new - x) / x if x else np.inf)
            x = new
        changes.append(max(pair) if np.isfinite(max(pair)) else 1.0)
    assert solution.outcome is Outcome.CONVERGED
    assert_allclose(solution.history.change, changes)
    assert_allclose(solution.state.S, x)
    assert len(ended) == 1
    assert [number for number, _, _ in watched] == list(range(1, len(changes) + 1))
    assert watched[-1][2] is solution.history[-1]
    assert (solution.history.seconds >= 0).all()


def test_the_tolerance_is_raised_to_rounding_and_the_start_can_be_given():
    scheme = toy([Halve(np.ones((4, 4)))])
    start = State(np.full((4, 4), 1 - 2.0**-40), np.eye(4), np.ones(1), np.eye(4, 2))
    given = {"max_iter": 50, "tol": 0.0, "rng": np.random.default_rng(0)}
    solution = minimise(PROBLEM, scheme, start=start, **given)
    changes = solution.history.change
    assert changes[-1] < 256 * EPS <= changes[-2]
    cut = minimise(PROBLEM, scheme, start=start, **{**given, "max_iter": 3})
    assert (cut.n_iter, cut.outcome) == (3, Outcome.MAX_ITER)
    assert minimise(PROBLEM, scheme, start=start, **{**given, "max_iter": 0}).n_iter == 0


def test_a_failed_step_ends_the_run_in_the_state_before_it():
    first, second = Halve(np.ones((4, 4))), Halve(np.ones((4, 4)), fail_at=3)
    solution = minimise(PROBLEM, toy([first, second]), max_iter=9, tol=1e-9, rng=np.random.default_rng(0))
    assert solution.outcome is Outcome.DIVERGED
    assert solution.n_iter == 2
    assert solution.state.S is second.seen[-1].S


@dataclass
class Steady:
    """A run whose sweeps change as told; every kernel is another."""

    changes: list
    tol: float = 1e-3
    asked: list = field(default_factory=list)
    state: State = field(default_factory=lambda: State(np.eye(2), np.eye(2), np.ones(1), np.eye(2)))

    def sweep(self, *, enough=0.0):
        self.asked.append(enough)
        change = self.changes[len(self.asked) - 1]
        if change[0] < enough:
            return None
        self.state = replace(self.state, K=np.eye(2) * len(self.asked))
        return Iteration(change, {"fit": 1.0, "ridge": 2.0})


def test_the_first_step_may_end_a_run_only_after_other_steps_that_changed_little():
    run = Steady([[1.0, 1e-3], [1.0, 0.9e-3], [0.9e-3, 1.0]])
    leaps = Leaps(run)
    assert leaps() is not None
    assert leaps.last_change == 1e-3
    assert leaps.objective == 3.0
    assert leaps() is not None
    assert leaps() is None
    assert run.asked == [0.0, 0.0, 1e-3]
    alone = Leaps(Steady([[0.5], [0.5]]))
    alone()
    assert alone.last_change == 0.0
    alone()
    assert alone.run.asked == [0.0, 1e-3]
    assert alone.seen == 2


def test_kernels_are_kept_from_the_eighth_iteration_on():
    leaps = Leaps(Steady([[1.0, 1.0]] * 12))
    for kept in [0] * 7 + [1, 2, 3]:
        leaps()
        assert len(leaps.kernels) == kept


@pytest.mark.parametrize("n", [2, 127, 128, 129, 200])
@pytest.mark.parametrize("reach", [1.5, 3.0, 1e4])
def test_extrapolation_is_a_parabola_through_the_last_kernels(n, reach):
    rng = np.random.default_rng(n)
    K0, step, bend = rng.normal(size=(3, n, n))
    bend *= 0.4 * np.linalg.norm(step) / np.linalg.norm(bend)
    K1, K2 = K0 + step, K0 + 2 * step + bend
    s = min(2.5, reach)
    assert_allclose(extrapolated(K0, K1, K2, reach=reach), K0 + 2 * s * step + s * s * bend, atol=1e-10)
    assert extrapolated(K0, K1, K0 + 2 * step + 2.6 * bend, reach=reach) is None  # a stride below 1
    assert extrapolated(K0, K1, K2, reach=1.0) is None
    straight = extrapolated(np.zeros((2, 2)), np.ones((2, 2)), 2 * np.ones((2, 2)), reach=reach)
    assert_allclose(straight, 2 * reach)


# stopping


@pytest.mark.parametrize("n", [3, 127, 128, 129, 260])
def test_changes_are_those_of_the_whole_matrix(n):
    rng = np.random.default_rng(n)
    S, T = rng.normal(size=(2, n, n))
    before, after = (State(M, np.eye(n), np.ones(1), np.eye(n, 2)) for M in (S, T))
    after = replace(after, K=before.K, P=before.P)
    expected = np.linalg.norm(T - S) / np.linalg.norm(S)
    assert graph_change(before, after) == pytest.approx(expected)
    assert joint_change(before, after) == pytest.approx(expected)
    moved = replace(after, K=(1 + 2 * expected) * np.eye(n))
    assert joint_change(before, moved) == pytest.approx(2 * expected)
    assert graph_change(before, moved) == pytest.approx(expected)
    for change in (graph_change, joint_change, spectral_change):
        assert change(before, replace(before, w=np.zeros(1))) == 0


@pytest.mark.parametrize("change", [graph_change, joint_change, spectral_change])
@pytest.mark.parametrize("letter", ["S", "K", "P"])
def test_one_value_that_is_not_finite_is_enough(change, letter):
    before = State(np.ones((4, 4)), np.eye(4), np.ones(1), np.eye(4, 2))
    for value in (np.nan, np.inf):
        bad = getattr(before, letter).copy()
        bad[0, 1] = value
        with np.errstate(invalid="ignore"):
            assert np.isnan(change(before, replace(before, **{letter: bad})))


def records(objectives, change=1.0):
    return [Record({"fit": value}, change, np.ones(1), 0.0) for value in objectives]


def test_rules_stop_below_the_tolerance_and_not_at_it():
    for rule in (SmallChange(), small_change_or_level):
        assert rule(records([1.0], 1e-3), 1e-3, EPS) is None
        assert rule(records([1.0], 0.99e-3), 1e-3, EPS) is Outcome.CONVERGED
    assert SmallChange().min_iter == 1
    assert SmallChange(2)(records([1.0], 0.0), 1.0, EPS) is None


def test_an_objective_is_level_within_four_units_in_the_last_place_after_five_iterations():
    for first in (1.0, -1.0):
        for units, outcome in ((0, Outcome.LEVEL), (3, Outcome.LEVEL), (4, Outcome.LEVEL), (5, None)):
            values = [9.0, first, *[first - units * EPS] * 5]
            assert small_change_or_level(records(values), 1e-3, EPS) is outcome
    assert small_change_or_level(records([1.0] * 5), 1e-3, EPS) is None
    assert small_change_or_level(records([1.0] * 6), 1e-3, EPS) is Outcome.LEVEL
    assert small_change_or_level(records([2.0, *[1.0] * 5]), 1e-3, EPS) is None


def test_edges_beyond_two_say_that_labels_overrule_the_kernels():
    for edge, outcome in (
        (2.0, Outcome.MAX_ITER),
        (2.1, Outcome.OVERRULED),
        (-2.0, Outcome.MAX_ITER),
        (-2.1, Outcome.OVERRULED),
    ):
        S = np.zeros((2, 2))
        S[0, 1] = edge
        assert why_still_changing(State(S, S, np.ones(1), S)) is outcome
    assert still_changing(State(S, S, np.ones(1), S, on_bound=True)) is Outcome.MAX_ITER


@pytest.mark.parametrize(("reach", "kept", "refused"), [(4.0, 16.0, 2.0), (5000.0, 1e4, 2500.0), (3.0, 12.0, 2.0)])
def test_the_reach_is_quadrupled_or_halved_within_its_bounds(reach, kept, refused):
    K, D = np.random.default_rng(0).normal(size=(2, 4, 4))
    path = [K + 0.9**i * D for i in range(3)]
    for objective, expected in ((1e9, kept), (-1e9, refused)):
        run = Steady([[0.5, 0.25]] * 3)
        run.state = replace(run.state, K=path[-1])
        run.scheme = toy([])
        leaps = Leaps(run, reach=reach, objective=objective, kernels=list(path))
        iteration = leaps()
        assert leaps.reach == expected
        assert len(run.asked) == (1 if expected == kept else 2)
        assert len(leaps.kernels) == (0 if expected == kept else 1)
        assert leaps.last_change == 0.25
        assert iteration.terms == {"fit": 1.0, "ridge": 2.0}


def test_a_leap_that_fails_or_goes_nowhere_is_followed_by_a_plain_iteration():
    K, D = np.random.default_rng(0).normal(size=(2, 4, 4))

    class Failing(Steady):
        def sweep(self, *, enough=0.0):
            if not self.asked:
                self.asked.append(enough)
                raise StepError(Outcome.NOT_FINITE)
            return super().sweep(enough=enough)

    run = Failing([[1.0, 1.0]] * 3)
    run.state = replace(run.state, K=K)
    leaps = Leaps(run, objective=9.0, kernels=[K + D, K + 0.9 * D, K + 0.81 * D])
    assert leaps() is not None
    assert (leaps.reach, len(run.asked)) == (2.0, 2)
    back = Steady([[1.0, 1.0]] * 3)
    leaps = Leaps(back, objective=9.0, kernels=[K + D, K - 0.9 * D, K + 0.81 * D])
    leaps()
    assert (leaps.reach, len(back.asked), len(leaps.kernels)) == (4.0, 1, 2)
