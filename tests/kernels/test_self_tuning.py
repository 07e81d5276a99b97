import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave.kernels import SelfTuning


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(25, 3))


def scale(x, training, k):
    """Return the distance from x to its k-th nearest training sample other than itself, by looking at all."""
    distances = sorted(np.sqrt(np.square(x - y).sum()) for y in training)
    if distances[0] == 0:
        distances.pop(0)  # itself
    return distances[k - 1]


def by_brute_force(A, B, training, k):
    K = np.empty((len(A), len(B)))
    a, b = ([scale(x, training, k) for x in C] for C in (A, B))
    for i, x in enumerate(A):
        for j, y in enumerate(B):
            distance = np.square(x - y).sum()
            K[i, j] = np.exp(-distance / (a[i] * b[j])) if a[i] * b[j] else distance == 0
    return K


@pytest.mark.parametrize("k", [1, 2, 7, 24])
def test_scales_of_training_samples_are_those_of_brute_force(X, k):
    assert_allclose(SelfTuning(k).fit(X).gram(X), by_brute_force(X, X, X, k), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("k", [1, 2, 7, 24])
def test_scales_of_new_samples_are_taken_among_the_training_samples(X, k):
    Z = np.random.default_rng(1).normal(size=(6, 3))
    kernel = SelfTuning(k).fit(X)
    assert_allclose(kernel.gram(Z, X), by_brute_force(Z, X, X, k), rtol=1e-9, atol=1e-14)
    assert_allclose(kernel.gram(Z), by_brute_force(Z, Z, X, k), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("k", [1, 3])
def test_a_new_sample_that_copies_a_training_sample_has_its_scale(X, k):
    kernel = SelfTuning(k).fit(X)
    Z = np.vstack([np.random.default_rng(1).normal(size=(2, 3)), X[[4, 9]]])
    K = kernel.gram(Z, X)
    assert_allclose(K, by_brute_force(Z, X, X, k), rtol=1e-9, atol=1e-14)
    assert_allclose(K[2:], kernel.gram(X)[[4, 9]], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("n_features", [1, 3, 300])
@pytest.mark.parametrize("n_copies", [2, 3, 4, 8])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_samples_with_copies_have_the_scales_of_brute_force(n_features, n_copies, make):
    X = np.random.default_rng(0).normal(size=(9, n_features))
    X = np.vstack([X, np.repeat(X[:2], n_copies, axis=0)])
    Z = np.vstack([X[0], X[5], X[5] + 0.25])
    kernel = SelfTuning(3).fit(make(X))
    assert_allclose(kernel.gram(make(X)), by_brute_force(X, X, X, 3), rtol=1e-8, atol=1e-13)
    assert_allclose(kernel.gram(make(Z), make(X)), by_brute_force(Z, X, X, 3), rtol=1e-8, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_samples_with_as_many_copies_as_neighbours_are_alike_to_their_copies_alone(dtype):
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 50)), 8, axis=0).astype(dtype)
    assert_array_equal(SelfTuning(7).fit(X).gram(X), np.kron(np.eye(4), np.ones((8, 8))))


def test_identical_samples_are_all_alike():
    assert_array_equal(SelfTuning(2).fit(np.full((6, 3), 0.1)).gram(np.full((6, 3), 0.1)), np.ones((6, 6)))


def test_groups_of_different_spread_are_seen_alike(X):
    """Local scales are what the kernel is for: a group ten times as wide gets the same similarities."""
    apart = np.array([1e4, 0, 0])
    K = SelfTuning(7).fit(np.vstack([X, 10 * X + apart])).gram(np.vstack([X, 10 * X + apart]))
    assert_allclose(K[25:, 25:], K[:25, :25], rtol=1e-7, atol=1e-12)
    assert_allclose(K[:25, 25:], np.zeros((25, 25)), atol=1e-12)
