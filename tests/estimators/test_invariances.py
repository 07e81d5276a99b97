"""What must not change the clusters: the order of the samples, their unit, their format and their precision."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score

from kernelweave import WeaveClassifier, WeaveClustering

WINE = load_wine().data
DIGITS = load_digits().data[:250]
BLOBS, GROUPS = make_blobs(120, n_features=4, centers=3, cluster_std=1.5, random_state=0)
ORDER = np.random.default_rng(0).permutation(120)


def fit(X, n_clusters=3, **options):
    return WeaveClustering(n_clusters, random_state=0, **options).fit(X)


@pytest.fixture(scope="module")
def ordinary():
    return {"wine": fit(WINE), "digits": fit(DIGITS, 5), "blobs": fit(BLOBS)}


def test_the_order_of_the_samples_does_not_change_their_clusters(ordinary):
    model = fit(BLOBS[ORDER])
    assert adjusted_rand_score(model.labels_, ordinary["blobs"].labels_[ORDER]) == 1
    assert_allclose(np.sort(model.confidence_), np.sort(ordinary["blobs"].confidence_), atol=1e-6)
    for one, other in zip(model.scaling_, ordinary["blobs"].scaling_, strict=True):
        assert one.share == pytest.approx(other.share, abs=1e-6)


def test_the_order_of_the_samples_does_not_change_the_number_of_clusters():
    first, second = (fit(X, "auto", kernels="released-7") for X in (BLOBS, BLOBS[ORDER]))
    assert_allclose(first.cluster_evidence_.gap, second.cluster_evidence_.gap, rtol=1e-3)
    assert_allclose(first.cluster_evidence_.agreement, second.cluster_evidence_.agreement, atol=1e-6)
    assert_allclose(first.cluster_evidence_.chance, second.cluster_evidence_.chance, atol=1e-6)
    assert adjusted_rand_score(second.labels_, first.labels_[ORDER]) == 1


def test_a_chosen_number_has_the_clusters_of_the_same_number_given(ordinary):
    model = fit(WINE, "auto")
    assert model.n_clusters_ == 3
    assert_array_equal(model.labels_, ordinary["wine"].labels_)
    assert_array_equal(model.confidence_, ordinary["wine"].confidence_)


@pytest.mark.parametrize("name", ["wine", "digits"])
def test_sparse_samples_have_the_clusters_of_dense_ones(ordinary, name):
    X, c = {"wine": (WINE, 3), "digits": (DIGITS, 5)}[name]
    model = fit(sparse.csr_array(X), c)
    assert_array_equal(model.labels_, ordinary[name].labels_)
    assert_allclose(model.membership_, ordinary[name].membership_, atol=1e-6)


def test_sparse_samples_have_the_number_of_clusters_of_dense_ones():
    X = np.abs(BLOBS)
    thin, full = (fit(table, "auto", kernels="released-7") for table in (sparse.csr_array(X), X))
    assert_allclose(thin.cluster_evidence_.gap, full.cluster_evidence_.gap, rtol=1e-3)
    assert_allclose(thin.cluster_evidence_.chance, full.cluster_evidence_.chance, atol=1e-6)
    assert thin.n_clusters_ == full.n_clusters_


def test_single_precision_has_nearly_the_clusters_of_double_precision(ordinary):
    for name, X, c in (("wine", WINE, 3), ("digits", DIGITS, 5)):
        model = fit(X.astype(np.float32), c)
        assert model.consensus_kernel_.dtype == np.float32
        assert adjusted_rand_score(model.labels_, ordinary[name].labels_) > 0.95


def test_the_order_and_the_format_of_the_samples_do_not_change_their_classes():
    y = np.where(np.arange(120) % 8 == 0, GROUPS, -1)
    X = np.abs(BLOBS)
    expected = WeaveClassifier().fit(X, y)
    shuffled, thin = WeaveClassifier().fit(X[ORDER], y[ORDER]), WeaveClassifier().fit(sparse.csr_array(X), y)
    assert_array_equal(shuffled.transduction_, expected.transduction_[ORDER])
    assert_array_equal(thin.transduction_, expected.transduction_)
    assert_allclose(thin.label_distributions_, expected.label_distributions_, atol=1e-6)


# no structure


@pytest.fixture(scope="module")
def noise():
    X = np.random.default_rng(4).normal(size=(120, 8))
    return X, fit(X, "auto")


def test_noise_is_one_cluster_and_all_attributes_are_finite(noise):
    _, model = noise
    assert model.n_clusters_ == model.cluster_evidence_.chosen == 1
    assert model.cluster_evidence_.found == "nothing"
    assert_array_equal(model.labels_, np.zeros(120))
    assert_array_equal(model.membership_, np.ones((120, 1)))
    for name in ("confidence_", "margin_", "embedding_", "eigenvalues_", "consensus_kernel_", "kernel_shares_"):
        assert np.isfinite(getattr(model, name)).all()
    assert np.isfinite(model.graph_.data).all()


def test_new_samples_of_noise_are_in_the_one_cluster(noise):
    X, model = noise
    assert_array_equal(model.predict(X[:5] + 0.1), np.zeros(5))
    assert_array_equal(model.predict_proba(X[:5] + 0.1), np.ones((5, 1)))
    assert np.isfinite(model.transform(X[:5] + 0.1)).all()


@pytest.mark.parametrize("options", [{"n_neighbors": 10}, {"scale": "unit"}, {"scale": "none", "graph": "both"}])
def test_one_graph_alone_finds_no_structure_in_noise_either(noise, options):
    model = fit(noise[0], "auto", kernels="released-7", **options)
    assert model.n_clusters_ == 1


@pytest.mark.parametrize("options", [{"n_neighbors": 10, "scale": "zscore"}, {"scale": "none", "graph": "both"}])
def test_one_graph_alone_finds_groups_that_are_far_apart(options):
    X, y = make_blobs(120, n_features=4, centers=4, cluster_std=0.4, random_state=3)
    model = fit(X, "auto", kernels="released-7", **options)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y, model.labels_) == 1
