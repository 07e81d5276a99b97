"""How the solvers "local" and "landmark" scale samples, which they compare in one version; rows of one direction."""

import numpy as np
import pytest

from kernelweave import KGLClustering, SMKLClassifier, SMKLClustering, WeaveClassifier, WeaveClustering
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


@pytest.fixture(scope="module")
def ray():
    """Three groups of lengths of rows that all have one direction."""
    lengths = np.array([1.0, 5.0, 9.0])[Y] + np.random.default_rng(2).normal(0, 0.3, N)
    return lengths[:, None] * np.arange(1.0, D + 1)


@pytest.mark.parametrize(
    "model",
    [
        *(WeaveClustering(3, solver=solver, random_state=0) for solver in ("dense", "local", "landmark")),
        *(WeaveClustering(n, random_state=0) for n in (3, "auto")),
        *(model(3, random_state=0) for model in (SMKLClustering, KGLClustering)),
        *(model() for model in (WeaveClassifier, SMKLClassifier)),
    ],
    ids=str,
)
def test_rows_of_one_direction_are_told_apart_by_their_lengths(ray, model):
    model.fit(ray[::2], np.where(np.arange(N) % 20 == 0, Y, -1)[::2])
    found = model.predict(ray[1::2])
    assert clustering_accuracy(Y[1::2], found) == 1
    assert [version.name for version in model.scaling_] in (["zscore"], ["by view"])
    assert [one.method for version in model.scaling_ for one in version.scalings.values()] == ["zscore"]


@pytest.mark.parametrize("solver", ["dense", "local", "landmark"])
@pytest.mark.parametrize("width", [2, 12])
def test_groups_far_from_zero_are_found(solver, width):
    X = 1e9 + 9 * Y[:, None] + np.random.default_rng(3).normal(size=(N, width))
    model = WeaveClustering(3, solver=solver, random_state=0).fit(X[::2])
    assert clustering_accuracy(Y[::2], model.labels_) == 1
    assert clustering_accuracy(Y[1::2], model.predict(X[1::2])) == 1
