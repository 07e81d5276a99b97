"""Kernels of categories: the share of columns in which samples agree."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave import Views
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Gaussian, Linear, Mixed, Overlap, RareOverlap, bank_of

RNG = np.random.default_rng(0)
CODES = np.column_stack([RNG.integers(0, k, size=30) for k in (2, 3, 5)])
FRAME = pd.DataFrame({name: pd.Categorical(codes.astype(str)) for name, codes in zip("abc", CODES.T, strict=True)})


def indicators(frame=FRAME):
    return Views({"X": frame}).tables[0]


pytestmark = pytest.mark.filterwarnings("ignore::kernelweave.errors.ColumnsWarning")


def test_overlap_is_the_share_of_columns_in_which_samples_agree():
    brute = (CODES[:, None, :] == CODES[None, :, :]).mean(axis=2)
    assert_allclose(Overlap().gram(indicators()), brute, atol=1e-12)
    assert_allclose(Overlap(power=3).gram(indicators()), brute**3, atol=1e-12)


def test_a_missing_cell_agrees_as_often_as_a_known_one_on_average():
    frame = FRAME.copy()
    frame.loc[0, "b"] = None
    shares = frame["b"].value_counts(normalize=True)
    assert (shares > 0).all()
    X = indicators(frame)
    agree = [shares[category] for category in frame["b"][1:]]
    others = (CODES[0, [0, 2]] == CODES[1:][:, [0, 2]]).sum(axis=1)
    norm = np.sqrt(2 + (shares**2).sum()) * np.sqrt(3)
    assert_allclose(Overlap().gram(X)[0, 1:], (others + agree) / norm, atol=1e-12)


def test_rare_overlap_weighs_agreements_by_the_rarity_of_the_category():
    weight = np.array([[-np.log((column == code).mean()) for code in column] for column in CODES.T]).T
    same = CODES[:, None, :] == CODES[None, :, :]
    raw = (same * weight[:, None, :]).sum(axis=2)
    brute = raw / np.sqrt(np.outer(raw.diagonal(), raw.diagonal()))
    X = indicators()
    assert_allclose(RareOverlap().fit(X).gram(X), brute, atol=1e-12)
    assert_allclose(RareOverlap(power=2).fit(X).gram(X), brute**2, atol=1e-12)


@pytest.mark.parametrize("kernel", [Overlap(), Overlap(power=4), RareOverlap(), RareOverlap(power=2)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_of_categories_are_positive_semidefinite_also_with_missing_cells(kernel, dtype):
    frame = FRAME.copy()
    for column in "abc":
        frame.loc[RNG.random(30) < 0.3, column] = None
    X = indicators(frame[~frame.isna().all(axis=1)].reset_index(drop=True)).astype(dtype)
    K = kernel.fit(X).gram(X)
    assert K.dtype == dtype
    assert np.linalg.eigvalsh(K.astype(np.float64)).min() > -30 * np.finfo(dtype).eps
    assert_allclose(K.diagonal(), 1, rtol=10 * np.finfo(dtype).eps)


@pytest.mark.parametrize("kernel", [Overlap(2), RareOverlap()], ids=str)
def test_the_order_of_samples_and_columns_does_not_matter(kernel):
    order = RNG.permutation(30)
    X, turned = indicators(), indicators(FRAME.iloc[order][["c", "a", "b"]].reset_index(drop=True))
    K = kernel.fit(X).gram(X)
    assert_allclose(kernel.fit(turned).gram(turned), K[np.ix_(order, order)], atol=1e-12)


def test_weights_of_rare_overlap_are_those_of_the_training_samples():
    X = indicators()
    kernel = RareOverlap().fit(X)
    assert_allclose(kernel.gram(X[:4], X), kernel.gram(X)[:4], atol=1e-12)
    with pytest.raises(InvalidInputError, match="has no weights of categories yet"):
        RareOverlap().gram(X)


def test_a_category_that_no_training_sample_has_counts_like_half_a_sample():
    X = np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]])
    assert_allclose(RareOverlap().fit(X).weights, [np.log(2), np.log(2), np.log(8)])


@pytest.mark.parametrize("make", [Overlap, RareOverlap])
@pytest.mark.parametrize("power", [0, 0.5, -1, np.inf])
def test_a_power_that_makes_no_kernel_is_refused(make, power):
    with pytest.raises(InvalidInputError, match="needs a whole power of at least 1"):
        make(power)


def test_rare_overlap_refuses_what_are_not_categories():
    with pytest.raises(InvalidInputError, match="which are not negative; the smallest value is -2"):
        RareOverlap().fit(np.array([[3.0, 1], [-2, 5]]))


# which kernels a view gets


def mixed_views(**options):
    frame = FRAME.assign(x=RNG.normal(size=30), y=RNG.normal(size=30))
    return Views({"t": frame, "other": RNG.normal(size=(30, 2))}, **options)


@pytest.mark.parametrize("kernels", ["mixed", "released-12", Mixed()])
def test_numbers_and_categories_get_kernels_of_their_own(kernels):
    bank = bank_of(kernels, mixed_views())
    assert tuple(bank.banks) == ("t: numbers", "t: categories", "other")
    assert [len(one) for one in bank.banks.values()] == [12, 8, 12]
    assert "t: categories: rare overlap" in bank.names
    assert "other: linear" in bank.names


def test_a_recipe_for_mixed_tables_chooses_the_kernels_of_both_kinds():
    bank = bank_of(Mixed(numbers=[Gaussian()], categories=[Overlap(), RareOverlap()]), mixed_views())
    assert bank.names == (
        "t: numbers: gaussian(t=1)",
        "t: categories: overlap(power=1)",
        "t: categories: rare overlap",
        "other: gaussian(t=1)",
    )


def test_kernels_may_be_given_by_table_or_by_block():
    by_table = bank_of({"t": Mixed(numbers=[Linear()]), "other": [Gaussian()]}, mixed_views())
    by_block = bank_of({"t: numbers": [Linear()], "t: categories": "mixed", "other": [Gaussian()]}, mixed_views())
    assert by_table.names == by_block.names
    with pytest.raises(InvalidInputError, match="kernels must name every view once, or none"):
        bank_of({"t: numbers": [Linear()], "other": [Linear()]}, mixed_views())


def test_kernels_of_your_own_are_used_for_all_views():
    bank = bank_of([Gaussian()], mixed_views())
    assert_array_equal([len(one) for one in bank.banks.values()], [1, 1, 1])


def test_an_unknown_recipe_is_refused_for_categories_too():
    with pytest.raises(InvalidInputError, match="Unknown kernel recipe 'released-8'"):
        bank_of("released-8", Views({"X": FRAME}))
