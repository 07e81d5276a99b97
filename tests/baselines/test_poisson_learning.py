"""Poisson learning: the equation against a dense solution, component by component."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, make_blobs

from kernelweave.baselines import LaplaceLearning, PoissonLearning
from kernelweave.baselines.neighbour_graph import neighbour_weights, table_neighbours
from kernelweave.baselines.poisson_learning import poisson_scores
from kernelweave.core.graphs import propagation
from kernelweave.errors import InvalidInputError


@pytest.fixture(scope="module")
def problem():
    """Return a connected graph, one-hot labels and which samples are labelled, unevenly."""
    X, y = make_blobs(70, n_features=3, centers=3, cluster_std=5.0, random_state=0)
    labelled = np.isin(np.arange(70), [0, 1, 2, 3, 10, 11, 12, 40])
    Y = np.eye(3)[y] * labelled[:, None]
    W = neighbour_weights(*table_neighbours(X, 8))
    assert propagation.reached(W, np.arange(70) == 0).all()
    return X, y, W, Y, labelled


def laplacian(W):
    W = W.toarray()
    return np.diag(W.sum(axis=1)) - W


def test_the_scores_solve_the_equation_and_are_those_of_a_dense_solver(problem):
    _, _, W, Y, labelled = problem
    F = poisson_scores(W, Y, labelled).scores
    B = np.where(labelled[:, None], Y - Y[labelled].mean(axis=0), 0)
    assert_allclose(laplacian(W) @ F, B, atol=1e-10)
    d = np.asarray(W.sum(axis=1))
    assert_allclose(d @ F, 0, atol=1e-9)
    dense = np.linalg.pinv(laplacian(W)) @ B
    assert_allclose(F, dense - d @ dense / d.sum(), atol=1e-9)
    assert_allclose(F.sum(axis=1), 0, atol=1e-10)


def test_the_scores_minimise_the_energy(problem):
    _, _, W, Y, labelled = problem
    F, L = poisson_scores(W, Y, labelled).scores, laplacian(W)
    B = np.where(labelled[:, None], Y - Y[labelled].mean(axis=0), 0)

    def energy(F):
        return np.vdot(F, L @ F) / 2 - np.vdot(B, F)

    moves = np.random.default_rng(0).normal(scale=0.1, size=(50, *F.shape))
    assert all(energy(F + move) > energy(F) for move in moves)


def test_conjugate_gradients_give_the_same(problem, monkeypatch):
    _, _, W, Y, labelled = problem
    direct = poisson_scores(W, Y, labelled)
    monkeypatch.setattr(propagation, "_FACTORISED_UP_TO", 10)
    found = poisson_scores(W, Y, labelled)
    assert direct.n_iter == 0 < found.n_iter
    assert found.converged
    assert_allclose(found.scores, direct.scores, atol=1e-4 * np.abs(direct.scores).max())


def test_the_class_is_that_of_the_largest_score_and_probabilities_are_positive_parts(problem):
    X, y, _, _, labelled = problem
    model = PoissonLearning(n_neighbors=8).fit(X, np.where(labelled, y, -1))
    assert_array_equal(model.transduction_, model.scores_.argmax(axis=1))
    positive = np.maximum(model.scores_, 0)
    assert_allclose(model.label_distributions_, positive / positive.sum(axis=1, keepdims=True))


def test_priors_multiply_the_scores_relative_to_the_shares_of_labels(problem):
    X, y, _, Y, labelled = problem
    partial = np.where(labelled, y, -1)
    plain, known = (PoissonLearning(priors=priors).fit(X, partial) for priors in (None, [0.2, 0.3, 0.5]))
    assert_allclose(known.scores_, plain.scores_ * [0.2, 0.3, 0.5] / Y[labelled].mean(axis=0))
    same = PoissonLearning(priors=Y[labelled].mean(axis=0)).fit(X, partial)
    assert_allclose(same.scores_, plain.scores_)


@pytest.mark.parametrize("priors", [[0.5, 0.5], [0.5, 0.5, 0.0], [1.0, np.nan, 1.0]])
def test_priors_that_do_not_fit_are_refused(problem, priors):
    X, y, _, _, labelled = problem
    with pytest.raises(InvalidInputError, match="priors must be 3 positive numbers, one for each class in y; got"):
        PoissonLearning(priors=priors).fit(X, np.where(labelled, y, -1))


def test_every_component_is_a_problem_of_its_own():
    left, right = np.arange(6.0), 100 + np.arange(5.0)
    y = np.array([0, -1, -1, -1, -1, 1, 1, -1, -1, -1, 1])
    both = PoissonLearning(n_neighbors=2).fit(np.r_[left, right][:, None], y)
    alone = PoissonLearning(n_neighbors=2).fit(left[:, None], y[:6])
    assert_allclose(both.scores_[:6], alone.scores_, atol=1e-12)
    assert_array_equal(both.transduction_, [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1])  # the right one has labels of one class
    assert_allclose(both.label_distributions_[6:], [[0, 1]] * 5)


def test_with_one_label_per_class_it_is_better_than_laplace_learning():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    gains = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        partial = np.full(600, -1)
        for c in range(10):
            partial[rng.choice(np.flatnonzero(y == c))] = c
        scores = [
            np.mean(model.fit(X, partial).transduction_[partial < 0] == y[partial < 0])
            for model in (PoissonLearning(), LaplaceLearning())
        ]
        gains.append(scores[0] - scores[1])
    assert min(gains) > 0
