"""The estimators inside scikit-learn's tools."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.metrics import accuracy_score, adjusted_rand_score, make_scorer
from sklearn.model_selection import GridSearchCV, PredefinedSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave
from kernelweave import KGLClassifier, SMKLClassifier, SMKLClustering, WeaveClassifier, WeaveClustering
from kernelweave.errors import ColumnsWarning

X, Y = load_iris(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(150)
X, Y = X[ORDER], Y[ORDER]
PARTIAL = np.where(np.arange(150) < 60, Y, -1)
CLUSTERERS = [SMKLClustering(3, random_state=0), WeaveClustering(3, random_state=0)]
CLASSIFIERS = [SMKLClassifier(), KGLClassifier(), WeaveClassifier()]


@pytest.mark.parametrize("estimator", CLUSTERERS, ids=repr)
def test_a_clusterer_ends_a_pipeline(estimator):
    pipeline = make_pipeline(StandardScaler(), clone(estimator))
    labels = pipeline.fit_predict(X[:120])
    assert_array_equal(pipeline.predict(X[:120]), labels)
    assert pipeline.predict_proba(X[120:]).shape == (30, 3)


@pytest.mark.parametrize("estimator", CLUSTERERS, ids=repr)
def test_an_embedding_feeds_the_next_step(estimator):
    pipeline = make_pipeline(clone(estimator), KMeans(3, n_init=3, random_state=0)).fit(X[:120])
    assert adjusted_rand_score(Y[120:], pipeline.predict(X[120:])) > 0.5


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
def test_a_classifier_ends_a_pipeline(estimator):
    pipeline = make_pipeline(StandardScaler(), PCA(3), clone(estimator)).fit(X[:120], PARTIAL[:120])
    assert pipeline.score(X[120:], Y[120:]) > 0.7


def held_out_split():
    """Return labels of which every other is hidden, and the split that scores on the hidden ones."""
    labelled = np.flatnonzero(PARTIAL != -1)
    fold = np.full(150, -1)
    fold[labelled] = np.arange(len(labelled)) % 3
    return PredefinedSplit(fold)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
def test_a_grid_is_searched_on_held_out_labels(estimator):
    search = GridSearchCV(clone(estimator), {"gamma": [0.1, 1.0]}, cv=held_out_split()).fit(X, PARTIAL)
    assert search.best_params_["gamma"] in (0.1, 1.0)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0.8
    assert search.predict(X[:3]).shape == (3,)


def test_a_scorer_of_probabilities_works_in_cross_validation():
    scorer = make_scorer(accuracy_score)
    scores = cross_val_score(WeaveClassifier(scale="none"), X, PARTIAL, cv=held_out_split(), scoring=scorer)
    assert scores.shape == (3,)
    assert scores.min() > 0.8


@pytest.mark.parametrize("estimator", CLUSTERERS, ids=repr)
def test_transform_gives_data_frames_on_request(estimator):
    frame = pd.DataFrame(X, columns=list("abcd"), index=[f"sample {i}" for i in range(150)])
    model = clone(estimator).set_output(transform="pandas").fit(frame[:120])
    out = model.transform(frame)
    assert list(out.columns) == list(model.get_feature_names_out())
    assert out.columns[0] == f"{type(model).__name__.lower()}0"
    assert list(out.index) == list(frame.index)
    assert_allclose(out.to_numpy()[:120], model.embedding_)
    assert_array_equal(model.feature_names_in_, list("abcd"))
    # rounding depends on how samples lie in memory, and an entry near 0 of an eigenvector has the error of the largest
    rounding = 1e-7 * np.abs(model.embedding_).max()
    assert_allclose(clone(estimator).fit_transform(X[:120]), model.embedding_, rtol=0, atol=rounding)


def test_columns_are_found_by_their_names_in_any_order():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = WeaveClassifier().fit(frame, PARTIAL)
    assert_array_equal(model.predict(frame[list("dcba")]), model.transduction_)
    with pytest.warns(ColumnsWarning, match="1 column of view 'X' not seen in fit, and not used: 'e'"):
        found = model.predict(frame.assign(e="text")[list("edcba")])
    assert_array_equal(found, model.transduction_)
    with pytest.raises(ValueError, match=r"lacks 1 column that the model was fitted on: 'c'\. Add it;"):
        model.predict(frame[list("abd")])


NAMES = {
    "numbers": range(4),
    "dates": pd.date_range("2020-01-01", periods=4),
    "levels": pd.MultiIndex.from_product([["sepal", "petal"], ["length", "width"]]),
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize(
    "options", [{}, {"views": {"a": [0, 1], "b": [2, 3]}}, {"kernels": "mixed"}], ids=["plain", "views", "mixed"]
)
def test_columns_are_found_by_names_that_are_not_texts(names, options, tmp_path):
    frame = pd.DataFrame(X, columns=names)
    model = WeaveClustering(3, **options, random_state=0).fit(frame)
    model.save(tmp_path / "model.kw")
    new = frame + 0.01
    expected = model.predict(new)
    for fitted in (model, kernelweave.load(tmp_path / "model.kw")):
        assert_array_equal(fitted.predict(new.iloc[:, ::-1]), expected)


def test_names_that_are_not_texts_must_all_be_there():
    frame = pd.DataFrame(X)
    model = WeaveClustering(3, random_state=0).fit(frame)
    with pytest.raises(ValueError, match="lacks 1 column that the model was fitted on: '3'"):
        model.predict(frame[[0, 1, 2]])
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        model.predict(frame.set_axis(list("abcd"), axis=1))  # the first of these has names
    assert not hasattr(WeaveClustering(3, random_state=0).fit(frame).fit(X), "column_names_")


@pytest.mark.parametrize("estimator", [*CLUSTERERS, *CLASSIFIERS], ids=repr)
def test_metadata_routing_may_be_on(estimator):
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), clone(estimator)).fit(X, PARTIAL)
        assert pipeline.predict(X[:3]).shape == (3,)
