"""Copies of a sample in different clusters are told."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernelweave import KGLClustering, PMKLClustering, SMKLClustering, Views, WeaveClustering
from kernelweave.baselines import LMVSC, MKKM, NEMO, SNF, SSR, KernelKMeans, KernelSpectralClustering

FEW = np.repeat(np.random.default_rng(0).normal(size=(4, 2)), 5, axis=0)
MODELS = [
    SMKLClustering,
    KGLClustering,
    PMKLClustering,
    KernelKMeans,
    KernelSpectralClustering,
    MKKM,
    NEMO,
    SNF,
    SSR,
]
every = pytest.mark.parametrize("model", MODELS)


@every
def test_more_clusters_than_distinct_samples_are_told(model):
    with pytest.warns(ConvergenceWarning, match="there are only 4 distinct samples for n_clusters=6. Remove") as told:
        found = model(6, random_state=0).fit(FEW)
    assert told[-1].filename == __file__
    first, other = (int(word.strip(")")) for word in str(told[-1].message).split(":")[0].split() if word[0].isdigit())
    assert (FEW[first] == FEW[other]).all()
    assert found.labels_[first] != found.labels_[other]


@pytest.mark.parametrize("model", [model for model in MODELS if model not in (NEMO, SNF)])  # which compare distances
def test_copies_that_are_kernels_are_told_too(model):
    K = np.exp(-((FEW[:, None] - FEW) ** 2).sum(axis=2))
    several = "kernels" in model().get_params()
    with pytest.warns(ConvergenceWarning, match="there are only 4 distinct samples for n_clusters=6"):
        model(6, random_state=0, **{"kernels" if several else "kernel": "precomputed"}).fit(K)


def test_a_graph_that_joins_copies_alone_is_told():
    rows = np.random.default_rng(0).normal(size=(8, 2))
    X = np.vstack([np.repeat(rows[:4], 20, axis=0), rows])  # more copies than neighbours
    with pytest.warns(ConvergenceWarning, match="KGLClustering treats them as samples of their own. Remove copies"):
        KGLClustering(5, random_state=0).fit(X)


def test_samples_that_some_view_tells_apart_are_no_copies():
    rng = np.random.default_rng(0)
    views = Views({"same": np.repeat(rng.normal(size=(3, 2)), 4, axis=0), "other": rng.normal(size=(12, 3))})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MKKM(5, random_state=0).fit(views)


@pytest.mark.filterwarnings("ignore:The graph of")  # of NEMO and SSR falls into pairs here
@pytest.mark.parametrize("model", [*MODELS, WeaveClustering, LMVSC])
def test_nothing_is_told_where_copies_are_together(model):
    rng = np.random.default_rng(0)
    X = np.repeat(np.vstack([rng.normal(size=(6, 2)), rng.normal(size=(6, 2)) + 20]), 2, axis=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Copies")
        found = model(2, random_state=0, **({"kernel": "linear"} if model is SSR else {})).fit(X)
    assert (found.labels_[::2] == found.labels_[1::2]).all()
