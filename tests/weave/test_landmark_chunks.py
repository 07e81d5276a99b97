"""Every source of samples gives the same labels, and every unusable chunk is refused by its name."""

import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import sparse

from kernelweave import Chunks
from kernelweave.errors import DataUnavailableError, InvalidInputError


def as_memory_map(X, folder):
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


def as_parquet(X, folder):
    for i, part in enumerate(np.array_split(X, 3)):
        pd.DataFrame(part, columns=[f"c{j}" for j in range(X.shape[1])]).to_parquet(
            folder / f"{i}.parquet", row_group_size=100
        )
    return folder


def as_zarr(X, folder):
    array = zarr.create_array(str(folder / "x.zarr"), shape=X.shape, chunks=(128, X.shape[1]), dtype=X.dtype)
    array[:] = X
    return str(folder / "x.zarr")


def with_boolean(X):
    return pd.DataFrame(np.column_stack([X, X[:, 0] > 0])).astype({X.shape[1]: bool})


SOURCES = {
    "memory map": as_memory_map,
    "sparse": lambda X, folder: sparse.csc_array(X),
    "data frame": lambda X, folder: pd.DataFrame(X),
    "parquet folder": as_parquet,
    "parquet file": lambda X, folder: as_parquet(X[:300], folder) / "0.parquet",
    "zarr": as_zarr,
    "list": lambda X, folder: Chunks(np.array_split(X, 4)),
    "list of frames": lambda X, folder: Chunks([pd.DataFrame(part) for part in np.array_split(X, 4)]),
    "list of frames with missing types": lambda X, folder: Chunks(
        [pd.DataFrame(part).convert_dtypes() for part in np.array_split(X, 4)]
    ),
    "list of arrays and sparse": lambda X, folder: Chunks(
        [sparse.csr_array(part) if i % 2 else part for i, part in enumerate(np.array_split(X, 4))]
    ),
    "chunks of a table": lambda X, folder: Chunks(X),
    "chunks of a data frame": lambda X, folder: Chunks(pd.DataFrame(X)),
    "chunks of a sparse matrix": lambda X, folder: Chunks(sparse.csc_array(X)),
    "chunks of a frame with booleans": lambda X, folder: Chunks(with_boolean(X)),
    "generator of frames with booleans": lambda X, folder: (
        with_boolean(X).iloc[i : i + 300] for i in range(0, len(X), 300)
    ),
    "generator": lambda X, folder: (part for part in np.array_split(X, 4)),
    "generator of sparse": lambda X, folder: (sparse.csr_array(part) for part in np.array_split(X, 4)),
    "callable": lambda X, folder: lambda: iter(np.array_split(X, 4)),
    "integers": lambda X, folder: Chunks([np.round(part).astype(int) for part in np.array_split(X, 4)]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_gives_the_labels_of_its_table(groups, fit, tmp_path, name):
    X, _ = groups
    source = SOURCES[name](X, tmp_path)
    table = {"parquet file": X[:100], "integers": np.round(X)}.get(name, X)
    table = with_boolean(X).astype(float) if name.endswith("booleans") else table
    options = {"scale": "none", "n_landmarks": 20}
    assert np.array_equal(fit(source, **options).labels_, fit(table, **options).labels_)


def chunks(X, i, change):
    parts = [part.copy() for part in np.array_split(X, 4)]
    parts[i] = change(parts[i])
    return parts


def with_nan(part):
    part[3, 2] = np.nan
    return part


BAD = {
    "NaN": (with_nan, "chunk 2 holds 1 NaN or infinite value.*row 3, column 2"),
    "masked": (
        lambda part: np.ma.masked_array(part, part == part[3, 2]),
        "chunk 2 holds 1 NaN or infinite value.*row 3, column 2",
    ),
    "width": (lambda part: part[:, :4], "chunk 2 has 4 columns, but those before it have 6"),
    "empty": (lambda part: part[:0], "chunk 2 is empty"),
    "text": (lambda part: part.astype(str), "chunk 2: Samples must be real numbers"),
    "words": (lambda part: pd.DataFrame(part).assign(c="a"), "'chunk 2' must hold numbers, but its column 'c' is"),
    "ragged": (lambda part: [*part.tolist(), [1.0]], "chunk 2: .*inhomogeneous shape"),
    "flat": (lambda part: part[0], "chunk 2: Samples must form a 2-d table"),
}


@pytest.mark.parametrize(
    "kind", [Chunks, iter, lambda parts: lambda: iter(parts)], ids=["list", "iterator", "callable"]
)
@pytest.mark.parametrize("name", BAD)
def test_a_bad_chunk_is_named(groups, fit, name, kind):
    change, message = BAD[name]
    with pytest.raises(InvalidInputError, match=message):
        fit(kind(chunks(groups[0], 2, change)))


def test_nan_in_a_table_and_in_a_sparse_one_is_found_with_its_rows(groups, fit):
    X = groups[0].copy()
    X[700, 1] = np.inf
    for table in (X, sparse.csr_array(X)):
        with pytest.raises(InvalidInputError, match=r"rows 0 to 899, holds 1 NaN.*row 700, column 1"):
            fit(Chunks(table))


def test_an_unreadable_file_in_the_middle_is_named_before_anything_is_fitted(groups, fit, tmp_path):
    folder = as_parquet(groups[0], tmp_path)
    (folder / "1.parquet").write_bytes(b"no parquet")
    with pytest.raises(DataUnavailableError, match=r"1\.parquet could not be read"):
        fit(folder)


def test_a_damaged_row_group_in_the_middle_is_named(groups, fit, tmp_path):
    file = as_parquet(groups[0], tmp_path) / "1.parquet"
    data = bytearray(file.read_bytes())
    data[4 : len(data) // 2] = b"x" * (len(data) // 2 - 4)
    file.write_bytes(data)
    with pytest.raises(DataUnavailableError, match=r"1\.parquet, row group \d, could not be read"):
        fit(tmp_path)


def test_files_of_other_columns_without_rows_or_with_text_are_named(groups, fit, tmp_path):
    folder = as_parquet(groups[0], tmp_path)
    frame = pd.read_parquet(folder / "1.parquet")
    for bad, message in (
        (frame.iloc[:, :3], r"1\.parquet has 3 columns, but .*0\.parquet has 6"),
        (frame.iloc[:0], r"1\.parquet is empty"),
        (frame.assign(c1="a"), r"1\.parquet: column 'c1' must hold numbers; got object"),
    ):
        bad.to_parquet(folder / "1.parquet")
        with pytest.raises(InvalidInputError, match=message):
            fit(folder)


def test_paths_that_hold_no_samples_are_refused(fit, tmp_path):
    with pytest.raises(DataUnavailableError, match=r"There is no .*nowhere"):
        fit(tmp_path / "nowhere")
    with pytest.raises(DataUnavailableError, match="neither Parquet files nor a Zarr array"):
        fit(tmp_path)
    np.save(tmp_path / "x.npy", np.ones(3))
    with pytest.raises(InvalidInputError, match=r"is a numpy file: pass numpy\.load"):
        fit(tmp_path / "x.npy")


def test_a_reader_that_fails_is_named(groups, fit):
    def broken():
        yield groups[0]
        msg = "the disk is gone"
        raise OSError(msg)

    with pytest.raises(OSError, match="the disk is gone"):
        fit(broken())


def test_an_iterable_that_changes_between_readings_is_refused(groups, fit):
    parts = [groups[0][:500], groups[0][500:]]
    once = iter([parts, parts, parts[:1]])
    with pytest.raises(InvalidInputError, match="X gave 500 rows, but 900 when it was first read"):
        fit(lambda: next(once))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_function_that_returns_the_same_iterator_again_is_refused(groups, fit, n_jobs):
    once = iter([groups[0][:500], groups[0][500:]])
    with pytest.raises(InvalidInputError, match="X gave other chunks than when it was first read"):
        fit(lambda: once, n_jobs=n_jobs)


@pytest.mark.parametrize("cuts", [[100], [200, 500]], ids=["shorter", "more"])
def test_chunks_that_change_before_rows_are_drawn_are_refused(groups, fit, cuts):
    X = groups[0]
    readings = iter([np.split(X, [200]), [part[:-1] for part in np.split(X, cuts)]])
    with pytest.raises(InvalidInputError, match="X gave other chunks than when it was first read"):
        fit(lambda: next(readings))


def test_a_list_of_paths_is_no_list_of_chunks(fit):
    with pytest.raises(InvalidInputError, match=r"chunk 0 is the text or path 'a\.parquet', not a table"):
        fit(Chunks(["a.parquet", "b.parquet"]))


def test_an_empty_iterator_and_one_sample_are_refused(groups, fit):
    with pytest.raises(InvalidInputError, match="The iterator gave no chunk"):
        fit(iter([]))
    with pytest.raises(InvalidInputError, match="Found 1 sample, while a minimum of 2 is required"):
        fit(Chunks(groups[0][:1]))
    with pytest.raises(InvalidInputError, match=r"Chunks are read from a path .*, or a table; got int"):
        Chunks(5)
    with pytest.raises(InvalidInputError, match='solver="landmark" does not take several views: use solver="dense"'):
        fit({"pixels": groups[0], "words": groups[0]})


def test_copies_of_an_iterator_are_removed(groups, fit, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    fit(iter(np.array_split(groups[0], 3)))
    with pytest.raises(InvalidInputError, match="chunk 1 is empty"):
        fit(iter([groups[0], groups[0][:0]]))
    assert not list(tmp_path.iterdir())
