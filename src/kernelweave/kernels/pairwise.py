"""Any scikit-learn kernel by its name, or a function of two samples, as a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from kernelweave.errors import InvalidInputError
from kernelweave.kernels._types import Matrix, Samples, Vector
from kernelweave.kernels.base import Kernel
from kernelweave.kernels.pair import Pair, as_samples

__all__ = ["Pairwise"]


@dataclass(frozen=True, slots=True)
class Pairwise(Kernel):
    """A kernel of scikit-learn by name, or a callable.

    Parameters
    ----------
    metric : str or callable
        A name that `sklearn.metrics.pairwise.pairwise_kernels` knows ("rbf", "sigmoid", ...), or a function
        of two samples (1-d arrays) that returns their similarity.
    params : mapping, optional
        Keyword arguments of the metric, such as ``{"gamma": 0.5}``.
    """

    metric: str | Callable[..., float]
    params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.metric, str) and self.metric not in PAIRWISE_KERNEL_FUNCTIONS:
            known = ", ".join(sorted(PAIRWISE_KERNEL_FUNCTIONS))
            msg = f"Unknown kernel {self.metric!r}: scikit-learn has {known}."
            raise InvalidInputError(msg)
        if not isinstance(self.metric, str) and not callable(self.metric):
            msg = f"A kernel is a name or a function of two samples; got {self.metric!r}."
            raise InvalidInputError(msg)

    def evaluate(self, pair: Pair) -> Matrix:
        """Call scikit-learn."""
        K = pairwise_kernels(pair.X, pair.Y, metric=self.metric, **self.params)
        return np.array(K, dtype=pair.X.dtype)

    def diag(self, X: Samples) -> Vector:
        """Return the kernel of each sample with itself, one sample at a time."""
        X = as_samples(X)
        rows = (X[[i]] for i in range(X.shape[0]))
        values = [pairwise_kernels(row, metric=self.metric, **self.params).item() for row in rows]
        return np.array(values, dtype=X.dtype)

    def __str__(self) -> str:
        name = self.metric if isinstance(self.metric, str) else getattr(self.metric, "__name__", "callable")
        shown = ", ".join(f"{key}={value}" for key, value in self.params.items())
        return f"{name}({shown})" if shown else name
