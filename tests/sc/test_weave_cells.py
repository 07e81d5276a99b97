"""kernelweave.sc.weave on AnnData and MuData objects of the real packages."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import kernelweave
from kernelweave import WeaveClassifier, WeaveClustering
from kernelweave.errors import InvalidInputError
from kernelweave.metrics import clustering_accuracy
from kernelweave.sc import weave
from kernelweave.sc.parameters import ClassParameters, ClusterParameters


def test_the_clusters_are_a_category_numbered_by_size(adata, kinds):
    assert weave(adata, 3, use_rep="X_log") is None
    found = adata.obs["weave"]
    assert found.dtype.name == "category"
    assert found.cat.categories.tolist() == ["0", "1", "2"]
    assert found.value_counts(sort=False).tolist() == [40, 30, 20]
    assert clustering_accuracy(kinds, found.cat.codes) == 1


def test_the_result_is_that_of_the_estimator(adata):
    weave(adata, 3, use_rep="X_log", scale="zscore", key_added="mine")
    model = WeaveClustering(3, scale="zscore", random_state=0).fit(adata.obsm["X_log"])
    assert_array_equal(adata.obs["mine_confidence"], model.confidence_)
    assert_array_equal(adata.obsm["X_mine"], model.embedding_)
    graph = adata.obsp["mine_connectivities"]
    assert sparse.issparse(graph)
    assert_array_equal(graph.toarray(), sparse.csr_array(model.graph_).toarray())
    assert_allclose(adata.uns["mine"]["kernels"]["share"], model.kernel_shares_)
    assert "weave" not in adata.obs


def test_what_was_done_is_kept_and_a_file_holds_it(adata, tmp_path):
    import anndata

    weave(adata, use_rep=["X_log", "protein"])
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    told = again.uns["weave"]
    assert told["n_clusters"] == len(again.obs["weave"].cat.categories)
    assert told["evidence"] == adata.uns["weave"]["evidence"]
    assert told["params"]["n_clusters"] == "auto"
    assert told["params"]["version"] == kernelweave.__version__
    assert dict(told["params"]["tables"]) == {"X_log": "obsm['X_log']", "protein": "obsm['protein']"}
    assert told["views"].index.tolist() == ["X_log", "protein"]
    assert_array_equal(again.obs["weave"].astype(str), adata.obs["weave"].astype(str))


def test_scanpy_finds_the_graph_by_the_key(adata):
    weave(adata, 3, use_rep="X_log")
    weights, lengths = (adata.obsp[adata.uns["weave"][key]] for key in ("connectivities_key", "distances_key"))
    assert_array_equal(lengths.indices, weights.indices)
    assert lengths.data.min() == 0
    assert_allclose(1 - lengths.data, weights.data / weights.data.max())
    assert adata.uns["weave"]["params"]["method"] == "kernelweave"


def test_a_copy_leaves_the_object_as_it_was(adata):
    copy = weave(adata, 3, use_rep="X_log", copy=True)
    assert "weave" in copy.obs
    assert list(adata.obs) == ["type"]
    assert not adata.uns
    assert not adata.obsp


def test_principal_components_are_taken_if_there_are_any_else_the_matrix(adata):
    weave(adata, 3)
    assert adata.uns["weave"]["params"]["tables"] == {"X": "X"}
    adata.obsm["X_pca"] = adata.obsm["X_log"][:, :5]
    weave(adata, 3)
    assert adata.uns["weave"]["params"]["tables"] == {"X": "obsm['X_pca']"}


def test_a_layer_is_read_sparse_or_dense(adata):
    weave(adata, 3, layer="counts", key_added="dense")
    adata.layers["counts"] = sparse.csr_matrix(adata.layers["counts"])
    weave(adata, 3, layer="counts", key_added="sparse")
    assert adata.uns["sparse"]["params"]["tables"] == {"X": "layers['counts']"}
    assert adata.obs["sparse"].astype(str).tolist() == adata.obs["dense"].astype(str).tolist()


def test_cells_with_the_same_name_are_cells_of_their_own(adata, kinds):
    adata.obs_names = ["cell"] * adata.n_obs
    weave(adata, 3, use_rep=["X_log", "protein"])
    assert clustering_accuracy(kinds, adata.obs["weave"].cat.codes) == 1


@pytest.mark.parametrize("solver", ["dense", "local", "landmark"])
def test_every_solver_writes_what_it_has(adata, kinds, solver):
    weave(adata, 3, use_rep="X_log", solver=solver)
    assert clustering_accuracy(kinds, adata.obs["weave"].cat.codes) > 0.9
    assert adata.obs["weave_confidence"].between(0, 1).all()
    assert ("weave_connectivities" in adata.obsp) == (solver != "landmark")


def test_the_modalities_of_mudata_are_views_and_cells_may_be_missing_in_some(mdata, kinds):
    weave(mdata, 3)
    assert clustering_accuracy(kinds, mdata.obs["weave"].cat.codes) == 1
    assert mdata.uns["weave"]["views"].index.tolist() == ["rna", "protein"]
    assert mdata.obsp["weave_connectivities"].shape == (90, 90)


def test_the_order_of_the_cells_is_that_of_the_object(mdata, kinds):
    weave(mdata, 3)
    truth = dict(zip(mdata.obs_names, kinds, strict=True))
    other = mdata[np.random.default_rng(0).permutation(mdata.n_obs)].copy()
    weave(other, 3)
    assert clustering_accuracy([truth[name] for name in other.obs_names], other.obs["weave"].cat.codes) == 1


def test_a_modality_and_its_representation_can_be_chosen(mdata):
    rna = mdata.mod["rna"]
    rna.obsm["half"] = rna.X[:, :15]
    rna.layers["log"] = rna.X
    weave(mdata, 3, modalities=["rna"], key_added="one")
    assert mdata.uns["one"]["views"].index.tolist() == ["rna"]
    weave(mdata, 3, use_rep={"rna": ["half", "X"]}, key_added="two")
    assert mdata.uns["two"]["params"]["tables"] == {"rna half": "obsm['half']", "rna X": "X", "protein": "X"}
    weave(mdata, 3, layer={"rna": "log"}, key_added="three")
    assert mdata.uns["three"]["params"]["tables"] == {"rna": "layers['log']", "protein": "X"}


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"use_rep": "X_pac"}, r"no representation 'X_pac' in X and data\.obsm; there are: X, X_log, protein"),
        ({"layer": "count"}, r"no layer 'count' in data\.layers; there are: counts"),
        ({"layer": "counts", "use_rep": "X"}, "Give use_rep or layer for data, not both"),
        ({"use_rep": []}, "use_rep names no table"),
        ({"modalities": ["rna"]}, "modalities are those of a MuData object; got AnnData"),
        ({"use_rep": {"rna": "X"}}, "by modality needs a MuData object"),
        ({"key_added": 3}, "key_added must be a text, the name of what is written; got 3"),
    ],
)
def test_what_is_not_there_is_said(adata, wrong, match):
    with pytest.raises(InvalidInputError, match=match):
        weave(adata, 3, **wrong)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"modalities": ["atac"]}, "no modality 'atac' in modalities; there are: rna, protein"),
        ({"use_rep": {"atac": "X"}}, "no modality 'atac'"),
        ({"modalities": ["rna"], "use_rep": {"protein": "X"}}, "'protein', which is not among those chosen"),
        ({"use_rep": {"rna": "X_pca"}}, r"no representation 'X_pca' in X and data\.mod\['rna'\]\.obsm"),
        ({"modalities": ["protein"]}, "is in none of the modalities protein"),
    ],
)
def test_what_a_mudata_object_lacks_is_said(mdata, wrong, match):
    with pytest.raises(InvalidInputError, match=match):
        weave(mdata, 3, **wrong)


def test_a_matrix_on_disk_is_read(adata, tmp_path):
    import anndata

    adata.X = adata.layers["counts"]
    adata.write_h5ad(tmp_path / "cells.h5ad")
    weave(adata, 3, use_rep="X")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    weave(backed, 3, use_rep="X")
    assert backed.obs["weave"].tolist() == adata.obs["weave"].tolist()
    backed.file.close()


def test_a_graph_of_an_earlier_run_does_not_stay_beside_clusters_without_one(adata):
    weave(adata, 3, use_rep="X_log")
    assert "weave_connectivities" in adata.obsp
    weave(adata, 3, use_rep="X_log", solver="landmark")
    assert not {"weave_connectivities", "weave_distances"} & set(adata.obsp)


def test_an_object_without_a_matrix_is_told_what_to_name(adata):
    anndata = pytest.importorskip("anndata")
    bare = anndata.AnnData(obs=adata.obs[[]].copy(), obsm={"protein": adata.obsm["protein"]})
    with pytest.raises(InvalidInputError, match=r"data has no matrix X: name a key of obsm with use_rep \('protein'\)"):
        weave(bare, 3)
    weave(bare, 3, use_rep="protein")


def test_a_representation_is_named_once(adata):
    with pytest.raises(InvalidInputError, match="use_rep names a table more than once: 'X_log', 'X_log'"):
        weave(adata, 3, use_rep=["X_log", "X_log"])


@pytest.mark.parametrize(("types", "model"), [(ClusterParameters, WeaveClustering), (ClassParameters, WeaveClassifier)])
def test_an_editor_knows_every_parameter_that_is_passed_on(types, model):
    passed_on = set(inspect.signature(model).parameters) - {"n_clusters", "random_state"}
    assert types.__annotations__.keys() == passed_on
