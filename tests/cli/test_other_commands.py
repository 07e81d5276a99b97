"""`kernelweave classify`, `predict`, `report` and `demo`."""

import json

import numpy as np
import pandas as pd
import pytest

from kernelweave.baselines import MKKM


@pytest.fixture
def few(table, tmp_path):
    """A table in which every sixth sample has a class."""
    path = tmp_path / "few.csv"
    table.assign(kind=table["kind"].where(np.arange(60) % 6 == 0)).to_csv(path, index=False)
    return path


def read(path):
    return pd.read_csv(path, dtype={"id": str})


def test_blanks_are_unlabelled_and_get_a_class(run, few, table, tmp_path):
    code, out, _ = run("classify", few, "--id", "name", "--labels", "kind")
    assert code == 0
    assert "60 samples in 3 classes" in out
    assert read(tmp_path / "few-classes" / "labels.csv")["label"].tolist() == table["kind"].tolist()
    assert "from 10 labels" in (tmp_path / "few-classes" / "report.html").read_text()


def test_classes_that_are_numbers_keep_their_names(run, table, tmp_path):
    codes = table["kind"].map({"red": 1, "green": 2, "blue": 10})
    table.assign(kind=codes.where(np.arange(60) % 6 == 0)).to_csv("few.csv", index=False)
    run("classify", "few.csv", "--id", "name", "--labels", "kind")
    assert read(tmp_path / "few-classes" / "labels.csv")["label"].tolist() == codes.tolist()


def test_one_cluster_is_counted_in_the_singular(run, table):
    table.loc[:1, list("abcd")].to_csv("two.csv", index=False)
    code, out, err = run("cluster", "two.csv", "-k", 1)
    assert code == 0, err
    assert out.startswith("2 samples in 1 cluster:\n")


def test_labels_are_not_features(run, few, tmp_path):
    import kernelweave

    run("classify", few, "--id", "name", "--labels", "kind")
    assert kernelweave.load(tmp_path / "few-classes" / "model.kw").n_features_in_ == 4


def test_predicts_training_samples_as_fitted_and_new_ones_near_them(run, csv, table, tmp_path):
    run("cluster", csv, "--id", "name", "-k", 3)
    fitted = read(tmp_path / "data-clusters" / "labels.csv")
    code, out, _ = run("predict", "data-clusters", csv, "--id", "name", "--quiet")
    (tmp_path / "again.csv").write_text(out)
    assert code == 0
    assert read(tmp_path / "again.csv")["label"].tolist() == fitted["label"].tolist()
    new = table.drop(columns="kind").assign(a=table["a"] + 0.01)
    new[["name", "d", "c", "b", "a"]].to_csv("new.csv", index=False)  # columns go by their names
    run("predict", "data-clusters/model.kw", "new.csv", "--id", "name", "--out", "new-labels.csv", "--quiet")
    assert read(tmp_path / "new-labels.csv")["label"].tolist() == fitted["label"].tolist()


def test_one_new_sample_is_enough_for_a_prediction(run, few, table):
    run("classify", few, "--id", "name", "--labels", "kind")
    table.head(1).to_csv("one.csv", index=False)
    code, out, err = run("predict", "few-classes", "one.csv", "--id", "name", "--json", "--quiet")
    assert code == 0, err
    (row,) = json.loads(out)
    assert row["id"] == "000"
    assert row["label"] == table["kind"][0]
    assert 0 <= row["confidence"] <= 1


def test_a_prediction_needs_the_features_of_the_model(run, refused, csv, table):
    run("cluster", csv, "--id", "name", "-k", 3)
    table[["name", "a", "b", "c"]].to_csv("new.csv", index=False)
    assert "no column 'd'" in refused("predict", "data-clusters", "new.csv", "--id", "name")


def test_a_mixed_table_is_read_as_the_model_knows_it(run, table, tmp_path):
    table.to_csv("data.csv", index=False)
    run("cluster", "data.csv", "--id", "name", "-k", 3)
    fitted = read(tmp_path / "data-clusters" / "labels.csv")
    few = table.loc[table["kind"] == "red", ["name", "kind", "d", "c", "b", "a"]].assign(note="not a feature")
    few.to_csv("few.csv", index=False)  # of the three categories only one
    run("predict", "data-clusters", "few.csv", "--id", "name", "--out", "found.csv", "--quiet")
    assert read(tmp_path / "found.csv")["label"].tolist() == fitted["label"][few.index].tolist()
    few.assign(kind="yellow").to_csv("few.csv", index=False)
    code, _, said = run("predict", "data-clusters", "few.csv", "--id", "name")
    assert code == 0
    assert "categories that were not in fit" in said
    assert "'kind': 'yellow'" in said
    assert "not seen in fit, and not used: 'note'" in said


def test_a_model_of_views_answers_where_one_is_missing_and_columns_are_in_another_order(run, table, tmp_path):
    table[["name", "a", "b"]].to_csv("one.csv", index=False)
    table[["name", "c", "d", "kind"]].to_csv("two.csv", index=False)
    run("cluster", "one.csv", "two.csv", "-k", 3, "--out", "found")
    fitted = read(tmp_path / "found" / "labels.csv")["label"]
    new = table.assign(more=1.0)
    new[["more", "b", "name", "a"]].to_csv("new.csv", index=False)
    assert run("predict", "found", "--view", "one=new.csv", "--id", "name", "--out", "one-found.csv", "--quiet")[0] == 0
    new[["kind", "d", "name", "c"]].to_csv("new.csv", index=False)
    assert run("predict", "found", "--view", "two=new.csv", "--id", "name", "--out", "two-found.csv", "--quiet")[0] == 0
    for name in ("one-found.csv", "two-found.csv"):
        assert np.mean(read(tmp_path / name)["label"].to_numpy() == fitted.to_numpy()) > 0.9


def test_a_view_that_no_file_holds_is_named(run, table):
    table[["name", "a", "b"]].to_csv("one.csv", index=False)
    table[["name", "c", "d"]].to_csv("two.csv", index=False)
    run("cluster", "one.csv", "two.csv", "-k", 3, "--out", "found")
    said = " ".join(run("predict", "found", "one.csv")[2].split())
    assert "No file holds 1 view of the model, which all samples lack: two." in said
    assert "No file holds" not in run("predict", "found", "one.csv", "two.csv")[2]


def test_a_model_that_does_not_predict_is_refused_by_name(run, refused, csv, table):
    MKKM(3, random_state=0).fit(table[list("abcd")]).save("model.kw")
    assert "holds a MKKM, which has no answer for new samples" in refused("predict", "model.kw", csv, "--id", "name")


def test_writes_the_report_of_a_model_again_with_the_names_of_its_samples(run, refused, csv, tmp_path):
    run("cluster", csv, "--id", "name", "-k", 3)
    assert "--force" in refused("report", "data-clusters")
    assert run("report", "data-clusters", "--out", "page.html", "--title", "Mine")[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert "<title>Mine</title>" in page
    assert '"ids":["000","001"' in page


def test_names_of_other_samples_are_not_put_on_a_model(run, refused, csv, tmp_path):
    run("cluster", csv, "--id", "name", "-k", 3)
    (tmp_path / "data-clusters" / "labels.csv").write_text("id,label,confidence\n1,2,3\n")
    assert "names 1 sample, but the model has 60" in refused("report", "data-clusters", "--force")


def test_the_demo_writes_two_reports(run, tmp_path):
    code, out, _ = run("demo", "--samples", 200)
    assert code == 0
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {"report.html", "classes.html"}
    assert "recognised" in out
