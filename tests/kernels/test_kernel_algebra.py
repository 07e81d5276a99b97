from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

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
    Polynomial,
    Product,
    Scaled,
    Sum,
    TraceNormalized,
)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(15, 3))


def gram(kernel, X):
    return kernel.fit(X).gram(X)


def test_the_matrix_of_a_sum_is_the_sum_of_the_matrices(X):
    assert_array_equal(gram(Gaussian() + Linear(), X), gram(Gaussian(), X) + gram(Linear(), X))


def test_the_matrix_of_a_product_is_the_elementwise_product_of_the_matrices(X):
    assert_array_equal(gram(Gaussian() * Linear(), X), gram(Gaussian(), X) * gram(Linear(), X))


@pytest.mark.parametrize("factor", [2, 2.0, np.float64(2), np.float32(2), np.int64(2), Fraction(2)])
def test_a_multiple_can_be_written_from_either_side(X, factor):
    for kernel in (factor * Laplacian(), Laplacian() * factor):
        assert kernel == Scaled(Laplacian(), 2.0)
        assert_array_equal(gram(kernel, X), 2 * gram(Laplacian(), X))


def test_multiplication_distributes_over_addition(X):
    a, b, c = Gaussian(0.3), Linear(), Polynomial(offset=1.0)
    assert_allclose(gram(a * (b + c), X), gram(a * b + a * c, X), rtol=1e-13)
    assert_allclose(gram(2 * (a + b), X), gram(2 * a + 2 * b, X), rtol=1e-13, atol=1e-15)


def test_the_order_of_terms_and_factors_does_not_matter(X):
    a, b, c = Gaussian(0.3), Linear(), Cosine()
    assert_allclose(gram((a + b) + c, X), gram(c + (b + a), X), rtol=1e-13, atol=1e-15)
    assert_allclose(gram((a * b) * c, X), gram(c * (b * a), X), rtol=1e-13, atol=1e-15)


def test_a_power_of_the_linear_kernel_is_the_polynomial_kernel(X):
    assert_allclose(gram(Linear() * Linear() * Linear(), X), gram(Polynomial(degree=3), X), rtol=1e-13)


def test_a_sum_and_a_product_of_one_kernel_is_that_kernel(X):
    K = gram(Gaussian(), X)
    assert_array_equal(gram(Sum((Gaussian(),)), X), K)
    assert_array_equal(gram(Product((Gaussian(),)), X), K)


def test_the_parts_are_left_as_they_were(X):
    a, b = Gaussian(), Linear()
    (a + b).fit(X).gram(X)
    assert a == Gaussian()
    assert a.diameter is None


@pytest.mark.parametrize("factor", [0, 0.0, -1, -0.5, float("nan"), float("inf"), -float("inf")])
def test_a_factor_that_leaves_no_kernel_is_refused(factor):
    for multiply in (lambda: factor * Linear(), lambda: Linear() * factor, lambda: Scaled(Linear(), factor)):
        with pytest.raises(InvalidInputError, match=r"multiplied by a positive number only .*; got"):
            multiply()


@pytest.mark.parametrize("other", [1, 0, "rbf", None, np.ones((2, 2)).tolist(), Linear])
def test_adding_what_is_no_kernel_is_a_type_error(other):
    with pytest.raises(TypeError, match="unsupported operand"):
        Linear() + other
    with pytest.raises(TypeError, match=r"unsupported operand|can only concatenate"):
        other + Linear()


@pytest.mark.parametrize("other", ["rbf", None, [1.0], 1j])
def test_multiplying_by_what_is_neither_kernel_nor_number_is_a_type_error(other):
    with pytest.raises(TypeError, match=r"unsupported operand|can't multiply"):
        Linear() * other
    with pytest.raises(TypeError, match=r"unsupported operand|can't multiply"):
        other * Linear()


@pytest.mark.parametrize("kernels", [(), Linear(), [Linear()], ("rbf",), (Linear(), 2)])
@pytest.mark.parametrize(("cls", "what"), [(Sum, "sum"), (Product, "product")])
def test_a_sum_or_product_takes_a_tuple_of_kernels(cls, what, kernels):
    with pytest.raises(InvalidInputError, match=f"A {what} takes a tuple of one or more kernels; got"):
        cls(kernels)


@pytest.mark.parametrize(
    "cls", [CosineNormalized, Centered, TraceNormalized, MaxNormalized, DiameterNormalized, lambda k: Scaled(k, 2.0)]
)
def test_what_wraps_a_kernel_takes_nothing_else(cls):
    with pytest.raises(InvalidInputError, match=r"takes a kernel; got 'rbf'. Wrap a name .* in Pairwise"):
        cls("rbf")


def test_names_read_like_the_algebra():
    a, b, c = Gaussian(0.5), Linear(), Cosine()
    assert str(a + b) == "gaussian(t=0.5) + linear"
    assert str(a * b + c) == "gaussian(t=0.5) * linear + cosine"
    assert str((a + b) * c) == "(gaussian(t=0.5) + linear) * cosine"
    assert str(2 * (a + b)) == "2 * (gaussian(t=0.5) + linear)"
    assert str(2 * a * b) == "2 * gaussian(t=0.5) * linear"


def test_a_normalised_sum_keeps_its_parentheses_in_a_product():
    inner = Linear() + Cosine()
    assert str(CosineNormalized(inner) * Gaussian()) == "(linear + cosine) * gaussian(t=1)"
    assert str(2 * TraceNormalized(MaxNormalized(inner))) == "2 * (linear + cosine)"
    assert str(2 * Centered(inner)) == "2 * centered(linear + cosine)"
