"""Kernel matrices that are data frames: their rows and columns name samples, by which several are put in one order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import Array, Matrix
from kernelweave.errors import InvalidInputError
from kernelweave.samples.alignment import align, examples
from kernelweave.samples.table import Table, counts_rows, plain_names

__all__ = ["columns_of_fit", "columns_of_rows", "in_one_order", "named"]


def named(K: Matrix, given: object) -> Table:
    """Return a matrix with the index of the data frame that it was given as, and the names of its columns."""
    index, columns = getattr(given, "index", None), getattr(given, "columns", None)
    if not hasattr(index, "get_indexer"):  # only data frames of pandas have an index
        index = None
    plain = columns is None or counts_rows(columns)
    return Table(K, index, None if plain else tuple(map(str, columns)))  # type: ignore[arg-type]


def columns_of_rows(table: Table, name: str) -> Table:
    """Return a square matrix with its columns in the order of its rows, if both name the same samples."""
    if table.names is None or table.columns is None:
        return table
    places = _places(list(map(str, table.names)), table.columns, f"The columns of {name!r}", "its rows")
    return table if places is None else Table(table.values[:, places], table.index, None)


def columns_of_fit(table: Table, name: str, samples: Array | None) -> Table:
    """Return the kernels of new samples with their columns in the order of the training samples."""
    if samples is None or table.columns is None:
        return table
    places = _places(list(map(str, samples)), table.columns, f"The columns of {name!r}", "the samples of fit")
    return table if places is None else Table(table.values[:, places], table.index, None)


def _places(wanted: Sequence[str], given: Sequence[str], what: str, of: str) -> NDArray[np.intp] | None:
    """Return where each of the wanted names is among those given; None if none is there, so that others are meant."""
    place = {name: i for i, name in enumerate(given)}
    absent = [name for name in wanted if name not in place]
    if len(absent) == len(wanted) or tuple(given) == tuple(wanted):
        return None
    if absent or len(place) < len(given):
        lacking = f"do not name the sample {absent[0]!r}" if absent else "name a sample twice"
        msg = f"{what} {lacking}: name them as {of}, or pass an array whose columns are in that order."
        raise InvalidInputError(msg)
    return np.array([place[name] for name in wanted], dtype=np.intp)


def in_one_order(tables: Mapping[str, Table], *, square: bool) -> tuple[list[Matrix], Array | None]:
    """Return matrices whose rows, and columns if they are square, are in the order of the first, and their names.

    Matrices without names of rows are in that order already, or are refused.
    """
    if all(table.index is None for table in tables.values()):
        return [table.values for table in tables.values()], None
    n, samples, rows = align(tables)
    found = []
    for name, table in tables.items():
        if len(rows[name]) < n:
            lacking = np.setdiff1d(np.arange(n), rows[name])
            shown = "" if samples is None else f", such as {examples(samples[lacking])}"
            msg = f"{name!r} lacks samples that the other kernel matrices have{shown}: pass the same samples in each."
            raise InvalidInputError(msg)
        order = np.argsort(rows[name])
        same = bool((order == np.arange(n)).all())
        K = table.values if same else table.values[order]
        found.append(K if same or not square else K[:, order])
    return found, None if samples is None else plain_names(samples)
