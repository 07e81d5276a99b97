"""The methods that SMKL is compared with, and later ones of the field, as scikit-learn estimators.

Clusterers have `fit` and `fit_predict`; classifiers have `fit`, and `predict`, `predict_proba` and `score` for the
samples of the fit. All have `save`. Beside the attributes that each of them lists, all have `view_names_`,
`view_widths_`, `sample_names_`, `readings_` and `view_shares_`, and those that compare samples by kernels
`kernel_names_`, `kernel_views_` and `kernel_shares_`, as `kernelweave.WeaveClustering` has them.
"""

from kernelweave.baselines.aasc import AASC
from kernelweave.baselines.fastmice import FastMICE
from kernelweave.baselines.gfhf import GFHF
from kernelweave.baselines.gmc import GMC
from kernelweave.baselines.kernel_kmeans import KernelKMeans
from kernelweave.baselines.laplace_learning import LaplaceLearning
from kernelweave.baselines.late_fusion import LateFusion
from kernelweave.baselines.lgc import LGC
from kernelweave.baselines.lmvsc import LMVSC
from kernelweave.baselines.mkkm import MKKM
from kernelweave.baselines.nemo import NEMO
from kernelweave.baselines.poisson_learning import PoissonLearning
from kernelweave.baselines.rmkkm import RMKKM
from kernelweave.baselines.s2lrr import S2LRR
from kernelweave.baselines.s3r import S3R
from kernelweave.baselines.scan import SCAN
from kernelweave.baselines.simple_mkkm import SimpleMKKM
from kernelweave.baselines.snf import SNF
from kernelweave.baselines.spectral import KernelSpectralClustering
from kernelweave.baselines.ssr import SSR

__all__ = [
    "AASC",
    "GFHF",
    "GMC",
    "LGC",
    "LMVSC",
    "MKKM",
    "NEMO",
    "RMKKM",
    "S2LRR",
    "S3R",
    "SCAN",
    "SNF",
    "SSR",
    "FastMICE",
    "KernelKMeans",
    "KernelSpectralClustering",
    "LaplaceLearning",
    "LateFusion",
    "PoissonLearning",
    "SimpleMKKM",
]
