import pickle
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave import WeaveClustering
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import (
    Centered,
    Cosine,
    CosineNormalized,
    DiameterNormalized,
    Gaussian,
    Kernel,
    KernelBank,
    Laplacian,
    Linear,
    MaxNormalized,
    Pair,
    Pairwise,
    Polynomial,
    SelfTuning,
    as_kernel,
    recipe,
)
from kernelweave.kernels.bank import weighted_products


def overlap(x, y):
    return float(np.minimum(x, y).sum())


def undefined(x, y):
    return float("nan")


@pytest.fixture
def X():
    return np.random.default_rng(0).random((17, 4))


@pytest.fixture
def Z():
    return np.random.default_rng(1).random((5, 4))


@pytest.fixture
def bank():
    return KernelBank({"near": Gaussian(0.1), "line": Linear(), "rbf": "rbf", "mine": overlap})


# what a bank is made of


def test_a_mapping_names_its_kernels_in_order(bank):
    assert bank.names == ("near", "line", "rbf", "mine")
    assert bank.kernels == (Gaussian(0.1), Linear(), Pairwise("rbf"), Pairwise(overlap))
    assert len(bank) == 4


def test_kernels_of_a_list_are_named_after_themselves():
    bank = KernelBank([Gaussian(0.1), "cosine", overlap, Pairwise("rbf", {"gamma": 2})])
    assert bank.names == ("gaussian(t=0.1)", "cosine", "overlap", "rbf(gamma=2)")


def test_a_tuple_is_as_good_as_a_list():
    assert KernelBank((Linear(), Cosine())).names == KernelBank([Linear(), Cosine()]).names


def test_a_repeated_name_gets_its_count_and_no_kernel_is_lost(X):
    bank = KernelBank([Gaussian(), Gaussian(t=1), Linear(), Gaussian(diameter=2.0), CosineNormalized(Linear())])
    assert bank.names == ("gaussian(t=1)", "gaussian(t=1) #2", "linear", "gaussian(t=1) #3", "linear #2")
    H = bank.fit_grams(X)
    assert_array_equal(H[0], H[1])
    assert not np.allclose(H[2], H[4])


def test_a_function_without_a_name_is_called_callable():
    assert KernelBank([partial(overlap)]).names == ("callable",)


def test_the_repr_tells_whether_the_bank_is_fitted(bank, X):
    assert repr(bank) == "KernelBank(near, line, rbf, mine; not fitted)"
    assert repr(bank.fit(X)) == "KernelBank(near, line, rbf, mine; fitted)"


def test_as_kernel_returns_a_kernel_as_it_is():
    kernel = Gaussian()
    assert as_kernel(kernel) is kernel
    assert as_kernel("rbf") == Pairwise("rbf")


@pytest.mark.parametrize("kernels", [[], {}, ()])
def test_a_bank_of_no_kernels_is_refused(kernels):
    with pytest.raises(InvalidInputError, match="at least one kernel"):
        KernelBank(kernels)


@pytest.mark.parametrize("kernels", ["rbf", Gaussian(), 3, None])
def test_a_bank_takes_nothing_but_a_mapping_or_a_list(kernels):
    with pytest.raises(InvalidInputError, match="mapping of names to kernels or a list of kernels; got"):
        KernelBank(kernels)


@pytest.mark.parametrize("wrong", [3, None, [Linear()]])
def test_what_is_no_kernel_is_refused_by_value(wrong):
    with pytest.raises(InvalidInputError, match="A kernel is a name or a function of two samples; got"):
        KernelBank([Linear(), wrong])


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInputError, match=r"Unknown kernel 'gauss': scikit-learn has .*rbf"):
        KernelBank({"a": "gauss"})


def test_a_class_in_place_of_a_kernel_is_refused_with_the_remedy():
    with pytest.raises(InvalidInputError, match=r"class Gaussian was given: write Gaussian\(\.\.\.\)"):
        KernelBank([Gaussian])


def test_names_that_read_the_same_are_refused():
    with pytest.raises(InvalidInputError, match="names of kernels must differ"):
        KernelBank({1: Linear(), "1": Cosine()})


# fitting


def test_fit_changes_the_bank_in_place_and_returns_it(bank, X):
    assert bank.fit(X) is bank
    assert bank.kernels[0].diameter == pytest.approx(np.sqrt(Pair(X).sqdist.max()))


def test_kernels_of_several_widths_share_the_largest_distance(X, monkeypatch):
    calls, distances = [], Laplacian.distances
    monkeypatch.setattr(Laplacian, "distances", lambda self, pair: calls.append(1) or distances(self, pair))
    near, far, euclidean = KernelBank([Laplacian(0.1), Laplacian(1), Gaussian(1)]).fit(X).kernels
    assert len(calls) == 1
    assert near.diameter == far.diameter == Laplacian().fit(X).diameter != euclidean.diameter


def test_fitting_again_starts_from_the_kernels_as_given(bank, X):
    again = KernelBank({"near": Gaussian(0.1), "line": Linear(), "rbf": "rbf", "mine": overlap}).fit(3 * X)
    bank.fit(X).fit(3 * X)
    assert_array_equal(bank.grams(X), again.grams(X))


def test_a_failed_fit_leaves_the_fitted_bank_as_it_was(bank, X):
    before = bank.fit(X).grams(X)
    with pytest.raises(InvalidInputError, match="identical"):
        bank.fit(np.ones((4, 9)))
    assert_array_equal(bank.grams(X), before)


def test_unfitted_returns_a_bank_of_the_same_kernels_without_constants(bank, X):
    fresh = bank.fit(X).unfitted()
    assert fresh.names == bank.names
    assert fresh.kernels[0] == Gaussian(0.1)
    with pytest.raises(InvalidInputError, match="not fitted"):
        fresh.grams(X)


@pytest.mark.parametrize("use", ["grams", "each"])
def test_a_bank_that_is_not_fitted_says_so_at_the_call(bank, X, use):
    with pytest.raises(InvalidInputError, match=r"not fitted: call bank\.fit\(X\)"):
        getattr(bank, use)(X)


def test_a_pickled_bank_gives_the_same_matrices(bank, X, Z):
    bank.fit(X)
    assert_array_equal(pickle.loads(pickle.dumps(bank)).grams(Z, X), bank.grams(Z, X))


# matrices


def test_grams_stacks_the_matrix_of_every_kernel(bank, X, Z):
    bank.fit(X)
    assert bank.grams(X).shape == (4, 17, 17)
    assert bank.grams(Z, X).shape == (4, 5, 17)
    assert bank.grams(X, Z).shape == (4, 17, 5)
    for K, kernel in zip(bank.grams(Z, X), bank.kernels, strict=True):
        assert_array_equal(K, kernel.gram(Z, X))


def test_fit_grams_is_fit_and_grams(bank, X):
    assert_array_equal(bank.fit_grams(X), bank.unfitted().fit(X).grams(X))
    assert "; fitted" in repr(bank)


def test_each_yields_the_same_matrices_one_at_a_time(bank, X, Z):
    bank.fit(X)
    matrices = bank.each(Z, X)
    assert iter(matrices) is matrices
    assert_array_equal(np.stack(list(matrices)), bank.grams(Z, X))


def test_each_computes_a_matrix_only_when_it_is_asked_for(X):
    calls = []

    def counted(x, y):
        calls.append(1)
        return 1.0

    matrices = KernelBank([Linear(), counted]).fit(X).each(X)
    next(matrices)
    assert not calls
    next(matrices)
    assert calls


def test_the_precision_of_the_stack_is_that_of_the_samples(bank, X, Z):
    bank.fit(X.astype(np.float32))
    assert bank.grams(X.astype(np.float32)).dtype == np.float32
    assert bank.grams(Z, X.astype(np.float32)).dtype == np.float64
    assert KernelBank([Linear()]).fit_grams(sparse.csr_array(X.astype(np.float32))).dtype == np.float32


def count_calls(monkeypatch, *names):
    calls = dict.fromkeys(names, 0)

    def counting(name, original):
        def call(self):
            calls[name] += not hasattr(self, "_tile_of")  # a tile slices the products of the whole pair
            return original(self)

        return call

    for name in names:
        prop = getattr(Pair, name)
        monkeypatch.setattr(prop, "func", counting(name, prop.func))
    return calls


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("use", ["fit", "grams", "cross", "fit_grams", "each"])
def test_products_and_distances_are_computed_once_per_call(X, Z, make, use, monkeypatch):
    bank = recipe("released-12").fit(make(X))
    calls = count_calls(monkeypatch, "inner", "sqdist")
    uses = {
        "fit": lambda: bank.fit(make(X)),
        "grams": lambda: bank.grams(make(X)),
        "cross": lambda: bank.grams(make(Z), make(X)),
        "fit_grams": lambda: bank.fit_grams(make(X)),
        "each": lambda: list(bank.each(make(X))),
    }
    uses[use]()
    assert calls == {"inner": 1, "sqdist": 1}


def test_local_scales_and_means_of_the_training_samples_are_taken_from_the_same_products(X, monkeypatch):
    bank = KernelBank([SelfTuning(), Centered(Gaussian()), MaxNormalized(Linear()), DiameterNormalized(Polynomial())])
    calls = count_calls(monkeypatch, "inner", "sqdist")
    bank.fit_grams(X)
    assert calls == {"inner": 1, "sqdist": 1}


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_tiles_put_together_are_the_matrices_and_share_their_products(X, make, monkeypatch):
    H = recipe("released-7").fit_grams(X)
    calls = count_calls(monkeypatch, "inner", "sqdist")
    tile = recipe("released-7").fit_tiles(make(X))
    parts = (slice(0, 7), slice(7, 17))
    tiles = np.block([[tile(rows, cols) for cols in parts] for rows in parts])
    assert_allclose(tiles, H, rtol=1e-12, atol=1e-14)
    assert calls == {"inner": 1, "sqdist": 1}


def test_a_kernel_cannot_spoil_the_products_that_others_read(X):
    class Careless(Kernel):
        def evaluate(self, pair):
            K = pair.inner
            K *= 2
            return K

        def diag(self, X):
            return 2 * np.square(X).sum(axis=1)

    with pytest.raises(ValueError, match="read-only"):
        KernelBank([Careless(), Linear()]).fit_grams(X)


def test_a_kernel_that_is_no_dataclass_works_and_is_named_after_its_class(X):
    class Twice(Kernel):
        def evaluate(self, pair):
            return 2 * pair.inner

        def diag(self, X):
            return 2 * np.square(X).sum(axis=1)

    bank = KernelBank([Twice()])
    assert bank.names == ("twice",)
    assert_allclose(bank.fit_grams(X)[0], 2 * X @ X.T, rtol=1e-13)


# samples that cannot be used


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_values_that_are_not_finite_are_counted_and_refused(bank, X, make, bad):
    spoiled = X.copy()
    spoiled[2, 1] = spoiled[5, 0] = bad
    with pytest.raises(InvalidInputError, match=r"X holds 2 NaN or infinite values.*Impute or drop"):
        bank.fit(make(spoiled))
    with pytest.raises(InvalidInputError, match=r"X holds 2 NaN or infinite"):
        bank.fit_grams(make(spoiled))
    with pytest.raises(InvalidInputError, match=r"Y holds 2 NaN or infinite"):
        bank.fit(X).grams(X, make(spoiled))


@pytest.mark.parametrize("shape", [(0, 4), (3, 0)])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_an_empty_table_is_refused_with_its_shape(bank, X, make, shape):
    with pytest.raises(InvalidInputError, match=rf"X is empty: its shape is \({shape[0]}, {shape[1]}\)"):
        bank.fit(make(np.zeros(shape)))


def test_empty_new_samples_are_refused(bank, X):
    with pytest.raises(InvalidInputError, match=r"Y is empty: its shape is \(0, 4\)"):
        bank.fit(X).grams(X, X[:0])


@pytest.mark.parametrize(
    ("table", "shape"),
    [
        (np.ones(3), r"1 dimension, shape \(3,\)"),
        ([1.0, 2.0], r"1 dimension, shape \(2,\)"),
        (np.ones((2, 3, 4)), r"3 dimensions, shape \(2, 3, 4\)"),
        (sparse.coo_array(np.ones(3)), r"1 dimension, shape \(3,\)"),
        (sparse.coo_array(np.ones((2, 3, 4))), r"3 dimensions, shape \(2, 3, 4\)"),
        (1.0, r"0 dimensions, shape \(\)"),
    ],
)
def test_what_is_no_table_is_refused_with_its_shape(bank, table, shape):
    with pytest.raises(InvalidInputError, match=f"2-d table.*got {shape}"):
        bank.fit(table)


@pytest.mark.parametrize(
    "table",
    [
        np.ones((3, 2), dtype=complex),
        np.array([["a", "b"], ["c", "d"]]),
        np.array([[1, "b"], [2, None]], dtype=object),
        np.array([["2020-01-01"]], dtype="datetime64[D]"),
        sparse.csr_array(np.ones((3, 2), dtype=complex)),
    ],
    ids=["complex", "text", "object", "dates", "sparse complex"],
)
def test_what_is_no_real_number_is_refused_with_its_type(bank, table):
    with pytest.raises(InvalidInputError, match=f"must be real numbers; got dtype {table.dtype}".replace("[", r"\[")):
        bank.fit(table)


def test_two_tables_of_different_features_are_refused(bank, X):
    with pytest.raises(InvalidInputError, match="X has 4 features but Y has 3"):
        bank.fit(X).grams(X, X[:, :3])


@pytest.mark.parametrize("use", ["grams", "each"])
def test_features_other_than_those_of_the_training_samples_are_refused(bank, X, use):
    bank.fit(X)
    with pytest.raises(InvalidInputError, match="X has 3 features, but the bank was fitted on samples of 4"):
        getattr(bank, use)(X[:, :3])


# kernels that misbehave


def test_a_kernel_that_gives_nan_is_named(X):
    bank = KernelBank([Linear(), undefined]).fit(X)
    with pytest.raises(InvalidInputError, match="Kernel 'undefined' gave inf or NaN"):
        bank.grams(X)
    matrices = bank.each(X)
    next(matrices)
    with pytest.raises(InvalidInputError, match="Kernel 'undefined' gave inf or NaN"):
        next(matrices)


def test_a_kernel_that_overflows_is_named(X):
    bank = KernelBank({"steep": Polynomial(degree=400)}).fit(X)
    with np.errstate(over="ignore"), pytest.raises(InvalidInputError, match="Kernel 'steep' gave inf or NaN"):
        bank.grams(1000 * X)


def test_a_kernel_that_gives_a_matrix_of_the_wrong_shape_is_named(X):
    class Flat(Kernel):
        def evaluate(self, pair):
            return np.ones(pair.X.shape[0])

        def diag(self, X):
            return np.ones(len(X))

    with pytest.raises(InvalidInputError, match=r"Kernel 'flat' gave a matrix of shape \(17,\); expected \(17, 17\)"):
        KernelBank([Flat()]).fit_grams(X)


def test_samples_whose_products_overflow_in_single_precision_are_refused_without_a_warning_of_numpy():
    X = np.sign(np.random.default_rng(0).normal(size=(16, 3))) * 1e38
    with pytest.raises(InvalidInputError, match="gave inf or NaN for these samples"):
        WeaveClustering(3, scale="none").fit(X)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_sum_of_kernels_that_is_not_finite_is_refused_with_their_names():
    pair = Pair(np.ones((3, 2), dtype=np.float32))
    with pytest.raises(InvalidInputError, match=r"kernels 1e\+300 \* linear.*, linear.* gave inf or NaN"):
        weighted_products([1e300 * Linear(), Linear()], np.array([0.5, 0.5]), pair, lambda kernel: None)
