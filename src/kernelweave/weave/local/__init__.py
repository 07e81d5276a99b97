"""Weave for many samples: each is compared with its nearest neighbours only, and nothing of size n x n is made."""

from kernelweave.weave.local.filtered import Spectrum, bottom_spectrum
from kernelweave.weave.local.gradients import LabelScores, harmonic_scores, lgc_scores
from kernelweave.weave.local.local_kmeans import partition_many
from kernelweave.weave.local.local_weave import LocalWeave, default_candidates, new_rows, perturbed, weave_local
from kernelweave.weave.local.neighbours import Neighbours, has_pynndescent, nearest

__all__ = [
    "LabelScores",
    "LocalWeave",
    "Neighbours",
    "Spectrum",
    "bottom_spectrum",
    "default_candidates",
    "harmonic_scores",
    "has_pynndescent",
    "lgc_scores",
    "nearest",
    "new_rows",
    "partition_many",
    "perturbed",
    "weave_local",
]
