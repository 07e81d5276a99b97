"""kernelweave.sc.classify on AnnData and MuData objects of the real packages."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.errors import InvalidInputError
from kernelweave.sc import classify, weave

NAMES = np.array(["T", "B", "NK"])


def test_missing_types_are_predicted_and_given_ones_kept(adata, kinds):
    classify(adata, "type", use_rep="X_log")
    found = adata.obs["weave_class"]
    assert found.dtype.name == "category"
    assert (found.astype(str) == NAMES[kinds]).mean() > 0.95
    given = adata.obs["type"].notna()
    assert (found[given] == adata.obs["type"][given]).all()
    assert adata.obs["weave_class_confidence"].between(1 / 3, 1).all()
    assert "weave_class_connectivities" in adata.obsp


def test_a_category_may_mark_unlabelled_cells(adata):
    classify(adata, "type", use_rep="X_log", key_added="by_gap")
    adata.obs["type"] = adata.obs["type"].astype(object).fillna("Unknown").astype("category")
    classify(adata, "type", use_rep="X_log", unlabeled_category="Unknown", key_added="by_name")
    assert adata.obs["by_name"].cat.categories.tolist() == ["B", "NK", "T"]
    assert adata.obs["by_name"].tolist() == adata.obs["by_gap"].tolist()


def test_the_cells_of_a_mudata_object_are_classified(mdata, adata, kinds):
    mdata.obs["type"] = adata.obs["type"].reindex(mdata.obs_names)
    copy = classify(mdata, "type", copy=True)
    assert (copy.obs["weave_class"].astype(str) == NAMES[kinds]).all()
    assert "weave_class" not in mdata.obs


def test_a_column_that_is_not_there_is_said(adata):
    with pytest.raises(InvalidInputError, match="There is no column 'tpye' in obs; it has: type"):
        classify(adata, "tpye")


def test_a_category_that_is_not_there_marks_nothing_and_is_refused(adata):
    adata.obs["type"] = adata.obs["type"].astype(object).fillna("Unknown").astype("category")
    with pytest.raises(
        InvalidInputError, match=r"There is no category 'unknown' in obs\['type'\]; there are: .*'Unkno"
    ):
        classify(adata, "type", unlabeled_category="unknown")


@pytest.mark.parametrize("call", [weave, lambda data: classify(data, "type")], ids=["weave", "classify"])
def test_a_data_frame_is_no_annotated_object(call):
    with pytest.raises(InvalidInputError, match="An AnnData or MuData object is needed; got DataFrame"):
        call(pd.DataFrame(np.eye(3)))


def test_the_given_types_are_not_replaced(adata):
    with pytest.raises(InvalidInputError, match=r"would replace the given types in obs\['type'\]"):
        classify(adata, "type", use_rep="X_log", key_added="type")


def test_a_type_that_is_called_like_unlabelled_cells_is_said(adata):
    adata.obs["type"] = adata.obs["type"].astype(object).fillna("Unknown")
    with pytest.warns(UserWarning, match=r"'Unknown' in obs\['type'\] is taken as a type \(60 cells\)"):
        classify(adata, "type", use_rep="X_log")
    classify(adata, "type", use_rep="X_log", unlabeled_category="Unknown")
    assert "Unknown" not in set(adata.obs["weave_class"])
