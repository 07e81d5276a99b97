"""Precomputed kernel matrices: what can be used of them, and their bank."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from kernelweave.errors import InvalidInputError
from kernelweave.kernels import PrecomputedBank
from kernelweave.samples.precomputed import read_cross_stack, read_stack

X = np.random.default_rng(0).normal(size=(6, 3))
K = X @ X.T
H = np.stack([K, K + 1])
NEW = H[:, :2] + 0.5


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (K, ("kernel 0",)),
        (K.tolist, None),
        (H, ("kernel 0", "kernel 1")),
        ([K, K + 1], ("kernel 0", "kernel 1")),
        ({"a": K, "b": K + 1}, ("a", "b")),
    ],
    ids=["one", "one as lists", "array", "list", "dict"],
)
def test_matrices_are_read_however_they_come(given, names):
    if names is None:  # rows of numbers are not matrices
        with pytest.raises(InvalidInputError, match=r"'kernel 0' must be a square \(n, n\) matrix; got shape \(6,\)"):
            read_stack(given())
        return
    stack = read_stack(given)
    assert stack.names == names
    assert_array_equal(stack.matrices, H[: len(names)])
    assert stack.n_samples == 6


def test_single_precision_is_kept_where_all_matrices_have_it():
    assert read_stack(H.astype(np.float32)).dtype == np.float32
    assert read_stack([K.astype(np.float32), K]).dtype == np.float64
    assert read_stack(np.ones((2, 2), dtype=int)).dtype == np.float64
    assert read_stack(H).astype(np.float32).dtype == np.float32


def with_value(value):
    bad = K.copy()
    bad[1, 2] = bad[2, 1] = value
    return bad


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "No kernel matrix was given"),
        ({}, "No kernel matrix was given"),
        (X, r"'kernel 0' must be a square \(n, n\) matrix; got shape \(6, 3\). Did you mean kernels='released-12'"),
        ([K, K[:5, :5]], "must compare the same samples: 'kernel 0' has 6, 'kernel 1' has 5"),
        (np.ones((1, 1)), r"Found a kernel matrix of 1 sample \(shape \(1, 1\)\) while a minimum of 2 is required"),
        ({"a": sparse.csr_array(K)}, "'a' is a sparse matrix; precomputed kernels are dense"),
        (K.astype(complex), "must hold real numbers; got dtype complex128"),
        (with_value(np.nan), "holds 2 NaN or infinite value.*, the first at row 1, column 2"),
        (K + np.arange(6), r"must be symmetric; \|K - K'\| is up to 5"),
    ],
)
def test_matrices_that_cannot_be_used_are_refused(given, message):
    with pytest.raises(InvalidInputError, match=message):
        read_stack(given)


def test_matrices_of_new_samples_are_put_in_the_order_of_fit():
    stack = read_cross_stack({"b": NEW[1], "a": NEW[0]}, ("a", "b"), 6)
    assert stack.names == ("a", "b")
    assert_array_equal(stack.matrices, NEW)
    assert stack.n_samples == 2
    assert_array_equal(read_cross_stack(NEW, ("a", "b"), 6).matrices, NEW)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": NEW[0], "c": NEW[1]}, "fitted on the kernels a, b; got a, c"),
        (NEW[0], "fitted on the kernels a, b; got kernel 0"),
        (NEW[:, :, :5], r"each of the 6 training samples: expected shape \(2, 6\); got \(2, 5\)"),
        ([NEW[0], NEW[1, :1]], r"'b' must hold .* expected shape \(2, 6\); got \(1, 6\)"),
        (np.full((2, 2, 6), np.inf), "'a' holds 12 NaN or infinite"),
    ],
)
def test_matrices_of_new_samples_that_do_not_fit_are_refused(given, message):
    with pytest.raises(InvalidInputError, match=message):
        read_cross_stack(given, ("a", "b"), 6)


def test_a_bank_of_precomputed_kernels_gives_them_back():
    stack = read_stack({"a": K, "b": K + 1})
    bank = PrecomputedBank(stack.names)
    assert bank.names == ("a", "b")
    assert bank.views == ("kernels", "kernels")
    assert len(bank) == 2
    assert bank.fit(stack).fit_grams(stack) is stack.matrices
    new = read_cross_stack(NEW, bank.names, 6)
    assert bank.unfitted().grams(new, stack) is new.matrices
    tile = bank.fit_tiles(stack)
    assert_array_equal(tile(slice(0, 2), slice(1, 5)), H[:, :2, 1:5])
    assert tile(slice(0, 2), slice(1, 5), np.float32).dtype == np.float32
