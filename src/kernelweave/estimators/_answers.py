"""What a fitted graph says of samples, whether they are in memory or read in chunks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from kernelweave._types import Matrix
from kernelweave.errors import UndecidedWarning
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.reader import SamplesLike
from kernelweave.samples.views import Views
from kernelweave.weave.graph_model import Answers
from kernelweave.weave.passing import chunked_answers, chunked_coordinates
from kernelweave.weave.progress import Reporter, StageProgress

if TYPE_CHECKING:
    from kernelweave.estimators._estimator import KernelModel

__all__ = ["answers", "coordinates", "warned_answers"]


def answers(estimator: KernelModel, X: SamplesLike) -> Answers:
    """Return the distribution of every sample over classes or clusters, and which samples nothing is known of."""
    samples, model = estimator._read_again(X), estimator._graph_model
    if isinstance(samples, Chunks) or (model.joiner.chunked and isinstance(samples, Views)):
        return chunked_answers(model, samples, estimator.n_features_in_, estimator.n_jobs, _progress(estimator))
    return model.answers(samples)


def coordinates(estimator: KernelModel, X: SamplesLike) -> Matrix:
    """Return every sample in the embedding."""
    samples, model = estimator._read_again(X), estimator._graph_model
    if isinstance(samples, Chunks) or (model.joiner.chunked and isinstance(samples, Views)):
        return chunked_coordinates(model, samples, estimator.n_features_in_, estimator.n_jobs, _progress(estimator))
    return model.transform(samples)


def warned_answers(estimator: KernelModel, X: SamplesLike) -> Answers:
    """Return the answers, and warn of new samples that are similar to no training sample with an answer."""
    found = answers(estimator, X)
    empty = np.flatnonzero(found.undecided & (found.known < 0))
    if len(empty):
        n = len(found.undecided)
        what = f"{len(empty)} of {n} samples are" if n > 1 else "The sample is"
        first = f" (first: row {empty[0]})" if n > 1 else ""
        msg = (
            f"{what} similar to no training sample with an answer{first}: uniform probabilities are returned. "
            "undecided(X) tells which samples these are."
        )
        warnings.warn(msg, UndecidedWarning, stacklevel=3)
    return found


def _progress(estimator: KernelModel) -> StageProgress:
    return StageProgress(Reporter(type(estimator).__name__, estimator.verbose))
