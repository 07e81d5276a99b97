import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning

from kernelweave.baselines import RMKKM, KernelKMeans
from kernelweave.baselines.rmkkm import power_weights, robust_multiple_kernel_kmeans
from kernelweave.core.partitions.kernel_centres import centred_kernel
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Gaussian, Linear, recipe
from kernelweave.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@given(st.floats(0.05, 0.95), st.integers(0, 2**32 - 1))
def test_weights_are_feasible_and_no_feasible_weights_are_better(gamma, seed):
    rng = np.random.default_rng(seed)
    h = rng.random(6) ** 3
    w = power_weights(h, gamma)
    assert_allclose((w**gamma).sum(), 1)
    u = rng.random((500, 6)) ** rng.integers(1, 6)
    u /= ((u**gamma).sum(axis=1) ** (1 / gamma))[:, None]
    assert (u @ h >= w @ h * (1 - 1e-9)).all()


def test_weights_do_not_depend_on_the_scale_of_the_scatters(iris):
    h = np.array([1e-3, 2.0, 0.5])
    assert_allclose(power_weights(h * 1e-200, 0.4), power_weights(h, 0.4))


def test_a_kernel_without_scatter_takes_the_weight_without_nan():
    w = power_weights(np.array([0.0, 1.0, 2.0]), 0.4)
    assert_allclose(w, [1, 0, 0], atol=1e-6)
    assert_allclose(power_weights(np.zeros(2), 0.5), [0.25, 0.25])


@pytest.mark.parametrize("gamma", [0.2, 0.4, 0.8])
def test_fitted_weights_are_feasible(iris, gamma):
    model = RMKKM(3, gamma=gamma, random_state=0).fit(iris[0])
    assert (model.kernel_weights_ > 0).all()
    assert_allclose((model.kernel_weights_**gamma).sum(), 1)
    assert_allclose(model.kernel_shares_, model.kernel_weights_ / model.kernel_weights_.sum())


@pytest.mark.parametrize("gamma", [0.3, 0.7])
@pytest.mark.parametrize("seed", range(8))
def test_the_objective_never_rises_within_a_run(seed, gamma):
    H = recipe("released-12").fit_grams(load_wine().data)
    for K in H:
        centred_kernel(K)
    run = robust_multiple_kernel_kmeans(H, 7, gamma=gamma, max_iter=50, tol=1e-9, rng=np.random.default_rng(seed))
    assert run.converged
    assert len(run.history) > 2
    assert (np.diff(run.history) <= 1e-12 * run.history[0]).all()


def test_the_run_stops_long_before_its_limit(iris):
    assert RMKKM(3, random_state=0).fit(iris[0]).n_iter_ < 15


def test_one_kernel_has_the_weight_one(iris):
    model = RMKKM(3, kernels=[Linear()], random_state=0).fit(iris[0])
    assert_array_equal(model.kernel_weights_, [1.0])


def test_without_outliers_one_kernel_gives_the_clusters_of_kernel_k_means():
    X, _ = make_blobs(90, centers=3, cluster_std=0.5, random_state=0)
    robust = RMKKM(3, kernels=[Linear()], random_state=0).fit(X)
    plain = KernelKMeans(3, kernel=Linear(), random_state=0).fit(X)
    assert clustering_accuracy(plain.labels_, robust.labels_) == 1


def test_samples_far_away_do_not_pull_the_clusters_apart():
    # two groups and three far samples on one side: squared distances make these a cluster, plain ones do not
    rng = np.random.default_rng(0)
    groups = np.concatenate([rng.normal(0, 0.5, (60, 2)), rng.normal([8, 0], 0.5, (60, 2))])
    X = np.concatenate([groups, [[4, 55], [4, 56], [4, 57]]])
    y = np.arange(120) // 60
    robust = RMKKM(2, kernels=[Linear()], random_state=0).fit(X)
    plain = KernelKMeans(2, kernel=Linear(), random_state=0).fit(X)
    assert clustering_accuracy(y, robust.labels_[:120]) == 1
    assert clustering_accuracy(y, plain.labels_[:120]) < 0.6


def test_clusters_do_not_die(iris):
    # with fewer different samples than clusters some centres coincide, and no sample is nearest to the second
    X = np.repeat(iris[0][::30], 6, axis=0)
    for seed in range(5):
        with pytest.warns(ConvergenceWarning, match="there are only 5 distinct samples for n_clusters=8"):
            model = RMKKM(8, n_init=1, random_state=seed).fit(X)
        assert len(set(model.labels_)) == 8


def test_the_best_of_several_starts_is_kept(iris):
    objectives = [RMKKM(8, n_init=n, random_state=0).fit(iris[0]).objective_ for n in (1, 12)]
    assert objectives[1] < objectives[0]


def test_equal_samples_do_no_harm(iris):
    X = np.repeat(iris[0][::10], 4, axis=0)
    model = RMKKM(3, random_state=0).fit(X)
    assert np.isfinite(model.objective_)
    assert_array_equal(model.labels_.reshape(-1, 4), model.labels_[::4, None].repeat(4, axis=1))


def test_single_precision_finds_what_double_precision_finds(iris):
    double, single = (RMKKM(3, random_state=0).fit(iris[0].astype(t)) for t in (float, np.float32))
    assert clustering_accuracy(double.labels_, single.labels_) > 0.98
    assert_allclose(single.kernel_weights_[-7:], double.kernel_weights_[-7:], rtol=0.05)
    assert (np.diff(single.objective_history_) <= 1e-5 * single.objective_).all()


@pytest.mark.parametrize("gamma", [1, 1.5])
def test_an_exponent_of_one_or_more_is_refused(iris, gamma):
    message = rf"'gamma' parameter of RMKKM must be a float in the range \(0\.0, 1\.0\)\. Got {gamma} "
    with pytest.raises(ValueError, match=message):
        RMKKM(3, gamma=gamma).fit(iris[0])


def test_an_exponent_so_small_that_weights_vanish_is_refused(iris):
    with pytest.raises(InvalidInputError, match=r"gamma=0\.001 is too small for 12 kernels"):
        RMKKM(3, gamma=1e-3).fit(iris[0])


def test_a_run_cut_short_warns_with_what_to_do(iris):
    with pytest.warns(ConvergenceWarning, match="RMKKM stopped after 1 iteration, .* raise max_iter"):
        RMKKM(3, kernels=[Gaussian(t=1), Linear()], max_iter=1, random_state=0).fit(iris[0])
