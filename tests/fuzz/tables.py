"""Samples in every form that a user may pass: arrays, sparse matrices, data frames, views, chunks, comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

from kernelweave import Chunks, Views
from kernelweave.samples import Distances, Graph
from tests.fuzz.arrays import array, blobs, odd, shape
from tests.fuzz.draw import Draw

_FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")


def _floats(draw: Draw, n: int, d: int) -> Any:
    """Return numbers that sparse matrices and data frames can hold."""
    X = np.asarray(array(draw, n, d))
    return X if X.shape == (n, d) and X.dtype.kind in "fiub" and X.dtype != np.longdouble else blobs(draw, n, d)


def _sparse(draw: Draw, n: int, d: int) -> Any:
    X = _floats(draw, n, d)
    X = X.astype(float) if X.dtype in (np.float16, np.dtype(">f8")) else X
    X = np.where(draw.rng.random((n, d)) < 0.5, 0, X)
    maker = draw.one([sparse.csr_array, sparse.csr_matrix])
    form = draw.one(_FORMATS)
    draw.notes.append(form)
    table = maker(X).asformat(form)
    if form == "csr" and draw.chance(0.5):
        return _odd_csr(draw, table)
    return table


def _odd_csr(draw: Draw, table: Any) -> Any:
    """Return a CSR matrix with explicit zeros, entries that occur twice, or long indices."""
    rows, columns = (np.concatenate([part, part]) for part in table.nonzero())
    data = np.concatenate([table.data, np.zeros_like(table.data)])[: len(rows)]
    coo = sparse.coo_array((data, (rows[: len(data)], columns[: len(data)])), shape=table.shape)
    csr = sparse.csr_array(coo)
    return sparse.csr_array((csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)), shape=csr.shape)


def _frame(draw: Draw, n: int, d: int) -> Any:
    frame = pd.DataFrame(_floats(draw, n, d), columns=[f"c{j}" for j in range(d)])
    frame.index = draw.one([range(n), [f"s{i}" for i in range(n)], [0] * n, pd.date_range("2020", periods=n)])
    return frame


def _typed_column(draw: Draw, n: int) -> Any:
    words = np.array(["a", "b", "", "NA"])[draw.rng.integers(0, 4, n)]
    numbers = draw.rng.normal(size=n)
    return draw.one(
        [
            pd.Series(words),
            pd.Series(words, dtype="category"),
            pd.Series(pd.array(draw.rng.integers(0, 3, n), dtype="Int64")).where(draw.rng.random(n) < 0.8),
            pd.Series(numbers, dtype="Float32"),
            pd.Series(numbers > 0, dtype="boolean"),
            pd.Series(pd.date_range("2020", periods=n)),
            pd.Series(pd.to_timedelta(np.arange(n), unit="s")),
            pd.Series([None] * n),
            pd.Series([[1, 2]] * n),
            pd.Series(words, dtype="string"),
            pd.Series(numbers + 1j),
            pd.Series(pd.arrays.SparseArray(np.where(numbers > 0, 0, numbers))),
            pd.Series([f"text {i}" for i in range(n)]),
        ]
    )


def _mixed_frame(draw: Draw, n: int, d: int) -> Any:
    frame = pd.DataFrame({f"c{j}": _typed_column(draw, n) for j in range(draw.integer(1, 3))})
    frame["x"] = blobs(draw, n, 1)[:, 0]
    if draw.chance(0.2):
        frame.columns = ["c"] * frame.shape[1]
    return frame


def _other_frame(draw: Draw, n: int, d: int) -> Any:
    values = {f"c{j}": column for j, column in enumerate(_floats(draw, n, d).astype(float).T)}
    if draw.chance(0.3):
        values["word"] = [draw.one(["a", "b", None]) for _ in range(n)]
    return draw.one([pl.DataFrame, lambda v: pl.DataFrame(v).lazy(), pa.table])(values)


def _one_view(draw: Draw, n: int) -> Any:
    d = draw.one([1, 2, 3, 5])
    X = draw.one([array, array, _sparse, _frame, _mixed_frame])(draw, n, d)
    return X


def _views(draw: Draw, n: int, d: int) -> Any:
    tables = [_one_view(draw, n) for _ in range(draw.integer(1, 3))]
    if draw.chance(0.1):
        tables[0] = _one_view(draw, n + 1)
    form = draw.one(["list", "tuple", "dict", "Views", "dict of frames"])
    draw.notes.append(form)
    if form == "dict of frames":
        return {f"v{i}": _with_gaps(draw, n) for i in range(draw.integer(1, 3))}
    named = {f"v{i}": table for i, table in enumerate(tables)}
    return {"list": tables, "tuple": tuple(tables), "dict": named, "Views": None}[form] or Views(named)


def _with_gaps(draw: Draw, n: int) -> Any:
    """Return one view as a frame that lacks some samples, or has rows without values."""
    frame = pd.DataFrame(blobs(draw, n, 2) * draw.scale(), index=[f"s{i}" for i in range(n)])
    if draw.chance(0.5):
        frame.iloc[draw.rng.random(n) < 0.3] = np.nan
    return frame[draw.rng.random(n) < draw.one([0.7, 1, 1])]


def _comparison(draw: Draw, n: int, d: int) -> Any:
    X = np.asarray(draw.one([array, blobs, blobs])(draw, n, d))
    X = X.astype(float) if X.shape == (n, d) and X.dtype.kind in "fiub" else blobs(draw, n, d)
    with np.errstate(all="ignore"):
        D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
        W = np.exp(-D)
    near = sparse.csr_array(np.where(W > 0.1, W, 0))
    thing = draw.one([Distances(D), Graph(W), Graph(near), Distances(X), Graph(-W)])
    return draw.one([thing, {"a": thing, "b": blobs(draw, n, 2)}, [blobs(draw, n, 2), thing]])


def _chunks(draw: Draw, n: int, d: int) -> Any:
    X = _floats(draw, n, d)
    cut = draw.integer(0, n)
    parts = [X[:cut], X[cut:]]
    makers = [lambda: Chunks(parts), lambda: iter(parts), lambda: lambda: iter(parts), lambda: Chunks(X)]
    return draw.one(makers)()


MAKERS = {
    "array": array,
    "array again": array,
    "array once more": array,
    "sparse": _sparse,
    "frame": _frame,
    "mixed frame": _mixed_frame,
    "other frame": _other_frame,
    "views": _views,
    "comparison": _comparison,
    "chunks": _chunks,
}


def samples(draw: Draw) -> tuple[Any, int]:
    """Return samples, and how many were meant."""
    n, d = shape(draw)
    if draw.chance(0.04):
        return odd(draw, n, d), n
    return draw.named(MAKERS, n, d), n
