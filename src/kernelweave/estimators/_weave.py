"""What the Weave estimators share: samples scaled, kernels weighted, one sparse graph woven from their consensus."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from math import ceil
from typing import Any

import numpy as np
from scipy import linalg, sparse

from kernelweave._types import Matrix, Vector
from kernelweave.core.consensus.known_pairs import known_moments, known_weights
from kernelweave.core.consensus.self_weighted import combine_tiles, kernel_moments, median_weights
from kernelweave.core.graphs.affinity import join_pieces, ridge_affinity, self_tuned_affinity, top_graph
from kernelweave.errors import InvalidInputError, NotFiniteError
from kernelweave.estimators._base import KernelEstimator, SeveralKernels
from kernelweave.estimators._input import as_bank, kernel_stack
from kernelweave.estimators._new_rows import WovenRows, once_per_kernel
from kernelweave.estimators._new_samples import NewSamples
from kernelweave.estimators._views import fit_scalings, scaled
from kernelweave.estimators._weave_local import local_new_rows
from kernelweave.estimators._weave_solver import SOLVERS, choose_solver
from kernelweave.estimators._weave_tiles import KernelTiles, stack_tiles
from kernelweave.samples import Views
from kernelweave.samples.scaling import SCALES, Scaling, fit_scaling

__all__ = ["WeaveEstimator", "one_of", "sparse_graph"]

_GRAPHS = ("ridge", "knn", "both")
_SCALE_NEIGHBOUR = 7  # whose distance is a sample's own scale in a "knn" graph, as Zelnik-Manor and Perona have it


def sparse_graph(K: Matrix, *, graph: str, gamma: float, n_neighbors: int, join: bool) -> sparse.csr_array:
    """Return the graph of a kernel: affinities by its name, the largest of each row, in one piece if `join`."""
    parts = []
    if graph != "knn":
        Z = _ridge(K, gamma)
        parts.append(top_graph(Z, 2 * n_neighbors if graph == "both" else n_neighbors))
    if graph != "ridge":
        Z = self_tuned_affinity(K, neighbour=_SCALE_NEIGHBOUR)
        parts.append(top_graph(Z, ceil(n_neighbors / 2) if graph == "both" else n_neighbors))
    S = parts[0] if len(parts) == 1 else sparse.csr_array(_evened(parts[0]) + _evened(parts[1]))
    return join_pieces(S, Z) if join else S


def _ridge(K: Matrix, gamma: float) -> Matrix:
    if K.trace() <= 0:
        msg = f"The kernels sum to one with trace {K.trace():g}, but k(x, x) is positive: pass kernels with a diagonal."
        raise InvalidInputError(msg)
    try:
        return ridge_affinity(K, gamma=gamma)
    except linalg.LinAlgError as error:
        msg = f"K + gamma I is singular at gamma={gamma:g}: raise gamma, or pass kernels that are positive definite."
        raise NotFiniteError(msg) from error


def _evened(S: sparse.csr_array) -> sparse.csr_array:
    """Return a graph with mean degree 1, so that two of them weigh the same in a sum."""
    total = float(S.sum()) / S.shape[0]
    return S / S.dtype.type(total) if total > 0 else S


class WeaveEstimator(SeveralKernels, NewSamples, KernelEstimator):
    """A model of one sparse graph, woven from the consensus of several kernels."""

    def _check_parameters(self) -> None:
        one_of("graph", self.graph, _GRAPHS)
        one_of("solver", self.solver, SOLVERS)
        if not isinstance(self.scale, Mapping):  # of views, which are not known yet
            one_of("scale", self.scale, SCALES)
        if isinstance(self.weights, str):
            one_of("weights", self.weights, ("self", "uniform"))
        if self._precomputed and self.scale in ("unit", "zscore"):
            msg = f"scale={self.scale!r} scales samples, but kernels are 'precomputed': use 'auto' or 'none'."
            raise InvalidInputError(msg)
        super()._check_parameters()

    def _numbers(self) -> dict[str, Any]:
        numbers = super()._numbers()
        for name in ("n_components", "n_candidates", "n_landmarks"):
            if numbers.get(name, 0) is None:
                del numbers[name]
        return numbers

    def _choose(self, X: Any) -> str:
        """Keep which solver these samples take and why, and return its name."""
        for name in ("_local", "_landmark_model"):  # of an earlier fit by another solver
            self.__dict__.pop(name, None)
        self.solver_ = choose_solver(self, X)
        self._say(f"solver: {self.solver_.name}, since {self.solver_.reason}")
        return self.solver_.name

    def _checked_weights(self) -> str | Vector:
        """Return the word for the kernels' shares, or the shares that were given."""
        if isinstance(self.weights, str):
            return self.weights
        return _given_weights(self.weights, as_bank(self._kernels()).names)

    def _read_kernels(self, X: Any) -> KernelTiles:
        """Return the kernels of these samples, and keep the banks, the scaling and the kernels' names."""
        if self._precomputed:
            H, self.kernel_names_ = kernel_stack(X)
            self.n_features_in_ = H.shape[1]
            return stack_tiles(self._in_precision(H))
        X = self._samples(X, reset=True)
        self.scaling_ = self._fit_scaling(X)
        self._training_ = scaled(X, self.scaling_)
        self._take_bank()
        n = X.shape[0]
        return KernelTiles([self.bank_.fit_tiles(self._training_)], (len(self.bank_), n, n), X.dtype)

    def _fit_scaling(self, X: Any) -> Scaling | dict[str, Scaling]:
        """Return how the samples are scaled, each view for itself, and say so."""
        if not isinstance(X, Views):
            one_of("scale", self.scale, SCALES)
            scaling = fit_scaling(X, self.scale)
            self._say(f"scale: {scaling.method}, since {scaling.reason}")
            return scaling
        scalings = fit_scalings(X, self.scale)
        for name, scaling in scalings.items():
            self._say(f"scale of {name}: {scaling.method}, since {scaling.reason}")
        return scalings

    def _weigh(self, tiles: KernelTiles) -> Vector:
        """Return the kernels' shares."""
        r = tiles.n_kernels
        if not isinstance(self.weights, str):
            return _given_weights(self.weights, self.kernel_names_)
        if self.weights == "uniform":
            return np.full(r, 1 / r)
        if not hasattr(self, "kernel_views_") or self._training_.complete:
            return median_weights(*kernel_moments(tiles.single()))
        view = np.array([self.view_names_.index(name) for name in self.kernel_views_])
        return known_weights(*known_moments(tiles.single(), self._training_.present, view), view)

    def _combine(self, tiles: KernelTiles) -> None:
        """Weigh the kernels and keep their consensus."""
        p = self._weigh(tiles)
        self.kernel_weights_ = self.kernel_shares_ = p
        self.consensus_kernel_ = combine_tiles(tiles, p[None], tiles.n_samples)[0]
        self._say(f"kernels: {len(p)}, the largest share {p.max():.0%} ({self.kernel_names_[p.argmax()]})")

    def _weave(self, *, join: bool) -> None:
        """Keep the graph of the consensus."""
        self.graph_ = sparse_graph(
            self.consensus_kernel_, graph=self.graph, gamma=self.gamma, n_neighbors=self.n_neighbors, join=join
        )
        self._say(f"graph: {self.graph_.nnz // 2} edges between {self.graph_.shape[0]} samples")

    def _new_rows(self, X: Any) -> sparse.csr_array:
        """Return the rows of the graph for new samples; pieces were joined for training samples only."""
        if self.solver_.name == "local":
            return local_new_rows(self, X)
        rule = once_per_kernel(
            self,
            self.consensus_kernel_,
            lambda: WovenRows.of(
                self.consensus_kernel_,
                graph=self.graph,
                gamma=self.gamma,
                n_neighbors=self.n_neighbors,
                neighbour=_SCALE_NEIGHBOUR,
            ),
        )
        return rule.rows(self._consensus_rows(X))

    def _say(self, text: str) -> None:
        if self.verbose:
            sys.stderr.write(f"[{type(self).__name__}] {text}\n")


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse a word that is none of the choices."""
    if not (isinstance(value, str) and value in choices):
        msg = f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}."
        raise InvalidInputError(msg)


def _given_weights(weights: Any, names: tuple[str, ...]) -> Vector:
    try:
        p = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"weights must be 'self', 'uniform' or one number per kernel; got {weights!r}."
        raise InvalidInputError(msg) from error
    if p.shape != (len(names),):
        msg = f"weights must hold one number for each of the {len(names)} kernels; got shape {p.shape}."
        raise InvalidInputError(msg)
    if not np.isfinite(p).all() or (p < 0).any() or p.sum() == 0:
        msg = f"weights must be finite, not negative and not all zero; got {p}."
        raise InvalidInputError(msg)
    return np.asarray(p / p.sum())
