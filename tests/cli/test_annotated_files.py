"""Annotated data on the command line: which part of a file is read."""

import json

import numpy as np
import pandas as pd
import pytest

import kernelweave
from kernelweave.tabular import read_table

anndata = pytest.importorskip("anndata", reason="anndata is not installed")
mudata = pytest.importorskip("mudata", reason="mudata is not installed")

NAMES = pd.Index([f"cell-{i}" for i in range(60)], dtype=object)


def cells(columns):
    """Noise in X, three groups in the layer "counts" and in obsm["X_pca"]."""
    rng = np.random.default_rng(0)
    groups = 9.0 * np.eye(3)[np.arange(60) % 3]
    data = anndata.AnnData(
        rng.normal(size=(60, 3)), pd.DataFrame(index=NAMES), pd.DataFrame(index=np.array(columns, object))
    )
    data.layers["counts"] = groups + rng.normal(size=(60, 3))
    data.obsm["X_pca"] = groups[:, :2] + rng.normal(size=(60, 2))
    data.obsm["named"] = pd.DataFrame(groups, index=NAMES, columns=np.array(["u", "v", "w"], object))
    return data


@pytest.fixture
def h5ad(tmp_path):
    cells(["g1", "g2", "g3"]).write_h5ad(tmp_path / "cells.h5ad")
    return "cells.h5ad"


@pytest.fixture
def h5mu(tmp_path):
    with mudata.set_options(pull_on_update=False):
        data = mudata.MuData({"rna": cells(["g1", "g2", "g3"]), "atac": cells(["p1", "p2", "p3"])})
        data.write_h5mu(tmp_path / "cells.h5mu")
    return "cells.h5mu"


def features(path):
    return kernelweave.load(path / "model.kw").feature_names_in_.tolist()


@pytest.mark.parametrize(
    ("option", "columns"),
    [
        (("--layer", "counts"), ["g1", "g2", "g3"]),
        (("--obsm", "X_pca"), ["X_pca[0]", "X_pca[1]"]),
        (("--obsm", "named"), ["u", "v", "w"]),
    ],
)
def test_a_layer_or_a_matrix_of_obsm_is_read_and_remembered(run, h5ad, tmp_path, option, columns):
    code, _, err = run("cluster", h5ad, "-k", 3, *option)
    assert code == 0, err
    assert f"{option[1]!r}" in err
    folder = tmp_path / "cells-clusters"
    assert features(folder) == columns
    labels = pd.read_csv(folder / "labels.csv")["label"]
    assert [labels[k::3].nunique() for k in range(3)] == [1, 1, 1]
    code, out, err = run("predict", "cells-clusters", h5ad)
    assert code == 0, err
    assert f"{option[1]!r}" in err
    assert [line.split(",")[1] for line in out.splitlines()[1:]] == labels.astype(str).tolist()


def test_without_an_option_the_matrix_is_read_and_the_note_says_what_else_there_is(run, h5ad):
    code, out, err = run("inspect", h5ad)
    assert code == 0, err
    assert "the matrix X is read; it also has the layers counts and obsm X_pca, named." in out


def test_an_option_of_predict_comes_before_what_is_remembered(run, h5ad):
    run("cluster", h5ad, "-k", 3, "--layer", "counts")
    code, _, err = run("predict", "cells-clusters", h5ad, "--obsm", "X_pca")
    assert code == 2
    assert "g1" in err


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--layer", "conuts"), "cells.h5ad has no layer 'conuts'; its layers: counts."),
        (("--obsm", "X_umap"), "cells.h5ad has no matrix 'X_umap'; its matrices in obsm: X_pca, named."),
        (("--layer", "counts", "--obsm", "X_pca"), "one table is read, a layer or a matrix of obsm"),
    ],
)
def test_a_part_that_the_file_does_not_have_is_refused_with_those_it_has(refused, h5ad, option, said):
    assert said in refused("cluster", h5ad, "-k", 3, *option)


def test_a_file_without_such_parts_refuses_the_options(refused, csv):
    said = refused("cluster", csv, "-k", 3, "--layer", "counts")
    assert "layer: only .h5ad and .h5mu files have such parts" in said


def test_a_file_without_a_matrix_names_what_it_has(refused, tmp_path):
    data = cells(["g1", "g2", "g3"])
    data.X = None
    data.write_h5ad(tmp_path / "cells.h5ad")
    said = refused("cluster", "cells.h5ad", "-k", 3)
    assert "has no matrix X; it has the layers counts and obsm X_pca, named." in said


def test_a_variable_is_left_out_by_its_name(run, refused, h5ad, tmp_path):
    code, _, err = run("cluster", h5ad, "-k", 3, "--layer", "counts", "--drop", "g2")
    assert code == 0, err
    assert features(tmp_path / "cells-clusters") == ["g1", "g3"]
    assert read_table(tmp_path / h5ad, drop=["g2"]).frame.columns.tolist() == ["g1", "g3"]
    assert "cells.h5ad has no column 'g4'; it has 'g1', 'g2', 'g3'." in refused(
        "cluster", h5ad, "--drop", "g4", "--out", "other"
    )


def test_modalities_are_chosen_by_name(run, refused, h5mu, tmp_path):
    assert "has no modality 'prot'; its modalities: rna, atac." in refused(
        "cluster", h5mu, "-k", 3, "--modality", "prot"
    )
    code, out, err = run("inspect", h5mu, "--modality", "rna", "--layer", "counts", "--json")
    assert code == 0, err
    (view,) = json.loads(out)["views"].values()
    assert [column["name"] for column in view["columns"]] == ["g1", "g2", "g3"]
    assert any("those left out: atac" in note for note in view["notes"])
    code, _, err = run("cluster", h5mu, "-k", 3, "--obsm", "X_pca")
    assert code == 0, err
    assert "its 2 modalities are views: rna, atac." in err
    assert run("predict", "cells-clusters", h5mu)[0] == 0


def test_python_reads_the_same_parts(h5ad, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert list(read_table(h5ad, obsm="named").frame) == ["u", "v", "w"]
    with pytest.raises(kernelweave.errors.InvalidInputError, match="has no layer 'x'; its layers: counts"):
        read_table(h5ad, layer="x")
