"""Kernels, their algebra and normalisation, banks of them, and the paper's recipes."""

from kernelweave.kernels.bank import KernelBank, as_kernel
from kernelweave.kernels.base import Kernel, Pair, Product, Scaled, Sum
from kernelweave.kernels.categories import Overlap, RareOverlap
from kernelweave.kernels.normalise import (
    Centered,
    DiameterNormalized,
    MaxNormalized,
    TraceNormalized,
)
from kernelweave.kernels.pairwise import Pairwise
from kernelweave.kernels.precomputed_bank import PrecomputedBank
from kernelweave.kernels.recipes import RECIPES, Mixed, recipe
from kernelweave.kernels.vector_kernels import (
    Chi2,
    Cosine,
    CosineNormalized,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    SelfTuning,
)
from kernelweave.kernels.view_bank import ViewBank, bank_of

__all__ = [
    "RECIPES",
    "Centered",
    "Chi2",
    "Cosine",
    "CosineNormalized",
    "DiameterNormalized",
    "Gaussian",
    "Kernel",
    "KernelBank",
    "Laplacian",
    "Linear",
    "MaxNormalized",
    "Mixed",
    "Overlap",
    "Pair",
    "Pairwise",
    "Polynomial",
    "PrecomputedBank",
    "Product",
    "RareOverlap",
    "Scaled",
    "SelfTuning",
    "Sum",
    "TraceNormalized",
    "ViewBank",
    "as_kernel",
    "bank_of",
    "recipe",
]
