from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from kernelweave.kernels import recipe
from kernelweave.solve import Outcome, Problem, minimise, pmkl, smkl
from kernelweave.solve.leap import Leaper
from kernelweave.solve.problem import State


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def irises():
    return Problem(recipe("released-7").fit_grams(load_iris().data[::3]), c=3)


def solve(problem, *, accelerated=True, **parameters):
    scheme = replace(smkl("safeguarded", classify=False, **parameters), accelerated=accelerated)
    return minimise(problem, scheme, max_iter=100, tol=1e-5, rng=np.random.default_rng(0))


def on_the_way(K, D, rate, leaper, iterations):
    for i in range(iterations):
        leaper.note(K + rate**i * D)
    return State(S=K, K=K, w=np.ones(2), P=K[:, :2])


def test_a_leap_goes_to_the_limit_of_steps_that_shrink_at_one_rate(rng):
    K, D = rng.normal(size=(2, 5, 5))
    leaper = Leaper(reach=100.0)
    state = on_the_way(K, D, 0.9, leaper, 10)
    assert_allclose(leaper.ahead(state).K, K, atol=1e-10)


def test_nobody_leaps_before_the_tenth_iteration_nor_backwards(rng):
    K, D = rng.normal(size=(2, 5, 5))
    early = Leaper()
    assert early.ahead(on_the_way(K, D, 0.9, early, 9)) is None
    back_and_forth = Leaper()
    assert back_and_forth.ahead(on_the_way(K, D, -0.9, back_and_forth, 10)) is None


def test_a_leap_reaches_no_farther_than_it_may_and_less_far_after_a_failure(rng):
    K, D = rng.normal(size=(2, 5, 5))
    leaper = Leaper(reach=4.0)
    K0, K1, K2 = (K + 0.9**i * D for i in (7, 8, 9))
    state = on_the_way(K, D, 0.9, leaper, 10)
    assert_allclose(leaper.ahead(state).K, K0 + 8 * (K1 - K0) + 16 * (K2 - 2 * K1 + K0), atol=1e-12)
    leaper.judged(taken=False)
    assert leaper.reach == 2.0
    leaper.judged(taken=True)
    assert leaper.reach == 8.0


@pytest.mark.parametrize("parameters", [(1e-3, 0.01, 0.1), (1e-3, 100, 1e-3)])
def test_a_slow_run_settles_by_leaps_no_higher_than_without(irises, parameters):
    given = dict(zip(("alpha", "beta", "gamma"), parameters, strict=True))
    fast, slow = solve(irises, **given), solve(irises, accelerated=False, **given)
    assert fast.outcome is Outcome.CONVERGED
    assert slow.outcome is Outcome.ON_BOUND
    assert fast.history.objective[-1] <= slow.history.objective[-1]
    assert np.all(np.diff(fast.history.objective) <= 1e-12 * np.abs(fast.history.objective[:-1]))


def test_a_run_that_labels_overrule_says_so(irises):
    solution = solve(irises, alpha=100, beta=1, gamma=1e-3)
    assert solution.outcome is Outcome.OVERRULED
    assert "lower alpha" in solution.outcome.value


def test_a_run_without_a_bound_is_not_said_to_be_on_it(irises):
    scheme = pmkl("safeguarded", alpha=1e-3, gamma=0.1, classify=False)
    cut_short = minimise(irises, scheme, max_iter=1, tol=0, rng=np.random.default_rng(0))
    assert cut_short.outcome is Outcome.MAX_ITER


def test_a_run_ends_within_an_iteration_where_one_more_would_change_nothing(irises):
    given = {"alpha": 1e-4, "beta": 1000, "gamma": 1}
    early, late = solve(irises, **given), solve(irises, accelerated=False, **given)
    assert early.outcome is Outcome.CONVERGED
    assert early.n_iter == late.n_iter - 1
    assert_allclose(early.state.S, late.state.S, atol=1e-5 * np.linalg.norm(late.state.S))
    assert_allclose(early.state.K, late.state.K, atol=1e-5 * np.linalg.norm(late.state.K))
