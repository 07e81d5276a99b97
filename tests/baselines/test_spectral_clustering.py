import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

from kernelweave.baselines import KernelSpectralClustering
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import CosineNormalized, Gaussian, Linear
from kernelweave.metrics import clustering_accuracy

VARIANTS = ["unnormalized", "njw"]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def parts():
    """Three groups that are not connected, in mixed order."""
    y = np.arange(24) % 3
    W = (y[:, None] == y) * (1.0 + np.random.default_rng(0).random((24, 24)))
    return (W + W.T) / 2, y


@pytest.mark.parametrize("init", ["k-means++", "released"])
@pytest.mark.parametrize("laplacian", VARIANTS)
def test_the_parts_of_a_graph_are_its_clusters(parts, laplacian, init):
    W, y = parts
    model = KernelSpectralClustering(3, kernel="precomputed", laplacian=laplacian, init=init, random_state=0).fit(W)
    assert clustering_accuracy(y, model.labels_) == 1


@pytest.mark.parametrize("laplacian", VARIANTS)
def test_rows_have_unit_length(iris, laplacian):
    model = KernelSpectralClustering(3, laplacian=laplacian, random_state=0).fit(iris[0])
    assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)


def test_unnormalised_rows_span_the_smallest_eigenvectors_of_the_laplacian(iris):
    model = KernelSpectralClustering(3, kernel=Gaussian(t=0.2), random_state=0).fit(iris[0])
    L = np.diag(model.graph_.sum(axis=1)) - model.graph_
    P = np.linalg.eigh(L)[1][:, :3]
    P /= np.linalg.norm(P, axis=1, keepdims=True)
    assert_allclose(model.embedding_ @ model.embedding_.T, P @ P.T, atol=1e-7)


def test_ng_jordan_weiss_s_samples_are_not_similar_to_themselves(iris):
    model = KernelSpectralClustering(3, laplacian="njw", random_state=0).fit(iris[0])
    assert_array_equal(model.graph_.diagonal(), 0)
    s = 1 / np.sqrt(model.graph_.sum(axis=1))
    P = np.linalg.eigh(s[:, None] * model.graph_ * s)[1][:, -3:]
    P /= np.linalg.norm(P, axis=1, keepdims=True)
    assert_allclose(model.embedding_ @ model.embedding_.T, P @ P.T, atol=1e-7)


def test_the_unnormalised_laplacian_does_not_see_the_diagonal(iris):
    K = Gaussian(t=0.2).fit(iris[0]).gram(iris[0])
    plain, heavy = (
        KernelSpectralClustering(3, kernel="precomputed", random_state=0).fit(K + a * np.eye(150)) for a in (0, 5)
    )
    assert_array_equal(plain.labels_, heavy.labels_)


@pytest.mark.parametrize("laplacian", VARIANTS)
def test_negative_similarities_count_as_none(laplacian):
    # a centred linear kernel has rows with a sum below zero: no scale, and an indefinite Laplacian, if left so
    X, y = make_blobs(60, centers=[[4, 0, 0], [0, 4, 0], [0, 0, 4]], random_state=0)
    X -= X.mean(axis=0)
    kernel = CosineNormalized(Linear())
    assert (kernel.gram(X).sum(axis=1) - 1 < 0).any()
    model = KernelSpectralClustering(3, kernel=kernel, laplacian=laplacian, random_state=0).fit(X)
    assert (model.graph_ >= 0).all()
    assert np.isfinite(model.embedding_).all()
    assert clustering_accuracy(y, model.labels_) == 1


@pytest.mark.parametrize("laplacian", VARIANTS)
def test_a_sample_similar_to_nothing_does_no_harm(iris, laplacian):
    K = Gaussian(t=0.2).fit(iris[0]).gram(iris[0])
    K[7] = K[:, 7] = 0
    model = KernelSpectralClustering(3, kernel="precomputed", laplacian=laplacian, random_state=0).fit(K)
    assert np.isfinite(model.embedding_).all()
    assert len(set(model.labels_)) == 3


@pytest.mark.parametrize("t", [1e-3, 0.01])
@pytest.mark.parametrize("laplacian", VARIANTS)
def test_a_kernel_that_is_nearly_the_identity_gives_finite_coordinates_for_every_sample(laplacian, t):
    # its Laplacian is 0 up to rounding, so nothing is said of the clusters themselves
    X = np.random.default_rng(0).normal(size=(80, 30))
    with pytest.warns(ConvergenceWarning, match="falls into more pieces than the 4 columns of its embedding"):
        model = KernelSpectralClustering(4, kernel=Gaussian(t=t), laplacian=laplacian, random_state=0).fit(X)
    assert model.embedding_.shape == (80, 4)
    assert np.isfinite(model.embedding_).all()
    assert len(set(model.labels_)) == 4


def test_the_released_k_means_keeps_the_start_with_the_least_sum_of_plain_distances(iris):
    def total(model):
        P, z = model.embedding_, model.labels_
        return sum(np.linalg.norm(P[z == k] - P[z == k].mean(axis=0), axis=1).sum() for k in set(z))

    one, many = (KernelSpectralClustering(7, init="released", n_init=n, random_state=0).fit(iris[0]) for n in (1, 20))
    assert total(many) < total(one)


@pytest.mark.parametrize(
    ("parameter", "words"),
    [("laplacian", "(?=.*'unnormalized')(?=.*'njw')"), ("init", r"(?=.*'k-means\+\+')(?=.*'released')")],
    ids=["laplacian", "init"],
)
def test_an_unknown_word_is_refused_with_those_that_exist(iris, parameter, words):
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of .* must be a str among {words}.*Got 'random'"):
        KernelSpectralClustering(3).set_params(**{parameter: "random"}).fit(iris[0])


def test_more_clusters_than_samples_are_refused(iris):
    with pytest.raises(InvalidInputError, match="n_clusters=6 is more than the n_samples=5 given"):
        KernelSpectralClustering(6).fit(iris[0][::30])
