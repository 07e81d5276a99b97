import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from kernelweave.baselines import KernelKMeans
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Gaussian, Linear
from kernelweave.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def X():
    return load_iris().data


def test_the_linear_kernel_gives_k_means(X):
    model = KernelKMeans(3, kernel=Linear(), random_state=0).fit(X)
    plain = KMeans(3, n_init=10, random_state=0).fit(X)
    assert_allclose(model.objective_, plain.inertia_, rtol=1e-6)
    assert clustering_accuracy(plain.labels_, model.labels_) == 1


def test_the_objective_is_the_scatter_within_the_clusters(X):
    model = KernelKMeans(4, kernel=Gaussian(t=0.3), random_state=0).fit(X)
    K = Gaussian(t=0.3).fit(X).gram(X)
    within = sum(K[np.ix_(group, group)].mean() * group.sum() for group in (model.labels_ == c for c in range(4)))
    assert_allclose(model.objective_, np.trace(K) - within)
    assert model.objective_ == model.objective_history_[-1]
    assert model.n_iter_ == len(model.objective_history_)


def test_more_starts_are_never_worse(X):
    one, few, many = (KernelKMeans(8, n_init=n, random_state=0).fit(X).objective_ for n in (1, 3, 30))
    # the same start is computed in products of other sizes, whose sums BLAS adds in another order: each of the n
    # distances, made from numbers up to K_ii <= 1, is off by 64 eps at most, and starts that differ by less are equal
    equal = 64 * np.finfo(float).eps * len(X)
    assert few <= one + equal
    assert many <= few + equal
    assert many < one - equal


def test_a_later_start_that_ends_equally_well_does_not_replace_an_earlier_one(X):
    one, few = (KernelKMeans(8, n_init=n, random_state=0).fit(X) for n in (1, 3))
    assert_allclose(few.objective_, one.objective_, rtol=1e-12)
    assert_array_equal(few.labels_, one.labels_)


def test_moving_all_samples_changes_nothing(X):
    here, there = (KernelKMeans(3, kernel=Linear(), random_state=0).fit(X + a) for a in (0, 1000))
    assert_allclose(there.objective_, here.objective_, rtol=1e-6)


def test_single_precision_finds_what_double_precision_finds_on_a_flat_kernel(X):
    wide = Gaussian(t=100)  # 1 - K is about 1e-5
    double, single = (KernelKMeans(3, kernel=wide, random_state=0).fit(X.astype(t)) for t in (float, np.float32))
    assert clustering_accuracy(double.labels_, single.labels_) > 0.98
    assert_allclose(single.objective_, double.objective_, rtol=0.02)


def test_every_cluster_has_a_sample_even_with_fewer_different_samples(X):
    few = np.repeat(X[::50], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match="there are only 3 distinct samples for n_clusters=6"):
        model = KernelKMeans(6, kernel=Linear(), random_state=0).fit(few)
    assert len(set(model.labels_)) == 6


def test_a_run_cut_short_warns_with_what_to_do(X):
    with pytest.warns(ConvergenceWarning, match=r"KernelKMeans stopped after 1 iteration, .*: raise max_iter") as seen:
        KernelKMeans(5, max_iter=1, random_state=0).fit(X)
    assert seen[0].filename == __file__


def test_several_kernels_are_refused(X):
    with pytest.raises(InvalidInputError, match="KernelKMeans learns from one kernel matrix; got 2"):
        KernelKMeans(3, kernel="precomputed").fit(np.stack([X @ X.T] * 2))
