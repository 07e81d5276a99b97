import numpy as np
import pytest
from scipy import sparse

from kernelweave.core.partitions.agreement import modularity
from kernelweave.select import candidate_numbers, cluster_evidence

CLIQUES = sparse.csr_array(np.kron(np.eye(4), np.ones((5, 5)) - np.eye(5)))
FOUR = np.repeat(np.arange(4), 5).astype(np.int32)


def test_the_modularity_of_cliques_is_what_newman_and_girvan_say():
    assert modularity(CLIQUES, FOUR) == pytest.approx(1 - 4 * 0.25**2)
    assert modularity(CLIQUES, np.zeros(20, dtype=int)) == pytest.approx(0)


def test_the_modularity_of_random_labels_is_near_zero():
    rng = np.random.default_rng(0)
    S = rng.uniform(size=(300, 300)) < 0.1
    S = sparse.csr_array((S | S.T).astype(float))
    assert abs(modularity(S, rng.integers(4, size=300))) < 0.02


def test_a_graph_without_edges_has_no_modularity():
    assert modularity(sparse.csr_array((4, 4)), np.arange(4)) == 0


def partitions():
    two, eight = FOUR // 2, np.arange(20, dtype=np.int32) * 8 // 20
    return {2: np.stack([two] * 3), 4: np.stack([FOUR] * 3), 8: np.stack([eight, np.roll(eight, 1), np.roll(eight, 2)])}


def test_the_number_of_cliques_is_chosen():
    evidence = cluster_evidence(CLIQUES, partitions())
    assert evidence.chosen == 4
    assert evidence.n_clusters.tolist() == [2, 4, 8]
    assert evidence.stability[1] == 1 > evidence.stability[2]
    assert evidence.score.argmax() == 1


def test_of_numbers_that_score_alike_the_smaller_is_chosen():
    same = {k: np.stack([FOUR] * 2) for k in (4, 5, 6)}
    assert cluster_evidence(CLIQUES, same).chosen == 4


def test_one_graph_alone_is_stable():
    assert cluster_evidence(CLIQUES, {4: FOUR[None]}).stability.tolist() == [1]


@pytest.mark.parametrize(("n", "last"), [(2, 2), (20, 2), (80, 10), (213, 26), (10_000, 50)])
def test_numbers_are_tried_as_far_as_clusters_would_have_eight_members(n, last):
    numbers = candidate_numbers(n)
    assert numbers[0] == 2
    assert numbers[-1] == last
    assert numbers == sorted(set(numbers))
