import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

from kernelweave.core.partitions import agreement
from kernelweave.core.partitions.agreement import (
    co_association,
    cut_tree,
    mean_agreement,
    merge,
    modularity,
    rand_index,
)

THREE = np.array([[0, 0, 1, 1, 2], [0, 0, 0, 1, 2], [1, 1, 0, 0, 2]], dtype=np.int32)


@pytest.fixture
def noisy():
    """Twelve partitions of 90 samples in three groups, each with a fifth of its labels drawn anew."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 30)
    z = np.tile(labels, (12, 1))
    drawn = rng.random(z.shape) < 0.2
    z[drawn] = rng.integers(3, size=drawn.sum())
    return labels, z.astype(np.int32)


def same(first, second):
    return adjusted_rand_score(first, second) == 1


def test_the_rand_index_is_that_of_scikit_learn(noisy):
    labels, z = noisy
    for other in (labels, z[1], np.zeros(90, dtype=int), np.arange(90)):
        assert rand_index(z[0], other) == pytest.approx(adjusted_rand_score(z[0], other), abs=1e-12)
    assert rand_index(np.zeros(4, dtype=int), np.zeros(4, dtype=int)) == 1


def test_mean_agreement_is_the_mean_over_all_pairs(noisy):
    _, z = noisy
    pairs = [adjusted_rand_score(z[i], z[j]) for i in range(12) for j in range(i)]
    assert mean_agreement(z) == pytest.approx(np.mean(pairs))
    assert mean_agreement(z[:1]) == 1


def test_co_association_is_the_weighted_share_of_partitions_that_put_two_samples_together():
    w = np.array([1.0, 2.0, 0.5])
    together = [labels[:, None] == labels for labels in THREE]
    assert_allclose(co_association(THREE, w), np.average(together, axis=0, weights=w), atol=1e-6)


def test_merging_follows_the_weights():
    first = merge(THREE, np.array([1.0, 0.1, 0.1]), 3).labels
    assert same(first, THREE[0])
    assert same(merge(THREE, np.array([0.1, 1.0, 0.1]), 3).labels, THREE[1])


def test_partitions_that_agree_are_merged_into_themselves():
    labels = np.array([2, 0, 0, 1, 2, 1], dtype=np.int32)
    found = merge(np.stack([labels, (labels + 1) % 3]), np.ones(2), 3).labels
    assert same(found, labels)


def test_merging_distinct_tuples_is_average_linkage_of_all_samples(noisy):
    _, z = noisy
    tree = linkage(squareform(1 - co_association(z, np.ones(12)), checks=False), "average")
    expected = fcluster(tree, 3, criterion="maxclust")
    assert same(merge(z, np.ones(12), 3).labels, expected)


def test_merging_does_not_depend_on_the_order_of_samples_or_the_names_of_clusters(noisy):
    _, z = noisy
    rng = np.random.default_rng(1)
    order = rng.permutation(90)
    renamed = np.stack([rng.permutation(3)[labels] for labels in z]).astype(np.int32)
    found = merge(z, np.ones(12), 3).labels
    assert same(merge(z[:, order], np.ones(12), 3).labels, found[order])
    assert same(merge(renamed, np.ones(12), 3).labels, found)


def test_memberships_are_mean_co_associations_with_the_other_members(noisy):
    _, z = noisy
    w = np.arange(1.0, 13.0)
    labels, M = merge(z, w, 3)
    T = co_association(z, w) - np.eye(90)
    Y = np.eye(3)[labels]
    expected = T @ Y / (Y.sum(axis=0) - Y)
    assert_allclose(M, expected / expected.sum(axis=1, keepdims=True), atol=1e-5)


def test_many_tuples_are_merged_on_some_of_them(noisy, monkeypatch):
    labels, z = noisy
    monkeypatch.setattr(agreement, "_MOST_TUPLES", 20)
    assert len(np.unique(z, axis=1).T) > 20
    assert adjusted_rand_score(merge(z, np.ones(12), 3).labels, labels) > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_the_tree_is_cut_like_that_of_scipy(seed):
    D = np.random.default_rng(seed).random((25, 25))
    D = (D + D.T) * (1 - np.eye(25))
    tree = linkage(squareform(D), "average")
    for c in (2, 5, 12):
        assert same(cut_tree(D, np.ones(25, dtype=int), c, least=1), fcluster(tree, c, "maxclust"))


def test_a_group_far_smaller_than_the_mean_size_is_no_cluster():
    z = np.tile(np.repeat([0, 1, 2], [3, 120, 120]), (4, 1)).astype(np.int32)
    z[:2, :3] = 1  # half of the partitions do not tell the small group from the second
    assert_array_equal(np.bincount(merge(z, np.ones(4), 2).labels), [123, 120])


def test_a_cluster_of_one_sample_has_that_sample_as_its_member():
    z = np.tile(np.array([0, 1, 1, 2, 2], dtype=np.int32), (3, 1))
    assert_array_equal(merge(z, np.ones(3), 3).membership, np.eye(3)[z[0]])


def test_the_rand_index_knows_clusters_that_never_meet():
    assert rand_index(np.array([0, 0, 1, 1, 2]), np.array([2, 2, 1, 1, 0])) == 1
    assert rand_index(np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1])) == 1


def test_a_cluster_is_not_spent_on_an_outlier():
    points = np.r_[np.linspace(0, 1, 30), np.linspace(5, 6, 30), 100.0]
    D = np.abs(points[:, None] - points)
    parts = cut_tree(D, np.ones(61, dtype=int), 2, least=3)
    assert_array_equal(np.bincount(parts), [30, 31])
    assert_array_equal(np.sort(np.bincount(cut_tree(D, np.ones(61, dtype=int), 2, least=1))), [1, 60])


def test_small_clusters_remain_where_there_are_no_others():
    D = 1 - np.eye(3)
    assert_array_equal(np.sort(cut_tree(D, np.array([1, 1, 1]), 3, least=2)), [0, 1, 2])


def test_fewer_groups_than_clusters_stay_as_they_are():
    labels = np.array([[0, 0, 1, 1]], dtype=np.int32)
    assert same(merge(labels, np.ones(1), 3).labels, labels[0])


def test_a_partition_of_negligible_weight_changes_nothing(noisy):
    _, z = noisy
    w, odd = np.linspace(0.5, 1, len(z)), np.arange(z.shape[1]) % 7
    expected, found = merge(z, w, 3), merge(np.vstack([z, odd]), np.append(w, 1e-12), 3)
    assert_array_equal(found.labels, expected.labels)
    assert_array_equal(found.membership, expected.membership)


def test_clusters_are_numbered_in_the_order_of_their_first_samples(noisy):
    labels, z = noisy
    order = np.random.default_rng(1).permutation(90)
    renamed = (z[:, order] + np.arange(12)[:, None]) % 3  # other names in every partition
    found, M = merge(renamed.astype(np.int32), np.ones(12), 3)
    assert same(found, labels[order])
    first = [np.flatnonzero(found == k)[0] for k in range(3)]
    assert first == sorted(first)
    assert np.mean(M.argmax(axis=1) == found) > 0.9


# modularity


CLIQUES = sparse.csr_array(np.kron(np.eye(4), np.ones((5, 5)) - np.eye(5)))


def test_the_modularity_of_cliques_is_what_newman_and_girvan_say():
    assert modularity(CLIQUES, np.repeat(np.arange(4), 5)) == pytest.approx(1 - 4 * 0.25**2)
    assert modularity(CLIQUES, np.zeros(20, dtype=int)) == pytest.approx(0)


def test_the_modularity_of_random_labels_is_near_zero():
    rng = np.random.default_rng(0)
    S = rng.uniform(size=(300, 300)) < 0.1
    S = sparse.csr_array((S | S.T).astype(float))
    assert abs(modularity(S, rng.integers(4, size=300))) < 0.02


def test_a_graph_without_edges_has_no_modularity():
    assert modularity(sparse.csr_array((4, 4)), np.arange(4)) == 0
