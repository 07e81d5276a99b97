"""Whether clusters stand out: separate blobs do, one cloud does not, and few samples cannot tell."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from kernelweave import Views, WeaveClustering
from kernelweave.weave import clusters


def clarity(X, n_clusters, seed=0):
    return WeaveClustering(n_clusters, random_state=seed).fit(X).clarity_


@pytest.mark.parametrize("seed", range(2))
def test_separate_blobs_stand_out(seed):
    X, _ = make_blobs(90, n_features=5, centers=3, random_state=seed)
    assert clarity(X, 3) == 1


@pytest.mark.parametrize("seed", range(2))
def test_the_clusters_of_one_cloud_do_not_stand_out(seed):
    assert clarity(np.random.default_rng(seed).normal(size=(150, 5)), 3) < 0.5


def test_fewer_than_eight_samples_per_cluster_cannot_tell():
    X = np.random.default_rng(0).normal(size=(20, 5))
    assert clarity(X[:15], 2) == 1
    assert clarity(X[:16], 2) < 1


@pytest.fixture
def measured(monkeypatch):
    """Set what graphs of the sample, of clouds and of permuted columns show: eigenvalues and agreement of partitions.

    Returns the function that takes them and gives the clarity, and how many samples were measured.
    """

    def given(own, *others):
        sizes, left = [], [own, *others]

        def scripted(compared, plan, c, rng):
            sizes.append(len(np.unique(compared, axis=0)))
            return left.pop(0)

        monkeypatch.setattr(clusters, "_measured", scripted)
        monkeypatch.setattr(clusters, "compared_again", lambda versions, views: views.tables[0])
        views, rng = Views.of_table(np.random.default_rng(0).normal(size=(400, 3))), np.random.RandomState(0)
        found = clusters.clarity(views, (), None, 3, rng)
        assert set(sizes) == {300}
        return found, len(sizes) - 1

    return given


EVEN = [np.array([0.0, 0.1, 0.2, 0.3, 0.4])]  # no gap larger than that of a cloud


@pytest.mark.parametrize(
    ("agreement", "chances", "expected"),
    [
        (0.5, [0.3, 0.1], (1.0, 6)),  # 0.2 above chance: clear, but not beyond doubt
        (0.5, [0.4, 0.1, 0.2, 0.45], (0.25, 6)),  # the largest chance of all draws counts
        (0.5, [0.19, 0.1], (1.0, 2)),
        (0.5, [0.1, 0.21], (1.0, 6)),
        (0.5, [0.5, 0.1], (0.0, 2)),
        (0.1, [-0.2, -0.1], (0.5, 6)),
    ],
)
def test_agreement_is_measured_beyond_the_largest_chance_of_three_draws(measured, agreement, chances, expected):
    draws = [*chances, *[chances[0]] * 6]
    clear, n_measured = measured((EVEN, agreement), *((EVEN, chance) for chance in draws[:6]))
    assert (clear, n_measured) == (pytest.approx(expected[0], abs=1e-12), expected[1])


def test_a_gap_larger_than_that_of_the_clouds_shows_clusters_too(measured):
    wide = [np.array([0.0, 0.01, 0.02, 0.3, 0.4])]
    assert measured((wide, 0.0), *[(EVEN, 0.5)] * 2) == (1.0, 2)
    assert measured((EVEN, 0.0), *[(EVEN, 0.5)] * 2) == (0.0, 2)
    somewhat = [np.array([0.0, 0.1, 0.275, 0.3, 0.4])]  # λ₃/λ₂ is 2.75, that of the cloud 2: halfway from 1 to 1.75
    clear, _ = measured((somewhat, 0.0), *[(EVEN, 0.5)] * 2)
    assert clear == pytest.approx(0.5)
    later = [np.array([0.0, 0.1, 0.2, 0.3, 1.2])]  # a gap after more clusters than were asked for
    assert measured((later, 0.0), *[(EVEN, 0.5)] * 2) == (0.0, 2)
