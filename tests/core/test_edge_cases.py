"""Values at which the formulas of the core end, and constants that they are stated with."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave.core.algebra import matrices
from kernelweave.core.consensus.self_weighted import agreement, fixed_point_weights, trust
from kernelweave.core.graphs.coordinates import bottom_eigenpairs, shrinkage
from kernelweave.core.graphs.new_rows import bordered_rows, self_similarities
from kernelweave.core.partitions import hartigan
from kernelweave.solve import State
from kernelweave.solve.loop import graph_change, joint_change, spectral_change


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.5])
def test_a_kernel_is_trusted_in_full_from_an_agreement_of_a_tenth(share):
    R = np.ones((4, 4))
    R[3, :3] = R[:3, 3] = share
    assert_allclose(trust(R, 4), [1, 1, 1, min(1, 10 * agreement(R)[3])])
    assert (trust(R, 4)[3] < 1) == (share < 0.06)


def test_no_kernel_counts_as_nearer_than_a_tenth_of_the_median_distance():
    for nearest, weight in ((0, 10), (0.05, 10), (0.1, 10), (0.2, 5)):
        d = np.array([nearest, 1, 1])
        found = fixed_point_weights(lambda p, d=d: d, np.ones(3), least=0.0)
        assert_allclose(found, np.array([weight, 1, 1]) / (weight + 2))


def test_eigenvectors_that_lapack_misses_are_computed_with_all_others(monkeypatch):
    A = np.random.default_rng(0).normal(size=(6, 6))
    M = A + A.T
    eigh = matrices.linalg.eigh

    def misses_one(M, **options):
        values, V = eigh(M, **options)
        return (values[:-1], V[:, :-1]) if "subset_by_index" in options else (values, V)

    monkeypatch.setattr(matrices.linalg, "eigh", misses_one)
    values, V = matrices.eigenpairs(M, 1, 3)
    assert_allclose(values, np.linalg.eigvalsh(M)[1:4])
    assert_allclose(M @ V, V * values, atol=1e-12)


def test_the_spectrum_of_a_graph_that_lapack_gives_up_on_is_computed_with_all_others(monkeypatch):
    S = sparse.csr_array(np.ones((6, 6)) - np.eye(6))
    expected = bottom_eigenpairs(S, 3)[0]
    eigh = matrices.linalg.eigh

    def gives_up(M, **options):
        if "subset_by_index" in options:
            msg = "Internal Error."
            raise np.linalg.LinAlgError(msg)
        return eigh(M, **options)

    monkeypatch.setattr(matrices.linalg, "eigh", gives_up)
    values, V = bottom_eigenpairs(S, 3)
    assert_allclose(values, expected, atol=1e-12)
    assert V.shape == (6, 3)


def test_a_new_sample_less_similar_to_itself_than_to_others_has_a_finite_row():
    found = bordered_rows(np.array([[1.0]]), np.array([[2.0]]), np.array([0.0]), g=1.0)
    assert_allclose(found, 1 / np.finfo(np.float64).eps)


def test_the_similarity_of_a_new_sample_with_itself_keeps_the_kernel_positive_semidefinite():
    AK_x, K_x, diagonal = np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[10.0, 10], [1, 1]]), np.array([1.0, 3])
    assert_allclose(self_similarities(AK_x, K_x, diagonal), [10, 2])


def test_coordinates_that_averaging_turns_round_or_removes_are_not_scaled():
    pair, star = np.array([[0.0, 1], [1, 0]]), np.array([[0.0, 1, 1], [1, 0, 0], [1, 0, 0]])
    assert_array_equal(shrinkage(pair, np.array([[1.0, 1], [1, -1]])), 1)
    assert_array_equal(shrinkage(star, np.array([[0.0], [1], [-1]])), 1)


def test_partitions_are_crossed_three_times_at_most(monkeypatch):
    seen = []
    crossed = hartigan.crossed
    monkeypatch.setattr(hartigan, "crossed", lambda *given: seen.append(1) or crossed(*given))
    X = np.random.default_rng(0).normal(size=(60, 4))
    hartigan.best_partition(X, 8, n_init=6, rng=np.random.RandomState(0))
    assert len(seen) == 3


@pytest.mark.parametrize("change", [graph_change, joint_change, spectral_change])
def test_the_first_edges_of_a_graph_are_an_infinite_change(change):
    empty, edges = np.zeros((3, 3)), np.ones((3, 3))
    before = State(S=empty, K=edges, w=np.ones(1), P=np.eye(3, 2))
    assert change(before, State(S=edges, K=edges, w=np.ones(1), P=before.P)) == np.inf
    assert change(before, State(S=empty.copy(), K=edges, w=np.ones(1), P=before.P)) == 0
