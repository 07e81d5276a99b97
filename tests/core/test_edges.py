"""The strongest edges of a dense graph."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelweave.core.graphs.edges import strongest_edges


@pytest.fixture
def S(rng):
    """Return a symmetric positive graph of 30 samples in three groups, with weak edges between the groups."""
    group = np.arange(30) // 10
    S = rng.uniform(0.5, 1, size=(30, 30)) * np.where(group[:, None] == group, 1, 1e-3)
    return (S + S.T) / 2


def pieces(W):
    return connected_components(sparse.csr_array(W), directed=False)[1]


def test_every_edge_has_its_weight_in_the_graph_or_half_of_it(S):
    W = strongest_edges(S, 4)
    edges = (W > 0) & ~np.eye(30, dtype=bool)
    share = W[edges] / S[edges]
    assert_array_equal(W, W.T)
    assert np.minimum(abs(share - 0.5), abs(share - 1)).max() < 1e-12
    assert_array_equal(W.diagonal(), S.diagonal())


def test_every_row_keeps_its_largest_cosines(S):
    np.fill_diagonal(S, np.linspace(1, 3, 30))
    W = strongest_edges(S, 4)
    cosines = S / np.sqrt(S.diagonal()) - 10 * np.eye(30)
    for row, kept in zip(cosines, W, strict=True):
        assert (kept[np.argsort(row)[-4:]] > 0).all()


def test_neighbours_in_a_nearly_constant_kernel_are_the_nearest_samples(rng):
    X = rng.normal(size=(30, 2))
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    W = strongest_edges(np.exp(-1e-6 * D) / 30 + 1e-8 * X @ X.T, 3)
    D[np.diag_indices(30)] = np.inf
    assert (np.take_along_axis(W, D.argsort(axis=1)[:, :3], axis=1) > 0).all()


def test_a_sample_without_edges_has_none_afterwards(S):
    S[3] = S[:, 3] = 0
    W = strongest_edges(S, 4)
    assert not W[3].any()
    assert np.isfinite(W).all()


def test_groups_that_only_weak_edges_join_stay_joined_by_the_largest_of_them(S):
    W = strongest_edges(S, 4)
    group = np.arange(30) // 10
    between = group[:, None] != group
    assert pieces(W).max() == 0
    assert 2 <= np.count_nonzero(W[between]) / 2 <= 3
    assert_allclose(W[between].max(), S[between].max())


def test_parts_of_the_graph_stay_apart(S):
    group = np.arange(30) // 10
    S = np.where(group[:, None] == group, S, 0)
    assert_array_equal(pieces(strongest_edges(S, 4)), group)


def test_more_neighbours_than_samples_keep_the_whole_graph(S):
    assert_allclose(strongest_edges(S, 40), S, rtol=1e-14)
    assert_allclose(strongest_edges(S, 29), S, rtol=1e-14)


def test_copies_of_a_sample_have_the_same_edges(S):
    twice = np.r_[np.arange(30), 7]
    W = strongest_edges(S[np.ix_(twice, twice)], 4)
    others = np.delete(np.arange(30), 7)
    assert_allclose(W[7, others], W[30, others], rtol=1e-12)


@pytest.fixture
def binary(rng):
    """Return the share of equal features of 60 samples with 12 features of 0 or 1 and 20 copies, in random order."""
    X = rng.integers(0, 2, size=(60, 12))
    X = np.concatenate([X, X[:20]])[rng.permutation(80)]
    S = (X[:, None] == X).mean(axis=2) ** 4
    assert len(np.unique(S)) < 13
    return S


@pytest.fixture
def chain():
    """Return three groups of five copies each, joined by equal weak edges."""
    group = np.arange(15) // 5
    return np.array([1, 1e-3, 0])[abs(group[:, None] - group)]


@pytest.mark.parametrize("table", ["binary", "chain"])
@pytest.mark.parametrize(("dtype", "noise"), [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_rounding_does_not_choose_the_edges(request, rng, table, dtype, noise):
    S = request.getfixturevalue(table)
    E = noise * rng.normal(size=S.shape)
    kept = strongest_edges(S, 4)
    assert_array_equal(strongest_edges((S * (1 + E + E.T)).astype(dtype), 4) > 0, kept > 0)


@pytest.mark.parametrize("table", ["binary", "chain"])
def test_the_edges_do_not_depend_on_the_order_of_the_samples(request, rng, table):
    S = request.getfixturevalue(table)
    order = rng.permutation(len(S))
    W = strongest_edges(S, 4)
    assert_array_equal(strongest_edges(S[np.ix_(order, order)], 4), W[np.ix_(order, order)])
