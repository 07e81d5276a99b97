"""Every estimator with every solver has every method: the whole matrix, cell by cell."""

from __future__ import annotations

import inspect
import pickle
import re
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.datasets import load_iris

import kernelweave
from kernelweave import (
    Chunks,
    KGLClassifier,
    KGLClustering,
    Landmark,
    Local,
    PMKLClassifier,
    PMKLClustering,
    SMKLClassifier,
    SMKLClustering,
    Views,
    WeaveClassifier,
    WeaveClustering,
    estimators,
)
from kernelweave.errors import InvalidInputError, NotEnoughMemoryError
from kernelweave.kernels import Linear
from kernelweave.metrics import clustering_accuracy
from kernelweave.report import model_report
from kernelweave.weave import choice

X, y = load_iris(return_X_y=True)
X, y = X[::2], y[::2]
PART = np.where(np.arange(len(y)) % 3, -1, y)
NEW = X[:6] + 0.01

SMALL = {"local": Local(n_candidates=20), "landmark": Landmark(n_landmarks=20)}
SOLVERS = ("auto", *choice.SOLVERS, *(SMALL.get(name, solver) for name, solver in choice.SOLVERS.items()))
CLUSTERERS = [
    *(WeaveClustering(3, random_state=0, solver=solver) for solver in SOLVERS),
    *(cls(3, random_state=0) for cls in (SMKLClustering, KGLClustering, PMKLClustering)),
]
CLASSIFIERS = [
    *(WeaveClassifier(random_state=0, solver=solver) for solver in SOLVERS),
    *(cls() for cls in (SMKLClassifier, KGLClassifier, PMKLClassifier)),
]


def test_every_public_estimator_with_every_solver_is_in_the_matrix():
    public = {getattr(estimators, name) for name in estimators.__all__}
    models = {thing for thing in public if inspect.isclass(thing) and issubclass(thing, BaseEstimator)}
    assert {type(model) for model in (*CLUSTERERS, *CLASSIFIERS)} == models
    solved = {model for model in models if "solver" in inspect.signature(model).parameters}
    pairs = {(type(model), repr(model.solver)) for model in (*CLUSTERERS, *CLASSIFIERS) if type(model) in solved}
    assert pairs == {(model, repr(solver)) for model in solved for solver in SOLVERS}


def test_every_public_solver_is_in_the_matrix_by_its_word_and_as_an_object():
    public = {thing for thing in map(kernelweave.__getattr__, kernelweave.__all__) if hasattr(thing, "supports")}
    assert {type(solver) for solver in SOLVERS if not isinstance(solver, str)} == public
    assert {solver for solver in SOLVERS if isinstance(solver, str)} == {"auto", *(cls.name for cls in public)}


def name(model):
    solver = getattr(model, "solver", None)
    return f"{type(model).__name__}-{solver}"


@pytest.fixture(scope="module", params=[*CLUSTERERS, *CLASSIFIERS], ids=name)
def model(request):
    fitted = clone(request.param)
    return fitted.fit(X, PART) if is_classifier(fitted) else fitted.fit(X)


def groups(model):
    return model.classes_ if is_classifier(model) else np.arange(3)


def test_fit_gives_one_label_for_every_sample(model):
    labels = model.transduction_ if is_classifier(model) else model.labels_
    assert labels.shape == (len(X),)
    assert set(labels) <= set(groups(model))


def test_fit_predict_gives_the_labels_of_fit(model):
    if is_classifier(model):
        assert_array_equal(clone(model).fit(X, PART).predict(X), model.predict(X))
    else:
        assert_array_equal(clone(model).fit_predict(X), model.labels_)


def test_predict_proba_is_a_distribution_whose_largest_entry_is_the_prediction(model):
    P = model.predict_proba(NEW)
    assert P.shape == (len(NEW), 3)
    assert_allclose(P.sum(axis=1), 1, rtol=1e-5)
    assert_array_equal(groups(model)[P.argmax(axis=1)], model.predict(NEW))


FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
FORMS = {
    "frame": lambda frame: frame,
    "dict": lambda frame: {"X": frame},
    "Views": lambda frame: Views({"X": frame}),
    "Chunks": Chunks,
}
if find_spec("anndata"):
    FORMS["AnnData"] = lambda frame: import_module("anndata").AnnData(frame.set_axis(frame.index.astype(str)))


@pytest.mark.filterwarnings("ignore::kernelweave.errors.UndecidedWarning")
@pytest.mark.parametrize(
    ("estimator", "given"),
    [
        pytest.param(estimator, given, id=f"{name(estimator)}-{given}")
        for estimator in (*CLUSTERERS, *CLASSIFIERS)
        for given in FORMS  # only landmarks are fitted on chunks
        if given != "Chunks" or getattr(estimator, "solver", None) in ("landmark", Landmark(n_landmarks=20))
    ],
)
def test_columns_are_found_by_their_names_whatever_the_forms_of_the_table(estimator, given):
    model = clone(estimator).fit(FORMS[given](FRAME), PART)
    expected = model.predict(FORMS[given](FRAME))
    for form in FORMS.values():
        assert_array_equal(model.predict(form(FRAME[["d", "b", "a", "c"]])), expected)
        with pytest.raises(InvalidInputError, match=r"lacks (1 column .* fitted on: 'a'|the column 'a')"):
            model.predict(form(FRAME.rename(columns={"a": "other"})))


@pytest.mark.parametrize("columns", [["a", "b", "c", "d"], [10, 11, 12, 13]])
@pytest.mark.parametrize("estimator", [WeaveClustering(3, random_state=0), SMKLClassifier()], ids=name)
def test_tables_in_place_of_named_columns_of_one_are_found_by_their_names(estimator, columns):
    frame = FRAME.set_axis(columns, axis=1)
    model = clone(estimator).set_params(views={"left": [0, 1, 2], "right": [3]}).fit(frame, PART)
    tables = {"right": frame[columns[3:]], "left": frame[[columns[2], columns[0], columns[1]]]}
    assert_array_equal(model.predict(tables), model.predict(frame))
    assert_array_equal(model.predict(Views(tables)), model.predict(frame))
    model.predict({"right": X[:, 3:], "left": X[:, :3]})  # arrays have no names


class Three(WeaveClustering):
    def __init__(self, solver="auto"):
        super().__init__(3, solver=solver, random_state=0)


class Scaled(WeaveClassifier):
    def __init__(self, solver="auto"):
        super().__init__(scale="zscore", solver=solver, random_state=0)


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_a_subclass_with_fewer_parameters_is_fitted_as_its_base(solver):
    clusters, classes = Three(solver).fit(X), Scaled(solver).fit(X, PART)
    assert_array_equal(clusters.labels_, WeaveClustering(3, solver=solver, random_state=0).fit(X).labels_)
    whole = WeaveClassifier(scale="zscore", solver=solver, random_state=0).fit(X, PART)
    assert_array_equal(classes.predict_proba(NEW), whole.predict_proba(NEW))
    assert all(len(model_report(model)) > 1000 for model in (clusters, classes))


def test_training_samples_are_answered_as_in_fit(model):
    expected = model.transduction_ if is_classifier(model) else model.labels_
    unlabelled = PART == -1 if is_classifier(model) else np.ones(len(X), dtype=bool)
    assert_array_equal(model.predict(X)[unlabelled], expected[unlabelled])


def test_one_new_sample_alone_gets_the_answer_it_gets_among_others(model):
    for method in ("predict", "predict_proba", "undecided", "transform"):
        if hasattr(model, method):
            answer = getattr(model, method)
            assert_allclose(answer(NEW[:1]), answer(NEW)[:1], rtol=1e-5, atol=1e-6)


NOISE = np.random.default_rng(0).normal(size=(150, 8))  # whose clusters do not stand out


@pytest.mark.parametrize("table", [X, NOISE], ids=["iris", "noise"])
@pytest.mark.parametrize("clusterer", CLUSTERERS, ids=name)
def test_new_samples_that_nearly_equal_training_samples_get_their_clusters(clusterer, table):
    model = clone(clusterer).fit(table)
    found = model.predict(table + 1e-7 * np.random.default_rng(1).normal(size=table.shape))
    assert np.mean(found == model.labels_) > 0.9
    assert set(found) == set(model.labels_)


def test_transform_places_samples_in_the_embedding(model):
    if is_classifier(model):
        assert not hasattr(model, "transform")
        return
    Z = model.transform(NEW)
    assert Z.shape == (len(NEW), model.embedding_.shape[1])
    assert np.isfinite(Z).all()
    assert list(model.get_feature_names_out()) == [f"{type(model).__name__.lower()}{i}" for i in range(Z.shape[1])]


def test_no_sample_near_the_training_samples_is_undecided(model):
    assert_array_equal(model.undecided(NEW), np.zeros(len(NEW), dtype=bool))


def test_confidence_is_the_membership_in_the_own_group(model):
    if is_classifier(model):
        assert model.label_distributions_.shape == (len(X), 3)
        return
    assert_array_equal(model.confidence_, model.membership_[np.arange(len(X)), model.labels_])
    assert (model.margin_ <= model.confidence_ + 1e-6).all()


def test_views_and_kernels_have_names_and_shares(model):
    assert model.view_names_ == ("X",)
    assert_allclose(model.view_shares_, [1.0], rtol=1e-6)
    assert len(model.kernel_names_) == len(model.kernel_shares_) == len(model.kernel_views_)


def test_a_saved_model_answers_as_before(model, tmp_path):
    model.save(tmp_path / "model.kw")
    again = kernelweave.load(tmp_path / "model.kw")
    assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    assert_array_equal(again.predict(X), model.predict(X))
    if not is_classifier(model):
        assert_array_equal(again.transform(NEW), model.transform(NEW))


def test_a_pickled_model_answers_as_before(model):
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))


def test_the_report_and_the_notebook_picture_can_be_made(model):
    assert "<html" in model_report(model, X=X)
    assert "75 samples in 3" in model._repr_html_()


def test_help_documents_every_attribute(model):
    documented = re.findall(r"\w+", inspect.getdoc(type(model)).split("Attributes\n----------\n")[1])
    found = [name for name in (*vars(model), *dir(type(model))) if re.fullmatch(r"[a-z]\w*_", name)]
    assert "kernel_shares_" in found
    assert [name for name in found if name not in documented] == []


def test_a_prediction_changes_no_attribute(model):
    before = dict(vars(model))
    model.predict(NEW)
    assert vars(model) == before


@pytest.mark.parametrize("cls", [WeaveClustering, WeaveClassifier])
def test_a_refit_with_another_solver_leaves_no_attribute_of_the_first(cls):
    arguments = (X, PART) if cls is WeaveClassifier else (X,)
    model = cls(random_state=0) if cls is WeaveClassifier else cls(3, random_state=0)
    for solver in ("dense", "local", "landmark"):
        fresh = clone(model).set_params(solver=solver).fit(*arguments)
        assert set(vars(model.set_params(solver=solver).fit(*arguments))) == set(vars(fresh))


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_one_component_is_not_the_constant_one(solver):
    model = WeaveClustering(2, n_components=1, scale="none", random_state=0, solver=solver).fit(X)
    assert model.embedding_.shape == (len(X), 1)
    assert clustering_accuracy(y > 0, model.labels_) == 1  # the first class lies apart


@pytest.mark.parametrize("solver", ["dense", "local"])
@pytest.mark.parametrize("views", [list, tuple])
def test_a_list_of_tables_is_views_for_every_solver(solver, views):
    model = WeaveClustering(3, random_state=0, solver=solver).fit(views([X[:, :2], X[:, 2:]]))
    assert model.labels_.shape == (len(X),)
    assert model.view_names_ == ("view 0", "view 1")


@pytest.mark.parametrize("memory", [1e3, 1e5, 1e6, 1e7, 1e9])
def test_a_list_of_tables_is_never_read_as_chunks_when_memory_is_short(memory, monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", str(memory))
    model = WeaveClustering(3, random_state=0)
    if memory < 1e6:
        with pytest.raises(NotEnoughMemoryError, match=r"The dense graph of 75 samples needs about .* more than the"):
            model.fit([X[:, :2], X[:, 2:]])
    else:
        assert model.fit([X[:, :2], X[:, 2:]]).labels_.shape == (len(X),)


@pytest.mark.parametrize("cls", [WeaveClustering, SMKLClustering])
def test_a_model_of_precomputed_kernels_does_not_keep_them(cls, tmp_path):
    H = np.stack([np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / t) for t in range(1, 21)])
    model = cls(3, kernels="precomputed", random_state=0).fit(H)
    model.save(tmp_path / "model.kw")
    assert (tmp_path / "model.kw").stat().st_size < H.nbytes / 4
    assert_array_equal(kernelweave.load(tmp_path / "model.kw").predict(H[:, :6]), model.labels_[:6])


@pytest.mark.parametrize("solver", ["dense", "local", "landmark"])
def test_a_scale_by_view_must_name_the_view_for_every_solver(solver):
    model = WeaveClustering(3, random_state=0, solver=solver, scale={"X": "unit"}).fit(X)
    (version,) = model.scaling_
    assert version.scalings["X"].method == "unit"
    with pytest.raises(InvalidInputError, match="scale must name every view: the views are X; got a"):
        WeaveClustering(3, solver=solver, scale={"a": "unit"}).fit(X)


@pytest.mark.parametrize("solver", ["dense", "local", "landmark"])
@pytest.mark.parametrize("form", ["dict", "list", "columns"])
def test_the_only_view_keeps_its_name_with_every_solver(solver, form):
    views, table = ({"a": [0, 1, 2, 3]}, X) if form == "columns" else (None, {"dict": {"a": X}, "list": [X]}[form])
    view = "view 0" if form == "list" else "a"
    for model in (WeaveClustering(3, views=views, random_state=0), WeaveClassifier(views=views, random_state=0)):
        plain = clone(model).set_params(solver=solver, views=None).fit(X, PART)
        model.set_params(solver=solver, scale={view: "unit"}, kernels={view: [Linear()]}).fit(table, PART)
        assert (model.view_names_, set(model.kernel_views_)) == ((view,), {view})
        assert_allclose(model.view_shares_, [1])
        assert [set(version.scalings) for version in model.scaling_] == [{view}]
        model.set_params(scale="auto", kernels="auto").fit(table, PART)
        assert_array_equal(model.predict(table), plain.predict(X))
