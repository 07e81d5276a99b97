"""The types that all packages share: arrays inside, and what a user may pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = [
    "Array",
    "Dimensions",
    "Dtype",
    "Graph",
    "HasMatrix",
    "HasRows",
    "HasShape",
    "Labels",
    "LabelsLike",
    "Mask",
    "Matrix",
    "Progress",
    "RandomStateLike",
    "RowsLike",
    "Samples",
    "Table",
    "Tables",
    "Tile",
    "TileOf",
    "Vector",
    "WeightsLike",
]


@dataclass(frozen=True, slots=True)
class Dimensions:
    """The numbers of dimensions that an array may have, for those who check values against their annotation."""

    possible: tuple[int, ...]


Array: TypeAlias = NDArray[Any]  # of numbers or texts
Matrix: TypeAlias = Annotated[NDArray[np.floating[Any]], Dimensions((2, 3))]  # or a stack of them
Vector: TypeAlias = Annotated[NDArray[np.floating[Any]], Dimensions((1,))]
Mask: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[np.integer[Any]]
# (n, d): a numpy array or a scipy CSR array, of floating point numbers
Samples: TypeAlias = Annotated[Any, Dimensions((2,))]
Graph: TypeAlias = Annotated[Any, Dimensions((2,))]  # (n, n) or (m, n): a numpy array or a scipy sparse array
Dtype: TypeAlias = Literal["float32", "float64"] | type[np.float32] | type[np.float64] | np.dtype[Any] | None
RowsLike: TypeAlias = NDArray[np.integer[Any]] | Mask | Sequence[int] | slice  # some of the samples
RandomStateLike: TypeAlias = int | np.random.RandomState | None
Progress: TypeAlias = Callable[[str, int, int | None], None]  # stage, done, of how many


class HasShape(Protocol):
    """A table with a shape: an array, a sparse matrix, a data frame."""

    @property
    def shape(self) -> Any:  # a checker that infers scipy's types takes the shape of a sparse array for None
        """The numbers of rows and columns."""


class HasRows(Protocol):
    """A sparse matrix, for type checkers that infer no shape for those of scipy that are not arrays."""

    def tocsr(self) -> Any:
        """Return it in rows."""


class HasMatrix(Protocol):
    """Distances between samples, or a graph of them."""

    @property
    def matrix(self) -> Any:
        """The distances, or the weights of the edges."""


Table: TypeAlias = ArrayLike | HasShape | HasRows | HasMatrix  # one table of a user
Tables: TypeAlias = Table | Sequence[Table] | Mapping[str, Table]  # one or several
WeightsLike: TypeAlias = Literal["self", "uniform"] | Sequence[float] | HasShape  # of kernels
LabelsLike: TypeAlias = ArrayLike | HasShape | Sequence[object]  # one label per sample: a list, an array, a series
# rows, columns (at or after the rows, so that no tile lies below the diagonal), and the r kernels there, (r, b, b'), or
# their weighted sum
Tile: TypeAlias = tuple[slice, slice, Matrix]


class TileOf(Protocol):
    """A function of rows, columns and, if not that of the samples, precision: a tile (r, b, b') of H.

    With weights p it is the tile (b, b') of Σ p_i H_i.
    """

    def __call__(self, rows: slice, cols: slice, dtype: DTypeLike | None = None, p: Vector | None = None) -> Matrix:
        """Return the tile."""
