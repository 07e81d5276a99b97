import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave.core.graphs.propagation import harmonic, laplacian, reached


@pytest.fixture
def two_parts():
    """Samples 0-2 and 3-5 are cliques without an edge between them."""
    return np.kron(np.eye(2), np.ones((3, 3)))


def test_laplacian_is_the_quadratic_form_of_differences(small):
    total = sum(
        small.S[i, j] * np.sum((small.P[i] - small.P[j]) ** 2) / 2 for i in range(small.n) for j in range(small.n)
    )
    assert_allclose(np.trace(small.P.T @ laplacian(small.S) @ small.P), total)


def test_harmonic_labels_solve_the_harmonic_system(small):
    labelled = np.arange(small.n) % 5 == 0
    Y = np.eye(small.c)[np.arange(small.n) % small.c]
    P = harmonic(small.S, Y, labelled)
    assert_array_equal(P[labelled], Y[labelled])
    assert_allclose((laplacian(small.S) @ P)[~labelled], 0, atol=1e-12)
    assert_allclose(P.sum(axis=1), 1)
    assert P.min() >= 0


def test_harmonic_labels_do_not_read_the_labels_of_unlabelled_samples(small, rng):
    labelled = np.arange(small.n) % 5 == 0
    Y = np.eye(small.c)[np.arange(small.n) % small.c]
    rubbish = np.where(labelled[:, None], Y, rng.normal(size=Y.shape))
    assert_array_equal(harmonic(small.S, Y, labelled), harmonic(small.S, rubbish, labelled))


def test_samples_out_of_reach_of_every_label_are_found_and_score_zero(two_parts):
    labelled = np.arange(6) == 1
    assert_array_equal(reached(two_parts, labelled), [True] * 3 + [False] * 3)
    Y = np.tile([1.0, 0.0], (6, 1))
    scores = harmonic(two_parts, Y, labelled)
    assert_allclose(scores[:3], [[1, 0]] * 3, atol=1e-15)
    assert_array_equal(scores[3:], 0)


def test_harmonic_labels_permute_with_the_samples(small, rng):
    labelled = np.arange(small.n) % 4 == 0
    Y = np.eye(small.c)[np.arange(small.n) % small.c]
    order = rng.permutation(small.n)
    permuted = harmonic(small.S[np.ix_(order, order)], Y[order], labelled[order])
    assert_allclose(permuted, harmonic(small.S, Y, labelled)[order], atol=1e-13)


def test_a_sparse_graph_gives_the_laplacian_and_the_harmonic_labels_of_the_dense_one(rng):
    S = rng.uniform(size=(40, 40)) * (rng.uniform(size=(40, 40)) < 0.1)
    S[30:, :30] = S[:30, 30:] = 0  # no label reaches the last samples
    labelled = np.arange(40) < 6
    Y = np.eye(3)[np.arange(40) % 3]
    thin = sparse.csr_array(S)
    assert_allclose(laplacian(thin).toarray(), laplacian(S), atol=1e-14)
    assert_array_equal(reached(thin, labelled), reached(S, labelled))
    assert_allclose(harmonic(thin, Y, labelled), harmonic(S, Y, labelled), atol=1e-10)
