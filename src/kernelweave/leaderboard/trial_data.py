"""The samples of one trial: a data set, capped, under a condition and a seed, as a method is given them."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Mask, Matrix, Samples
from kernelweave.datasets import dataset_info, label_split, load_dataset, mask_labels
from kernelweave.errors import InvalidInputError
from kernelweave.leaderboard.entrants import Entrant, Scaling
from kernelweave.leaderboard.protocol import Condition, Protocol
from kernelweave.samples import Views
from kernelweave.samples.scaling import fit_scaling, is_thin

__all__ = ["TrialData", "prepare", "trial_data"]

Classes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TrialData:
    """What a trial is about: views, classes, and the samples whose label is known, if some are."""

    views: Views
    y: Classes
    labelled: Mask | None = None

    @property
    def n_classes(self) -> int:
        """The number of classes among the samples."""
        return len(np.unique(self.y))

    @property
    def known(self) -> Classes | None:
        """The classes with -1 for samples that are not labelled."""
        return None if self.labelled is None else np.asarray(mask_labels(self.y, self.labelled), dtype=np.int64)


def trial_data(
    name: str, condition: Condition, seed: int, protocol: Protocol, data_home: str | os.PathLike[str] | None
) -> TrialData:
    """Return the samples of a data set under a condition.

    Parameters
    ----------
    name : str
        A data set of the registry.
    condition : {"plain", "unknown", "gaps", "noise", "labels"}
        What is done to it.
    seed : int
        Seed of the gaps, the noise or the labels.
    protocol : Protocol
        How many samples, gaps and labels.
    data_home : path-like or None
        Folder of the data files.

    Returns
    -------
    data : TrialData
    """
    data = _capped(name, protocol.max_samples, None if data_home is None else os.fspath(data_home))
    if condition in ("gaps", "noise") and len(data.views.names) < 2:
        msg = f"{name} has one view: the condition {condition!r} needs two or more."
        raise InvalidInputError(msg)
    if condition == "gaps":
        return replace(data, views=_with_gaps(data.views, protocol.gap_share, np.random.default_rng(seed)))
    if condition == "noise":
        return replace(data, views=_with_noise(data.views, np.random.default_rng(seed)))
    if condition == "labels":
        return replace(data, labelled=label_split(data.y, protocol.label_share, "per-class", seed))
    return data


@lru_cache(maxsize=4)
def _capped(name: str, most: int, data_home: str | None) -> TrialData:
    if dataset_info(name).kernels:
        msg = f"{name} has kernel matrices and no samples: the leaderboard needs samples."
        raise InvalidInputError(msg)
    bunch = load_dataset(name, data_home=data_home)
    views = bunch.data if isinstance(bunch.data, Views) else Views.of_table(bunch.data)
    y = bunch.target
    if len(y) > most:
        some = np.sort(np.random.default_rng(0).choice(len(y), most, replace=False))
        views, y = views.select(some), y[some]
    _, y = np.unique(y, return_inverse=True)  # without the classes of which no sample was drawn
    return TrialData(views, y.astype(np.int64))


def _with_gaps(views: Views, share: float, rng: np.random.Generator) -> Views:
    n, v = views.n_samples, len(views.names)
    lacking = rng.choice(n, round(share * n), replace=False)
    which = rng.integers(v, size=len(lacking))
    gaps = {name: lacking[which == i] for i, name in enumerate(views.names)}
    return Views(dict(zip(views.names, views.tables, strict=True)), missing=gaps)


def _with_noise(views: Views, rng: np.random.Generator) -> Views:
    noise = views.tables[int(rng.integers(len(views.tables)))][rng.permutation(views.n_samples)]
    return Views({**dict(zip(views.names, views.tables, strict=True)), "noise": noise})


def prepare(entrant: Entrant, data: TrialData) -> Samples | Views:
    """Return the samples as a method is given them: scaled, and as views or as one table."""
    views = data.views if entrant.scaling == "own" else _scaled(data.views, entrant.scaling)
    if entrant.given == "table":
        return _side_by_side(views)
    return views if len(views.names) > 1 else views.tables[0]


def _scaled(views: Views, scaling: Scaling) -> Views:
    def transform(table: Samples) -> Samples:
        if scaling == "samples":
            return _standard_rows(table)
        return fit_scaling(table, "unit" if is_thin(table) else "zscore").transform(table)

    return views.map(dict.fromkeys(views.names, transform))


def _standard_rows(table: Samples) -> Matrix:
    """Return every row with mean 0 and deviation 1; constant rows become 0."""
    values = _dense(table)
    centred = values - values.mean(axis=1, keepdims=True)
    deviation = values.std(axis=1, ddof=1, keepdims=True) if values.shape[1] > 1 else np.zeros((len(values), 1))
    return np.asarray(np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0))


def _dense(table: Samples) -> Matrix:
    return np.asarray(table.toarray() if sparse.issparse(table) else table, dtype=np.float64)


def _side_by_side(views: Views) -> Matrix:
    """Return all columns in one dense table, each view with mean squared length 1; column means fill gaps."""
    blocks = []
    for table, present in zip(views.tables, views.present, strict=True):
        values = _dense(table)
        block = np.tile(values.mean(axis=0), (views.n_samples, 1))
        block[present] = values
        length = np.sqrt(np.einsum("ij,ij->i", block, block).mean())
        blocks.append(block / length if length > 0 else block)
    return np.hstack(blocks)
