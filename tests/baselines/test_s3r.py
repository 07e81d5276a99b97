import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from kernelweave.baselines import S2LRR, S3R, sparse_codes
from kernelweave.baselines.sparse_codes import code_violation
from kernelweave.core.graphs.propagation import harmonic_scores
from kernelweave.core.paper.closed_forms import label_distances
from kernelweave.datasets import label_split, load_dataset, mask_labels
from kernelweave.errors import InvalidInputError, UndecidedWarning
from kernelweave.kernels import Cosine


@pytest.fixture(scope="module")
def bundles():
    """Three bundles of 20 unit vectors in 30 dimensions, 3 labels each."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(3, 30))[y] + 0.8 * rng.normal(size=(60, 30))
    partial = np.where(np.arange(60) % 20 < 3, y, -1)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y, partial


def test_bundles_are_told_apart_and_given_labels_stay(bundles):
    X, y, partial = bundles
    model = S3R(lam=10).fit(X, partial)
    assert np.mean(model.transduction_ == y) > 0.9
    assert_array_equal(model.transduction_[partial >= 0], partial[partial >= 0])


def test_codes_are_optimal_for_the_labels_and_labels_harmonic_on_the_codes(bundles):
    X, _, partial = bundles
    model = S3R(lam=50, alpha=1, tol=1e-9, max_iter=100).fit(X, partial)
    F, C = model.label_distributions_, model.codes_
    T = 1 + label_distances(F, squared=True) / 2
    assert code_violation(X @ X.T, C, T, 50).max() <= 1.1e-4
    assert_array_equal(C.diagonal(), 0)
    Y = np.eye(3)[np.maximum(partial, 0)]
    assert_array_equal(model.graph_, (np.abs(C) + np.abs(C).T) / 2)
    assert_allclose(harmonic_scores(model.graph_, Y, partial >= 0).scores, F, atol=1e-8)


def test_residuals_are_below_the_tolerance_in_every_round(bundles):
    X, _, partial = bundles
    model = S3R(lam=50, code_tol=1e-7).fit(X, partial)
    assert (model.history_["residual"] <= 1e-7).all()
    assert all(len(values) == model.n_iter_ for values in model.history_.values())


def test_once_there_are_labels_the_objective_never_rises(bundles):
    X, _, partial = bundles
    model = S3R(lam=50, alpha=5, code_tol=1e-8, tol=1e-8, max_iter=100).fit(X, partial)
    objective = model.history_["objective"][1:]
    assert len(objective) > 2
    assert (np.diff(objective) <= 1e-9 * objective[0]).all()


def test_labels_pull_the_codes_of_different_classes_apart(bundles):
    X, _, partial = bundles
    between = partial[:, None] != partial
    between &= (partial >= 0)[:, None] & (partial >= 0)
    without, with_labels = (S3R(lam=50, alpha=a, max_iter=100).fit(X, partial).graph_ for a in (0, 1))
    assert with_labels[between].sum() < 0.5 * without[between].sum()


def test_a_gram_matrix_says_the_same_as_features(bundles):
    X, _, partial = bundles
    expected = S3R(lam=50).fit(X, partial).label_distributions_
    assert_allclose(S3R("precomputed", lam=50).fit(X @ X.T, partial).label_distributions_, expected, atol=1e-8)
    assert_allclose(S3R(Cosine(), lam=50).fit(7 * X, partial).label_distributions_, expected, atol=1e-8)


def test_too_small_lambda_leaves_no_codes_and_everything_undecided(bundles):
    X, _, partial = bundles
    with pytest.warns(UndecidedWarning, match="51 of 60 samples .* raise lam"):
        model = S3R(lam=0.5).fit(X, partial)
    assert not model.codes_.any()
    assert_array_equal(model.undecided_, partial == -1)
    assert_allclose(model.label_distributions_[partial == -1], 1 / 3)


def test_too_few_rounds_or_iterations_are_said(bundles):
    X, _, partial = bundles
    with pytest.warns(ConvergenceWarning, match="labels of S3R still changed by .* at max_iter=1 "):
        S3R(lam=50, max_iter=1).fit(X, partial)
    flat = X[:, :3]
    with pytest.warns(
        ConvergenceWarning, match="codes of S3R still have a residual of .* at code_max_iter=1 .* raise code_max_iter"
    ):
        S3R(lam=1e6, code_max_iter=1, tol=10).fit(flat, partial)


def test_a_matrix_that_is_no_gram_matrix_is_refused(bundles):
    X, _, partial = bundles
    with pytest.raises(
        InvalidInputError, match="eigenvalues below 0 by more than rounding, so it is not a Gram matrix"
    ):
        S3R("precomputed").fit(X @ X.T - np.eye(60), partial)


def test_samples_that_are_all_zero_are_undecided():
    with pytest.warns(UndecidedWarning, match="2 of 4 samples"):
        model = S3R().fit(np.zeros((4, 2)), [0, 1, -1, -1])
    assert_allclose(model.label_distributions_[2:], 0.5)


@pytest.mark.slow
def test_a_split_of_coil20_is_solved_on_a_fifth_of_its_samples_at_most(shared_data, monkeypatch):
    data = load_dataset("coil20", data_home=shared_data / "paper")
    labelled = label_split(data.target, 0.1, "same-positions", 0)
    batches, widths = sparse_codes._batches, []

    def watched(B, unsolved):
        found = batches(B, unsolved)
        widths.extend(width for _, width in found)
        return found

    monkeypatch.setattr(sparse_codes, "_batches", watched)
    with threadpool_limits(1):
        model = S3R(Cosine()).fit(data.data, mask_labels(data.target, labelled))
    assert max(widths) <= len(data.data) / 5  # 88 of 1440: an iteration takes far less than the dense one
    assert model.history_["code_iterations"].sum() <= 1000  # 662
    assert (model.history_["residual"] <= 1e-4).all()
    assert np.mean((model.transduction_ == data.target)[~labelled]) > 0.9


def test_permuting_samples_permutes_the_answer(bundles):
    X, _, partial = bundles
    order = np.random.default_rng(0).permutation(60)
    permuted = S3R(lam=50, code_tol=1e-7).fit(X[order], partial[order])
    expected = S3R(lam=50, code_tol=1e-7).fit(X, partial).label_distributions_[order]
    assert_allclose(permuted.label_distributions_, expected, atol=1e-6)


def test_float32_gives_float32_and_nearly_the_same(bundles):
    X, _, partial = bundles
    single = S3R(lam=50).fit(X.astype(np.float32), partial)
    assert single.codes_.dtype == single.label_distributions_.dtype == np.float32
    assert_allclose(single.label_distributions_, S3R(lam=50).fit(X, partial).label_distributions_, atol=1e-3)


@pytest.mark.parametrize("lam", [1e-40, 1e40, 1e100])
@pytest.mark.filterwarnings("ignore::kernelweave.errors.UndecidedWarning")  # no codes where the weight is small
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_weight_beyond_single_precision_gives_the_codes_of_double_precision(bundles, lam):
    X, _, partial = bundles
    X = np.round(8 * X).astype(np.float32)  # products of whole numbers are exact in both
    settings = {"lam": lam, "max_iter": 1, "code_max_iter": 20}
    single, double = (S3R(**settings).fit(x, partial) for x in (X, X.astype(np.float64)))
    assert single.codes_.dtype == np.float32
    assert_allclose(single.codes_, double.codes_, atol=1e-3)
    assert_allclose(single.history_["objective"], double.history_["objective"], rtol=1e-3)


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_tolerance_larger_than_any_single_number_overflows_nowhere(bundles):
    X, _, partial = bundles
    with pytest.warns(UndecidedWarning, match="raise lam"):  # codes of 0 are near enough
        model = S3R(code_tol=1e300, max_iter=2).fit(X.astype(np.float32), partial)
    assert not model.codes_.any()


@pytest.fixture(scope="module")
def unscaled():
    """Sixty wines in single precision, whose products are up to 10^6, and a fifth of their classes."""
    X, y = load_wine(return_X_y=True)
    return X[::3].astype(np.float32), np.where(np.arange(60) % 5 == 0, y[::3], -1)


@pytest.mark.parametrize("cls", [S2LRR, S3R])
@pytest.mark.filterwarnings("error", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_unscaled_samples_in_single_precision_have_the_codes_of_double_precision(unscaled, cls):
    X, partial = unscaled
    single, double = (cls(max_iter=2).fit(x, partial) for x in (X, X.astype(np.float64)))
    assert single.codes_.dtype == single.graph_.dtype == single.label_distributions_.dtype == np.float32
    assert_allclose(single.codes_, double.codes_, atol=1e-4 * np.abs(double.codes_).max())
    assert_array_equal(single.transduction_, double.transduction_)


@pytest.mark.parametrize("cls", [S2LRR, S3R])
@pytest.mark.filterwarnings("error", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_gram_matrix_rounded_to_single_precision_overflows_nowhere(unscaled, cls):
    X, partial = unscaled
    model = cls("precomputed", max_iter=2).fit(X @ X.T, partial)
    assert model.codes_.dtype == np.float32
    assert np.isfinite(model.codes_).all()
    assert np.isfinite(model.history_["residual"]).all()
