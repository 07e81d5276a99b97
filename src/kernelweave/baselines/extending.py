"""Base classes and helpers for methods of your own, in a plugin or in a script.

A clusterer derives from `KernelClusterer`, or from `SpectralClusterer` if it ends with k-means on an embedding; a
classifier derives from `TransductiveClassifier`. CONTRIBUTING, "Add a baseline", says what each must define.
"""

from kernelweave.baselines._kernel_clusterer import KernelClusterer, objective_attributes, weight_attributes
from kernelweave.baselines._spectral_step import SpectralClusterer
from kernelweave.estimators._classifier import TransductiveClassifier

__all__ = [
    "KernelClusterer",
    "SpectralClusterer",
    "TransductiveClassifier",
    "objective_attributes",
    "weight_attributes",
]
