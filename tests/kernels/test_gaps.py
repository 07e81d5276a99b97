"""Kernels of samples that lack a view."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave.kernels.gaps import knowledge, spread

N = 30


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def H(rng):
    X = rng.normal(size=(5, N, 3))
    return X @ X.transpose(0, 2, 1) + 0.5


@pytest.fixture
def present(rng):
    present = rng.random((2, N)) < 0.7
    present[0, ~present.any(axis=0)] = True
    return present


def means(H):
    return H.mean(axis=2), H.mean(axis=2), H.mean(axis=(1, 2))


def spread_all(H, known, t):
    part = H[:, known][:, :, known]
    return spread(part, t, t, means(part))


def test_a_kernel_of_all_samples_does_not_change(H):
    assert_allclose(spread(H, np.ones(N), np.ones(N), means(H)), H, atol=1e-12)


def test_weights_are_zero_where_a_view_lacks_a_sample_and_their_squares_add_up_to_the_number_of_views(present):
    t = knowledge(present)
    assert np.array_equal(t > 0, present)
    assert_allclose((t**2).sum(axis=0), 2)


def test_a_gram_matrix_stays_positive_semidefinite(H, present):
    E = spread_all(H, present[0], knowledge(present)[0])
    assert np.linalg.eigvalsh(E).min() > -1e-9
    assert_allclose(E, E.transpose(0, 2, 1))


def test_a_sample_that_a_view_lacks_has_the_mean_kernel_values(H, present):
    E = spread_all(H, present[0], present[0].astype(float))
    unknown = np.flatnonzero(~present[0])
    assert_allclose(E[:, unknown], np.broadcast_to(E[:, unknown[:1]], E[:, unknown].shape))
    part = H[:, present[0]][:, :, present[0]]
    assert_allclose(E[:, unknown[0], present[0]], part.mean(axis=1))
