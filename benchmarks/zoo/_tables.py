"""Tables as users have them: survey answers, counts, text, categories, many columns of noise, several views."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.zoo._member import Built, Member
from benchmarks.zoo._toys import centres, labelled

__all__ = ["TABLES"]


def _survey_levels(seed: int) -> Built:
    rng = np.random.default_rng(seed)
    y = labelled(rng, [100, 100, 100])
    answers = np.array([3.0, 5.5, 8.0])[y][:, None] + rng.normal(0, 1.5, (300, 20))
    return np.clip(np.rint(answers), 1, 10), y


def _survey_profiles(seed: int) -> Built:
    rng = np.random.default_rng(seed)
    y = labelled(rng, [75, 75, 75, 75])
    profiles = rng.choice([2.0, 4.0], (4, 24))
    manner = rng.normal(0, 0.4, (300, 1))  # some tick higher boxes throughout
    return np.clip(np.rint(profiles[y] + manner + rng.normal(0, 1, (300, 24))), 1, 5), y


def _levels(seed: int) -> Built:
    rng = np.random.default_rng(seed)
    z = labelled(rng, [50] * 5)
    return rng.normal(400, 10, (250, 900)) + 4.0 * z[:, None], z


def _shifted(seed: int) -> Built:
    rng = np.random.default_rng(seed)
    y = labelled(rng, [70] * 4)
    return 1e4 + centres(rng, 4, 12, apart=6.0)[y] + rng.normal(size=(280, 12)), y


def _rates(rng: np.random.Generator, c: int, genes: int, fold: float) -> Any:
    """Return the shares of genes in c types of cells: a profile that all share, with markers of each type."""
    rates = np.tile(rng.lognormal(0.0, 1.0, genes), (c, 1))
    for k in range(c):
        rates[k, rng.choice(genes, genes // 10, replace=False)] *= fold
    return rates / rates.sum(axis=1, keepdims=True)


def _cells(dispersion: float | None, seed: int) -> Built:
    rng = np.random.default_rng([seed, 0 if dispersion is None else 1])
    y = labelled(rng, [60] * 5)
    mean = _rates(rng, 5, 200, 6.0)[y] * rng.lognormal(np.log(600), 0.4, (len(y), 1))
    if dispersion is not None:
        mean = mean * rng.gamma(1 / dispersion, dispersion, mean.shape)
    return rng.poisson(mean).astype(float), y


def _text(as_sparse: bool, seed: int) -> Built:
    rng = np.random.default_rng(seed)
    y = labelled(rng, [60] * 5)
    words = 1000
    common = 1.0 / np.arange(1, words + 1)
    topics = np.tile(common, (5, 1))
    for k in range(5):
        topics[k, rng.choice(np.arange(20, words), 60, replace=False)] *= 15
    lengths = rng.lognormal(np.log(120), 0.5, len(y)).astype(int) + 20
    shares = topics / topics.sum(axis=1, keepdims=True)
    counts = np.array([rng.multinomial(length, shares[k]) for length, k in zip(lengths, y, strict=True)], dtype=float)
    return (sparse.csr_array(counts) if as_sparse else counts), y


def _one_hot(seed: int) -> Built:
    rng = np.random.default_rng(seed)
    y = labelled(rng, [75] * 4)
    columns = []
    for _ in range(12):
        typical = rng.permutation(5)[:4][y]
        answer = np.where(rng.random(len(y)) < 0.65, typical, rng.integers(5, size=len(y)))
        columns.append(np.eye(5)[answer])
    return np.hstack(columns), y


def _binary(seed: int) -> Built:
    rng = np.random.default_rng(seed)
    y = labelled(rng, [100, 100, 100])
    shares = rng.choice([0.1, 0.6], (3, 40))
    return (rng.random((300, 40)) < shares[y]).astype(float), y


def _wide(seed: int) -> Built:
    rng = np.random.default_rng(seed)
    y = labelled(rng, [50] * 4)
    X = rng.normal(size=(200, 500))
    X[:, :20] += rng.normal(0, 2.5, (4, 20))[y]
    return X, y


def _units_of_blobs(seed: int) -> Built:
    rng = np.random.default_rng(seed)
    y = labelled(rng, [60] * 5)
    X = centres(rng, 5, 15, apart=7.0)[y] + rng.normal(size=(300, 15))
    return X * 10.0 ** rng.uniform(-3, 3, 15), y


def _constant_columns(seed: int) -> Built:
    rng = np.random.default_rng(seed)
    y = labelled(rng, [75] * 4)
    X = centres(rng, 4, 8, apart=6.0)[y] + rng.normal(size=(300, 8))
    nearly = np.zeros((300, 30))
    nearly[rng.choice(300, 30, replace=False), np.arange(30)] = 1.0  # as pixels at the border: one sample each
    return np.hstack([X, np.full((300, 2), 7.0), nearly]), y


def _noise_view(seed: int) -> Built:
    rng = np.random.default_rng(seed)
    y = labelled(rng, [60] * 4)
    views = [centres(rng, 4, d, apart=4.5)[y] + rng.normal(size=(240, d)) for d in (10, 25, 15)]
    return [*views, rng.normal(size=(240, 40))], y


def _part_views(seed: int) -> Built:
    rng = np.random.default_rng(seed)
    y = labelled(rng, [60] * 4)
    parts = (np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0]), np.array([0, 1, 0, 1]))
    return [centres(rng, 2, 12, apart=5.0)[part[y]] + rng.normal(size=(240, 12)) for part in parts], y


TABLES = (
    Member("survey-levels", "survey", "answers 1 to 10, three groups of different level", _survey_levels),
    Member("survey-profiles", "survey", "answers 1 to 5, four profiles of answers", _survey_profiles),
    Member("levels", "units", "five groups, normal(400, 10) + 4 * z in 900 columns", _levels),
    Member("shifted", "units", "four blobs far from the origin", _shifted),
    Member("units-of-blobs", "units", "five blobs, every column in a unit of its own", _units_of_blobs),
    Member("constant-columns", "units", "four blobs, 32 columns constant or nearly so", _constant_columns),
    Member("poisson", "counts", "Poisson counts of five types of cells", partial(_cells, None)),
    Member("negative-binomial", "counts", "overdispersed counts of five types of cells", partial(_cells, 0.5)),
    Member("text-dense", "text", "word counts of five topics, dense", partial(_text, False)),
    Member("text-sparse", "text", "the same word counts, sparse", partial(_text, True)),
    Member("one-hot", "one-hot", "twelve categories of five values, one-hot", _one_hot),
    Member("binary", "one-hot", "forty answers yes or no, three groups", _binary),
    Member("wide", "wide", "20 informative columns of 500", _wide),
    Member("noise-view", "views", "three views of four groups, and one of noise", _noise_view),
    Member("part-views", "views", "three views, each of which tells two halves apart", _part_views),
)
