"""The objective of the exact and the safeguarded scheme on the paper's own data."""

import numpy as np
import pytest

from kernelweave.datasets import load_dataset
from kernelweave.kernels import recipe
from kernelweave.solve import Outcome, Problem, minimise, smkl

SETTINGS = [(1e-5, 1000, 1), (1e-3, 10, 1), (1e-2, 100, 0.1)]
SMALL = ["yale", "jaffe", "tr11"]
LARGE = ["tr45", "tr41", "ba", "coil20", "yeast"]


def run(shared_data, name, version, setting, max_iter):
    data = load_dataset(name, data_home=shared_data / "paper")
    problem = Problem(recipe("released-12").fit_grams(data.data), len(np.unique(data.target)))
    alpha, beta, gamma = setting
    scheme = smkl(version, alpha=alpha, beta=beta, gamma=gamma, classify=False)
    return minimise(problem, scheme, max_iter=max_iter, tol=1e-5, rng=np.random.default_rng(0))


def never_rises(history, tolerance):
    return np.all(np.diff(history.objective) <= tolerance * np.abs(history.objective[:-1]))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", SMALL)
def test_the_exact_objective_never_rises(shared_data, name, setting):
    solution = run(shared_data, name, "exact", setting, max_iter=4)
    assert solution.n_iter == 4
    assert never_rises(solution.history, 1e-9)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", SMALL)
def test_the_safeguarded_scheme_converges_and_never_rises(shared_data, name, setting):
    solution = run(shared_data, name, "safeguarded", setting, max_iter=100)
    assert solution.outcome is Outcome.CONVERGED
    assert never_rises(solution.history, 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_the_safeguarded_objective_never_rises_on_the_larger_sets(shared_data, name):
    solution = run(shared_data, name, "safeguarded", (1e-5, 1000, 1), max_iter=100)
    assert solution.outcome is Outcome.CONVERGED
    assert never_rises(solution.history, 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tr45", "tr41"])  # beyond 1,000 samples a run of the exact scheme takes many minutes
def test_the_exact_objective_never_rises_on_the_larger_sets(shared_data, name):
    solution = run(shared_data, name, "exact", (1e-5, 1000, 1), max_iter=3)
    assert never_rises(solution.history, 1e-9)


def test_a_fit_of_a_large_set_makes_no_second_stack_of_kernels(shared_data):
    import tracemalloc

    data = load_dataset("tr45", data_home=shared_data / "paper")
    H = recipe("released-12").fit_grams(data.data)
    for version in ("released", "safeguarded"):
        scheme = smkl(version, alpha=1e-5, beta=1000, gamma=1, classify=False)
        tracemalloc.start()
        minimise(Problem(H, 10), scheme, max_iter=2, tol=0, rng=np.random.default_rng(0))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < H.nbytes  # a dozen matrices would already be a second H
