import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.preprocessing import KernelCenterer

from kernelweave.errors import InvalidInputError
from kernelweave.kernels import (
    Centered,
    Cosine,
    CosineNormalized,
    DiameterNormalized,
    Gaussian,
    Laplacian,
    Linear,
    MaxNormalized,
    Pairwise,
    Polynomial,
    SelfTuning,
    TraceNormalized,
)

inner_kernels = pytest.mark.parametrize(
    "inner", [Gaussian(0.3), Linear(), Polynomial(3, 1.0), SelfTuning(3), TraceNormalized(Laplacian())], ids=str
)


def negative(x, y):
    return -1.0


def infinite(x, y):
    return np.inf


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(18, 4)) + 0.5


@pytest.fixture
def Z():
    return np.random.default_rng(1).normal(size=(6, 4))


# cosine


def test_the_cosine_kernel_is_the_normalised_linear_kernel(X, Z):
    assert_allclose(Cosine().gram(Z, X), CosineNormalized(Linear()).gram(Z, X), rtol=1e-13)


@inner_kernels
def test_cosine_normalisation_divides_by_the_roots_of_both_diagonals(inner, X, Z):
    k = inner.fit(X)
    expected = k.gram(Z, X) / np.sqrt(np.outer(k.diag(Z), k.diag(X)))
    assert_allclose(CosineNormalized(inner).fit(X).gram(Z, X), expected, rtol=1e-12)


@inner_kernels
def test_cosine_normalisation_twice_is_once(inner, X):
    once = CosineNormalized(inner).fit(X)
    assert_allclose(CosineNormalized(once).fit(X).gram(X), once.gram(X), rtol=1e-12)


@inner_kernels
def test_a_multiple_has_the_same_cosine_form(inner, X):
    assert_allclose(CosineNormalized(7 * inner).fit(X).gram(X), CosineNormalized(inner).fit(X).gram(X), rtol=1e-12)


@pytest.mark.parametrize("kernel", [Cosine(), CosineNormalized(Linear()), CosineNormalized(Polynomial(4))])
def test_a_zero_sample_is_similar_to_nothing(kernel, X):
    X[5] = 0
    K = kernel.gram(X)
    assert not K[5].any()
    assert not K[:, 5].any()
    assert kernel.diag(X).tolist() == [1.0] * 5 + [0.0] + [1.0] * 12


def test_a_negative_diagonal_has_no_cosine_form(X):
    for kernel in (CosineNormalized(Pairwise(negative)), CosineNormalized(Pairwise("sigmoid", {"coef0": -50}))):
        with pytest.raises(InvalidInputError, match=r"is not a kernel: k\(x, x\) = -1 < 0 at sample"):
            kernel.gram(X)
        with pytest.raises(InvalidInputError, match=r"is not a kernel: k\(x, x\) = -1 < 0 at sample"):
            kernel.diag(X)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_sample_at_the_mean_has_no_direction_and_is_similar_to_nothing(seed, dtype):
    X = np.random.default_rng(seed).normal(size=(9, 3)) + 1
    X = np.vstack([X, 2 * X.mean(axis=0) - X, X.mean(axis=0)]).astype(dtype)
    K = CosineNormalized(Centered(Linear())).fit(X).gram(X)
    assert not K[-1].any()
    assert_allclose(np.diag(K)[:-1], 1, rtol=1e-4 if dtype == np.float32 else 1e-12)


# centring


@inner_kernels
def test_centring_gives_the_training_samples_column_means_of_zero(inner, X):
    K = Centered(inner).fit(X).gram(X)
    assert_allclose(K.mean(axis=0), 0, atol=1e-14 * np.abs(inner.fit(X).gram(X)).max())


@inner_kernels
def test_centring_on_new_samples_is_its_formula(inner, X, Z):
    k = inner.fit(X)
    expected = k.gram(Z, X) - k.gram(Z, X).mean(axis=1)[:, None] - k.gram(X).mean(axis=0) + k.gram(X).mean()
    assert_allclose(Centered(inner).fit(X).gram(Z, X), expected, rtol=1e-11, atol=1e-13)
    between = k.gram(Z, X).mean(axis=1)
    expected = k.gram(Z) - between[:, None] - between + k.gram(X).mean()
    assert_allclose(Centered(inner).fit(X).gram(Z), expected, rtol=1e-11, atol=1e-13)


@inner_kernels
def test_centring_is_that_of_scikit_learn(inner, X, Z):
    k = inner.fit(X)
    centerer = KernelCenterer().fit(k.gram(X))
    fitted = Centered(inner).fit(X)
    assert_allclose(fitted.gram(X), centerer.transform(k.gram(X)), rtol=1e-11, atol=1e-12)
    assert_allclose(fitted.gram(Z, X), centerer.transform(k.gram(Z, X)), rtol=1e-11, atol=1e-12)


def test_centring_the_linear_kernel_is_taking_the_mean_from_the_samples(X, Z):
    mean = X.mean(axis=0)
    assert_allclose(Centered(Linear()).fit(X).gram(Z), (Z - mean) @ (Z - mean).T, rtol=1e-11, atol=1e-13)


def test_centring_twice_is_once(X):
    once = Centered(Gaussian())
    assert_allclose(Centered(once).fit(X).gram(X), once.fit(X).gram(X), atol=1e-14)


# one factor


@inner_kernels
def test_the_trace_is_the_number_of_training_samples(inner, X):
    assert np.trace(TraceNormalized(inner).fit(X).gram(X)) == pytest.approx(18, rel=1e-12)


@inner_kernels
def test_the_largest_absolute_value_is_one(inner, X):
    assert np.abs(MaxNormalized(inner).fit(X).gram(X)).max() == pytest.approx(1, rel=1e-12)


def test_the_largest_absolute_value_may_be_a_negative_one():
    X = np.array([[1.0], [2.0]])
    kernel = MaxNormalized(Pairwise("sigmoid", {"gamma": 0.1, "coef0": -1})).fit(X)
    assert kernel.gram(X).min() == pytest.approx(-1)


@inner_kernels
def test_the_paper_divides_by_the_largest_squared_distance(inner, X, Z):
    squared = max(np.square(x - y).sum() for x in X for y in X)
    assert_allclose(DiameterNormalized(inner).fit(X).gram(Z, X), inner.fit(X).gram(Z, X) / squared, rtol=1e-12)


@inner_kernels
@pytest.mark.parametrize("wrapper", [TraceNormalized, MaxNormalized, DiameterNormalized])
def test_new_samples_are_multiplied_by_the_factor_of_the_training_samples(wrapper, inner, X, Z):
    kernel = wrapper(inner).fit(X)
    assert kernel.factor > 0
    assert_allclose(kernel.gram(Z), kernel.factor * inner.fit(X).gram(Z), rtol=1e-13)


@pytest.mark.parametrize("wrapper", [TraceNormalized, MaxNormalized])
def test_a_kernel_that_vanishes_has_no_size_to_divide_by(wrapper):
    with pytest.raises(InvalidInputError, match=f"{wrapper.__name__} divides by the size of linear, which is 0"):
        wrapper(Linear()).fit(np.zeros((4, 2)))


def test_a_negative_trace_cannot_be_divided_by(X):
    with pytest.raises(InvalidInputError, match="TraceNormalized divides by the size of negative, which is -1"):
        TraceNormalized(Pairwise(negative)).fit(X)


@pytest.mark.parametrize("wrapper", [TraceNormalized, MaxNormalized])
def test_a_kernel_without_a_finite_size_cannot_be_divided_by_it(wrapper, X):
    with pytest.raises(InvalidInputError, match=f"{wrapper.__name__} divides by the size of .*, which is inf"):
        wrapper(Pairwise(infinite)).fit(X)


def test_identical_samples_have_no_diameter_to_divide_by():
    with pytest.raises(InvalidInputError, match="DiameterNormalized divides by the size of linear, which is 0"):
        DiameterNormalized(Linear()).fit(np.full((4, 2), 0.3))
