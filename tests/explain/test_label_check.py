"""Cross-validation over the labels that a classifier was given."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading

from kernelweave import WeaveClassifier
from kernelweave.errors import InvalidInputError
from kernelweave.explain import LabelCheck, check_labels


@pytest.fixture(scope="module")
def samples():
    X, y = make_blobs(80, centers=3, cluster_std=0.6, random_state=1)
    return X, np.where(np.arange(80) % 2 == 0, np.array(["a", "b", "c"])[y], "")


def test_separate_classes_are_predicted_without_their_labels(samples):
    found = check_labels(WeaveClassifier(), *samples)
    assert found.n_labels == 40
    assert found.accuracy > 0.95
    assert found.table.loc["a", "a"] > 5
    assert found.table.to_numpy().sum(axis=1).tolist() == [np.sum(samples[1] == name) for name in "abc"]


def test_a_series_is_checked_in_the_order_that_fit_gives_it(samples):
    X, y = samples
    names = [f"s{i}" for i in range(80)]
    views = {"one": pd.DataFrame(X[:, :1], names), "two": pd.DataFrame(X[:, 1:], names)}
    expected = check_labels(WeaveClassifier(), views, y)
    found = check_labels(WeaveClassifier(), views, pd.Series(y, names).sample(frac=1, random_state=0))
    np.testing.assert_array_equal(found.confusion, expected.confusion)
    with pytest.raises(InvalidInputError, match="The index of y has the samples of X in another order"):
        check_labels(WeaveClassifier(), pd.DataFrame(X, names), pd.Series(y, names)[::-1])


def test_labels_without_meaning_are_predicted_by_chance(samples):
    y = np.where(samples[1] == "", "", np.random.default_rng(0).permutation(np.tile(list("ab"), 40)))
    found = check_labels(WeaveClassifier(), samples[0], y)
    assert 0.2 < found.accuracy < 0.8


def test_the_interval_is_wilsons():
    found = LabelCheck(("a", "b"), np.array([[7, 1], [2, 5]]), 5)
    expected = binomtest(12, 15).proportion_ci(method="wilson")
    assert found.interval == pytest.approx((expected.low, expected.high))


def test_few_labels_are_divided_into_fewer_parts(samples):
    X, y = samples
    few = np.where(np.cumsum(y == "a") > 3, np.where(y == "a", "", y), y)
    assert check_labels(WeaveClassifier(), X, few).n_splits == 3


def test_a_class_with_one_label_cannot_be_checked():
    with pytest.raises(InvalidInputError, match="Class 'b' has 1 label; a cross-validation needs two"):
        check_labels(WeaveClassifier(), np.eye(4), ["a", "a", "b", None])


def test_a_classifier_that_takes_unlabelled_samples_for_a_class_is_refused(samples):
    X, y = samples
    with pytest.raises(InvalidInputError, match="LogisticRegression has no transduction_: use cross_val_score"):
        check_labels(LogisticRegression(), X, y)
    assert check_labels(LabelSpreading("knn"), X, y).accuracy > 0.9


def test_one_part_is_refused(samples):
    with pytest.raises(InvalidInputError, match="n_splits must be a whole number, 2 or more; got 1"):
        check_labels(WeaveClassifier(), *samples, n_splits=1)


def test_a_check_survives_json(samples):
    found = check_labels(WeaveClassifier(), *samples)
    again = LabelCheck.from_json(json.loads(json.dumps(found.to_json())))
    np.testing.assert_array_equal(again.confusion, found.confusion)
    assert again.interval == found.interval
