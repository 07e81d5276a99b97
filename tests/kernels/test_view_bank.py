"""The kernels of one or several views as one bank."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave import Views
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import (
    Centered,
    CosineNormalized,
    Gaussian,
    KernelBank,
    Linear,
    Pairwise,
    Polynomial,
    PrecomputedBank,
    SelfTuning,
    ViewBank,
    bank_of,
    recipe,
)
from kernelweave.samples.precomputed import read_stack

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(9, 3)), RNG.normal(size=(9, 2))
KERNELS = [Gaussian(t=1), Linear(), SelfTuning(3), Centered(Linear()), Pairwise("rbf")]
NEW = RNG.normal(size=(4, 3))
ONE, TWO = Views({"X": A}), Views({"a": A, "b": B})


def parts(*ends):
    return [slice(a, b) for a, b in zip((0, *ends), (*ends, 9), strict=True)]


# one view


def test_the_kernels_of_one_view_keep_their_names():
    bank = ViewBank({"table": KernelBank(KERNELS)})
    assert bank.names == KernelBank(KERNELS).names
    assert bank.views == ("table",) * 5
    assert len(bank) == 5


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_one_view_gives_the_matrices_of_its_table(make):
    expected = KernelBank(KERNELS).fit(A)
    bank = ViewBank({"table": KernelBank(KERNELS)})
    views = Views({"table": make(A)})
    close = {"rtol": 1e-12, "atol": 1e-13}
    assert_allclose(bank.fit_grams(views), expected.grams(A), **close)
    assert_allclose(bank.grams(views), expected.grams(A), **close)
    assert_allclose(bank.grams(Views({"table": make(NEW)}), views), expected.grams(NEW, A), **close)
    tile = bank.unfitted().fit_tiles(views)
    assert_allclose(np.block([[tile(r, c) for c in parts(4)] for r in parts(4)]), expected.grams(A), **close)
    assert tile(slice(0, 2), slice(0, 3), np.float32).dtype == np.float32


def test_tiles_of_one_view_are_those_of_its_bank_itself(monkeypatch):
    inner = KernelBank(KERNELS)
    made = object()
    monkeypatch.setattr(inner, "fit_tiles", lambda X: made)
    assert ViewBank({"table": inner}).fit_tiles(Views({"table": A})) is made


def test_an_error_names_the_view_only_if_there_are_several():
    same = np.ones((9, 3))
    with pytest.raises(InvalidInputError, match=r"^All 9 samples are identical"):
        ViewBank({"a": KernelBank([Gaussian()])}).fit_tiles(Views({"a": same}))
    views = Views({"a": same, "b": B})
    with pytest.raises(InvalidInputError, match=r"^View 'a': All 9 samples are identical"):
        bank_of(Gaussian(), views).fit_tiles(views)


def test_a_tile_that_overflows_names_the_kernel():
    views = Views({"X": 1e50 * A})
    tile = bank_of({"line": Linear(), "quartic": Polynomial(degree=4)}, views).fit_tiles(views)
    with np.errstate(all="ignore"), pytest.raises(InvalidInputError, match="Kernel 'quartic' gave inf or NaN"):
        tile(slice(0, 4), slice(0, 4))


def test_normalised_polynomials_of_large_samples_do_not_overflow():
    large, usual = (Views({"X": A * factor}) for factor in (1e50, 1.0))
    tiles = [bank_of([CosineNormalized(Polynomial(degree=4))], X).fit_tiles(X) for X in (large, usual)]
    found, expected = (tile(slice(0, 4), slice(0, 4)) for tile in tiles)
    assert_allclose(found, expected)


def test_large_values_whose_sum_overflows_are_not_refused():
    X = np.full((4, 1), 1e19, dtype=np.float32)
    K = KernelBank([Linear()]).fit_tiles(X)(slice(0, 4), slice(0, 4))
    assert np.isfinite(K).all()
    with np.errstate(over="ignore"):
        assert np.isinf(K.sum())


# several views


def test_kernels_of_several_views_are_stacked_in_order():
    bank = bank_of(KERNELS, TWO)
    H = bank.fit_grams(TWO)
    assert_allclose(H, np.concatenate([KernelBank(KERNELS).fit_grams(X) for X in (A, B)]), rtol=1e-12, atol=1e-13)
    assert bank.views == ("a",) * 5 + ("b",) * 5


def test_the_repr_counts_kernels():
    assert repr(bank_of({"a": [Linear()], "b": KERNELS}, TWO)) == "ViewBank(a: 1 kernel, b: 5 kernels)"


@pytest.mark.parametrize("missing", [{}, {"a": [0, 4], "b": [1]}])
def test_fitting_and_evaluating_gives_what_fit_grams_gives(missing):
    views = Views({"a": A, "b": B}, missing=missing)
    H = bank_of(KERNELS, views).fit_grams(views)
    assert_allclose(bank_of(KERNELS, views).fit(views).grams(views), H, rtol=1e-12, atol=1e-13)


# what a user may pass as kernels


@pytest.mark.parametrize(
    ("kernels", "names"),
    [
        ("released-7", recipe("released-7").names),
        (KernelBank([Linear()]), ("linear",)),
        (Gaussian(t=0.5), ("gaussian(t=0.5)",)),
        (max, ("max",)),
        ([Linear(), "rbf"], ("linear", "rbf")),
        ((Linear(), "rbf"), ("linear", "rbf")),
        ({"near": Gaussian(t=0.1), "far": Gaussian(t=2)}, ("near", "far")),
    ],
    ids=["recipe", "bank", "kernel", "function", "list", "tuple", "dict"],
)
def test_every_view_gets_the_kernels_that_are_given_once(kernels, names):
    assert bank_of(kernels, ONE).names == names
    two = bank_of(kernels, TWO)
    assert two.names == tuple(f"{view}: {name}" for view in "ab" for name in names)
    assert two.banks["a"] is not two.banks["b"]


def test_a_fitted_bank_is_taken_without_its_constants():
    given = KernelBank([Gaussian()]).fit(A)
    assert bank_of(given, ONE).banks["X"].kernels[0].diameter is None


@pytest.mark.parametrize("value", ["released-7", [Linear()], KernelBank([Linear()]), {"line": Linear()}])
def test_a_dict_by_the_names_of_views_gives_each_its_kernels(value):
    assert bank_of({"b": value, "a": [Gaussian(t=1)]}, TWO).names[0] == "a: gaussian(t=1)"
    assert len(bank_of({"X": value}, ONE)) == len(bank_of(value, ONE))


def test_a_kernel_may_have_the_name_of_the_only_view():
    assert bank_of({"X": Linear(), "Y": Gaussian()}, ONE).names == ("X", "Y")


@pytest.mark.parametrize("kernels", [{"a": Linear()}, {"a": [Linear()], "c": [Linear()]}, {"k": "released-7"}])
def test_a_dict_that_names_some_views_only_is_refused(kernels):
    with pytest.raises(InvalidInputError, match=r"kernels must name every view once, or none: the views are 'a', 'b'"):
        bank_of(kernels, TWO)


@pytest.mark.parametrize("kernels", [None, 3])
def test_what_gives_no_kernels_is_refused(kernels):
    with pytest.raises(InvalidInputError, match="kernels must be a recipe's name, 'precomputed', a KernelBank"):
        bank_of(kernels, ONE)


def test_an_unknown_recipe_is_refused():
    with pytest.raises(InvalidInputError, match="Unknown kernel recipe 'released-8'"):
        bank_of("released-8", ONE)


def test_kernel_matrices_get_a_bank_of_their_own_names():
    bank = bank_of("precomputed", read_stack({"near": np.eye(9), "far": np.ones((9, 9))}))
    assert isinstance(bank, PrecomputedBank)
    assert bank.names == ("near", "far")


def test_samples_are_checked_once_by_their_reader(monkeypatch):
    monkeypatch.setattr(np, "isfinite", lambda values: np.True_ if np.ndim(values) == 0 else pytest.fail("checked"))
    bank = bank_of("released-12", ONE)
    bank.fit_grams(ONE)
    assert_array_equal(bank.grams(ONE).shape, (12, 9, 9))
