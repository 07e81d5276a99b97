"""What S3R and S2LRR share: codes of the samples in turns with labels that spread over the graph of the codes."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import MutableMapping
from hashlib import sha256
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from kernelweave._types import Array, Mask, Matrix
from kernelweave.baselines.label_change import label_change, warn_if_changing
from kernelweave.core.algebra.matrices import nearest_psd, symmetric_part
from kernelweave.core.graphs.propagation import harmonic_scores
from kernelweave.core.paper.closed_forms import label_distances
from kernelweave.errors import InvalidInputError
from kernelweave.estimators._classifier import TransductiveClassifier
from kernelweave.estimators._estimator import AT_LEAST_ONE, NOT_NEGATIVE
from kernelweave.kernels import Linear
from kernelweave.kernels.view_bank import Bank
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.views import Views

__all__ = ["Codes", "FirstRounds", "SelfExpressiveClassifier"]

FirstRounds: TypeAlias = MutableMapping[tuple[Any, ...], "Codes"]


class Codes(NamedTuple):
    """Codes C given Θ, the value of the problem there, how the inner solver ended, and where the next one starts."""

    C: Matrix
    objective: float
    residual: float
    n_iter: int
    converged: bool
    end: Any


class _Round(NamedTuple):
    objective: float
    change: float
    residual: float
    code_iterations: int
    seconds: float


class SelfExpressiveClassifier(TransductiveClassifier):
    """Classifies unlabelled samples by harmonic functions on the graph of codes that are learned with the labels."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TransductiveClassifier._parameter_constraints,
        "code_max_iter": [AT_LEAST_ONE],
        "code_tol": [NOT_NEGATIVE],
    }
    _default_kernel = Linear()
    _advice = "raise lam, so that fewer codes are empty"

    alpha: float
    lam: float
    codes_: Matrix
    n_iter_: int
    history_: dict[str, Array]
    _first_rounds: FirstRounds | None = None

    def share_first_rounds(self, known: FirstRounds) -> None:
        """Take the codes of the first round, which are without labels, from those known, or add them.

        They depend on the Gram matrix, the precision, `lam`, `code_tol` and `code_max_iter` alone, so fits that differ
        in labels or `alpha` can share them, with the same answer.
        """
        self._first_rounds = known

    def _build_kernels(self, samples: Views | KernelStack) -> tuple[Bank, Matrix]:
        """Return the bank and the Gram matrix in double precision.

        In single precision its rounding, times λ, is soon larger than the weight of the codes.
        """
        bank, H = super()._build_kernels(samples.astype(np.float64, copy=False))
        _check_gram(H[0], rounding=samples.dtype)
        if isinstance(samples, KernelStack) and samples.dtype != H.dtype:
            H[0] = nearest_psd(H[0])  # it was rounded before: with eigenvalues below 0, ADMM may overflow
        return bank, H

    @abstractmethod
    def _codes(self, G: Matrix, theta: Matrix, before: Codes | None) -> Codes:
        """Return the codes given Θ; the solver starts where it ended before."""

    @abstractmethod
    def _affinity(self, C: Matrix) -> Matrix:
        """Return the graph of the codes, not necessarily symmetric."""

    def _classify(self, H: Matrix, Y: Matrix, labelled: Mask) -> tuple[Matrix, dict[str, Any]]:
        return self._alternate(H[0], Y, labelled)

    def _alternate(self, G: Matrix, Y: Matrix, labelled: Mask) -> tuple[Matrix, dict[str, Any]]:
        """Update codes given the labels, then labels given the codes, until the labels converge."""
        F = np.zeros_like(Y)
        codes: Codes | None = None
        rounds: list[_Round] = []
        while True:
            started = perf_counter()
            theta = label_distances(F, squared=True) / 2
            codes = self._first_codes(G) if codes is None else self._codes(G, theta, codes)
            C = codes.C.astype(Y.dtype, copy=False)
            graph = symmetric_part(self._affinity(C))
            F_before, F = F, harmonic_scores(graph, Y, labelled).scores
            change = label_change(F, F_before)
            seconds = perf_counter() - started
            rounds.append(_Round(codes.objective, change, codes.residual, codes.n_iter, seconds))
            if change <= self.tol or len(rounds) == self.max_iter:
                break
        self._warn(codes, change)
        history = {name: np.array(values) for name, *values in zip(_Round._fields, *rounds, strict=True)}
        return F, {"codes_": C, "graph_": graph, "n_iter_": len(rounds), "history_": history}

    def _coded_in(self, G: Matrix) -> np.dtype[Any]:
        """Return the precision of the codes' solver."""
        return G.dtype

    def _first_codes(self, G: Matrix) -> Codes:
        """Return the codes without labels, Θ = 0."""
        if self._first_rounds is None:
            return self._codes(G, np.zeros_like(G), None)
        digest = sha256(np.ascontiguousarray(G).data).digest()
        key = (type(self), digest, self._coded_in(G).str, self.lam, self.code_tol, self.code_max_iter)
        if key not in self._first_rounds:
            self._first_rounds[key] = self._codes(G, np.zeros_like(G), None)
        return self._first_rounds[key]

    def _warn(self, codes: Codes, change: float) -> None:
        name = type(self).__name__
        if not codes.converged:
            msg = (
                f"The codes of {name} still have a residual of {codes.residual:.2g} at code_max_iter="
                f"{self.code_max_iter} (code_tol={self.code_tol:g}): raise code_max_iter or code_tol."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=5)
        warn_if_changing(name, change, tol=self.tol, max_iter=self.max_iter, stacklevel=5)


def _check_gram(G: Matrix, *, rounding: np.dtype[Any]) -> None:
    """Raise where G, given in this precision, is not positive semidefinite: the problem has no minimum then."""
    scale = float(np.abs(G).max())
    ridge = np.sqrt(np.finfo(rounding).eps) * scale
    try:
        linalg.cholesky(G + ridge * np.eye(len(G), dtype=G.dtype), check_finite=False)
    except linalg.LinAlgError:
        if scale == 0:
            return
        msg = (
            "The kernel matrix has eigenvalues below 0 by more than rounding, so it is not a Gram matrix and the codes "
            "are unbounded: pass inner products of samples, or use a positive semidefinite kernel."
        )
        raise InvalidInputError(msg) from None
