"""Chunks of an iterator, copied to a temporary folder so that they can be read more than once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

import numpy as np
from scipy import sparse

from kernelweave.errors import InvalidInputError
from kernelweave.samples.source import Part, Source, as_rows

__all__ = ["spooled"]


def spooled(chunks: Iterator[Any]) -> Source:
    """Check chunks, copy them to disk and return a source of the copies; the folder is removed with the source."""
    folder = Path(mkdtemp(prefix="kernelweave-"))
    lengths: list[int] = []
    width: int | None = None
    try:
        for i, chunk in enumerate(chunks):
            rows = as_rows(chunk, f"chunk {i}", width)
            width = rows.shape[1]
            lengths.append(rows.shape[0])
            _write(folder / str(i), rows)
        if not lengths:
            msg = "The iterator gave no chunk: it is empty, or was exhausted before. Pass a new one."
            raise InvalidInputError(msg)
    except BaseException:
        rmtree(folder, ignore_errors=True)
        raise
    source = Source(_Copies(folder, len(lengths)), lengths=lengths, width=width)
    finalize(source, rmtree, folder, ignore_errors=True)
    return source


@dataclass(frozen=True)
class _Copies:
    folder: Path
    count: int

    def __call__(self) -> Iterator[Part]:
        for i in range(self.count):
            yield Part(f"chunk {i}", _read, (self.folder / str(i),))


def _write(path: Path, rows: Any) -> None:
    if sparse.issparse(rows):
        sparse.save_npz(path.with_suffix(".npz"), rows, compressed=False)
    else:
        np.save(path.with_suffix(".npy"), rows)


def _read(path: Path) -> Any:
    dense = path.with_suffix(".npy")
    return np.load(dense) if dense.exists() else sparse.load_npz(path.with_suffix(".npz"))
