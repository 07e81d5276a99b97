import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave.solve import Outcome, Record, State
from kernelweave.solve.loop import (
    SmallChange,
    graph_change,
    joint_change,
    small_change_or_level,
    spectral_change,
    why_still_changing,
)

CHANGES = [graph_change, joint_change, spectral_change]
EPS = np.finfo(np.float64).eps


def state(S, K=None, **more):
    return State(S=S, K=np.eye(len(S)) if K is None else K, w=np.ones(2), P=np.ones((len(S), 2)), **more)


def symmetric(rng, n=6):
    M = rng.random((n, n))
    return M + M.T


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def records(objective, change):
    return [Record({"fit": value}, change, np.ones(2), 0.1) for value in objective]


@pytest.mark.parametrize(("change", "norm"), [(graph_change, "fro"), (spectral_change, 2)])
def test_the_change_of_the_graph_is_relative(rng, change, norm):
    S, S_new = symmetric(rng), symmetric(rng)
    K = np.eye(6)
    expected = np.linalg.norm(S_new - S, norm) / np.linalg.norm(S, norm)
    assert_allclose(change(state(S, K), state(S_new, K)), expected)


def test_the_joint_change_is_the_larger_one_of_graph_and_kernel(rng):
    S = symmetric(rng)
    K = np.eye(6)
    assert_allclose(joint_change(state(S, K), state(S, 3 * K)), 2)
    assert_allclose(joint_change(state(S, K), state(5 * S, 3 * K)), 4)


@pytest.mark.parametrize("change", CHANGES)
def test_a_graph_without_edges_changes_by_infinity_or_not_at_all(rng, change):
    K, empty = np.eye(6), np.zeros((6, 6))
    assert change(state(empty, K), state(symmetric(rng), K)) == np.inf
    assert change(state(empty, K), state(1e-3 * symmetric(rng), K)) == np.inf
    assert change(state(empty, K), state(empty.copy(), K)) == 0


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("letter", ["S", "K", "P"])
def test_the_change_to_a_state_that_is_not_finite_is_nan(rng, change, letter):
    before = state(symmetric(rng))
    arrays = {name: getattr(before, name) for name in ("S", "K", "P", "w")}
    after = State(**(arrays | {letter: arrays[letter] * np.nan}))
    assert np.isnan(change(before, after))


def test_a_small_change_stops_a_run_from_the_least_iteration_on():
    for length, outcome in ((5, None), (6, Outcome.CONVERGED)):
        assert SmallChange(min_iter=6)(records([1.0] * length, 1e-7), 1e-6, EPS) is outcome
    assert SmallChange()(records([1.0], 1e-5), 1e-6, EPS) is None


def test_an_objective_that_does_not_decrease_for_five_iterations_is_level():
    assert small_change_or_level(records([2.0] + [1.0] * 5, 1.0), 1e-6, EPS) is None
    assert small_change_or_level(records([2.0] + [1.0] * 6, 1.0), 1e-6, EPS) is Outcome.LEVEL
    assert small_change_or_level(records([1.0], 1e-7), 1e-6, EPS) is Outcome.CONVERGED


def test_a_safeguarded_run_at_max_iter_says_why_it_still_changes():
    S = np.eye(4)
    assert why_still_changing(state(S)) is Outcome.MAX_ITER
    assert why_still_changing(state(S, on_bound=True)) is Outcome.ON_BOUND
    assert why_still_changing(state(-3 * S, on_bound=True)) is Outcome.OVERRULED
