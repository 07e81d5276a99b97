"""Kernel matrices that are data frames are put in one order by the names of their rows and columns."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

import kernelweave
from kernelweave import SMKLClustering, WeaveClassifier, WeaveClustering
from kernelweave.baselines import MKKM
from kernelweave.errors import InvalidInputError
from kernelweave.explain import explain_clusters
from kernelweave.samples.precomputed import read_cross_stack, read_stack

X, Y = make_blobs(45, n_features=4, centers=3, random_state=1)
NAMES = [f"s{i}" for i in range(45)]
NEAR = pd.DataFrame(rbf_kernel(X, gamma=0.05), NAMES, NAMES)
FAR = pd.DataFrame(rbf_kernel(X, gamma=0.005), NAMES, NAMES)
OTHER = [f"s{i}" for i in np.random.default_rng(0).permutation(45)]
PARTLY = np.where(np.arange(45) % 4 == 0, Y, -1)


@pytest.mark.parametrize("model", [WeaveClustering, SMKLClustering, MKKM])
@pytest.mark.parametrize("far", [FAR.loc[OTHER, OTHER], FAR.loc[OTHER], FAR[OTHER]], ids=["both", "rows", "columns"])
def test_kernels_in_different_orders_are_those_of_the_same_samples(model, far):
    given = {"kernels": "precomputed", "random_state": 0}
    expected = model(3, **given).fit({"near": NEAR, "far": FAR})
    found = model(3, **given).fit({"near": NEAR, "far": far})
    assert_array_equal(found.labels_, expected.labels_)
    assert_array_equal(found.sample_names_, NAMES)


def test_the_columns_of_one_matrix_are_in_the_order_of_its_rows():
    stack = read_stack(NEAR[OTHER])
    assert_array_equal(stack.matrices[0], NEAR)
    assert stack.sample_names is None  # labels are taken by position
    assert_array_equal(stack.attributes["sample_names_"], NAMES)


def test_columns_that_are_not_named_like_the_rows_have_their_order():
    assert_array_equal(read_stack(NEAR.set_axis([f"k{i}" for i in range(45)], axis=1)).matrices[0], NEAR)
    assert_array_equal(read_stack(pd.DataFrame(NEAR.to_numpy(), index=NAMES)).matrices[0], NEAR)


def test_labels_are_aligned_with_several_kernels_by_their_index():
    y = pd.Series(PARTLY, NAMES)[OTHER]
    kernels = {"near": NEAR, "far": FAR.loc[OTHER, OTHER]}
    model = WeaveClassifier(kernels="precomputed").fit(kernels, y)
    assert_array_equal(model.transduction_, Y)
    assert model.score({"near": NEAR.loc[OTHER], "far": FAR}, pd.Series(Y, NAMES)) == 1


def test_labels_of_counted_kernels_in_another_order_are_refused():
    near = NEAR.reset_index(drop=True)
    y = pd.Series(PARTLY).sample(frac=1, random_state=0)
    with pytest.raises(InvalidInputError, match="the index of y has the same numbers in another order"):
        WeaveClassifier(kernels="precomputed").fit({"near": near}, y)


@pytest.mark.parametrize("form", [lambda K: K, lambda K: [K], lambda K: {"kernel 0": K}], ids=["one", "list", "dict"])
def test_the_training_samples_of_new_kernels_are_found_by_name(form, tmp_path):
    WeaveClustering(3, kernels="precomputed", random_state=0).fit(form(NEAR)).save(tmp_path / "model.kw")
    model = kernelweave.load(tmp_path / "model.kw")
    assert_array_equal(model.predict(form(NEAR[OTHER].iloc[:9])), model.labels_[:9])
    assert_array_equal(model.predict(NEAR.to_numpy()[:9]), model.labels_[:9])


def test_new_samples_of_several_kernels_are_aligned_too():
    new = read_cross_stack([NEAR.iloc[:5], FAR.iloc[4::-1]], ("near", "far"), 45, np.array(NAMES))
    assert_array_equal(new.matrices, np.stack([NEAR[:5], FAR[:5]]))
    assert_array_equal(new.sample_names, NAMES[:5])


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ({"a": NEAR, "b": FAR.rename(index={"s3": "t"}, columns={"s3": "t"})}, "'a' lacks samples .*, such as 't'"),
        ({"a": NEAR.rename(columns={"s3": "t"})}, "The columns of 'a' do not name the sample 's3': name them as its"),
        ({"a": NEAR, "b": FAR.loc[OTHER, OTHER], "c": FAR.to_numpy()}, "View 'c' has no index, but the other views"),
        ({1: NEAR, "1": FAR}, "Two kernel matrices are called '1'"),
    ],
    ids=["other samples", "other columns", "no index", "names"],
)
def test_kernels_of_samples_that_cannot_be_matched_are_refused(kernels, message):
    with pytest.raises(InvalidInputError, match=message):
        read_stack(kernels)


def test_new_kernels_that_lack_a_training_sample_are_refused():
    model = WeaveClustering(3, kernels="precomputed", random_state=0).fit(NEAR)
    with pytest.raises(InvalidInputError, match="do not name the sample 's3': name them as the samples of fit"):
        model.predict(NEAR.rename(columns={"s3": "t"}))


def test_tables_are_explained_by_the_names_of_the_kernels():
    model = WeaveClustering(3, kernels="precomputed", random_state=0).fit(NEAR)
    table = pd.DataFrame(X, index=NAMES, columns=list("abcd"))
    assert explain_clusters(model, table.loc[OTHER]).rows == explain_clusters(model, table).rows
