"""Tables are explained by the names of their samples, where a model was fitted on tables with an index."""

import anndata
import numpy as np
import pandas as pd
import pytest

import kernelweave
from kernelweave import WeaveClassifier, WeaveClustering
from kernelweave.errors import InvalidInputError
from kernelweave.explain import associate, compare_clusterings, explain_clusters, explain_sample
from kernelweave.samples.labels import in_sample_order

N = 40
GROUP = np.arange(N) % 2
IDS = pd.Index([f"s{i}" for i in range(N)])
RNG = np.random.default_rng(0)
ONE = pd.DataFrame(RNG.normal(size=(N, 4)) + 4 * GROUP[:, None], index=IDS, columns=list("abcd"))
TWO = pd.DataFrame(RNG.normal(size=(N, 3)) - 4 * GROUP[:, None], index=IDS, columns=list("xyz"))[4:]
VIEWS = {"one": ONE, "two": TWO}
SHUFFLED = {"two": TWO.sample(frac=1, random_state=1), "one": ONE.sample(frac=1, random_state=0)}
KNOWN = pd.DataFrame({"group": np.array(["p", "q"])[GROUP], "age": RNG.normal(size=N)}, index=IDS)


@pytest.fixture(scope="module")
def model():
    return WeaveClustering(2, random_state=0).fit(VIEWS)


def table_of(found):
    return found.features.sort_values(["cluster", "view", "feature"]).drop(columns="rank").reset_index(drop=True)


def test_clusters_are_explained_alike_whatever_the_order_of_tables_and_rows(model):
    expected, found = (table_of(explain_clusters(model, X)) for X in (VIEWS, SHUFFLED))
    assert (expected["separation"] > 0.9).all()
    pd.testing.assert_frame_equal(found, expected)
    annotated = {name: anndata.AnnData(table) for name, table in SHUFFLED.items()}
    pd.testing.assert_frame_equal(table_of(explain_clusters(model, annotated)), expected)


def test_one_of_the_tables_is_explained_by_its_names_too(model):
    expected = explain_clusters(model, ONE).features
    pd.testing.assert_frame_equal(explain_clusters(model, SHUFFLED["one"]).features, expected)
    pd.testing.assert_frame_equal(
        explain_clusters(model, ONE.to_numpy()).features.drop(columns="feature"), expected.drop(columns="feature")
    )


def test_the_test_of_features_does_not_depend_on_the_order(model):
    found = explain_clusters(model, SHUFFLED["one"], test=True, n_splits=2)
    assert min(found.recovered) > 0.9
    assert (found.features["p_value"] < 0.01).all()


def test_a_sample_is_explained_by_its_own_values(model):
    found = explain_sample(model, SHUFFLED, 7).features.set_index("feature")
    for name in "abcd":
        assert found.loc[name, "value"] == pytest.approx(ONE.loc["s7", name])


def test_metadata_are_aligned_by_their_index_and_may_lack_samples(model):
    whole = associate(model, KNOWN).table.set_index("column")
    assert whole.loc["group", "value"] == pytest.approx(1)
    pd.testing.assert_frame_equal(associate(model, KNOWN[::-1]).table.set_index("column"), whole)
    some = associate(model, KNOWN[::-2]).table.set_index("column")
    assert some["n_known"].tolist() == [N // 2, N // 2]


def test_metadata_of_more_samples_are_read_for_those_of_the_model():
    model = WeaveClassifier().fit({"one": ONE[:30], "two": TWO[:26]}, GROUP[:30])
    assert associate(model, KNOWN[::-1]).table.set_index("column").loc["group", "value"] == pytest.approx(1)


def test_other_names_are_refused(model):
    other = ONE.rename(index=str.upper)
    for call in (lambda: explain_clusters(model, other), lambda: associate(model, other)):
        with pytest.raises(InvalidInputError, match=r"The index of X names 0 of the model's 40 samples, and not 's0'"):
            call()
    with pytest.raises(InvalidInputError, match="names 39 of the model's 40 samples, and not 's3'"):
        explain_clusters(model, ONE.rename(index={"s3": "t3"}))
    with pytest.raises(InvalidInputError, match="X must hold the model's 40 samples; got 30 rows"):
        explain_clusters(model, ONE[:30])


def test_an_index_that_counts_rows_is_no_name(model):
    expected = explain_clusters(model, ONE).features
    pd.testing.assert_frame_equal(explain_clusters(model, ONE.reset_index(drop=True)).features, expected)


# models of one table

INDEXES = {
    "texts": IDS,
    "numbers": pd.Index(np.arange(N)[::-1] * 3),
    "dates": pd.date_range("2020-01-01", periods=N, freq="h"),
    "dates with a zone": pd.date_range("2020-01-01", periods=N, freq="D", tz="Europe/Berlin"),
    "categories": pd.CategoricalIndex(IDS),
    "two levels": pd.MultiIndex.from_arrays([IDS, np.arange(N)]),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
@pytest.mark.parametrize("mixed", [False, True], ids=["numbers", "mixed"])
def test_one_table_is_explained_by_its_index_in_any_order_also_by_a_loaded_model(index, mixed, tmp_path):
    table = ONE.set_axis(index)
    table = table.assign(kind=np.array(["p", "q"])[GROUP]) if mixed else table
    fitted = WeaveClustering(2, kernels="mixed" if mixed else "auto", random_state=0).fit(table)
    fitted.save(tmp_path / "model.kw")
    expected = explain_clusters(fitted, table).features
    turned, known = table.sample(frac=1, random_state=0), KNOWN.set_axis(index)[::-1]
    for model in (fitted, kernelweave.load(tmp_path / "model.kw")):
        pd.testing.assert_frame_equal(explain_clusters(model, turned).features, expected)
        pd.testing.assert_frame_equal(
            explain_sample(model, turned, 7).features, explain_sample(model, table, 7).features
        )
        assert associate(model, known).table.set_index("column").loc["group", "value"] == pytest.approx(1)


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
@pytest.mark.parametrize("solver", ["dense", "local"])
def test_several_tables_have_the_names_of_one_table_and_are_aligned_by_them_also_by_a_loaded_model(
    solver, index, tmp_path
):
    table = ONE.set_axis(index)
    tables = {"one": table, "two": table[::-1] + 1}
    truth = pd.Series(GROUP, index=index)
    fitted = WeaveClassifier(solver=solver).fit(tables, truth.where(np.arange(N) % 5 == 0, -1)[::-1])
    assert fitted.sample_names_.tolist() == WeaveClustering(2, random_state=0).fit(table).sample_names_.tolist()
    assert fitted.transduction_.tolist() == GROUP.tolist()
    fitted.save(tmp_path / "model.kw")
    loaded = kernelweave.load(tmp_path / "model.kw")
    assert loaded.sample_names_.tolist() == fitted.sample_names_.tolist()
    assert loaded.predict(tables).tolist() == GROUP.tolist()
    assert loaded.score(tables, truth[::-1]) == 1
    assert np.asarray(in_sample_order(truth[::-1], loaded.sample_names_, "labels")).tolist() == GROUP.tolist()
    turned = {name: rows.sample(frac=1, random_state=0) for name, rows in tables.items()}
    found, expected = explain_clusters(loaded, turned), explain_clusters(fitted, tables)
    pd.testing.assert_frame_equal(found.features, expected.features)


@pytest.mark.parametrize("series", [False, True], ids=["array", "series"])
def test_the_test_of_one_table_takes_labels_in_the_order_of_fit(series):
    y = pd.Series(GROUP, index=IDS) if series else GROUP
    model = WeaveClassifier().fit(ONE, y)
    turned = ONE.iloc[np.r_[1:N, 0]]  # every row has a label of the other class there
    expected, found = (explain_clusters(model, X, y=y, test=True, n_splits=2) for X in (ONE, turned))
    assert min(found.recovered) == 1
    pd.testing.assert_frame_equal(found.features, expected.features)


@pytest.mark.parametrize(
    "index",
    [None, ["a"] * N, [None, *IDS[1:]]],
    ids=["counts rows", "not unique", "with a gap"],
)
def test_an_index_that_names_no_samples_is_not_kept(index):
    table = ONE.reset_index(drop=True) if index is None else ONE.set_axis(pd.Index(index))
    assert WeaveClustering(2, random_state=0).fit(table).sample_names_ is None


def test_the_index_of_one_table_does_not_align_labels_or_predictions():
    model = WeaveClassifier().fit(ONE, GROUP)
    assert model.sample_names_.tolist() == IDS.tolist()
    other = ONE.rename(index=str.upper)[::-1]
    assert model.predict(other).tolist() == GROUP[::-1].tolist()
    assert model.score(other, GROUP[::-1]) == 1


def test_rows_that_are_counted_are_refused_where_fit_had_the_same_numbers_in_another_order():
    table = ONE.reset_index(drop=True)
    shuffled = table.sample(frac=1, random_state=0)
    model = WeaveClustering(2, random_state=0).fit(shuffled)
    expected = explain_clusters(model, shuffled).features
    for call in (explain_clusters, associate):
        with pytest.raises(
            InvalidInputError, match=r"counted from 0, but .* pass X.loc\[model.sample_names_\], or X.to"
        ):
            call(model, table)
    pd.testing.assert_frame_equal(explain_clusters(model, table.loc[model.sample_names_]).features, expected)


@pytest.mark.parametrize("several", [False, True], ids=["one table", "views"])
def test_shuffled_row_numbers_are_refused_where_the_rows_of_fit_were_counted(several):
    counted = ONE.reset_index(drop=True)
    table, turned = ({"one": X[["a", "b"]], "two": X[["c", "d"]]} if several else X for X in (counted, counted[::-1]))
    model = WeaveClustering(2, random_state=0).fit(table)
    for call in (explain_clusters, associate):
        with pytest.raises(InvalidInputError, match=r"fit were counted from 0, but .* pass X.sort_index\(\), or X.res"):
            call(model, turned)
    expected = explain_clusters(model, table).features
    again = counted[::-1].sort_index()
    again = {"one": again[["a", "b"]], "two": again[["c", "d"]]} if several else again
    pd.testing.assert_frame_equal(explain_clusters(model, again).features, expected)


def test_views_that_count_rows_are_refused_where_fit_had_the_same_numbers_in_another_order():
    counted = ONE.reset_index(drop=True)
    fitted, given = ({"one": X[["a", "b"]], "two": X[["c", "d"]]} for X in (counted[::-1], counted))
    model = WeaveClustering(2, random_state=0).fit(fitted)
    with pytest.raises(InvalidInputError, match=r"The rows of X are counted from 0, but the samples of fit"):
        explain_clusters(model, given)


def test_shuffled_row_numbers_are_taken_by_position_by_a_model_of_an_array():
    shuffled = ONE.reset_index(drop=True).sample(frac=1, random_state=0)
    model = WeaveClustering(2, random_state=0).fit(shuffled.to_numpy())
    assert explain_clusters(model, shuffled).features["separation"].min() > 0.9


def test_labels_with_an_index_are_explained_by_their_names():
    labels = pd.Series(GROUP, index=IDS)
    expected = explain_clusters(labels, ONE).features
    pd.testing.assert_frame_equal(explain_clusters(labels, ONE[::-1]).features, expected)
    pd.testing.assert_frame_equal(explain_clusters(labels[::-1], ONE).features, expected)
    assert (expected["separation"] > 0.9).all()
    assert associate(labels, KNOWN[::-1]).table.set_index("column").loc["group", "value"] == pytest.approx(1)
    with pytest.raises(InvalidInputError, match="The index of X names 0 of the model's 40 samples"):
        explain_clusters(labels, ONE.rename(index=str.upper))


def test_labels_that_count_rows_are_not_explained_by_shuffled_row_numbers():
    rows = ONE.reset_index(drop=True)
    with pytest.raises(InvalidInputError, match="the rows of X have the same numbers in another order"):
        explain_clusters(pd.Series(GROUP), rows[::-1])
    with pytest.raises(InvalidInputError, match="The rows of X are counted from 0"):
        explain_clusters(pd.Series(GROUP)[::-1], rows)


def test_clusterings_are_compared_by_the_names_of_their_samples(model):
    labels = pd.Series(model.labels_, index=model.sample_names_)
    for other in (labels[::-1], WeaveClustering(2, random_state=0).fit(SHUFFLED)):
        assert compare_clusterings(model, other).ari == pytest.approx(1)
    with pytest.raises(InvalidInputError, match=r"the second does not have 's3' \(1 of 40 in all\)"):
        compare_clusterings(model, labels.rename(index={"s3": "t3"}))
    counted = pd.Series(model.labels_)
    assert compare_clusterings(model, counted).ari == pytest.approx(1)
    for pair in ((counted, counted[::-1]), (counted[::-1], counted)):
        with pytest.raises(InvalidInputError, match="the same numbers in another order"):
            compare_clusterings(*pair)


def test_a_sample_is_explained_by_its_name(model):
    assert explain_sample(model, SHUFFLED, "s7").features.equals(explain_sample(model, SHUFFLED, 7).features)
    with pytest.raises(InvalidInputError, match=r"There is no sample 's99': model.sample_names_ holds 's0', 's1'"):
        explain_sample(model, VIEWS, "s99")


def test_a_table_that_lacks_samples_is_refused_with_what_to_do(model):
    with pytest.raises(InvalidInputError, match=r"got 36 rows. Pass all tables of the fit, or reindex"):
        explain_clusters(model, TWO)
    found = explain_clusters(model, TWO.reindex(model.sample_names_)).features
    assert (found["separation"] > 0.9).all()
