"""Weave with the solver "local": from the sparse graph to clusters and classes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kernelweave._types import Mask, Matrix, Vector
from kernelweave.estimators._progress import Progress
from kernelweave.estimators._weave_auto import PERTURBATIONS, Spectra
from kernelweave.estimators._weave_local import least_piece, tables_of
from kernelweave.estimators._weave_partition import cluster, embedded
from kernelweave.memory import check_memory
from kernelweave.weave.local import bottom_spectrum, harmonic_scores, lgc_scores, partition_many, perturbed
from kernelweave.weave.local.local_graph import Affinities

__all__ = ["local_clusters", "local_embedding", "local_graphs", "local_spectrum", "propagated"]

_MERGED_UP_TO = 5000  # samples; above, a matrix of all pairs is what this solver is there to avoid
# of the samples; below, harmonic scores hardly tell classes apart away from labels, above, they are the better ones
_FEW_LABELS = 0.02


def local_spectrum(
    model: Any, S: sparse.csr_array, m: int, random_state: np.random.RandomState
) -> tuple[Vector, Matrix]:
    """Return the bottom of the spectrum in units of the mean degree; warn where the solver did not come to rest."""
    found = bottom_spectrum(S, m, seed=random_state.randint(np.iinfo(np.int32).max), progress=Progress(model._say))
    if not found.converged:
        msg = (
            f"The eigenvectors of the graph did not converge in {found.n_iter} filters (residual {found.residual:.1e} "
            "of the largest eigenvalue): clusters may be worse than they could be. Raise n_neighbors, or lower "
            "n_components."
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=4)
    model._say(f"eigenvectors: {len(found.values)}, residual {found.residual:.1e}")
    return found.values / (float(S.sum(dtype=np.float64)) / S.shape[0] or 1.0), found.vectors


def local_embedding(embedding: str, n: int) -> str:
    """Return the embedding that k-means is to cluster: merging several takes a matrix of all pairs."""
    if embedding != "auto":
        if embedding == "merged":
            check_memory(16 * n**2, what=f"Merging embeddings of {n} samples", advice='use embedding="unit"')
        return embedding
    return "merged" if n <= _MERGED_UP_TO else "unit"


def local_clusters(
    values: Vector,
    P: Matrix,
    embedding: str,
    m: int,
    n_clusters: int,
    *,
    n_init: int,
    random_state: np.random.RandomState,
) -> NDArray[np.int32]:
    """Return clusters of the embedding, as the dense solver finds them where that is affordable."""
    if len(P) <= _MERGED_UP_TO or embedding == "merged":
        return cluster(values, P, embedding, m, n_clusters, n_init=n_init, random_state=random_state)
    return partition_many(embedded(values, P, embedding, m), n_clusters, n_init=n_init, random_state=random_state)


def local_graphs(model: Any, drawn: Affinities) -> Spectra:
    """Return the graph and two with more and fewer edges, and what finds their spectra."""
    seed = np.random.RandomState(model._local.seed)
    tables, least = tables_of(model._training_), least_piece(model, model.graph_.shape[0])
    others = [perturbed(tables, model._local, drawn, gamma=g, neighbours=k, least=least) for g, k in PERTURBATIONS]
    return [model.graph_, *others], lambda S, m: local_spectrum(model, S, m, seed)


def propagated(model: Any, Y: Matrix, labelled: Mask) -> Matrix:
    """Return the label scores of every sample; warn where the solver did not come to rest."""
    few = np.count_nonzero(labelled) < _FEW_LABELS * len(labelled)
    lgc = model.propagation == "lgc" or (model.propagation == "auto" and few)
    spread = lgc_scores if lgc else harmonic_scores
    found = spread(model.graph_, Y, labelled)
    if not found.converged:
        msg = (
            f"The label scores did not converge in {found.n_iter} steps of conjugate gradients: parts of the graph "
            'hang by very weak edges. Use propagation="lgc", or raise n_neighbors.'
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=4)
    model._say(f"labels: {spread.__name__.split('_')[0]}, {found.n_iter} steps of conjugate gradients")
    return found.scores.astype(Y.dtype, copy=False)
