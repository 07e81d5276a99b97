"""The number of clusters in few columns: clusters apart in one of them, counts, outliers, lines."""

import numpy as np
import pytest

from kernelweave import WeaveClustering


def number(X):
    return WeaveClustering("auto", random_state=0).fit(X).cluster_evidence_


@pytest.mark.parametrize(("columns", "apart", "n"), [(8, 7, 200), (5, 10, 60), (9, 10, 120)])
def test_clusters_far_apart_in_one_of_several_columns_are_found(columns, apart, n):
    X = np.random.default_rng(0).normal(size=(n, columns))
    X[: n // 2, 0] += apart
    assert number(X).chosen == 2
    X[: n // 2, 0] -= apart
    assert number(X).chosen == 1


@pytest.mark.parametrize("columns", [2, 4, 6])
@pytest.mark.parametrize("mean", [0.3, 1.0])
def test_counts_without_structure_are_one_cluster(columns, mean):
    X = np.random.default_rng(1).poisson(mean, size=(200, columns)).astype(float)
    assert number(X).chosen == 1


def test_groups_of_counts_are_found():
    rng = np.random.default_rng(0)
    means = np.array([[1.0] * 4, [8.0] * 4, [12.0, 1.0] * 2])
    assert number(rng.poisson(np.repeat(means, 60, axis=0)).astype(float)).chosen == 3


@pytest.mark.parametrize("seed", range(3))
def test_one_column_has_clusters_only_where_its_values_have_gaps(seed):
    rng = np.random.default_rng(seed)
    noise = {"normal": rng.normal(size=250), "ages": rng.integers(18, 90, 250), "skewed": rng.lognormal(size=250)}
    assert {name: number(x[:, None].astype(float)).chosen for name, x in noise.items()} == dict.fromkeys(noise, 1)
    assert number(np.r_[rng.normal(size=60), 6 + rng.normal(size=60)][:, None]).chosen == 2


@pytest.mark.parametrize("n", [60, 200])
def test_groups_of_answers_from_one_to_five_are_found_and_not_split_by_gaussians(n):
    rng = np.random.default_rng(0)
    usual = np.array([[1, 5, 3, 1, 5, 3], [5, 3, 1, 5, 3, 1], [3, 1, 5, 3, 1, 5]])
    X = np.clip(np.round(usual[np.arange(n) % 3] + 0.6 * rng.normal(size=(n, 6))), 1, 5)
    assert number(X).chosen == 3
    assert np.isnan(number(X).shared_shape).all()


def test_copies_of_samples_do_not_change_their_number():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3)) + 6 * np.repeat(np.eye(3), 30, axis=0)
    assert number(X).chosen == number(np.vstack([X, X[:25]])).chosen == number(np.repeat(X, 2, axis=0)).chosen == 3


@pytest.mark.parametrize("seed", range(2))
def test_outliers_and_lines_are_no_clusters(seed):
    rng = np.random.default_rng(seed)
    outliers = number(rng.standard_cauchy(size=(200, 3)))
    line = number(np.c_[rng.uniform(size=(300, 1)), 1e-3 * rng.normal(size=(300, 3))])
    assert (outliers.chosen, line.chosen) == (1, 1)
    assert 3 < line.gap.max() < 6
