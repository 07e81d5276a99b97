"""Samples drawn to learn from: by row number only, so that the draw does not depend on the chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Samples
from kernelweave.samples.parts import Part, read
from kernelweave.samples.running import Run
from kernelweave.samples.source import Source

__all__ = ["coordinate_order", "draw_rows", "take"]

Rows = NDArray[np.int64]

_BATCH = 2**20


def draw_rows(n: int, size: int, seed: int, among: NDArray[np.bool_] | None = None) -> Rows:
    """Return the rows, ascending, with the `size` smallest random keys of all n rows, or of those in the mask."""
    rng = np.random.default_rng(seed)
    keys, rows = np.empty(0), np.empty(0, dtype=np.int64)
    for start in range(0, n, _BATCH):
        here = np.arange(start, min(start + _BATCH, n))
        key = rng.random(len(here))
        if among is not None:
            here, key = here[among[here]], key[among[here]]
        keys, rows = np.append(keys, key), np.append(rows, here)
        if len(keys) > size:
            first = np.argpartition(keys, size)[:size]
            keys, rows = keys[first], rows[first]
    return np.sort(rows)


def take(source: Source, rows: Rows, run: Run) -> Samples:
    """Return these rows, ascending, of a source whose lengths are known; parts without any of them are not read."""
    starts = np.concatenate([[0], np.cumsum(source.lengths or [])])
    cuts = np.searchsorted(rows, starts)
    each = [rows[i:j] - start if j > i else None for start, i, j in zip(starts, cuts, cuts[1:], strict=False)]
    found = list(run.over(_take, source.width, source, each))
    return sparse.csr_array(sparse.vstack(found)) if sparse.issparse(found[0]) else np.concatenate(found)


def _take(width: int | None, part: Part, rows: Rows) -> Any:
    return read(part, width)[rows]


def coordinate_order(X: Samples) -> NDArray[np.intp]:
    """Return the order that sorts the samples by a projection, which does not depend on their input order."""
    direction = np.random.default_rng(0).standard_normal(X.shape[1])
    return np.argsort(np.asarray(X @ direction), kind="stable")
