"""Samples as kernels compare them: few copies of each, scaled in every version."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kernelweave import Views
from kernelweave.samples.precomputed import read_stack
from kernelweave.samples.prepared import compared_again, few_copies, prepare
from kernelweave.samples.scaling import fit_versions


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(12, 3)) * (1, 20, 300)


def test_every_version_is_the_samples_scaled_by_it(X):
    views = Views.of_table(X)
    found = prepare(views, "auto", most_copies=2)
    assert [one.version.name for one in found.compared] == ["direction", "zscore"]
    for one, version in zip(found.compared, fit_versions(views, "auto"), strict=True):
        assert_array_equal(one.samples.tables[0], views.scaled(version.scalings).tables[0])
    assert_array_equal(found.copies, np.arange(12))
    assert_array_equal(found.seen.find(views), np.arange(12))


def test_of_many_copies_the_first_few_are_kept_and_all_stand_for_the_first(X):
    table = np.vstack([X[:1], X[1:4], np.repeat(X[:1], 5, axis=0), X[4:]])
    found = prepare(Views.of_table(table), "none", most_copies=2)
    assert_array_equal(found.kept.tables[0], np.vstack([X[:4], X[:1], X[4:]]))
    assert_array_equal(found.copies, [0, 1, 2, 3, 0, 0, 0, 0, 0, *range(5, 13)])
    assert len(found.seen.digests) == len(table)
    assert prepare(Views.of_table(table), "none", most_copies=6).kept.n_samples == len(table)


def test_copies_may_be_left_out_among_some_samples_only(X):
    views = Views.of_table(X[[0, 1, 0, 0, 2, 0, 1]])
    found = few_copies(views, 1, among=np.array([True, True, False, True, True, True, False]))
    assert_array_equal(found.kept, [0, 1, 2, 4, 6])
    assert_array_equal(found.copies, [0, 1, 2, 0, 3, 0, 4])
    assert_array_equal(found.samples.tables[0], views.tables[0][found.kept])
    assert len(found.seen.digests) == 7
    assert few_copies(views, 1, among=np.zeros(7, dtype=bool)).samples is views


def test_first_copies_are_those_of_a_given_order(X):
    views = Views.of_table(X[[0, 1, 0, 0, 2, 0, 1]])
    found = few_copies(views, 2, order=np.array([6, 5, 4, 3, 2, 1, 0]))
    assert_array_equal(found.kept, [6, 5, 4, 3, 1])
    assert_array_equal(found.copies, [1, 0, 1, 1, 2, 1, 0])
    assert_array_equal(found.samples.tables[0], views.tables[0][found.kept])
    assert_array_equal(found.seen.digests, views.digests())


@pytest.mark.parametrize("most", [2, 9])
def test_by_value_the_order_of_the_input_does_not_matter(X, most):
    rng = np.random.default_rng(1)
    table, codes = X[rng.integers(12, size=60)], rng.integers(-1, 2, size=60)
    first = prepare(Views.of_table(table), "zscore", most_copies=most, codes=codes, by_value=True)
    order = rng.permutation(60)
    other = prepare(Views.of_table(table[order]), "zscore", most_copies=most, codes=codes[order], by_value=True)
    assert_array_equal(other.compared[0].samples.tables[0], first.compared[0].samples.tables[0])
    assert_array_equal(codes[order][other.rows], codes[first.rows])
    for found, given in ((first, table), (other, table[order])):
        assert_array_equal(found.kept.tables[0], given[found.rows])
        assert_array_equal(found.kept.tables[0][found.copies], given)
        assert_array_equal(found.seen.find(Views.of_table(given)), np.arange(60))


@pytest.mark.parametrize("copies", [1, 12])
def test_samples_that_are_all_equal_or_all_different_are_kept(X, copies):
    table = np.repeat(X[: 12 // copies], copies, axis=0)
    found = prepare(Views.of_table(table), "none", most_copies=2)
    assert found.kept.n_samples == 12
    assert_array_equal(found.copies, np.arange(12))


def test_kernel_matrices_are_their_only_version(X):
    stack = read_stack(np.stack([X @ X.T, (X @ X.T) ** 2]))
    found = prepare(stack, "auto", most_copies=1)
    ((version, samples),) = found.compared
    assert samples is stack
    assert found.kept is None  # no table of samples
    assert (version.name, dict(version.scalings)) == ("given", {})


def test_other_samples_in_the_same_versions_have_constants_of_their_own(X):
    versions = [one.version for one in prepare(Views.of_table(X), "auto", most_copies=2).compared]
    other = Views.of_table(5 * X + 1)
    again = compared_again(versions, other)
    assert [one.version.name for one in again] == [version.name for version in versions]
    for one in again:
        assert_array_equal(one.samples.tables[0], other.scaled(one.version.scalings).tables[0])
    np.testing.assert_allclose(again[1].version.scalings["X"].mean, (5 * X + 1).mean(axis=0))
