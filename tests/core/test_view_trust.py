from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.core.consensus.view_trust import ViewRelations, standard_relation, view_trust

N = 40
VIEW = np.array([0, 0, 1, 2, 2, 2, 3])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def tiles_of(H, size=12):
    """Return the tiles on and above the diagonal, as the consensus reads them."""
    n = H.shape[1]
    parts = [slice(i, min(i + size, n)) for i in range(0, n, size)]
    return [(rows, cols, H[:, rows, cols]) for i, rows in enumerate(parts) for cols in parts[i:]]


def watched(H, view, present=None, size=12):
    """Return the relations after all tiles have passed."""
    present = np.ones((view.max() + 1, H.shape[1]), dtype=bool) if present is None else present
    relations = ViewRelations(view, present)
    for _ in relations.watch(tiles_of(H, size)):
        pass
    return relations


def kernels(rng, *shares, n=N):
    """Return kernels of tables that are to these shares the same, and to the rest normal numbers."""
    same = rng.normal(size=(n, 3))
    tables = [share * same + (1 - share) * rng.normal(size=(n, 3)) for share in shares]
    return np.stack([np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(axis=2)) for X in tables])


def centred(A):
    """Return A less the best fitting x_i + x_j off the diagonal, which is 0, so that rows sum to 0."""
    n = len(A)
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    design = np.zeros((len(i), n))
    design[np.arange(len(i)), i] += 1
    design[np.arange(len(i)), j] += 1
    rest = np.zeros((n, n))
    rest[i, j] = A[i, j] - design @ np.linalg.lstsq(design, A[i, j], rcond=None)[0]
    return rest


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("size", [7, 40])
def test_correlations_are_those_of_the_views_mean_kernels_centred_on_the_samples_in_both(rng, gaps, size):
    H = kernels(rng, 0.9, 0.5, 0.7, 0.2, 0.8, 0.6, 0.0) + 5
    present = rng.random((4, N)) < (0.7 if gaps else 1)
    rho = watched(H, VIEW, present, size).correlations()
    A = [H[v == VIEW].mean(axis=0) for v in range(4)]
    for v in range(4):
        for w in range(4):
            both = np.ix_(present[v] & present[w], present[v] & present[w])
            a, b = centred(A[v][both]), centred(A[w][both])
            expected = (a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b)
            assert_allclose(rho[v, w], expected, atol=1e-6)


def test_over_all_permutations_a_relation_has_mean_zero_and_variance_one(rng):
    n, view = 5, np.arange(3)
    H = kernels(rng, 1.0, 0.8, 0.0, n=n)
    z = []
    for order in map(list, permutations(range(n))):
        permuted = np.stack([H[0], H[1][np.ix_(order, order)], H[2]])
        relations = watched(permuted, view)
        z.append(standard_relation(relations.correlations(), relations.common)[0, 1])
    assert_allclose(np.mean(z), 0, atol=1e-8)
    assert_allclose(np.var(z), 1, atol=1e-6)


def test_a_view_that_is_related_to_no_other_is_not_trusted(rng):
    t = watched(kernels(rng, 0.9, 0.9, 0.8, 0.9, 0.9, 0.8, 0.0), VIEW).trust()
    assert t[-1] < 0.1
    assert t[:-1].min() > 0.9


@pytest.mark.parametrize("shares", [(0.9, 0.9, 0.8, 0.9, 0.9, 0.8, 0.9), (0.0,) * 7])
def test_all_views_are_trusted_if_all_are_related_or_none_are(rng, shares):
    assert watched(kernels(rng, *shares), VIEW).trust().min() > 0.9


def test_of_two_views_nobody_knows_which_is_wrong(rng):
    assert_array_equal(watched(kernels(rng, 0.9, 0.9, 0.0), np.array([0, 0, 1])).trust(), np.ones(3))


def test_the_trust_does_not_depend_on_the_order_of_the_samples(rng):
    H = kernels(rng, 0.9, 0.8, 0.5, 0.4, 0.6, 0.2, 0.3)
    order = rng.permutation(N)
    t = watched(H, VIEW).trust()
    assert_allclose(watched(H[:, order][:, :, order], VIEW).trust(), t, atol=1e-8)
    assert_allclose(watched(H, VIEW, size=40).trust(), t, atol=1e-8)


def test_the_trust_grows_with_the_relation_and_never_jumps():
    z, m = np.linspace(0, 15, 301), np.full((3, 3), 50.0)
    t = np.array([view_trust(np.array([[0, 20, 0], [20, 0, x], [0, x, 0]]), m)[2] for x in z])
    assert t[0] < 0.01
    assert t[-1] > 0.99
    assert (np.diff(t) >= 0).all()
    assert np.diff(t).max() < 0.02


def test_a_view_with_few_samples_in_others_is_trusted_since_they_cannot_judge_it(rng):
    H = kernels(rng, 0.9, 0.9, 0.0)
    present = np.ones((3, N), dtype=bool)
    assert watched(H, np.arange(3), present).trust()[2] < 0.1
    present[2, 6:] = False
    assert watched(H, np.arange(3), present).trust()[2] > 0.9
    present[2] = False
    assert watched(H, np.arange(3), present).trust()[2] == 1


def test_constant_views_are_not_taken_for_related_by_their_rounding(rng):
    rounding = 1 + 1e-7 * kernels(rng, 0.0)[0]
    H = np.stack([kernels(rng, 0.9)[0], rounding, rounding]).astype(np.float32)
    assert_allclose(watched(H, np.arange(3)).trust(), np.ones(3), atol=0.01)


def test_views_that_are_zero_or_have_three_samples_are_trusted(rng):
    assert_array_equal(watched(np.zeros((3, N, N)), np.arange(3)).trust(), np.ones(3))
    assert_array_equal(watched(kernels(rng, 1.0, 1.0, 0.0, n=3), np.arange(3)).trust(), np.ones(3))
