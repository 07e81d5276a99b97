"""How the solvers "local" and "landmark" scale samples, which they compare in one version."""

import numpy as np
import pytest

from kernelweave import WeaveClustering
from kernelweave.metrics import clustering_accuracy

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


@pytest.mark.parametrize("solver", ["local", "landmark"])
def test_columns_in_different_units_are_standardised_and_rows_of_any_length_become_directions(
    units, directions, solver
):
    for X, method in ((units, "zscore"), (directions, "unit")):
        model = WeaveClustering(3, solver=solver, random_state=0).fit(X)
        (version,) = model.scaling_
        assert (version.scalings["X"].method, version.share) == (method, 1)
        assert clustering_accuracy(Y, model.labels_) > 0.9


@pytest.mark.parametrize("solver", ["local", "landmark"])
@pytest.mark.parametrize("scale", ["unit", "zscore", "none"])
def test_a_scale_that_is_given_is_used(units, scale, solver):
    (version,) = WeaveClustering(3, solver=solver, scale=scale, random_state=0).fit(units).scaling_
    assert (version.name, version.scalings["X"].method) == ("given", scale)


@pytest.mark.parametrize("solver", ["local", "landmark"])
def test_a_table_that_is_mostly_zero_has_directions(solver):
    X = np.where(np.random.default_rng(0).random((100, 40)) < 0.05, 1.0, 0.0)
    (version,) = WeaveClustering(3, solver=solver, random_state=0).fit(X[X.any(axis=1)]).scaling_
    assert version.scalings["X"].method == "unit"
