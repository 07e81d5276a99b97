"""What every estimator of the library must do: scikit-learn's checks, and ours."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelweave
from kernelweave import (
    KGLClassifier,
    KGLClustering,
    PMKLClassifier,
    PMKLClustering,
    SMKLClassifier,
    SMKLClustering,
    estimators,
)

CLUSTERERS = [SMKLClustering(3), KGLClustering(3), PMKLClustering(3)]
CLASSIFIERS = [SMKLClassifier(), KGLClassifier(), PMKLClassifier()]
EVERY = CLUSTERERS + CLASSIFIERS

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


@parametrize_with_checks(EVERY, expected_failed_checks=expected_failures)
def test_scikit_learn_s_checks_pass(estimator, check):
    with warnings.catch_warnings():
        # the checks fit a handful of random samples for a few iterations only, and skip what is not installed
        warnings.filterwarnings("ignore", message=".* stopped after .* iterations", module="kernelweave|sklearn")
        check(estimator)


def test_every_public_estimator_without_solvers_is_in_the_list():
    public = {getattr(estimators, name) for name in estimators.__all__}
    models = {thing for thing in public if inspect.isclass(thing) and issubclass(thing, BaseEstimator)}
    assert models == {getattr(kernelweave, model.__name__) for model in models}
    solved = {model for model in models if "solver" in inspect.signature(model).parameters}
    assert {type(estimator) for estimator in EVERY} == models - solved


def named(estimator):
    return type(estimator).__name__


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(60, n_features=5, centers=3, cluster_std=0.6, random_state=0)
    partial = np.full(60, -1)
    for k in range(3):
        partial[np.flatnonzero(y == k)[:4]] = k
    return X, y, partial


def fit(estimator, blobs, X=None):
    data = blobs[0] if X is None else X
    return clone(estimator).set_params(random_state=0).fit(data, blobs[2])


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_fitting_leaves_every_promised_attribute(estimator, blobs):
    model = fit(estimator, blobs)
    n, r = 60, len(model.kernel_names_)
    assert model.graph_.shape == model.consensus_kernel_.shape == (n, n)
    assert model.embedding_.shape == (n, 3)
    assert model.kernel_weights_.shape == model.kernel_shares_.shape == (r,)
    assert_allclose(model.kernel_shares_.sum(), 1)
    assert model.n_iter_ == len(model.history_)
    assert model.outcome_.value == "The graph stopped changing."


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_a_fit_is_repeatable_and_survives_pickling(estimator, blobs):
    first, second = fit(estimator, blobs), fit(estimator, blobs)
    assert_array_equal(first.graph_, second.graph_)
    assert_array_equal(pickle.loads(pickle.dumps(first)).graph_, first.graph_)


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_fitting_changes_neither_the_parameters_nor_the_data(estimator, blobs):
    X = blobs[0].copy()
    estimator = clone(estimator)
    before = {name: repr(value) for name, value in estimator.get_params().items()}
    estimator.fit(X, blobs[2])
    assert {name: repr(value) for name, value in estimator.get_params().items()} == before
    assert_array_equal(X, blobs[0])


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_well_separated_blobs_are_told_apart(estimator, blobs):
    from kernelweave.metrics import clustering_accuracy

    model = fit(estimator, blobs)
    found = model.transduction_ if is_classifier(model) else model.labels_
    assert clustering_accuracy(blobs[1], found) == 1


@pytest.mark.parametrize("estimator", EVERY, ids=named)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_graph_has_the_precision_of_the_samples(estimator, blobs, dtype):
    model = fit(estimator, blobs, X=blobs[0].astype(dtype))
    assert model.graph_.dtype == model.consensus_kernel_.dtype == model.embedding_.dtype == dtype


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_the_precision_may_be_asked_for(estimator, blobs):
    model = fit(clone(estimator).set_params(dtype="float32"), blobs)
    assert model.graph_.dtype == np.float32


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_progress_is_shown_on_request_only(estimator, blobs, capsys):
    fit(estimator, blobs)
    silent = capsys.readouterr()
    assert silent.out == silent.err == ""
    model = fit(clone(estimator).set_params(verbose=1), blobs)
    scaling, *iterations = capsys.readouterr().err.splitlines()
    assert f"[{named(estimator)}] scale of X: " in scaling
    assert [f"iteration {i}/" in line for i, line in enumerate(iterations, start=1)] == [True] * model.n_iter_


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_the_number_of_threads_changes_nothing_beyond_rounding(estimator, blobs):
    one, two = (fit(clone(estimator).set_params(n_jobs=n), blobs) for n in (1, 2))
    assert_allclose(one.graph_, two.graph_, atol=1e-10)
