"""The solver "dense": its graph, its rows for new samples, the consensus kernel, perturbed members."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_blobs

from kernelweave import Views, WeaveClassifier, WeaveClustering
from kernelweave.core.graphs.affinity import Affinity, GraphRule, KernelAffinities, join_pieces, ridge_affinity
from kernelweave.errors import InvalidInputError, NotFiniteError
from kernelweave.kernels import recipe
from kernelweave.weave.consensus_kernel import given_weights, kernel_attributes
from kernelweave.weave.dense import weave_kernel
from kernelweave.weave.ensemble import draw_members

X, Y = make_blobs(90, n_features=4, centers=3, cluster_std=2.0, random_state=0)
NEW = X[:5] + 0.3
KINDS = ["ridge", "knn", "both"]


@pytest.fixture(scope="module")
def K():
    return recipe("released-7").fit_grams(X).mean(axis=0)


@pytest.mark.parametrize("graph", KINDS)
def test_the_graph_is_that_of_the_rule_joined_if_asked_for(K, graph):
    rule = GraphRule(graph, 0.1, 1)
    expected = rule.weave(KernelAffinities(K, 0.1), 90)
    loose, degrees = weave_kernel(K, rule, join=False)
    whole, _ = weave_kernel(K, rule)
    assert_array_equal(loose.toarray(), expected.graph.toarray())
    assert degrees == expected.degrees
    assert connected_components(whole)[0] == 1
    assert_array_equal(whole.toarray(), join_pieces(expected.graph, expected.last).toarray())


def test_kernels_without_a_diagonal_are_refused(K):
    with pytest.raises(InvalidInputError, match=r"trace 0, but k\(x, x\) is positive"):
        weave_kernel(np.zeros_like(K), GraphRule())


def test_a_singular_system_is_said_to_be_one():
    K = np.diag([3.0, -1.0, 1.0, 1.0])
    with pytest.raises(NotFiniteError, match=r"K \+ gamma I is singular at gamma=1: raise gamma"):
        weave_kernel(K, GraphRule("ridge", 1.0))


@pytest.mark.parametrize("graph", KINDS)
def test_a_new_row_is_that_of_the_graph_with_the_new_sample_in_it(graph):
    options = {"kernels": "released-7", "weights": "uniform", "scale": "none"}
    model = WeaveClassifier(graph=graph, solver="dense", **options).fit(X, Y)
    bank = recipe("released-7").fit(X)
    whole = bank.grams(np.vstack([X, NEW[:1]])).mean(axis=0)
    D = 2 - 2 * whole  # the diagonal is 1
    own, theirs = np.sort(D[90, :90])[6], np.sort(D[:90, :90], axis=1)[:, 7]
    affinity = {
        "ridge": Affinity(ridge_affinity(whole, gamma=0.1)[90:, :90]),
        "tuned": Affinity(np.exp(-D[90:, :90] / np.sqrt(own * theirs))),
    }
    expected = GraphRule(graph, 0.1, 10).rows(affinity.get, 90, model._graph_model.joiner.degrees)
    found = model._graph_model.rows(Views.of_table(NEW[:1]))
    assert_allclose(found.toarray(), expected.toarray(), atol=1e-9)


def test_the_consensus_of_new_samples_is_the_weighted_sum_of_their_kernels():
    model = WeaveClustering(3, kernels="released-7", scale="none", random_state=0).fit(X)
    consensus = model._graph_model.joiner.consensus
    H = recipe("released-7").fit(X).grams(NEW, X)
    assert_allclose(consensus.rows(Views.of_table(NEW)), np.tensordot(model.kernel_shares_, H, axes=1), atol=1e-12)
    assert_allclose(consensus.rows(Views.of_table(X)), consensus.matrix, atol=1e-12)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("abc", "weights must be 'self', 'uniform' or one number per kernel; got 'abc'"),
        ([1, 2], r"one number for each of the 3 kernels; got shape \(2,\)"),
        ([1, -1, 1], "must be finite, not negative and not all zero"),
        ([0, 0, 0], "must be finite, not negative and not all zero"),
        ([1, np.nan, 1], "must be finite, not negative and not all zero"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(weights, message):
    with pytest.raises(InvalidInputError, match=message):
        given_weights(weights, ("a", "b", "c"))


def test_given_weights_become_shares():
    assert_allclose(given_weights([2, 1, 1], ("a", "b", "c")), [0.5, 0.25, 0.25])


def test_a_model_of_one_view_has_one_scaling_and_one_of_several_has_one_for_each():
    names, shares = ("a", "b"), np.array([0.5, 0.5])
    assert kernel_attributes(names, ("X", "X"), shares, {"X": "unit"})["scaling_"] == "unit"
    assert kernel_attributes(names, ("u", "v"), shares, {"u": 1, "v": 2})["scaling_"] == {"u": 1, "v": 2}
    assert "scaling_" not in kernel_attributes(names, ("X", "X"), shares, {})


def test_members_perturb_weights_gamma_and_neighbours_and_keep_the_kind_of_graph():
    members = draw_members(np.array([0.7, 0.2, 0.1]), GraphRule("both", 0.1, 10), np.random.RandomState(0))
    assert len(members) == 24
    for member in members:
        assert member.shares.sum() == pytest.approx(1)
        assert member.rule.graph == "both"
        assert 0.03 <= member.rule.gamma <= 0.3
        assert 7 <= member.rule.n_neighbors <= 20
    assert len({member.seed for member in members}) == 24
    again = draw_members(np.array([0.7, 0.2, 0.1]), GraphRule("both", 0.1, 10), np.random.RandomState(0))
    assert [member.rule for member in again] == [member.rule for member in members]
