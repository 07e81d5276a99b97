"""Arrays of numbers, ordinary and hostile: scales, constants, copies, values that are not finite, types, memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.draw import Draw


def blobs(draw: Draw, n: int, d: int) -> Any:
    """Return groups of samples that are mostly easy to tell apart."""
    centres = draw.rng.normal(size=(3, d)) * draw.one([1, 5, 20])
    return centres[draw.rng.integers(0, 3, n)] + draw.rng.normal(size=(n, d))


def _whole(draw: Draw, n: int, d: int) -> Any:
    return draw.rng.integers(-2, 3, size=(n, d)).astype(float)


def _copies(draw: Draw, n: int, d: int) -> Any:
    return blobs(draw, n, d)[draw.rng.integers(0, min(n, draw.integer(1, 3)), n)]


def _zeros(draw: Draw, n: int, d: int) -> Any:
    X = np.zeros((n, d))
    if draw.chance(0.5):
        X[draw.integer(0, n - 1)] = draw.extreme()
    return X


def _constant_column(draw: Draw, n: int, d: int) -> Any:
    X = blobs(draw, n, d)
    X[:, draw.integer(0, d - 1)] = draw.one([0, 1, 1e16, 1e300, 5e-324])
    return X


def _zero_rows(draw: Draw, n: int, d: int) -> Any:
    X = blobs(draw, n, d)
    X[draw.rng.random(n) < 0.3] = 0
    return X


def _columns_of_any_unit(draw: Draw, n: int, d: int) -> Any:
    return blobs(draw, n, d) * np.array([draw.scale() for _ in range(d)])


def _rows_of_any_unit(draw: Draw, n: int, d: int) -> Any:
    return blobs(draw, n, d) * np.array([draw.scale() for _ in range(n)])[:, None]


def _one_outlier(draw: Draw, n: int, d: int) -> Any:
    X = blobs(draw, n, d)
    X[draw.integer(0, n - 1), draw.integer(0, d - 1)] = draw.one([-1, 1]) * draw.extreme()
    return X


def _far_from_zero(draw: Draw, n: int, d: int) -> Any:
    return blobs(draw, n, d) + draw.one([1e6, 1e12, -1e16, 1e100])


def _all_extreme(draw: Draw, n: int, d: int) -> Any:
    return np.sign(draw.rng.normal(size=(n, d))) * draw.extreme()


def _not_finite(draw: Draw, n: int, d: int) -> Any:
    X = blobs(draw, n, d)
    X[draw.rng.random((n, d)) < draw.one([0.02, 0.3, 1])] = draw.one([np.nan, np.inf, -np.inf])
    return X


def _unit(draw: Draw, n: int, d: int) -> Any:
    return blobs(draw, n, d) * draw.scale()


VALUES = {
    "blobs": blobs,
    "blobs again": blobs,
    "unit": _unit,
    "whole": _whole,
    "copies": _copies,
    "zeros": _zeros,
    "constant column": _constant_column,
    "zero rows": _zero_rows,
    "columns of any unit": _columns_of_any_unit,
    "rows of any unit": _rows_of_any_unit,
    "outlier": _one_outlier,
    "far from zero": _far_from_zero,
    "extreme": _all_extreme,
    "not finite": _not_finite,
}


def _cast(dtype: str) -> Any:
    def cast(draw: Draw, X: Any) -> Any:
        with np.errstate(all="ignore"):
            return X.astype(dtype)

    return cast


def _gaps_between(draw: Draw, X: Any) -> Any:
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _read_only(draw: Draw, X: Any) -> Any:
    X = X.copy()
    X.setflags(write=False)
    return X


FORMS = {
    "as it is": lambda draw, X: X,
    "double": lambda draw, X: X,
    "float32": _cast("float32"),
    "float16": _cast("float16"),
    "longdouble": _cast("longdouble"),
    "big endian": _cast(">f8"),
    "int64": _cast("int64"),
    "int8": _cast("int8"),
    "uint64": _cast("uint64"),
    "bool": _cast("bool"),
    "object": _cast("object"),
    "Fortran": lambda draw, X: np.asfortranarray(X),
    "gaps in memory": _gaps_between,
    "backwards": lambda draw, X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read only": _read_only,
    "lists": lambda draw, X: X.tolist(),
    "masked": lambda draw, X: np.ma.masked_invalid(X),
    "matrix": lambda draw, X: X.view(np.matrix),
    "text": lambda draw, X: X.astype(str),
    "complex": lambda draw, X: X + 1j,
}


def shape(draw: Draw) -> tuple[int, int]:
    """Return numbers of samples and of features: few, so that a case is quick."""
    n = draw.one([2, 3, 4, 5, 7, 9, 12, 12, 16, 16, 20, 20, 24, 24, 30])
    return n, draw.one([1, 1, 2, 2, 3, 3, 4, 6, 11])


def array(draw: Draw, n: int, d: int) -> Any:
    """Return an array of shape (n, d), or what numpy reads as one."""
    X = draw.named(VALUES, n, d)
    return draw.named(FORMS, X) if draw.chance(0.4) else X


def odd(draw: Draw, n: int, d: int) -> Any:
    """Return what is no table of samples at all."""
    X = blobs(draw, n, d)
    things = [
        None, 3, "X", "nowhere.parquet", b"bytes", [], {}, (), np.empty((0, d)), np.empty((n, 0)), X[:1], X[0], X[None],
        np.array(3.0), [[1, 2], [3]], [[]], object(), np.array([None] * n), np.array([[None] * d] * n), iter([]),
        np.datetime64("2020-01-01"), np.zeros((n, d), dtype="m8[s]"), np.zeros(n, dtype=[("a", "f8")]), {"a": None},
        {"a": 3}, [X, None], [X, X[:-1]], lambda: None, range(5), {1: X}, {"a": X, 2: X}, [[X]], np.array([X, X]),
    ]  # fmt: skip
    draw.notes.append("odd")
    return draw.one(things)
