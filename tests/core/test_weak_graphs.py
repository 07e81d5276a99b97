"""Harmonic functions where rounding would leave L_uu singular, and the normalisation of class masses."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.core.graphs.propagation import class_mass_normalised, harmonic


def exactly_harmonic(W, Y, labelled):
    """Solve (D - W)_uu F_u = W_ul Y_l in rational arithmetic, by Gauss-Jordan."""
    u, known = np.flatnonzero(~labelled), np.flatnonzero(labelled)
    W = [[Fraction(float(w)) if i != j else Fraction(0) for j, w in enumerate(row)] for i, row in enumerate(W)]
    rows = [
        [sum(W[i]) if i == j else -W[i][j] for j in u] + [sum(W[i][k] for k in known if Y[k, c]) for c in range(2)]
        for i in u
    ]
    for k in range(len(u)):
        pivot = [value / rows[k][k] for value in rows[k]]
        rows = [[a - row[k] * b for a, b in zip(row, pivot, strict=True)] for row in rows]
        rows[k] = pivot
    F = Y.astype(float)
    F[u] = [[float(value) for value in row[-2:]] for row in rows]
    return F


@pytest.fixture(params=[1e-3, 1e-12, 1e-17, 1e-30, 1e-200], ids="leak={:.0e}".format)
def chain(request):
    """Unlabelled group 0-3, tied by `leak` to unlabelled 4-7 with weights of another scale, and these to labels."""
    rng, leak = np.random.default_rng(0), request.param
    W = np.zeros((12, 12))
    for a, b, scale in ((0, 0, 1), (4, 4, leak**0.5), (8, 8, 1), (0, 4, leak), (4, 8, leak)):
        W[a : a + 4, b : b + 4] = scale * rng.uniform(0.5, 1, (4, 4))
    labelled = np.arange(12) >= 10
    Y = np.zeros((12, 2))
    Y[10, 0] = Y[11, 1] = 1
    return (W + W.T) / 2, Y, labelled


def test_groups_that_hang_by_edges_below_rounding_get_their_exact_scores(chain):
    W, Y, labelled = chain
    assert_allclose(harmonic(W, Y, labelled), exactly_harmonic(W, Y, labelled), rtol=1e-9)


def test_a_large_diagonal_does_not_change_the_scores(chain):
    W, Y, labelled = chain
    assert_array_equal(harmonic(W + 1e3 * np.eye(12), Y, labelled), harmonic(W, Y, labelled))


@pytest.fixture
def scores():
    F = np.random.default_rng(0).dirichlet([3, 2, 1], size=20)
    labelled = np.arange(20) % 4 == 0
    F[labelled] = np.eye(3)[[0, 1, 2, 0, 1]]
    return F, labelled


def test_class_masses_of_the_unlabelled_get_the_shares_of_the_labelled(scores):
    F, labelled = scores
    mass = class_mass_normalised(F, labelled)[~labelled].sum(axis=0)
    assert_allclose(mass / mass.sum(), [0.4, 0.4, 0.2])
    assert_allclose(mass.sum(), F[~labelled].sum())


def test_class_masses_can_be_given_and_labelled_rows_stay(scores):
    F, labelled = scores
    G = class_mass_normalised(F, labelled, np.array([2.0, 1.0, 1.0]))
    mass = G[~labelled].sum(axis=0)
    assert_allclose(mass / mass.sum(), [0.5, 0.25, 0.25])
    assert_array_equal(G[labelled], F[labelled])


def test_scores_that_have_the_right_masses_do_not_change(scores):
    F, labelled = scores
    once = class_mass_normalised(F, labelled)
    assert_allclose(class_mass_normalised(once, labelled), once)


def test_a_class_without_mass_stays_without_and_nothing_is_nan(scores):
    F, labelled = scores
    F[~labelled, 2] = 0
    G = class_mass_normalised(F.astype(np.float32), labelled)
    assert G.dtype == np.float32
    assert_array_equal(G[~labelled, 2], 0)
    assert np.isfinite(G).all()
