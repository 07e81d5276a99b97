"""What the SMKL family shares: parameters checked, kernels built, the solver run, its solution kept."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, check_scalar

from kernelweave.errors import InvalidInputError
from kernelweave.estimators._input import as_bank, check_samples, kernel_stack
from kernelweave.estimators._run import solve
from kernelweave.kernels import Gaussian, as_kernel
from kernelweave.kernels._types import Matrix
from kernelweave.solve import Problem, Scheme

__all__ = ["GraphEstimator", "KernelEstimator", "OneKernel", "SeveralKernels"]

_SHARED_PARAMETERS = {
    "alpha": {"target_type": Real, "min_val": 0},
    "beta": {"target_type": Real, "min_val": 0, "include_boundaries": "neither"},
    "gamma": {"target_type": Real, "min_val": 0, "include_boundaries": "neither"},
    "max_iter": {"target_type": Integral, "min_val": 1},
    "tol": {"target_type": Real, "min_val": 0},
    "n_init": {"target_type": Integral, "min_val": 1},
    "n_clusters": {"target_type": Integral, "min_val": 1},
    "verbose": {"target_type": Integral, "min_val": 0},
}


class KernelEstimator(BaseEstimator):
    """A model that sees its samples through kernels: parameters checked, kernel matrices built."""

    @abstractmethod
    def _kernels(self) -> Any:
        """Return what the user gave as kernels."""

    @property
    def _precomputed(self) -> bool:
        kernels = self._kernels()
        return isinstance(kernels, str) and kernels == "precomputed"

    def _begin(self) -> np.random.RandomState:
        """Check the parameters before anything is computed, and return the source of randomness."""
        parameters = self.get_params(deep=False)
        for name, rule in _SHARED_PARAMETERS.items():
            if name in parameters:
                value = check_scalar(parameters[name], name, **rule)
                if not np.isfinite(value):
                    msg = f"{name} must be finite; got {value}."
                    raise InvalidInputError(msg)
        return check_random_state(self.random_state)

    def _build_kernels(self, X: Any) -> Matrix:
        """Return H (r, n, n), and keep the bank and the kernels' names."""
        if self._precomputed:
            H, self.kernel_names_ = kernel_stack(X)
            self.n_features_in_ = H.shape[1]
            return H
        X = check_samples(self, X, reset=True)
        self.bank_ = as_bank(self._kernels())
        self.kernel_names_ = self.bank_.names
        return self.bank_.fit_grams(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags


class GraphEstimator(KernelEstimator):
    """A model that learns a graph of the samples together with a consensus kernel, in the one loop of the solver."""

    @abstractmethod
    def _scheme(self) -> Scheme:
        """Return the steps of this model with its parameters."""

    def _begin(self) -> np.random.RandomState:
        self._scheme()  # an unknown name fails here
        return super()._begin()

    def _solve(self, problem: Problem, random_state: np.random.RandomState) -> None:
        """Run the solver and keep what it found."""
        solution = solve(
            problem,
            self._scheme(),
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=random_state,
            verbose=self.verbose,
        )
        state = solution.state
        self.graph_ = state.S
        self.consensus_kernel_ = state.K
        self.embedding_ = state.P
        self.kernel_weights_ = state.w
        self.kernel_shares_ = state.w / state.w.sum()
        self.history_ = solution.history
        self.n_iter_ = solution.n_iter
        self.outcome_ = solution.outcome


class SeveralKernels:
    """A model of several kernels, given as `kernels`."""

    def _kernels(self) -> Any:
        return self.kernels  # type: ignore[attr-defined]


class OneKernel:
    """A model of one kernel, given as `kernel`."""

    def _kernels(self) -> Any:
        kernel = self.kernel  # type: ignore[attr-defined]
        if kernel is None:
            return Gaussian(t=1)
        return kernel if isinstance(kernel, str) and kernel == "precomputed" else as_kernel(kernel)

    def _build_kernels(self, X: Any) -> Matrix:
        H: Matrix = super()._build_kernels(X)  # type: ignore[misc]
        if len(H) > 1:
            msg = (
                f"{type(self).__name__} learns from one kernel matrix; got {len(H)}. Pass one, or use SMKL for several."
            )
            raise InvalidInputError(msg)
        return H
