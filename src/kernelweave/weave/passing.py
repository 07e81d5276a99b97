"""One pass over samples that are read in chunks: on threads here, or on the workers of dask.distributed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import DTypeLike

from kernelweave._types import Array, Progress
from kernelweave.errors import InvalidInputError
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.dask_chunks import DaskRun, active_client
from kernelweave.samples.parts import Part, read
from kernelweave.samples.running import Run, in_process
from kernelweave.samples.source import Source, counted
from kernelweave.samples.views import Views
from kernelweave.weave.graph_model import Answers, GraphModel

__all__ = ["chunked_answers", "chunked_coordinates", "pass_over", "running"]

Task = Callable[[GraphModel, Part], tuple[Array, ...]]


@contextmanager
def running(samples: Views | Chunks, n_jobs: int | None, *, least: int = 1) -> Iterator[tuple[Source, Run]]:
    """Give the chunks of the samples, counted, and what runs over them; fewer than `least` samples are refused."""
    source = (samples if isinstance(samples, Chunks) else Chunks(samples.tables[0])).source
    client = active_client()
    with in_process(n_jobs) as here:
        run = here if client is None else DaskRun(client)
        counted(source, run, least=least)
        yield source, run


def pass_over(
    source: Source,
    run: Run,
    task: Task,
    model: GraphModel,
    spec: Sequence[tuple[int, DTypeLike]],
    progress: Progress,
) -> list[Array]:
    """Return what the task makes of every chunk, joined: arrays of so many columns and this type each."""
    n = source.n
    outs = [np.empty((n, width), dtype=dtype) for width, dtype in spec]
    done = 0
    progress("passing", 0, n)
    for found in run.over(task, model, source):
        stop = done + len(found[0])
        if stop > n:
            msg = f"X gave more rows than the {n} it had when it was first read: its chunks must not change."
            raise InvalidInputError(msg)
        for out, part in zip(outs, found, strict=True):
            out[done:stop] = part
        done = stop
        progress("passing", done, n)
    if done < n:
        msg = f"X gave {done} rows, but {n} when it was first read: an iterable must start anew each time."
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


def _part_answers(model: GraphModel, part: Part) -> tuple[Array, ...]:
    F, undecided, known = model.answers(Views.of_table(read(part, None)))
    return F, undecided[:, None], known[:, None]


def _part_coordinates(model: GraphModel, part: Part) -> tuple[Array, ...]:
    return (model.transform(Views.of_table(read(part, None))),)


def _check_width(source: Source, n_features: int) -> None:
    if source.width != n_features:
        msg = f"X has {source.width} features, but the model was fitted on samples of {n_features}."
        raise InvalidInputError(msg)
