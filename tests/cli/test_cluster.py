"""`kernelweave cluster`, on files that are right."""

import json
import time

import numpy as np
import pandas as pd
import pytest
from scipy import io, sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import kernelweave
from kernelweave._plural import sentence

FILES = {"labels.csv", "features.csv", "weights.csv", "model.kw", "report.html", "report.json"}


def read(folder):
    return pd.read_csv(folder / "labels.csv", dtype={"id": str})


def test_writes_labels_weights_model_and_report(run, csv, table, tmp_path):
    code, out, _ = run("cluster", csv, "--id", "name", "-k", 3, "--out", "found")
    assert code == 0
    folder = tmp_path / "found"
    assert {path.name for path in folder.iterdir()} == FILES
    labels = read(folder)
    assert labels["id"].tolist() == table["name"].tolist()  # 007 is not 7
    assert adjusted_rand_score(table["kind"], labels["label"]) == 1
    assert labels["confidence"].between(0, 1).all()
    assert pd.read_csv(folder / "weights.csv")["share"].sum() == pytest.approx(1, abs=1e-4)
    assert kernelweave.load(folder / "model.kw").labels_.tolist() == labels["label"].tolist()
    assert "kernelweave cluster" in (folder / "report.html").read_text()
    assert "report.html" in out


def test_the_folder_is_named_after_the_file(run, csv, tmp_path):
    assert run("cluster", csv, "--id", "name", "-k", 3)[0] == 0
    assert (tmp_path / "data-clusters" / "labels.csv").exists()


def test_results_are_replaced_only_if_asked(run, refused, csv, tmp_path):
    run("cluster", csv, "--id", "name", "-k", 3)
    assert "holds results already" in refused("cluster", csv, "--id", "name", "-k", 4)
    assert run("cluster", csv, "--id", "name", "-k", 4, "--force")[0] == 0
    assert read(tmp_path / "data-clusters")["label"].nunique() == 4


def test_json_says_sizes_weights_and_files(run, csv):
    code, out, _ = run("cluster", csv, "--id", "name", "-k", 3, "--json", "--quiet")
    found = json.loads(out)
    assert code == 0
    assert sum(found["clusters"].values()) == found["n_samples"] == 60
    assert sum(found["weights"].values()) == pytest.approx(1)
    assert set(found["files"]) == FILES


def test_the_paper_s_method_and_another_set_of_kernels(run, csv, tmp_path):
    assert run("cluster", csv, "--id", "name", "-k", 3, "--method", "smkl", "--kernels", "released-7")[0] == 0
    assert len(pd.read_csv(tmp_path / "data-clusters" / "weights.csv")) == 7


def test_the_number_of_clusters_can_be_left_to_the_data(run, csv, tmp_path):
    code, out, _ = run("cluster", csv, "--id", "name")
    assert code == 0
    assert read(tmp_path / "data-clusters")["label"].nunique() >= 2
    model = kernelweave.load(tmp_path / "data-clusters" / "model.kw")
    assert f"The number was chosen. {sentence(model.cluster_evidence_.words)}" in out


def test_why_a_number_was_chosen_is_in_the_json_too(run, csv):
    found = json.loads(run("cluster", csv, "--id", "name", "--json")[1])
    assert str(found["number"]["chosen"]) in found["number"]["words"]
    assert all(isinstance(number, int) for number in found["number"]["runners_up"])
    given = json.loads(run("cluster", csv, "--id", "name", "-k", 3, "--json", "--force")[1])
    assert "number" not in given


def test_clusters_that_do_not_stand_out_are_doubted_where_they_are_printed(run, csv, tmp_path):
    pd.DataFrame(np.random.default_rng(0).normal(size=(150, 6))).to_csv(tmp_path / "noise.csv", index=False)
    doubt = "The clusters hardly stand out from those of samples without structure"
    code, out, _ = run("cluster", tmp_path / "noise.csv", "-k", 3)
    assert code == 0
    assert doubt in out
    found = json.loads(run("cluster", tmp_path / "noise.csv", "-k", 3, "--json", "--force")[1])
    assert found["clarity"] < 0.5
    assert doubt not in run("cluster", csv, "--id", "name", "-k", 3)[1]


def test_the_same_seed_gives_the_same_labels(run, csv, tmp_path):
    for out in ("one", "two"):
        run("cluster", csv, "--id", "name", "-k", 5, "--seed", 3, "--out", out)
    assert (tmp_path / "one" / "labels.csv").read_bytes() == (tmp_path / "two" / "labels.csv").read_bytes()


def test_files_are_views_joined_by_the_ids_of_their_samples(run, table, tmp_path):
    table.loc[:49, ["name", "a", "b"]].to_csv("one.csv", index=False)
    table.loc[:9:-1, ["name", "c", "d"]].to_csv("two.csv", index=False)
    assert run("cluster", "one.csv", "--view", "second=two.csv", "--id", "name", "-k", 3, "--out", "found")[0] == 0
    labels = read(tmp_path / "found").set_index("id")["label"]
    assert sorted(labels.index) == table["name"].tolist()
    assert adjusted_rand_score(table["kind"], labels[table["name"]]) > 0.8
    assert set(pd.read_csv(tmp_path / "found" / "weights.csv")["view"]) == {"one", "second"}


@pytest.fixture
def same(run, tmp_path, table):
    """Check that a file gives the same partition as the CSV of its numbers."""
    table[["a", "b", "c", "d"]].to_csv("plain.csv", index=False)
    run("cluster", "plain.csv", "-k", 3, "--out", "plain")

    def check(name, *options):
        code, _, err = run("cluster", name, "-k", 3, "--out", f"{name}-found", *options)
        assert code == 0, err
        assert read(tmp_path / f"{name}-found")["label"].tolist() == read(tmp_path / "plain")["label"].tolist()

    return check


def test_every_format_is_read(same, table):
    X = table[["a", "b", "c", "d"]]
    X.to_csv("x.tsv", sep="\t", index=False)
    X.to_parquet("x.parquet")
    X.to_excel("x.xlsx", index=False)
    np.save("x.npy", X.to_numpy())
    np.savez("x.npz", X=X.to_numpy(), y=np.arange(60))  # a vector is not a feature
    sparse.save_npz("s.npz", sparse.csr_array(X.to_numpy()))
    io.savemat("x.mat", {"fea": X.to_numpy(), "gnd": np.arange(60)[:, None]})
    X.to_csv("bare.csv", header=False, index=False)
    for name in ("x.tsv", "x.parquet", "x.xlsx", "x.npy", "x.npz", "s.npz", "x.mat"):
        same(name)
    same("bare.csv", "--no-header")


def test_tables_with_categories_dates_and_missing_cells_need_no_option(run, table, tmp_path):
    table.loc[3, "b"] = np.nan
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(60) % 7, unit="D")
    table.assign(note=[f"note {i}" for i in range(60)], day=days).to_csv("data.csv", index=False)
    table.assign(kind=table["kind"].astype("category"), day=days).to_parquet("data.parquet")
    for name in ("data.csv", "data.parquet"):
        code, _, said = run("cluster", name, "--id", "name", "-k", 3, "--force")
        assert code == 0
        assert "is read as a mixed table" in said
        model = kernelweave.load(tmp_path / "data-clusters" / "model.kw")
        assert model.view_names_ == ("numbers", "categories")
        kinds = {column.name: column.kind for column in model.readings_["X"].columns}
        assert (kinds["b"], kinds["kind"], kinds["day"]) == ("number", "category", "date")
        assert kinds.get("note", "left out") == "left out"
        listed = set(pd.read_csv(tmp_path / "data-clusters" / "features.csv")["feature"])
        assert listed <= {"a", "b", "c", "d", "kind", "day"}


def test_missing_cells_of_numbers_are_filled_if_the_kernels_are_mixed(run, table, tmp_path):
    table.loc[3, "b"] = np.nan
    table.drop(columns="kind").to_csv("data.csv", index=False)
    assert run("cluster", "data.csv", "--id", "name", "-k", 3, "--kernels", "mixed")[0] == 0
    assert kernelweave.load(tmp_path / "data-clusters" / "model.kw").readings_["X"].missing == {"b": 1}


@pytest.mark.parametrize("method", ["weave", "smkl"])
def test_missing_cells_of_numbers_are_filled_and_counted_without_any_option(run, table, tmp_path, method):
    table.loc[[3, 9], "b"] = np.nan
    table.drop(columns="kind").to_csv("data.csv", index=False)
    assert run("inspect", "data.csv")[0] == 0
    code, _, said = run("cluster", "data.csv", "--id", "name", "-k", 3, "--method", method)
    assert code == 0, said
    assert "Note: data.csv: 2 cells without a value ('b' 2), filled with the median of the column." in said
    assert kernelweave.load(tmp_path / "data-clusters" / "model.kw").readings_["X"].missing == {"b": 2}
    table.loc[:5, ["name", "a", "c"]].to_csv("new.csv", index=False)
    assert run("predict", "data-clusters/model.kw", "new.csv", "--id", "name")[0] == 0


def test_a_view_with_missing_cells_is_filled_and_one_without_is_read_as_before(run, table, tmp_path):
    table.loc[3, "b"] = np.nan
    table[["name", "a", "b"]].to_csv("one.csv", index=False)
    table.loc[:55, ["name", "c", "d"]].to_csv("two.csv", index=False)
    code, _, said = run("cluster", "one.csv", "two.csv", "--id", "name", "-k", 3, "--out", "found")
    assert code == 0, said
    assert "one.csv: 1 cell without a value ('b' 1), filled" in said
    assert kernelweave.load(tmp_path / "found" / "model.kw").view_names_ == ("one: numbers", "two")


def test_the_number_of_clusters_of_a_mixed_table_is_found_and_told(run, table):
    table.to_csv("data.csv", index=False)
    code, out, _ = run("cluster", "data.csv", "--id", "name")
    assert code == 0
    assert "The number was chosen. 3 clusters stand out" in out


def test_a_constant_column_among_others_is_no_obstacle(run, table):
    table.assign(one=1.0).drop(columns="kind").to_csv("data.csv", index=False)
    assert run("cluster", "data.csv", "--id", "name", "-k", 3)[0] == 0


def test_quiet_says_nothing_on_the_error_stream(run, csv, monkeypatch):
    from kernelweave.cli import _working

    monkeypatch.setattr(_working, "_QUICK", 0.0)
    assert run("cluster", csv, "--id", "name", "-k", 3, "--quiet")[2] == ""
    assert "Clustering 60 samples" in run("cluster", csv, "--id", "name", "-k", 3, "--force")[2]


@pytest.mark.slow
def test_two_thousand_rows_take_seconds(run):
    X, _ = make_blobs(2000, centers=5, n_features=20, random_state=0)
    pd.DataFrame(X).add_prefix("c").to_csv("big.csv", index=False)
    begun = time.process_time()
    assert run("cluster", "big.csv", "-k", 5)[0] == 0
    assert time.process_time() - begun < 30
