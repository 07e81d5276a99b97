"""Tests whether columns are independent of a column of classes, and which samples they compare."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from kernelweave.samples import independence
from kernelweave.samples.digests import drawn_rows, row_digests
from kernelweave.samples.independence import class_indicators, joint_p_values, rank_p_values, without_rare

RNG = np.random.default_rng(0)


def test_ranks_are_compared_by_the_test_of_kruskal_and_wallis():
    codes = RNG.integers(-1, 3, 80)
    X = np.c_[RNG.normal(size=80) + codes, RNG.integers(0, 4, 80), np.ones(80)]
    found = rank_p_values(codes, stats.rankdata(X[codes >= 0], axis=0)[np.cumsum(codes >= 0) - 1])
    expected = [stats.kruskal(*(X[codes == k, j] for k in range(3))).pvalue for j in range(2)]
    assert_allclose(found, [*expected, 1], rtol=1e-9)


def test_counts_are_compared_by_the_test_of_pearson():
    a, b = RNG.integers(-1, 3, 90), RNG.integers(-1, 2, 90)
    both = (a >= 0) & (b >= 0)
    expected = stats.chi2_contingency(pd.crosstab(a[both], b[both]), correction=False).pvalue
    constant, unknown = np.zeros(90, dtype=int), np.full(90, -1)
    (found,) = joint_p_values(class_indicators([a]), class_indicators([constant, b, unknown, a, b]))
    assert_allclose(found, [1, expected, 1, found[3], expected])
    assert found[3] < 1e-20
    assert_array_equal(joint_p_values(class_indicators([constant]), class_indicators([a, b])), 1)


@pytest.mark.parametrize("width", [1, 4, 7, 512])
def test_columns_are_compared_alike_however_many_at_once(width, monkeypatch):
    columns = [RNG.integers(-1, k, 200) for k in (2, 5, 1, 3, 9, 2, 4)]
    whole = joint_p_values(class_indicators(columns), class_indicators(columns[:5]))
    monkeypatch.setattr(independence, "_WIDTH", width)
    assert_allclose(joint_p_values(class_indicators(columns), class_indicators(columns[:5])), whole, rtol=1e-12)
    for i, one in enumerate(columns):
        for j, other in enumerate(columns[:5]):
            both = (one >= 0) & (other >= 0)
            table = pd.crosstab(one[both], other[both])
            constant = min(table.shape) < 2
            expected = 1.0 if constant else stats.chi2_contingency(table, correction=False).pvalue
            assert_allclose(whole[i, j], expected, rtol=1e-9, atol=1e-300)


def test_some_columns_of_classes_are_a_part_of_all():
    columns = [RNG.integers(-1, k, 30) for k in (2, 5, 3, 4)]
    found, expected = class_indicators(columns).part(slice(1, 3)), class_indicators(columns[1:3])
    assert_array_equal(found.indicators, expected.indicators)
    assert_array_equal(found.starts, expected.starts)


def test_rare_categories_are_compared_as_one_if_there_are_enough_of_them():
    codes = np.repeat([0, 1, 2, 3, -1], [9, 3, 7, 2, 4])
    assert_array_equal(without_rare(codes), np.repeat([0, 2, 1, 2, -1], [9, 3, 7, 2, 4]))
    few = np.repeat([0, 1, 2], [9, 3, 7])
    assert_array_equal(without_rare(few), np.repeat([0, -1, 1], [9, 3, 7]))


def test_ranks_that_are_not_known_have_no_part_in_the_test():
    codes, values = RNG.integers(0, 3, 120), RNG.normal(size=120)
    codes[values > 1] = -1  # the other ranks are the same without these
    ranks = np.where(RNG.random(120) < 0.1, np.nan, values)
    ranks[~np.isnan(ranks)] = stats.rankdata(ranks[~np.isnan(ranks)])
    known = ~np.isnan(ranks) & (codes >= 0)
    expected = stats.kruskal(*(ranks[known & (codes == g)] for g in range(3))).pvalue
    assert_allclose(rank_p_values(codes, ranks[:, None]), expected)
    assert_array_equal(rank_p_values(codes, np.full((120, 2), np.nan)), 1)


def test_the_same_samples_are_drawn_in_every_order():
    X, order = RNG.normal(size=(200, 3)), RNG.permutation(200)
    some, others = drawn_rows(row_digests(X), 60), drawn_rows(row_digests(X[order]), 60)
    assert len(some) == 60
    assert set(order[others]) == set(some)
    assert abs(X[some].mean()) < 0.3
