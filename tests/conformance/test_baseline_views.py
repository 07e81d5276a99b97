"""Baselines read samples as every estimator does: models of several kernels take views, those of one refuse them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_blobs

import kernelweave
from kernelweave import Views, baselines
from kernelweave.baselines import GMC, NEMO, SCAN, SNF, LaplaceLearning, PoissonLearning
from kernelweave.baselines._table_clusterer import TableClusterer
from kernelweave.errors import ColumnsWarning, InvalidInputError
from kernelweave.kernels import Gaussian
from kernelweave.metrics import clustering_accuracy

WIDE = {"wide": Gaussian(t=0.15), "wider": Gaussian(t=0.2)}
ANY_KERNEL = (SCAN, GMC, NEMO, SNF, LaplaceLearning, PoissonLearning)  # one `kernel`, for every view
WITHOUT_GAPS = (GMC, SNF, TableClusterer)
SMALL = {"n_clusters": 3, "random_state": 0, "kernels": WIDE, "n_anchors": 20}


def models(wanted):
    """Return the public baselines whose class, and parameters, are wanted, for small data."""
    public = [getattr(baselines, name)() for name in baselines.__all__]
    chosen = [model for model in public if wanted(type(model), model.get_params())]
    return [
        model.set_params(
            **{name: value for name, value in SMALL.items() if model.get_params().get(name, "auto") != "auto"}
        )
        for model in chosen
    ]


SEVERAL = models(lambda model, given: "kernels" in given or model in ANY_KERNEL)
TABLES = models(lambda _, given: not {"kernel", "kernels"} & set(given))
ONE = models(lambda model, given: "kernel" in given and model not in ANY_KERNEL)


def named(estimator):
    return type(estimator).__name__


every_model = pytest.mark.parametrize("estimator", SEVERAL + ONE + TABLES, ids=named)
several_tables = pytest.mark.parametrize("estimator", SEVERAL + TABLES, ids=named)
several_kernels = pytest.mark.parametrize("estimator", SEVERAL, ids=named)
with_gaps = pytest.mark.parametrize("estimator", [e for e in SEVERAL if not isinstance(e, WITHOUT_GAPS)], ids=named)
without_gaps = pytest.mark.parametrize(
    "estimator", [e for e in SEVERAL + TABLES if isinstance(e, WITHOUT_GAPS)], ids=named
)
one_kernel = pytest.mark.parametrize("estimator", ONE, ids=named)


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(60, n_features=6, centers=3, cluster_std=0.6, random_state=0)
    return X, y, np.where(np.arange(60) % 4, -1, y)


@pytest.fixture(scope="module")
def tables(blobs):
    return {"left": blobs[0][:, :3], "right": blobs[0][:, 3:]}


def fit(estimator, X, blobs):
    return clone(estimator).fit(X, blobs[2])


def found(model):
    return model.transduction_ if is_classifier(model) else model.labels_


def test_every_public_baseline_is_tested():
    assert sorted(map(named, SEVERAL + TABLES + ONE)) == sorted(baselines.__all__)
    assert all(isinstance(model, TableClusterer) for model in TABLES)


@several_tables
def test_a_dict_of_tables_is_views(estimator, tables, blobs):
    model = fit(estimator, tables, blobs)
    assert clustering_accuracy(blobs[1], found(model)) == 1
    assert model.view_names_ == ("left", "right")
    assert model.n_features_in_ == 6
    assert_allclose(model.view_shares_.sum(), 1)
    assert (model.view_shares_ >= 0).all()
    if type(model) not in map(type, TABLES):
        assert set(model.kernel_views_) == {"left", "right"}
        pairs = zip(model.kernel_names_, model.kernel_views_, strict=True)
        assert all(name.startswith(f"{view}: ") for name, view in pairs)


@several_tables
@pytest.mark.parametrize("form", [list, tuple])
def test_a_list_of_tables_is_the_same_views_with_numbers_for_names(estimator, form, tables, blobs):
    model = fit(estimator, form(tables.values()), blobs)
    assert model.view_names_ == ("view 0", "view 1")
    assert_array_equal(found(model), found(fit(estimator, tables, blobs)))
    assert_allclose(model.view_shares_, fit(estimator, tables, blobs).view_shares_, atol=1e-8)


@with_gaps
def test_views_may_lack_samples(estimator, tables, blobs):
    gaps = Views(tables, missing={"left": [0, 1, 30], "right": [2, 59]})
    model = fit(estimator, gaps, blobs)
    assert found(model).shape == (60,)
    assert clustering_accuracy(blobs[1], found(model)) == 1
    assert_allclose(model.view_shares_.sum(), 1)


@with_gaps
def test_rows_of_nan_are_the_same_gaps(estimator, tables, blobs):
    spoilt = {name: table.copy() for name, table in tables.items()}
    spoilt["left"][[0, 1, 30]] = np.nan
    gaps = fit(estimator, Views(tables, missing={"left": [0, 1, 30]}), blobs)
    assert_array_equal(found(fit(estimator, spoilt, blobs)), found(gaps))


@without_gaps
def test_a_method_that_cannot_take_gaps_says_which_views_have_them_and_what_can(estimator, tables, blobs):
    gaps = Views(tables, missing={"left": [0, 1, 30]})
    refusal = (
        rf"^{named(estimator)} needs every sample in every view, but 'left' lacks 3 samples of 60\. Remove samples "
        "that lack a view, or use a method that takes gaps: NEMO or WeaveClustering"
    )
    with pytest.raises(InvalidInputError, match=refusal):
        fit(estimator, gaps, blobs)


@several_tables
def test_frames_with_an_index_are_aligned_by_it(estimator, tables, blobs):
    pd = pytest.importorskip("pandas")
    names = [f"sample {i}" for i in range(60)]
    left, right = (pd.DataFrame(table, index=names) for table in tables.values())
    y = pd.Series(blobs[2], index=names)
    model = clone(estimator).fit({"left": left, "right": right.iloc[::-1]}, y)
    assert model.sample_names_.tolist() == names
    assert_array_equal(found(model), found(fit(estimator, tables, blobs)))


def test_scan_answers_for_the_samples_of_its_views_only(tables, blobs):
    gaps = Views(tables, missing={"left": [0, 1, 30]})
    model = fit(SCAN(), gaps, blobs)
    assert_array_equal(model.predict(gaps), model.transduction_)
    assert_array_equal(model.predict(gaps.select([30, 2])), model.transduction_[[30, 2]])
    assert_array_equal(model.predict({"right": tables["right"][[30, 0]]}), model.transduction_[[30, 0]])
    with pytest.raises(InvalidInputError, match="The model was fitted on the views left, right; got left, up"):
        model.predict({"left": tables["left"], "up": tables["right"]})


@one_kernel
@pytest.mark.parametrize("form", [dict, lambda tables: list(tables.values()), Views], ids=["dict", "list", "views"])
def test_a_model_of_one_kernel_refuses_several_views(estimator, form, tables, blobs):
    names = "view 0, view 1" if isinstance(form(tables), list) else "left, right"
    refusal = rf"^{named(estimator)} learns from one kernel of one table, but X holds 2 views \({names}\): pass one"
    with pytest.raises(InvalidInputError, match=refusal):
        fit(estimator, form(tables), blobs)


@one_kernel
def test_a_model_of_one_kernel_asks_for_a_table_of_numbers_where_it_was_given_a_mixed_one(estimator, blobs):
    mixed = pd.DataFrame({"size": blobs[0][:, 0], "kind": np.array(["up", "down", "left"])[blobs[1]]})
    refusal = r"X holds 2 views \(numbers, categories\): pass one table of numbers, or use"
    with pytest.warns(ColumnsWarning, match="read as a mixed table"), pytest.raises(InvalidInputError, match=refusal):
        fit(estimator, mixed, blobs)


@one_kernel
def test_a_model_of_one_kernel_refuses_several_kernel_matrices(estimator, blobs):
    K = blobs[0] @ blobs[0].T
    refusal = rf"^{named(estimator)} learns from one kernel matrix; got 2\. Pass one"
    with pytest.raises(InvalidInputError, match=refusal):
        fit(clone(estimator).set_params(kernel="precomputed"), np.stack([K, K]), blobs)


@every_model
def test_one_view_is_the_table(estimator, blobs):
    X = blobs[0]
    model, view = fit(estimator, X, blobs), fit(estimator, {"only": X}, blobs)
    assert_array_equal(found(view), found(model))
    assert (model.view_names_, view.view_names_) == (("X",), ("only",))
    assert_allclose(view.view_shares_, [1.0])
    assert_allclose(model.view_shares_, [1.0])
    if type(model) not in map(type, TABLES):
        assert view.kernel_names_ == model.kernel_names_
        assert_array_equal(view.kernel_shares_, model.kernel_shares_)


@every_model
def test_samples_in_chunks_are_refused(estimator, blobs):
    with pytest.raises(
        InvalidInputError, match=rf"{named(estimator)} takes samples in memory, but X is read in chunks"
    ):
        fit(estimator, kernelweave.Chunks([blobs[0][:30], blobs[0][30:]]), blobs)


@pytest.mark.parametrize("estimator", TABLES, ids=named)
def test_models_without_kernels_report_none(estimator):
    X, _ = make_blobs(60, n_features=4, centers=3, random_state=0)
    model = clone(estimator).fit({"one": X[:, :2], "two": X[:, 2:]})
    assert not any(hasattr(model, f"kernel_{what}_") for what in ("names", "views", "shares"))
    assert_allclose(model.view_shares_, [0.5, 0.5])
    assert "Share of every kernel" not in model._repr_html_()
