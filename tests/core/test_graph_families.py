"""Graphs of a kernel, joined, scaled and added, and the rows of new samples, against loops."""

from math import ceil

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
    RowPart,
    cut_graphs,
    kernel_sqdist,
    mean_degree,
    neighbour_scales,
    one_graph,
    ridge_affinity,
    row_blocks,
    self_tuned,
    several_cuts,
    shared_neighbours,
    top_rows,
    weighted_sum,
)
from kernelweave.core.graphs.edges import join_pieces
from kernelweave.core.graphs.new_rows import (
    Border,
    bordered_rows,
    cut_rows,
    distributions,
    graph_rows,
    harmonic_rows,
    row_sqdist,
    self_similarities,
)
from kernelweave.errors import InvalidInputError, NotFiniteError


@pytest.fixture
def K(rng):
    X = rng.normal(size=(60, 3))
    return np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))


def naive_graph(Z, k):
    """Return (C + C')/2, C the k largest positive entries of every row."""
    C = np.zeros_like(Z)
    for i, row in enumerate(Z):
        for j in sorted(range(len(row)), key=lambda j: -row[j])[:k]:
            C[i, j] = max(row[j], 0)
    return (C + C.T) / 2


def tuned(K):
    D = kernel_sqdist(K)
    scale = np.array([np.sort(row[np.isfinite(row)])[6] for row in D])
    return np.exp(-D / np.sqrt(np.outer(scale, scale)))


def test_each_kind_of_affinity_has_its_graphs_and_the_rows_of_fifteen_neighbours(K):
    ridge, near = several_cuts(K, ("ridge", "tuned"), 0.1)
    Z = ridge_affinity(K, gamma=0.1)
    plain = {k: naive_graph(Z, k) for k in (10, 15, 30)}
    assert len(ridge.graphs) == 4
    assert_allclose(ridge.graphs[0].toarray(), plain[10], atol=1e-12)
    assert_allclose(ridge.graphs[1].toarray(), plain[15], atol=1e-12)
    for S, k in zip(ridge.graphs[2:], (10, 30), strict=True):
        assert_allclose(S.toarray(), shared_neighbours(sparse.csr_array(plain[k])).toarray(), atol=1e-9)
    assert ridge.parts == (RowPart("ridge", 15, 1.0),)
    assert ridge.degree == pytest.approx(plain[15].sum() / 60)
    assert [k for k in (5, 15) if connected_components(sparse.csr_array(naive_graph(tuned(K), k)))[0] > 1] == []
    for S, k in zip(near.graphs, (5, 15), strict=True):
        assert_allclose(S.toarray(), naive_graph(tuned(K), k), atol=1e-12)
    assert near.parts == (RowPart("tuned", 15, 1.0),)
    assert near.degree == pytest.approx(naive_graph(tuned(K), 15).sum() / 60)


@pytest.mark.parametrize("graph", ["ridge", "knn", "both"])
def test_one_graph_is_that_of_the_rule_with_the_weights_of_its_parts(K, graph):
    rule = GraphRule(graph, gamma=0.2, n_neighbors=5)
    family = one_graph(K, rule)
    Z, T = ridge_affinity(K, gamma=0.2), tuned(K)
    ridge, near = naive_graph(Z, 10 if graph == "both" else 5), naive_graph(T, ceil(5 / 2) if graph == "both" else 5)
    degrees = ridge.sum() / 60, near.sum() / 60
    expected = {"ridge": ridge, "knn": near, "both": ridge / degrees[0] + near / degrees[1]}[graph]
    (S,) = family.graphs
    within = expected > 0
    assert_allclose(S.toarray()[within], expected[within], rtol=1e-9)
    assert connected_components(S)[0] == 1
    assert family.degree == pytest.approx(S.sum() / 60)
    parts = {
        "ridge": (RowPart("ridge", 5, 1.0),),
        "knn": (RowPart("tuned", 5, 1.0),),
        "both": (RowPart("ridge", 10, 1 / degrees[0]), RowPart("tuned", 3, 1 / degrees[1])),
    }[graph]
    assert [(part.kind, part.k) for part in family.parts] == [(part.kind, part.k) for part in parts]
    assert_allclose([part.weight for part in family.parts], [part.weight for part in parts])


def test_a_graph_in_pieces_is_left_in_pieces_if_asked():
    K = np.kron(np.eye(2), np.ones((12, 12))) + 0.01 * np.eye(24)
    rule = GraphRule("ridge", n_neighbors=3)
    assert connected_components(one_graph(K, rule, join=False).graphs[0])[0] > 1
    assert connected_components(one_graph(K, rule).graphs[0])[0] == 1


def test_rules_keep_ten_ridge_affinities_at_a_tenth_of_the_mean_diagonal_unless_told(K):
    assert GraphRule() == GraphRule("ridge", 0.1, 10)
    assert GraphRule("ridge", 0.2, 10).perturbed(0.5, 1.26) == GraphRule("ridge", 0.1, 13)
    assert GraphRule("knn", 1.0, 2).perturbed(1.0, 0.1).n_neighbors == 1


def test_the_ridge_is_relative_to_the_mean_diagonal(K):
    g = 0.3 * K.diagonal().mean()
    Z = np.eye(60) - g * np.linalg.inv(K + g * np.eye(60))
    np.fill_diagonal(Z, 0)
    assert_allclose(ridge_affinity(K, gamma=0.3), Z, atol=1e-10)
    assert_allclose(KernelAffinities(K, 0.3)("ridge").values, Z, atol=1e-10)
    assert_allclose(KernelAffinities(K, 0.3)("tuned").values, tuned(K), atol=1e-12)


@pytest.mark.parametrize("K", [np.zeros((4, 4)), -np.eye(4), np.diag([1.0, -1.0, 0.0, 0.0])])
def test_kernels_without_a_positive_trace_have_no_affinities(K):
    with pytest.raises(InvalidInputError, match="add up to a matrix with trace"):
        KernelAffinities(K, 0.1)("ridge")


def test_a_singular_ridge_is_refused():
    with pytest.raises(NotFiniteError, match=r"is singular at gamma=0\.5"):
        KernelAffinities(np.diag([5.0, -1.0]), 0.5)("ridge")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_mean_degree_is_one_for_a_graph_without_edges_worth_the_name(dtype):
    tiny = np.finfo(dtype).tiny
    S = sparse.csr_array(np.array([[0, 3, 0], [3, 0, 1], [0, 1, 0]], dtype=dtype))
    assert mean_degree(S) == pytest.approx(8 / 3)
    assert mean_degree(sparse.csr_array((3, 3), dtype=dtype)) == 1
    assert mean_degree(S * dtype(0)) == 1
    assert mean_degree(sparse.csr_array(np.diag([tiny, tiny]).astype(dtype))) == 1


def test_graphs_are_added_by_weight_over_mean_degree(rng):
    graphs = [sparse.csr_array(np.round(rng.random((6, 6)), 2)) for _ in range(3)]
    w = np.array([0.5, 0.0, 2.0])
    expected = sum(wi * S.toarray() / (S.sum() / 6) for wi, S in zip(w, graphs, strict=True))
    total = weighted_sum(tuple(graphs), w)
    assert_allclose(total.toarray(), expected)
    assert total.has_sorted_indices
    assert weighted_sum((graphs[0],), np.array([7.0])) is graphs[0]
    none = weighted_sum(tuple(graphs), np.zeros(3))
    assert none.nnz == 0


def naive_join(S, Z):
    """Add to every piece but the largest its best edge outside, at the median weight, until there is one piece."""
    S = S.copy()
    while True:
        count, piece = connected_components(sparse.csr_array(S))
        if count == 1:
            return S
        weight = np.median(S[S != 0]) if S.any() else 1.0
        largest = np.bincount(piece).argmax()
        new = np.zeros_like(S)
        for p in range(count):
            if p != largest:
                inside, outside = np.flatnonzero(piece == p), np.flatnonzero(piece != p)
                i, j = max(((i, j) for i in inside for j in outside), key=lambda pair: (Z[pair], -pair[0], -pair[1]))
                new[i, j] = new[j, i] = weight
        S = np.maximum(S, new)


@pytest.mark.parametrize("seed", range(5))
def test_pieces_are_joined_by_their_best_edges_round_after_round(seed):
    rng = np.random.default_rng(seed)
    Z = rng.random((30, 30))
    Z = (Z + Z.T) / 2
    S = np.zeros((30, 30))
    for i in range(28):
        if i % 3 < 2 and i // 3 != 5:
            S[i, i + 1] = S[i + 1, i] = rng.random()
    assert_allclose(join_pieces(sparse.csr_array(S), Affinity(Z)).toarray(), naive_join(S, Z))
    assert_allclose(join_pieces(sparse.csr_array((30, 30)), Affinity(Z)).toarray(), naive_join(0 * S, Z))
    order = np.argsort(rng.random((30, 30)), axis=1)
    candidates = Affinity(np.take_along_axis(Z, order, axis=1), order)
    assert_allclose(join_pieces(sparse.csr_array(S), candidates).toarray(), naive_join(S, Z))


def test_a_piece_without_candidates_is_tied_to_the_first_sample_of_the_largest_at_a_hundredth():
    S = np.zeros((7, 7))
    for i, j, w in ((2, 3, 1.0), (3, 4, 3.0), (4, 5, 5.0), (0, 1, 7.0)):
        S[i, j] = S[j, i] = w
    columns = np.array([[1], [0], [3], [2], [3], [4], [4]])
    found = join_pieces(sparse.csr_array(S), Affinity(np.ones((7, 1)), columns)).toarray()
    assert found[0, 2] == found[2, 0] == pytest.approx(0.04)  # the median weight is 4
    assert found[6, 4] == found[4, 6] == 4
    assert np.count_nonzero(found) == np.count_nonzero(S) + 4


def test_cuts_of_candidates_stand_in_their_columns_and_shared_cuts_are_joined():
    rng = np.random.default_rng(0)
    Z = rng.random((20, 20))
    np.fill_diagonal(Z, 0)
    plain, shared = cut_graphs(Affinity(Z), [Cut(4), Cut(6, shared=True)], 20)
    assert_allclose(plain.toarray(), join_pieces(sparse.csr_array(naive_graph(Z, 4)), Affinity(Z)).toarray())
    six = shared_neighbours(sparse.csr_array(naive_graph(Z, 6)))
    assert_allclose(shared.toarray(), join_pieces(six, Affinity(Z)).toarray(), rtol=1e-6)
    assert not Cut(3).shared


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shared_neighbours_are_counted_sample_by_sample(dtype):
    rng = np.random.default_rng(1)
    A = np.triu(rng.random((9, 9)) < 0.4, 1)
    S = ((A | A.T) * (1 + np.add.outer(np.arange(9), np.arange(9)))).astype(dtype)
    N = [set(np.flatnonzero(row)) | {i} for i, row in enumerate(S)]
    expected = [[S[i, j] * len(N[i] & N[j]) / len(N[i] | N[j]) for j in range(9)] for i in range(9)]
    found = shared_neighbours(sparse.csr_array(S))
    assert found.dtype == dtype
    assert_allclose(found.toarray(), expected, rtol=1e-6)


def test_equal_columns_are_ranked_by_position_and_others_by_norm():
    Z = np.array([[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]], dtype=float)
    woven = GraphRule("ridge", n_neighbors=1).weave(lambda kind: Affinity(Z), 4)
    C = woven.graph.toarray()
    assert C[0, 1] > 0  # of the equal columns 1, 2 and 3 the first is preferred
    assert C[0, 2] == C[0, 3] == 0
    heavy = Z.copy()
    heavy[1:, 2] = heavy[2, 1:] = [9, 0, 9]
    assert GraphRule("ridge", n_neighbors=1).weave(lambda kind: Affinity(heavy), 4).graph[0, 1] > 0


@pytest.mark.parametrize(("n", "ends"), [(0, []), (1, [1]), (256, [256]), (257, [256, 257]), (600, [256, 512, 600])])
def test_blocks_of_rows_cover_all_rows_once(n, ends):
    assert [(part.start, part.stop) for part in row_blocks(n)] == list(zip([0, *ends], ends, strict=False))


def test_a_sample_with_many_copies_is_similar_to_these_alone():
    D = np.array([[np.inf, 0.0, 1.0], [0.0, np.inf, 1.0], [1.0, 1.0, np.inf]])
    found = self_tuned(D.copy(), np.zeros(3), np.zeros(3))
    assert_array_equal(found, [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert_allclose(self_tuned(np.array([[2.0]]), np.array([4.0]), np.array([9.0])), np.exp(-2 / 6))


def test_scales_are_the_seventh_smallest_or_the_last_there_is():
    D = np.random.default_rng(0).random((300, 12))
    assert_array_equal(neighbour_scales(D, 12), np.sort(D, axis=1)[:, 6])
    assert_array_equal(neighbour_scales(D[:, :4], 4), D[:, :4].max(axis=1))
    assert_array_equal(neighbour_scales(D[:, :7], 7), D[:, :7].max(axis=1))
    assert_array_equal(neighbour_scales(D[:, :8], 8), np.sort(D[:, :8], axis=1)[:, 6])


# new samples


@pytest.fixture
def border(K):
    g = 0.1 * K.diagonal().mean()
    scales = neighbour_scales(kernel_sqdist(K), 59)
    return Border(np.linalg.inv(K + g * np.eye(60)), g, K.diagonal(), scales)


@pytest.mark.parametrize("n_new", [1, 300])
def test_rows_are_cut_and_weighted_kind_by_kind(border, n_new):
    rng = np.random.default_rng(0)
    K_x = rng.random((n_new, 60))
    A, g, diagonal, scales = border
    K_xx = self_similarities(K_x @ A, K_x, diagonal)
    Z = bordered_rows(K_x @ A, K_x, K_xx, g=g)
    D = row_sqdist(K_x, K_xx, diagonal)
    T = self_tuned(D.copy(), neighbour_scales(D, 60), scales)
    ridge, near = RowPart("ridge", 6, 2.0), RowPart("tuned", 4, 0.5)
    expected = {part: part.weight * top_rows(Affinity(M), part.k, 60).toarray() for part, M in ((ridge, Z), (near, T))}
    assert_allclose(cut_rows(K_x, border, (ridge,)).toarray(), expected[ridge])
    assert_allclose(cut_rows(K_x, border, (near,)).toarray(), expected[near], rtol=1e-9)
    assert_allclose(cut_rows(K_x, border, (ridge, near)).toarray(), expected[ridge] + expected[near], rtol=1e-9)
    assert_array_equal(np.diff(cut_rows(K_x, border, (near,)).indptr), 4)


def test_a_schur_complement_is_at_least_rounding():
    eps = np.finfo(float).eps
    AK, K_x = np.array([[2.0, 1.0]]), np.array([[1.0, 1.0]])
    assert_allclose(bordered_rows(AK, K_x, np.array([4.0]), g=0.5), AK * 0.5 / 1.5)
    assert_allclose(bordered_rows(AK, K_x, np.array([1.0]), g=0.5), AK / eps)
    assert_allclose(bordered_rows(AK, K_x, np.array([2.5]), g=0.5), AK / eps)


def test_self_similarities_are_the_common_one_or_the_mean_over_neighbours():
    A = np.eye(3)
    K_x = np.array([[0.5, 0.25, -1.0], [-1.0, -2.0, -3.0]])
    assert_array_equal(self_similarities(K_x, K_x, np.full(3, 2.0)), [2, 2])
    diagonal = np.array([2.0, 4.0, 9.0])
    found = self_similarities(K_x @ A, K_x, diagonal)
    mean = (0.5 * 2 + 0.25 * 4) / 0.75
    assert_allclose(found, [max(mean, 1.3125), max(5.0, 14.0)])
    near = np.array([1.0, 1 + 1e-9, 1.0])
    assert_array_equal(self_similarities(K_x, K_x, near), near.mean())
    negative = np.array([-1.0, -1.0, -1.0])
    assert_array_equal(self_similarities(K_x, K_x, negative), -1)


def test_distances_to_new_samples_are_not_negative():
    assert_array_equal(row_sqdist(np.array([[1.0, 3.0]]), np.array([2.0]), np.array([1.0, 3.0])), [[1.0, 0.0]])


def test_rows_of_the_problem_take_five_rounds(border, K):
    rng = np.random.default_rng(0)
    P, K_x, alpha = np.linalg.qr(rng.normal(size=(60, 3)))[0], K[:4] + 0.01 * rng.random((4, 60)), 0.7
    S = np.maximum(K_x @ border.A, 0)
    assert_array_equal(graph_rows(border.A, K_x, P, alpha=0), S)
    for _ in range(5):
        P_x = S @ P / S.sum(axis=1, keepdims=True)
        G = ((P_x[:, None] - P) ** 2).sum(axis=2)
        S = np.maximum((K_x - alpha / 4 * G) @ border.A, 0)
    assert_allclose(graph_rows(border.A, K_x, P, alpha=alpha), S, atol=1e-9)
    single = graph_rows(border.A.astype(np.float32), K_x.astype(np.float32), P.astype(np.float32), alpha=alpha)
    assert single.dtype == np.float32


def test_rows_become_distributions_in_place_and_empty_ones_uniform():
    F = np.array([[1.0, 3.0], [0.0, 0.0], [2.0, 0.0]])
    found, empty = distributions(F)
    assert found is F
    assert_allclose(F, [[0.25, 0.75], [0.5, 0.5], [1, 0]])
    assert_array_equal(empty, [False, True, False])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_scores_become_distributions_however_small_they_are(dtype):
    F = np.array([[1, 3], [0, 0], [2, 0]], dtype=dtype) * np.finfo(dtype).tiny
    found, empty = distributions(F, 2.0)
    assert_allclose(found, [[0.1, 0.9], [0.5, 0.5], [1, 0]])
    assert_array_equal(empty, [False, True, False])


def test_means_over_neighbours_need_one():
    for form in (np.asarray, sparse.csr_array):
        means, reached = harmonic_rows(form(np.array([[1.0, 3.0], [0.0, 0.0]])), np.array([[1.0], [5.0]]))
        assert_allclose(means, [[4], [0]])
        assert_array_equal(reached, [True, False])


@pytest.mark.parametrize(("dtype", "tie"), [(np.float64, 1e-7), (np.float32, 1e-5)])
def test_affinities_that_differ_by_more_than_a_tie_are_ranked_by_their_size(dtype, tie):
    for apart, first in ((3 * tie, False), (0.1 * tie, True)):
        Z = np.array([[0, 1, 1 + apart, 0], [1, 0, 2, 2], [1 + apart, 2, 0, 2], [0, 2, 2, 0]], dtype=dtype)
        C = GraphRule("ridge", n_neighbors=1).weave(lambda kind, Z=Z: Affinity(Z), 4).graph
        assert (C[0, 1] > 0) == first
        assert (C[0, 2] > 0) != first


@pytest.mark.parametrize(("dtype", "digit"), [(np.float64, 1e-9), (np.float32, 1e-5)])
def test_norms_that_are_equal_in_their_first_digits_are_ranked_by_position(dtype, digit):
    for less, first in ((0.2 * digit, True), (3 * digit, False)):  # of the squared norm of column 2
        Z = np.array([[0, 1, 1, 0], [1, 0, 2, 2], [1, 2, 0, 2], [0, 2, 2 * (1 - 9 / 8 * less), 0]], dtype=dtype)
        C = top_rows(Affinity(Z), 1, 4)
        assert C[0, 1] == 1
        woven = GraphRule("ridge", n_neighbors=1).weave(lambda kind, Z=Z: Affinity(Z), 4).graph
        assert (woven[0, 1] > 0) == first
