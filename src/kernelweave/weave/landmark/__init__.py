"""The weave recipe at a cost linear in the samples: a graph between them and a few landmarks, read chunk by chunk."""

from kernelweave.samples.chunks import is_streamed, n_rows
from kernelweave.samples.dask_chunks import lazy_labels
from kernelweave.weave.landmark.landmark_fit import (
    LandmarkClasses,
    LandmarkClustering,
    fit_landmark_classes,
    fit_landmark_clustering,
    landmark_predict,
    landmark_scores,
)
from kernelweave.weave.landmark.landmark_model import LandmarkModel
from kernelweave.weave.landmark.learning import default_landmarks, landmark_memory

__all__ = [
    "LandmarkClasses",
    "LandmarkClustering",
    "LandmarkModel",
    "default_landmarks",
    "fit_landmark_classes",
    "fit_landmark_clustering",
    "is_streamed",
    "landmark_memory",
    "landmark_predict",
    "landmark_scores",
    "lazy_labels",
    "n_rows",
]
