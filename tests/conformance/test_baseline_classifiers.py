"""What every semi-supervised comparison method must do: scikit-learn's checks, and ours."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelweave import baselines
from kernelweave.baselines import GFHF, LGC, S2LRR, S3R, SCAN, LaplaceLearning, PoissonLearning
from kernelweave.errors import NewSamplesError
from kernelweave.kernels import Gaussian

# S3R and S2LRR tell directions apart; in the space of a Gaussian kernel, blobs have their own
CLASSIFIERS = [GFHF(), LGC(), SCAN(), S3R(Gaussian(t=0.1), lam=10), S2LRR(Gaussian(t=0.1), lam=10)]
CLASSIFIERS += [LaplaceLearning(n_neighbors=25), PoissonLearning(n_neighbors=25)]  # the blobs hold 20 samples each
CHECKED = [GFHF(), LGC(), SCAN(), S3R(), S2LRR(code_max_iter=10, tol=0.1)]  # its ADMM is slow on 300 samples
CHECKED += [LaplaceLearning(), PoissonLearning()]

EXPECTED_FAILURES = {
    "check_fit_idempotent": "it predicts samples that were not part of fit, which these methods cannot",
    "check_classifiers_classes": "it uses -1 as a class, which means unlabelled here",
}


def expected_failures(estimator):
    return EXPECTED_FAILURES


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_scikit_learn_s_checks_pass(estimator, check):
    with warnings.catch_warnings():
        # the checks fit a handful of random samples for a few iterations only
        warnings.filterwarnings("ignore", message=".*raise (max_iter|code_max_iter)", module="kernelweave|sklearn")
        check(estimator)


def test_every_public_classifier_is_in_both_lists():
    public = {getattr(baselines, name) for name in baselines.__all__}
    assert {type(estimator) for estimator in CLASSIFIERS} == {model for model in public if is_classifier(model())}
    assert {type(estimator) for estimator in CHECKED} == {type(estimator) for estimator in CLASSIFIERS}


def named(estimator):
    return type(estimator).__name__


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(60, n_features=5, centers=3, cluster_std=0.6, random_state=0)
    partial = np.full(60, -1)
    for k in range(3):
        partial[np.flatnonzero(y == k)[:4]] = k
    return X, y, partial


def dense(graph):
    return graph.toarray() if sparse.issparse(graph) else graph


def fit(estimator, blobs, X=None):
    return clone(estimator).fit(blobs[0] if X is None else X, blobs[2])


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_well_separated_blobs_are_told_apart(estimator, blobs):
    X, y, _ = blobs
    model = fit(estimator, blobs)
    assert_array_equal(model.transduction_, y)
    assert_array_equal(model.predict(X[::-1]), y[::-1])
    assert not model.undecided_.any()


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_distributions_sum_to_one_and_have_the_precision_of_the_samples(estimator, blobs):
    for dtype in (np.float32, np.float64):
        model = fit(estimator, blobs, X=blobs[0].astype(dtype))
        assert model.graph_.dtype == model.label_distributions_.dtype == dtype
        assert model.label_distributions_.min() >= 0
        assert_allclose(model.label_distributions_.sum(axis=1), 1, rtol=1e-5)
        assert model.graph_.min() >= 0


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_a_fit_is_repeatable_and_survives_pickling(estimator, blobs):
    first, second = fit(estimator, blobs), fit(estimator, blobs)
    assert_array_equal(dense(first.graph_), dense(second.graph_))
    again = pickle.loads(pickle.dumps(first))
    assert_array_equal(again.predict_proba(blobs[0]), first.label_distributions_)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_fitting_changes_neither_the_parameters_nor_the_data(estimator, blobs):
    X = blobs[0].copy()
    X.flags.writeable = False
    estimator = clone(estimator)
    before = {name: repr(value) for name, value in estimator.get_params().items()}
    estimator.fit(X, blobs[2])
    assert {name: repr(value) for name, value in estimator.get_params().items()} == before


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_a_precomputed_kernel_says_the_same_as_the_kernel(estimator, blobs):
    X, _, partial = blobs
    kernel = Gaussian(t=0.1)
    K = kernel.fit(X).gram(X)
    from_samples = clone(estimator).set_params(kernel=kernel).fit(X, partial)
    from_matrix = clone(estimator).set_params(kernel="precomputed").fit(K, partial)
    assert_allclose(from_matrix.label_distributions_, from_samples.label_distributions_, atol=1e-6)
    assert_array_equal(from_matrix.predict(K), from_matrix.transduction_)
    assert_array_equal(from_matrix.predict(K[7:9]), from_matrix.transduction_[7:9])
    with pytest.raises(NewSamplesError, match=r"60 of 60 samples were not part of fit \(first: row 0\)"):
        from_matrix.predict(K + np.eye(60))


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_new_samples_are_refused(estimator, blobs):
    model, X = fit(estimator, blobs), blobs[0]
    with pytest.raises(NewSamplesError, match=r"^The sample was not part of fit\. .*call fit again with them included"):
        model.predict(X[:1] + 1)
    with pytest.raises(NewSamplesError, match=r"^1 of 3 samples was not part of fit \(first: row 2\)\."):
        model.predict(np.vstack([X[:2], X[:1] + 1]))


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_names_of_classes_may_be_words(estimator, blobs):
    X, y, partial = blobs
    names = np.array(["ash", "beech", "cedar", "-1"])
    model = clone(estimator).fit(X, names[partial])
    assert_array_equal(model.transduction_, names[y])


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_the_labels_of_unlabelled_samples_are_not_an_input(estimator, blobs):
    X, y, partial = blobs
    order = np.random.default_rng(0).permutation(60)
    permuted = clone(estimator).fit(X[order], partial[order])
    assert_array_equal(permuted.transduction_, y[order])
    assert_allclose(permuted.label_distributions_, fit(estimator, blobs).label_distributions_[order], atol=1e-4)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_the_number_of_threads_changes_nothing_beyond_rounding(estimator, blobs):
    one, two = (fit(clone(estimator).set_params(n_jobs=n), blobs) for n in (1, 2))
    assert_allclose(one.label_distributions_, two.label_distributions_, atol=1e-8)
