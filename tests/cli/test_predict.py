"""`kernelweave predict`: probabilities as columns, and files that are read in parts."""

import json

import numpy as np
import pandas as pd
import pytest

import kernelweave
from kernelweave import WeaveClassifier, WeaveClustering

PARTS = [1, 7, 1000]


@pytest.fixture
def model(table, tmp_path):
    """Save a model of the four features."""
    WeaveClustering(3, random_state=0).fit(table.loc[:44, list("abcd")]).save(tmp_path / "model.kw")
    return "model.kw"


@pytest.fixture
def mixed(tmp_path):
    """Write a table of numbers, categories and booleans with missing cells, and save a model of its first rows."""
    rng = np.random.default_rng(0)
    group = np.arange(60) % 3
    frame = pd.DataFrame({"size": (group * 5 + rng.normal(size=60)).round(2), "count": group * 10 + np.arange(60) % 4})
    frame["colour"] = np.array(["red", "green", "blue"])[group]
    frame["open"] = group == 1
    frame.loc[[3, 33], "size"] = np.nan
    frame.loc[[5, 50], "colour"] = None
    frame.to_csv(tmp_path / "mixed.csv", index=False)
    frame.to_parquet(tmp_path / "mixed.parquet")
    WeaveClustering(3, kernels="mixed", random_state=0).fit(frame[:40]).save(tmp_path / "mixed.kw")
    return frame


def test_the_probability_of_every_cluster_is_a_column(run, csv, table, model):
    code, _, err = run("predict", model, csv, "--id", "name", "--proba", "--out", "new.csv")
    assert code == 0, err
    found = pd.read_csv("new.csv", dtype={"id": str})
    assert list(found) == ["id", "label", "confidence", "p_0", "p_1", "p_2"]
    expected = kernelweave.load(model).predict_proba(table[list("abcd")])
    np.testing.assert_allclose(found[["p_0", "p_1", "p_2"]], expected, atol=1e-6)
    np.testing.assert_allclose(found["confidence"], expected.max(axis=1), atol=1e-4)


def test_clusters_that_hardly_stand_out_are_not_called_certain(run, tmp_path):
    noise = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)), columns=list("abcd"))
    noise.insert(0, "id", [f"s{i}" for i in range(60)])
    noise.to_csv(tmp_path / "noise.csv", index=False)
    code, _, err = run("cluster", "noise.csv", "-k", 3, "--out", "result", "--quiet")
    assert code == 0, err
    code, _, err = run("predict", "result", "noise.csv", "--proba", "--out", "new.csv", "--quiet")
    assert code == 0, err
    fitted, found = pd.read_csv("result/labels.csv"), pd.read_csv("new.csv")
    model = kernelweave.load("result/model.kw")
    assert model.clarity_ < 0.5
    np.testing.assert_allclose(found[["p_0", "p_1", "p_2"]], model.predict_proba(noise[list("abcd")]), atol=1e-6)
    pd.testing.assert_frame_equal(found[["id", "label", "confidence"]], fitted, atol=2e-4)


def test_the_confidence_is_that_of_the_label_which_need_not_be_the_likeliest(run, table, csv, tmp_path):
    fitted = WeaveClustering(3, random_state=0).fit(table[list("abcd")])
    fitted._graph_model.distributions[0] = np.roll([0.3, 0.7, 0.0], fitted.labels_[0])
    fitted.save(tmp_path / "doubtful.kw")
    model = kernelweave.load("doubtful.kw")
    code, _, err = run("predict", "doubtful.kw", csv, "--id", "name", "--out", "new.csv", "--quiet")
    assert code == 0, err
    expected = model.predict_proba(table[list("abcd")])[range(len(table)), model.labels_]
    np.testing.assert_allclose(pd.read_csv("new.csv")["confidence"], expected, atol=1e-4)


def test_the_probability_of_every_class_has_its_name(run, csv, table, tmp_path):
    WeaveClassifier().fit(table[list("abcd")], table["kind"].where(table.index % 3 == 0, "-1")).save("classes.kw")
    _, out, _ = run("predict", "classes.kw", csv, "--id", "name", "--proba", "--json", "--quiet")
    first = json.loads(out)[0]
    assert set(first["probabilities"]) == {"red", "green", "blue"}
    assert sum(first["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert first["label"] == max(first["probabilities"], key=first["probabilities"].get)


@pytest.mark.parametrize("rows", PARTS)
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet"])
def test_a_file_read_in_parts_is_predicted_as_the_whole(run, table, model, kind, rows, tmp_path):
    path, new = tmp_path / f"new.{kind}", table.drop(columns="kind")
    if kind == "parquet":
        new.to_parquet(path)
    else:
        new.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    _, whole, _ = run("predict", model, path, "--id", "name", "--proba", "--chunk-rows", 0, "--quiet")
    code, parts, err = run("predict", model, path, "--id", "name", "--proba", "--chunk-rows", rows, "--quiet")
    assert code == 0, err
    assert parts == whole
    assert len(whole.splitlines()) == 61


@pytest.mark.parametrize("rows", [7, 30])
@pytest.mark.parametrize("file", ["mixed.csv", "mixed.parquet"])
def test_a_mixed_table_read_in_parts_is_predicted_as_the_whole(run, mixed, file, rows):
    _, whole, _ = run("predict", "mixed.kw", file, "--proba", "--quiet")
    code, parts, err = run("predict", "mixed.kw", file, "--proba", "--chunk-rows", rows, "--quiet")
    assert code == 0, err
    assert parts == whole


def test_rows_without_ids_are_numbered_through(run, table, model, tmp_path):
    table[list("abcd")].to_csv("new.csv", index=False)
    _, out, _ = run("predict", model, "new.csv", "--chunk-rows", 25, "--quiet")
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == [str(i) for i in range(1, 61)]


def test_a_decimal_comma_holds_for_all_parts(run, table, model):
    table[["name", *"abcd"]].to_csv("new.csv", index=False, sep=";", decimal=",")
    _, whole, _ = run("predict", model, "new.csv", "--id", "name", "--quiet")
    _, parts, _ = run("predict", model, "new.csv", "--id", "name", "--quiet", "--chunk-rows", 9)
    assert parts == whole


def test_progress_is_told_after_every_part(run, csv, model):
    _, _, err = run("predict", model, csv, "--id", "name", "--chunk-rows", 25, "--out", "new.csv")
    assert "25 samples predicted\n50 samples predicted\n60 samples predicted" in err


def test_the_file_that_was_written_is_printed_unless_quiet(run, csv, model):
    code, out, _ = run("predict", model, csv, "--id", "name", "--out", "new.csv")
    assert (code, out) == (0, "new.csv\n")
    code, out, _ = run("predict", model, csv, "--id", "name", "--out", "new.csv", "--force", "--quiet")
    assert (code, out) == (0, "")


def test_large_files_are_read_in_parts_unless_asked_otherwise(run, csv, model, monkeypatch):
    monkeypatch.setattr("kernelweave.cli.predict._LARGE", 100)
    monkeypatch.setattr("kernelweave.cli.predict._ROWS", 40)
    _, _, err = run("predict", model, csv, "--id", "name", "--out", "new.csv")
    assert "40 samples predicted" in err
    _, _, err = run("predict", model, csv, "--id", "name", "--chunk-rows", 0, "--out", "new.csv", "--force")
    assert "samples predicted" not in err


def test_an_error_in_a_later_part_leaves_no_file_behind(run, table, model, tmp_path):
    table.loc[50, "b"] = np.nan
    table.drop(columns="kind").to_csv("new.csv", index=False)
    code, _, err = run("predict", model, "new.csv", "--id", "name", "--chunk-rows", 20, "--out", "found.csv")
    assert code == 2
    assert "column 'b' has no value in row 11" in err
    assert "counted from row 41 of the file" in err
    assert not (tmp_path / "found.csv").exists()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [("colour", 7, None), ("count", "many", "column 'count' holds numbers or dates at first, but texts after row 40")],
)
def test_a_column_whose_kind_changes_is_refused_in_parts(run, mixed, column, value, message):
    mixed = mixed.astype({column: object})
    mixed.loc[45, column] = value
    mixed.to_csv("new.csv", index=False)
    code, _, err = run("predict", "mixed.kw", "new.csv", "--chunk-rows", 20, "--quiet", "--out", "found.csv")
    assert code == (0 if message is None else 2), err
    assert message is None or (message in err and "--chunk-rows 0" in err)


def test_an_id_that_occurs_in_two_parts_is_refused(run, table, model):
    table.loc[50, "name"] = "003"
    table.drop(columns="kind").to_csv("new.csv", index=False)
    code, _, err = run("predict", model, "new.csv", "--id", "name", "--chunk-rows", 20, "--out", "found.csv")
    assert code == 2
    assert "the id '003' occurs more than once" in err


@pytest.mark.parametrize("given", [["--transpose"], ["--view", "more=data.csv"]])
def test_only_one_file_is_read_in_parts(refused, csv, model, given):
    message = refused("predict", model, csv, "--chunk-rows", 10, *given)
    assert "--chunk-rows reads one text or Parquet file at a time" in message


def test_a_damaged_file_is_named_in_parts_too(refused, model, tmp_path):
    (tmp_path / "new.parquet").write_bytes(b"PAR1 and no more")
    assert "new.parquet cannot be read as .parquet" in refused("predict", model, "new.parquet", "--chunk-rows", 10)


@pytest.mark.parametrize(("value", "said"), [(np.nan, "has no value in row 4"), ("much", "holds 'much' in row 4")])
def test_no_option_is_suggested_that_leaves_out_a_column_of_the_model(refused, table, model, value, said):
    table = table.drop(columns="kind").astype({"b": object})
    table.loc[3, "b"] = value
    table.to_csv("new.csv", index=False)
    message = refused("predict", model, "new.csv", "--id", "name")
    assert f"column 'b' {said}" in message
    assert "The model was fitted on this column: correct the file, or leave the row out." in message
    assert "--drop" not in message
    assert "settles" not in message
