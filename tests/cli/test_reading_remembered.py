"""A model file knows how its tables were read: moved alone to another folder, it reads new files alike."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kernelweave
from kernelweave import WeaveClustering
from kernelweave.samples import FileReading


@pytest.fixture
def alone(tmp_path):
    """Move the model of a folder of results to a folder of its own; nothing else is left."""

    def move(folder):
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / folder / "model.kw").rename(tmp_path / "elsewhere" / "model.kw")
        for path in (tmp_path / folder).iterdir():
            path.unlink()
        return "elsewhere/model.kw"

    return move


def labels_in(folder):
    return pd.read_csv(f"{folder}/labels.csv", dtype=str).set_index("id")["label"]


def predicted(out):
    rows = [line.split(",")[:2] for line in out.splitlines()[1:]]
    return pd.Series(dict(rows))


def test_layer_and_ids_are_those_of_the_fit(run, alone, tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    rng = np.random.default_rng(0)
    obs = pd.DataFrame({"barcode": [f"b{i}" for i in range(60)]}, index=[f"cell-{i}" for i in range(60)])
    data = anndata.AnnData(rng.normal(size=(60, 4)), obs, pd.DataFrame(index=["g1", "g2", "g3", "g4"]))
    data.layers["counts"] = 9.0 * np.eye(4)[np.arange(60) % 3] + rng.normal(size=(60, 4))
    data.write_h5ad(tmp_path / "cells.h5ad")
    data[::-1, ["g4", "g2", "g1", "g3"]].copy().write_h5ad(tmp_path / "new.h5ad")
    code, _, err = run("cluster", "cells.h5ad", "-k", 3, "--layer", "counts", "--id", "barcode")
    assert code == 0, err
    expected = labels_in("cells-clusters")
    code, out, err = run("predict", alone("cells-clusters"), "new.h5ad")
    assert code == 0, err
    assert "Read as when the model was fitted: --layer counts." in err
    found = predicted(out)
    assert list(found.index) == [f"b{i}" for i in reversed(range(60))]
    assert found[expected.index].tolist() == expected.tolist()


def test_ids_and_columns_in_another_place_are_found(run, alone, table):
    cities = table.assign(name=[f"city {i}" for i in range(60)]).rename(columns={"name": "Ort"})
    cities.drop(columns="kind").to_csv("data.csv", index=False)
    run("cluster", "data.csv", "-k", 3)
    expected = labels_in("data-clusters")
    cities[["d", "kind", "b", "Ort", "a", "c"]].to_csv("new.tsv", index=False, sep="\t")
    model = alone("data-clusters")
    ranges = {name: (cities[name].min(), cities[name].max()) for name in "abcd"}
    assert kernelweave.load(model).file_reading_ == FileReading(types=(".csv",), id="Ort", ranges=ranges)
    code, out, err = run("predict", model, "new.tsv")
    assert code == 0, err
    assert predicted(out).to_dict() == expected.to_dict()


def test_columns_that_were_left_out_are_left_out_again(run, alone, table):
    table["note"] = np.tile(["x", "y"], 30)
    table.loc[table.index % 4 > 0, "kind"] = ""
    table.to_csv("data.csv", index=False)
    run("classify", "data.csv", "--labels", "kind", "--drop", "note", "--id", "name", "--kernels", "mixed")
    expected = labels_in("data-classes")
    code, out, err = run("predict", alone("data-classes"), "data.csv")
    assert code == 0, err
    assert predicted(out).to_dict() == expected.to_dict()
    assert "kind" not in err
    assert "note" not in err


def test_what_was_said_of_text_holds_for_files_of_the_same_type(run, alone, table):
    numbers = (1000 * table[list("abcd")].abs()).round().astype(int) + 1000
    for name in numbers:
        numbers[name] = [f"{value:,}" for value in numbers[name]]
    numbers.to_csv("data.csv", index=False, header=False, sep=";")
    given = ("--no-header", "--decimal", ",")
    code, _, err = run("cluster", "data.csv", "-k", 3, *given)
    assert code == 0, err
    labels = labels_in("data-clusters").tolist()
    model = alone("data-clusters")
    code, out, err = run("predict", model, "data.csv")
    assert code == 0, err
    assert "Read as when the model was fitted: --no-header --decimal ,." in err
    assert predicted(out).tolist() == labels
    plain = numbers.map(lambda text: float(text.replace(",", ".")))
    plain.set_axis(list("0123"), axis=1).to_csv("new.tsv", index=False, sep="\t")
    code, out, err = run("predict", model, "new.tsv")
    assert code == 0, err
    assert "Read as when the model was fitted" not in err
    assert predicted(out).tolist() == labels
    code, _, err = run("predict", model, "data.csv", "--thousands", ",", "--no-header")
    assert "Read as when the model was fitted" not in err


def test_a_table_of_genes_by_samples_is_turned_again(run, alone, table):
    table.set_index("name")[list("abcd")].T.to_csv("data.csv", index_label="gene")
    code, _, err = run("cluster", "data.csv", "-k", 3, "--transpose")
    assert code == 0, err
    expected = labels_in("data-clusters")
    model = alone("data-clusters")
    code, out, err = run("predict", model, "data.csv")
    assert code == 0, err
    assert "--transpose" in err
    assert predicted(out).to_dict() == expected.to_dict()
    table.drop(columns="kind").to_csv("rows.csv", index=False)
    code, out, err = run("predict", model, "rows.csv", "--no-transpose")
    assert code == 0, err
    assert predicted(out).to_dict() == expected.to_dict()


def test_the_part_of_annotated_data_is_not_asked_of_other_files(run, alone, tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    rng = np.random.default_rng(0)
    counts = 9.0 * np.eye(3)[np.arange(60) % 3] + rng.normal(size=(60, 3))
    names = np.array([f"c{i}" for i in range(60)], dtype=object)
    data = anndata.AnnData(0 * counts, pd.DataFrame(index=names), pd.DataFrame(index=["g1", "g2", "g3"]))
    data.layers["counts"] = counts
    data.write_h5ad(tmp_path / "cells.h5ad")
    run("cluster", "cells.h5ad", "-k", 3, "--layer", "counts")
    expected = labels_in("cells-clusters")
    pd.DataFrame(counts, index=names, columns=["g1", "g2", "g3"]).to_csv(tmp_path / "new.csv")
    code, out, err = run("predict", alone("cells-clusters"), "new.csv")
    assert code == 0, err
    assert predicted(out).to_dict() == expected.to_dict()


def test_the_options_of_reading_have_no_second_home_beside_the_model(run, csv):
    run("cluster", csv, "-k", 3, "--id", "name", "--drop", "d", "--sep", "comma")
    content = json.loads(Path("data-clusters/report.json").read_text())
    names = {"features", "metadata", "check", "comparison", "labelled", "source", "command", "notes"}
    assert set(content) == names


def test_a_model_that_knows_no_files_reads_new_ones_by_themselves(run, csv, table, tmp_path):
    WeaveClustering(3, random_state=0).fit(table[list("abcd")]).save(tmp_path / "model.kw")
    code, out, err = run("predict", "model.kw", csv)
    assert code == 0, err
    assert len(predicted(out)) == 60
