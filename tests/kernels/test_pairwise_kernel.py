import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Cosine, Linear, Pairwise


@pytest.fixture
def X():
    return np.random.default_rng(0).random((9, 3))


def dot(x, y, power=1):
    assert x.ndim == y.ndim == 1
    return float(x @ y) ** power


@pytest.mark.parametrize("metric", sorted(PAIRWISE_KERNEL_FUNCTIONS))
def test_every_metric_of_scikit_learn_can_be_had_by_name(metric, X):
    K = Pairwise(metric).gram(X[:4], X)
    assert_array_equal(K, pairwise_kernels(X[:4], X, metric=metric))
    assert_allclose(Pairwise(metric).diag(X), np.diag(Pairwise(metric).gram(X)), rtol=1e-12)


def test_parameters_reach_the_metric(X):
    assert_array_equal(Pairwise("rbf", {"gamma": 3.0}).gram(X), pairwise_kernels(X, metric="rbf", gamma=3.0))
    assert_allclose(Pairwise(dot, {"power": 2}).gram(X), (X @ X.T) ** 2, rtol=1e-12)


def test_linear_and_cosine_are_those_of_scikit_learn(X):
    assert_allclose(Linear().gram(X), Pairwise("linear").gram(X), rtol=1e-13)
    assert_allclose(Cosine().gram(X), Pairwise("cosine").gram(X), rtol=1e-13)


def test_a_function_is_called_with_two_samples(X):
    assert_allclose(Pairwise(dot).gram(X[:4], X), X[:4] @ X.T, rtol=1e-13)


def test_a_function_takes_no_sparse_samples(X):
    kernel = Pairwise(dot, {"power": 2})
    A = sparse.csr_array(X)
    for call in (lambda: kernel.gram(A), lambda: kernel.gram(X, A), lambda: kernel.diag(A)):
        with pytest.raises(InvalidInputError, match=r"function dot\(power=2\) compares dense samples; got a sparse"):
            call()


def test_the_name_shows_the_metric_and_its_parameters():
    assert str(Pairwise("rbf")) == "rbf"
    assert str(Pairwise("rbf", {"gamma": 0.5})) == "rbf(gamma=0.5)"
    assert str(Pairwise(dot, {"power": 2})) == "dot(power=2)"


@pytest.mark.parametrize("metric", ["rbf", "laplacian"])
def test_a_function_of_tables_is_refused_with_its_name(metric):
    with pytest.raises(InvalidInputError, match=f"{metric}_kernel of scikit-learn compares tables.*: pass its name, '"):
        Pairwise(PAIRWISE_KERNEL_FUNCTIONS[metric])
