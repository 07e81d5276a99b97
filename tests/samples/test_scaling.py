import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine

from kernelweave.errors import InvalidInputError
from kernelweave.samples.scaling import fit_scaling


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def text(rng):
    return sparse.random_array((40, 300), density=0.05, rng=rng, format="csr")


def test_unit_rows_have_length_one_and_a_row_of_zeros_stays(rng):
    X = rng.normal(size=(10, 4))
    X[3] = 0
    lengths = np.linalg.norm(fit_scaling(X, "unit").transform(X), axis=1)
    assert_allclose(lengths, np.where(np.arange(10) == 3, 0, 1))


def test_unit_rows_of_a_sparse_matrix_are_those_of_the_dense_one_and_stay_sparse(text):
    thin = fit_scaling(text, "unit").transform(text)
    assert sparse.issparse(thin)
    assert_allclose(thin.toarray(), fit_scaling(text.toarray(), "unit").transform(text.toarray()))


def test_zscores_have_mean_zero_and_deviation_one_and_constant_columns_become_zero(rng):
    X = rng.normal(3, 5, size=(50, 4))
    X[:, 2] = 7.1
    Z = fit_scaling(X, "zscore").transform(X)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    assert_allclose(Z.std(axis=0), [1, 1, 0, 1], atol=1e-12)


def test_new_samples_are_measured_by_the_training_samples(rng):
    X, new = rng.normal(3, 5, size=(50, 4)), rng.normal(size=(3, 4))
    scaling = fit_scaling(X, "zscore")
    assert_allclose(scaling.transform(new), (new - X.mean(axis=0)) / X.std(axis=0))


def test_zscores_of_a_sparse_matrix_are_divided_only(text):
    Z = fit_scaling(text, "zscore").transform(text)
    assert sparse.issparse(Z)
    assert Z.nnz == text.nnz
    filled = np.diff(text.tocsc().indptr) > 0
    assert_allclose(Z.toarray().std(axis=0)[filled], 1)


@pytest.mark.parametrize("method", ["unit", "zscore", "none"])
@pytest.mark.parametrize("thin", [False, True])
def test_single_precision_is_kept(text, method, thin):
    X = (text if thin else text.toarray()).astype(np.float32)
    assert fit_scaling(X, method).transform(X).dtype == np.float32


def test_nothing_is_done_on_request(rng):
    X = rng.normal(size=(5, 3))
    assert fit_scaling(X, "none").transform(X) is X


@pytest.mark.parametrize(
    ("X", "method", "reason"),
    [
        (load_digits().data, "unit", "like pixels"),
        (load_wine().data, "zscore", "the ranges of the 13 columns differ"),
        (load_iris().data, "none", "too few"),
        (np.ones((5, 3)), "none", "constant"),
    ],
)
def test_auto_decides_from_the_data_and_says_why(X, method, reason):
    scaling = fit_scaling(X)
    assert scaling.method == method
    assert reason in scaling.reason


def test_auto_takes_a_thin_sparse_matrix_for_text(text):
    scaling = fit_scaling(text)
    assert (scaling.method, "like text" in scaling.reason) == ("unit", True)


def test_auto_leaves_a_table_with_indicator_columns_alone(rng):
    X = sparse.csr_array(np.hstack([rng.uniform(0.1, 1, size=(40, 8)), np.eye(40)]))
    scaling = fit_scaling(X)
    assert (scaling.method, "8 columns" in scaling.reason) == ("none", True)


def test_auto_does_not_depend_on_the_order_of_samples_or_columns(rng):
    X = load_wine().data
    assert fit_scaling(X[rng.permutation(len(X))][:, rng.permutation(13)]).reason == fit_scaling(X).reason


@pytest.mark.parametrize("method", ["z", None, 3])
def test_an_unknown_scale_is_refused(method):
    with pytest.raises(InvalidInputError, match="scale must be one of 'auto', 'unit', 'zscore', 'none'; got"):
        fit_scaling(np.eye(3), method)


@pytest.mark.parametrize("power", [-1000, -500, -1, 0, 3, 500, 1000])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_what_is_chosen_and_made_of_a_table_does_not_depend_on_its_unit(load, power):
    X = load().data
    first, second = fit_scaling(X), fit_scaling(X * 2.0**power)
    assert (second.method, second.reason) == (first.method, first.reason)
    assert_allclose(second.transform(X * 2.0**power), first.transform(X), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("factor", [1e-310, 1e-150, 1e6, 1e150, 1e300])
@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("method", ["auto", "unit", "zscore"])
def test_neither_large_nor_small_values_overflow(rng, factor, thin, method):
    X = rng.normal(size=(30, 4))
    make = sparse.csr_array if thin else np.asarray
    found, expected = (fit_scaling(make(Z), method).transform(make(Z)) for Z in (X * factor, X))
    found, expected = (Z.toarray() if thin else Z for Z in (found, expected))
    if method == "auto":  # between two powers of two
        assert 0.5 < np.abs(found).max() / np.abs(expected).max() < 2
        found, expected = (Z / np.abs(Z).max() for Z in (found, expected))
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9 if factor > 1e-300 else 1e-2)  # few digits of those are left


def test_a_tiny_row_of_an_ordinary_table_has_a_direction_too(rng):
    X = rng.normal(size=(10, 4))
    expected = fit_scaling(X, "unit").transform(X)
    X[3] *= 1e-200
    X[4] *= 1e200
    assert_allclose(fit_scaling(X, "unit").transform(X), expected, rtol=1e-12)
    thin = sparse.csr_array(X)
    assert_allclose(fit_scaling(thin, "unit").transform(thin).toarray(), expected, rtol=1e-12)
    single = (X[:4] * [[1], [1], [1], [1e170]]).astype(np.float32)  # about 1e-30, whose square is 0 in this precision
    assert_allclose(fit_scaling(single, "unit").transform(single), expected[:4], rtol=1e-5)


def test_a_user_who_asks_for_none_gets_the_samples_as_they_are(rng):
    X = rng.normal(size=(10, 4)) * 1e6
    assert fit_scaling(X, "none").transform(X) is X
    assert 4 <= np.abs(fit_scaling(X).transform(X)).max() < 8


@pytest.mark.parametrize("thin", [False, True])
def test_a_table_of_ordinary_size_stays_as_it_is(thin):
    X = load_iris().data if not thin else sparse.csr_array(load_iris().data / 7.9)
    found = fit_scaling(X).transform(X)
    assert ((found != X).nnz if thin else (found != X).sum()) == 0


def test_new_samples_are_divided_by_the_number_of_the_training_samples(rng):
    X = rng.normal(size=(10, 4))
    scaling = fit_scaling(X)
    assert_allclose(scaling.transform(3 * X), 3 * scaling.transform(X))
