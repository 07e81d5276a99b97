"""Columns that have names are found by them in every chunk, and in the chunks of new samples."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs

import kernelweave
from kernelweave import Chunks, Landmark, WeaveClustering
from kernelweave.errors import InvalidInputError
from kernelweave.weave import lazy_labels

dd = pytest.importorskip("dask.dataframe")

FRAME = pd.DataFrame(make_blobs(120, n_features=5, centers=3, random_state=3)[0], columns=list("abcde"))
TURNED = FRAME[list("ecbda")]
PARTS = [FRAME[:50], TURNED[50:]]  # two halves of one table, with their columns in different orders


def stored(folder, *parts):
    for i, part in enumerate(parts):
        part.to_parquet(folder / f"{i}.parquet")
    return folder


# tables in chunks, of the given parts
KINDS = {
    "list": lambda folder, *parts: Chunks(list(parts)),
    "function": lambda folder, *parts: lambda: iter(parts),
    "iterator": lambda folder, *parts: iter(parts),
    "polars": lambda folder, *parts: Chunks([pl.from_pandas(part) for part in parts]),
    "parquet": stored,
}
ONE = {
    "table": lambda folder, table: Chunks(table),
    "dask": lambda folder, table: dd.from_pandas(table, npartitions=2),
    **KINDS,
}


def fitted(X):
    return WeaveClustering(3, solver=Landmark(n_landmarks=30), random_state=0).fit(X)


@pytest.fixture(scope="module")
def expected():
    return fitted(FRAME).labels_


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_may_have_their_columns_in_different_orders(kind, expected, tmp_path):
    model = fitted(KINDS[kind](tmp_path, *PARTS))
    assert_array_equal(model.labels_, expected)
    assert model.feature_names_in_.tolist() == list("abcde")


@pytest.mark.parametrize("kind", ONE)
def test_columns_of_new_chunks_are_found_by_their_names(kind, expected, tmp_path):
    model = fitted(Chunks([FRAME]))
    assert_array_equal(model.predict(ONE[kind](tmp_path, TURNED)), expected)


def test_columns_of_one_frame_are_those_of_the_chunks_of_fit(expected):
    assert_array_equal(fitted(Chunks([FRAME])).predict(TURNED), expected)


@pytest.mark.parametrize("solver", ["dense", "local"])
def test_chunks_are_new_samples_of_a_model_of_a_frame(solver, tmp_path):
    model = WeaveClustering(3, solver=solver, random_state=0).fit(FRAME)
    assert_array_equal(model.predict(stored(tmp_path, TURNED)), model.labels_)


def test_columns_named_by_numbers_are_found_too(expected):
    numbered = FRAME.set_axis(range(5), axis=1)
    model = fitted(Chunks([numbered[:50], numbered.iloc[50:, ::-1]]))
    assert_array_equal(model.labels_, expected)
    assert_array_equal(model.predict(Chunks([numbered.iloc[:, ::-1]])), expected)


def test_labels_that_stay_with_dask_know_the_columns_too(expected):
    turned = dd.from_pandas(TURNED, npartitions=2)
    assert_array_equal(lazy_labels(fitted(FRAME), turned).compute(scheduler="synchronous"), expected)


def test_a_saved_model_knows_the_columns_of_its_chunks(expected, tmp_path):
    fitted(Chunks([FRAME])).save(tmp_path / "model.kw")
    assert_array_equal(kernelweave.load(tmp_path / "model.kw").predict(Chunks([TURNED])), expected)


def test_arrays_among_the_chunks_are_read_by_position(expected):
    model = fitted(Chunks([FRAME[:50], FRAME[50:].to_numpy()]))
    assert_array_equal(model.labels_, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_chunk_of_other_columns_is_refused_with_its_name(kind, tmp_path):
    X = KINDS[kind](tmp_path, FRAME[:50], FRAME[50:].rename(columns={"b": "z"}))
    message = r"(chunk 1|1\.parquet, row group 0,) lacks the column 'b' and has a column 'z': all chunks"
    with pytest.raises(InvalidInputError, match=message):
        fitted(X)


def test_new_chunks_of_other_columns_are_refused():
    with pytest.raises(InvalidInputError, match="chunk 0 lacks the column 'b' and has a column 'z'"):
        fitted(FRAME).predict(Chunks([FRAME.rename(columns={"b": "z"})]))


def test_names_that_repeat_find_no_column(expected):
    named = FRAME.set_axis(["a"] * 5, axis=1)
    assert_array_equal(fitted(Chunks([named[:50], named[50:]])).labels_, expected)


@pytest.mark.parametrize("index", [np.arange(120)[::-1], [f"s{i}" for i in range(120)]], ids=["numbers", "texts"])
def test_the_index_of_a_frame_in_parquet_is_no_feature(index, expected, tmp_path):
    model = fitted(stored(tmp_path, FRAME.set_axis(index)))
    assert model.n_features_in_ == 5
    assert_array_equal(model.labels_, expected)
