"""Metadata, labels in a file of their own, and what the commands say of them."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def few(table):
    """Write the features, and the classes of every third sample in a file of their own, in another order."""
    table.drop(columns="kind").to_csv("data.csv", index=False)
    known = table.loc[::3, ["name", "kind"]].iloc[::-1]
    known.to_csv("labels.csv", index=False)
    return table


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_features_are_written_in_original_units(run, csv, table, tmp_path):
    assert run("cluster", csv, "--id", "name", "-k", 3, "--out", "found")[0] == 0
    features = pd.read_csv(tmp_path / "found" / "features.csv")
    labels = pd.read_csv(tmp_path / "found" / "labels.csv")["label"]
    row = features.iloc[0]
    inside = labels == row["cluster"]
    assert row["median_in"] == pytest.approx(table[row["feature"]][inside].median(), rel=1e-4)
    assert row["mean_out"] == pytest.approx(table[row["feature"]][~inside].mean(), rel=1e-4)
    assert "p_value" not in features
    assert "data.csv: 3 clusters in 60 samples" in (tmp_path / "found" / "report.html").read_text()


def test_features_are_tested_if_asked(run, csv, tmp_path):
    assert run("cluster", csv, "--id", "name", "-k", 3, "--test-features", "--out", "found")[0] == 0
    features = pd.read_csv(tmp_path / "found" / "features.csv")
    assert (features["q_value"][features["rank"] == 1] < 0.01).all()
    first = (tmp_path / "found" / "report.html").read_text()
    assert run("report", "found", "--force")[0] == 0
    assert "tested with every feature held out once" in first
    assert "tested with every feature held out once" in (tmp_path / "found" / "report.html").read_text()


def test_metadata_in_a_file_are_compared_by_their_ids(run, csv, table, tmp_path):
    table.loc[::-1, ["name", "kind"]].iloc[:50].to_csv("meta.csv", index=False)
    code, out, _ = run("cluster", csv, "--id", "name", "-k", 3, "--metadata", "meta.csv", "--out", "found", "--json")
    assert code == 0
    found = pd.read_csv(tmp_path / "found" / "metadata.csv")
    assert found["column"].tolist() == ["kind"]
    assert found["value"].iloc[0] == pytest.approx(1)
    assert found["n_known"].iloc[0] == 50
    assert json.loads(out)["metadata"][0]["p_value"] == pytest.approx(0.001)
    page = tmp_path / "found" / "report.html"
    assert 'id="metadata"' in page.read_text()
    assert run("report", "found", "--force")[0] == 0
    assert 'id="metadata"' in page.read_text()


def test_columns_of_the_table_can_be_metadata(run, here, table):
    table.to_csv("data.csv", index=False)
    assert run("cluster", "data.csv", "--id", "name", "-k", 3, "--metadata-columns", "kind", "--out", "found")[0] == 0
    assert pd.read_csv(here / "found" / "metadata.csv")["column"].tolist() == ["kind"]
    assert "kind" not in set(pd.read_csv(here / "found" / "features.csv")["feature"])


def test_metadata_of_other_samples_are_refused(refused, csv, here):
    pd.DataFrame({"name": ["x", "y"], "age": [1, 2]}).to_csv("meta.csv", index=False)
    said = refused("cluster", csv, "--id", "name", "-k", 3, "--metadata", "meta.csv")
    assert "meta.csv has none of the 60 samples: it holds 'x', not '000'" in said
    assert "no column 'sex'" in refused("cluster", csv, "--id", "name", "-k", 3, "--metadata-columns", "sex")


def test_metadata_without_ids_must_have_as_many_rows(run, refused, here, table):
    table[["a", "b", "c", "d"]].to_csv("data.csv", index=False)
    table[["kind"]].to_csv("meta.csv", index=False)
    assert run("cluster", "data.csv", "-k", 3, "--metadata", "meta.csv", "--out", "found")[0] == 0
    table[["kind"]].iloc[1:].to_csv("short.csv", index=False)
    said = refused("cluster", "data.csv", "-k", 3, "--metadata", "short.csv")
    assert "short.csv has 59 rows for 60 samples and no ids: pass --id" in said


def test_labels_may_be_in_a_file_of_their_own(run, here, few):
    code, out, _ = run("classify", "data.csv", "--id", "name", "--labels-file", "labels.csv", "--out", "found")
    assert code == 0
    found = pd.read_csv(here / "found" / "labels.csv", dtype=str)
    assert found["label"].tolist() == few["kind"].tolist()
    assert found["source"].tolist() == np.where(np.arange(60) % 3 == 0, "given", "predicted").tolist()
    assert "Predicted without using them: 100.0% of 20 given labels" in out
    page = (here / "found" / "report.html").read_text()
    assert 'class="confusion"' in page


def test_labels_without_ids_are_taken_row_by_row_and_a_note_says_so(run, here, few):
    few[["kind"]].to_csv("labels.csv", index=False)
    said = "no ids were found, so its rows are taken in the order of the samples"
    code, _, err = run("classify", "data.csv", "--labels-file", "labels.csv")
    assert code == 0
    assert f"Note: labels.csv: {said} ({few['name'][0]!r}, {few['name'][1]!r} ...)" in err
    few.drop(columns=["kind", "name"]).to_csv("data.csv", index=False)
    assert said not in run("classify", "data.csv", "--labels-file", "labels.csv", "--force")[2]


def test_a_file_of_several_columns_needs_the_name_of_the_classes(run, refused, here, few):
    few[["name", "kind"]].assign(other=1).to_csv("labels.csv", index=False)
    said = refused("classify", "data.csv", "--id", "name", "--labels-file", "labels.csv")
    assert "labels.csv has 2 columns beside the ids: name that of the classes with --labels" in said
    assert run("classify", "data.csv", "--id", "name", "--labels-file", "labels.csv", "--labels", "kind")[0] == 0


def test_a_class_with_one_label_has_no_accuracy_and_a_note_says_so(run, here, few):
    few[["name", "kind"]].drop_duplicates("kind").to_csv("labels.csv", index=False)
    arguments = ("classify", "data.csv", "--id", "name", "--labels-file", "labels.csv", "--out", "found")
    code, out, err = run(*arguments)
    assert code == 0
    assert "No cross-validated accuracy: Class" in err
    assert "Predicted without" not in out


def test_the_accuracy_can_be_left_out(run, refused, here, few):
    arguments = ("classify", "data.csv", "--id", "name", "--labels-file", "labels.csv", "--json", "--out", "found")
    assert "accuracy" in json.loads(run(*arguments)[1])
    assert "accuracy" not in json.loads(run(*arguments, "--folds", 0, "--force")[1])
    assert "--folds must be 0, or 2 or more; got 1" in refused(*arguments, "--folds", 1, "--force")


def test_classify_without_labels_says_how_to_give_them(refused, csv):
    assert "name their column with --labels, or a file" in refused("classify", csv, "--id", "name")


def test_two_clusterings_are_compared_by_their_ids(run, csv, table, tmp_path):
    assert run("cluster", csv, "--id", "name", "-k", 2, "--out", "two")[0] == 0
    table.iloc[:40].to_csv("some.csv", index=False)
    arguments = ("cluster", "some.csv", "--id", "name", "--drop", "kind", "-k", 3, "--compare", "two", "--out", "three")
    code, out, err = run(*arguments)
    assert code == 0, err
    assert "Compared with two: adjusted Rand index" in out
    assert "40 samples" in out
    counts = pd.read_csv(tmp_path / "three" / "comparison.csv", index_col="cluster")
    assert counts.shape == (3, 2)
    assert counts.to_numpy().sum() == 40
    page = tmp_path / "three" / "report.html"
    assert "Compared with two" in page.read_text()
    assert run("report", "three", "--force")[0] == 0
    assert "Compared with two" in page.read_text()
    found = json.loads(run(*arguments, "--force", "--json")[1])["comparison"]
    assert found["counts"] == counts.to_numpy().tolist()


def test_a_report_may_be_compared_with_a_table_afterwards(run, refused, csv, table, tmp_path):
    run("cluster", csv, "--id", "name", "-k", 3, "--out", "found")
    table[["name", "kind"]].to_csv("truth.csv", index=False)
    assert run("report", "found", "--force", "--compare", "truth.csv")[0] == 0
    page = (tmp_path / "found" / "report.html").read_text()
    assert "Compared with truth.csv" in page
    assert "Adjusted Rand index 1.00" in page
    table[["name", "a", "b"]].to_csv("wide.csv", index=False)
    said = refused("report", "found", "--force", "--compare", "wide.csv")
    assert "wide.csv has 2 columns beside the ids, and none is called 'label': keep one" in said
    (tmp_path / "empty").mkdir()
    assert "empty has no labels.csv" in refused("report", "found", "--force", "--compare", "empty")


@pytest.mark.parametrize("mark", [",", ";"])
def test_names_that_the_page_saved_are_written_into_it(run, csv, tmp_path, mark):
    run("cluster", csv, "--id", "name", "-k", 3, "--out", "found")
    lines = [f"label{mark}name", f"0{mark}early & late", f"2{mark}", f"1{mark}'=third"]
    (tmp_path / "names.csv").write_text("\n".join(lines), encoding="utf-8-sig")
    code, _, err = run("report", "found", "--force", "--names", "names.csv")
    assert code == 0, err
    page = (tmp_path / "found" / "report.html").read_text()
    assert ">early &amp; late</strong>" in page
    assert ">=third</strong>" in page


def test_names_of_other_clusters_are_refused(run, refused, csv, tmp_path):
    run("cluster", csv, "--id", "name", "-k", 3, "--out", "found")
    (tmp_path / "names.csv").write_text("label,name\n9,late\n")
    said = refused("report", "found", "--force", "--names", "names.csv")
    assert "names has the label '9', which the model does not have" in said
    (tmp_path / "names.csv").write_text("cluster,called\n1,late\n")
    said = refused("report", "found", "--force", "--names", "names.csv")
    assert "names.csv must have the columns label and name, as the file that the report saves; got cluster" in said


def test_the_map_may_open_with_a_spread(run, csv, tmp_path):
    run("cluster", csv, "--id", "name", "-k", 3, "--out", "found")
    page = tmp_path / "found" / "report.html"
    assert "Spread by t-SNE" not in page.read_text()
    assert run("report", "found", "--force", "--spread")[0] == 0
    assert "Spread by t-SNE" in page.read_text()


def test_notes_on_a_mixed_table_are_in_the_words_of_the_command_line(run, here, table):
    table.assign(remark=[f"remark {i} of {i * i}" for i in range(60)]).to_csv("data.csv", index=False)
    code, _, err = run("cluster", "data.csv", "--id", "name", "-k", 3, "--out", "found")
    assert code == 0
    assert (
        "Note: The table has columns that are not numbers, so it is read as a mixed table: 4 columns of numbers" in err
    )
    assert "1 column of the table is left out ('remark': " in err
    assert "`kernelweave inspect` shows every column, and --drop leaves one out." in err
    assert "kernels=" not in err
    assert "readings_" not in err
