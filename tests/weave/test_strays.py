"""Pieces of a graph: small ones are tied by all their samples, large ones by one edge."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelweave import Local, WeaveClustering
from kernelweave.core.graphs.affinity import GraphRule
from kernelweave.core.graphs.edges import strays, with_copies
from kernelweave.kernels import Gaussian
from kernelweave.metrics import clustering_accuracy
from kernelweave.weave.local.local_graph import weave_local
from kernelweave.weave.local.local_kernel import LocalConsensus, LocalKernel
from kernelweave.weave.local.neighbours import nearest_outside

SIZES = (60, 50, 12, 12)


@pytest.fixture(scope="module")
def groups():
    """Two large groups, and two small ones near the first, too far apart for the neighbours of a sample."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), SIZES)
    centres = np.array([[0, 0], [60, 0], [6, 0], [0, 6]])
    return (centres[y] + rng.uniform(-1, 1, size=(len(y), 2))).astype(np.float32), y


def weave(X, least, tables=1):
    kernel = LocalKernel.fixed_on(X, (Gaussian(0.1).fit(X),), np.ones(1) / tables)
    rule, settings = GraphRule("ridge", 0.1, 6), {"n_candidates": 9, "join": True, "seed": 0}
    return weave_local((X,) * tables, LocalConsensus((kernel,) * tables), rule, least=least, **settings)[0].graph


def edges_out(S, inside):
    return S[inside][:, ~inside].nnz


def test_the_samples_of_small_pieces_are_strays_unless_theirs_is_the_largest():
    piece = np.repeat([0, 1, 2], [5, 2, 3])
    assert_array_equal(strays(piece, 3), [5, 6])
    assert_array_equal(strays(piece, 100), [5, 6, 7, 8, 9])
    assert len(strays(piece, 2)) == 0


def test_the_nearest_outside_are_those_of_a_search_among_all_others(groups):
    X, y = groups
    rows = np.flatnonzero(y >= 2)[::3]
    found = nearest_outside(X, rows, y, 4)
    D = np.linalg.norm(X[rows][:, None].astype(float) - X[None], axis=2)
    D[y[rows][:, None] == y] = np.inf
    assert_array_equal(found, np.argsort(D, axis=1)[:, :4])


def test_there_are_no_more_nearest_outside_than_samples_outside():
    found = nearest_outside(np.arange(5.0)[:, None], np.array([3, 4]), np.array([0, 0, 0, 1, 1]), 9)
    assert_array_equal(found, [[2, 1, 0], [2, 1, 0]])


@pytest.mark.parametrize("tables", [1, 2])
def test_small_pieces_are_tied_by_all_their_samples_and_large_ones_by_one_edge(groups, tables):
    X, y = groups
    loose, firm = weave(X, 0, tables), weave(X, 20, tables)
    for S in (loose, firm):
        assert connected_components(S)[0] == 1
        assert edges_out(S, y == 1) == 1
    for small in (2, 3):
        assert edges_out(loose, y == small) <= 2
        assert edges_out(firm, y == small) >= 3 * SIZES[small]


def test_small_pieces_take_no_cluster_from_large_ones():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 0, 0, 0, 1, 1], [80, 16, 16, 16, 70, 70])
    centres = np.repeat([[0, 0], [5, 0], [0, 5], [-5, 0], [40, 0], [46, 0]], [80, 16, 16, 16, 70, 70], axis=0)
    spread = np.repeat([1.0, 0.01, 0.01, 0.01, 1.5, 1.5], [80, 16, 16, 16, 70, 70])[:, None]
    X = centres + spread * rng.normal(size=(len(y), 2))
    model = WeaveClustering(2, solver=Local(15), embedding="unit", scale="none", random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_) == 1


def test_copies_that_were_left_out_are_joined_to_the_first_that_was_kept():
    S = sparse.csr_array([[0.0, 3, 1], [3, 0, 0], [1, 0, 0]])  # of the samples 0, 1 and 3 of five
    T = with_copies(S, np.array([0, 1, 3]), np.array([0, 1, 0, 2, 1])).toarray()
    assert_array_equal(T[np.ix_([0, 1, 3], [0, 1, 3])], S.toarray())
    assert_array_equal(T[2], [3, 0, 0, 0, 0])
    assert_array_equal(T[4], [0, 3, 0, 0, 0])
    assert_array_equal(T, T.T)
    assert with_copies(S, np.arange(3), np.arange(3)) is S
