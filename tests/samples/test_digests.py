"""Samples are recognised by their content, whatever form it has."""

import itertools
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave import Views
from kernelweave.errors import NewSamplesError
from kernelweave.samples import KernelStack, Seen, digests
from kernelweave.samples.digests import row_digests

X = np.round(np.random.default_rng(0).normal(size=(9, 4)), 3)
B = np.random.default_rng(1).normal(size=(9, 2))


def seen(samples):
    return Seen(samples.digests())


def test_rows_have_equal_digests_if_and_only_if_their_numbers_are_equal():
    D = row_digests(np.vstack([X, X[3], X[3] + 1e-9]))
    assert D.shape == (11, 16)
    assert_array_equal(D[9], D[3])
    assert len(np.unique(D, axis=0)) == 10


def test_neither_precision_nor_order_in_memory_nor_the_sign_of_zero_changes_a_digest():
    Z = np.round(X, 1).astype(np.float32)
    Z[0] = 0
    assert_array_equal(row_digests(Z), row_digests(Z.astype(np.float64)))
    assert_array_equal(row_digests(np.asfortranarray(Z)), row_digests(Z))
    assert_array_equal(row_digests(-Z)[0], row_digests(Z)[0])


def test_blocks_of_rows_change_no_digest(monkeypatch):
    whole = row_digests(X)
    monkeypatch.setattr(digests, "_BLOCK", 4)
    assert_array_equal(row_digests(X), whole)


def test_stored_zeros_and_duplicates_of_a_sparse_table_change_no_digest():
    plain = sparse.csr_array(np.array([[1.0, 0, 3], [0, 2, 0]]))
    odd = sparse.coo_array(([1.0, 0.0, 1, 2, 2], ([0, 0, 0, 0, 1], [0, 1, 2, 2, 1])), shape=(2, 3)).tocsr()
    assert_array_equal(row_digests(odd), row_digests(plain))


def test_a_sparse_table_has_the_digests_of_the_dense_one(monkeypatch):
    Z = np.where(np.abs(X) < 0.7, 0, X)
    Z[3] = 0
    assert_array_equal(row_digests(sparse.csr_array(Z)), row_digests(Z))
    monkeypatch.setattr(digests, "_BLOCK", 4)
    assert_array_equal(row_digests(sparse.csr_array(Z.astype(np.float32))), row_digests(Z.astype(np.float32)))


def test_small_whole_numbers_in_all_orders_have_digests_of_their_own():
    rows = np.array(list(itertools.product((-2, -1, 0, 1, 2, 3), repeat=6)), dtype=np.float64)
    found = row_digests(rows)
    assert len(np.unique(found, axis=0)) == len(rows)
    words = found.view(np.uint64)
    assert len(np.unique(words[:, 0])) == len(np.unique(words[:, 1])) == len(rows)


def test_the_bits_of_digests_are_even():
    bits = np.unpackbits(row_digests(np.arange(40_000.0).reshape(20_000, 2)), axis=1).mean(axis=0)
    assert_allclose(bits, 0.5, atol=0.02)  # five standard deviations


def test_digests_are_sorted_once(monkeypatch):
    known = seen(Views.of_table(X))
    first = known.find(Views.of_table(X[[4, 2]]))
    monkeypatch.setattr(digests.np, "lexsort", lambda keys: pytest.fail("sorted again"))
    assert_array_equal(known.find(Views.of_table(X[[4, 2]])), first)
    assert vars(pickle.loads(pickle.dumps(known))).keys() == {"digests"}


def test_every_training_sample_is_found_in_any_order_and_new_ones_are_not():
    known = seen(Views.of_table(X))
    asked = np.vstack([X[[5, 2]], X[:1] + 1, X[[2]]])
    assert_array_equal(known.find(Views.of_table(asked)), [5, 2, -1, 2])


def test_copies_of_a_sample_are_found_at_the_first_but_in_the_training_set_at_themselves():
    twice = np.vstack([X, X])
    known = seen(Views.of_table(twice))
    assert_array_equal(known.find(Views.of_table(X)), np.arange(9))
    assert_array_equal(known.find(Views.of_table(twice)), np.arange(18))


def test_new_samples_are_an_error_where_only_training_samples_have_an_answer():
    known = seen(Views.of_table(X))
    assert_array_equal(known.rows(Views.of_table(X[4:6])), [4, 5])
    with pytest.raises(NewSamplesError, match=r"1 of 3 samples was not part of fit \(first: row 2\)"):
        known.rows(Views.of_table(np.vstack([X[:2], X[:1] + 1])))


def test_a_sample_that_lacks_a_view_is_another_than_one_that_has_it():
    whole, gap = Views([X, B]), Views([X, B], missing={"view 1": [3]})
    assert_array_equal(seen(whole).find(gap), [0, 1, 2, -1, 4, 5, 6, 7, 8])
    assert_array_equal(seen(gap).find(gap.select([8, 3])), [8, 3])


def test_the_same_numbers_in_another_view_are_another_sample():
    both = np.vstack([X, X])
    first = Views({"a": both, "b": both}, missing={"a": range(9, 18), "b": range(9)})
    assert len(np.unique(first.digests(), axis=0)) == 18


def test_one_view_has_the_digests_of_its_table():
    assert_array_equal(Views({"genes": X}).digests(), row_digests(X))


def test_precomputed_kernels_tell_samples_by_their_rows():
    stack = KernelStack(np.stack([X @ X.T, B @ B.T]), ("a", "b"))
    assert_array_equal(seen(stack).find(stack.select([7, 0])), [7, 0])
    other = KernelStack(stack.matrices + 1, stack.names)
    assert_array_equal(seen(stack).find(other), np.full(9, -1))
