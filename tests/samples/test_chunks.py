"""Chunks: what they are read from, what is known of them before, and what cannot be used."""

from itertools import chain

import numpy as np
import pandas as pd
import polars as pl
import pytest
import zarr
from numpy.testing import assert_array_equal
from scipy import sparse

from kernelweave import Chunks
from kernelweave.errors import DataUnavailableError, InvalidInputError
from kernelweave.samples import source as module
from kernelweave.samples.source import read

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

X = np.random.default_rng(0).normal(size=(90, 6))
PARTS = np.array_split(X, 4)


def as_parquet(folder):
    for i, part in enumerate(np.array_split(X, 3)):
        frame = pd.DataFrame(part, columns=[f"c{j}" for j in range(6)])
        frame.to_parquet(folder / f"{i}.parquet", row_group_size=20)
    return folder


def as_zarr(folder):
    array = zarr.create_array(str(folder / "x.zarr"), shape=X.shape, chunks=(16, 6), dtype=X.dtype)
    array[:] = X
    return folder / "x.zarr"


def as_memory_map(folder):
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


# what chunks are made of, and whether the number of rows is known before they are read
KINDS = {
    "array": (lambda folder: X, True),
    "memory map": (as_memory_map, True),
    "sparse matrix": (lambda folder: sparse.csc_array(X), True),
    "pandas": (lambda folder: pd.DataFrame(X), True),
    "polars": (lambda folder: pl.DataFrame(X), True),
    "parquet folder": (as_parquet, True),
    "parquet folder as text": (lambda folder: str(as_parquet(folder)), True),
    "zarr": (as_zarr, True),
    "dask array": (lambda folder: da.from_array(X, chunks=(20, 2)), True),
    "dask array of unknown rows": (lambda folder: (lambda Z: Z[Z[:, 0] > -np.inf])(da.from_array(X)), False),
    "dask dataframe": (lambda folder: dd.from_pandas(pd.DataFrame(X), npartitions=3), False),
    "list": (lambda folder: PARTS, False),
    "tuple": (lambda folder: tuple(PARTS), False),
    "list of sparse": (lambda folder: [sparse.csr_array(part) for part in PARTS], False),
    "list of frames": (lambda folder: [pd.DataFrame(part) for part in PARTS], False),
    "iterator": (lambda folder: iter(PARTS), True),  # copied, and counted by that
    "generator": (lambda folder: (part for part in PARTS), True),
    "function": (lambda folder: lambda: iter(PARTS), False),
}


def rows_of(chunks):
    parts = [read(part, None) for part in chunks.source.parts()]
    return np.concatenate([part.toarray() if sparse.issparse(part) else part for part in parts])


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_gives_the_rows_in_order_as_often_as_they_are_read(name, tmp_path):
    chunks = Chunks(KINDS[name][0](tmp_path))
    for _ in range(2):
        assert_array_equal(rows_of(chunks), X)


@pytest.mark.parametrize("name", KINDS)
def test_the_number_of_rows_is_told_without_reading_where_it_is_known(name, tmp_path):
    make, known = KINDS[name]
    chunks = Chunks(make(tmp_path))
    assert (chunks.source.lengths is not None) == known
    assert chunks.source.n == (90 if known else 0)
    assert chunks.source.width in (6, None)
    assert repr(chunks).startswith("Chunks(90 samples in ") == known


def test_chunks_describe_themselves():
    assert repr(Chunks(X)) == "Chunks(90 samples in 1 chunk, 6 columns)"
    assert repr(Chunks(iter(PARTS))) == "Chunks(90 samples in 4 chunks, 6 columns)"
    assert repr(Chunks(X[:1, :1])) == "Chunks(1 sample in 1 chunk, 1 column)"
    assert repr(Chunks(PARTS)) == "Chunks(not counted yet)"


def test_chunks_ask_for_a_solver_that_reads_them():
    assert Chunks(X).requirements == {"chunks": "samples that are read in chunks"}


def test_chunks_are_cast_as_they_are_read():
    chunks = Chunks(X)
    assert chunks.astype(np.float32) is chunks


def test_a_table_is_read_in_slices_of_some_size(monkeypatch):
    monkeypatch.setattr(module, "_CHUNK_BYTES", 40 * 6 * 8)
    chunks = Chunks(X)
    assert chunks.source.lengths == [40, 40, 10]
    assert_array_equal(rows_of(chunks), X)


def test_no_row_of_a_table_is_copied_before_it_is_read():
    (part,) = Chunks(X).source.parts()
    assert np.shares_memory(part.rows, X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (5, "Chunks are read from a path .*; got int"),
        (None, "got NoneType"),
        (b"bytes", "got bytes"),
        (np.ones(3), r"must form a 2-d table .*; got 1 dimension, shape \(3,\)"),
        (np.ones((2, 2, 2)), r"got 3 dimensions"),
        (da.ones((2, 2, 2)), r"got 3 dimensions"),
        (iter([]), "The iterator gave no chunk"),
        (chain([X], [X[:, :4]]), "chunk 1 has 4 columns, but those before it have 6"),
    ],
    ids=["number", "nothing", "bytes", "flat", "cube", "dask cube", "empty", "width"],
)
def test_what_holds_no_chunks_is_refused(X, message):
    with pytest.raises(InvalidInputError, match=message):
        Chunks(X)


def test_a_path_that_does_not_exist_is_refused_at_once(tmp_path):
    with pytest.raises(DataUnavailableError, match=r"There is no .*nowhere"):
        Chunks(tmp_path / "nowhere")


def test_copies_of_an_iterator_are_removed_with_the_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    chunks = Chunks(iter(PARTS))
    assert list(tmp_path.iterdir())
    del chunks
    assert not list(tmp_path.iterdir())


def test_a_table_in_another_file_is_refused_with_the_function_that_reads_it(tmp_path):
    pd.DataFrame(X).to_csv(tmp_path / "x.csv")
    with pytest.raises(DataUnavailableError, match=r"x\.csv is not a Parquet file.*kernelweave.tabular.read_table\("):
        Chunks(tmp_path / "x.csv")
