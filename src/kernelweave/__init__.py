"""Cluster data, or classify it from a few labels, when nobody knows which kernel is the right one."""

from kernelweave.estimators import (
    KGLClassifier,
    KGLClustering,
    PMKLClassifier,
    PMKLClustering,
    SMKLClassifier,
    SMKLClustering,
    WeaveClassifier,
    WeaveClustering,
    smkl_path,
)

__version__ = "0.1.0"

__all__ = [
    "KGLClassifier",
    "KGLClustering",
    "PMKLClassifier",
    "PMKLClustering",
    "SMKLClassifier",
    "SMKLClustering",
    "WeaveClassifier",
    "WeaveClustering",
    "smkl_path",
]
