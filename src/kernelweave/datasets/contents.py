"""Where the samples and classes are in a file of arrays, and how they become tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kernelweave._types import Array, Samples
from kernelweave.errors import InvalidInputError, KernelweaveError
from kernelweave.runtime import check_memory

__all__ = [
    "FORMS",
    "Form",
    "LabelledTable",
    "LabelledTables",
    "Layout",
    "check_allocation",
    "tables_of",
    "undamaged",
]

Form: TypeAlias = Literal["rows", "columns", "images", "triplets", "kernels"]

FORMS: tuple[Form, ...] = get_args(Form)


class LabelledTable(NamedTuple):
    """The content of a file: samples in rows, one class per sample, and class names if the file has them."""

    data: npt.NDArray[np.float64] | sp.csr_array
    target: npt.NDArray[np.int64]
    target_names: npt.NDArray[np.str_] | None


class LabelledTables(NamedTuple):
    """The content of a file with several tables of the same samples."""

    tables: tuple[npt.NDArray[np.float64] | sp.csr_array, ...]
    target: npt.NDArray[np.int64]
    target_names: npt.NDArray[np.str_] | None


@dataclass(frozen=True, slots=True)
class Layout:
    """The parts of a file that hold the samples and the classes.

    A part is named by its place: ``X`` a variable, ``X/*`` all cells of it, ``X/0`` the first one, ``a/b`` an item of a
    list, and ``a + b`` two parts below each other.

    Parameters
    ----------
    samples : tuple of str
        The parts with the tables.
    target : str
        The part with the classes.
    form : {"rows", "columns", "images", "triplets", "kernels"}
        Whether the samples are the rows or the columns of the tables, images whose pixels are put into a row, or the
        first numbers of triplets (row, column, value) counted from 1; or whether the one part is a stack of kernel
        matrices, of shape (n, n, r).
    """

    samples: tuple[str, ...] = ("X",)
    target: str = "y"
    form: Form = "rows"

    @property
    def variables(self) -> frozenset[str]:
        """The variables of the file that are needed."""
        parts = [part.strip() for place in (*self.samples, self.target) for part in place.split("+")]
        return frozenset(part.split("/")[0] for part in parts)


def check_allocation(shape: Sequence[int], what: str) -> None:
    """Refuse, before it is allocated, an array that does not fit into memory."""
    check_memory(8 * math.prod(map(int, shape)), what=what, advice="use a machine with more memory")


def tables_of(content: Mapping[str, Any], layout: Layout, where: object) -> LabelledTables:
    """Return the tables and classes of a file's content.

    Parameters
    ----------
    content : mapping of str to array, list or mapping
        What a reader found, by the names of the variables: arrays, in dicts (structures, data frames) and lists (cell
        arrays).
    layout : Layout
        Where the samples and classes are.
    where : object
        The file, for messages.

    Returns
    -------
    tables : LabelledTables

    Raises
    ------
    InvalidInputError
        If a part is missing, or is not a table of numbers.
    """
    found = [node for place in layout.samples for node in _parts(content, place, where)]
    labels = _vector(_joined(_parts(content, layout.target, where), where))
    names, target = np.unique(labels, return_inverse=True)
    if layout.form == "kernels":
        tables = _kernels(found, where)
    elif layout.form == "triplets":
        tables = tuple(_of_triplets(_matrix(node, where), len(labels), where) for node in found)
    else:
        if layout.form == "images":
            found = [np.reshape(node, (len(node), -1)) for node in found]
        matrices = [_matrix(node, where) for node in found]
        tables = tuple(_table(node.T if layout.form == "columns" else node, where) for node in matrices)
    return LabelledTables(tables, target.astype(np.int64).ravel(), _texts(names))


def _texts(names: Array) -> npt.NDArray[np.str_] | None:
    if names.dtype.kind not in "SU":
        return None
    return np.array([n.decode("utf-8", "replace") if isinstance(n, bytes) else str(n) for n in names.tolist()])


def _parts(content: Any, place: str, where: object) -> list[Any]:
    """Return the nodes at a place; parts that are joined by + are put below each other."""
    stacked = [part.strip() for part in place.split("+")]
    if len(stacked) == 1:
        return _walk(content, stacked[0].split("/"), place, where)
    return [_joined([node for part in stacked for node in _parts(content, part, where)], where)]


def _walk(node: Any, path: list[str], place: str, where: object) -> list[Any]:
    if not path:
        return [node]
    step, *rest = path
    if step == "*" and isinstance(node, list | tuple):
        return [found for item in node for found in _walk(item, rest, place, where)]
    if isinstance(node, list | tuple) and step.isdigit() and int(step) < len(node):
        return _walk(node[int(step)], rest, place, where)
    if isinstance(node, Mapping) and step in node:
        return _walk(node[step], rest, place, where)
    held = f"it has {', '.join(map(str, node)) or 'nothing'}" if isinstance(node, Mapping) else "it is not a list there"
    msg = f"{where} has no variable {place}: {held}. Fetch it again."
    raise InvalidInputError(msg)


def _joined(nodes: list[Any], where: object) -> Any:
    if len(nodes) == 1:
        return nodes[0]
    try:
        return np.concatenate([np.asarray(node) for node in nodes])
    except ValueError as error:
        msg = f"The parts of {where} do not fit below each other: {error}. Fetch it again."
        raise InvalidInputError(msg) from error


def _vector(node: Any) -> Array:
    values = list(node.values()) if isinstance(node, Mapping) else node
    return np.ravel(np.asarray(values[0] if isinstance(node, Mapping) else values))


def _matrix(node: Any, where: object) -> Samples:
    """Return a node as a matrix; the columns of a data frame are put beside each other."""
    if isinstance(node, Mapping) and node and all(_is_numeric(column) for column in node.values()):
        node = np.column_stack([np.ravel(column) for column in node.values()])
    if not sp.issparse(node):
        node = np.asarray(node) if not isinstance(node, Mapping | list) else np.empty(0, dtype=object)
    if node.dtype.kind not in "biuf" or node.ndim != 2:
        got = f"got shape {node.shape} of type {node.dtype}"
        msg = f"A part of {where} must be a table of numbers, {got}: fetch it again."
        raise InvalidInputError(msg)
    return node


def _is_numeric(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind in "biuf"


def _table(X: Samples, where: object) -> npt.NDArray[np.float64] | sp.csr_array:
    if sp.issparse(X):
        check_allocation((X.shape[0] + 1 + 2 * X.nnz,), f"{where}: its sparse matrix of shape {X.shape}")
        table = sp.csr_array(X, dtype=np.float64)
        table.indices, table.indptr = _short(table.indices), _short(table.indptr)
        return table
    check_allocation(X.shape, f"{where}: its matrix of shape {X.shape}")
    return np.ascontiguousarray(X, dtype=np.float64)


def _short(index: Array) -> Array:
    """Return an index with 32 bits where it fits: some estimators refuse other index types."""
    return index.astype(np.int32) if index.size and index.max() < 2**31 else index


def _of_triplets(triplets: Samples, n: int, where: object) -> sp.csr_array:
    if sp.issparse(triplets) or triplets.shape[1] != 3:
        msg = f"A part of {where} must hold triplets (row, column, value), got shape {triplets.shape}: fetch it again."
        raise InvalidInputError(msg)
    row, column = (triplets[:, k].astype(np.int64) - 1 for k in (0, 1))
    if len(row) and (row.min() < 0 or column.min() < 0 or row.max() >= n):
        msg = f"A triplet of {where} is outside the {n} samples: fetch it again."
        raise InvalidInputError(msg)
    shape = (n, int(column.max(initial=-1)) + 1)
    return _table(sp.coo_array((triplets[:, 2], (row, column)), shape=shape), where)


def _kernels(found: list[Any], where: object) -> tuple[npt.NDArray[np.float64], ...]:
    stack = np.asarray(found[0])
    if len(found) != 1 or stack.ndim != 3 or stack.shape[0] != stack.shape[1] or stack.dtype.kind not in "biuf":
        msg = f"A part of {where} must be kernel matrices of shape (n, n, r), got shape {stack.shape}: fetch it again."
        raise InvalidInputError(msg)
    return tuple(np.ascontiguousarray(stack[:, :, r], dtype=np.float64) for r in range(stack.shape[2]))


@contextmanager
def undamaged(path: Path, kind: str) -> Iterator[None]:
    """Turn what readers raise for a damaged file, errors of many types, into one that names the file."""
    try:
        yield
    except KernelweaveError:
        raise
    except Exception as error:
        msg = f"{path} cannot be read as {kind} ({type(error).__name__}: {error}): fetch it again."
        raise InvalidInputError(msg) from error
