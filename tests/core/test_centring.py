import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave.core.algebra.centring import centre


def distances(K):
    k = K.diagonal()
    return k[:, None] + k - 2 * K


def test_it_is_the_gram_matrix_of_centred_samples(rng):
    X = rng.normal(size=(20, 4)) + 3
    Z = X - X.mean(axis=0)
    assert_allclose(centre(X @ X.T), Z @ Z.T, atol=1e-12)


def test_distances_do_not_change(small):
    assert_allclose(distances(centre(small.K.copy())), distances(small.K), atol=1e-12)


def test_single_precision_keeps_the_small_distances_of_a_flat_kernel(rng):
    X = rng.normal(size=(50, 2))
    flat = np.exp(-1e-5 * distances(X @ X.T))
    centred = centre(flat.astype(np.float32))
    mean_distance = distances(flat).mean()
    assert np.abs(distances(centred) - distances(flat)).max() < 0.02 * mean_distance
    # the rounding of the kernel itself is all that is lost
    assert np.abs(centred - centre(flat.copy())).max() < 2 * np.finfo(np.float32).eps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_works_in_place(rng, dtype):
    K = np.eye(5, dtype=dtype)
    assert centre(K) is K
