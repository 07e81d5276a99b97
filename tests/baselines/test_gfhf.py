import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris
from sklearn.semi_supervised import LabelPropagation

from kernelweave.baselines import GFHF
from kernelweave.datasets import label_split, load_dataset, mask_labels
from kernelweave.errors import UndecidedWarning
from kernelweave.kernels import Linear, recipe


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, mask_labels(y, label_split(y, 0.1, random_state=0))


def test_scores_solve_the_harmonic_system(iris):
    X, _, partial = iris
    model = GFHF().fit(X, partial)
    W, F, u = model.graph_, model.label_distributions_, partial == -1
    residual = W.sum(axis=1)[u, None] * F[u] - W[u] @ F
    assert_allclose(residual, 0, atol=1e-12 * W.sum(axis=1).max())
    assert_array_equal(F[~u], np.eye(3)[partial[~u]])


def test_scores_are_the_limit_of_scikit_learn_s_label_propagation(iris):
    X, _, partial = iris
    K = np.exp(-2 * ((X[:, None] - X) ** 2).sum(axis=2))
    limit = LabelPropagation(kernel="rbf", gamma=2, max_iter=100_000, tol=1e-12).fit(X, partial)
    model = GFHF("precomputed").fit(K, partial)
    assert_allclose(model.label_distributions_, limit.label_distributions_, atol=1e-6)
    assert_array_equal(model.transduction_, limit.transduction_)


def test_the_diagonal_of_the_kernel_matrix_plays_no_part(iris):
    X, _, partial = iris
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    with_diagonal = GFHF("precomputed").fit(K + np.diag(np.arange(150.0)), partial).label_distributions_
    assert_allclose(with_diagonal, GFHF("precomputed").fit(K, partial).label_distributions_, atol=1e-12)


def test_negative_similarities_count_as_none(iris):
    X, _, partial = iris
    model = GFHF(Linear()).fit(X - X.mean(axis=0), partial)
    assert model.graph_.min() == 0
    assert model.label_distributions_.min() >= 0


def test_a_part_without_labels_is_undecided_and_does_not_touch_the_rest():
    W = np.kron(np.eye(2), np.ones((4, 4)))
    y = np.array([0, 1, -1, -1, -1, -1, -1, -1])
    with pytest.warns(UndecidedWarning, match=r"4 of 8 samples .*first such sample: 4\)"):
        model = GFHF("precomputed").fit(W, y)
    assert_array_equal(model.undecided_, [False] * 4 + [True] * 4)
    assert_allclose(model.label_distributions_[2:], 0.5)


def test_class_mass_normalisation_gives_every_class_its_share(iris):
    X, y, partial = iris
    F = GFHF().fit(X, partial).label_distributions_
    model = GFHF(class_mass=True).fit(X, partial)
    G, u = model.label_distributions_, partial == -1
    # rows are scaled to sum to one afterwards: between two classes, all odds change by the same factor
    odds = (G[u, 1] * F[u, 2]) / (G[u, 2] * F[u, 1])
    assert_allclose(odds, odds[0], rtol=1e-6)
    assert_allclose(odds[0], F[u, 2].sum() / F[u, 1].sum(), rtol=1e-6)
    assert np.mean((model.transduction_ == y)[u]) >= 0.9


def test_permuting_samples_permutes_the_answer(iris):
    X, _, partial = iris
    order = np.random.default_rng(0).permutation(150)
    permuted = GFHF().fit(X[order], partial[order])
    assert_allclose(permuted.label_distributions_, GFHF().fit(X, partial).label_distributions_[order], atol=1e-10)


def test_float32_gives_float32_and_nearly_the_same(iris):
    X, _, partial = iris
    single = GFHF().fit(X.astype(np.float32), partial)
    assert single.label_distributions_.dtype == np.float32
    assert_allclose(single.label_distributions_, GFHF().fit(X, partial).label_distributions_, atol=1e-3)


def test_a_kernel_that_is_nearly_the_identity_never_gives_nan():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    d = ((X[:, None] - X) ** 2).sum(axis=2)
    model = GFHF("precomputed").fit(np.exp(-d / 2), mask_labels(y, label_split(y, 0.1, random_state=0)))
    assert np.isfinite(model.label_distributions_).all()
    assert not model.undecided_.any()


@pytest.mark.slow
def test_coil20_at_ten_percent_is_the_published_figure(shared_data):
    """Mean of 20 draws, released kernels, best kernel: 87.7 was published."""
    data = load_dataset("coil20", data_home=shared_data / "paper")
    accuracies = []
    kernels = recipe("released-7").fit_grams(data.data)
    for K in kernels:
        draws = [label_split(data.target, 0.1, "same-positions", seed) for seed in range(20)]
        hits = [
            (GFHF("precomputed").fit(K, mask_labels(data.target, m)).transduction_ == data.target)[~m].mean()
            for m in draws
        ]
        accuracies.append(100 * np.mean(hits))
    assert max(accuracies) == pytest.approx(87.7, abs=2)
