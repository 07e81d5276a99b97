"""Clusters and classes of any number of samples: learned on a sample of them, then read off in one pass over all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import Mask, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import KernelBank
from kernelweave.samples.chunks import as_source
from kernelweave.samples.dask_chunks import DaskRun, active_client
from kernelweave.samples.running import Run, in_process
from kernelweave.samples.sampling import coordinate_order, draw_rows, take
from kernelweave.samples.source import Source, counted
from kernelweave.weave.landmark.landmark_model import LandmarkGraph, LandmarkModel, part_labels, part_scores
from kernelweave.weave.landmark.landmark_values import landmark_classes, landmark_clusters
from kernelweave.weave.landmark.learning import (
    Settings,
    block_sums,
    class_sums,
    default_landmarks,
    learn_graph,
    sample_size,
)

__all__ = [
    "LandmarkClasses",
    "LandmarkClustering",
    "fit_landmark_classes",
    "fit_landmark_clustering",
    "landmark_predict",
    "landmark_scores",
]

Progress = Callable[[str, int, int], None]

_BLOCK = 4096  # rows of the sample whose sums are made together, whatever chunks they came from


@dataclass(frozen=True, slots=True)
class LandmarkClustering:
    """The cluster of every sample, the model that tells that of new ones, and the graph's largest eigenvalues."""

    labels: NDArray[np.int32]
    model: LandmarkModel
    eigenvalues: Vector


@dataclass(frozen=True, slots=True)
class LandmarkClasses:
    """The scores of the classes for every sample, those that no label reaches, and the model for new samples."""

    scores: NDArray[np.float32]
    undecided: Mask
    model: LandmarkModel


def fit_landmark_clustering(
    X: Any,
    bank: KernelBank,
    *,
    n_clusters: int,
    n_components: int | None = None,
    n_init: int = 10,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> LandmarkClustering:
    r"""Cluster samples by the graph between them and landmarks, in time linear in their number.

    With B the affinities of samples to their nearest landmarks, whose rows sum to one, and E the diagonal matrix of
    its column sums, the clusters are those of k-means on the rows, at unit length, of

    .. math:: P = \arg\max_{P^\top P = I} \mathrm{Tr}(P^\top B E^{-1} B^\top P),

    whose m x m form is solved on a sample of the rows. Parameters that are not listed are those of `Settings` and
    `random_state`.
    """
    with _running(X, n_jobs) as (source, run):
        settings = _settings(bank, source, n_clusters, options)
        rows = draw_rows(source.n, sample_size(settings.n_landmarks), settings.seed)
        _say(progress, "sample", 0, source.n)
        sample = take(source, rows, run)
        sample = sample[coordinate_order(sample)]
        _say(progress, "landmarks", 0, sample.shape[0])
        graph = run.call(learn_graph, settings, sample)
        _check_enough(graph, n_clusters, n_components)
        _say(progress, "spectrum", 0, sample.shape[0])
        S = run.total(block_sums, graph, _blocks(sample))
        values, Q, centres = run.call(
            landmark_clusters, graph, S, sample, n_clusters, n_components or n_clusters, n_init, settings.seed
        )
        model = LandmarkModel(graph, int(source.width or 0), Q, centres)
        labels = np.empty(source.n, dtype=np.int32)
        _pass(run, source, part_labels, model, labels, progress)
    return LandmarkClustering(labels, model, values)


def fit_landmark_classes(
    X: Any,
    codes: NDArray[np.intp],
    bank: KernelBank,
    *,
    n_classes: int,
    method: str = "lgc",
    class_mass: bool = False,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> LandmarkClasses:
    r"""Classify samples from a few labels, `codes` (-1: none), on the graph between them and landmarks.

    .. math:: (E - B_u^\top B_u)\, G = B_l^\top Y_l, \qquad F_u = B_u G,

    for `method` "harmonic"; for "lgc" B_u is all of B and its product is damped by 0.99, which is local and global
    consistency. The sums over unlabelled samples are taken over a sample of them.
    """
    if method not in ("harmonic", "lgc"):
        msg = f"method must be 'harmonic' or 'lgc'; got {method!r}."
        raise InvalidInputError(msg)
    with _running(X, n_jobs) as (source, run):
        if len(codes) != source.n:
            msg = f"y has {len(codes)} labels for {source.n} samples: pass one per sample, -1 for the unlabelled ones."
            raise InvalidInputError(msg)
        settings = _settings(bank, source, n_classes, options)
        sample, sampled, shares = _stratified(source, codes, settings, run)
        _say(progress, "landmarks", 0, sample.shape[0])
        graph = run.call(learn_graph, settings, sample)
        _say(progress, "labels", 0, sample.shape[0])
        blocks = zip(_blocks(sample), _blocks(sampled), strict=True)
        sums = run.total(class_sums, graph, ((rows, block, shares, n_classes) for rows, block in blocks))
        G = run.call(landmark_classes, sums, n_classes, method, class_mass)
        model = LandmarkModel(graph, int(source.width or 0), G)
        scores = np.empty((source.n, n_classes), dtype=np.float32)
        _pass(run, source, part_scores, model, scores, progress)
    undecided = ~(scores.sum(axis=1) > 0)
    labelled = np.flatnonzero(codes >= 0)
    scores[labelled] = 0
    scores[labelled, codes[labelled]] = 1
    undecided[labelled] = False
    return LandmarkClasses(scores, undecided, model)


def landmark_predict(
    model: LandmarkModel, X: Any, *, n_jobs: int | None = None, progress: Progress | None = None
) -> NDArray[np.int32]:
    """Return the cluster, or the position of the class, of every sample, in one pass over their chunks."""
    with _running(X, n_jobs) as (source, run):
        labels = np.empty(source.n, dtype=np.int32)
        _pass(run, source, part_labels, model, labels, progress)
    return labels


def landmark_scores(
    model: LandmarkModel, X: Any, *, n_jobs: int | None = None, progress: Progress | None = None
) -> NDArray[np.float32]:
    """Return what every sample inherits from its landmarks (n, c): scores of classes, or spectral coordinates."""
    with _running(X, n_jobs) as (source, run):
        scores = np.empty((source.n, model.values.shape[1]), dtype=np.float32)
        _pass(run, source, part_scores, model, scores, progress)
    return scores


@contextmanager
def _running(X: Any, n_jobs: int | None) -> Iterator[tuple[Source, Run]]:
    """Give the chunks of X, counted, and what runs over them: dask.distributed if there is a client, else threads."""
    source = as_source(X)
    try:
        client = active_client()
        with in_process(n_jobs) as here:
            run = here if client is None else DaskRun(client)
            counted(source, run)
            yield source, run
    finally:
        source.close()


def _settings(bank: KernelBank, source: Source, n_clusters: int, options: dict[str, Any]) -> Settings:
    """Return what the user chose, with the number of landmarks that the samples allow."""
    random_state = options.pop("random_state", None)
    seed = int((random_state or np.random.RandomState()).randint(np.iinfo(np.int32).max))
    how = options.get("landmarks", "kmeans")
    m = options.pop("n_landmarks", None)
    if isinstance(how, str):
        if how not in ("kmeans", "random"):
            msg = f"landmarks must be 'kmeans', 'random' or an array of shape (n_landmarks, n_features); got {how!r}."
            raise InvalidInputError(msg)
        m = default_landmarks(source.n, n_clusters) if m is None else int(m)
        if m > source.n:
            msg = f"n_landmarks={m} is more than the n_samples={source.n} given: choose fewer landmarks."
            raise InvalidInputError(msg)
    else:
        m = _given(how, m, source.width)
    return Settings(bank=bank, n_landmarks=m, seed=seed, **options)


def _given(landmarks: Any, m: int | None, width: int | None) -> int:
    """Return the number of landmarks in an array of the user's."""
    shape = np.shape(landmarks)
    if len(shape) != 2 or shape[1] != width or (m is not None and m != shape[0]):
        rows = "n_landmarks" if m is None else m
        msg = f"landmarks must be an array of shape ({rows}, {width}), one per row; got shape {shape}."
        raise InvalidInputError(msg)
    if not np.isfinite(np.asarray(landmarks, dtype=np.float64)).all():
        msg = "landmarks hold NaN or infinite values; kernels need finite numbers."
        raise InvalidInputError(msg)
    return int(shape[0])


def _check_enough(graph: LandmarkGraph, n_clusters: int, n_components: int | None) -> None:
    wanted = max(n_clusters, n_components or 0)
    if wanted > graph.m:
        msg = f"{wanted} clusters or components need as many distinct landmarks; got {graph.m}: raise n_landmarks."
        raise InvalidInputError(msg)


def _stratified(
    source: Source, codes: NDArray[np.intp], settings: Settings, run: Run
) -> tuple[Any, NDArray[np.intp], tuple[float, float]]:
    """Return a sample with as many labelled rows as it holds, its codes, and what one row of either kind stands for."""
    labelled = codes >= 0
    n_l, n_u = int(labelled.sum()), int((~labelled).sum())
    size = sample_size(settings.n_landmarks)
    known = draw_rows(source.n, max(size // 2, size - n_u), settings.seed, labelled)
    unknown = draw_rows(source.n, max(size - len(known), size // 2), settings.seed, ~labelled)
    rows = np.sort(np.concatenate([known, unknown]))
    sample, sampled = take(source, rows, run), codes[rows]
    order = coordinate_order(sample)
    return sample[order], sampled[order], (n_l / max(len(known), 1), n_u / max(len(unknown), 1))


def _blocks(rows: Any) -> Iterator[Any]:
    return (rows[i : i + _BLOCK] for i in range(0, rows.shape[0], _BLOCK))


def _pass(run: Run, source: Source, task: Any, model: LandmarkModel, out: Any, progress: Progress | None) -> None:
    """Fill `out` with what the task makes of every chunk."""
    if source.width != model.n_features:
        msg = f"X has {source.width} features, but the model was fitted on samples of {model.n_features}."
        raise InvalidInputError(msg)
    done = 0
    _say(progress, "passing", 0, len(out))
    for found in run.over(task, model, source):
        if done + len(found) > len(out):
            msg = f"X gave more rows than the {len(out)} it had when it was first read: its chunks must not change."
            raise InvalidInputError(msg)
        out[done : done + len(found)] = found
        done += len(found)
        _say(progress, "passing", done, len(out))
    if done < len(out):
        msg = f"X gave {done} rows, but {len(out)} when it was first read: an iterable must start anew each time."
        raise InvalidInputError(msg)


def _say(progress: Progress | None, stage: str, done: int, total: int) -> None:
    if progress is not None:
        progress(stage, done, total)
