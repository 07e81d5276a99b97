"""The shares of views: noise gets next to nothing, and related views keep theirs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave import Views, WeaveClustering
from kernelweave.core.consensus.known_pairs import known_moments, known_weights
from kernelweave.core.consensus.self_weighted import median_weights
from kernelweave.kernels.bank import kernel_moments
from kernelweave.samples.precomputed import KernelStack
from kernelweave.weave.consensus_kernel import weigh

SINGLE = np.dtype(np.float32)


@pytest.fixture(scope="module")
def real():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 30)
    return [3 * rng.normal(size=(4, d))[y] + rng.normal(size=(120, d)) for d in (10, 25, 15)]


@pytest.fixture(scope="module")
def noises(real):
    rng = np.random.default_rng(1)
    return {"normal": rng.normal(size=(120, 40)), "permuted": real[0][rng.permutation(120)]}


def with_gaps(views):
    present = np.random.default_rng(2).random((len(views), 120)) < 0.8
    present[0] |= ~present.any(axis=0)
    return Views(views, missing={f"view {v}": ~present[v] for v in range(len(views))})


def weighed(samples):
    bank, tiles, p = weigh("released-7", "self", samples)
    return p, tiles, bank


def view_shares(samples):
    p, _, bank = weighed(samples)
    return np.array([p[np.array(bank.views) == name].sum() for name in samples.names])


@pytest.mark.parametrize("read", [Views, with_gaps], ids=["complete", "gaps"])
@pytest.mark.parametrize("kind", ["normal", "permuted"])
def test_a_noise_view_among_three_real_ones_gets_far_less_than_a_quarter_of_an_equal_share(real, noises, kind, read):
    *kept, noise = view_shares(read([*real, noises[kind]]))
    assert noise < 0.05 / 4
    assert min(kept) > 0.75 / 4


@pytest.mark.parametrize("read", [Views, with_gaps], ids=["complete", "gaps"])
def test_two_noise_views_do_not_outvote_three_real_ones(real, noises, read):
    assert view_shares(read([*real, *noises.values()]))[3:].sum() < 0.1


@pytest.mark.parametrize("solver", ["dense", "local"])
def test_a_model_says_that_a_noise_view_does_not_count(real, noises, solver):
    model = WeaveClustering(4, solver=solver, random_state=0).fit(Views([*real, noises["normal"]]))
    assert model.view_shares_[3] < 0.05


def test_views_that_are_all_related_keep_the_shares_of_their_kernels(real):
    p, tiles, _ = weighed(Views(real))
    assert_allclose(p, median_weights(*kernel_moments(tiles.of(SINGLE))), atol=1e-4)


@pytest.mark.parametrize("n_views", [1, 2])
def test_with_fewer_than_three_views_only_the_kernels_are_weighed(real, noises, n_views):
    p, tiles, _ = weighed(Views([real[0], noises["normal"]][:n_views]))
    assert_array_equal(p, median_weights(*kernel_moments(tiles.of(SINGLE))))


def test_with_two_views_and_gaps_only_the_kernels_are_weighed(real, noises):
    samples = with_gaps([real[0], noises["normal"]])
    p, tiles, bank = weighed(samples)
    view = np.array([samples.names.index(name) for name in bank.views])
    assert_array_equal(p, known_weights(*known_moments(tiles.of(SINGLE), samples.present, view), view))


def test_precomputed_kernels_count_as_one_view(real):
    H = np.stack([X @ X.T for X in real])
    p, tiles, _ = weighed(KernelStack(H, ("a", "b", "c")))
    assert_array_equal(p, median_weights(*kernel_moments(tiles.of(SINGLE))))
