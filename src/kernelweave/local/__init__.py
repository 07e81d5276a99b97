"""Weave for many samples: each is compared with its nearest neighbours only, and nothing of size n x n is made."""

from kernelweave.local.eigen import Spectrum, bottom_spectrum
from kernelweave.local.model import LocalWeave, default_candidates, new_rows, perturbed, weave_local
from kernelweave.local.neighbours import Neighbours, has_pynndescent, nearest
from kernelweave.local.partition import partition_many
from kernelweave.local.propagate import LabelScores, harmonic_scores, lgc_scores

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
