"""The scikit-learn estimators."""

from kernelweave.estimators.classification import KGLClassifier, PMKLClassifier, SMKLClassifier
from kernelweave.estimators.clustering import KGLClustering, PMKLClustering, SMKLClustering

__all__ = [
    "KGLClassifier",
    "KGLClustering",
    "PMKLClassifier",
    "PMKLClustering",
    "SMKLClassifier",
    "SMKLClustering",
]
