"""The solver "landmark": fitted on a sample of the rows, then applied to all of them in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kernelweave._plural import counted
from kernelweave._types import HasShape, Labels
from kernelweave.core.graphs.new_rows import level_ties
from kernelweave.core.graphs.propagation import one_hot
from kernelweave.errors import InvalidInputError
from kernelweave.runtime import StageProgress, check_memory
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.source import Source, draw_rows, sample_of
from kernelweave.samples.views import Views
from kernelweave.select import candidate_numbers
from kernelweave.weave.clarity import SAMPLED, Clarity
from kernelweave.weave.dense import COUNTED_ON, counted_in_some
from kernelweave.weave.graph_model import GraphModel, pass_over, running
from kernelweave.weave.landmark.learning import (
    LandmarkRows,
    LandmarksLike,
    Settings,
    default_landmarks,
    landmark_memory,
    learn_classes,
    learn_clusters,
    sample_size,
)
from kernelweave.weave.plan import Classes, Clusters, ClusterTask, KernelShares, LabelTask, Plan, check_count

__all__ = ["Landmark"]

_N_KERNELS = 12  # assumed for the estimate of memory


@dataclass(frozen=True, slots=True, eq=False)
class Landmark:
    r"""The solver that joins every sample to its nearest landmarks, for any number of samples of one table.

    With B the affinities of samples to their nearest landmarks, whose rows sum to one, and e its column sums, the
    clusters are those of k-means on the rows, scaled to unit length, of

    .. math:: P = \arg\max_{P^\top P = I} \mathrm{Tr}(P^\top B\, \mathrm{diag}(e)^{-1} B^\top P),

    which is solved as an m x m eigenproblem on a sample of the rows, m the number of landmarks. Label scores are

    .. math:: (\mathrm{diag}(e) - B_u^\top B_u)\, U = B_l^\top Y_l, \qquad F_u = B_u U;

    with local and global consistency, 0.99 times the product of all of B takes the place of that of B_u.

    Parameters
    ----------
    n_landmarks : int or None, default=None
        The number of landmarks; None for 1000, or 20 per cluster if that is more, and at most a quarter of the samples.
    landmarks : {"kmeans", "random"} or array of shape (n_landmarks, n_features), default="kmeans"
        Centres of k-means, samples drawn at random, or your own.
    """

    name: ClassVar[str] = "landmark"
    supports: ClassVar[frozenset[str]] = frozenset({"chunks", "auto", "float64"})

    n_landmarks: int | None = None
    landmarks: LandmarksLike = "kmeans"

    def __post_init__(self) -> None:
        check_count(self.n_landmarks, "n_landmarks")
        if isinstance(self.landmarks, str) and self.landmarks not in ("kmeans", "random"):
            msg = (
                "landmarks must be 'kmeans', 'random' or an array of shape (n_landmarks, n_features); got "
                f"{self.landmarks!r}."
            )
            raise InvalidInputError(msg)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Landmark) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        """Return what tells solvers apart: arrays of landmarks by their numbers."""
        if isinstance(self.landmarks, str):
            return self.n_landmarks, self.landmarks
        landmarks = np.asarray(self.landmarks)
        return self.n_landmarks, landmarks.shape, tuple(landmarks.ravel().tolist())

    def unsuited(self, n: int) -> str | None:
        """Return None: it is suited to every number of samples."""

    def memory(self, samples: Views | Chunks, n_neighbors: int, n_groups: int) -> int:
        """Return about how many bytes a fit needs in addition to X; 0 if the number of samples is not known yet."""
        if isinstance(samples, Chunks):
            return 0
        n, n_features = samples.shape
        m = self._number(n, n_features, n_groups)
        sizes = {"n": n, "c": n_groups, "n_numbers": samples.n_numbers}
        return landmark_memory(n_features, m, _N_KERNELS, samples.dtype.itemsize, **sizes)

    def cluster(self, samples: Views | Chunks, plan: Plan, task: ClusterTask, rng: np.random.RandomState) -> Clusters:
        """Return the clusters of the samples."""
        settings = self._settings(plan, rng)
        with running(samples, plan.n_jobs, least=2) as (source, run):
            auto = task.n_clusters == "auto"
            most = candidate_numbers(source.n)[-1] if auto else int(task.n_clusters)
            m = self._number(source.n, source.width, most)
            if isinstance(samples, Chunks):
                _check_memory(source, m, most, plan)
            rows = draw_rows(source.n, sample_size(m), settings.seed)
            view, kind = samples.names[0], samples.kinds[0]
            n_few = COUNTED_ON if auto else SAMPLED
            sample = sample_of(source, rows, run, plan.scale, plan.dtype, view=view, kind=kind, n_few=n_few)
            few, evidence, c = sample.few, None, most
            if auto:
                # a sample of all rows may have fewer that differ: then none was drawn
                drawn = len(rows) < source.n or few.n_samples == n_few < source.n
                evidence = counted_in_some(few, plan, task, rng, drawn=drawn)
                c = most if evidence is None else evidence.chosen
                plan.say(f"number of clusters: {c if evidence is None else evidence.words}")
                few = few.select(np.linspace(0, few.n_samples - 1, min(few.n_samples, SAMPLED)).astype(np.intp))
            task, q = replace(task, n_clusters=c), task.n_components or c
            plan.say(f"landmarks: learned on {len(rows)} of {source.n} samples")
            model, values = run.call(learn_clusters, settings, m, sample, task)
            kernels, attributes = _described(model.joiner)
            dtype = plan.dtype or np.float32  # of what is kept of every sample
            widths: list[tuple[int, DTypeLike]] = [(1, np.int32), (c, dtype), (q, dtype)]
            clusters = partial(_clusters, dtype=dtype)
            labels, M, P = pass_over(source, run, clusters, model, widths, StageProgress(plan.say))
        clarity = Clarity(few, (sample.version,), plan, c, np.random.RandomState(settings.seed))
        return Clusters(model, labels.ravel(), M, P, values, evidence, clarity, kernels, attributes)

    def classify(self, samples: Views | Chunks, plan: Plan, task: LabelTask, rng: np.random.RandomState) -> Classes:
        """Return the classes of the samples; "auto" spreads labels by local and global consistency."""
        settings = self._settings(plan, rng)
        with running(samples, plan.n_jobs, least=2) as (source, run):
            _check_labels(task, source.n)
            m = self._number(source.n, source.width, task.n_classes)
            if isinstance(samples, Chunks):
                _check_memory(source, m, task.n_classes, plan)
            rows, shares = _stratified(task.codes, sample_size(m), settings.seed)
            view, kind = samples.names[0], samples.kinds[0]
            sample = sample_of(source, rows, run, plan.scale, plan.dtype, view=view, kind=kind)
            plan.say(f"landmarks: learned on {len(rows)} of {source.n} samples")
            model = run.call(learn_classes, settings, m, sample, task.codes[sample.rows], shares, task)
            dtype = plan.dtype or np.float32  # of what is kept of every sample
            scores, widths = partial(_scores, dtype=dtype), [(task.n_classes, dtype)]
            (F,) = pass_over(source, run, scores, model, widths, StageProgress(plan.say))
        F = np.maximum(F, 0)
        undecided = ~(F.sum(axis=1) > 0)
        Y, labelled = one_hot(task.codes, task.n_classes, F.dtype)
        F[labelled], undecided[labelled] = Y[labelled], False
        return Classes(model, F, F.copy(), undecided, *_described(model.joiner))

    def _settings(self, plan: Plan, rng: np.random.RandomState) -> Settings:
        """Return the parameters of the fit; a landmark represents many samples, so that a third as many are joined."""
        k, seed = max(1, round(plan.rule.n_neighbors / 3)), int(rng.randint(np.iinfo(np.int32).max))
        return Settings(plan.kernels, plan.weights, self.landmarks, k, seed)

    def _number(self, n: int, n_features: int | None, n_groups: int) -> int:
        """Return the number of landmarks for n samples, checked."""
        if not isinstance(self.landmarks, str):
            return _given(self.landmarks, self.n_landmarks, n_features)
        m = default_landmarks(n, n_groups) if self.n_landmarks is None else int(self.n_landmarks)
        if m > n:
            msg = f"n_landmarks={m} is more than the n_samples={n} given: choose fewer landmarks."
            raise InvalidInputError(msg)
        return m


def _check_memory(source: Source, m: int, n_groups: int, plan: Plan) -> None:
    """Refuse chunks whose fit does not fit in memory, once their rows are counted."""
    itemsize, d = np.dtype(plan.dtype or np.float64).itemsize, int(source.width or 0)
    check_memory(
        landmark_memory(d, m, _N_KERNELS, itemsize, n=source.n, c=n_groups, n_numbers=source.n_numbers),
        what=f"The landmark graph of {source.n} samples",
        advice=f"take fewer than {m} landmarks by solver=Landmark(n_landmarks=...), or fewer samples",
    )


def _clusters(model: GraphModel, views: Views, *, dtype: DTypeLike) -> tuple[NDArray[Any], ...]:
    """Return labels, memberships and coordinates of one chunk."""
    M, P = model.memberships(views)
    M[~M.any(axis=1)] = 1 / M.shape[1]  # similar to no landmark
    return level_ties(M).argmax(axis=1).astype(np.int32)[:, None], M.astype(dtype), P.astype(dtype)


def _scores(model: GraphModel, views: Views, *, dtype: DTypeLike) -> tuple[NDArray[Any], ...]:
    """Return the label scores of one chunk."""
    return (model.scores(views).astype(dtype),)


def _described(graph: LandmarkRows) -> tuple[KernelShares, dict[str, Any]]:
    """Return the kernels of the graph with their shares, and the fitted attributes that describe it."""
    names, (view,) = graph.bank.names, graph.version.scalings
    kernels = KernelShares(names, (view,) * len(names), graph.weights, graph.weights, (graph.version,))
    return kernels, {"landmarks_": graph.landmarks}


def _given(landmarks: Sequence[Sequence[float]] | HasShape, m: int | None, width: int | None) -> int:
    """Return the number of landmarks in an array passed by the user, checked."""
    shape = np.shape(landmarks)
    if len(shape) != 2 or shape[1] != width or (m is not None and m != shape[0]):
        rows = "n_landmarks" if m is None else m
        msg = f"landmarks must be an array of shape ({rows}, {width}), one per row; got shape {shape}."
        raise InvalidInputError(msg)
    if not np.isfinite(np.asarray(landmarks, dtype=np.float64)).all():
        msg = "landmarks hold NaN or infinite values; kernels need finite numbers."
        raise InvalidInputError(msg)
    return int(shape[0])


def _check_labels(task: LabelTask, n: int) -> None:
    if len(task.codes) != n:
        got = f"{counted(len(task.codes), 'label')} for {counted(n, 'sample')}"
        msg = f"y has {got}: pass one per sample, -1 for the unlabelled ones."
        raise InvalidInputError(msg)


def _stratified(codes: Labels, size: int, seed: int) -> tuple[NDArray[np.int64], tuple[float, float]]:
    """Return a stratified sample, and how many rows a labelled and an unlabelled one of it represent."""
    labelled = codes >= 0
    n_l, n_u = int(labelled.sum()), int((~labelled).sum())
    known = draw_rows(len(codes), max(size // 2, size - n_u), seed, labelled)
    unknown = draw_rows(len(codes), size - len(known), seed, ~labelled)
    return np.sort(np.concatenate([known, unknown])), (n_l / len(known), n_u / max(len(unknown), 1))
