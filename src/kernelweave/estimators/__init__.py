"""The scikit-learn estimators."""

from kernelweave.estimators.classification import KGLClassifier, PMKLClassifier, SMKLClassifier
from kernelweave.estimators.clustering import KGLClustering, PMKLClustering, SMKLClustering
from kernelweave.estimators.importance import ViewImportance, view_importance
from kernelweave.estimators.path import smkl_path
from kernelweave.estimators.weaving import WeaveClassifier, WeaveClustering

__all__ = [
    "KGLClassifier",
    "KGLClustering",
    "PMKLClassifier",
    "PMKLClustering",
    "SMKLClassifier",
    "SMKLClustering",
    "ViewImportance",
    "WeaveClassifier",
    "WeaveClustering",
    "smkl_path",
    "view_importance",
]
