import tracemalloc
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs

from kernelweave import SMKLClustering
from kernelweave.kernels import recipe
from kernelweave.solve import VERSIONS, Outcome, Problem, StepError, kgl, minimise, smkl


def solve(problem, scheme, **options):
    return minimise(problem, scheme, **({"max_iter": 50, "tol": 1e-6, "rng": np.random.default_rng(0)} | options))


@pytest.fixture
def scheme():
    return smkl("released", alpha=1e-3, beta=50, gamma=1, classify=False)


@dataclass(frozen=True)
class Spoil:
    """A step that goes wrong in a given way."""

    how: str

    def __call__(self, problem, state, work):
        if self.how in ("S", "K", "P"):
            return replace(state, **{self.how: getattr(state, self.how) * np.nan})
        if self.how == "singular":
            np.linalg.inv(np.zeros((2, 2)))
        raise StepError(Outcome.NOT_OPTIMAL)


def test_a_run_that_converges_says_so_and_its_last_change_is_below_tol(clustering, scheme):
    solution = solve(clustering, scheme)
    assert solution.outcome is Outcome.CONVERGED
    assert solution.history.change[-1] < 1e-6 <= solution.history.change[-2]


def test_single_precision_stops_where_only_rounding_changes_the_graph(clustering, scheme):
    single = replace(clustering, H=clustering.H.astype(np.float32))
    solution = solve(single, scheme, tol=0)
    assert solution.outcome is Outcome.CONVERGED
    assert solution.history.change[-1] < 256 * np.finfo(np.float32).eps


@pytest.mark.parametrize("version", VERSIONS)
def test_a_solution_has_the_labels_that_the_graph_was_learned_with(clustering, version):
    whole, cut = (
        solve(clustering, smkl(version, alpha=1e-3, beta=50, gamma=1, classify=False, n_neighbors=kept), tol=1e-3)
        for kept in ("all", 3)
    )
    assert_allclose(cut.P, whole.P)
    assert not np.allclose(cut.P, cut.state.P)


def test_a_run_cut_short_says_so(clustering, scheme):
    solution = solve(clustering, scheme, max_iter=2)
    assert solution.outcome is Outcome.MAX_ITER
    assert solution.n_iter == 2


def test_the_released_rule_stops_in_iteration_six_at_the_earliest(clustering, scheme):
    assert solve(clustering, scheme, tol=1e9).n_iter == 6


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("how", "outcome"),
    [*((letter, Outcome.NOT_FINITE) for letter in "SKP"), ("singular", Outcome.NOT_FINITE), ("", Outcome.NOT_OPTIMAL)],
)
def test_a_step_that_fails_ends_the_run_with_its_outcome_and_the_last_good_state(clustering, version, how, outcome):
    scheme = smkl(version, alpha=1e-3, beta=50, gamma=1, classify=False)
    solution = solve(clustering, replace(scheme, steps=(*scheme.steps, Spoil(how))))
    assert solution.outcome is outcome
    assert solution.n_iter == 0
    assert all(np.isfinite(M).all() for M in (solution.state.S, solution.state.K, solution.state.P))


def test_a_run_that_failed_is_not_finished(clustering, scheme):
    def finish(problem, state):
        raise AssertionError

    with pytest.raises(AssertionError):
        solve(clustering, replace(scheme, finish=finish), max_iter=1)
    failing = replace(scheme, steps=(*scheme.steps, Spoil("")), finish=finish)
    assert solve(clustering, failing).outcome is Outcome.NOT_OPTIMAL


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("beta", [1000, 0.01])  # 0.01: K is on its bound, which takes its eigenvectors
def test_a_run_holds_six_matrices_at_most_beside_the_kernels(dtype, beta):
    X = make_blobs(600, n_features=5, centers=3, random_state=0)[0].astype(dtype)
    problem = Problem(recipe("released-7").fit_grams(X), c=3)
    scheme = smkl("safeguarded", alpha=1e-5, beta=beta, gamma=1, classify=False)
    tracemalloc.start()
    solve(problem, scheme, max_iter=2, tol=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 6 * problem.H[0].nbytes


def test_a_slow_run_holds_no_more_than_is_estimated_before_a_fit():
    X = make_blobs(600, n_features=5, centers=3, random_state=0)[0]
    problem = Problem(recipe("released-7").fit_grams(X), c=3)
    scheme = smkl("safeguarded", alpha=1, beta=0.01, gamma=0.1, classify=False)
    tracemalloc.start()
    solution = solve(problem, scheme, max_iter=20, tol=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert solution.n_iter > 10  # long enough for leaps
    assert peak + problem.H.nbytes <= SMKLClustering.estimate_memory(problem.n, n_kernels=len(problem.H))


def test_watching_sees_every_iteration_in_order(clustering, scheme):
    seen = []
    solution = solve(clustering, scheme, watch=lambda i, state, record: seen.append((i, record)))
    assert [i for i, _ in seen] == list(range(1, solution.n_iter + 1))
    assert [record for _, record in seen] == list(solution.history)


def test_the_history_holds_the_figures_of_every_iteration(clustering, scheme):
    history = solve(clustering, scheme).history
    assert_allclose(history.objective, sum(history.terms.values()))
    assert history.weights.shape == (len(history), len(clustering.H))
    assert (history.seconds > 0).all()
    assert history[-1].objective == history.objective[-1]
    assert len(history[:2]) == 2


def test_kgl_records_no_perturbation(clustering):
    problem = replace(clustering, H=clustering.H[:1])
    history = solve(problem, kgl("exact", alpha=1e-3, gamma=1, classify=False)).history
    assert list(history.terms) == ["fit", "ridge", "smoothness"]
