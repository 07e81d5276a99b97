"""One pass over samples that are read in chunks: on local threads, or on the workers of dask.distributed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from sys import modules
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernelweave._plural import counted
from kernelweave._types import Array, HasShape, Progress
from kernelweave.errors import InvalidInputError
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.dask_chunks import DaskRun, active_client, is_dask, lazy_blocks
from kernelweave.samples.reader import fitted_names
from kernelweave.samples.source import Part, Run, Source, in_process, read, read_lengths, sliced
from kernelweave.samples.views import Views
from kernelweave.weave.graph_model import Answers, GraphModel

__all__ = ["chunked_answers", "chunked_coordinates", "lazy_labels", "pass_over", "running"]

Task = Callable[[GraphModel, Part], tuple[Array, ...]]


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
    """Return the results of the task on all chunks, concatenated; `spec` holds the columns and dtype of each array."""
    n = source.n
    outs = [np.empty((n, width), dtype=dtype) for width, dtype in spec]
    done = 0
    progress("passing", 0, n)
    for found in run.over(task, model, source):
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
        F, undecided, known = pass_over(source, run, _part_answers, model, spec, progress)
    return Answers(F, undecided.ravel(), known.ravel())


def chunked_coordinates(
    model: GraphModel, samples: Views | Chunks, n_features: int, n_jobs: int | None, progress: Progress
) -> Array:
    """Return the coordinates of samples in the embedding, chunk by chunk."""
    with running(samples, n_jobs) as (source, run):
        _check_width(source, n_features)
        spec = [(model.coordinates.shape[1], model.coordinates.dtype)]
        return pass_over(source, run, _part_coordinates, model, spec, progress)[0]


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
    return lazy_blocks(X, _part_labels, (graph, classes), dtype, fitted_names(model))


def _part_labels(state: tuple[GraphModel, Array | None], part: Part) -> Array:
    graph, classes = state
    labels = graph.answers(Views.of_table(read(part, None))).distributions.argmax(axis=1).astype(np.int32)
    return labels if classes is None else np.asarray(classes[labels])


def _part_answers(model: GraphModel, part: Part) -> tuple[Array, ...]:
    F, undecided, known = model.answers(Views.of_table(read(part, None)))
    return F, undecided[:, None], known[:, None]


def _part_coordinates(model: GraphModel, part: Part) -> tuple[Array, ...]:
    return (model.transform(Views.of_table(read(part, None))),)


def _check_width(source: Source, n_features: int) -> None:
    if source.width != n_features:
        raise InvalidInputError(_other_width(source.width, n_features))


def _other_width(width: int | None, n_features: int) -> str:
    got = "an unknown number of features" if width is None else counted(width, "feature")
    return f"X has {got}, but the model was fitted on samples of {n_features}."
