"""Tests whether columns are independent of a column of classes, and which samples they compare."""

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

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
    found = joint_p_values(a, *class_indicators([constant, b, unknown, a, b]))
    assert_allclose(found, [1, expected, 1, found[3], expected])
    assert found[3] < 1e-20
    assert_array_equal(joint_p_values(constant, *class_indicators([a, b])), 1)


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
