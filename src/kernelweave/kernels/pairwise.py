"""Any scikit-learn kernel by its name, or a function of two samples, as a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from kernelweave._types import Matrix, Samples, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.base import Kernel, Pair
from kernelweave.samples.numbers import as_samples, as_writable

__all__ = ["Pairwise", "is_metric", "need_counts"]


@dataclass(frozen=True, slots=True)
class Pairwise(Kernel):
    """A kernel of scikit-learn by name, or a callable.

    Parameters
    ----------
    metric : str or callable
        A name that `sklearn.metrics.pairwise.pairwise_kernels` knows ("rbf", "sigmoid", ...), or a function
        of two samples (1-d arrays) that returns their similarity; it takes dense samples only.
    params : mapping, optional
        Keyword arguments of the metric, such as ``{"gamma": 0.5}``.
    """

    metric: str | Callable[..., float]
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", dict(self.params))  # the caller's mapping may change
        if isinstance(self.metric, type) and issubclass(self.metric, Kernel):
            name = self.metric.__name__
            msg = f"A kernel is expected, but the class {name} was given: write {name}(...) to make one."
            raise InvalidInputError(msg)
        if isinstance(self.metric, str) and not is_metric(self.metric):
            names = ", ".join(sorted(_metrics()))
            msg = f"Unknown kernel {self.metric!r}: scikit-learn has {names}."
            raise InvalidInputError(msg)
        if not isinstance(self.metric, str) and not callable(self.metric):
            msg = f"A kernel is a name or a function of two samples; got {self.metric!r}."
            raise InvalidInputError(msg)
        known = None if isinstance(self.metric, str) else _name_of(self.metric)
        if known is not None:
            msg = f"{self} of scikit-learn compares tables, not two samples: pass its name, {known!r}."
            raise InvalidInputError(msg)

    def evaluate(self, pair: Pair) -> Matrix:
        """Call scikit-learn."""
        from sklearn.metrics.pairwise import pairwise_kernels

        self._need_samples(pair.X, pair.Y)
        X = as_writable(pair.X)
        Y = X if pair.same else as_writable(pair.Y)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused by whoever uses it
            K = pairwise_kernels(X, Y, metric=self.metric, **self.params)
        return np.array(K, dtype=pair.dtype)

    def diag(self, X: Samples) -> Vector:
        """Return the kernel of each sample with itself, one sample at a time."""
        from sklearn.metrics.pairwise import pairwise_kernels

        X = as_samples(X)
        self._need_samples(X)
        rows = (X[[i]] for i in range(X.shape[0]))
        with np.errstate(over="ignore", invalid="ignore"):
            values = [pairwise_kernels(row, metric=self.metric, **self.params).item() for row in rows]
        return np.array(values, dtype=X.dtype)

    def _need_samples(self, *tables: Samples) -> None:
        if not isinstance(self.metric, str) and any(sparse.issparse(X) for X in tables):
            msg = (
                f"The function {self} compares dense samples; got a sparse matrix. Pass X.toarray() if it fits, "
                "or use a kernel by name."
            )
            raise InvalidInputError(msg)
        if self.metric in ("chi2", "additive_chi2"):
            need_counts(str(self), *tables)

    def __str__(self) -> str:
        name = self.metric if isinstance(self.metric, str) else getattr(self.metric, "__name__", "callable")
        shown = ", ".join(f"{key}={value}" for key, value in self.params.items())
        return f"{name}({shown})" if shown else name


def need_counts(kernel: str, *tables: Samples) -> None:
    """Refuse samples with negative values for a kernel of counts or histograms."""
    for X in tables:
        least = float((X.data if sparse.issparse(X) else X).min(initial=0))
        if least < 0:
            msg = (
                f"{kernel} compares counts or histograms, which are not negative; the smallest value is {least:g}. If "
                'the table has none, its z-scores have: give the model scale="none" or scale="unit".'
            )
            raise InvalidInputError(msg)


def is_metric(name: str) -> bool:
    """Return whether scikit-learn has a kernel of this name."""
    return name in _metrics()


def _name_of(function: object) -> str | None:
    """Return the name of a kernel function of scikit-learn; None for any other function."""
    return next((name for name, one in _metrics().items() if one is function), None)


def _metrics() -> Mapping[str, Callable[..., Any]]:
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS  # slow to import, and few models need it

    return PAIRWISE_KERNEL_FUNCTIONS  # type: ignore[no-any-return]
