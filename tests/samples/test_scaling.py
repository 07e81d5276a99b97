from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine

from kernelweave import Views
from kernelweave.errors import InvalidInputError, NotEnoughMemoryError
from kernelweave.samples import scaling as scaling_module
from kernelweave.samples.scaling import fit_by_view, fit_scaling, fit_versions


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
    X = rng.uniform(3, 5, size=(50, 4))
    X[:, 2] = 7.1
    Z = fit_scaling(X, "zscore").transform(X)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    assert_allclose(Z.std(axis=0), [1, 1, 0, 1], atol=1e-12)


def test_zscores_are_cut_off_at_three_deviations(rng):
    X = rng.normal(size=(200, 2))
    X[0] = 1e6, -1e6
    Z = fit_scaling(X, "zscore").transform(X)
    assert_allclose(Z[0], [3, -3])
    assert_allclose(Z[1:], ((X - X.mean(axis=0)) / X.std(axis=0))[1:])


def test_new_samples_are_measured_by_the_training_samples(rng):
    X, new = rng.normal(3, 5, size=(50, 4)), rng.normal(size=(3, 4))
    scaling = fit_scaling(X, "zscore")
    assert_allclose(scaling.transform(new), (new - X.mean(axis=0)) / X.std(axis=0))


def test_zscores_of_a_sparse_matrix_are_those_of_the_dense_one(text):
    thin = fit_scaling(text, "zscore").transform(text)
    assert isinstance(thin, np.ndarray)
    assert_allclose(thin, fit_scaling(text.toarray(), "zscore").transform(text.toarray()), atol=1e-12)


def test_zscores_of_a_sparse_matrix_that_do_not_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e6")
    X = sparse.random_array((100, 10_000), density=0.001, rng=0, format="csr")
    scaling = fit_scaling(X, "zscore")
    with pytest.raises(NotEnoughMemoryError, match=r'The z-scores of a sparse matrix of shape .* use scale="unit"'):
        scaling.transform(X)


@pytest.mark.parametrize("method", ["unit", "zscore", "none"])
@pytest.mark.parametrize("thin", [False, True])
def test_single_precision_is_kept(text, method, thin):
    X = (text if thin else text.toarray()).astype(np.float32)
    assert fit_scaling(X, method).transform(X).dtype == np.float32


def test_nothing_is_done_on_request_but_a_copy_that_models_may_keep(rng):
    X = rng.normal(size=(5, 3))
    found = fit_scaling(X, "none").transform(X)
    assert_array_equal(found, X)
    assert not np.shares_memory(found, X)


def versions(X, scale="auto"):
    return fit_versions(Views.of_table(X), scale)


def methods(found):
    return [version.scalings["X"].method for version in found]


def test_directions_and_zscores_are_both_used_by_default():
    first, second = versions(load_digits().data)
    assert (first.name, second.name) == ("direction", "zscore")
    assert methods([first, second]) == ["unit", "zscore"]
    assert first.share == 1
    assert 0 < second.share < 1  # half of the pixels are 0


def test_full_columns_of_equal_size_give_both_versions_the_same_share(rng):
    assert [version.share for version in versions(rng.normal(size=(500, 20)))] == [1, 1]


def test_directions_count_little_where_one_column_has_most_of_the_size():
    X = load_wine().data  # proline is a thousand times as large as hue
    direction, zscore = versions(X)
    assert direction.share < 0.01
    assert zscore.share == 1
    assert versions((X - X.mean(axis=0)) / X.std(axis=0))[0].share == 1


def test_few_columns_keep_the_length_of_their_rows():
    first, second = versions(load_iris().data)
    assert methods([first, second]) == ["none", "zscore"]
    assert first.few_columns
    assert "4 columns are few" in first.scalings["X"].reason
    assert not versions(load_wine().data)[0].few_columns


def test_a_table_that_is_mostly_zero_has_no_zscores_however_it_is_stored(text):
    assert methods(versions(text)) == methods(versions(text.toarray())) == ["unit"]


def test_indicator_columns_beside_full_ones_count_as_few_columns(rng):
    X = sparse.csr_array(np.hstack([rng.uniform(0.1, 1, size=(40, 7)), np.eye(40)]))
    assert methods(versions(X)) == methods(versions(X.toarray())) == ["none", "zscore"]


@pytest.mark.parametrize(
    ("unit", "least", "most"), [(1, 1, 1), (2, 1, 1), (4, 0.001, 0.2), (10, 0, 0.001), (1e6, 0, 1e-9)]
)
def test_rows_of_two_columns_count_less_the_more_their_units_differ(rng, unit, least, most):
    first, second = versions(rng.normal(size=(500, 2)) * [unit, 1])
    assert least <= first.share <= most
    assert second.share == 1


def test_rows_of_one_column_count_as_they_are(rng):
    assert versions(rng.normal(size=(500, 1)))[0].share == 1


@pytest.mark.parametrize("width", [2, 3, 9])
def test_one_of_few_columns_in_a_large_unit_leaves_the_zscores(rng, width):
    X = rng.normal(size=(500, width))
    X[:, 0] *= 1e4
    assert versions(X)[0].share < 1e-12
    assert versions(X[:, 1:])[0].share == 1


def test_the_share_of_zscores_does_not_jump(rng):
    X = rng.normal(size=(400, 50))
    shares = []
    for filled in np.linspace(0.19, 1, 40):
        thin = X * (rng.random(X.shape) < filled)
        shares.append(versions(thin)[1].share)
    assert np.abs(np.diff(shares)).max() < 0.15
    assert shares[0] < 0.01


@pytest.mark.parametrize("scale", ["unit", "zscore", "none"])
def test_a_scale_that_is_given_is_the_only_version(scale):
    (version,) = versions(load_iris().data, scale)
    assert (version.name, version.share, version.scalings["X"].reason) == ("given", 1, "it was asked for")
    assert version.scalings["X"].method == scale


def test_views_may_be_scaled_in_different_ways():
    views = Views({"a": load_wine().data, "b": load_wine().data})
    first, second = fit_versions(views, {"a": "none", "b": "auto"})
    assert [version.scalings["a"].method for version in (first, second)] == ["none", "none"]
    assert [version.scalings["b"].method for version in (first, second)] == ["unit", "zscore"]
    assert list(first.scalings) == ["a", "b"]


def test_versions_do_not_depend_on_the_order_of_samples_or_columns(rng):
    X = load_digits().data[:200]
    moved = X[rng.permutation(len(X))][:, rng.permutation(64)]
    assert_allclose([v.share for v in versions(moved)], [v.share for v in versions(X)])


def test_a_version_can_be_fitted_to_other_samples(rng):
    X, other = load_wine().data, rng.normal(5, 2, size=(30, 13))
    for version in versions(X):
        again = version.refitted(Views.of_table(other))
        expected = fit_scaling(other, version.scalings["X"].method).transform(other)
        assert_allclose(again.scalings["X"].transform(other), expected)
        assert (again.name, again.share) == (version.name, version.share)


def by_view(X, scale="auto", **reason):
    version = fit_by_view(Views.of_table(X) if not isinstance(X, dict) else Views(X), scale, **reason)
    return version, [one.method for one in version.scalings.values()]


def test_the_columns_of_every_view_decide_where_there_is_one_version():
    X = load_wine().data[:150]  # proline is a thousand times as large as hue
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    words = sparse.random_array((150, 100), density=0.05, rng=np.random.default_rng(0), format="csr")
    version, found = by_view({"units": X, "alike": standard, "few": load_iris().data, "words": words})
    assert (version.name, version.share) == ("by view", 1)
    assert found == ["zscore", "unit", "none", "unit"]
    reasons = [one.reason for one in version.scalings.values()]
    assert reasons[0] == "few columns have most of the size of the rows"
    assert reasons[1] == reasons[3] == "its columns are of similar size, or mostly zero"
    assert "4 columns are few" in reasons[2]


def test_few_columns_in_different_units_are_standardised():
    assert by_view(load_iris().data * [1, 1, 1, 1000])[1] == ["zscore"]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_what_the_columns_suggest_depends_neither_on_the_unit_nor_on_how_a_table_is_stored(load, make):
    X = load().data
    expected = by_view(X)[1]
    assert by_view(make(X))[1] == by_view(make(X * 2.0**300))[1] == by_view(make(X * 1e-6))[1] == expected


def test_a_scale_that_is_given_or_a_reason_to_leave_samples_alone_is_followed():
    views = {"a": load_wine().data, "b": load_wine().data}
    version, found = by_view(views, {"a": "unit", "b": "auto"}, as_they_are="the paper does")
    assert (version.name, found) == ("given", ["unit", "none"])
    assert [one.reason for one in version.scalings.values()] == ["it was asked for", "the paper does"]
    assert_array_equal(version.scalings["b"].transform(views["b"]), views["b"])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, np.float32], ids=["dense", "sparse", "single"])
@pytest.mark.parametrize("factor", [1.0, 1e-6, -3.0])
def test_rows_of_one_direction_are_compared_by_their_zscores_alone(rng, make, factor):
    rows = rng.uniform(1, 9, (60, 1)) * np.r_[np.arange(1.0, 12), -3, 0] * factor
    (version,) = versions(make(rows))
    assert (version.name, version.share, methods([version])) == ("zscore", 1, ["zscore"])
    assert version.scalings["X"].reason == "all rows are equal once they have unit length"
    assert by_view(make(rows))[0].scalings["X"].reason == version.scalings["X"].reason
    Z = version.scalings["X"].transform(make(rows))
    assert np.ptp(Z, axis=0).min(where=np.arange(13) < 12, initial=1) == 1  # no column is constant but the last


def test_one_other_direction_suffices_for_directions_wherever_it_is(rng):
    rows = rng.uniform(1, 9, (10_000, 1)) * np.arange(1.0, 13)
    rows[-1, 0] *= 1.001
    assert methods(versions(rows)) == ["unit", "zscore"]
    assert by_view(rows)[1] == ["unit"]


def test_rows_that_differ_too_little_for_their_size_are_standardised(rng):
    few, many = rng.normal(size=(50, 3)) + 1e9, rng.normal(size=(50, 12)) + 1e9
    for X, method in ((few, "none"), (many, "unit")):
        assert by_view(X)[1] == by_view(X - 1e9 + 1e4, precision=np.float32)[1] == [method]
        assert by_view(X, precision=np.float32)[1] == ["zscore"]
    version, _ = by_view(few, precision=np.float32)
    assert version.scalings["X"].reason == "the rows differ too little for numbers of their size"


def test_equal_rows_stay_as_they_are(rng):
    for X, first in ((np.ones((20, 12)), "unit"), (np.zeros((20, 12)), "none"), (np.full((20, 3), 1e9), "none")):
        assert methods(versions(X))[0] == first
        assert by_view(X)[1] == [first]


def test_only_the_view_whose_rows_have_one_direction_is_standardised(rng):
    rows = {"ray": rng.uniform(1, 9, (60, 1)) * np.arange(1.0, 13), "other": rng.normal(size=(60, 12))}
    first, second = fit_versions(Views(rows), "auto")
    assert [one.method for one in first.scalings.values()] == ["zscore", "unit"]
    assert [one.method for one in second.scalings.values()] == ["zscore", "zscore"]
    assert by_view(rows)[1] == ["zscore", "unit"]


@pytest.mark.parametrize("method", ["z", None, 3])
def test_an_unknown_scale_is_refused(method):
    with pytest.raises(InvalidInputError, match="scale must be one of 'auto', 'unit', 'zscore', 'none'; got"):
        versions(np.eye(3), method)


@pytest.mark.parametrize("power", [-1000, -500, -1, 0, 3, 500, 1000])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_what_is_made_of_a_table_does_not_depend_on_its_unit(load, power):
    X = load().data
    for first, second in zip(versions(X), versions(X * 2.0**power), strict=True):
        assert (second.name, second.share) == (first.name, first.share)
        found = second.scalings["X"].transform(X * 2.0**power)
        assert_allclose(found, first.scalings["X"].transform(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("factor", [1e-310, 1e-150, 1e6, 1e150, 1e300])
@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("method", ["unit", "zscore"])
def test_neither_large_nor_small_values_overflow(rng, factor, thin, method):
    X = rng.normal(size=(30, 4))
    make = sparse.csr_array if thin else np.asarray
    found, expected = (fit_scaling(make(Z), method).transform(make(Z)) for Z in (X * factor, X))
    found, expected = (Z.toarray() if sparse.issparse(Z) else Z for Z in (found, expected))
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
    assert_array_equal(fit_scaling(X, "none").transform(X), X)
    assert np.abs(versions(X)[0].scalings["X"].transform(X)).max() == pytest.approx(6)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_few_columns_get_a_unit_in_which_the_largest_entry_is_six_and_indicators_stay_one(make):
    X = load_iris().data
    found = versions(make(X))[0].scalings["X"].transform(make(X))
    assert_allclose(found.toarray() if sparse.issparse(found) else found, X / 7.9 * 6)
    indicators = make(np.eye(8)[np.arange(40) % 8])
    found = versions(indicators)[0].scalings["X"].transform(indicators)
    assert abs(found - indicators).max() == 0


@pytest.mark.parametrize("factor", [1e-150, 1e-6, 0.3, 1e6, 1e150])
def test_rows_of_few_columns_do_not_depend_on_their_unit(factor):
    X = load_iris().data
    first, second = (versions(Z)[0].scalings["X"].transform(Z) for Z in (X, X * factor))
    assert_allclose(second, first, rtol=1e-12)


@pytest.mark.parametrize(("dtype", "value"), [(np.float32, 1e-44), (np.float64, 5e-324)])
def test_the_smallest_numbers_have_a_unit(dtype, value):
    X = np.array([[value, 0], [0, value]], dtype=dtype)
    scaling = fit_by_view(Views.of_table(X), "auto").scalings["X"]
    found = scaling.transform(X)
    assert np.isfinite(found).all()
    assert found.max() >= 1


@pytest.mark.parametrize(("columns", "few"), [(9, True), (10, False)])
def test_fewer_than_ten_columns_are_few(rng, columns, few):
    first = versions(rng.normal(size=(60, columns)))[0]
    assert first.few_columns == few
    assert first.scalings["X"].method == ("none" if few else "unit")


@pytest.mark.parametrize("scale", ["none", "unit", "zscore"])
@pytest.mark.parametrize(("columns", "few"), [(9, True), (10, False)])
def test_columns_are_few_whichever_scaling_was_asked_for(rng, columns, few, scale):
    (version,) = fit_versions(Views.of_table(rng.normal(size=(60, columns))), scale)
    assert (version.name, version.few_columns) == ("given", few)


@pytest.mark.parametrize("method", ["unit", "zscore", "none"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_samples_scaled_in_another_precision_are_those_scaled_first_whatever_the_blocks(rng, monkeypatch, method, form):
    views = Views.of_table(form(rng.normal(size=(40, 5))))
    version = fit_by_view(views, method)
    (expected,) = views.scaled(version.scalings).tables
    monkeypatch.setattr(scaling_module, "_BLOCK", 7)
    (found,) = views.scaled(version.scalings, np.float32).tables
    assert found.dtype == np.float32
    assert isinstance(found, sparse.csr_array) == sparse.issparse(expected)
    values, wanted = (X.toarray() if sparse.issparse(X) else X for X in (found, expected))
    assert_array_equal(values, wanted.astype(np.float32))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_values_that_are_too_large_for_the_precision_are_refused(form):
    views = Views.of_table(form(np.array([[1.0, 1e39], [2.0, 3.0]])))
    with pytest.raises(InvalidInputError, match="too large for float32"):
        views.scaled(fit_by_view(views, "none").scalings, np.float32)


@pytest.mark.parametrize("method", ["unit", "zscore", "none"])
@pytest.mark.parametrize("unit", [None, 2.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaled_sparse_samples_are_arrays_whose_products_are_those_of_numpy(text, method, unit, dtype):
    X = sparse.csr_matrix(text.astype(dtype))
    found = replace(fit_scaling(X, method), unit=unit).transform(X)
    assert isinstance(found, np.ndarray if method == "zscore" else sparse.csr_array)
    assert found.dtype == dtype
    if method == "none" and unit is None:
        assert not np.shares_memory(found.data, X.data)
