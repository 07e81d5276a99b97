import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from kernelweave.baselines import S2LRR, S3R, s2lrr
from kernelweave.baselines.low_rank_codes import (
    low_rank_codes,
    low_rank_objective,
    low_rank_start,
    singular_value_threshold,
)
from kernelweave.baselines.s2lrr import strongest_per_column
from kernelweave.baselines.self_expression import FirstRounds
from kernelweave.errors import UndecidedWarning


@pytest.fixture(scope="module")
def bundles():
    """Three bundles of 15 unit vectors in 30 dimensions, 3 labels each."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 15)
    X = rng.normal(size=(3, 30))[y] + 0.8 * rng.normal(size=(45, 30))
    partial = np.where(np.arange(45) % 15 < 3, y, -1)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y, partial


@pytest.fixture(scope="module", params=["unweighted", "weighted"])
def solved(request, bundles):
    X, y = bundles[0][::2], bundles[1][::2]
    G, lam = X @ X.T, 5.0
    T = np.zeros_like(G) if request.param == "unweighted" else 0.5 * (y[:, None] != y)
    return G, T, lam, low_rank_codes(G, T, lam, start=low_rank_start(len(G), G.dtype), tol=1e-8, max_iter=10_000)


def test_admm_ends_with_residuals_below_the_tolerance(solved):
    codes = solved[-1]
    assert codes.converged
    assert codes.residual <= 1e-8
    assert_allclose(codes.C, codes.J, atol=1e-7)
    assert_array_equal(codes.C.diagonal(), 0)


def test_codes_satisfy_the_conditions_of_optimality(solved):
    G, T, lam, codes = solved
    off = ~np.eye(len(G), dtype=bool)
    assert_allclose(lam * (G - G @ codes.C), codes.Y_C + codes.Y_J, atol=1e-6)
    used = off & (codes.C != 0)
    assert_allclose(codes.Y_C[used], (T * np.sign(codes.C))[used], atol=1e-6)
    assert (np.abs(codes.Y_C) <= T + 1e-6)[off].all()
    assert np.linalg.norm(codes.Y_J, 2) <= 1 + 1e-6  # a subgradient of the nuclear norm ...
    assert_allclose(np.vdot(codes.Y_J, codes.C), np.linalg.norm(codes.C, "nuc"), rtol=1e-6)  # ... at C
    assert_allclose(codes.nuclear_norm, np.linalg.norm(codes.C, "nuc"), rtol=1e-6)


def test_no_other_codes_are_better(solved):
    G, T, lam, codes = solved
    best = low_rank_objective(G, codes, T, lam)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1e-2, 0.1):
        C = codes.C + scale * rng.normal(size=G.shape)
        np.fill_diagonal(C, 0)
        other = codes._replace(C=C, nuclear_norm=np.linalg.norm(C, "nuc"))
        assert low_rank_objective(G, other, T, lam) > best


def test_a_solution_is_recognised_at_once(solved):
    G, T, lam, codes = solved
    assert low_rank_codes(G, T, lam, start=codes, tol=1e-6, max_iter=100).n_iter == 1


def test_the_codes_do_not_depend_on_the_start(solved):
    G, T, lam, codes = solved
    cold = low_rank_codes(G, T + 1e-3, lam, start=low_rank_start(len(G), G.dtype), tol=1e-8, max_iter=10_000)
    warm = low_rank_codes(G, T + 1e-3, lam, start=codes, tol=1e-8, max_iter=10_000)
    assert warm.converged
    assert warm.n_iter < cold.n_iter
    assert_allclose(warm.C, cold.C, atol=1e-6)


def test_plain_iterations_with_a_fixed_penalty_find_the_same_codes(solved):
    G, T, lam, codes = solved
    max_iter = 3 * codes.n_iter // 2
    plain = low_rank_codes(G, T, lam, start=low_rank_start(len(G), G.dtype), tol=1e-8, max_iter=max_iter)
    assert plain.converged
    assert plain.n_iter > max_iter // 2  # where they begin
    assert_allclose(plain.C, codes.C, atol=1e-6)


def test_the_singular_value_threshold_is_the_one_of_the_svd():
    Z = np.random.default_rng(0).normal(size=(9, 9))
    U, sigma, V = np.linalg.svd(Z)
    J, norm = singular_value_threshold(Z, sigma[4])
    assert_allclose(J, (U * np.maximum(sigma - sigma[4], 0)) @ V, atol=1e-10)
    assert_allclose(norm, np.linalg.norm(J, "nuc"))
    J, norm = singular_value_threshold(Z, 2 * sigma[0])
    assert norm == 0
    assert_array_equal(J, 0)


def test_the_strongest_entries_of_every_column_are_kept():
    W = np.random.default_rng(0).uniform(0.1, 1, size=(8, 8))
    kept = strongest_per_column(W, 3)
    assert_array_equal(np.count_nonzero(kept, axis=0), 3)
    assert (np.sort(kept, axis=0)[-3:] == np.sort(W, axis=0)[-3:]).all()
    assert_array_equal(strongest_per_column(W, 8), W)


def test_bundles_are_told_apart_and_given_labels_stay(bundles):
    X, y, partial = bundles
    model = S2LRR(lam=1).fit(X, partial)
    assert np.mean(model.transduction_ == y) > 0.9
    assert_array_equal(model.transduction_[partial >= 0], partial[partial >= 0])
    assert (model.history_["residual"] <= 1e-3).all()
    assert all(len(values) == model.n_iter_ for values in model.history_.values())
    assert np.count_nonzero(model.graph_, axis=0).min() >= 10


def test_a_gram_matrix_says_the_same_as_features(bundles):
    X, _, partial = bundles
    expected = S2LRR().fit(X, partial).label_distributions_
    assert_allclose(S2LRR("precomputed").fit(X @ X.T, partial).label_distributions_, expected, atol=1e-6)


def test_too_small_lambda_leaves_no_codes_and_everything_undecided(bundles):
    X, _, partial = bundles
    lam = 0.9 / np.linalg.eigvalsh(X @ X.T)[-1]
    with pytest.warns(UndecidedWarning, match="36 of 45 samples .* raise lam"):
        model = S2LRR(lam=lam, alpha=1).fit(X, partial)
    assert_array_equal(model.undecided_, partial == -1)
    assert_allclose(model.label_distributions_[partial == -1], 1 / 3)


def test_too_few_rounds_or_iterations_are_said(bundles):
    X, _, partial = bundles
    with pytest.warns(ConvergenceWarning, match="labels of S2LRR still changed by .* at max_iter=1 "):
        S2LRR(max_iter=1).fit(X, partial)
    with pytest.warns(ConvergenceWarning, match="codes of S2LRR still have a residual of .* at code_max_iter=2 "):
        S2LRR(code_max_iter=2, tol=10).fit(X, partial)


def test_permuting_samples_permutes_the_answer(bundles):
    X, _, partial = bundles
    order = np.random.default_rng(0).permutation(45)
    permuted = S2LRR().fit(X[order], partial[order])
    assert_allclose(permuted.label_distributions_, S2LRR().fit(X, partial).label_distributions_[order], atol=1e-5)


def test_float32_gives_float32_and_the_same_classes(bundles):
    X, _, partial = bundles
    single = S2LRR().fit(X.astype(np.float32), partial)
    assert single.codes_.dtype == np.float32
    assert_allclose(single.label_distributions_, S2LRR().fit(X, partial).label_distributions_, atol=1e-2)


def test_many_samples_are_coded_in_single_precision_with_the_same_classes(bundles, monkeypatch):
    X, _, partial = bundles
    double = S2LRR().fit(X, partial)
    monkeypatch.setattr(s2lrr, "_SINGLE_FROM", len(X))
    seen = []
    monkeypatch.setattr(s2lrr, "low_rank_codes", lambda G, *a, **k: seen.append(G.dtype) or low_rank_codes(G, *a, **k))
    single = S2LRR().fit(X, partial)
    assert set(seen) == {np.dtype(np.float32)}
    assert single.codes_.dtype == np.float64
    assert_array_equal(single.transduction_, double.transduction_)
    assert_allclose(single.codes_, double.codes_, atol=1e-2 * np.abs(double.codes_).max())
    seen.clear()
    S2LRR(code_tol=1e-5).fit(X, partial)
    assert set(seen) == {np.dtype(np.float64)}


@pytest.mark.filterwarnings("error", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_many_unscaled_samples_are_coded_in_double_precision(monkeypatch):
    X, y = load_wine(return_X_y=True)
    partial = np.where(np.arange(len(X)) % 5 == 0, y, -1)[::3]
    double = S2LRR(max_iter=2).fit(X[::3], partial)
    monkeypatch.setattr(s2lrr, "_SINGLE_FROM", len(partial))
    assert_array_equal(S2LRR(max_iter=2).fit(X[::3], partial).codes_, double.codes_)


@pytest.mark.parametrize("name", ["S2LRR", "S3R"])
def test_fits_that_share_their_first_round_give_the_same_answers(bundles, name):
    X, _, partial = bundles
    cls = {"S2LRR": S2LRR, "S3R": S3R}[name]
    fewer = np.where(np.arange(45) % 15 < 2, partial, -1)
    known: FirstRounds = {}
    for parameters, y in (({"alpha": 0.5}, partial), ({"alpha": 0.5}, fewer), ({"alpha": 2.0}, fewer)):
        alone, sharing = cls(lam=20, **parameters), cls(lam=20, **parameters)
        sharing.share_first_rounds(known)
        assert_array_equal(sharing.fit(X, y).label_distributions_, alone.fit(X, y).label_distributions_)
        assert_array_equal(sharing.codes_, alone.codes_)
    assert len(known) == 1


def test_a_first_round_is_shared_by_equal_problems_only(bundles):
    X, _, partial = bundles
    known: FirstRounds = {}
    for model, samples in ((S2LRR(lam=5), X), (S2LRR(lam=20), X), (S2LRR(lam=5), 2 * X), (S2LRR(code_tol=1e-4), X)):
        model.share_first_rounds(known)
        model.fit(samples, partial)
    assert len(known) == 4


@pytest.mark.parametrize("lam", [1e-40, 1e40, 1e100])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_weight_beyond_single_precision_gives_the_codes_of_double_precision(bundles, lam):
    X, _, partial = bundles
    X = np.round(8 * X).astype(np.float32)  # products of whole numbers are exact in both
    settings = {"lam": lam, "max_iter": 1, "code_max_iter": 20}
    single, double = (S2LRR(**settings).fit(x, partial) for x in (X, X.astype(np.float64)))
    assert single.codes_.dtype == np.float32
    assert_allclose(single.codes_, double.codes_, atol=1e-3)
    assert_allclose(single.history_["objective"], double.history_["objective"], rtol=1e-3)


@pytest.mark.parametrize("lam", [1e-100, 1e100])
@pytest.mark.parametrize("size", [0.0, 1e-100, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::kernelweave.errors.UndecidedWarning")
def test_extreme_weights_of_the_error_give_finite_codes(lam, size, dtype):
    G = (size * np.array([[1.0, 0.5, 0, 0], [0.5, 1, 0, 0], [0, 0, 1, 0.5], [0, 0, 0.5, 1]])).astype(dtype)
    model = S2LRR("precomputed", lam=lam, code_max_iter=40, max_iter=2)
    model.fit(G, [0, -1, 1, -1])
    assert np.isfinite(model.codes_).all()
    assert_allclose(model.label_distributions_.sum(axis=1), 1)


def test_a_threshold_whose_square_is_no_number_leaves_nothing():
    J, norm = singular_value_threshold(np.eye(3), 1e200)
    assert_array_equal(J, 0)
    assert norm == 0
