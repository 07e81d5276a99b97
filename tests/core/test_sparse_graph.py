import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import connected_components

from kernelweave.core.graphs.affinity import join_pieces, ridge_affinity, self_tuned_affinity, top_graph


def test_ridge_affinities_are_kernel_ridge_of_every_sample_on_all(small):
    gamma = 0.3
    g = gamma * small.K.trace() / small.n
    expected = np.linalg.solve(small.K + g * np.eye(small.n), small.K)
    assert_allclose(ridge_affinity(small.K, gamma=gamma), expected, atol=1e-12)


def test_ridge_affinities_do_not_change_with_the_unit_of_the_kernel(small):
    assert_allclose(ridge_affinity(1e4 * small.K, gamma=0.1), ridge_affinity(small.K, gamma=0.1), atol=1e-10)


def test_self_tuned_affinities_are_gaussians_in_units_of_both_samples_scales(rng):
    X = rng.normal(size=(20, 3))
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    s = np.sqrt(np.sort(D, axis=1)[:, 4])
    assert_allclose(self_tuned_affinity(X @ X.T, neighbour=4), np.exp(-D / np.outer(s, s)), atol=1e-9)


def test_a_row_keeps_its_largest_positive_entries_and_the_graph_is_symmetric(rng):
    Z = rng.normal(size=(40, 40))
    S = top_graph(Z, 5).toarray()
    A = np.zeros_like(Z)
    for i, row in enumerate(Z):
        others = np.delete(np.arange(40), i)
        for j in others[np.argsort(row[others])[-5:]]:
            A[i, j] = max(row[j], 0)
    assert_allclose(S, (A + A.T) / 2)


@pytest.mark.parametrize("k", [3, 299, 1000])
def test_rows_in_several_blocks_are_cut_like_rows_in_one(rng, k):
    Z = rng.uniform(size=(300, 300))
    Z = Z + Z.T
    order = rng.permutation(300)
    S = top_graph(Z, k).toarray()
    assert_array_equal(top_graph(Z[np.ix_(order, order)], k).toarray(), S[np.ix_(order, order)])
    assert (S.diagonal() == 0).all()


def test_of_several_copies_of_a_sample_every_row_keeps_the_same_ones(rng):
    X = rng.normal(size=(80, 4))
    copies = np.arange(40, 80)
    X[copies] = X[copies - 40]
    S = top_graph(self_tuned_affinity(X @ X.T, neighbour=7), 6)
    noisy = self_tuned_affinity(X @ X.T, neighbour=7) * (1 + 1e-13 * rng.normal(size=(80, 80)))
    assert_array_equal(top_graph(noisy, 6).indices, S.indices)
    order = rng.permutation(80)
    there = top_graph(self_tuned_affinity(X[order] @ X[order].T, neighbour=7), 6)
    assert_allclose(np.linalg.eigvalsh(there.toarray()), np.linalg.eigvalsh(S.toarray()), atol=1e-10)


def test_a_graph_without_positive_entries_has_no_edges():
    assert top_graph(-np.ones((5, 5)), 2).nnz == 0


def test_pieces_are_joined_by_their_best_tie_and_edges_within_them_stay(rng):
    Z = 0.01 * rng.uniform(size=(30, 30))
    Z = Z + Z.T
    for block in (slice(0, 12), slice(12, 20), slice(20, 30)):
        Z[block, block] += 1
    Z[3, 15] = Z[15, 3] = Z[17, 25] = Z[25, 17] = 0.5
    S = top_graph(Z, 3)
    joined = join_pieces(S, Z)
    assert connected_components(S)[0] == 3
    assert connected_components(joined)[0] == 1
    new = joined.toarray() - S.toarray()
    assert set(zip(*np.nonzero(new), strict=True)) == {(3, 15), (15, 3), (17, 25), (25, 17)}
    assert_allclose(new[new != 0], np.median(S.data))


def test_a_graph_in_one_piece_is_left_alone(rng):
    Z = rng.uniform(size=(20, 20))
    S = top_graph(Z, 10)
    assert_array_equal(join_pieces(S, Z).toarray(), S.toarray())


def test_samples_without_any_edge_are_joined_too():
    Z = -np.ones((4, 4)) - np.arange(4)
    assert connected_components(join_pieces(top_graph(Z, 2), Z))[0] == 1


def test_copies_of_a_sample_are_alike_and_nothing_is_nan(rng):
    X = np.vstack([np.zeros((9, 3)), rng.normal(size=(5, 3))])
    Z = self_tuned_affinity(X @ X.T, neighbour=7)
    assert np.isfinite(Z).all()
    assert_allclose(Z[:9, :9], 1)


def test_the_indices_of_a_graph_are_short_as_scikit_learn_asks(rng):
    Z = np.abs(rng.normal(size=(20, 20)))
    assert join_pieces(top_graph(Z, 1), Z).indices.dtype == np.int32
