import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from kernelweave.baselines import MKKM, KernelKMeans, mkkm
from kernelweave.baselines.mkkm import multiple_kernel_kmeans
from kernelweave.core.partitions.kmeans import random_labels
from kernelweave.kernels import Gaussian, Linear, recipe
from kernelweave.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def H(iris):
    return recipe("released-12").fit_grams(iris[0])


def scatters(H, z):
    """Return b_m, the scatter within the clusters under every kernel, by its definition."""
    groups = [np.flatnonzero(z == c) for c in set(z)]
    return np.array([np.trace(K) - sum(K[np.ix_(g, g)].sum() / len(g) for g in groups) for K in H])


def test_weights_sum_to_one_and_minimise_the_objective(iris, H):
    model = MKKM(3, random_state=0).fit(iris[0])
    b = scatters(H, model.labels_)
    assert (model.kernel_weights_ > 0).all()
    assert_allclose(model.kernel_weights_.sum(), 1)
    assert_allclose(model.kernel_weights_**2 @ b, model.objective_, rtol=1e-6)
    # on Σw = 1 the minimum is where all derivatives 2 w_m b_m are equal
    assert_allclose(model.kernel_weights_ * b, model.objective_, rtol=1e-6)
    shares = model.kernel_weights_**2
    assert_allclose(model.kernel_shares_, shares / shares.sum())


def test_every_sample_is_nearest_to_its_own_mean(iris, H):
    model = MKKM(3, random_state=0).fit(iris[0])
    K = np.tensordot(model.kernel_weights_**2, H, axes=1)
    D = [
        K.diagonal() - 2 * K[:, group].mean(axis=1) + K[np.ix_(group, group)].mean()
        for group in (model.labels_ == c for c in range(3))
    ]
    assert_array_equal(np.argmin(D, axis=0), model.labels_)


@pytest.mark.parametrize("seed", range(10))
def test_the_objective_never_rises_within_a_run(seed):
    H = recipe("released-12").fit_grams(load_wine().data)
    z = random_labels(len(H[0]), 9, 1, np.random.default_rng(seed))
    history = multiple_kernel_kmeans(H, z, 9, max_iter=100).history
    assert len(history) > 2
    assert (np.diff(history) <= 1e-12 * history[0]).all()


def test_starts_side_by_side_give_the_best_of_each_alone(H):
    z = random_labels(150, 4, 5, np.random.default_rng(0))
    alone = [multiple_kernel_kmeans(H, z[[r]], 4, max_iter=100) for r in range(5)]
    together = multiple_kernel_kmeans(H, z, 4, max_iter=100)
    costs = np.array([run.history[-1] for run in alone])
    # several starts end in the same partition: the order in which BLAS adds must not choose between them. Each of the
    # n distances, made from numbers up to Σ w² K_ii = Σ w², is off by 64 eps at most; starts that differ by less are
    # equal, and the first is taken
    equal = 64 * np.finfo(float).eps * len(H[0]) * max((run.w**2).sum() for run in alone)
    best = alone[int(np.argmax(costs <= costs.min() + equal))]
    assert (costs > costs.min() + equal).any()
    assert_allclose(together.history, best.history)
    assert_array_equal(together.z, best.z)


def test_clusters_die_in_the_released_program_and_not_here(iris):
    X = iris[0][::3]
    refill, released = (
        [len(set(MKKM(10, empty=rule, n_init=1, random_state=seed).fit(X).labels_)) for seed in range(20)]
        for rule in ("refill", "released")
    )
    assert set(refill) == {10}
    assert min(released) < 10


def test_the_objective_never_rises_where_clusters_die(H):
    for seed in range(20):
        z = random_labels(150, 10, 1, np.random.default_rng(seed))
        run = multiple_kernel_kmeans(H, z, 10, assign=lambda D, _z, _slack: D.argmin(axis=1), max_iter=100)
        assert (np.diff(run.history) <= 1e-12 * run.history[0]).all()


def test_a_tolerance_ends_a_start_early(iris):
    exact, early = (MKKM(10, tol=tol, n_init=1, random_state=0).fit(iris[0]) for tol in (0, 1e-5))
    assert early.n_iter_ < exact.n_iter_
    assert_array_equal(early.objective_history_, exact.objective_history_[: early.n_iter_])
    assert -np.diff(early.objective_history_)[-1] <= 1e-5


def test_an_unknown_rule_for_empty_clusters_is_refused(iris):
    words = "(?=.*'refill')(?=.*'released')"  # in any order
    with pytest.raises(ValueError, match=f"'empty' parameter of MKKM must be a str among {words}.*Got 'drop'"):
        MKKM(3, empty="drop").fit(iris[0])


def test_one_kernel_gives_kernel_k_means(iris):
    K = Gaussian(t=0.3).fit(iris[0]).gram(iris[0])
    several = MKKM(3, kernels="precomputed", n_init=20, random_state=0).fit(K)
    one = KernelKMeans(3, kernel="precomputed", n_init=20, random_state=0).fit(K)
    assert_allclose(several.kernel_weights_, 1)
    assert_allclose(several.objective_, one.objective_)
    assert clustering_accuracy(one.labels_, several.labels_) == 1


def test_equal_kernels_get_equal_weights(iris):
    model = MKKM(3, kernels=[Gaussian(t=1), Gaussian(t=1), Linear()], random_state=0).fit(iris[0])
    assert model.kernel_weights_[0] == model.kernel_weights_[1]


def test_a_constant_kernel_takes_the_weight_without_nan(iris):
    H = np.stack([np.ones((150, 150)), Gaussian(t=1).fit(iris[0]).gram(iris[0])])
    model = MKKM(3, kernels="precomputed", random_state=0).fit(H)
    assert_allclose(model.kernel_weights_, [1, 0], atol=1e-9)


def test_single_precision_finds_what_double_precision_finds(iris):
    double, single = (MKKM(3, random_state=0).fit(iris[0].astype(t)) for t in (float, np.float32))
    assert clustering_accuracy(double.labels_, single.labels_) > 0.98
    assert_allclose(single.kernel_weights_, double.kernel_weights_, rtol=0.02)


def test_precomputed_kernels_are_not_written_into(H):
    before = H.copy()
    MKKM(3, kernels="precomputed", random_state=0).fit(H)
    assert_array_equal(H, before)


def test_a_run_cut_short_warns_and_keeps_weights_and_labels_of_one_iteration(iris, H):
    with pytest.warns(ConvergenceWarning, match="MKKM stopped after 2 iterations, .* raise max_iter"):
        model = MKKM(5, max_iter=2, n_init=1, random_state=0).fit(iris[0])
    assert_allclose(model.kernel_weights_**2 @ scatters(H, model.labels_), model.objective_, rtol=1e-6)


def test_updated_sums_give_what_products_in_every_iteration_give(H, monkeypatch):
    updated = MKKM(10, kernels="precomputed", random_state=0).fit(H)
    monkeypatch.setattr(mkkm, "_FEW", -1.0)
    multiplied = MKKM(10, kernels="precomputed", random_state=0).fit(H)
    assert_array_equal(updated.labels_, multiplied.labels_)
    assert_allclose(updated.objective_history_, multiplied.objective_history_, rtol=1e-12)
