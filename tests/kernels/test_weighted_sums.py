"""Weighted sums of kernels, computed without a stack of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from kernelweave import Views
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Gaussian, KernelBank, Linear, PrecomputedBank, SelfTuning, recipe
from kernelweave.kernels.base import Pair
from kernelweave.kernels.view_bank import ViewBank
from kernelweave.samples import KernelStack

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(20, 3)), RNG.normal(size=(7, 3))
P = np.array([0.5, 0.0, 0.3, 0.2])


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array, np.float32], ids=["dense", "sparse", "single"])
@pytest.mark.parametrize("far", [0, 1e3])
def test_the_weighted_sum_is_that_of_the_stack(convert, far):
    kernels = KernelBank([Gaussian(t=0.5), Linear(), SelfTuning(3), "polynomial"]).fit(convert(X + far))
    pair = Pair(convert(NEW + far), convert(X + far))
    found, expected = kernels.weighted(pair, P), np.tensordot(P, kernels.stack(pair), axes=1)
    assert found.dtype == pair.dtype
    assert_allclose(found, expected, rtol=1e-4 if pair.dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("gaps", [{}, {"a": [0, 4], "b": [1]}], ids=["complete", "gaps"])
@pytest.mark.parametrize("lacking", [{}, {"a": [0], "b": [3, 4]}, {"b": [0, 1, 2, 3, 4, 5, 6]}])
def test_the_weighted_sum_of_views_with_gaps_is_that_of_the_stack(gaps, lacking):
    training = Views({"a": X[:, :2], "b": X[:, 1:]}, missing=gaps)
    new = Views({"a": NEW[:, :2], "b": NEW[:, 1:]}, missing=lacking)
    kernels = ViewBank({"a": KernelBank([Gaussian(t=1)]), "b": KernelBank([Linear(), Gaussian(t=2), Gaussian(t=0.2)])})
    kernels.fit(training)
    assert_allclose(kernels.weighted(new, training, P), np.tensordot(P, kernels.grams(new, training), axes=1))


def test_the_weighted_sum_of_precomputed_kernels_is_in_their_precision():
    H = recipe("released-7").fit(X).grams(NEW, X)[:4].astype(np.float32)
    found = PrecomputedBank(tuple("abcd")).weighted(KernelStack(H, tuple("abcd")), None, P)
    assert found.dtype == np.float32
    assert_allclose(found, np.tensordot(P, H, axes=1), rtol=1e-5)


def test_a_kernel_that_overflows_is_named_in_a_sum():
    kernels = KernelBank({"near": Gaussian(t=1), "steep": KernelBank(["polynomial"]).kernels[0]}).fit(X)
    with pytest.raises(InvalidInputError, match="Kernel 'steep' gave inf or NaN for these samples"):
        kernels.weighted(Pair(NEW * 1e200, X), np.array([0.5, 0.5]))
