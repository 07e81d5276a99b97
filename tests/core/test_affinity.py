"""The one rule for sparse graphs, and the affinities that it cuts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelweave.core.graphs.affinity import (
    Affinity,
    Cut,
    GraphRule,
    KernelAffinities,
    cut_graphs,
    kernel_sqdist,
    neighbour_scales,
    ridge_affinity,
    self_tuned,
    shared_neighbours,
    top_rows,
)
from kernelweave.core.graphs.edges import join_pieces


def cut(Z, k):
    """Return the graph of the k largest positive entries off the diagonal of every row of Z."""
    Z = Z.copy()
    np.fill_diagonal(Z, 0)
    return GraphRule("ridge", n_neighbors=k).weave(lambda kind: Affinity(Z), len(Z)).graph


def tuned(K):
    return KernelAffinities(K, 0.1)("tuned").values


def test_ridge_affinities_are_kernel_ridge_of_every_sample_on_all_others(small):
    gamma = 0.3
    g = gamma * small.K.trace() / small.n
    expected = np.linalg.solve(small.K + g * np.eye(small.n), small.K)
    np.fill_diagonal(expected, 0)
    assert_allclose(ridge_affinity(small.K, gamma=gamma), expected, atol=1e-12)


def test_ridge_affinities_do_not_change_with_the_unit_of_the_kernel(small):
    assert_allclose(ridge_affinity(1e4 * small.K, gamma=0.1), ridge_affinity(small.K, gamma=0.1), atol=1e-10)


def test_the_kernel_is_not_overwritten_by_its_affinities(small):
    K = small.K.copy()
    for kind in ("ridge", "tuned"):
        KernelAffinities(small.K, 0.1)(kind)
    assert_array_equal(small.K, K)


@pytest.mark.parametrize("n", [5, 20])
def test_self_tuned_affinities_are_gaussians_in_units_of_both_samples_scales(rng, n):
    X = rng.normal(size=(n, 3))
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    s = np.sqrt(np.sort(D, axis=1)[:, min(7, n - 1)])  # the first is the sample itself
    expected = np.exp(-D / np.outer(s, s))
    np.fill_diagonal(expected, 0)
    assert_allclose(tuned(X @ X.T), expected, atol=1e-9)


def test_scales_are_squared_distances_to_the_seventh_neighbour_or_the_last(rng):
    D = rng.uniform(size=(300, 12))
    assert_array_equal(neighbour_scales(D, 12), np.sort(D, axis=1)[:, 6])
    assert_array_equal(neighbour_scales(D[:, :4], 4), D[:, :4].max(axis=1))


def test_a_row_keeps_its_largest_positive_entries_and_the_graph_is_symmetric(rng):
    Z = rng.normal(size=(40, 40))
    S = cut(Z, 5).toarray()
    A = np.zeros_like(Z)
    for i, row in enumerate(Z):
        others = np.delete(np.arange(40), i)
        for j in others[np.argsort(row[others])[-5:]]:
            A[i, j] = max(row[j], 0)
    assert_allclose(S, (A + A.T) / 2)


def test_rows_keep_their_largest_positive_entries():
    Z = np.array([[0.1, 0.5, -1.0, 0.3], [-1.0, -2.0, 0.2, -0.1]])
    assert_allclose(top_rows(Affinity(Z), 2, 4).toarray(), [[0, 0.5, 0, 0.3], [0, 0, 0.2, 0]])


def test_entries_that_are_not_positive_are_not_stored():
    C = top_rows(Affinity(np.array([[3.0, -1, 0], [0, 0, -2], [1, 2, 0]])), 2, 3)
    assert_array_equal(C.data, [3, 2, 1])
    assert_array_equal(np.diff(C.indptr), [1, 0, 2])


def test_entries_of_candidates_stand_in_their_columns():
    values, columns = np.array([[0.1, 0.5, 0.3], [0.2, -1.0, 0.4]]), np.array([[4, 0, 2], [3, 1, 0]])
    found = top_rows(Affinity(values, columns), 2, 5).toarray()
    assert_allclose(found, [[0.5, 0, 0.3, 0, 0], [0.4, 0, 0, 0.2, 0]])


@pytest.mark.parametrize("k", [3, 299, 1000])
def test_rows_in_several_blocks_are_cut_like_rows_in_one(rng, k):
    Z = rng.uniform(size=(300, 300))
    Z = Z + Z.T
    order = rng.permutation(300)
    S = cut(Z, k).toarray()
    assert_array_equal(cut(Z[np.ix_(order, order)], k).toarray(), S[np.ix_(order, order)])
    assert (S.diagonal() == 0).all()


def test_of_several_copies_of_a_sample_every_row_keeps_the_same_ones(rng):
    X = rng.normal(size=(80, 4))
    copies = np.arange(40, 80)
    X[copies] = X[copies - 40]
    S = cut(tuned(X @ X.T), 6)
    noisy = tuned(X @ X.T) * (1 + 1e-13 * rng.normal(size=(80, 80)))
    assert_array_equal(cut(noisy, 6).indices, S.indices)
    order = rng.permutation(80)
    there = cut(tuned(X[order] @ X[order].T), 6)
    assert_allclose(np.linalg.eigvalsh(there.toarray()), np.linalg.eigvalsh(S.toarray()), atol=1e-10)


def test_a_graph_without_positive_entries_has_no_edges():
    assert cut(-np.ones((5, 5)), 2).nnz == 0


def test_pieces_are_joined_by_their_best_tie_and_edges_within_them_stay(rng):
    Z = 0.01 * rng.uniform(size=(30, 30))
    Z = Z + Z.T
    for block in (slice(0, 12), slice(12, 20), slice(20, 30)):
        Z[block, block] += 1
    Z[3, 15] = Z[15, 3] = Z[17, 25] = Z[25, 17] = 0.5
    S = cut(Z, 3)
    joined = join_pieces(S, Affinity(Z))
    assert connected_components(S)[0] == 3
    assert connected_components(joined)[0] == 1
    new = joined.toarray() - S.toarray()
    assert set(zip(*np.nonzero(new), strict=True)) == {(3, 15), (15, 3), (17, 25), (25, 17)}
    assert_allclose(new[new != 0], np.median(S.data))


def test_pieces_are_joined_by_candidates_as_by_all_pairs(rng):
    Z = rng.uniform(size=(300, 300))
    Z = Z + Z.T
    others = np.array([np.delete(np.arange(300), i) for i in range(300)])
    S = sparse.csr_array(sparse.block_diag([np.ones((k, k)) - np.eye(k) for k in (10, 280, 7, 3)]))
    expected = join_pieces(S, Affinity(Z))
    assert connected_components(expected)[0] == 1
    found = join_pieces(S, Affinity(np.take_along_axis(Z, others, axis=1), others))
    assert_array_equal(found.toarray(), expected.toarray())


def test_a_piece_without_candidates_outside_is_tied_to_the_largest_by_a_weak_edge():
    S = sparse.csr_array(sparse.block_diag([4 * (np.ones((k, k)) - np.eye(k)) for k in (3, 2)]))
    near = np.array([[1], [0], [0], [4], [3]])
    joined = join_pieces(S, Affinity(np.ones((5, 1)), near)).toarray()
    assert set(zip(*np.nonzero(joined - S.toarray()), strict=True)) == {(3, 0), (0, 3)}
    assert joined[3, 0] == pytest.approx(0.04)


def test_the_order_of_the_samples_does_not_choose_between_equal_edges_out_of_a_piece(rng):
    X = np.array([[0.0, 0], [1, 0], [0, 1], [5, 0], [5, 1], [0, 6]])  # two pairs and single samples at equal distances
    D = np.abs(X[:, None] - X).sum(axis=2)
    Z = np.exp(-D) - np.eye(6)
    S = sparse.csr_array((np.exp(-1.5) < Z) * Z)
    expected = join_pieces(S, Affinity(Z).preferring()).toarray()
    for _ in range(20):
        order = rng.permutation(6)
        moved = np.ix_(order, order)
        found = join_pieces(sparse.csr_array(S.toarray()[moved]), Affinity(Z[moved]).preferring())
        assert_array_equal(found.toarray(), expected[moved])


def test_a_graph_in_one_piece_is_left_alone(rng):
    Z = rng.uniform(size=(20, 20))
    S = cut(Z, 10)
    assert_array_equal(join_pieces(S, Affinity(Z)).toarray(), S.toarray())


def test_samples_without_any_edge_are_joined_too():
    Z = -np.ones((4, 4)) - np.arange(4)
    assert connected_components(join_pieces(cut(Z, 2), Affinity(Z)))[0] == 1


def test_copies_of_a_sample_are_alike_and_nothing_is_nan(rng):
    X = np.vstack([np.zeros((9, 3)), rng.normal(size=(5, 3))])
    Z = tuned(X @ X.T)
    assert np.isfinite(Z).all()
    assert_allclose(Z[:9, :9], 1 - np.eye(9))


def test_the_indices_of_a_graph_are_short_as_scikit_learn_asks(rng):
    Z = np.abs(rng.normal(size=(20, 20)))
    assert join_pieces(cut(Z, 1), Affinity(Z)).indices.dtype == np.int32


# the rule


@pytest.mark.parametrize(
    ("graph", "kept"),
    [("ridge", {"ridge": 5}), ("knn", {"tuned": 5}), ("both", {"ridge": 10, "tuned": 3})],
)
def test_a_rule_says_how_many_entries_of_each_kind_a_row_keeps(graph, kept):
    assert GraphRule(graph, n_neighbors=5).kept == kept


def test_a_perturbed_rule_keeps_its_kind_and_at_least_one_neighbour():
    assert GraphRule("knn", 0.2, 10).perturbed(2.0, 1.4) == GraphRule("knn", 0.4, 14)
    assert GraphRule("both", 0.2, 1).perturbed(0.5, 0.1).n_neighbors == 1


def test_both_is_the_sum_of_the_two_graphs_each_with_mean_degree_one(small):
    near = KernelAffinities(small.K, 0.1)
    both = GraphRule("both", 0.1, 4).weave(near, small.n)
    parts = GraphRule("ridge", 0.1, 8).weave(near, small.n), GraphRule("knn", 0.1, 2).weave(near, small.n)
    assert_allclose(both.degrees, [part.graph.sum() / small.n for part in parts])
    expected = sum(part.graph.toarray() * small.n / part.graph.sum() for part in parts)
    assert_allclose(both.graph.toarray(), expected, atol=1e-12)
    assert both.graph.sum() / small.n == pytest.approx(2)


def test_rows_of_new_samples_have_the_proportions_of_the_graph(small):
    rule, near = GraphRule("both", 0.1, 4), KernelAffinities(small.K, 0.1)
    degrees = rule.weave(near, small.n).degrees
    rows = rule.rows(near, small.n, degrees).toarray()
    ridge, similar = (top_rows(near(kind), k, small.n).toarray() for kind, k in rule.kept.items())
    assert_allclose(rows, ridge / degrees[0] + similar / degrees[1], atol=1e-12)


@pytest.mark.parametrize("graph", ["ridge", "knn", "both"])
def test_a_graph_does_not_depend_on_whether_all_pairs_or_all_others_are_given(small, graph):
    rule, near = GraphRule(graph, 0.1, 4), KernelAffinities(small.K, 0.1)
    others = np.array([np.delete(np.arange(small.n), i) for i in range(small.n)])

    def listed(kind):
        return Affinity(np.take_along_axis(near(kind).values, others, axis=1), others)

    here, there = rule.weave(near, small.n), rule.weave(listed, small.n)
    assert_allclose(there.graph.toarray(), here.graph.toarray(), atol=1e-12)
    assert_allclose(there.degrees, here.degrees, rtol=1e-12)


def test_single_precision_stays_in_it(small):
    near = KernelAffinities(small.K.astype(np.float32), 0.1)
    for graph in ("ridge", "knn"):
        assert GraphRule(graph).weave(near, small.n).graph.dtype == np.float32


def test_squared_distances_of_a_kernel_are_those_of_the_samples_and_infinite_to_themselves(rng):
    X = rng.normal(size=(8, 3))
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    assert_allclose(kernel_sqdist(X @ X.T), D, atol=1e-12)


def test_self_tuned_similarities_are_written_into_the_distances(rng):
    D = rng.uniform(size=(4, 5))
    expected = np.exp(-D / np.sqrt(np.outer(np.arange(1, 5), np.arange(1, 6))))
    found = self_tuned(D, np.arange(1.0, 5), np.arange(1.0, 6))
    assert_allclose(found, expected)
    assert np.shares_memory(found, D)


# several graphs of the same affinities


def jaccard(S):
    """Return S with every weight multiplied by the Jaccard index of the two neighbourhoods, by sets."""
    around = [set(np.flatnonzero(row)) | {i} for i, row in enumerate(S)]
    index = [[len(a & b) / len(a | b) for b in around] for a in around]
    return S * np.array(index)


@pytest.fixture
def affinities(rng):
    X = rng.normal(size=(40, 3))
    return KernelAffinities(X @ X.T + np.eye(40), 0.1)


@pytest.mark.parametrize("kind", ["ridge", "tuned"])
def test_shared_neighbours_weigh_an_edge_by_the_jaccard_index_of_both_sides(affinities, kind):
    S = sparse.csr_array(cut(affinities(kind).values, 6))
    found = shared_neighbours(S)
    assert_allclose(found.toarray(), jaccard(S.toarray()), rtol=1e-6)
    assert_array_equal(found.indptr, S.indptr)
    assert found.dtype == S.dtype
    assert shared_neighbours(S.astype(np.float32)).dtype == np.float32
    assert abs(found - found.T).max() < 1e-12


def test_two_samples_with_the_same_neighbours_keep_their_weight_and_others_lose_some():
    triangle = np.zeros((4, 4))
    triangle[:3, :3] = 1 - np.eye(3)
    triangle[2, 3] = triangle[3, 2] = 1
    found = shared_neighbours(sparse.csr_array(triangle)).toarray()
    assert found[0, 1] == 1  # both have the neighbourhood {0, 1, 2}
    assert found[0, 2] == pytest.approx(3 / 4)
    assert found[2, 3] == pytest.approx(2 / 4)


@pytest.mark.parametrize("kind", ["ridge", "tuned"])
def test_every_cut_is_the_graph_of_its_own_number_of_neighbours(affinities, kind):
    cuts = [Cut(3), Cut(7), Cut(5, shared=True)]
    values = affinities(kind)
    for one, found in zip(cuts, cut_graphs(values, cuts, 40), strict=True):
        alone = cut(values.values, one.k)
        expected = jaccard(alone.toarray()) if one.shared else alone.toarray()
        whole = join_pieces(sparse.csr_array(expected), values)
        assert_allclose(found.toarray(), whole.toarray(), rtol=1e-6)
        assert connected_components(found)[0] == 1


def test_cuts_with_more_neighbours_than_samples_keep_all_of_them(affinities):
    few, many = cut_graphs(affinities("tuned"), [Cut(39), Cut(100)], 40)
    assert_array_equal(few.toarray(), many.toarray())


def test_pieces_are_joined_in_graphs_of_shared_neighbours_too():
    X = np.r_[np.zeros((6, 1)), np.full((6, 1), 50.0)] + np.linspace(0, 1, 12)[:, None]
    K = np.exp(-((X - X.T) ** 2))
    for found in cut_graphs(KernelAffinities(K, 0.1)("ridge"), [Cut(2), Cut(2, shared=True)], 12):
        assert connected_components(found)[0] == 1
        assert (found.data > 0).all()
