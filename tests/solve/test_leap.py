from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from kernelweave.kernels import recipe
from kernelweave.solve import Outcome, Problem, Scheme, State, minimise, pmkl, smkl
from kernelweave.solve.loop import Leaps, extrapolated
from kernelweave.solve.scheme import Iteration, sweeps


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def irises():
    return Problem(recipe("released-7").fit_grams(load_iris().data[::3]), c=3)


def solve(problem, *, accelerated=True, **parameters):
    scheme = smkl("safeguarded", classify=False, **parameters)
    scheme = scheme if accelerated else replace(scheme, iterations=sweeps)
    return minimise(problem, scheme, max_iter=100, tol=1e-5, rng=np.random.default_rng(0))


def geometric(K, D, rate, iterations):
    """Return K + D, K + rate·D, K + rate²·D, ..."""
    return [K + rate**i * D for i in range(iterations)]


@dataclass
class Scripted:
    """A run whose iterations go through given kernels; from anywhere else they have the given objective."""

    path: list
    state: State
    scheme: Scheme
    elsewhere: float = 0.0
    tol: float = 1e-5
    starts: list = field(default_factory=list)

    def sweep(self, *, enough=0.0):
        self.starts.append(self.state.K)
        on_path = any(self.state.K is K for K in self.path)
        self.state = replace(self.state, K=self.path[min(len(self.starts), len(self.path) - 1)])
        return Iteration([1.0, 1.0], {"fit": 0.0 if on_path else self.elsewhere})


def scripted(K, D, rate, **options):
    path = geometric(K, D, rate, 40)
    state = State(S=K, K=path[0], w=np.ones(2), P=K[:, :2])
    return Scripted(path, state, smkl("safeguarded", alpha=1, beta=1, gamma=1, classify=False), **options)


def advanced(run, iterations):
    leaps = Leaps(run)
    for _ in range(iterations):
        leaps()
    return leaps


def test_extrapolation_goes_to_the_limit_of_steps_that_shrink_at_one_rate(rng):
    K, D = rng.normal(size=(2, 5, 5))
    assert_allclose(extrapolated(*geometric(K, D, 0.9, 3), reach=100.0), K, atol=1e-10)


def test_extrapolation_reaches_no_farther_than_it_may_and_never_goes_back(rng):
    K, D = rng.normal(size=(2, 5, 5))
    K0, K1, K2 = geometric(K, D, 0.9, 3)
    expected = K0 + 8 * (K1 - K0) + 16 * (K2 - 2 * K1 + K0)
    assert_allclose(extrapolated(K0, K1, K2, reach=4.0), expected, atol=1e-12)
    assert extrapolated(*geometric(K, D, -0.9, 3), reach=4.0) is None


def test_the_first_ten_iterations_start_from_the_state_and_the_next_one_ahead(rng):
    run = scripted(*rng.normal(size=(2, 5, 5)), 0.9)
    advanced(run, 11)
    assert all(start is K for start, K in zip(run.starts[:10], run.path, strict=False))
    assert_allclose(run.starts[10], extrapolated(*run.path[8:11], reach=4.0), atol=0)


def test_a_leap_that_is_kept_makes_the_next_one_longer_and_a_refused_one_shorter(rng):
    K, D = rng.normal(size=(2, 5, 5))
    assert advanced(scripted(K, D, 0.9, elsewhere=0.0), 11).reach == 16.0
    assert advanced(scripted(K, D, 0.9, elsewhere=1.0), 11).reach == 2.0
    assert advanced(scripted(K, D, 0.9, elsewhere=np.nan), 11).reach == 2.0


def test_a_refused_leap_is_followed_by_an_iteration_from_the_state_before_it(rng):
    run = scripted(*rng.normal(size=(2, 5, 5)), 0.9, elsewhere=1.0)
    advanced(run, 11)
    assert len(run.starts) == 12
    assert run.starts[11] is run.path[10]


@pytest.mark.parametrize("parameters", [(1e-3, 0.01, 0.1), (1e-3, 100, 1e-3)])
def test_a_slow_run_converges_by_leaps_to_no_higher_objective_than_without(irises, parameters):
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
