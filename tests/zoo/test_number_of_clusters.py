"""n_clusters="auto" finds the groups of easy data, and none in noise."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_circles, make_moons

from benchmarks.zoo import NOISE, n_classes
from kernelweave import WeaveClustering

EASY = [*(f"blobs-{c}" for c in range(2, 9)), "moons", "circles", "aniso", "wine", "iris", "cancer"]


@pytest.mark.parametrize("name", EASY)
def test_the_number_of_clusters_is_exact_or_one_off(fitted, name):
    model, _, y = fitted(name, "auto")
    assert abs(model.n_clusters_ - n_classes(y)) <= 1


@pytest.mark.parametrize("name", NOISE)
def test_no_structure_is_found_in_noise(fitted, name):
    assert fitted(name, "auto")[0].n_clusters_ == 1


def stretched(seed):
    X, y = make_blobs(300, random_state=seed)
    return X @ [[0.6, -0.6], [-0.4, 0.8]], y


TOYS = {
    "two blobs": make_blobs(300, centers=2, random_state=10),
    "four blobs": make_blobs(300, centers=4, random_state=12),
    "six blobs": make_blobs(300, centers=6, cluster_std=0.6, random_state=10),
    "eight blobs": make_blobs(300, centers=8, cluster_std=0.5, random_state=10),
    "moons": make_moons(300, noise=0.05, random_state=10),
    "circles": make_circles(300, factor=0.5, noise=0.05, random_state=10),
    "stretched blobs": stretched(170),
}


@pytest.mark.parametrize("name", TOYS)
def test_plain_toys_are_counted_exactly_or_one_off_but_never_as_one(name):
    X, y = TOYS[name]
    found = WeaveClustering("auto", random_state=0).fit(X).cluster_evidence_
    assert found.found in {"valleys", "mixture"}
    assert abs(found.chosen - n_classes(y)) <= 1


@pytest.mark.parametrize("seed", [1004, 1005])
def test_moons_are_not_divided_where_their_samples_are_sparse_by_chance(seed):
    X, _ = make_moons(600, noise=0.08, random_state=seed)
    found = WeaveClustering("auto", random_state=0).fit(X).cluster_evidence_
    assert (found.chosen, found.found) == (2, "valleys")


@pytest.mark.parametrize(("c", "seed"), [(4, 0), (6, 0), (7, 0), (8, 0)])
def test_blobs_that_overlap_a_little_are_counted_too(c, seed):
    X, _ = make_blobs(300, centers=c, random_state=seed)
    found = WeaveClustering("auto", random_state=0).fit(X).cluster_evidence_
    assert found.found == "mixture"
    assert abs(found.chosen - c) <= 1


@pytest.mark.parametrize(("shape", "seed"), [((250, 2), 50), ((250, 4), 51), ((150, 8), 52), ((200, 15), 53)])
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_further_noise_has_no_structure_either(kind, shape, seed):
    X = getattr(np.random.default_rng(seed), kind)(size=shape)
    assert WeaveClustering("auto", random_state=0).fit(X).n_clusters_ == 1
