"""One rule makes the graphs of all solvers: the dense and the local one agree where every sample is a candidate."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, make_blobs

from kernelweave import Local, WeaveClassifier, WeaveClustering
from kernelweave.core.graphs.affinity import GraphRule, one_graph
from kernelweave.kernels import Gaussian, Linear, recipe
from kernelweave.weave.local.local_graph import perturbed, weave_local
from kernelweave.weave.local.local_kernel import LocalConsensus, LocalKernel

KINDS = ["ridge", "knn", "both"]
ONE_GRAPH = {"n_neighbors": 10, "scale": "unit", "random_state": 0, "kernels": "released-7"}
BLOBS, _ = make_blobs(150, n_features=5, centers=4, cluster_std=2.0, random_state=0)
DIGITS = load_digits().data
SETS = {"blobs": (BLOBS[:120], BLOBS[120:]), "digits": (DIGITS[:140], DIGITS[140:170])}


def models(graph, estimator=WeaveClustering, samples="blobs", **options):
    X, _ = SETS[samples]
    y = np.where(np.arange(len(X)) % 4 == 0, np.arange(len(X)) % 3, -1)
    options = ONE_GRAPH | {"graph": graph} | options
    options |= {"n_clusters": 3} if estimator is WeaveClustering else {}
    solvers = "dense", Local(n_candidates=len(X))  # of a training sample, all others; of a new one, all
    return [estimator(solver=solver, **options).fit(X, y) for solver in solvers]


def rows(model, new):
    return model._graph_model.rows(model._read_again(new)).toarray()


@pytest.mark.parametrize("samples", SETS)
@pytest.mark.parametrize("graph", KINDS)
def test_the_graphs_are_equal_to_rounding(graph, samples):
    for estimator in (WeaveClustering, WeaveClassifier):
        dense, local = models(graph, estimator, samples)
        assert_allclose(local.kernel_shares_, dense.kernel_shares_, atol=1e-6)
        assert_allclose(local.graph_.toarray(), dense.graph_.toarray(), atol=1e-3 * dense.graph_.max())


@pytest.mark.parametrize("samples", SETS)
@pytest.mark.parametrize("graph", KINDS)
def test_the_rows_of_new_samples_are_equal_to_rounding(graph, samples):
    dense, local = models(graph, samples=samples)
    new = SETS[samples][1]
    here, there = rows(dense, new), rows(local, new)
    assert here.any(axis=1).all()
    assert_allclose(there, here, atol=1e-3 * here.max())


@pytest.mark.parametrize("graph", KINDS)
def test_the_answers_for_new_samples_are_equal_to_rounding(graph):
    dense, local = models(graph, WeaveClassifier)
    new = SETS["blobs"][1]
    assert_allclose(local.predict_proba(new), dense.predict_proba(new), atol=1e-2)


@pytest.mark.parametrize("graph", KINDS)
def test_the_rows_of_new_samples_are_equal_for_several_views(graph):
    X, new = SETS["blobs"]
    y = np.where(np.arange(len(X)) % 4 == 0, np.arange(len(X)) % 3, -1)
    dense, local = (
        WeaveClassifier(solver=solver, graph=graph, **ONE_GRAPH).fit([X[:, :2], X[:, 2:]], y)
        for solver in ("dense", Local(120))
    )
    assert_allclose(local.graph_.toarray(), dense.graph_.toarray(), atol=1e-3 * dense.graph_.max())
    here, there = (rows(model, [new[:, :2], new[:, 2:]]) for model in (dense, local))
    assert_allclose(there, here, atol=1e-3 * here.max())


@pytest.mark.parametrize("graph", KINDS)
def test_the_rows_of_both_have_the_proportions_of_the_training_graph(graph):
    dense, local = models(graph)
    joiner = dense._graph_model.joiner
    woven = local._graph_model.joiner.woven
    assert woven.rule == GraphRule(graph, 0.1, 10)
    assert {part.kind: part.k for part in joiner.parts} == woven.rule.kept
    if graph == "both":
        assert_allclose([part.weight for part in joiner.parts], 1 / np.array(woven.degrees), rtol=1e-4)
    else:
        assert joiner.parts[0].weight == 1


@pytest.mark.parametrize("graph", KINDS)
@pytest.mark.parametrize("factors", [(2.0, 1.4), (0.5, 0.8)])
def test_perturbed_graphs_are_equal_to_rounding(graph, factors):
    X = BLOBS.astype(np.float32)
    bank = recipe("released-7").fit(BLOBS)
    kernel = LocalKernel.fixed_on(X, bank.kernels, np.full(7, 1 / 7))
    rule = GraphRule(graph, 0.1, 10)
    woven, index = weave_local((X,), LocalConsensus((kernel,)), rule, n_candidates=149, join=True, seed=0)
    (expected,) = one_graph(bank.grams(BLOBS).mean(axis=0), rule.perturbed(*factors)).graphs
    found = perturbed((X,), woven, index, factors)
    assert_allclose(found.toarray(), expected.toarray(), atol=1e-3 * expected.max())


def test_kernels_whose_diagonal_differs_give_the_same_graph_too():
    dense, local = models("both", kernels=[Linear(), Gaussian(t=0.5)])
    assert_allclose(local.graph_.toarray(), dense.graph_.toarray(), atol=1e-3 * dense.graph_.max())
