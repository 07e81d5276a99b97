"""What runs on the same samples share: fits that differ only in the seed of k-means, and codes without labels."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from sklearn.base import BaseEstimator

from kernelweave.baselines.self_expression import FirstRounds, SelfExpressiveClassifier
from kernelweave.experiments.choices import Parameters

__all__ = ["share_first_rounds", "shares_a_fit"]


def shares_a_fit(cls: type[BaseEstimator], parameters: Parameters) -> bool:
    """Return whether the seed only affects k-means, so that `labels_for` replaces another fit.

    The scheme "printed" starts from a random graph: each of its repeats needs a fit.
    """
    return hasattr(cls, "labels_for") and parameters.get("scheme") != "printed"


def share_first_rounds(model: BaseEstimator, samples: Path) -> None:
    """Let the models of a process that learn codes of the same samples compute those without labels once."""
    if isinstance(model, SelfExpressiveClassifier):
        model.share_first_rounds(_first_rounds(samples))


@lru_cache(maxsize=2)  # of a data set with 1400 samples a dozen take half a gigabyte
def _first_rounds(samples: Path) -> FirstRounds:
    return {}
