from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from kernelweave.core.partitions.hartigan import best_partition
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import recipe
from kernelweave.solve import VERSIONS, Outcome, Problem, kgl, minimise, pmkl, smkl

MODELS = {
    "SMKL": lambda version, classify: smkl(version, alpha=1e-3, beta=50, gamma=1, classify=classify),
    "KGL": lambda version, classify: kgl(version, alpha=1e-3, gamma=1, classify=classify),
    "PMKL": lambda version, classify: pmkl(version, alpha=1e-3, gamma=0.1, classify=classify),
}


def solve(problem, scheme, seed=0, max_iter=60, tol=1e-6):
    return minimise(problem, scheme, max_iter=max_iter, tol=tol, rng=np.random.default_rng(seed))


@pytest.fixture(params=["clustering", "classification"])
def problem(request):
    return request.getfixturevalue(request.param)


def of(model, problem):
    """Return the problem that the model is for: KGL has one kernel."""
    return replace(problem, H=problem.H[:1]) if model == "KGL" else problem


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("model", MODELS)
def test_every_scheme_gives_a_nonnegative_graph_and_a_symmetric_kernel(model, version, problem):
    problem = of(model, problem)
    solution = solve(problem, MODELS[model](version, problem.Y is not None))
    state = solution.state
    assert not solution.outcome.failed
    assert state.S.min() >= 0
    assert_allclose(state.K, state.K.T, atol=1e-12)
    assert state.w.shape == (len(problem.H),)
    assert state.P.shape == (problem.n, problem.c)
    assert len(solution.history) == solution.n_iter
    assert {"fit", "ridge", "smoothness"} <= set(solution.history[0].terms)


@pytest.mark.parametrize("version", ["exact", "safeguarded"])
@pytest.mark.parametrize("model", MODELS)
def test_the_objective_never_rises(model, version, problem):
    problem = of(model, problem)
    objective = solve(problem, MODELS[model](version, problem.Y is not None), tol=1e-12).history.objective
    assert len(objective) >= 2
    assert np.all(np.diff(objective) <= 1e-9 * np.abs(objective[:-1]))


GRID = [(alpha, beta, gamma) for alpha in (1e-6, 1e-2, 100) for beta in (1e-2, 1, 1e4) for gamma in (1e-3, 1, 100)]


@pytest.mark.parametrize("parameters", GRID)
def test_the_safeguarded_scheme_never_overflows_and_never_rises(problem, parameters):
    alpha, beta, gamma = parameters
    scheme = smkl("safeguarded", alpha=alpha, beta=beta, gamma=gamma, classify=problem.Y is not None)
    solution = solve(problem, scheme, max_iter=30, tol=1e-5)
    objective = solution.history.objective
    assert not solution.outcome.failed
    if alpha <= 1e-2 and beta > 1 and gamma >= 1:  # where K is near the kernels, as in the paper's figures
        assert solution.outcome is Outcome.CONVERGED
    assert np.all(np.diff(objective) <= 1e-12 * np.abs(objective[:-1]))
    assert np.linalg.eigvalsh(solution.state.K).min() > -0.51 * gamma
    assert np.isfinite(solution.state.w).all()


def test_where_nothing_is_clipped_the_safeguarded_scheme_finds_what_the_released_one_finds(blobs):
    X = blobs[0] - blobs[0].min(axis=0)  # no kernel has negative values, which the released program sets to 0
    problem = Problem(recipe("released-7").fit(X).grams(X), c=3)
    schemes = (smkl(v, alpha=0, beta=200, gamma=10, classify=False) for v in ("safeguarded", "released"))
    safe, released = (solve(problem, scheme, max_iter=2000, tol=1e-9) for scheme in schemes)
    assert_allclose(safe.state.K, released.state.K, atol=1e-4)
    assert_allclose(safe.state.S, released.state.S, atol=1e-4)
    assert safe.n_iter < released.n_iter / 3


@pytest.mark.parametrize("parameters", [(1e-6, 1, 0.01), (0.1, 1e-2, 0.1), (10, 1e4, 10), (1e-3, 0.1, 1)])
def test_the_exact_objective_never_rises_for_any_parameters(clustering, parameters):
    alpha, beta, gamma = parameters
    scheme = smkl("exact", alpha=alpha, beta=beta, gamma=gamma, classify=False)
    solution = solve(clustering, scheme, max_iter=20)
    objective = solution.history.objective
    assert not solution.outcome.failed
    assert np.all(np.diff(objective) <= 1e-9 * np.abs(objective[:-1]))
    assert np.linalg.eigvalsh(solution.state.K).min() > -1e-9


@pytest.mark.parametrize("version", ["released", "exact", "safeguarded"])
def test_smkl_with_one_kernel_is_kgl_with_that_kernel(version, problem):
    single = replace(problem, H=problem.H[1:2])
    classify = problem.Y is not None
    smkl_state = solve(single, smkl(version, alpha=1e-3, beta=50, gamma=1, classify=classify)).state
    kgl_state = solve(single, kgl(version, alpha=1e-3, gamma=1, classify=classify)).state
    floor = 1e-6 if version == "safeguarded" else 1e-8  # how near a kernel the consensus counts as meeting it
    assert np.isfinite(smkl_state.w).all()
    assert_allclose(smkl_state.K, single.H[0], atol=floor)
    assert_allclose(smkl_state.S, kgl_state.S, atol=10 * floor)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("model", MODELS)
def test_permuting_samples_permutes_the_classification(model, version, classification):
    order = np.random.default_rng(1).permutation(classification.n)
    problem = of(model, classification)
    permuted = Problem(problem.H[:, order][:, :, order], problem.c, problem.Y[order], problem.labelled[order])
    scheme = MODELS[model](version, True)
    runs = [solve(p, with_start(scheme, S)) for p, S in pairs(problem, permuted, order)]
    assert runs[0].n_iter == runs[1].n_iter
    assert_allclose(runs[1].state.S, runs[0].state.S[np.ix_(order, order)], atol=1e-8)
    assert_allclose(runs[1].state.P, runs[0].state.P[order], atol=1e-8)
    assert_allclose(runs[1].state.w, runs[0].state.w, rtol=1e-8)


def pairs(problem, permuted, order):
    S = np.random.default_rng(2).random((problem.n, problem.n))
    return (problem, S), (permuted, S[np.ix_(order, order)])


def with_start(scheme, S):
    """Return the scheme with S wherever its start draws a random graph (only "printed" does)."""

    class Fixed:
        def random(self, size):
            return S

    return replace(scheme, start=lambda problem, rng, work: scheme.start(problem, Fixed(), work))


@pytest.mark.parametrize("version", ["printed", "exact", "safeguarded"])
def test_permuting_samples_permutes_the_clustering(version, clustering):
    order = np.random.default_rng(1).permutation(clustering.n)
    permuted = Problem(clustering.H[:, order][:, :, order], clustering.c)
    scheme = MODELS["SMKL"](version, False)
    runs = [solve(p, with_start(scheme, S)) for p, S in pairs(clustering, permuted, order)]
    assert_allclose(runs[1].state.S, runs[0].state.S[np.ix_(order, order)], atol=1e-7)
    PP = runs[0].state.P @ runs[0].state.P.T
    assert_allclose(runs[1].state.P @ runs[1].state.P.T, PP[np.ix_(order, order)], atol=1e-6)


def test_the_released_clustering_forgets_the_order_of_the_samples_as_it_converges(clustering):
    # its first embedding, on a graph without edges, is the first c unit vectors: not a property of the data
    order = np.random.default_rng(1).permutation(clustering.n)
    permuted = Problem(clustering.H[:, order][:, :, order], clustering.c)
    scheme = MODELS["SMKL"]("released", False)
    first, second = (solve(p, scheme, tol=1e-10) for p in (clustering, permuted))
    assert_allclose(second.state.S, first.state.S[np.ix_(order, order)], atol=1e-8)


def test_the_printed_start_is_repeatable_and_depends_on_the_seed(clustering):
    scheme = MODELS["SMKL"]("printed", False)
    one, same, other = (solve(clustering, scheme, seed=s, max_iter=1).state.S for s in (0, 0, 1))
    assert_array_equal(one, same)
    assert np.abs(one - other).max() > 1e-6


@pytest.mark.parametrize("version", VERSIONS)
def test_the_labels_of_unlabelled_samples_are_not_an_input(version, classification):
    rng = np.random.default_rng(0)
    rubbish = np.where(classification.labelled[:, None], classification.Y, rng.random(classification.Y.shape))
    scheme = MODELS["SMKL"](version, True)
    first, second = (solve(replace(classification, Y=Y), scheme) for Y in (classification.Y, rubbish))
    assert_array_equal(first.state.P, second.state.P)


def test_the_released_scheme_says_when_it_diverges_where_the_safeguarded_one_does_not(clustering):
    settings = {"alpha": 1e-5, "beta": 0.01, "gamma": 1, "classify": False}
    released, safe = (solve(clustering, smkl(v, **settings), tol=1e-5) for v in ("released", "safeguarded"))
    assert released.outcome in (Outcome.DIVERGED, Outcome.NOT_FINITE)
    assert not safe.outcome.failed
    assert np.linalg.norm(safe.state.K) < 1e3 * clustering.size


def test_an_unknown_scheme_is_named_with_the_known_ones():
    with pytest.raises(InvalidInputError, match=f"Unknown scheme 'fast': choose one of {', '.join(VERSIONS)}"):
        smkl("fast", alpha=1, beta=1, gamma=1, classify=False)


@pytest.mark.parametrize("version", VERSIONS)
def test_float32_kernels_stay_float32_and_agree_with_float64(version, clustering):
    single = replace(clustering, H=clustering.H.astype(np.float32))
    scheme = MODELS["SMKL"](version, False)
    low, high = (solve(p, scheme, max_iter=3, tol=0) for p in (single, clustering))
    assert low.n_iter == high.n_iter == 3
    assert low.state.S.dtype == low.state.K.dtype == np.float32
    if version != "printed":  # whose start is another random matrix in single precision
        assert_allclose(low.state.S, high.state.S, atol=1e-4)


def test_the_versions_of_the_paper_read_the_clusters_by_plain_k_means():
    expected = {"printed": None, "released": None, "exact": best_partition, "safeguarded": best_partition}
    assert {version: MODELS["SMKL"](version, False).partition for version in expected} == expected


def test_a_released_run_whose_graph_loses_all_edges_goes_on():
    problem = Problem(recipe("released-12").fit_grams(load_iris().data), c=3)
    solution = solve(problem, smkl("released", alpha=1, beta=1, gamma=0.01, classify=False), tol=1e-5, max_iter=100)
    assert 1.0 in solution.history.change  # all of the graph, which had no edges before
    assert np.isfinite(solution.history.change).all()
    assert solution.outcome is Outcome.MAX_ITER
