"""Weave with the solver "local": from samples to a sparse graph without a matrix of all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from kernelweave.errors import InvalidInputError
from kernelweave.estimators._progress import Progress
from kernelweave.estimators._views import scaled
from kernelweave.estimators._weave_tiles import KernelTiles
from kernelweave.memory import check_memory, estimate_memory
from kernelweave.samples import Views
from kernelweave.select import candidate_numbers
from kernelweave.weave.local import LocalWeave, default_candidates, new_rows, weave_local
from kernelweave.weave.local.local_graph import Affinities
from kernelweave.weave.local.local_kernel import LocalKernel

__all__ = ["fit_local", "least_piece", "local_new_rows", "tables_of"]

_WEIGHED_ON = 2000  # samples drawn at random
_BLOCK = 65_536


def fit_local(model: Any, X: Any, random_state: np.random.RandomState, *, join: bool) -> tuple[LocalWeave, Affinities]:
    """Weave the local graph of the samples, and keep in the model what it was made of."""
    X = model._samples(X, reset=True)
    if isinstance(X, Views) and not X.complete:
        msg = (
            'solver="local" takes views that hold every sample: drop samples that a view lacks, or use solver="dense".'
        )
        raise InvalidInputError(msg)
    n = X.shape[0]
    least = 0.0
    if join:
        model._check_n_clusters(n)
        least = least_piece(model, n)
    k = model.n_candidates or default_candidates(n, model.n_neighbors)
    check_memory(
        estimate_memory("local", n, n_features=sum(map(_width, tables_of(X))), n_candidates=k),
        what=f"The local graph of {n} samples",
        advice='use solver="landmark", or fewer n_candidates',
    )
    model.scaling_ = model._fit_scaling(X)
    model._training_ = _scaled(X, model.scaling_)
    sample = np.sort(random_state.choice(n, min(n, _WEIGHED_ON), replace=False))
    kernels = _weighed(model, scaled(_rows(X, sample), model.scaling_))
    woven, drawn = weave_local(
        tables_of(model._training_),
        kernels,
        graph=model.graph,
        gamma=model.gamma,
        n_neighbors=model.n_neighbors,
        n_candidates=k,
        join=join,
        least=least,
        seed=random_state.randint(np.iinfo(np.int32).max),
        n_jobs=_threads(model),
        progress=Progress(model._say),
    )
    model.graph_ = woven.graph
    model.neighbor_recall_ = woven.recall
    model._say(f"graph: {woven.graph.nnz // 2} edges between {n} samples, recall of neighbours {woven.recall:.3f}")
    return woven, drawn


def local_new_rows(model: Any, X: Any) -> sparse.csr_array:
    """Return the rows of the graph for new samples."""
    rows = _scaled(model._samples(X, reset=False), model.scaling_)
    return new_rows(
        tables_of(model._training_),
        tables_of(rows),
        model._local,
        n_jobs=_threads(model),
        progress=Progress(model._say),
    )


def least_piece(model: Any, n_samples: int) -> float:
    """Return how many samples a piece of the graph needs to pass for a cluster: a quarter of an even share.

    A thousand are enough in any case. Where the number of clusters is to be chosen, the largest is meant.
    """
    c = candidate_numbers(n_samples)[-1] if model.n_clusters == "auto" else model.n_clusters
    return min(n_samples / (4 * c), 1000)


def _threads(model: Any) -> int:
    """Return the threads of the search for neighbours: one unless more are asked for, since more may not repeat."""
    return 1 if model.n_jobs is None else int(effective_n_jobs(model.n_jobs))


def _weighed(model: Any, sample: Any) -> tuple[LocalKernel, ...]:
    """Weigh the kernels on a sample of the rows, and return their consensus, a part for each table."""
    model._take_bank()
    m = sample.shape[0]
    p = model._weigh(KernelTiles([model.bank_.fit_tiles(sample)], (len(model.bank_), m, m), sample.dtype))
    model.kernel_weights_ = model.kernel_shares_ = p
    model._say(f"kernels: {len(p)}, the largest share {p.max():.0%} ({model.kernel_names_[p.argmax()]})")
    if not isinstance(sample, Views):
        return (LocalKernel.fixed_on(sample.astype(np.float32), model.bank_.kernels, p),)
    parts = []
    for (name, bank), table in zip(model.bank_.banks.items(), sample.tables, strict=True):
        shares = p[np.array(model.kernel_views_) == name]
        parts.append(LocalKernel.fixed_on(table.astype(np.float32), bank.kernels, shares))
    return tuple(parts)


def tables_of(X: Any) -> tuple[Any, ...]:
    """Return the samples as a tuple of tables, one for each view."""
    return tuple(X.tables) if isinstance(X, Views) else (X,)


def _rows(X: Any, rows: Any) -> Any:
    return X.select(rows) if isinstance(X, Views) else X[rows]


def _width(X: Any) -> int:
    return int(X.nnz // X.shape[0]) if sparse.issparse(X) else int(X.shape[1])


def _scaled(X: Any, scaling: Any) -> Any:
    """Return scaled samples in single precision, block by block, so that no second copy in double is made."""
    if isinstance(X, Views):
        return X.map({name: lambda table, one=one: _scaled(table, one) for name, one in scaling.items()})
    if sparse.issparse(X):
        return sparse.csr_array(scaling.transform(X), dtype=np.float32)
    rows = np.empty(X.shape, dtype=np.float32)
    for i in range(0, len(X), _BLOCK):
        rows[i : i + _BLOCK] = scaling.transform(X[i : i + _BLOCK])
    return rows
