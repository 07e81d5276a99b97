"""The solver "landmark": fitted on a sample of the rows, then applied to all of them in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import HasShape, Samples
from kernelweave.core.graphs.propagation import one_hot
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.view_bank import as_bank
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.scaling import scale_methods
from kernelweave.samples.source import Part, Run, Source, coordinate_order, draw_rows, read, take
from kernelweave.samples.views import Views
from kernelweave.weave.consensus_kernel import given_weights, kernel_attributes
from kernelweave.weave.graph_model import Centres, GraphModel
from kernelweave.weave.landmark.learning import (
    LandmarkRows,
    LandmarksLike,
    Settings,
    block_sums,
    class_sums,
    default_landmarks,
    landmark_classes,
    landmark_clusters,
    landmark_memory,
    learn_graph,
    sample_size,
)
from kernelweave.weave.passing import pass_over, running
from kernelweave.weave.plan import Classes, Clusters, LabelTask, Plan, Reading, check_count
from kernelweave.weave.progress import StageProgress

__all__ = ["Landmark"]

_BLOCK = 4096  # rows of the sample that are summed together; does not depend on the chunks
_N_KERNELS = 12  # assumed for the estimate of memory


@dataclass(frozen=True, slots=True)
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
        The number of landmarks; None for 1000, or fewer if there are few samples.
    landmarks : {"kmeans", "random"} or array of shape (n_landmarks, n_features), default="kmeans"
        Centres of k-means, samples drawn at random, or your own.
    """

    name: ClassVar[str] = "landmark"
    supports: ClassVar[frozenset[str]] = frozenset({"chunks"})
    up_to: ClassVar[float] = np.inf

    n_landmarks: int | None = None
    landmarks: LandmarksLike = "kmeans"

    def __post_init__(self) -> None:
        check_count(self.n_landmarks, "n_landmarks")

    def memory(self, samples: Views | Chunks, n_neighbors: int, n_groups: int) -> int:
        """Return about how many bytes a fit needs in addition to X; 0 if the number of samples is not known yet."""
        if isinstance(samples, Chunks):
            return 0
        n, n_features = samples.shape
        m = self.n_landmarks or default_landmarks(n, n_groups)
        return landmark_memory(n_features, m, _N_KERNELS, samples.dtype.itemsize, n=n, c=n_groups)

    def cluster(self, samples: Views | Chunks, plan: Plan, reading: Reading, rng: np.random.RandomState) -> Clusters:
        """Return the clusters of the samples."""
        if reading.n_clusters == "auto":
            msg = 'solver="landmark" does not choose a number of clusters: give n_clusters, or use solver="local".'
            raise InvalidInputError(msg)
        c, q = reading.n_clusters, reading.n_components or reading.n_clusters
        progress = StageProgress(plan.say)
        with running(samples, plan.n_jobs, least=2) as (source, run):
            settings = self._settings(plan, source, c, rng)
            sample = take(source, draw_rows(source.n, sample_size(settings.n_landmarks), settings.seed), run)
            sample = sample[coordinate_order(sample)]
            plan.say(f"landmarks: learned on {sample.shape[0]} of {source.n} samples")
            graph = run.call(learn_graph, settings, sample)
            attributes = _attributes(graph)
            BB = run.total(block_sums, graph, _blocks(sample))
            values, Q, centres = run.call(landmark_clusters, graph, BB, sample, c, q, reading.n_init, settings.seed)
            model = GraphModel(graph, Q, centres=Centres(centres, np.ones(c, dtype=np.intp), unit=True))
            labels, M, P = pass_over(
                source, run, _part_clusters, model, [(1, np.int32), (c, np.float32), (q, np.float32)], progress
            )
        return Clusters(model, labels.ravel(), M, P, values, None, None, attributes)

    def classify(self, samples: Views | Chunks, plan: Plan, task: LabelTask, rng: np.random.RandomState) -> Classes:
        """Return the classes of the samples; "auto" spreads labels by local and global consistency."""
        with running(samples, plan.n_jobs, least=2) as (source, run):
            _check_labels(task, source)
            settings = self._settings(plan, source, task.n_classes, rng)
            sample, codes, shares = _stratified(source, task.codes, settings, run)
            plan.say(f"landmarks: learned on {sample.shape[0]} of {source.n} samples")
            graph = run.call(learn_graph, settings, sample)
            blocks = zip(_blocks(sample), _blocks(codes), strict=True)
            sums = run.total(class_sums, graph, ((rows, block, shares, task.n_classes) for rows, block in blocks))
            method = "harmonic" if task.propagation == "harmonic" else "lgc"
            U = run.call(landmark_classes, sums, task.n_classes, method, task.class_mass)
            model = GraphModel(graph, U, U)
            spec = [(task.n_classes, np.float32)]
            (F,) = pass_over(source, run, _part_scores, model, spec, StageProgress(plan.say))
        F = np.maximum(F, 0)
        undecided = ~(F.sum(axis=1) > 0)
        Y, labelled = one_hot(task.codes, task.n_classes, F.dtype)
        F[labelled], undecided[labelled] = Y[labelled], False
        return Classes(model, F, F.copy(), undecided, _attributes(graph))

    def _settings(self, plan: Plan, source: Source, n_groups: int, rng: np.random.RandomState) -> Settings:
        """Return the parameters of the fit, with the number of landmarks for these samples."""
        seed = int(rng.randint(np.iinfo(np.int32).max))
        n_landmarks = self._number(source, n_groups)
        bank = as_bank(plan.kernels, n_columns=source.width)
        return Settings(
            bank=bank,
            landmarks=self.landmarks,
            n_landmarks=n_landmarks,
            n_neighbors=max(1, round(plan.rule.n_neighbors / 3)),  # a landmark represents many samples
            weights=plan.weights if isinstance(plan.weights, str) else given_weights(plan.weights, bank.names),
            scale=plan.scale if isinstance(plan.scale, str) else scale_methods(("X",), plan.scale)["X"],
            dtype=plan.dtype,
            seed=seed,
        )

    def _number(self, source: Source, n_groups: int) -> int:
        if not isinstance(self.landmarks, str):
            return _given(self.landmarks, self.n_landmarks, source.width)
        if self.landmarks not in ("kmeans", "random"):
            msg = (
                "landmarks must be 'kmeans', 'random' or an array of shape (n_landmarks, n_features); got "
                f"{self.landmarks!r}."
            )
            raise InvalidInputError(msg)
        m = default_landmarks(source.n, n_groups) if self.n_landmarks is None else int(self.n_landmarks)
        if m > source.n:
            msg = f"n_landmarks={m} is more than the n_samples={source.n} given: choose fewer landmarks."
            raise InvalidInputError(msg)
        return m


def _part_clusters(model: GraphModel, part: Part) -> tuple[NDArray[Any], ...]:
    """Return labels, memberships and coordinates of one chunk."""
    P = model.place(Views.of_table(read(part, None)))
    M = model.nearness(P)
    return M.argmax(axis=1).astype(np.int32)[:, None], M.astype(np.float32), P.astype(np.float32)


def _part_scores(model: GraphModel, part: Part) -> tuple[NDArray[Any], ...]:
    """Return the label scores of one chunk."""
    return (model.scores(Views.of_table(read(part, None))).astype(np.float32),)


def _attributes(graph: LandmarkRows) -> dict[str, Any]:
    names = graph.bank.names
    found = kernel_attributes(names, ("X",) * len(names), graph.weights, (graph.version,))
    return {**found, "landmarks_": graph.landmarks}


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


def _check_labels(task: LabelTask, source: Source) -> None:
    if len(task.codes) != source.n:
        msg = f"y has {len(task.codes)} labels for {source.n} samples: pass one per sample, -1 for the unlabelled ones."
        raise InvalidInputError(msg)


def _stratified(
    source: Source, codes: NDArray[np.intp], settings: Settings, run: Run
) -> tuple[Samples, NDArray[np.intp], tuple[float, float]]:
    """Return a stratified sample, its codes, and how many rows a labelled and an unlabelled one of it represent."""
    labelled = codes >= 0
    n_l, n_u = int(labelled.sum()), int((~labelled).sum())
    size = sample_size(settings.n_landmarks)
    known = draw_rows(source.n, max(size // 2, size - n_u), settings.seed, labelled)
    unknown = draw_rows(source.n, size - len(known), settings.seed, ~labelled)
    rows = np.sort(np.concatenate([known, unknown]))
    sample, sampled = take(source, rows, run), codes[rows]
    order = coordinate_order(sample)
    return sample[order], sampled[order], (n_l / len(known), n_u / max(len(unknown), 1))


def _blocks(rows: Samples) -> Iterator[Samples]:
    return (rows[i : i + _BLOCK] for i in range(0, rows.shape[0], _BLOCK))
