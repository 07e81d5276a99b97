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
from kernelweave.samples.numbers import n_numbers
from kernelweave.samples.source import NamedRows, Part, Source, as_rows, names_in

__all__ = ["spooled"]


def spooled(chunks: Iterator[Any]) -> Source:
    """Check chunks, copy them to disk and return a source of the copies; the folder is removed with them."""
    folder = Path(mkdtemp(prefix="kernelweave-"))
    lengths: list[int] = []
    held = 0
    width: int | None = None
    columns: tuple[Any, ...] | None = None
    try:
        for i, chunk in enumerate(chunks):
            rows = as_rows(chunk, f"chunk {i}", width, columns)
            width, columns = rows.shape[1], names_in(chunk) if columns is None else columns
            lengths.append(rows.shape[0])
            held += n_numbers(rows)
            _write(folder / str(i), rows)
        if not lengths:
            msg = "The iterator gave no chunk: it is empty, or was exhausted before. Pass a new one."
            raise InvalidInputError(msg)
    except BaseException:
        rmtree(folder, ignore_errors=True)
        raise
    copies = _Copies(folder, len(lengths), columns)
    finalize(copies, rmtree, folder, ignore_errors=True)
    return Source(copies, lengths=lengths, width=width, columns=columns, n_numbers=held)


@dataclass(frozen=True)
class _Copies:
    folder: Path
    count: int
    columns: tuple[Any, ...] | None

    def __call__(self) -> Iterator[Part]:
        for i in range(self.count):
            yield Part(f"chunk {i}", _read, (self.folder / str(i), self.columns))


def _write(path: Path, rows: Any) -> None:
    if sparse.issparse(rows):
        sparse.save_npz(path.with_suffix(".npz"), rows, compressed=False)
    else:
        np.save(path.with_suffix(".npy"), rows)


def _read(path: Path, columns: tuple[Any, ...] | None) -> Any:
    dense = path.with_suffix(".npy")
    rows = np.load(dense) if dense.exists() else sparse.load_npz(path.with_suffix(".npz"))
    return rows if columns is None else NamedRows(rows, columns)
