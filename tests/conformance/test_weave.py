"""scikit-learn's checks for the Weave estimators."""

import warnings

import pytest
from sklearn.base import is_classifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelweave import WeaveClassifier, WeaveClustering
from kernelweave.errors import UndecidedWarning

EXPECTED_FAILURES = {
    "check_classifiers_classes": "it uses -1 as a class, which means unlabelled here",
}


# scikit-learn takes every model with predict_proba and sparse input for a classifier of its four classes
MISTAKEN_FOR_A_CLASSIFIER = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    "it reads the tags of a classifier off a clusterer with predict_proba",
)


def expected_failures(estimator):
    return EXPECTED_FAILURES if is_classifier(estimator) else MISTAKEN_FOR_A_CLASSIFIER


@parametrize_with_checks(
    [
        WeaveClustering(3),
        WeaveClustering(3, graph="knn", embedding="commute"),
        WeaveClustering(3, solver="local"),
        WeaveClassifier(),
        WeaveClassifier(solver="local"),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_s_checks_pass_for_weave(estimator, check):
    with warnings.catch_warnings():
        # the checks label a handful of random samples only
        warnings.simplefilter("ignore", UndecidedWarning)
        check(estimator)


@pytest.mark.slow
@parametrize_with_checks([WeaveClustering(3, consensus=True)], expected_failed_checks=expected_failures)
def test_scikit_learn_s_checks_pass_for_weave_with_consensus(estimator, check):
    check(estimator)
