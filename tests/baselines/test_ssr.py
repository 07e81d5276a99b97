import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import nnls
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from kernelweave.baselines import SSR
from kernelweave.baselines.ssr import simplex_codes
from kernelweave.kernels import Gaussian
from kernelweave.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def X():
    """Samples of unit length, as in the paper's data sets."""
    X = np.random.default_rng(0).normal(size=(50, 80)) + 0.5
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def assert_feasible(A):
    assert (A >= 0).all()
    assert_allclose(A.sum(axis=0), 1, atol=1e-12)
    assert_array_equal(A.diagonal(), 0)


def test_every_column_is_a_point_of_the_simplex_without_its_own_sample(X):
    model = SSR(3, random_state=0).fit(X)
    assert_feasible(model.representation_)
    assert_allclose(model.graph_, (model.representation_ + model.representation_.T) / 2)


def test_the_certificate_is_below_one_millionth_and_bounds_the_distance_to_the_minimum(X):
    G = X @ X.T
    rough = simplex_codes(G.copy(), tol=1e-3, max_iter=10_000)
    fine = simplex_codes(G.copy(), tol=1e-10, max_iter=10_000)
    assert SSR(3, random_state=0).fit(X).certificate_ < 1e-6
    assert rough.converged
    assert fine.converged
    assert (rough.objectives - fine.objectives <= rough.gaps).all()
    assert (rough.objectives - fine.objectives >= -fine.gaps).all()


def test_the_classical_certificate_is_as_small_where_samples_are_not_represented_exactly(X):
    model = SSR(3, random_state=0).fit(X)
    G = X @ X.T
    g = G @ model.representation_ - G
    lowest = np.where(np.eye(len(X), dtype=bool), np.inf, g).min(axis=0)
    classical = ((model.representation_ * g).sum(axis=0) - lowest).max()
    assert model.certificate_ <= classical < 1e-6
    assert_allclose(model.certificate_, classical, rtol=1e-3)


def test_columns_agree_with_nonnegative_least_squares(X):
    A = simplex_codes(X @ X.T, tol=1e-12, max_iter=10_000).A
    heavy = 1e3  # the weight of the equation Σa = 1, which least squares meets up to 1e-6
    for i in range(0, 50, 7):
        others = np.arange(50) != i
        a, _ = nnls(np.vstack([X[others].T, np.full((1, 49), heavy)]), np.append(X[i], heavy))
        assert abs(a.sum() - 1) < 1e-5
        assert_allclose(A[others, i], a, atol=1e-4)


def test_the_optimality_conditions_hold(X):
    A = simplex_codes(X @ X.T, tol=1e-11, max_iter=10_000).A
    G = X @ X.T
    g = G @ A - G
    np.fill_diagonal(g, np.inf)
    lowest = g.min(axis=0)
    # where a weight is positive the gradient is at its least
    assert (np.abs(g - lowest)[A > 1e-4] < 1e-6).all()


def test_the_objective_is_half_the_sum_of_squared_errors(iris):
    model = SSR(3, random_state=0).fit(iris[0])
    errors = iris[0] - model.representation_.T @ iris[0]
    assert_allclose(model.objective_, (errors**2).sum() / 2, atol=1e-8)


def test_moving_all_samples_changes_nothing(X):
    here, there = (SSR(3, tol=1e-9, random_state=0).fit(X + a) for a in (0, 3))
    assert_allclose(there.representation_, here.representation_, atol=1e-4)


def test_permuting_samples_permutes_the_representation(X):
    order = np.random.default_rng(1).permutation(50)
    plain, mixed = (SSR(3, tol=1e-9, random_state=0).fit(x) for x in (X, X[order]))
    assert_allclose(mixed.representation_, plain.representation_[np.ix_(order, order)], atol=1e-5)


def test_samples_and_their_gram_matrix_give_the_same(X):
    features = SSR(3, random_state=0).fit(X)
    gram = SSR(3, kernel="precomputed", random_state=0).fit(X @ X.T)
    csr = SSR(3, random_state=0).fit(sparse.csr_array(X))
    assert_allclose(gram.representation_, features.representation_, atol=1e-9)
    assert_allclose(csr.representation_, features.representation_, atol=1e-6)


def test_samples_are_made_of_their_own_group():
    # two groups in orthogonal spaces: no sample of one helps to represent one of the other, up to Σa = 1
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = np.zeros((40, 20))
    X[y == 0, :10] = 1 + 0.3 * rng.normal(size=(20, 10))
    X[y == 1, 10:] = 1 + 0.3 * rng.normal(size=(20, 10))
    model = SSR(2, random_state=0).fit(X)
    assert model.representation_[y[:, None] != y].sum() < 0.02 * 40
    assert clustering_accuracy(y, model.labels_) == 1


def test_a_kernel_takes_the_place_of_inner_products(X):
    kernel = Gaussian(t=0.5)
    model = SSR(3, kernel=kernel, random_state=0).fit(X)
    K = kernel.fit(X).gram(X)
    assert_allclose(model.representation_, simplex_codes(K, tol=1e-6, max_iter=10_000).A, atol=1e-12)


def test_equal_samples_represent_each_other():
    X = np.repeat(np.random.default_rng(0).normal(size=(6, 4)), 3, axis=0)
    with pytest.warns(ConvergenceWarning, match="The graph of SSR falls into more pieces than the 3 columns"):
        model = SSR(3, random_state=0).fit(X)
    assert_feasible(model.representation_)
    assert model.objective_ < 1e-4


def test_samples_that_are_all_equal_leave_nothing_to_do():
    codes = simplex_codes(np.full((5, 5), 7.0), tol=1e-6, max_iter=10)
    assert codes.converged
    assert_feasible(codes.A)


def test_single_precision_meets_the_same_certificate(X):
    model = SSR(3, random_state=0).fit(X.astype(np.float32))
    assert model.representation_.dtype == model.graph_.dtype == np.float32
    assert model.certificate_ < 1e-6


def test_a_run_cut_short_warns_with_its_certificate(X):
    with pytest.warns(ConvergenceWarning, match=r"SSR stopped after 3 iterations, with certificate .*: raise max_iter"):
        SSR(3, max_iter=3, random_state=0).fit(X)
