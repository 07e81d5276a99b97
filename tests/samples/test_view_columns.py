"""The columns that the parameter `views` names: a mask with an index goes by the names of columns."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs

from kernelweave import WeaveClustering
from kernelweave.errors import ColumnsWarning, InvalidInputError
from kernelweave.explain import explain_clusters

X, Y = make_blobs(40, n_features=4, centers=3, cluster_std=0.8, random_state=0)
NAMES = list("abcd")
LEFT = np.array([True, True, False, False])


def fit(data, mask):
    return WeaveClustering(3, views={"left": mask, "right": ~mask}, random_state=0).fit(data)


@pytest.mark.parametrize(
    "columns", [NAMES, [10, 20, 30, 40], range(4), pd.MultiIndex.from_product([["m", "n"], [1, 2]])], ids=str
)
def test_a_mask_that_is_a_sorted_series_means_the_columns_that_its_index_names(columns):
    table = pd.DataFrame(X, columns=columns)
    mask = pd.Series(LEFT, index=table.columns).iloc[::-1]
    expected, found = fit(table, mask.sort_index().to_numpy()), fit(table, mask)
    assert found.readings_ == expected.readings_
    assert_array_equal(found.embedding_, expected.embedding_)


@pytest.mark.parametrize("columns", [[*NAMES, "kind"], [1, 2, 3, 4, 5]], ids=["texts", "numbers"])
def test_a_mask_of_a_mixed_table_goes_by_names_too(columns):
    table = pd.DataFrame(X).assign(kind=np.where(Y == 0, "x", "y")).set_axis(columns, axis=1)
    mask = pd.Series([*LEFT, True], index=columns).iloc[::-1]
    with pytest.warns(ColumnsWarning, match="'left' has columns that are not numbers"):
        model = fit(table, mask)
    assert [column.name for column in model.readings_["left"].columns] == [str(columns[i]) for i in (0, 1, 4)]
    assert model.readings_["right"].names == tuple(str(columns[i]) for i in (2, 3))


def test_a_mask_with_the_positions_of_columns_is_aligned_with_an_array():
    mask = pd.Series(LEFT, index=range(4)).sort_index(ascending=False)
    assert_array_equal(fit(X, mask).embedding_, fit(X, LEFT).embedding_)


@pytest.mark.parametrize("mask", [pd.Series(LEFT), pd.array(LEFT, dtype="boolean")], ids=["counted", "array"])
def test_a_mask_without_names_goes_by_position(mask):
    table = pd.DataFrame(X, columns=NAMES)
    assert fit(table, mask).readings_ == fit(table, LEFT).readings_


def test_a_mask_of_a_table_with_names_goes_by_position_in_an_array_without():
    assert fit(X, pd.Series(LEFT, index=NAMES)).view_widths_ == (2, 2)


@pytest.mark.parametrize("index", [list("abce"), list("aabc"), [3, 2, 1, 0]])
def test_a_mask_whose_index_names_other_columns_is_refused(index):
    with pytest.raises(
        InvalidInputError, match=r"views\['left'\] is a mask whose index does not hold every column of X"
    ):
        fit(pd.DataFrame(X, columns=NAMES), pd.Series(LEFT, index=index))


def test_columns_are_explained_in_the_views_that_a_mask_by_names_made():
    table = pd.DataFrame(X, columns=[10, 20, 30, 40])
    model = fit(table, pd.Series(LEFT, index=table.columns).iloc[::-1])
    rows = explain_clusters(model, table).features
    assert set(rows.loc[rows["view"] == "left", "feature"]) == {"10", "20"}
