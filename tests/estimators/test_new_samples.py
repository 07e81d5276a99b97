"""Samples that were not part of fit: clusters, classes, coordinates, and how sure these are."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score

from kernelweave import (
    KGLClassifier,
    KGLClustering,
    Landmark,
    PMKLClassifier,
    PMKLClustering,
    SMKLClassifier,
    SMKLClustering,
    Views,
    WeaveClassifier,
    WeaveClustering,
)
from kernelweave.core.algebra.matrices import ridge_inverse
from kernelweave.core.graphs.edges import cosine_factors
from kernelweave.errors import InvalidInputError, UndecidedWarning
from kernelweave.kernels import Gaussian

CLUSTERERS = [SMKLClustering(3), KGLClustering(3), WeaveClustering(3), WeaveClustering(3, graph="both")]
CLASSIFIERS = [SMKLClassifier(), KGLClassifier(), PMKLClassifier(), WeaveClassifier(), WeaveClassifier(class_mass=True)]
EVERY = CLUSTERERS + CLASSIFIERS


def named(estimator):
    return repr(estimator)


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(150, n_features=5, centers=3, cluster_std=0.6, random_state=0)
    partial = np.full(150, -1)
    for k in range(3):
        partial[np.flatnonzero(y == k)[:4]] = k
    return X, y, partial


def fitted(estimator, blobs, rows=slice(0, 120)):
    X, _, partial = blobs
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return model.fit(X[rows], partial[rows])


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_new_samples_of_blobs_go_where_they_belong(estimator, blobs):
    X, y, _ = blobs
    model = fitted(estimator, blobs)
    assert adjusted_rand_score(y[120:], model.predict(X[120:])) == 1
    if is_classifier(model):
        assert_array_equal(model.predict(X[120:]), y[120:])
    P = model.predict_proba(X[120:])
    assert P.min() >= 0
    assert_allclose(P.sum(axis=1), 1)
    assert_array_equal(np.asarray(model.predict(X[120:])), getattr(model, "classes_", np.arange(3))[P.argmax(axis=1)])


@pytest.mark.parametrize("estimator", [*EVERY, PMKLClustering(3)], ids=named)
def test_training_samples_get_exactly_their_fitted_answer_among_new_ones(estimator, blobs):
    X, _, _ = blobs
    model = fitted(estimator, blobs)
    answer = model.transduction_ if is_classifier(model) else model.labels_
    distribution = model.label_distributions_ if is_classifier(model) else model.membership_
    mixed = np.r_[130, 5, 140, 7, 7]
    assert_array_equal(model.predict(X[:120]), answer)
    assert_array_equal(model.predict(X[mixed])[[1, 3, 4]], answer[[5, 7, 7]])
    assert_array_equal(model.predict_proba(X[mixed])[[1, 3, 4]], distribution[[5, 7, 7]])
    if not is_classifier(model):
        assert_array_equal(model.transform(X[mixed])[[1, 3]], model.embedding_[[5, 7]])


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_an_answer_does_not_depend_on_the_samples_asked_about_with_it(estimator, blobs):
    X, _, _ = blobs
    model = fitted(estimator, blobs)
    together = model.predict_proba(X[120:])
    assert_allclose(model.predict_proba(X[140:145]), together[20:25], atol=1e-10)


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_the_order_of_the_training_samples_does_not_matter(estimator, blobs):
    X, _, _ = blobs
    first, second = fitted(estimator, blobs), fitted(estimator, blobs, np.random.default_rng(0).permutation(120))
    assert adjusted_rand_score(first.predict(X[120:]), second.predict(X[120:])) == 1


@pytest.mark.parametrize("estimator", [SMKLClustering(3), WeaveClustering(3), WeaveClassifier()], ids=named)
def test_precomputed_kernels_say_the_same_as_samples(estimator, blobs):
    X, _, partial = blobs
    kernels = {f"gaussian {t}": Gaussian(t=t).fit(X[:120]) for t in (0.1, 0.2, 0.5, 1)}
    options = {"scale": "none"} if "scale" in estimator.get_params() else {}
    if isinstance(estimator, WeaveClustering):  # by default samples of few columns are joined by neighbours as well
        estimator = clone(estimator).set_params(graph="ridge")
    from_samples = fitted(clone(estimator).set_params(kernels=kernels, **options), blobs)
    square = {name: kernel.gram(X[:120]) for name, kernel in kernels.items()}
    cross = {name: kernel.gram(X[120:], X[:120]) for name, kernel in kernels.items()}
    model = clone(estimator).set_params(kernels="precomputed")
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    model.fit(square, partial[:120])
    assert_allclose(model.predict_proba(cross), from_samples.predict_proba(X[120:]), atol=1e-6)
    answer = model.transduction_ if is_classifier(model) else model.labels_
    assert_array_equal(model.predict(square), answer)
    some = {name: K[[3, 50]] for name, K in square.items()}
    assert_array_equal(model.predict(some), answer[[3, 50]])


def test_precomputed_kernels_of_the_wrong_shape_are_refused(blobs):
    X, _, _ = blobs
    K = X[:120] @ X[:120].T
    model = KGLClustering(3, kernel="precomputed", random_state=0).fit(K)
    with pytest.raises(InvalidInputError, match=r"expected shape \(30, 120\); got \(30, 119\)"):
        model.predict(X[120:] @ X[:119].T)


@pytest.mark.parametrize("convert", [sparse.csr_array, lambda X: X.astype(np.float32)], ids=["sparse", "float32"])
@pytest.mark.parametrize("estimator", [SMKLClustering(3), WeaveClustering(3), WeaveClassifier()], ids=named)
def test_sparse_and_single_precision_samples_are_predicted(estimator, blobs, convert):
    X, y, partial = blobs
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    model.fit(convert(X[:120]), partial[:120])
    assert adjusted_rand_score(y[120:], model.predict(convert(X[120:]))) == 1


@pytest.mark.parametrize("estimator", [KGLClustering(2, kernel="precomputed"), KGLClassifier(kernel="precomputed")])
def test_a_sample_that_is_similar_to_nothing_is_uniform_flagged_and_warned_of(estimator):
    K = np.kron(np.eye(2), np.full((4, 4), 0.5)) + 0.5 * np.eye(8)
    y = np.array([0, -1, -1, -1, 1, -1, -1, -1])
    model = estimator.fit(K, y)
    new = np.vstack([K[0] * 0.9, np.zeros(8)])
    with pytest.warns(UndecidedWarning, match=r"1 of 2 samples are similar to no training sample .*first: row 1"):
        P = model.predict_proba(new)
    assert_allclose(P[1], 0.5)
    assert P[0].max() > 0.5
    assert_array_equal(model.undecided(new), [False, True])
    with pytest.warns(UndecidedWarning, match="1 of 2 samples"):
        assert model.predict(new).shape == (2,)
    if not is_classifier(model):
        assert_array_equal(model.transform(new)[1], 0)


@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": "landmark"},
        *({"scale": "none", "graph": graph} for graph in ("ridge", "knn", "both")),
    ],
    ids=str,
)
@pytest.mark.parametrize("model", [WeaveClustering(3, random_state=0), WeaveClassifier(random_state=0)], ids=named)
def test_a_sample_far_from_all_others_is_not_joined_to_the_first_of_them(model, parameters):
    X, y = make_blobs(150, n_features=3, centers=[[0] * 3, [50] * 3, [500] * 3], random_state=0)
    fitted = clone(model).set_params(**parameters).fit(X, y)
    far = np.array([[1e6] * 3, [500.0] * 3, [-1e6, 0, 0]])
    with pytest.warns(UndecidedWarning, match="2 of 3 samples are similar to no training sample with an answer"):
        found = fitted.predict(far)
    assert found[1] == fitted.predict(X[y == 2])[0]
    assert_array_equal(fitted.undecided(far), [True, False, True])
    assert_array_equal(fitted.transform(far)[::2] if hasattr(fitted, "transform") else 0, 0)
    if is_classifier(fitted):
        with pytest.warns(UndecidedWarning, match="2 of 3 samples"):
            assert_allclose(fitted.predict_proba(far)[::2], 1 / 3)


def test_a_sample_of_many_that_no_landmark_is_near_has_equal_memberships(monkeypatch):
    monkeypatch.setattr("kernelweave.weave.landmark.learning._LEAST_SAMPLE", 100)
    X, _ = make_blobs(400, n_features=3, centers=3, random_state=0)
    model = WeaveClustering(3, solver=Landmark(5), random_state=0).fit(np.r_[X, [[1e7, 0, 0]]])
    alone = np.flatnonzero(np.ptp(model.membership_, axis=1) == 0)
    assert_array_equal(alone, [400])
    assert_allclose(model.membership_.sum(axis=1), 1, atol=1e-6)


def test_a_sample_near_undecided_ones_only_is_undecided_too():
    K = np.kron(np.eye(3), np.full((3, 3), 0.5)) + 0.5 * np.eye(9)
    y = np.array([0, -1, -1, 1, -1, -1, -1, -1, -1])
    with pytest.warns(UndecidedWarning, match="3 of 9 samples"):
        model = KGLClassifier(kernel="precomputed", alpha=0).fit(K, y)
    with pytest.warns(UndecidedWarning, match="The sample is similar to no training sample"):
        assert_allclose(model.predict_proba(K[6:7] * 0.9), 0.5)


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_predicting_changes_no_attribute(estimator, blobs):
    model = fitted(estimator, blobs)
    before = dict(vars(model))
    model.predict(blobs[0][120:])
    assert vars(model) == before


def test_a_refit_is_not_answered_from_the_fit_before(blobs):
    X, y, _ = blobs
    model = WeaveClustering(3, random_state=0).fit(X[:120])
    model.predict(X[120:])
    model.fit(X[30:])
    assert adjusted_rand_score(y[:30], model.predict(X[:30])) == 1


def digits_as_if_new(estimator):
    X, y = load_digits(return_X_y=True)
    X, y = X[:500], y[:500]
    partial = np.where(np.arange(500) % 5 == 0, y, -1)
    model = estimator.fit(X, partial)
    scores = model._graph_model.scores(Views.of_table(X))
    return model, scores.argmax(axis=1), partial


def test_the_rule_itself_reproduces_the_clusters_of_training_samples():
    model, found, _ = digits_as_if_new(WeaveClustering(10, random_state=0))
    assert np.mean(found == model.labels_) >= 0.99


@pytest.mark.parametrize("estimator", [SMKLClassifier(), KGLClassifier(), WeaveClassifier()], ids=named)
def test_the_rule_itself_reproduces_the_classes_of_unlabelled_samples(estimator):
    model, found, partial = digits_as_if_new(estimator)
    unlabelled = partial < 0
    assert np.mean(model.classes_[found][unlabelled] == model.transduction_[unlabelled]) >= 0.99


def test_new_digits_go_where_a_classifier_fitted_on_all_of_them_puts_them():
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:600]
    X, y = X[rows], y[rows]
    partial = np.where(np.arange(600) % 5 == 0, y, -1)
    partial[480:] = -1
    new = WeaveClassifier().fit(X[:480], partial[:480]).predict(X[480:])
    together = WeaveClassifier().fit(X, partial).transduction_[480:]
    assert np.mean(new == together) >= 0.95
    assert np.mean(new == y[480:]) >= np.mean(together == y[480:]) - 0.03


def test_the_graph_of_smkl_extends_by_its_own_ridge_problem(blobs):
    X, _, _ = blobs
    kernel = Gaussian(t=0.1)
    model = KGLClustering(3, kernel=kernel, scale="none", n_neighbors="all", alpha=0, random_state=0).fit(X[:120])
    K = model.consensus_kernel_
    new, training = Views.of_table(X[120:]), Views.of_table(X[:120])
    joiner = model._graph_model.joiner
    k = joiner.consensus.bank.grams(new, training)[0]
    expected = np.maximum(k @ ridge_inverse(K, gamma=1), 0)
    assert_allclose(joiner.rows(new), expected, atol=1e-10)
    kept = replace(joiner, n_neighbors=10, factors=cosine_factors(model.graph_)).rows(new)
    assert np.count_nonzero(kept, axis=1).max() == 10
    assert_allclose(kept[kept > 0], expected[kept > 0], atol=1e-10)
    cosines = expected / np.sqrt(model.graph_.diagonal())
    assert np.all(np.where(kept > 0, cosines, np.inf).min(axis=1) >= np.where(kept > 0, 0, cosines).max(axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits", "coil20"])
def test_new_samples_are_grouped_as_well_as_the_training_samples_are_by_a_refit(name, request):
    """A refit moves clusters; new samples agree with it as far as the training samples themselves do."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        from kernelweave.datasets import load_dataset

        bunch = load_dataset(name, data_home=request.getfixturevalue("shared_data") / "paper")
        X, y = bunch.data, bunch.target
    c = len(np.unique(y))
    order = np.random.default_rng(0).permutation(len(y))
    old, new = np.split(order, [int(0.8 * len(y))])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UndecidedWarning)
        part = WeaveClustering(c, random_state=0).fit(X[old])
        found = part.predict(X[new])
    whole = WeaveClustering(c, random_state=0).fit(X[np.r_[old, new]]).labels_
    moved = adjusted_rand_score(part.labels_, whole[: len(old)])
    assert adjusted_rand_score(found, whole[len(old) :]) >= moved - 0.03
