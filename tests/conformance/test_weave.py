"""scikit-learn's checks for the Weave estimators."""

import warnings

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelweave import WeaveClassifier, WeaveClustering
from kernelweave.errors import UndecidedWarning

EXPECTED_FAILURES = {
    "check_fit_idempotent": "it predicts samples that were not part of fit, which comes with a later version",
    "check_classifiers_classes": "it uses -1 as a class, which means unlabelled here",
}


def expected_failures(estimator):
    return EXPECTED_FAILURES if hasattr(estimator, "predict") else {}


@parametrize_with_checks(
    [WeaveClustering(3), WeaveClustering(3, graph="knn", embedding="commute"), WeaveClassifier()],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_s_checks_pass_for_weave(estimator, check):
    with warnings.catch_warnings():
        # the checks label a handful of random samples only
        warnings.simplefilter("ignore", UndecidedWarning)
        check(estimator)


@pytest.mark.slow
@parametrize_with_checks([WeaveClustering(3, consensus=True)])
def test_scikit_learn_s_checks_pass_for_weave_with_consensus(estimator, check):
    check(estimator)
