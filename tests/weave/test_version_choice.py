"""The version of the samples that the solvers "local" and "landmark" compare: chosen on a part of the samples."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kernelweave import Views, WeaveClustering
from kernelweave.metrics import clustering_accuracy
from kernelweave.samples.scaling import fit_scaling
from kernelweave.weave import version_choice
from kernelweave.weave.version_choice import best_version

N, D = 240, 12
Y = np.arange(N) % 3


@pytest.fixture(scope="module")
def units():
    """Groups in every column, and a column of noise in a unit that makes it a million times as large."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, D))[Y] * 2 + rng.normal(size=(N, D))
    X[:, -1] = rng.normal(size=N)
    X[:, :-1] *= 1e-6
    return X


@pytest.fixture(scope="module")
def directions():
    """Groups that differ by direction only: lengths of rows vary a thousand times."""
    rng = np.random.default_rng(1)
    X = np.abs(rng.normal(size=(3, D)))[Y] + 0.15 * np.abs(rng.normal(size=(N, D)))
    return X * np.exp(rng.uniform(0, 7, size=(N, 1)))


def best(X, scale="auto", seed=0):
    return best_version(Views.of_table(X), scale, "released-7", "self", 3, np.random.RandomState(seed))


def test_z_scores_are_chosen_where_columns_have_different_units(units):
    version = best(units)
    assert version.name == "zscore"
    assert version.share == 1
    assert "the clusters of 240 samples agree more (z-scores of columns: " in version.reason


def test_directions_are_chosen_where_only_they_hold_groups(directions):
    version = best(directions)
    assert version.name == "direction"
    assert "(directions of rows: " in version.reason


@pytest.mark.parametrize("solver", ["local", "landmark"])
def test_the_solvers_for_many_samples_compare_the_version_that_was_chosen(units, directions, solver):
    for X, name in ((units, "zscore"), (directions, "direction")):
        model = WeaveClustering(3, solver=solver, random_state=0).fit(X)
        (version,) = model.scaling_
        assert (version.name, version.share) == (name, 1)
        assert clustering_accuracy(Y, model.labels_) > 0.9


@pytest.mark.parametrize("scale", ["unit", "zscore", "none"])
def test_a_scale_that_is_given_is_not_compared(units, scale, monkeypatch):
    monkeypatch.setattr(version_choice, "combine", lambda *args: pytest.fail("compared"))
    version = best(units, scale)
    assert (version.name, version.scalings["X"].method) == ("given", scale)


def test_a_table_that_is_mostly_zero_has_one_version(monkeypatch):
    monkeypatch.setattr(version_choice, "combine", lambda *args: pytest.fail("compared"))
    X = np.where(np.random.default_rng(0).random((100, 40)) < 0.05, 1.0, 0.0)
    assert best(X).name == "direction"


def test_many_samples_are_compared_in_part_but_scaled_as_a_whole(units, monkeypatch):
    monkeypatch.setattr(version_choice, "_COMPARED_ON", 100)
    version = best(units)
    assert version.name == "zscore"
    assert "the clusters of 100 samples" in version.reason
    assert_array_equal(version.scalings["X"].mean, fit_scaling(units, "zscore").mean)


def test_the_choice_is_the_same_for_the_same_seed(units):
    assert best(units).reason == best(units).reason
