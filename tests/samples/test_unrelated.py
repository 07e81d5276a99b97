"""Categories that are related to no other column: which are left out, and which stay."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import kernelweave
from kernelweave import SMKLClassifier, SMKLClustering, Views, WeaveClassifier, WeaveClustering
from kernelweave.errors import ColumnsWarning
from kernelweave.kernels import Mixed
from kernelweave.samples import unrelated
from kernelweave.samples.mixed_table import ColumnChoices
from kernelweave.samples.unrelated import without_unrelated

N = 150
RNG = np.random.default_rng(0)
GROUP = RNG.integers(0, 3, N)
NUMBERS = pd.DataFrame(RNG.normal(size=(N, 3)) + 2.5 * RNG.normal(size=(3, 3))[GROUP]).add_prefix("x")
NOISE = pd.DataFrame({f"noise {j}": RNG.choice(["a", "b", "c"], N) for j in range(3)})
SITE = np.where(RNG.random(N) < 0.8, np.array(["n", "s", "w"])[GROUP], "n")
TABLE = pd.concat([NUMBERS, NOISE], axis=1).assign(site=SITE)


def kept(table, labels=None, **choices):
    """Return the columns of categories of a table that stay."""
    tables = table if isinstance(table, dict) else {"X": table}
    views = Views(tables, choices=ColumnChoices(**choices))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnsWarning)
        found = without_unrelated(views, labels)
    names = [
        column.name
        for reading in found.readings.values()
        if hasattr(reading, "blocks")
        for column in reading.blocks.get("categories", ())
    ]
    return names, found


def quietly(action, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnsWarning)
        return action(*arguments)


# what is left out


def test_categories_of_noise_are_left_out_with_a_warning_and_others_stay():
    with pytest.warns(ColumnsWarning, match=r"3 columns of 'X' are left out, since each is related to no other column"):
        found = without_unrelated(Views({"X": TABLE}, choices=ColumnChoices()))
    assert found.names == ("numbers", "categories")
    assert found.widths == (3, 3)
    assert set(found.readings["X"].left_out) == set(NOISE)
    assert set(found.readings["X"].left_out.values()) == {"it is related to no other column"}
    told = str(found.readings["X"]).split("\n")
    assert {f"{name}: left out (it is related to no other column)" for name in NOISE} <= set(told)
    table = TABLE.drop(columns=list(NOISE))
    again = Views({"X": table}, choices=ColumnChoices())
    for one, other in zip(found.tables, again.tables, strict=True):
        assert_array_equal(one, other)


def test_without_any_related_category_the_numbers_are_left():
    names, found = kept(TABLE.drop(columns="site"))
    assert names == []
    assert found.names == ("numbers",)


def test_noise_is_rarely_kept_and_weak_relations_rarely_lost():
    rng = np.random.default_rng(1)
    stays = {"noise": 0, "weak": 0}
    for _ in range(60):
        X = rng.normal(size=(200, 6))
        weak = np.where(rng.random(200) < 0.5, X[:, 2] > 0, rng.random(200) < 0.5)  # right in three of four samples
        table = pd.DataFrame(X).add_prefix("x").assign(noise=rng.choice(["a", "b", "c"], 200), weak=weak.astype(str))
        for name in kept(table)[0]:
            stays[name] += 1
    assert stays["noise"] <= 3
    assert stays["weak"] >= 57


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neither_the_order_of_the_samples_nor_the_precision_matters(dtype):
    order = np.random.default_rng(5).permutation(N)
    views = Views({"X": TABLE.iloc[order].reset_index(drop=True)}, choices=ColumnChoices()).astype(dtype)
    found = quietly(without_unrelated, views)
    assert set(found.readings["X"].left_out) == set(NOISE)


@pytest.mark.parametrize("most", [60, 2000])
def test_of_many_samples_some_are_compared_and_the_same_in_every_order(monkeypatch, most):
    monkeypatch.setattr(unrelated, "_MOST", most)
    order = np.random.default_rng(5).permutation(N)
    assert kept(TABLE)[0] == kept(TABLE.iloc[order].reset_index(drop=True))[0]


def test_columns_of_all_views_are_compared_sparse_ones_too():
    rng = np.random.default_rng(3)
    city = np.array(["n", "s"])[GROUP % 2]
    clinic = pd.DataFrame({"city": city, "coin": rng.choice(["h", "t"], N), "age": rng.normal(size=N)})
    genes = sparse.csr_array(np.where(rng.random((N, 40)) < 0.3, 1.0, 0) * (1 + (GROUP % 2)[:, None]))
    for form in (genes, genes.toarray()):
        views = Views({"clinic": clinic, "genes": form}, choices={"clinic": ColumnChoices()})
        found = quietly(without_unrelated, views)
        assert set(found.readings["clinic"].left_out) == {"coin"}
        assert found.names == ("clinic: numbers", "clinic: categories", "genes")


# what stays


def test_columns_whose_kind_was_chosen_stay():
    assert kept(TABLE, kinds={"noise 1": "category"})[0] == ["noise 1", "site"]


def test_columns_that_labels_depend_on_stay():
    labels = np.where(np.arange(N) % 3 == 0, (NOISE["noise 2"] == "a").to_numpy().astype(int), -1)
    assert kept(TABLE, labels)[0] == ["noise 2", "site"]


def test_nothing_is_left_out_where_too_few_samples_are_known():
    assert len(kept(TABLE[:49])[0]) == 4
    table = TABLE.copy()
    table.loc[49:, "noise 0"] = None
    assert kept(table)[0] == ["noise 0", "site"]


def test_a_table_of_unrelated_categories_alone_keeps_all_of_them():
    assert kept(NOISE)[0] == list(NOISE)
    assert kept({"words": NOISE, "numbers": NUMBERS})[0] == list(NOISE)


def test_no_sample_loses_all_of_its_cells():
    table = TABLE.copy()
    table.loc[7, [*NUMBERS, "site"]] = None
    names, found = kept(table)
    assert len(names) == 4
    assert found.n_samples == N
    assert kept(table, gaps=False)[0] == ["site"]  # its cells are filled


def test_a_sample_whose_only_known_category_is_left_out_lacks_that_view():
    table = TABLE.copy()
    table.loc[7, "site"] = None
    _, found = kept(table)
    assert not found.present[1, 7]
    assert found.present.sum() == 2 * N - 1
    again = quietly(lambda: Views({"X": table}, readings=found.readings))
    assert_array_equal(again.present, found.present)
    for one, other in zip(found.tables, again.tables, strict=True):
        assert_array_equal(one, other)


# in models


@pytest.mark.parametrize("estimator", [WeaveClustering(3), SMKLClustering(3), WeaveClassifier(), SMKLClassifier()])
def test_models_answer_alike_for_the_same_table_and_for_a_saved_model(estimator, tmp_path):
    labels = np.where(np.arange(N) % 5 == 0, GROUP, -1)
    model = quietly(estimator.set_params(random_state=0).fit, TABLE, labels)
    answer = model.labels_ if hasattr(model, "labels_") else model.transduction_
    assert model.n_features_in_ == 6
    assert model.view_widths_ == (3, 3)
    assert_array_equal(quietly(model.predict, TABLE), answer)
    model.save(tmp_path / "model.kw")
    loaded = kernelweave.load(tmp_path / "model.kw")
    assert_array_equal(loaded.predict(TABLE[[*NUMBERS, "site"]]), answer)


@pytest.mark.parametrize("solver", ["dense", "local"])
def test_clusters_do_not_follow_categories_of_noise(solver):
    table = TABLE.drop(columns="site")
    choices = Mixed(kinds=dict.fromkeys(NOISE, "category"))
    noisy = WeaveClustering(3, kernels=choices, solver=solver, random_state=0).fit(table)
    model = quietly(WeaveClustering(3, solver=solver, random_state=0).fit, table)
    alone = WeaveClustering(3, kernels="mixed", solver=solver, random_state=0).fit(NUMBERS)
    assert_array_equal(model.labels_, alone.labels_)
    assert adjusted_rand_score(GROUP, model.labels_) > adjusted_rand_score(GROUP, noisy.labels_) + 0.2


def test_few_labels_are_not_spread_along_categories_of_noise():
    table = TABLE.drop(columns="site")
    labels = np.full(N, -1)
    for k in range(3):
        labels[np.flatnonzero(k == GROUP)[:5]] = k
    model = quietly(WeaveClassifier().fit, table, labels)
    choices = Mixed(kinds=dict.fromkeys(NOISE, "category"))
    noisy = WeaveClassifier(kernels=choices).fit(table, labels)
    new = labels < 0
    for one in (model, noisy):  # labels tell that the categories say nothing
        assert (one.transduction_ == GROUP)[new].mean() > 0.78
        assert dict(zip(one.view_names_, one.view_shares_, strict=True)).get("categories", 0) < 0.1


@pytest.mark.parametrize("solver", ["dense", "local"])
@pytest.mark.parametrize("labelled", [[0, 1], [0, 1, 2]])
def test_labelled_samples_may_all_lack_the_categories(solver, labelled):
    table = TABLE.iloc[np.argsort(GROUP != 0, kind="stable")].reset_index(drop=True)
    group = np.sort(GROUP != 0).astype(int)
    labelled = [*labelled, N - 1]
    table.loc[labelled[:2] + labelled[-1:], [*NOISE, "site"]] = None
    labels = np.full(N, -1)
    labels[labelled] = group[labelled]
    kernels = Mixed(gaps=solver == "dense")
    model = quietly(WeaveClassifier(kernels=kernels, solver=solver, random_state=0).fit, table, labels)
    assert (model.transduction_ == group).mean() > 0.7
