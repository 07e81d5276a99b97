"""Kernels as values: what their names, comparisons and hashes show, and what they keep to themselves."""

import numpy as np
import pytest

from kernelweave.kernels import (
    Centered,
    CosineNormalized,
    Gaussian,
    Linear,
    MaxNormalized,
    Pairwise,
    Polynomial,
    RareOverlap,
    SelfTuning,
)
from kernelweave.kernels.base import Products

X, Y = np.abs(np.random.default_rng(0).normal(size=(2, 6, 3)))


@pytest.mark.parametrize(
    "kernel", [Centered(Linear()), SelfTuning(2), RareOverlap(), Gaussian(), MaxNormalized(Linear())], ids=str
)
def test_a_fitted_kernel_shows_nothing_of_its_samples(kernel):
    assert repr(kernel.fit(X)) == repr(kernel)


@pytest.mark.parametrize("kernel", [Centered(Linear()), SelfTuning(2), RareOverlap()], ids=str)
def test_kernels_that_keep_arrays_are_compared_by_their_parameters(kernel):
    assert kernel.fit(X) == kernel.fit(Y) == kernel
    assert len({kernel.fit(X), kernel.fit(Y), kernel}) == 1


def test_kernels_that_keep_numbers_are_compared_by_them_too():
    assert Gaussian().fit(X) != Gaussian()
    assert Gaussian().fit(X) == Gaussian(1.0, Gaussian().fit(X).diameter)
    assert MaxNormalized(Linear()).fit(X) != MaxNormalized(Linear())
    assert Polynomial(2) == Polynomial(2, 0.0) != Polynomial(3)
    assert len({CosineNormalized(Linear()), CosineNormalized(Linear())}) == 1


def test_a_metric_with_parameters_can_be_hashed_but_not_by_these():
    first, second = Pairwise("rbf", {"gamma": 0.5}), Pairwise("rbf", {"gamma": 2.0})
    assert hash(first) == hash(second)
    assert first != second


def test_products_are_themselves_alone():
    one, two = (Products(*(np.ones(3) for _ in range(4))) for _ in range(2))
    assert one != two
    assert len({one, two}) == 2


def test_linear_kernels_are_polynomials_of_degree_one_without_offset():
    assert (Linear.degree, Linear.offset) == (1, 0.0)
    assert (Polynomial().degree, Polynomial().offset) == (2, 0.0)
    assert SelfTuning().n_neighbors == 7
    assert Gaussian().t == 1.0
    assert RareOverlap().power == 1
