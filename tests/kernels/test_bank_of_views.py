"""The kernels of several views as one bank: names, tiles, gaps, and what cannot be used."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave import Views
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Gaussian, KernelBank, Linear
from kernelweave.kernels.view_bank import ViewBank

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 2))


def test_a_bank_of_views_names_kernels_after_their_view():
    bank = ViewBank({"a": KernelBank([Gaussian(t=1)]), "b": KernelBank([Linear(), Gaussian(t=2)])})
    assert bank.names == ("a: gaussian(t=1)", "b: linear", "b: gaussian(t=2)")
    assert bank.views == ("a", "b", "b")


@pytest.fixture
def bank():
    return ViewBank({"a": KernelBank([Gaussian(t=1)]), "b": KernelBank([Linear(), Gaussian(t=2)])})


def test_the_kernels_of_complete_views_are_those_of_the_tables(bank):
    H = bank.fit_grams(Views({"a": A, "b": B}))
    assert_allclose(H[0], KernelBank([Gaussian(t=1)]).fit_grams(A)[0])
    assert_allclose(H[1], B @ B.T)


@pytest.mark.parametrize("missing", [{}, {"a": [0, 4], "b": [1]}])
def test_tiles_and_new_samples_agree_with_the_whole(bank, missing):
    views = Views({"a": A, "b": B}, missing=missing)
    H = bank.fit_grams(views)
    assert_allclose(bank.grams(views.select([4, 1, 3]), views), H[:, [4, 1, 3]])
    tile = bank.unfitted().fit_tiles(views)
    assert_allclose(tile(slice(0, 1), slice(3, 6)), H[:, :1, 3:])
    assert_allclose(tile(slice(1, 5), slice(1, 5)), H[:, 1:5, 1:5])
    p = np.array([0.2, 0.3, 0.5])
    assert_allclose(tile(slice(0, 2), slice(2, 6), None, p), np.tensordot(p, H[:, :2, 2:], axes=1))


def test_constants_are_fixed_on_the_samples_that_a_view_has(bank):
    far = A.copy()
    far[0] = 1e6
    bank.fit(Views({"a": far, "b": B}, missing={"a": [0]}))
    assert_allclose(bank.banks["a"].kernels[0].diameter, Gaussian(t=1).fit(A[1:]).diameter)


def test_a_new_sample_may_lack_a_view_that_all_training_samples_have(bank):
    views = Views({"a": A, "b": B})
    bank.fit(views)
    H = bank.grams(Views({"a": A[:2], "b": B[:2]}, missing={"a": [0]}), views)
    assert H.shape == (3, 2, 6)
    assert np.isfinite(H).all()
    assert_allclose(H[:, 1], bank.grams(views)[:, 1])


@pytest.mark.parametrize(
    ("views", "message"),
    [
        (Views({"a": A}), "kernels for the views a, b; got a"),
        (A, "kernels for the views a, b; got ndarray"),
        (Views({"a": A, "b": B}, missing={"a": [0, 1, 2, 3, 4]}), "View 'a' has 1 of 6 samples; at least 2"),
        (Views({"a": np.full((6, 3), np.nan), "b": B}), "View 'a' has 0 of 6 samples"),
        (Views({"a": np.ones((6, 1)), "b": B}), "View 'a': All 6 samples are identical"),
    ],
)
def test_views_that_a_bank_cannot_use_are_refused(bank, views, message):
    with pytest.raises(InvalidInputError, match=message):
        bank.fit(views)


def test_a_bank_that_is_not_fitted_says_so(bank):
    with pytest.raises(InvalidInputError, match="not fitted"):
        bank.grams(Views({"a": A, "b": B}))
