"""Samples without structure: they look like the samples, but have no clusters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

from kernelweave import Views
from kernelweave.samples.prepared import without_structure

KINDS = ["normal", "permuted"]


def made(X, kind="normal", seed=0):
    """Return the table without structure."""
    return without_structure(Views.of_table(X), np.random.RandomState(seed), kind).tables[0]


@pytest.fixture(scope="module")
def blobs():
    X, _ = make_blobs(2000, n_features=3, centers=4, random_state=0)
    return X @ np.array([[1, 0.5, 0], [0, 1, 2], [0, 0, 0.1]]) + [5, -100, 0]


@pytest.fixture
def text():
    return sparse.random_array((60, 200), density=0.04, rng=np.random.default_rng(0), format="csr")


def test_normal_samples_have_the_means_and_covariances_of_the_samples(blobs):
    found = made(blobs)
    deviations = blobs.std(axis=0)
    assert_allclose(found.mean(axis=0), blobs.mean(axis=0), atol=0.1 * deviations.max())
    assert_allclose(
        np.cov(found.T) / np.outer(deviations, deviations),
        np.cov(blobs.T) / np.outer(deviations, deviations),
        atol=0.1,
    )


def test_normal_samples_have_no_clusters(blobs):
    z = (made(blobs) - blobs.mean(axis=0)) / blobs.std(axis=0)
    kurtosis = (z**4).mean(axis=0) / (z**2).mean(axis=0) ** 2
    assert_allclose(kurtosis, 3, atol=0.4)


def test_permuted_columns_keep_their_values_and_lose_their_correlation(blobs):
    found = made(blobs, "permuted")
    assert_array_equal(np.sort(found, axis=0), np.sort(blobs, axis=0))
    off = ~np.eye(3, dtype=bool)
    assert np.abs(np.corrcoef(found.T)[off]).max() < 0.1 < np.abs(np.corrcoef(blobs.T)[off]).max()


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_that_is_mostly_zero_is_permuted_and_stays_as_thin(text, kind):
    found = made(text, kind)
    assert isinstance(found, sparse.csr_array)
    assert found.nnz == text.nnz
    assert_allclose(np.sort(found.toarray(), axis=0), np.sort(text.toarray(), axis=0))
    assert (found != text).nnz > 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_draw_does_not_depend_on_the_format_of_the_table(text, blobs, kind):
    for table in (text, sparse.csr_array(np.abs(blobs[:50]))):
        thin, full = made(table, kind), made(table.toarray(), kind)
        assert_array_equal(thin.toarray() if sparse.issparse(thin) else thin, full)


@pytest.mark.parametrize("kind", KINDS)
def test_zeros_that_are_stored_are_zeros(text, kind):
    stored = text.copy()
    stored.data[::2] = 0
    clean = stored.copy()
    clean.eliminate_zeros()
    assert_array_equal(made(stored, kind).toarray(), made(clean, kind).toarray())


@pytest.mark.parametrize("kind", KINDS)
def test_the_samples_do_not_depend_on_the_order_of_those_that_they_are_made_of(blobs, kind):
    X = blobs[:60]
    order = np.random.default_rng(0).permutation(60)
    here, there = made(X, kind), made(X[order], kind)
    assert_allclose(here[np.lexsort(here.T)], there[np.lexsort(there.T)], rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_gaps_stay_where_they_are(blobs, kind):
    views = Views({"a": blobs[:60], "b": blobs[:60, ::-1]}, missing={"b": [4, 10, 11]})
    found = without_structure(views, np.random.RandomState(0), kind)
    assert_array_equal(found.present, views.present)
    assert [table.shape for table in found.tables] == [table.shape for table in views.tables]
    assert found.names == views.names


def test_views_of_the_same_samples_stay_correlated_as_normal_samples(blobs):
    views = Views({"a": blobs, "b": 3 * blobs})
    a, b = without_structure(views, np.random.RandomState(0), "normal").tables
    assert_allclose(b, 3 * a, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides_and_the_samples_are_not_changed(blobs, kind):
    X = blobs[:60].copy()
    assert_array_equal(made(X, kind), made(X, kind))
    assert (made(X, kind) != made(X, kind, seed=1)).any()
    assert_array_equal(X, blobs[:60])
    assert made(X.astype(np.float32), kind).dtype == np.float32


def test_tables_without_negative_values_may_stay_so_and_others_are_not_changed():
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(50, 4))
    plain, kept = (
        without_structure(Views.of_table(X), np.random.RandomState(0), "normal", signs=signs).tables[0]
        for signs in (False, True)
    )
    assert plain.min() < 0
    assert_array_equal(kept, np.maximum(plain, 0))
    signed = Views.of_table(X - 1)
    with_signs = without_structure(signed, np.random.RandomState(0), "normal", signs=True).tables[0]
    assert_array_equal(with_signs, without_structure(signed, np.random.RandomState(0), "normal").tables[0])
