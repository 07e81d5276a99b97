"""Weighted sums of kernels, computed without a stack of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from kernelweave import Views
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Gaussian, KernelBank, Linear, PrecomputedBank, SelfTuning, recipe
from kernelweave.kernels.bank import joined_sum
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
    assert_allclose(kernels.weighted(new, P), np.tensordot(P, kernels.grams(new, training), axes=1))


def test_the_weighted_sum_of_precomputed_kernels_is_in_their_precision():
    H = recipe("released-7").fit(X).grams(NEW, X)[:4].astype(np.float32)
    found = PrecomputedBank(tuple("abcd")).weighted(KernelStack(H, tuple("abcd")), P)
    assert found.dtype == np.float32
    assert_allclose(found, np.tensordot(P, H, axes=1), rtol=1e-5)


def test_a_kernel_that_overflows_is_named_in_a_sum():
    kernels = KernelBank({"near": Gaussian(t=1), "steep": KernelBank(["polynomial"]).kernels[0]}).fit(X)
    with pytest.raises(InvalidInputError, match="Kernel 'steep' gave inf or NaN for these samples"):
        kernels.weighted(Pair(NEW * 1e200, X), np.array([0.5, 0.5]))


def test_parts_that_belong_together_have_a_product_in_their_sum():
    rng = np.random.default_rng(0)
    K = [np.exp(-np.abs(x[:, None] - x)) for x in rng.normal(size=(3, 12))]
    shares = [0.2, 0.3, 0.5]
    parts = [share * one for share, one in zip(shares, K, strict=True)]
    found = joined_sum(parts, shares, [(0, 2)])
    assert_allclose(found, parts[1] + 0.75 * (parts[0] + parts[2]) + 0.25 * 0.7 * K[0] * K[2])
    assert np.linalg.eigvalsh(found).min() > -1e-12  # a Gram matrix, as its parts are
    assert_allclose(joined_sum([2 * part for part in parts], [0.4, 0.6, 1.0], [(0, 2)]), 2 * found)
    assert_allclose(joined_sum(parts, shares, []), sum(parts))
    without = [0 * parts[0], *parts[1:]]
    assert_allclose(joined_sum(without, [0.0, 0.3, 0.5], [(0, 2)]), sum(without))  # a view of no weight changes nothing
    single = [part.astype(np.float32) for part in parts]
    assert joined_sum(single, shares, [(0, 2)]).dtype == np.float32
