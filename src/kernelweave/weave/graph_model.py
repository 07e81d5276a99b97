"""A fitted graph as an object: the rows of the graph for new samples, predictions from its nodes, and passes in chunks.

Samples in chunks are passed over once, on local threads or on the workers of dask.distributed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from sys import modules
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernelweave._plural import counted
from kernelweave._types import Array, Graph, HasShape, Labels, Mask, Matrix, Progress
from kernelweave.core.graphs.coordinates import nearness, unit_rows
from kernelweave.core.graphs.new_rows import distributions, harmonic_rows
from kernelweave.errors import InvalidInputError, NotFiniteError
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.dask_chunks import DaskRun, active_client, is_dask, lazy_blocks
from kernelweave.samples.digests import Seen
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.reader import fitted_names
from kernelweave.samples.source import Run, Source, in_process, on_views, read_lengths, sliced
from kernelweave.samples.views import Views

__all__ = [
    "Answers",
    "Centres",
    "GraphModel",
    "Joiner",
    "Ordering",
    "chunked_answers",
    "chunked_coordinates",
    "lazy_labels",
    "pass_over",
    "running",
]

_BUDGET = 16 * 2**20  # bytes that the rows of a block of new samples may take while they are computed
_LEAST, _MOST = 16, 4096  # samples of a block
_ORDERED = 2**15  # samples that are ordered at a time, so that memory does not grow with their number


class Joiner(Protocol):
    """Computes the rows of a graph for new samples; `chunked` tells whether samples may be read in chunks.

    New samples have the type of the training samples, Views or a KernelStack.
    """

    chunked: ClassVar[bool]

    @property
    def row_bytes(self) -> int:
        """About how much memory the row of one sample takes while it is computed."""

    def rows(self, new: Any) -> Graph:
        """Return the rows (n_new, n_nodes) of the graph for new samples, dense or sparse."""


@runtime_checkable
class Ordering(Protocol):
    """A joiner that is faster if the samples of a block are near each other."""

    def order(self, new: Any) -> NDArray[np.intp]:
        """Return new samples in an order in which most neighbours are near each other."""


@dataclass(frozen=True, slots=True, eq=False)
class Centres:
    """The means of the clusters in the embedding, their sizes, and whether rows are scaled to unit length."""

    means: Matrix
    counts: NDArray[np.integer[Any]]
    unit: bool = False


class Answers(NamedTuple):
    """Distributions (n_new, c) over groups, which samples are undecided, and positions in the training set or -1."""

    distributions: Matrix
    undecided: Mask
    known: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class GraphModel:
    """A fitted graph: the coordinates and values of its nodes, and the results for the training samples.

    Parameters
    ----------
    joiner : Joiner
        Computes the rows of the graph for new samples.
    coordinates : array of shape (n_nodes, n_components)
        Coordinates of the nodes in the embedding, for `transform`.
    values : array of shape (n_nodes, n_groups) or None
        One-hot clusters or scores of classes at the nodes; a new sample gets their mean over its neighbours.
    centres : Centres or None
        Used without values: memberships of a new sample follow from the distances of its coordinates to the centres.
    seen : Seen or None
        Digests of the training samples, which get the results of `fit`.
    distributions, undecided, embedding
        These results: the distribution, whether it is undecided, and the coordinates of every training sample.
    power : float
        Of the scores of new samples, before they are scaled to sum to one.
    nodes : array of shape (n_samples,) or None
        The node of every training sample, which copies share; None where the samples are the nodes, or have none.
    """

    joiner: Joiner
    coordinates: Matrix
    values: Matrix | None = None
    centres: Centres | None = None
    seen: Seen | None = None
    distributions: Matrix | None = None
    undecided: Mask | None = None
    embedding: Matrix | None = None
    power: float = 1.0
    nodes: Labels | None = None

    def check_loaded(self) -> None:
        """Refuse a model file without what predictions need."""
        if self.values is None and self.centres is None:
            msg = "A GraphModel needs values or centres to predict new samples."
            raise TypeError(msg)
        if not 0 < self.power < np.inf:
            msg = f"The power of the scores of a GraphModel is {self.power}: it must be positive."
            raise ValueError(msg)
        if self.nodes is not None and not ((self.nodes >= 0) & (self.nodes < len(self.coordinates))).all():
            msg = f"A sample of a GraphModel is none of its {len(self.coordinates)} nodes."
            raise ValueError(msg)

    def rows(self, new: Views | KernelStack) -> Graph:
        """Return the rows of the graph for new samples."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not finite is refused
            found = self.joiner.rows(new)
        values = found.data if sparse.issparse(found) else found
        if not np.isfinite(values).all():
            msg = "The predictions for these samples are not finite: their kernels are out of range."
            raise NotFiniteError(msg)
        return found

    def scores(self, new: Views | KernelStack) -> Matrix:
        """Return the scores of every group for new samples, all 0 for a sample without neighbours."""
        if self.values is not None:
            return harmonic_rows(self.rows(new), self.values)[0]
        return self.memberships(new)[0]

    def memberships(self, new: Views | KernelStack) -> tuple[Matrix, Matrix]:
        """Return memberships in the clusters, from the distances to their centres, and the coordinates of new samples.

        Both are 0 for a sample without neighbours.
        """
        if self.centres is None:
            msg = "This GraphModel has no centres to predict new samples from."
            raise TypeError(msg)
        P, reached = harmonic_rows(self.rows(new), self.coordinates)
        rows = unit_rows(P) if self.centres.unit else P
        M = nearness(rows, self.centres.means, self.centres.counts).astype(P.dtype)
        return np.where(reached[:, None], M, 0), P

    @property
    def n_groups(self) -> int:
        """The number of clusters or classes."""
        return int(self.values.shape[1]) if self.values is not None else len(self.centres.means)  # type: ignore[union-attr]

    def known(self, samples: Views | KernelStack) -> NDArray[np.intp]:
        """Return the position in the training set of every sample, -1 for new ones."""
        return np.full(samples.n_samples, -1) if self.seen is None else self.seen.find(samples)

    def answers(self, samples: Views | KernelStack) -> Answers:
        """Return the distribution of every sample over the groups; training samples get that of `fit`."""
        known = self.known(samples)
        out = np.empty((len(known), self.n_groups), dtype=self.coordinates.dtype)
        undecided = np.zeros(len(known), dtype=bool)
        old = np.zeros(len(known), dtype=bool)
        if self.distributions is not None and self.undecided is not None:
            old = known >= 0
            out[old], undecided[old] = self.distributions[known[old]], self.undecided[known[old]]
        for rows, new in self._blocks(samples, np.flatnonzero(~old)):
            out[rows], undecided[rows] = distributions(self.scores(new), self.power)
        return Answers(out, undecided, known)

    def transform(self, samples: Views | KernelStack) -> Matrix:
        """Return the coordinates of every sample in the embedding; training samples get those of `fit`.

        Those of new ones are means over their neighbours, 0 for a sample without neighbours.
        """
        known = self.known(samples)
        out = np.empty((len(known), self.coordinates.shape[1]), dtype=self.coordinates.dtype)
        old = np.zeros(len(known), dtype=bool)
        if self.embedding is not None:
            old = known >= 0
            out[old] = self.embedding[known[old]]
        for rows, new in self._blocks(samples, np.flatnonzero(~old)):
            out[rows] = harmonic_rows(self.rows(new), self.coordinates)[0]
        return out

    def _blocks(
        self, samples: Views | KernelStack, rows: NDArray[np.intp]
    ) -> Iterator[tuple[NDArray[np.intp], Views | KernelStack]]:
        """Yield these positions, and the samples there, in blocks whose rows of the graph fit in the budget."""
        size = min(max(_BUDGET // self.joiner.row_bytes, _LEAST), _MOST) if len(rows) else 1
        if len(rows) == samples.n_samples <= size:
            yield rows, samples
            return
        if isinstance(self.joiner, Ordering) and len(rows) > size:
            windows = (rows[i : i + _ORDERED] for i in range(0, len(rows), _ORDERED))
            rows = np.concatenate([some[self.joiner.order(samples.select(some))] for some in windows])
        for i in range(0, len(rows), size):
            yield rows[i : i + size], samples.select(rows[i : i + size])


Task = Callable[[GraphModel, Views], tuple[Array, ...]]


@contextmanager
def running(samples: Views | Chunks, n_jobs: int | None, *, least: int = 1) -> Iterator[tuple[Source, Run]]:
    """Yield the chunks of the samples, with at least `least` rows in all, and the Run that processes them."""
    source = samples.source if isinstance(samples, Chunks) else sliced(samples.tables[0], checked=True)
    client = active_client() if "distributed" in modules else None
    with in_process(n_jobs) as here:
        run = here if client is None else DaskRun(client)
        if source.lengths is None:
            read_lengths(source, run)
        if source.n < least:
            msg = f"Found {counted(source.n, 'sample')}, while a minimum of {least} is required."
            raise InvalidInputError(msg)
        yield source, run


def pass_over(
    source: Source,
    run: Run,
    task: Task,
    model: GraphModel,
    spec: Sequence[tuple[int, DTypeLike]],
    progress: Progress,
) -> list[Array]:
    """Return the results of task(model, views) on all chunks, concatenated.

    `spec` holds the columns and dtype of each array.
    """
    n = source.n
    outs = [np.empty((n, width), dtype=dtype) for width, dtype in spec]
    done = 0
    progress("passing", 0, n)
    for found in run.over(on_views, (task, model), source):
        stop = done + len(found[0])
        if stop > n:
            msg = f"X gave more rows than the {n} of the first reading: pass chunks that do not change."
            raise InvalidInputError(msg)
        for out, part in zip(outs, found, strict=True):
            out[done:stop] = part
        done = stop
        progress("passing", done, n)
    if done < n:
        msg = (
            f"X gave {counted(done, 'row')}, but {n} when it was first read: pass an iterable that starts from the "
            "beginning each time."
        )
        raise InvalidInputError(msg)
    return outs


def chunked_answers(
    model: GraphModel, samples: Views | Chunks, n_features: int, n_jobs: int | None, progress: Progress
) -> Answers:
    """Return the distributions of samples over the groups, chunk by chunk."""
    with running(samples, n_jobs) as (source, run):
        _check_width(source, n_features)
        spec: list[tuple[int, DTypeLike]] = [(model.n_groups, model.coordinates.dtype), (1, bool), (1, np.intp)]
        F, undecided, known = pass_over(source, run, _answers, model, spec, progress)
    return Answers(F, undecided.ravel(), known.ravel())


def chunked_coordinates(
    model: GraphModel, samples: Views | Chunks, n_features: int, n_jobs: int | None, progress: Progress
) -> Array:
    """Return the coordinates of samples in the embedding, chunk by chunk."""
    with running(samples, n_jobs) as (source, run):
        _check_width(source, n_features)
        spec = [(model.coordinates.shape[1], model.coordinates.dtype)]
        return pass_over(source, run, _coordinates, model, spec, progress)[0]


def lazy_labels(model: BaseEstimator, X: HasShape) -> Any:
    """Return the labels of a dask collection as a dask array, computed block by block on demand.

    Parameters
    ----------
    model : WeaveClustering or WeaveClassifier
        Fitted with the solver "landmark".
    X : dask array or dataframe of shape (n_samples, n_features)
        Training samples or new ones.

    Returns
    -------
    dask array of shape (n_samples,)
        The labels that `predict` returns, in the blocks of X.
    """
    check_is_fitted(model)
    graph: GraphModel = model._graph_model
    if not graph.joiner.chunked:
        msg = 'lazy_labels takes a model with solver="landmark": fit one, or call predict for samples in memory.'
        raise InvalidInputError(msg)
    if not is_dask(X):
        msg = f"lazy_labels takes a dask array or dataframe; got {type(X).__name__}: call predict instead."
        raise InvalidInputError(msg)
    if X.shape[1] != model.n_features_in_:
        raise InvalidInputError(_other_width(X.shape[1], model.n_features_in_))
    classes = getattr(model, "classes_", None)
    dtype = np.int32 if classes is None else classes.dtype
    return lazy_blocks(X, on_views, (_labels, (graph, classes)), dtype, fitted_names(model))


def _labels(state: tuple[GraphModel, Array | None], views: Views) -> Array:
    graph, classes = state
    labels = graph.answers(views).distributions.argmax(axis=1).astype(np.int32)
    return labels if classes is None else np.asarray(classes[labels])


def _answers(model: GraphModel, views: Views) -> tuple[Array, ...]:
    F, undecided, known = model.answers(views)
    return F, undecided[:, None], known[:, None]


def _coordinates(model: GraphModel, views: Views) -> tuple[Array, ...]:
    return (model.transform(views),)


def _check_width(source: Source, n_features: int) -> None:
    if source.width != n_features:
        raise InvalidInputError(_other_width(source.width, n_features))


def _other_width(width: int | None, n_features: int) -> str:
    got = "an unknown number of features" if width is None else counted(width, "feature")
    return f"X has {got}, but the model was fitted on samples of {n_features}."
