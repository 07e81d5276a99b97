"""n_clusters="auto" finds the groups of easy data, and none in noise."""

import pytest

from benchmarks.zoo import NOISE, n_classes

EASY = [*(f"blobs-{c}" for c in range(2, 9)), "moons", "circles", "aniso", "wine", "iris", "cancer"]


@pytest.mark.parametrize("name", EASY)
def test_the_number_of_clusters_is_exact_or_one_off(fitted, name):
    model, _, y = fitted(name, "auto")
    assert abs(model.n_clusters_ - n_classes(y)) <= 1


@pytest.mark.parametrize("name", NOISE)
def test_no_structure_is_found_in_noise(fitted, name):
    assert fitted(name, "auto")[0].n_clusters_ == 1
