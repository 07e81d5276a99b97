"""The practical default: one sparse graph from the self-weighted consensus of kernels, to cluster or classify with."""

from kernelweave.estimators.weave_classifier import WeaveClassifier
from kernelweave.estimators.weave_clustering import WeaveClustering

__all__ = ["WeaveClassifier", "WeaveClustering"]
