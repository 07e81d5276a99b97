import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from kernelweave import Views
from kernelweave.baselines import SCAN
from kernelweave.baselines.adaptive_neighbours import neighbour_ridge, neighbour_start, neighbour_step, view_weights
from kernelweave.baselines.view_distances import gap_distances
from kernelweave.core.paper.closed_forms import label_distances
from kernelweave.datasets import label_split, mask_labels
from kernelweave.errors import InvalidInputError, UndecidedWarning
from kernelweave.kernels import Gaussian, Linear


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, mask_labels(y, label_split(y, 0.1, random_state=0))


@pytest.fixture
def D():
    X = np.random.default_rng(0).normal(size=(12, 3))
    return ((X[:, None] - X) ** 2).sum(axis=2)


def test_rows_of_the_graph_lie_on_the_simplex_and_off_the_diagonal(iris):
    S = SCAN().fit(iris[0], iris[2]).graph_
    assert S.min() >= 0
    assert_allclose(S.sum(axis=1), 1)
    assert_array_equal(S.diagonal(), 0)


def test_the_graph_step_satisfies_the_conditions_of_optimality(D):
    gamma = 0.3
    S = neighbour_step(D, gamma)
    gradient = np.where(np.eye(12, dtype=bool), np.inf, D + 2 * gamma * S)
    multiplier = gradient.min(axis=1, keepdims=True)  # equal on the support, larger elsewhere
    assert_allclose(np.where(S > 0, gradient - multiplier, 0), 0, atol=1e-12)


def test_the_graph_step_is_what_a_general_solver_finds(D):
    gamma, d = 0.3, D[0, 1:]
    found = minimize(
        lambda s: d @ s + gamma * s @ s,
        np.full(11, 1 / 11),
        jac=lambda s: d + 2 * gamma * s,
        bounds=[(0, 1)] * 11,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1},
        options={"ftol": 1e-14},
    )
    assert_allclose(neighbour_step(D, gamma)[0, 1:], found.x, atol=1e-6)


def test_the_start_has_k_neighbours_and_solves_each_row_with_its_own_ridge(D):
    k = 4
    S = neighbour_start(D, k)
    assert_array_equal(np.count_nonzero(S, axis=1), k)
    assert_allclose(S.sum(axis=1), 1)
    ordered = np.sort(D, axis=1)[:, 1:]
    ridges = (k * ordered[:, k] - ordered[:, :k].sum(axis=1)) / 2
    assert_allclose(S, [neighbour_step(D, ridge)[i] for i, ridge in enumerate(ridges)], atol=1e-12)
    assert_allclose(neighbour_ridge(D, k), ridges.mean())


def test_equal_distances_share_evenly():
    D = 1.0 - np.eye(6)
    assert_array_equal(np.sort(neighbour_start(D, 2), axis=1)[:, -3:], [[0, 0.5, 0.5]] * 6)
    assert_allclose(neighbour_step(D, neighbour_ridge(D, 2)), D / 5)


@pytest.mark.parametrize("lam", ["auto", 0.01, 1.0])
def test_the_objective_never_rises(iris, lam):
    X, _, partial = iris
    for data in (X, [X[:, :2], X[:, 2:]]):
        objective = SCAN(lam=lam, max_iter=200).fit(data, partial).history_["objective"]
        assert len(objective) > 1
        assert (np.diff(objective) <= 1e-12 * objective[0]).all()


def test_at_the_end_graph_and_labels_fit_each_other(iris):
    X, _, partial = iris
    model = SCAN(lam=0.01, tol=1e-10, max_iter=300).fit(X, partial)
    D = ((X[:, None] - X) ** 2).sum(axis=2) + model.lam_ * label_distances(model.label_distributions_, squared=True)
    assert_allclose(neighbour_step(D, model.gamma_), model.graph_, atol=1e-6)


def test_features_their_gram_matrix_and_their_distances_say_the_same(iris):
    X, _, partial = iris
    X = X - X.mean(axis=0)
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    expected = SCAN().fit(X, partial).label_distributions_
    for model, given in ((SCAN(Linear()), X), (SCAN("precomputed"), X @ X.T), (SCAN("distances"), D)):
        assert_allclose(model.fit(given, partial).label_distributions_, expected, atol=1e-8)
    assert_allclose(SCAN().fit(sparse.csr_array(X), partial).label_distributions_, expected, atol=1e-8)


def test_one_view_in_a_list_is_that_view(iris):
    X, _, partial = iris
    model = SCAN().fit([X], partial)
    assert_array_equal(model.graph_, SCAN().fit(X, partial).graph_)
    assert_array_equal(model.view_weights_, [1])


def test_a_view_of_noise_weighs_less_than_a_view_that_agrees_with_the_graph(iris):
    X, y, partial = iris
    noise = np.random.default_rng(0).normal(scale=X.std(), size=X.shape)
    model = SCAN().fit({"noise": noise, "flowers": X}, partial)
    assert model.view_names_ == ("noise", "flowers")
    assert model.view_weights_[0] < model.view_weights_[1]
    D = np.stack([((V[:, None] - V) ** 2).sum(axis=2) for V in (noise, X)])
    assert_allclose(model.view_weights_, view_weights(D, model.graph_), rtol=1e-6)
    assert np.mean(model.transduction_ == y) > np.mean(SCAN(max_iter=300).fit(noise, partial).transduction_ == y)


def test_views_are_recognised_by_name_when_asked_again(iris):
    X, _, partial = iris
    model = SCAN().fit({"sepal": X[:, :2], "petal": X[:, 2:]}, partial)
    assert_array_equal(model.predict({"petal": X[:, 2:], "sepal": X[:, :2]}), model.transduction_)
    with pytest.raises(InvalidInputError, match="fitted on the views sepal, petal; got sepal"):
        model.predict({"sepal": X[:, :2]})
    with pytest.raises(InvalidInputError, match="'view 0' has 150, 'view 1' has 100"):
        SCAN().fit([X, X[:100]], partial)


def test_a_large_weight_of_the_labels_cuts_unlabelled_groups_off(iris):
    X, _, partial = iris
    with pytest.warns(UndecidedWarning, match="lower lam or raise n_neighbors"):
        model = SCAN(lam=1e4, n_neighbors=3).fit(X, partial)
    assert model.undecided_.any()
    assert_allclose(model.label_distributions_[model.undecided_], 1 / 3)
    assert not SCAN(lam=0.01).fit(X, partial).undecided_.any()


def test_too_few_iterations_are_said(iris):
    with pytest.warns(ConvergenceWarning, match="labels of SCAN still changed by .* at max_iter=1 "):
        SCAN(max_iter=1).fit(iris[0], iris[2])


def test_gram_matrices_and_distances_are_not_mistaken_for_each_other(iris):
    X, _, partial = iris
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    with pytest.raises(InvalidInputError, match=r"not a Gram matrix: .* use kernel='distances'"):
        SCAN("precomputed").fit(D, partial)
    with pytest.raises(InvalidInputError, match=r"on the diagonal\. For Gram matrices use kernel='precomputed'"):
        SCAN("distances").fit(X @ X.T, partial)


def test_two_samples_are_too_few():
    with pytest.raises(InvalidInputError, match="at least 3 samples; got 2"):
        SCAN().fit([[0.0], [1.0]], [0, 1])


def test_permuting_samples_permutes_the_answer(iris):
    X, _, partial = iris
    X = X + np.random.default_rng(1).normal(scale=1e-3, size=X.shape)  # no ties
    order = np.random.default_rng(0).permutation(150)
    permuted = SCAN().fit(X[order], partial[order])
    assert_allclose(permuted.label_distributions_, SCAN().fit(X, partial).label_distributions_[order], atol=1e-8)


def test_float32_gives_float32_and_nearly_the_same(iris):
    X, _, partial = iris
    single = SCAN().fit(X.astype(np.float32), partial)
    assert single.graph_.dtype == np.float32
    assert_allclose(single.label_distributions_, SCAN().fit(X, partial).label_distributions_, atol=1e-2)


def test_gaps_in_copies_of_a_view_do_not_change_the_sum_of_distances(D):
    present = np.ones((3, 12), dtype=bool)
    present[0, [1, 5]] = present[1, [5, 7]] = False
    parts = [D[np.ix_(known, known)] for known in present]
    assert_allclose(gap_distances(parts, present).sum(axis=0), 3 * D, rtol=1e-12)


def test_samples_without_a_common_view_are_as_far_apart_as_any(D):
    present = np.ones((2, 12), dtype=bool)
    present[0, 3] = present[1, 8] = False
    parts = [D[np.ix_(known, known)] for known in present]
    found = gap_distances(parts, present)
    assert_array_equal(found[:, 3, 8], [parts[0].max(), parts[1].max()])
    assert_array_equal(found, found.transpose(0, 2, 1))


def test_a_view_that_a_kernel_cannot_measure_is_named(iris):
    X, _, partial = iris
    views = Views({"flowers": X, "flat": np.ones((150, 2))}, missing={"flowers": [0]})
    with pytest.raises(InvalidInputError, match="View 'flat': All 150 samples are identical"):
        SCAN(Gaussian()).fit(views, partial)
