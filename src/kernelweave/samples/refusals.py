"""What scikit-learn refuses of one table, in the words of this package: what is wrong, and what to do."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import ArrayLike

from kernelweave._plural import counted
from kernelweave._types import Array
from kernelweave.errors import InvalidInputError

__all__ = ["not_numbers", "refusal"]


def refusal(error: ValueError, X: ArrayLike, *, mixed: bool, fitted: bool) -> InvalidInputError | None:
    """Return an error with more information than that of scikit-learn; None if that is sufficient.

    `mixed` tells that the model takes mixed tables, `fitted` that `fit` has seen numbers in the place of X.
    """
    words = str(error)
    if "contains NaN" in words:
        return _no_missing_cells(mixed=mixed)
    if "Found array with dim 3" in words:
        return _no_third_dimension(np.shape(X))
    if few := re.match(r"Found array with (\d+) sample\S* (.*)", words):
        return InvalidInputError(f"Found array with {counted(int(few[1]), 'sample')} {few[2]}")
    return _no_texts(error, fitted=fitted) if "could not convert string to float" in words else None


def not_numbers(X: Array) -> InvalidInputError:
    """Return the error of an array of dates, whose missing ones scikit-learn reads as numbers, or with fields."""
    if X.dtype.names is not None:
        msg = f"X is an array with the fields {', '.join(X.dtype.names)}: pass pandas.DataFrame(X), or numbers."
    else:
        what = "dates" if X.dtype.kind == "M" else "durations"
        msg = (
            f"X is an array of {what} ({X.dtype}), and an array must hold numbers: pass a data frame, whose columns of "
            f"{what} are read as days."
        )
    return InvalidInputError(msg)


def _no_third_dimension(shape: tuple[int, ...]) -> InvalidInputError:
    """Return the error of an array with three dimensions; nested lists are one array, not several views."""
    return InvalidInputError(
        f"Found array with dim 3, shape {shape}, but X must be one table of shape (n_samples, n_features). Pass "
        "several views as a list or dict of arrays, such as [np.asarray(a), np.asarray(b)], and kernel matrices with "
        "kernels='precomputed'."
    )


def _no_missing_cells(*, mixed: bool) -> InvalidInputError:
    """Return the error of missing cells; that of scikit-learn names models of other packages."""
    way = ", or fit a data frame with kernels='mixed', which fills missing cells with medians"
    return InvalidInputError(f"Input X contains NaN: impute the missing cells first{way if mixed else ''}.")


def _no_texts(error: ValueError, *, fitted: bool) -> InvalidInputError:
    """Return the error of a table with a cell that is not a number, in `fit` or where `fit` saw numbers."""
    cell = re.sub(r"^np\.str_\((.*)\)$", r"\1", str(error).partition(": ")[2])
    if fitted:
        return InvalidInputError(f"X holds the text {cell}, but the samples of fit were numbers: correct or encode it.")
    return InvalidInputError(
        f"X holds the text {cell}, and an array must hold numbers: encode texts first, or pass a data frame, whose "
        "columns of texts are read as categories."
    )
