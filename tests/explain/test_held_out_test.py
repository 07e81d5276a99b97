"""The test of features accounts for clusters that were chosen on the same data."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control, fisher_exact, kruskal, mannwhitneyu
from sklearn.cluster import KMeans

from kernelweave import WeaveClassifier, WeaveClustering
from kernelweave.errors import InvalidInputError
from kernelweave.explain import explain_clusters
from kernelweave.explain._tests import adjusted, category_p_values, exact_p_values, p_values


def noise(kind, rng):
    X = rng.normal(size=(80, 8))
    if kind == "mostly zero":
        X *= rng.random(X.shape) < 0.08
    if kind == "binary":
        X = 1.0 * (rng.random(X.shape) < np.linspace(0.05, 0.5, 8))
    return X


@pytest.mark.parametrize("kind", ["normal", "mostly zero", "binary"])
def test_in_noise_false_discoveries_keep_to_the_stated_rate(kind):
    small, discoveries, tables = [], 0, 60
    for seed in range(tables):
        X = noise(kind, np.random.default_rng(seed))
        model = KMeans(3, n_init=1, random_state=0).fit(X)
        found = explain_clusters(model, X, test=True, n_features=None).features
        small.append((found["p_value"] <= 0.05).mean())
        discoveries += (found["q_value"] <= 0.05).any()
    assert np.mean(small) <= 0.05
    assert discoveries <= 7  # of 60 tables at 5 %: more would have a probability of 3 %


def test_a_usual_test_in_the_same_noise_finds_far_too_much():
    X = noise("normal", np.random.default_rng(0))
    labels = KMeans(3, n_init=1, random_state=0).fit_predict(X)
    naive = [kruskal(*(x[labels == k] for k in range(3))).pvalue for x in X.T]
    assert np.mean(np.array(naive) <= 0.05) > 0.5


def test_rank_sums_agree_with_scipy():
    rng = np.random.default_rng(0)
    x, labels = rng.integers(0, 12, size=70).astype(float), rng.integers(3, size=70)
    Y = np.eye(3)[labels]
    middle = np.sort(x)[34]
    for k in range(3):
        pair = [
            mannwhitneyu(v[labels == k], v[labels != k], method="asymptotic").pvalue for v in (x, np.abs(x - middle))
        ]
        assert p_values(x[:, None], Y)[k, 0] == pytest.approx(min(1, 2 * min(pair)))


def test_exact_tails_agree_with_fisher():
    rng = np.random.default_rng(0)
    marks, labels = 1.0 * (rng.random(60) < 0.2), rng.integers(2, size=60)
    found = exact_p_values(marks, np.eye(2)[labels])
    table = [[np.sum((marks == a) & (labels == b)) for a in (1, 0)] for b in (0, 1)]
    tails = [fisher_exact(table, alternative=side).pvalue for side in ("less", "greater")]
    assert found == pytest.approx(min(1, 2 * min(tails)))


def test_categories_allow_for_their_number():
    codes = np.repeat([0.0, 1.0, 2.0], 10)
    Y = np.eye(2)[np.repeat([0, 1, 1], 10)]
    one = exact_p_values(1.0 * (codes == 0), Y)
    assert category_p_values(codes, 3, Y) == pytest.approx(np.minimum(1, 3 * one))


def test_adjusted_values_leave_out_what_was_not_tested():
    p = np.array([[0.01, np.nan], [0.04, 0.03]])
    np.testing.assert_allclose(adjusted(p), [[0.03, np.nan], [0.04, 0.04]])


@pytest.mark.parametrize("missing", [0, 7, 40])
def test_adjusted_p_values_are_those_of_benjamini_and_hochberg(missing):
    p = np.random.RandomState(3).uniform(size=(4, 10)) ** 2
    p.flat[np.random.RandomState(0).permutation(40)[:missing]] = np.nan
    known = ~np.isnan(p)
    expected = np.full(p.shape, np.nan)
    if known.any():
        expected[known] = false_discovery_control(p[known])
    np.testing.assert_allclose(adjusted(p), expected, rtol=1e-14)


def test_a_test_without_any_possible_fit_says_why():
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1], 20)
    X = np.column_stack([rng.normal(size=(40, 3)) + 5 * kind[:, None], np.ones((40, 2))])
    model = WeaveClassifier().fit(X, kind)
    assert explain_clusters(model, X, kind, test=True).recovered == (1.0, 1.0)
    with pytest.raises(InvalidInputError, match=r"none of the fits was possible\. y has 39 labels for 40 samples"):
        explain_clusters(model, X, kind[:-1], test=True)
    with pytest.raises(InvalidInputError, match=r"none of the fits was possible\. All 40 samples are unlabelled"):
        explain_clusters(model, X, np.full(40, -1), test=True)
    one = X[:, [0, 3]]  # which leaves the clusters only one column to be found by
    found = explain_clusters(WeaveClustering(2, random_state=0).fit(one), one, test=True, n_splits=2)
    assert found.recovered == (1.0, 1.0)


def test_columns_of_the_other_byte_order_are_tested_as_others():
    X = np.random.default_rng(0).normal(size=(40, 4)) + 5 * np.repeat([[0], [1]], 20, axis=0)
    native, other = (pd.DataFrame(X.astype(kind), columns=list("abcd")) for kind in ("<f8", ">f8"))
    expected, found = (
        explain_clusters(WeaveClustering(2, random_state=0).fit(table), table, test=True).features
        for table in (native, other)
    )
    pd.testing.assert_frame_equal(found, expected)
