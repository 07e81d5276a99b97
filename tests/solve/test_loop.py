import tracemalloc
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs

from kernelweave.core.paper.nonnegative import NotOptimalError
from kernelweave.kernels import recipe
from kernelweave.memory import estimate_memory
from kernelweave.solve import Outcome, Problem, kgl, minimise, smkl
from kernelweave.solve.steps import InferLabels


def solve(problem, scheme, **options):
    return minimise(problem, scheme, **({"max_iter": 50, "tol": 1e-6, "rng": np.random.default_rng(0)} | options))


@pytest.fixture
def scheme():
    return smkl("released", alpha=1e-3, beta=50, gamma=1, classify=False)


@dataclass(frozen=True)
class Spoil:
    """A step that goes wrong in a given way."""

    how: str

    def __call__(self, problem, state):
        if self.how == "nan":
            return replace(state, K=state.K * np.nan)
        if self.how == "singular":
            np.linalg.inv(np.zeros((2, 2)))
        raise NotOptimalError


def test_a_run_that_converges_says_so_and_its_last_change_is_below_tol(clustering, scheme):
    solution = solve(clustering, scheme)
    assert solution.outcome is Outcome.CONVERGED
    assert solution.history.change[-1] < 1e-6 <= solution.history.change[-2]


def test_single_precision_stops_where_only_rounding_is_left(clustering, scheme):
    single = replace(clustering, H=clustering.H.astype(np.float32))
    solution = solve(single, scheme, tol=0)
    assert solution.outcome is Outcome.CONVERGED
    assert solution.history.change[-1] < 256 * np.finfo(np.float32).eps


def test_a_run_cut_short_says_so(clustering, scheme):
    solution = solve(clustering, scheme, max_iter=2)
    assert solution.outcome is Outcome.MAX_ITER
    assert solution.n_iter == 2


def test_the_released_rule_stops_in_iteration_six_at_the_earliest(clustering, scheme):
    assert solve(clustering, scheme, tol=1e9).n_iter == 6


@pytest.mark.parametrize(
    ("how", "outcome"),
    [("nan", Outcome.NOT_FINITE), ("singular", Outcome.NOT_FINITE), ("inexact", Outcome.NOT_OPTIMAL)],
)
def test_a_step_without_an_answer_ends_the_run_with_the_last_good_state(clustering, scheme, how, outcome):
    solution = solve(clustering, replace(scheme, steps=(*scheme.steps, Spoil(how))))
    assert solution.outcome is outcome
    assert solution.n_iter == 0
    assert np.isfinite(solution.state.K).all()


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
    assert peak + problem.H.nbytes <= estimate_memory("smkl", problem.n, n_kernels=problem.r)


def test_watching_sees_every_iteration_in_order(clustering, scheme):
    seen = []
    solution = solve(clustering, scheme, watch=lambda i, state, record: seen.append((i, record)))
    assert [i for i, _ in seen] == list(range(1, solution.n_iter + 1))
    assert [record for _, record in seen] == list(solution.history)


def test_the_history_holds_the_figures_of_every_iteration(clustering, scheme):
    history = solve(clustering, scheme).history
    assert_allclose(history.objective, sum(history.terms.values()))
    assert history.weights.shape == (len(history), clustering.r)
    assert (history.seconds > 0).all()
    assert history[-1].objective == history.objective[-1]
    assert len(history[:2]) == 2


def test_classification_without_labels_is_refused(clustering):
    with pytest.raises(TypeError, match="needs a Problem with labels"):
        InferLabels().labels(clustering, clustering.H[0])


def test_kgl_records_no_perturbation(clustering):
    problem = replace(clustering, H=clustering.H[:1])
    history = solve(problem, kgl("exact", alpha=1e-3, gamma=1, classify=False)).history
    assert list(history.terms) == ["fit", "ridge", "smoothness"]
