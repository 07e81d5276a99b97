"""Whether the lengths of rows fall into groups, which one version of the samples must not merge."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from kernelweave import KGLClustering, PMKLClustering, SMKLClassifier, SMKLClustering, Views, WeaveClustering
from kernelweave.samples.column_sizes import grouped_lengths, size_of, spread_in_groups
from kernelweave.samples.scaling import fit_by_view

LEVELS = np.repeat(np.arange(4), 60)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def levels():
    """Return samples whose groups differ in the size of all columns alike."""
    return np.random.default_rng(1).normal(size=(240, 12)) + 4 * LEVELS[:, None]


def method(X, **options):
    (scaling,) = fit_by_view(Views.of_table(X), "auto", **options).scalings.values()
    return scaling.method


def in_groups(X):
    return grouped_lengths(X, size_of(X))


@pytest.mark.parametrize(("n", "k"), [(300, 10), (60, 4), (36, 2), (300, 2)])
def test_evenly_spread_values_have_the_spread_one_in_any_number_of_groups(n, k):
    assert spread_in_groups(np.linspace(2, 5, n), k) == pytest.approx(1)


def test_the_groups_are_those_of_the_least_variance_and_have_five_values(rng):
    values = np.sort(rng.gamma(1.5, size=20))
    n, width = len(values), np.median(np.diff(values))
    total = values.var() + width**2 / 12
    expected = []
    for k in (2, 3, 4):
        cuts = [(0, *inner, n) for inner in combinations(range(1, n), k - 1)]
        parts = [[values[i:j] for i, j in pairwise(cut)] for cut in cuts]
        within = min(sum(len(x) * x.var() for x in part) for part in parts if min(map(len, part)) >= 5)
        expected.append(k**2 * (within / n + width**2 / 12) / total)
    assert spread_in_groups(values, 4) == pytest.approx(min(expected))


def test_groups_that_are_apart_have_a_small_spread_whatever_their_unit_and_place(rng):
    values = np.sort(rng.normal(size=200) + 12 * rng.integers(4, size=200))
    assert spread_in_groups(values, 8) < 0.15
    assert_allclose(spread_in_groups(1e-3 * values + 7, 8), spread_in_groups(values, 8))
    assert spread_in_groups(values, 3) > 0.5  # not in fewer groups than there are


def test_values_that_are_all_equal_or_repeat_like_counts_are_no_groups(rng):
    X = rng.normal(size=(90, 12))
    assert not in_groups(np.ones((90, 12)))
    for dtype in (np.float32, np.float64):
        assert not in_groups((X / np.linalg.norm(X, axis=1, keepdims=True)).astype(dtype))  # equal but for rounding
    answers = (rng.random((400, 15)) < rng.random(15)).astype(float)  # the lengths have at most 16 values
    assert not in_groups(answers)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [60, 300])
def test_samples_of_one_cloud_have_no_groups(seed, n):
    rng = np.random.default_rng(seed)
    shapes = {
        "normal": rng.normal(size=(n, 15)),
        "uniform": rng.uniform(size=(n, 15)),
        "skewed": np.exp(rng.normal(size=(n, 15))),
        "of any size": rng.normal(size=(n, 15)) * np.exp(1.5 * rng.normal(size=(n, 1))),
        "outliers": np.where(np.arange(n)[:, None] < 0.02 * n, 20.0, 1.0) * rng.normal(1, 0.3, size=(n, 15)),
    }
    assert {name: in_groups(X) for name, X in shapes.items()} == dict.fromkeys(shapes, False)


def test_groups_of_lengths_do_not_depend_on_order_unit_sign_or_form(levels, rng):
    order = rng.permutation(len(levels))
    for X in (levels, levels[order], 1e-4 * levels, -levels, levels.astype(np.float32), sparse.csr_array(levels)):
        assert in_groups(X)
        assert method(X) == "zscore"
    assert not in_groups(levels[:29])


def test_a_view_whose_rows_have_lengths_in_groups_is_standardised_and_the_reason_says_so(levels, rng):
    views = Views({"levels": levels, "noise": rng.normal(size=(240, 12)), "few": levels[:, :5]})
    scalings = fit_by_view(views, "auto").scalings
    assert {name: one.method for name, one in scalings.items()} == {"levels": "zscore", "noise": "unit", "few": "none"}
    assert scalings["levels"].reason.startswith("the lengths of the rows fall into groups")
    thin = sparse.csr_array(np.where(rng.random((240, 90)) < 0.1, np.tile(levels, 8)[:, :90], 0))
    assert method(thin) == "unit"  # z-scores of a table that is mostly zero mean nothing


def test_images_are_compared_by_their_directions_however_many_there_are():
    X = load_digits().data
    assert {method(X[:n]) for n in (300, 600, 900, 1200, 1797)} == {"unit"}


@pytest.mark.parametrize(
    "model",
    [
        WeaveClustering(4, solver="local", random_state=0),
        WeaveClustering(4, solver="landmark", random_state=0),
        SMKLClustering(4, random_state=0),
        KGLClustering(4, random_state=0),
        PMKLClustering(4, random_state=0),
    ],
    ids=repr,
)
def test_models_of_one_version_find_groups_that_differ_in_length(model, levels):
    assert adjusted_rand_score(model.fit(levels).labels_, LEVELS) > 0.9


def test_classes_that_differ_in_length_are_found_from_a_few_labels(levels):
    given = np.where(np.arange(240) % 20 == 0, LEVELS, -1)
    assert np.mean(SMKLClassifier().fit(levels, given).transduction_ == LEVELS) > 0.95
