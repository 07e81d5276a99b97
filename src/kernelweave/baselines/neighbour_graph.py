"""Sparse graphs of nearest neighbours, for labels that spread over them; several views have the mean of theirs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors

from kernelweave._types import Graph, Mask, Matrix, Samples
from kernelweave.core.algebra.matrices import largest_columns
from kernelweave.core.graphs.affinity import kernel_sqdist
from kernelweave.core.graphs.propagation import LabelScores
from kernelweave.errors import InvalidInputError
from kernelweave.estimators._classifier import TransductiveClassifier
from kernelweave.kernels import Linear
from kernelweave.kernels.view_bank import Bank, as_bank, bank_of
from kernelweave.runtime import check_memory
from kernelweave.samples.magnitudes import check_diagonal, check_kernel
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.views import Views

__all__ = [
    "NeighbourClassifier",
    "kernel_neighbours",
    "mean_graph",
    "neighbour_weights",
    "table_neighbours",
    "warn_if_unsolved",
]

_DECAY = 4.0  # of the weights, as in Calder et al. (2020)


class NeighbourClassifier(TransductiveClassifier):
    """Classifies the unlabelled samples on the graph of nearest neighbours, from one or several views."""

    _advice = "raise n_neighbors"

    graph_: Graph

    @classmethod
    def estimate_memory(cls, n_samples: int, *, n_kernels: int = 1, itemsize: int = 8) -> int:
        """Return about how many bytes a fit needs beyond its samples, with ten neighbours and without a kernel.

        Parameters
        ----------
        n_samples : int
            The number of samples.
        n_kernels : int, default=1
            The number of views, each of which has a graph.
        itemsize : int, default=8
            The bytes of a number, 4 in single precision.

        Returns
        -------
        int
            Bytes, a rough figure.
        """
        return int((n_kernels + 4) * 20 * (itemsize + 4) * int(n_samples))

    def _build_kernels(self, samples: Views | KernelStack) -> tuple[Bank, Graph]:
        """Return the bank, and the mean of the graphs of all views."""
        given = isinstance(samples, KernelStack)
        bank = bank_of(Linear() if self.kernel is None or given else self._one_kernel(), samples)
        self._check_memory(samples, len(bank))
        k = int(self.n_neighbors)
        if isinstance(samples, KernelStack):
            graphs = [neighbour_weights(*kernel_neighbours(K, k)) for K in samples.matrices]
            return bank, mean_graph(graphs, np.ones((len(graphs), samples.n_samples), dtype=bool))
        places = [f"View {name!r}: " if len(bank) > 1 else "" for name in samples.names]
        graphs = [self._table_graph(table, place) for table, place in zip(samples.tables, places, strict=True)]
        return bank, mean_graph(graphs, samples.present)

    def _check_memory(self, samples: Views | KernelStack, n_kernels: int) -> None:
        """Refuse samples whose graphs, and whose kernel matrices if there is a kernel, do not fit."""
        n, itemsize = samples.n_samples, samples.dtype.itemsize
        graphs = self.estimate_memory(n, n_kernels=n_kernels, itemsize=itemsize) * int(self.n_neighbors) // 10
        pairs = 0 if self.kernel is None else (2 * itemsize + 8) * n**2  # of one view: kernel, distances and ranks
        check_memory(
            graphs + pairs,
            what=f"{type(self).__name__} of {n} samples",
            advice=f"use fewer samples{'' if self.kernel is None else ', kernel=None'}, or fewer neighbours",
        )

    def _table_graph(self, table: Samples, place: str) -> Graph:
        """Return the graph of the samples that one view has; an error says where."""
        if self.kernel is None:
            return neighbour_weights(*table_neighbours(table, self.n_neighbors))
        try:
            (K,) = as_bank(self._one_kernel()).fit_grams(table)
            check_kernel(K, "The kernel", training=True)
        except InvalidInputError as error:
            msg = f"{place}{error}"
            raise InvalidInputError(msg) from error
        return neighbour_weights(*kernel_neighbours(K, self.n_neighbors))


def table_neighbours(X: Samples, k: int) -> tuple[NDArray[np.integer[Any]], Matrix]:
    """Return the positions (n, k) of the k nearest others of every row, nearest first, and their squared distances."""
    k = min(k, X.shape[0] - 1)
    if k == 0:
        return np.empty((X.shape[0], 0), dtype=np.intp), np.empty((X.shape[0], 0), dtype=X.dtype)
    model = NearestNeighbors(n_neighbors=k).fit(sparse.csr_matrix(X) if sparse.issparse(X) else X)
    distances, index = model.kneighbors()
    return index, np.asarray(distances**2, dtype=X.dtype)


def kernel_neighbours(K: Matrix, k: int) -> tuple[NDArray[np.integer[Any]], Matrix]:
    """Return the same in the feature space of a kernel matrix."""
    check_diagonal(K, "The kernel is")
    D = kernel_sqdist(K)
    index = largest_columns(-D, min(k, len(K) - 1))
    return index, np.take_along_axis(D, index, axis=1)


def neighbour_weights(index: NDArray[np.integer[Any]], D: Matrix) -> sparse.csr_array:
    """W = (C + C')/2, C_ij = exp(-4 D_ij / D_ik) for the k nearest j of i, with D_ik the largest of these distances."""
    n, k = index.shape
    last = D[:, -1:] if k else np.ones((n, 1), dtype=D.dtype)
    relative = np.divide(D, last, out=np.zeros_like(D), where=last > 0)  # copies of a sample have weight 1
    C = sparse.csr_array(
        (np.exp(-_DECAY * relative).ravel(), (np.repeat(np.arange(n), k), index.ravel())), shape=(n, n)
    )
    W = sparse.csr_array(C + C.T)
    W.data *= W.dtype.type(0.5)
    return W


def mean_graph(graphs: Sequence[Graph], present: Mask) -> sparse.csr_array:
    """Return the mean of the graphs of all views, for two samples that of the views with both; `present` is (v, n)."""
    n = present.shape[1]
    total = sparse.csr_array((n, n), dtype=np.result_type(*(W.dtype for W in graphs)))
    for W, known in zip(graphs, present, strict=True):
        entries = W.tocoo()
        where = np.flatnonzero(known)
        total = total + sparse.csr_array((entries.data, (where[entries.row], where[entries.col])), shape=(n, n))
    total = sparse.csr_array(total)
    rows = np.repeat(np.arange(n), np.diff(total.indptr))
    common = np.zeros(total.nnz, dtype=np.intp)
    for known in present:
        common += known[rows] & known[total.indices]
    total.data /= common.astype(total.dtype)
    return total


def warn_if_unsolved(name: str, found: LabelScores, *, stacklevel: int) -> None:
    """Warn where the linear system of the scores was not solved; `stacklevel` as in `warnings.warn`."""
    if not found.converged:
        msg = (
            f"The label scores of {name} did not converge in {found.n_iter} steps of conjugate gradients: parts of the "
            "graph are joined by very weak edges only. Raise n_neighbors."
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=stacklevel + 1)
