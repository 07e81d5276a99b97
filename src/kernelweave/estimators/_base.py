"""What the SMKL family shares: parameters checked, kernels built, the solver run, its solution kept."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, check_scalar

from kernelweave._types import Matrix, Vector
from kernelweave.core.graphs.new_rows import graph_rows
from kernelweave.core.paper.graph_step import ridge_inverse
from kernelweave.errors import InvalidInputError
from kernelweave.estimators._input import as_bank, check_samples, cross_stack, kernel_stack
from kernelweave.estimators._new_rows import once_per_kernel
from kernelweave.estimators._new_samples import NewSamples
from kernelweave.estimators._repr import FittedRepr
from kernelweave.estimators._run import solve
from kernelweave.estimators._saving import Savable
from kernelweave.estimators._views import forget_views, has_views, read_views, scaled, view_bank
from kernelweave.kernels import Gaussian, Kernel, as_kernel
from kernelweave.memory import check_dense_memory
from kernelweave.samples import Views
from kernelweave.solve import Outcome, Problem, Scheme, Solution, State, smkl

__all__ = ["GraphEstimator", "KernelEstimator", "OneKernel", "SeveralKernels", "smkl_scheme"]

_SHARED_PARAMETERS = {
    "alpha": {"target_type": Real, "min_val": 0},
    "beta": {"target_type": Real, "min_val": 0, "include_boundaries": "neither"},
    "relative_beta": {"target_type": Real, "min_val": 0, "include_boundaries": "neither"},
    "gamma": {"target_type": Real, "min_val": 0, "include_boundaries": "neither"},
    "lam": {"target_type": Real, "min_val": 0, "include_boundaries": "neither"},
    "max_iter": {"target_type": Integral, "min_val": 1},
    "tol": {"target_type": Real, "min_val": 0},
    "code_max_iter": {"target_type": Integral, "min_val": 1},
    "code_tol": {"target_type": Real, "min_val": 0},
    "n_init": {"target_type": Integral, "min_val": 1},
    "n_neighbors": {"target_type": Integral, "min_val": 1},
    "n_components": {"target_type": Integral, "min_val": 1},
    "n_candidates": {"target_type": Integral, "min_val": 1},
    "n_landmarks": {"target_type": Integral, "min_val": 1},
    "n_clusters": {"target_type": Integral, "min_val": 1},
    "verbose": {"target_type": Integral, "min_val": 0},
}


_EITHER = {"beta", "relative_beta"}  # None where the other one, or neither, is given


class KernelEstimator(FittedRepr, Savable, BaseEstimator):
    """A model that sees its samples through kernels: parameters checked, kernel matrices built."""

    _memory = "kernels"  # what `estimate_memory` calls models like this one

    @abstractmethod
    def _kernels(self) -> Any:
        """Return what the user gave as kernels."""

    @property
    def _precomputed(self) -> bool:
        kernels = self._kernels()
        return isinstance(kernels, str) and kernels == "precomputed"

    def _begin(self) -> np.random.RandomState:
        """Check the parameters before anything is computed, and return the source of randomness."""
        self._check_parameters()
        return check_random_state(self.random_state)

    def _check_parameters(self) -> None:
        """Check the parameters that are numbers: all there is to begin with for a model without randomness."""
        parameters = self._numbers()
        for name, rule in _SHARED_PARAMETERS.items():
            if name in parameters and not (name in _EITHER and parameters[name] is None):
                value = check_scalar(parameters[name], name, **rule)
                if not np.isfinite(value):
                    msg = f"{name} must be finite; got {value}."
                    raise InvalidInputError(msg)

    def _numbers(self) -> dict[str, Any]:
        """Return the parameters whose type and range are checked; a model leaves out those set by a word."""
        return dict(self.get_params(deep=False))

    def _build_kernels(self, X: Any) -> Matrix:
        """Return H (r, n, n), and keep the bank, the kernels' names and the samples that new ones are compared with."""
        if self._precomputed:
            H, self.kernel_names_ = kernel_stack(X)
            self.n_features_in_ = H.shape[1]
            return self._in_precision(H)
        self._training_ = self._samples(X, reset=True)
        self._take_bank()
        check_dense_memory(self, self._memory, len(self.bank_), self._training_)
        return self.bank_.fit_grams(self._training_)

    def _samples(self, X: Any, *, reset: bool) -> Any:
        """Return the samples as one checked table, or as Views if there are several, in the precision of the model."""
        if has_views(self, X):
            return self._in_precision(read_views(self, X, reset=reset))
        if reset:
            forget_views(self)
        elif hasattr(self, "kernel_views_"):
            msg = f"The model was fitted on the views {', '.join(self.view_names_)}; got {type(X).__name__}."
            raise InvalidInputError(msg)
        return self._in_precision(check_samples(self, X, reset=reset))

    def _take_bank(self) -> None:
        """Keep an unfitted bank of the kernels, and their names."""
        if isinstance(self._training_, Views):
            self.bank_ = view_bank(self._kernels(), self._training_.names)
            self.kernel_views_ = self.bank_.views
        else:
            self.bank_ = as_bank(self._kernels())
        self.kernel_names_ = self.bank_.names

    def _cross_kernels(self, X: Any) -> Matrix:
        """Return H (r, m, n), every kernel of m new samples with the n of `fit`.

        Constants of kernels and scaling are those of `fit`. A view that a sample lacks is in H already: there, its
        kernels tell the sample from no other.
        """
        if self._precomputed:
            return self._in_precision(cross_stack(X, self.kernel_names_, self.n_features_in_))
        samples = self._samples(X, reset=False)
        if hasattr(self, "scaling_"):
            samples = scaled(samples, self.scaling_)
        return self.bank_.grams(samples.astype(self._training_.dtype, copy=False), self._training_)

    @property
    def view_shares_(self) -> Vector:
        """The share of every view in the consensus, in the order of `view_names_`: that of its kernels together."""
        if not hasattr(self, "kernel_views_") or not hasattr(self, "kernel_shares_"):
            msg = f"{type(self).__name__} has no views: fit it on several tables, or with the parameter `views`."
            raise AttributeError(msg)
        views = np.array(self.kernel_views_)
        return np.array([self.kernel_shares_[views == name].sum() for name in self.view_names_])

    def _in_precision(self, array: Any) -> Any:
        """Return the array in the precision that the model asks for, if it has a say in that."""
        dtype = getattr(self, "dtype", None)
        if dtype not in (None, "float32", "float64", np.float32, np.float64):
            msg = f"dtype must be None, 'float32' or 'float64'; got {dtype!r}."
            raise InvalidInputError(msg)
        return array if dtype is None else array.astype(dtype, copy=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags


class GraphEstimator(NewSamples, KernelEstimator):
    """A model that learns a graph of the samples together with a consensus kernel, in the one loop of the solver."""

    _memory = "smkl"

    @abstractmethod
    def _scheme(self) -> Scheme:
        """Return the steps of this model with its parameters."""

    def _begin(self) -> np.random.RandomState:
        self._scheme()  # an unknown name fails here
        return super()._begin()

    def _solve(self, problem: Problem, random_state: np.random.RandomState, start: State | None = None) -> Solution:
        """Run the solver, keep what it found and return it."""
        solution = solve(
            problem,
            self._scheme(),
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=random_state,
            verbose=self.verbose,
            start=start,
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
        return solution

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "outcome_" in state:
            state["outcome_"] = state["outcome_"].name  # skops makes no member of an enumeration
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "outcome_" in state:
            state = {**state, "outcome_": Outcome[state["outcome_"]]}
        super().__setstate__(state)

    def _new_rows(self, X: Any) -> Matrix:
        """Return the rows of the graph for new samples: the problem of one column of S, the other samples held."""
        K = self.consensus_kernel_
        A = once_per_kernel(self, K, lambda: ridge_inverse(K, gamma=self.gamma))
        return graph_rows(A, self._consensus_rows(X), self.embedding_, alpha=self.alpha)


class SeveralKernels:
    """A model of several kernels, given as `kernels`."""

    def _kernels(self) -> Any:
        return self.kernels  # type: ignore[attr-defined]


class OneKernel:
    """A model of one kernel, given as `kernel`."""

    _default_kernel: Kernel = Gaussian(t=1)

    def _kernels(self) -> Any:
        kernel = self.kernel  # type: ignore[attr-defined]
        if kernel is None:
            return self._default_kernel
        return kernel if isinstance(kernel, str) and kernel == "precomputed" else as_kernel(kernel)

    def _build_kernels(self, X: Any) -> Matrix:
        H: Matrix = super()._build_kernels(X)  # type: ignore[misc]
        if len(H) > 1:
            msg = (
                f"{type(self).__name__} learns from one kernel matrix; got {len(H)}. Pass one, or use SMKL for several."
            )
            raise InvalidInputError(msg)
        return H


_RELATIVE_BETA = 30.0


def smkl_scheme(model: Any, *, classify: bool) -> Scheme:
    """Return SMKL with the parameters of the model, which gives one of the two betas or neither."""
    if model.beta is not None and model.relative_beta is not None:
        msg = (
            f"beta={model.beta!r} and relative_beta={model.relative_beta!r} say the same thing twice: "
            "give the paper's beta or the relative one, not both."
        )
        raise InvalidInputError(msg)
    relative = _RELATIVE_BETA if model.beta is None and model.relative_beta is None else model.relative_beta
    return smkl(
        model.scheme,
        alpha=model.alpha,
        beta=model.beta,
        relative_beta=relative,
        gamma=model.gamma,
        classify=classify,
    )
