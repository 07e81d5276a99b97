"""Weave with the solver "landmark": what the estimators hand on, and what they keep of the answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import Matrix
from kernelweave.estimators._input import as_bank
from kernelweave.estimators._progress import Progress

__all__ = ["keep_landmark_model", "landmark_labels", "landmark_options", "landmark_probabilities"]


def landmark_options(model: Any) -> dict[str, Any]:
    """Return the parameters that both landmark models take, in their words."""
    return {
        "bank": as_bank(model._kernels()),
        "n_landmarks": model.n_landmarks,
        "landmarks": model.landmarks,
        "n_neighbors": max(1, round(model.n_neighbors / 3)),  # a landmark stands for many samples
        "weights": model._checked_weights(),
        "scale": model.scale,
        "n_jobs": model.n_jobs,
        "dtype": model.dtype,
        "progress": Progress(model._say),
    }


def keep_landmark_model(estimator: Any, model: Any) -> None:
    """Set the attributes of a fitted estimator from the landmark model."""
    estimator._landmark_model = model
    estimator.kernel_weights_ = estimator.kernel_shares_ = model.weights
    estimator.bank_ = model.bank
    estimator.kernel_names_ = model.bank.names
    estimator.scaling_ = model.scaling
    estimator.landmarks_ = model.landmarks
    estimator.n_features_in_ = model.n_features


def landmark_labels(estimator: Any, X: Any) -> NDArray[np.int32]:
    """Return the clusters of samples, in one pass over them."""
    from kernelweave.weave.landmark import landmark_predict

    return landmark_predict(estimator._landmark_model, X, n_jobs=estimator.n_jobs, progress=Progress(estimator._say))


def landmark_probabilities(estimator: Any, X: Any) -> Matrix:
    """Return the probability of every class for samples, in one pass over them; equal where nothing is known."""
    from kernelweave.weave.landmark import landmark_scores

    F = np.maximum(
        landmark_scores(estimator._landmark_model, X, n_jobs=estimator.n_jobs, progress=Progress(estimator._say)), 0
    )
    F[F.sum(axis=1) == 0] = 1
    return np.asarray(F / F.sum(axis=1, keepdims=True))
