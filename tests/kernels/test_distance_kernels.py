"""Gaussian, Laplacian, chi-squared and the distances they rest on."""

import numpy as np
import pytest
import scipy.io
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Chi2, Gaussian, Laplacian, Pair, SelfTuning, recipe

both_precisions = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@pytest.fixture
def X():
    return np.random.default_rng(0).random((20, 5))


@pytest.fixture
def Z():
    return np.random.default_rng(1).random((6, 5))


def chi2(A, B):
    return np.array([[sum((a - b) ** 2 / (a + b) for a, b in zip(x, y, strict=True) if a + b) for y in B] for x in A])


@pytest.mark.parametrize("t", [0.01, 0.5, 3.0])
def test_each_kernel_is_its_formula_on_the_scale_of_the_training_samples(X, Z, t):
    X[2, 3] = Z[1, 3] = 0
    euclidean, cityblock = cdist(X, X).max(), cdist(X, X, "cityblock").max()
    expected = {
        Gaussian: np.exp(-(cdist(Z, X) ** 2) / (2 * t**2 * euclidean**2)),
        Laplacian: np.exp(-cdist(Z, X, "cityblock") / (t * cityblock)),
        Chi2: np.exp(-chi2(Z, X) / (t * chi2(X, X).max())),
    }
    for cls, K in expected.items():
        assert_allclose(cls(t).fit(X).gram(Z, X), K, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("cls", [Gaussian, Laplacian, Chi2, SelfTuning])
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_the_data_does_not_matter(cls, unit, X):
    assert_allclose(cls().fit(unit * X).gram(unit * X), cls().fit(X).gram(X), rtol=1e-10)


@pytest.mark.parametrize("cls", [Gaussian, Laplacian, SelfTuning])
@pytest.mark.parametrize("far", [1.0, 1e3, 1e6])
def test_where_the_origin_lies_does_not_matter(cls, far, X, Z):
    K = cls().fit(X).gram(Z, X)
    moved = cls().fit(X + far).gram(Z + far, X + far)
    assert_allclose(moved, K, rtol=0, atol=1e-14 * (10 + far))  # the samples themselves are rounded at this size


@pytest.mark.parametrize("cls", [Gaussian, Laplacian, Chi2])
def test_a_wide_kernel_finds_all_samples_alike_and_a_narrow_one_none(cls, X):
    assert_allclose(cls(t=1e9).fit(X).gram(X), np.ones((20, 20)), atol=1e-8)
    assert_array_equal(cls(t=1e-9).fit(X).gram(X), np.eye(20))


@pytest.mark.parametrize("cls", [Gaussian, Laplacian, Chi2])
def test_the_least_similar_samples_are_one_diameter_apart(cls, X):
    exponent = -0.5 if cls is Gaussian else -1.0
    assert cls(t=1.0).fit(X).gram(X).min() == pytest.approx(np.exp(exponent), rel=1e-12)


@both_precisions
@pytest.mark.parametrize("n_features", [1, 3, 100, 3000])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_copies_of_a_sample_are_at_distance_zero_exactly(dtype, n_features, make):
    X = np.random.default_rng(0).normal(size=(30, n_features)).astype(dtype)
    assert_array_equal(np.diag(Pair(make(X), make(X.copy())).sqdist), np.zeros(30))
    twice = Pair(make(np.vstack([X, X]))).sqdist
    assert_array_equal(np.diag(twice[30:, :30]), np.zeros(30))
    assert_array_equal([Pair(make(X[i : i + 1]), make(X)).sqdist[0, i] for i in range(30)], np.zeros(30))


@both_precisions
def test_distances_are_those_of_scipy(dtype, X, Z):
    X, Z = X.astype(dtype), Z.astype(dtype)
    close = {"rtol": 0, "atol": 20 * np.finfo(dtype).eps}
    assert_allclose(Pair(X).sqdist, cdist(X, X) ** 2, **close)
    assert_allclose(Pair(Z, X).sqdist, cdist(Z, X) ** 2, **close)
    assert_allclose(Pair(Z, X[:1]).sqdist, cdist(Z, X[:1]) ** 2, **close)


def test_near_samples_are_not_taken_for_copies(X):
    near = X + 1e-7
    assert_allclose(np.diag(Pair(near, X).sqdist), np.full(20, 5e-14), rtol=0.1)


def test_empty_columns_do_not_make_near_samples_copies():
    X = sparse.csr_array(([1, 1, 1, 1.01], ([0, 0, 1, 1], [3, 99, 3, 99])), shape=(2, 10**6), dtype=np.float32)
    assert Pair(X).sqdist[0, 1] == pytest.approx(1e-4, rel=0.01)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_products_and_distances_are_symmetric_to_the_last_digit(make):
    X = np.random.default_rng(0).random((40, 300))
    pair = Pair(make(np.where(X < 0.3, X, 0)))
    assert_array_equal(pair.inner, pair.inner.T)
    assert_array_equal(pair.sqdist, pair.sqdist.T)


def test_distances_far_from_the_origin_keep_the_precision_of_the_samples():
    X = np.random.default_rng(0).integers(0, 50, size=(20, 5)) + 1e8  # exact in float64, but not when squared
    assert_allclose(Pair(X).sqdist, cdist(X, X) ** 2, rtol=1e-12)
    assert_allclose(Pair(X[:3] + 7, X).sqdist, cdist(X[:3] + 7, X) ** 2, rtol=1e-12)


def test_distances_and_products_cannot_be_written_into(X):
    for A in (Pair(X).inner, Pair(X).sqdist, Pair(sparse.csr_array(X)).inner):
        with pytest.raises(ValueError, match="read-only"):
            A += 1


def test_chi2_refuses_negative_values_and_names_the_smallest(X, Z):
    with pytest.raises(InvalidInputError, match=r"counts or histograms.*smallest value is -0\.5"):
        Chi2().fit(X - X.min() - 0.5)
    with pytest.raises(InvalidInputError, match="counts or histograms"):
        Chi2().fit(X).gram(-Z, X)


def test_chi2_refuses_sparse_samples_with_the_remedy(X):
    with pytest.raises(InvalidInputError, match=r"Chi2 takes dense samples; got a sparse matrix\. Pass X\.toarray\(\)"):
        Chi2().fit(sparse.csr_array(X))
    with pytest.raises(InvalidInputError, match="Chi2 takes dense samples"):
        Chi2().fit(X).gram(X, sparse.csr_array(X))


def test_sparse_texts_build_every_kernel_of_the_recipe_without_being_made_dense(shared_data, monkeypatch):
    X = scipy.io.loadmat(shared_data / "paper" / "tr11_414n_6429d_9c_tfidf_uni.mat")["X"]
    assert sparse.issparse(X)
    dense = recipe("released-12").fit_grams(X.toarray())
    to_dense = sparse.csr_array.toarray

    def guarded(self, *args, **kwargs):
        assert self.shape == (414, 414), "the samples were made dense"
        return to_dense(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", guarded)
    monkeypatch.setattr(sparse.csr_array, "todense", guarded)
    H = recipe("released-12").fit_grams(X)
    assert H.shape == (12, 414, 414)
    assert_allclose(H, dense, rtol=0, atol=1e-11)


def test_a_width_whose_square_is_too_large_makes_all_samples_alike():
    K = Gaussian(t=1e200, diameter=1.0).gram(np.arange(3.0)[:, None])
    assert (K == 1).all()
