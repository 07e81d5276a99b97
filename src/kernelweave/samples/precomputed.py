"""Precomputed kernel matrices in place of samples, checked and stacked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from kernelweave._plural import counted
from kernelweave._types import Array, Matrix, RowsLike
from kernelweave.errors import InvalidInputError
from kernelweave.samples.digests import stack_digests
from kernelweave.samples.kernel_frames import columns_of_fit, columns_of_rows, in_one_order, named
from kernelweave.samples.magnitudes import cast, check_diagonal, check_kernel
from kernelweave.samples.numbers import unmasked
from kernelweave.samples.table import Table, counts_rows, names_of_rows

if TYPE_CHECKING:
    from kernelweave.samples.scaling import Scaling

__all__ = ["DIVIDE", "KernelStack", "read_cross_stack", "read_stack", "refuse_non_kernels"]

DIVIDE = "divide it by its largest value"  # what to do with kernels that are too large or too small


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KernelStack:
    """Kernel matrices of m samples with n training samples; m = n in `fit`.

    Parameters
    ----------
    matrices : array of shape (r, m, n)
        One matrix per kernel.
    names : tuple of str
        The kernels' names.
    index : array of shape (m,) or None
        The names of the samples, if data frames have them.
    by_name : bool
        Whether labels are aligned by these names: not with a single matrix, as in scikit-learn.
    counted : bool
        Whether data frames only count their samples, as of Views.
    """

    matrices: Matrix
    names: tuple[str, ...]
    index: Array | None = None
    by_name: bool = False
    counted: bool = False
    complete: ClassVar[Literal[True]] = True  # as of Views: every kernel has every sample

    def __repr__(self) -> str:
        return f"KernelStack({', '.join(self.names)}; {counted(self.n_samples, 'sample')})"

    @property
    def sample_names(self) -> Array | None:
        """The names by which labels are aligned, as of Views."""
        return self.index if self.by_name else None

    @property
    def n_samples(self) -> int:
        """The number m of samples."""
        return int(self.matrices.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision."""
        return self.matrices.dtype

    @property
    def requirements(self) -> dict[str, str]:
        """What a solver must support for these samples."""
        return {"precomputed": "precomputed kernels"}

    @property
    def attributes(self) -> dict[str, Any]:
        """The fitted attributes of an estimator that describe its samples."""
        n = self.n_samples
        shape = {"n_features_in_": n, "view_names_": ("kernels",), "view_widths_": (n,)}
        return {**shape, "sample_names_": self.index, "readings_": {}}

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and training samples."""
        return self.n_samples, int(self.matrices.shape[2])

    @property
    def n_numbers(self) -> int:
        """The number of numbers that the matrices hold."""
        return int(self.matrices.size)

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> KernelStack:
        """Return the matrices in another precision."""
        return replace(self, matrices=cast(self.matrices, dtype, "A kernel matrix", copy=copy))

    def scaled(self, scalings: Mapping[str, Scaling], dtype: DTypeLike | None = None) -> KernelStack:
        """Return the matrices in this precision if it is given; they are never scaled, so `scalings` are empty."""
        return self if dtype is None else self.astype(dtype, copy=False)

    def select(self, samples: RowsLike) -> KernelStack:
        """Return the rows of some samples, by position or mask."""
        index = None if self.index is None else self.index[samples]
        return replace(self, matrices=self.matrices[:, samples], index=index)

    def digests(self) -> NDArray[np.uint8]:
        """Return a digest of 16 bytes of the kernel values of every sample."""
        return stack_digests(self.matrices)


def read_stack(X: object) -> KernelStack:
    """Return kernel matrices of samples with themselves: from (r, n, n), a list or dict of (n, n), or one (n, n).

    Data frames are aligned by the names of their rows and columns.
    """
    given, names = _matrices(X)
    tables = {}
    for name, K in zip(names, given, strict=True):
        tables[name] = columns_of_rows(named(_square(_checked(K, name, training=True), name), K), name)
    n = len(tables[names[0]].values)
    for name, table in tables.items():
        if len(table.values) != n:
            msg = (
                f"All kernel matrices must compare the same samples: {names[0]!r} has {n}, {name!r} has "
                f"{len(table.values)}. Align them, one row and column per sample."
            )
            raise InvalidInputError(msg)
    if n < 2:
        msg = "Found a kernel matrix of 1 sample (shape (1, 1)) while a minimum of 2 is required."
        raise InvalidInputError(msg)
    return _aligned(X, tables, square=True)


def _aligned(X: object, tables: Mapping[str, Table], *, square: bool) -> KernelStack:
    """Return matrices with their samples in one order; one that is given alone keeps its own."""
    alone = hasattr(X, "columns")  # its names are for `explain`, and for the columns of new samples
    if alone:
        matrices, index = [table.values for table in tables.values()], names_of_rows(X)
    else:
        matrices, index = in_one_order(tables, square=square)
    for name, K in zip(tables, matrices, strict=True):
        if square:
            _check_symmetric(K, name)
    counted = not alone and any(counts_rows(table.index) for table in tables.values())
    return KernelStack(_stacked(matrices), tuple(tables), index, by_name=not alone, counted=counted)


def refuse_non_kernels(stack: KernelStack) -> None:
    """Refuse matrices of distances or graphs (a zero diagonal, no negative values), and negative diagonals."""
    for name, K in zip(stack.names, stack.matrices, strict=True):
        if not K.diagonal().any() and K.any() and (K >= 0).all():
            msg = (
                f"{name!r} has a zero diagonal and no negative values, so it is a matrix of distances or a graph, not "
                "a kernel. Pass Distances(D) or Graph(S) of kernelweave.samples without 'precomputed', or a kernel of "
                "the distances, such as np.exp(-((D / np.median(D)) ** 2))."
            )
            raise InvalidInputError(msg)
        check_diagonal(K, f"{name!r} is")


def read_cross_stack(X: object, names: tuple[str, ...], n: int, samples: Array | None = None) -> KernelStack:
    """Return (r, m, n) precomputed kernels of m new samples with the n training samples, in the order of `names`.

    `samples` are the names of the training samples, by which columns of data frames are found.
    """
    matrices, given = _matrices(X)
    if isinstance(X, Mapping) and set(given) == set(names):
        matrices = [matrices[given.index(name)] for name in names]
    elif isinstance(X, Mapping) or len(matrices) != len(names):
        msg = f"The model was fitted on the kernels {', '.join(names)}; got {', '.join(given)}."
        raise InvalidInputError(msg)
    checked = [_checked(K, name, training=False) for K, name in zip(matrices, names, strict=True)]
    for name, K in zip(names, checked, strict=True):
        if K.shape != (len(checked[0]), n):
            msg = (
                f"{name!r} must hold the kernel of every new sample with each of the {n} training samples: expected "
                f"shape ({len(checked[0])}, {n}); got {K.shape}."
            )
            raise InvalidInputError(msg)
    tables = {
        name: columns_of_fit(named(K, own), name, samples)
        for name, K, own in zip(names, checked, matrices, strict=True)
    }
    return _aligned(X, tables, square=False)


def _matrices(X: Any) -> tuple[list[Any], tuple[str, ...]]:
    if isinstance(X, Mapping):
        names, matrices = tuple(map(str, X)), list(X.values())
    else:
        matrices = _listed(X)
        names = tuple(f"kernel {i}" for i in range(len(matrices)))
    if not matrices:
        msg = "No kernel matrix was given: pass (r, n, n), a list of (n, n), or one (n, n)."
        raise InvalidInputError(msg)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"Two kernel matrices are called {twice!r}: give each a name of its own."
        raise InvalidInputError(msg)
    return matrices, names


def _listed(X: Any) -> list[Any]:
    """Return several matrices, or one, as a list."""
    if isinstance(X, list | tuple) or getattr(X, "ndim", None) == 3:
        return list(X)
    if hasattr(X, "ndim"):
        return [X]
    msg = f"Kernel matrices must be arrays, or a list or dict of them; got {type(X).__name__}."
    raise InvalidInputError(msg)


def _stacked(matrices: list[Matrix]) -> Matrix:
    dtype = np.float32 if all(K.dtype == np.float32 for K in matrices) else np.float64
    return np.stack(matrices).astype(dtype, copy=False)


def _checked(K: Any, name: str, *, training: bool) -> Matrix:
    """Return one matrix, checked to hold finite numbers that are neither too large nor too small."""
    if sparse.issparse(K):
        msg = f"{name!r} is a sparse matrix; precomputed kernels are dense: pass K.toarray()."
        raise InvalidInputError(msg)
    K = np.asarray(unmasked(K) if isinstance(K, np.ma.MaskedArray) else K)
    if K.ndim != 2:
        msg = _not_square(name, K.shape)
        raise InvalidInputError(msg)
    if K.dtype.kind not in "fiub":
        msg = f"{name!r} must hold real numbers; got dtype {K.dtype}."
        raise InvalidInputError(msg)
    numbers: Matrix = K if K.dtype == np.float32 else K.astype(np.float64, copy=False)
    if not np.isfinite(numbers).all():
        bad = np.argwhere(~np.isfinite(numbers))
        what = counted(len(bad), "NaN or infinite value")
        msg = f"{name!r} holds {what}, the first at row {bad[0][0]}, column {bad[0][1]}."
        raise InvalidInputError(msg)
    check_kernel(numbers, repr(name), training=training, advice=DIVIDE)
    return numbers


def _not_square(name: str, shape: tuple[int, ...]) -> str:
    return f"{name!r} must be a square (n, n) matrix; got shape {shape}. Did you mean kernels='released-12'?"


def _square(K: Matrix, name: str) -> Matrix:
    """Return one kernel matrix, checked to be square."""
    if K.shape[0] != K.shape[1]:
        msg = _not_square(name, K.shape)
        raise InvalidInputError(msg)
    return K


def _check_symmetric(K: Matrix, name: str) -> None:
    """Refuse a square matrix that is not symmetric."""
    asymmetry = np.abs(K - K.T).max(initial=0)
    if asymmetry > np.sqrt(np.finfo(K.dtype).eps) * np.abs(K).max(initial=0):
        msg = (
            f"{name!r} must be symmetric; |K - K'| is up to {asymmetry:.3g}. "
            "Pass (K + K.T) / 2 if the asymmetry is meant to be averaged out."
        )
        raise InvalidInputError(msg)
