"""The version of the samples that many samples are compared in: the one that a sample of them agrees on more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kernelweave._types import WeightsLike
from kernelweave.kernels.view_bank import KernelsLike
from kernelweave.samples.scaling import Scale, Version, fit_versions
from kernelweave.samples.views import Views
from kernelweave.weave.consensus_kernel import combine
from kernelweave.weave.dense_graphs import several_cuts
from kernelweave.weave.graph_partitions import read_graph, trusted

__all__ = ["best_version"]

_COMPARED_ON = 1000  # samples drawn at random
_GAMMA = 0.1
_STARTS = 2


def best_version(
    samples: Views,
    scale: Scale | Mapping[str, Scale],
    kernels: KernelsLike,
    weights: WeightsLike,
    n_groups: int,
    rng: np.random.RandomState,
) -> Version:
    """Return the version of the samples whose graphs are trusted more, as the dense solver would on a thousand rows.

    Two graphs of many samples would take twice as long. Where `scale` is given there is one version.
    """
    versions = fit_versions(samples, scale)
    if len(versions) == 1:
        return versions[0]
    n = samples.n_samples
    drawn = samples.select(np.sort(rng.choice(n, min(n, _COMPARED_ON), replace=False)))
    c = max(2, min(n_groups, drawn.n_samples // 8))
    seed = rng.randint(np.iinfo(np.int32).max)
    trust = []
    for version in versions:
        K = combine(drawn, version, kernels, weights).matrix
        (family,) = several_cuts(K, ("ridge",), _GAMMA)
        found = [read_graph(S, "auto", c, c, _STARTS, np.random.RandomState(seed)) for S in family.graphs]
        trust.append(version.share * sum(trusted(one.agreement) for one in found))
    shares = np.array(trust) / sum(trust)
    best = int(shares.argmax())
    name = {"direction": "directions of rows", "zscore": "z-scores of columns"}[versions[best].name]
    reason = f"the clusters of {drawn.n_samples} samples agree more ({name}: {shares[best]:.0%} of the weight)"
    scalings = {view: replace(one, reason=reason) for view, one in versions[best].scalings.items()}
    return replace(versions[best], scalings=scalings, share=1.0)
