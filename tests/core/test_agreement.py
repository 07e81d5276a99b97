import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.core.partitions.agreement import co_association, membership, merge

THREE = np.array([[0, 0, 1, 1, 2], [0, 0, 0, 1, 2], [1, 1, 0, 0, 2]], dtype=np.int32)


def test_co_association_is_the_share_of_partitions_that_put_two_samples_together():
    C = co_association(THREE)
    assert_allclose(C, np.mean([labels[:, None] == labels for labels in THREE], axis=0), atol=1e-6)


def test_merging_follows_the_majority():
    labels = merge(co_association(THREE), 3)
    assert labels[0] == labels[1]
    assert labels[2] == labels[3]
    assert len(set(labels.tolist())) == 3


def test_partitions_that_agree_are_merged_into_themselves():
    labels = np.array([2, 0, 0, 1, 2, 1], dtype=np.int32)
    found = merge(co_association(np.stack([labels, (labels + 1) % 3])), 3)
    assert_array_equal(found[:, None] == found, labels[:, None] == labels)


def test_memberships_sum_to_one_and_are_sure_where_all_partitions_agree():
    labels = np.array([0, 0, 1, 1, 2], dtype=np.int32)
    M = membership(co_association(THREE), labels)
    assert_allclose(M.sum(axis=1), 1, atol=1e-6)
    assert_allclose(M[4], [0, 0, 1])
    assert M[0, 0] > M[2, 1] > 0.5
