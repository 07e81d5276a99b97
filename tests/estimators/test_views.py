"""Models of several tables, with and without gaps."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils._param_validation import InvalidParameterError

from kernelweave import (
    PMKLClassifier,
    PMKLClustering,
    SMKLClassifier,
    SMKLClustering,
    Views,
    WeaveClassifier,
    WeaveClustering,
    view_importance,
)
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Cosine, Gaussian, Linear
from kernelweave.metrics import clustering_accuracy

CLUSTERERS = [model(3, kernels="released-7") for model in (SMKLClustering, PMKLClustering, WeaveClustering)]
CLASSIFIERS = [model(kernels="released-7") for model in (SMKLClassifier, PMKLClassifier, WeaveClassifier)]
EVERY = CLUSTERERS + CLASSIFIERS
X, Y = make_blobs(60, n_features=6, centers=3, cluster_std=0.8, random_state=0)
PARTLY = np.where(np.arange(60) % 4 == 0, Y, -1)
COLUMNS = {"left": slice(0, 3), "right": slice(3, 6)}
TABLES = {"left": X[:, :3], "right": X[:, 3:]}
GAPS = {"left": np.arange(0, 12), "right": np.arange(20, 30)}


def named(estimator):
    return type(estimator).__name__


def fit(estimator, data, **parameters):
    model = clone(estimator).set_params(**parameters)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return model.fit(data, PARTLY)


def answer(model):
    return model.transduction_ if hasattr(model, "transduction_") else model.labels_


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_one_view_is_the_same_as_the_table(estimator):
    plain, viewed = fit(estimator, X), fit(estimator, {"all": X})
    assert_allclose(viewed.consensus_kernel_, plain.consensus_kernel_)
    assert_array_equal(answer(viewed), answer(plain))
    assert viewed.kernel_names_ == plain.kernel_names_
    assert viewed.kernel_views_ == ("all",) * len(plain.kernel_names_)
    assert plain.kernel_views_ == ("X",) * len(plain.kernel_names_)


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_views_of_columns_are_the_same_as_tables(estimator):
    by_columns, by_tables = fit(estimator, X, views=COLUMNS), fit(estimator, TABLES)
    assert_array_equal(by_columns.consensus_kernel_, by_tables.consensus_kernel_)
    assert by_columns.view_names_ == by_tables.view_names_ == ("left", "right")
    assert_allclose(by_columns.view_shares_.sum(), 1)
    assert by_columns.n_features_in_ == by_tables.n_features_in_ == 6


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_gaps_leave_finite_answers_that_are_mostly_right_for_self_weighted_kernels(estimator):
    model = fit(estimator, Views(TABLES, missing=GAPS))
    assert np.isfinite(model.consensus_kernel_).all()
    assert np.isfinite(model.embedding_).all()
    if not isinstance(model, PMKLClustering):  # whose parametrised weights may settle on a kernel that knows little
        assert clustering_accuracy(Y, answer(model)) > 0.9


def test_samples_that_share_no_view_leave_the_consensus_positive_semidefinite():
    halves = {"left": np.arange(0, 30), "right": np.arange(30, 60)}
    mixed = {name: rows[rows % 3 == 0] for name, rows in halves.items()}
    K = fit(WeaveClustering(3), Views(TABLES, missing=mixed)).consensus_kernel_
    assert np.linalg.eigvalsh(K).min() > -1e-10
    assert np.isfinite(K[np.ix_(mixed["left"], mixed["right"])]).all()


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_permuting_the_samples_permutes_the_consensus(estimator):
    order = np.random.default_rng(0).permutation(60)
    views = Views(TABLES, missing=GAPS)
    one, other = fit(estimator, views).consensus_kernel_, None
    model = clone(estimator).set_params(**({"random_state": 0} if "random_state" in estimator.get_params() else {}))
    other = model.fit(views.select(order), PARTLY[order]).consensus_kernel_
    assert_allclose(other, one[np.ix_(order, order)], atol=1e-4)


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_rows_of_nan_and_named_gaps_are_the_same(estimator):
    left, right = (table.copy() for table in TABLES.values())
    left[GAPS["left"]], right[GAPS["right"]] = np.nan, np.nan
    by_nan, by_name = fit(estimator, {"left": left, "right": right}), fit(estimator, Views(TABLES, missing=GAPS))
    by_columns = fit(estimator, np.hstack([left, right]), views=COLUMNS)
    assert_array_equal(by_nan.consensus_kernel_, by_name.consensus_kernel_)
    assert_array_equal(by_columns.consensus_kernel_, by_name.consensus_kernel_)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, sparse.csr_array, list], ids=lambda kind: kind.__name__)
def test_tables_may_be_of_any_kind(kind):
    tables = list(map(kind, TABLES.values())) if kind is not list else list(TABLES.values())
    model = fit(WeaveClustering(3, scale="unit"), tables)
    expected = fit(WeaveClustering(3, scale="unit"), TABLES)
    assert_allclose(model.consensus_kernel_, expected.consensus_kernel_, atol=1e-10)
    assert model.view_names_ == ("view 0", "view 1")


def test_frames_in_another_order_give_the_same_model():
    ids = [f"s{i}" for i in range(60)]
    order = np.random.default_rng(1).permutation(60)
    left = pd.DataFrame(TABLES["left"], index=ids)
    right = pd.DataFrame(TABLES["right"], index=ids).iloc[order]
    model = fit(WeaveClustering(3), {"left": left, "right": right})
    assert_array_equal(model.sample_names_, ids)
    assert_array_equal(model.consensus_kernel_, fit(WeaveClustering(3), TABLES).consensus_kernel_)


def test_labels_with_an_index_are_aligned_with_the_views():
    ids = np.array([f"s{i}" for i in range(60)])
    tables = {name: pd.DataFrame(table, index=ids) for name, table in TABLES.items()}
    labels = pd.Series(PARTLY, index=ids).sample(frac=1, random_state=0)
    assert_array_equal(
        WeaveClassifier().fit(tables, labels).transduction_, WeaveClassifier().fit(tables, PARTLY).transduction_
    )
    with pytest.raises(InvalidInputError, match="index of y lacks the sample 's0'"):
        WeaveClassifier().fit(tables, labels.drop("s0"))


def test_labels_with_shuffled_row_numbers_are_refused_beside_views_that_count_rows():
    tables = {name: pd.DataFrame(table) for name, table in TABLES.items()}
    labels = pd.Series(PARTLY).sample(frac=1, random_state=0)
    expected = WeaveClassifier().fit(tables, PARTLY)
    for call in (WeaveClassifier().fit, expected.score):
        with pytest.raises(InvalidInputError, match="The rows of X are counted 0, 1, 2"):
            call(tables, labels)
    found = WeaveClassifier().fit(tables, labels.sort_index())
    assert_array_equal(found.transduction_, expected.transduction_)


@pytest.mark.parametrize("columns", [[0, 1, 2], np.arange(6) < 3, ["a", "b", "c"], slice(None, 3)])
def test_columns_are_given_by_position_mask_name_or_slice(columns):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = fit(WeaveClustering(3), frame, views={"left": columns, "right": slice(3, None)})
    assert_array_equal(model.consensus_kernel_, fit(WeaveClustering(3), TABLES).consensus_kernel_)


def test_every_view_may_have_its_own_kernels_and_scale():
    kernels = {"right": Cosine(), "left": "released-7"}
    model = fit(WeaveClustering(3), TABLES, kernels=kernels, scale={"left": "zscore", "right": "none"})
    assert model.kernel_views_ == ("left",) * 7 + ("right",)
    assert model.kernel_names_[-1] == "right: cosine"
    (version,) = model.scaling_
    assert {name: scaling.method for name, scaling in version.scalings.items()} == {"left": "zscore", "right": "none"}


def test_a_dict_of_named_kernels_goes_for_every_view():
    model = fit(SMKLClustering(3), TABLES, kernels={"near": Gaussian(t=0.1), "line": Linear()})
    assert model.kernel_names_ == ("left: near", "left: line", "right: near", "right: line")


def test_a_model_with_views_works_in_a_pipeline_and_a_grid_search():
    model = make_pipeline(FunctionTransformer(), WeaveClassifier(views=COLUMNS))
    labelled = np.arange(60) % 2 == 0
    split = [(np.arange(60), np.flatnonzero(~labelled))]
    search = GridSearchCV(model, {"weaveclassifier__n_neighbors": [5, 10]}, cv=split)
    assert search.fit(X, Y).best_score_ > 0.9


@pytest.mark.parametrize("estimator", EVERY, ids=named)
@pytest.mark.parametrize("missing", [{}, GAPS], ids=["complete", "gaps"])
def test_kernels_with_the_training_samples_are_those_of_fit(estimator, missing):
    views = Views(TABLES, missing=missing)
    model = fit(estimator, views)
    consensus = model._graph_model.joiner.consensus
    for version in consensus.versions:

        def with_training(new, version=version):
            return version.bank.grams(new.scaled(version.scalings), version.bank.training)

        H = with_training(views.select(slice(5, 25)))
        assert H.shape == (len(model.kernel_names_), 20, 60)
        assert_allclose(H, with_training(views)[:, 5:25])
    assert_allclose(consensus.rows(views.select(slice(5, 25))), consensus.rows(views)[5:25])


@pytest.mark.parametrize(
    "estimator", [PMKLClustering(3), PMKLClassifier(), WeaveClustering(3), WeaveClassifier()], ids=named
)
@pytest.mark.parametrize("missing", [{}, GAPS], ids=["complete", "gaps"])
def test_the_consensus_with_the_training_samples_is_that_of_fit(estimator, missing):
    views = Views(TABLES, missing=missing)
    model = fit(estimator, views)
    rows = model._graph_model.joiner.consensus.rows(views.select(slice(5, 25)))
    assert_allclose(rows, model.consensus_kernel_[5:25], atol=1e-12)


@pytest.mark.parametrize("estimator", [WeaveClustering(3), WeaveClassifier()], ids=named)
def test_training_samples_with_gaps_are_known_again(estimator):
    views = Views(TABLES, missing=GAPS)
    model = fit(estimator, views)
    assert_array_equal(model.predict(views), answer(model))
    assert_array_equal(model.predict(views.select([25, 3])), answer(model)[[25, 3]])


def test_a_classifier_s_labels_may_be_of_any_class():
    names = np.where(PARTLY == -1, "-1", np.array(list("abc"))[Y])
    assert set(WeaveClassifier().fit(Views(TABLES, missing=GAPS), names).transduction_) == set("abc")


BAD = np.where(np.arange(60)[:, None] == 7, [1.0, np.nan, 2.0], X[:, :3])


@pytest.mark.parametrize(
    ("data", "parameters", "message"),
    [
        ({}, {}, "No view was given"),
        ({"a": X, "b": X[:50]}, {}, "'a' has 60, 'b' has 50"),
        ({"a": X, "b": BAD}, {}, "'b' holds NaN or infinity at row 7, column 1"),
        ({"a": X, "b": np.full((60, 2), np.nan)}, {}, "View 'b' has 0 of 60 samples"),
        ({"a": X, "b": "words"}, {}, "'b' must be an array"),
        ([X, np.ones(60)], {}, "'view 1' must be a table"),
        (TABLES, {"kernels": {"left": Linear(), "up": Linear()}}, "kernels must name every view once, or none"),
        (TABLES, {"kernels": {"up": "released-7"}}, "kernels must name every view once, or none"),
        (TABLES, {"kernels": {"left": Linear()}}, "see 'right'"),
        (TABLES, {"views": COLUMNS}, "several tables were given"),
        (X, {"views": {}}, "views must be a dict of names and columns"),
        (X, {"views": {"a": [0, 6]}}, r"views\['a'\] asks for column 6, but X has 6 columns"),
        (X, {"views": {"a": slice(6, 9)}}, r"views\['a'\] = slice\(6, 9, None\) takes no column"),
        (X, {"views": {"a": ["x"]}}, r"views\['a'\] names columns, but X has no texts as names of columns"),
        (
            pd.DataFrame(X, columns=pd.MultiIndex.from_product([["m"], range(X.shape[1])])),
            {"views": {"a": "m"}},
            r"views\['a'\] names columns, but X has no texts as names of columns",
        ),
        (X, {"views": {"a": np.ones(5, dtype=bool)}}, r"mask of shape \(5,\), but X has 6 columns"),
        (pd.DataFrame(X, columns=list("abcdef")), {"views": {"a": ["x"]}}, "column 'x', which X does not have"),
    ],
)
@pytest.mark.parametrize("estimator", [SMKLClustering(3), WeaveClassifier()], ids=named)
def test_views_that_cannot_be_used_are_refused(estimator, data, parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        fit(estimator, data, **parameters)


@pytest.mark.parametrize("estimator", [SMKLClustering(3), WeaveClassifier()], ids=named)
def test_views_that_are_no_dict_are_refused(estimator):
    what = rf"^The 'views' parameter of {named(estimator)} must be an instance of 'collections.abc.Mapping' or None\."
    with pytest.raises(InvalidParameterError, match=rf"{what} Got \['left'\] instead\.$"):
        fit(estimator, X, views=["left"])


@pytest.mark.parametrize("estimator", [SMKLClustering(3), WeaveClassifier()], ids=named)
def test_views_of_columns_are_refused_for_kernel_matrices(estimator):
    with pytest.raises(
        InvalidInputError, match="views= names columns of one table in memory, but kernels are 'precomp"
    ):
        fit(estimator, X @ X.T, views=COLUMNS, kernels="precomputed")


@pytest.mark.parametrize("scale", [{"left": "unit"}, {"left": "unit", "right": "big"}])
def test_scales_that_do_not_fit_the_views_are_refused(scale):
    with pytest.raises(InvalidInputError, match="scale must"):
        fit(WeaveClustering(3), TABLES, scale=scale)


def test_a_view_of_one_column_is_fine():
    model = fit(WeaveClustering(3), {"one": X[:, :1], "rest": X[:, 1:]})
    assert model.view_shares_.shape == (2,)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (X, "fitted on the views left, right; got one table"),
        ({"left": X[:, :3], "up": X[:, 3:]}, "fitted on the views left, right; got left, up"),
        ({"left": X[:, :3], "right": X[:, 2:]}, "'right' has 4 features, but WeaveClassifier is expecting 3"),
    ],
)
def test_other_views_than_those_of_fit_are_refused(data, message):
    model = fit(WeaveClassifier(), TABLES)
    with pytest.raises(InvalidInputError, match=message):
        model.predict(data)


def test_views_are_refused_by_a_model_of_one_table():
    model = fit(WeaveClassifier(), X)
    with pytest.raises(InvalidInputError, match="fitted on one table; got left, right"):
        model.predict(TABLES)


def test_a_second_fit_on_one_table_forgets_the_views_of_the_first():
    model = fit(WeaveClassifier(), TABLES).fit(X, PARTLY)
    assert model.view_names_ == ("X",)
    assert model.view_widths_ == (6,)
    assert set(model.kernel_views_) == {"X"}
    assert_array_equal(model.predict(X), model.transduction_)


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_one_table_is_one_view_that_has_the_whole_share(estimator):
    model = fit(estimator, X)
    assert model.view_names_ == ("X",)
    assert_allclose(model.view_shares_, [1.0], rtol=1e-12)


@pytest.mark.parametrize("estimator", [WeaveClustering(3), SMKLClassifier()], ids=named)
def test_importance_tells_a_view_that_matters_from_noise(estimator):
    noise = np.random.default_rng(0).normal(size=(60, 3))
    tables = {"signal": X, "noise": noise}
    found = view_importance(estimator, tables, PARTLY, n_resamples=3, random_state=0)
    assert found.agreement[1] > 0.9 > found.agreement[0]
    assert_allclose(found.shares.sum(), 1)
    assert found.resampled_shares.shape == (3, 2)
    assert_allclose(found.resampled_shares.sum(axis=1), 1)
    assert str(found).splitlines()[1].startswith("signal")


def test_importance_takes_views_of_columns_gaps_and_kernels_by_view():
    iris, y = load_iris(return_X_y=True)
    iris = np.where(np.arange(150)[:, None] < 20, [np.nan, np.nan, 1, 1], [1.0] * 4) * iris
    model = WeaveClustering(
        3,
        views={"sepal": [0, 1], "petal": [2, 3]},
        kernels={"sepal": Gaussian(), "petal": "released-7"},
        random_state=0,
    )
    found = view_importance(model, iris, y, n_resamples=0)
    assert found.view_names == ("sepal", "petal")
    assert found.score_without.shape == (2,)
    assert np.isnan(found.deviations).all()


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (X, {}, "There is only one view, 'X': importance compares two or more. Pass several tables"),
        ({"all": X}, {}, "only one view, 'all'"),
        (TABLES, {"fraction": 0}, "fraction must lie between 0 and 1"),
        (TABLES, {"n_resamples": -1}, "n_resamples must be a whole number"),
    ],
)
def test_importance_says_what_it_cannot_compare(data, options, message):
    with pytest.raises(InvalidInputError, match=message):
        view_importance(WeaveClustering(3), data, **options)


def test_importance_names_the_solver_that_learns_no_graph():
    with pytest.raises(
        InvalidInputError, match=r'^solver="landmark" learns no graph .*: use solver="dense" or "local"'
    ):
        view_importance(WeaveClustering(3, solver="landmark"), X)


@pytest.mark.parametrize("table", ["frame", "array"])
def test_one_table_for_a_model_of_several_is_refused_by_the_names_that_were_given(table):
    rng = np.random.default_rng(0)
    one = pd.DataFrame(rng.normal(size=(30, 3)), columns=list("abc"))
    two = pd.DataFrame({"x": rng.normal(size=30), "y": np.tile(["p", "q", "r"], 10)})
    model = WeaveClustering(2, kernels={"one": "auto", "two": "mixed"}, random_state=0).fit({"one": one, "two": two})
    message = (
        r"The model was fitted on the views one, two; got one table: pass a dict of tables, such as {'one': table}"
    )
    with pytest.raises(InvalidInputError, match=message):
        model.predict(one if table == "frame" else one.to_numpy())
    with pytest.raises(InvalidInputError, match=r"was fitted on the views one, two; got three\."):
        model.predict({"three": one})
