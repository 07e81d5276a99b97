from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kernelweave.core.algebra.matrices import ridge_inverse
from kernelweave.core.paper import nonnegative
from kernelweave.core.paper.closed_forms import consensus_distances, self_weights
from kernelweave.solve import VERSIONS, Outcome, State, StepError, Workspace, kgl, pmkl, smkl
from kernelweave.solve.steps import (
    Beta,
    LearnExactGraph,
    LearnFreeGraph,
    LearnGraph,
    PerturbSafely,
    SmootherLabels,
    StopIfFar,
    embed,
    propagate,
    uniform_theta,
)

MODELS = {
    "SMKL": lambda version, classify: smkl(version, alpha=1e-3, beta=50, gamma=1, classify=classify),
    "SMKL on its bound": lambda version, classify: smkl(version, alpha=1e-3, beta=1, gamma=1, classify=classify),
    "KGL": lambda version, classify: kgl(version, alpha=1e-3, gamma=1, classify=classify),
    "PMKL": lambda version, classify: pmkl(version, alpha=1e-3, gamma=0.1, classify=classify),
}


@pytest.fixture(params=["clustering", "classification"])
def problem(request):
    return request.getfixturevalue(request.param)


def copied(state):
    values = {f.name: getattr(state, f.name) for f in fields(State)}
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def assert_same(state, values):
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            assert_array_equal(getattr(state, name), value)
        else:
            assert getattr(state, name) == value


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("model", MODELS)
def test_a_step_gives_the_same_answer_every_time_and_leaves_the_state_as_it_is(problem, model, version):
    problem = replace(problem, H=problem.H[:1]) if model == "KGL" else problem
    scheme, work = MODELS[model](version, problem.Y is not None), Workspace()
    state = scheme.start(problem, np.random.default_rng(0), work)
    for step in scheme.steps * 2:
        given = copied(state)
        first = step(problem, state, work)  # with what the steps before have kept
        assert_same(state, given)
        answer = copied(first)
        for again in (work, Workspace()):
            assert_same(step(problem, state, again), answer)
            assert_same(state, given)
            assert_same(first, answer)
        state = first
    given = copied(state)
    answer = copied(scheme.finish(problem, state))
    assert_same(state, given)
    assert_same(scheme.finish(problem, state), answer)


def test_a_work_space_gives_the_kept_inverse_once_and_only_for_its_kernel(clustering):
    K, other = clustering.H[0], clustering.H[1]
    work, A = Workspace(), ridge_inverse(K, gamma=1.0)
    work.kept = A, K, 1.0
    assert work.take_inverse(K, 1.0) is A
    assert work.take_inverse(K, 1.0) is not A
    for kernel, gamma in ((other, 1.0), (K, 2.0)):
        work.kept = A, K, 1.0
        assert_array_equal(work.take_inverse(kernel, gamma), ridge_inverse(kernel, gamma=gamma))


def test_labels_are_inferred_on_the_positive_symmetric_part_of_a_graph(classification):
    S = np.random.default_rng(0).normal(size=(classification.n, classification.n))
    positive = np.maximum(S, 0)
    for infer in (embed, propagate):
        assert_array_equal(infer(classification, S), infer(classification, (positive + positive.T) / 2))


def test_classification_without_labels_is_refused(clustering):
    with pytest.raises(TypeError, match="needs a Problem with labels"):
        propagate(clustering, clustering.H[0])


def test_classification_without_the_mask_of_labelled_samples_is_refused(classification):
    with pytest.raises(TypeError, match="needs a Problem with labels"):
        propagate(replace(classification, labelled=None), classification.H[0])


def test_a_graph_step_that_is_not_optimal_in_time_says_so(clustering, monkeypatch):
    monkeypatch.setattr(nonnegative, "_MAX_SWEEPS", 2)
    scheme, work = smkl("exact", alpha=1e-3, beta=50, gamma=1, classify=False), Workspace()
    state = scheme.start(clustering, np.random.default_rng(0), work)
    with pytest.raises(StepError, match="not solved to optimality") as caught:
        LearnExactGraph(1e-3, 1e-3)(clustering, state, work)
    assert caught.value.outcome is Outcome.NOT_OPTIMAL


def test_a_consensus_a_thousand_times_larger_than_the_kernels_has_diverged(clustering):
    H = clustering.H
    largest = H[np.argmax([np.linalg.norm(Hi) for Hi in H])]
    state = State(S=H[0], K=999 * largest, w=np.ones(len(H)), P=H[0][:, :3])
    assert StopIfFar()(clustering, state, Workspace()) is state
    with pytest.raises(StepError, match="grew far beyond the kernels") as caught:
        StopIfFar()(clustering, replace(state, K=1001 * largest), Workspace())
    assert caught.value.outcome is Outcome.DIVERGED


def test_the_safeguarded_start_has_no_graph_and_the_known_labels_only(clustering, classification):
    for problem in (clustering, classification):
        scheme = smkl("safeguarded", alpha=1e-3, beta=50, gamma=1, classify=problem.Y is not None)
        state = scheme.start(problem, np.random.default_rng(0), Workspace())
        known = np.zeros(problem.n, dtype=bool) if problem.labelled is None else problem.labelled
        assert_array_equal(state.S, 0)
        assert_array_equal(state.P.any(axis=1), known)


def test_smoother_labels_replace_none_but_not_smoother_ones(clustering):
    S = clustering.H.mean(axis=0)
    given = State(S=S, K=S, w=np.ones(len(clustering.H)), P=clustering.known)
    first = SmootherLabels(embed)(clustering, given, Workspace())
    assert_array_equal(first.P, embed(clustering, S))
    smooth = replace(given, P=np.full((clustering.n, 3), 1.0))  # constant: q = 0
    assert SmootherLabels(embed)(clustering, smooth, Workspace()) is smooth


def test_a_consensus_below_half_of_gamma_is_projected_on_the_bound(clustering):
    state = State(S=np.zeros((clustering.n, clustering.n)), K=clustering.H[0], w=np.ones(len(clustering.H)), P=None)
    beta = Beta(beta=1.001 * np.sqrt(clustering.n) / len(clustering.H))  # barely enough for an optimum over all K
    free = PerturbSafely(beta, 1e6)(clustering, state, Workspace())
    least = np.linalg.eigvalsh(free.K)[0]
    assert least < 0
    assert not free.on_bound
    for gamma in (-1.5 * least, -1.7 * least):  # K + gamma I is positive definite, but K is below -gamma/2
        bound = PerturbSafely(beta, gamma)(clustering, state, Workspace())
        assert bound.on_bound
        assert np.linalg.eigvalsh(bound.K)[0] >= -gamma / 2 * (1 + 1e-9)
    inside = PerturbSafely(beta, -2.5 * least)(clustering, state, Workspace())
    assert not inside.on_bound
    assert_array_equal(inside.K, free.K)


def test_the_uniform_weights_of_a_parametrised_kernel_are_feasible(clustering):
    K, theta = uniform_theta(clustering)
    assert np.sqrt(theta).sum() == pytest.approx(1)
    assert_array_equal(theta, theta[0])
    assert np.allclose(K, clustering.H.mean(axis=0) / len(clustering.H))


def test_labels_are_smooth_on_the_graph_they_were_inferred_on_alone(clustering):
    work = Workspace()
    state = kgl("released", alpha=1e-3, gamma=1, classify=False).start(clustering, np.random.default_rng(0), work)
    state = replace(state, P=np.eye(clustering.n, clustering.c), q=0.5)
    steps = [LearnGraph(1e-3, 1.0, False, False, False), LearnFreeGraph(1e-3, 1.0, False), LearnExactGraph(1e-3, 1.0)]
    for step in steps:
        assert step(clustering, state, work).q is None


def test_weights_at_the_mean_of_equal_kernels_are_finite(clustering):
    H = clustering.H[:1]
    for r in (1, 4):
        expected = r * 0.5 / (0.01 * np.linalg.norm(H[0]))
        problem = replace(clustering, H=np.repeat(H, r, axis=0))
        assert 30 / Beta().value(problem) == pytest.approx(expected)


def test_the_relative_beta_is_thirty_times_what_the_paper_needs(clustering):
    at_mean = self_weights(consensus_distances(clustering.H, clustering.H.mean(axis=0)), 0.0).sum()
    assert Beta().value(clustering) == pytest.approx(30 / at_mean)
    assert Beta(beta=3.0).value(clustering) == 3
