"""The weave recipe at a cost linear in the samples: a graph between them and a few landmarks, read chunk by chunk."""

from kernelweave.landmark.chunks import is_streamed, n_rows
from kernelweave.landmark.dask import lazy_labels
from kernelweave.landmark.fit import (
    LandmarkClasses,
    LandmarkClustering,
    fit_landmark_classes,
    fit_landmark_clustering,
    landmark_predict,
    landmark_scores,
)
from kernelweave.landmark.learn import default_landmarks, landmark_memory
from kernelweave.landmark.model import LandmarkModel

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
