"""WeaveClustering and WeaveClassifier through landmarks."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from kernelweave import Chunks, Landmark, WeaveClassifier, WeaveClustering
from kernelweave.errors import InvalidInputError

from .conftest import N_GROUPS


@pytest.fixture(scope="module")
def clusterer(groups):
    return WeaveClustering(N_GROUPS, solver=Landmark(60), random_state=0, n_jobs=1).fit(groups[0])


def test_the_clusterer_keeps_what_was_learned(groups, clusterer):
    X, y = groups
    assert adjusted_rand_score(y, clusterer.labels_) > 0.95
    assert clusterer.solver_.name == "landmark"
    assert clusterer.landmarks_.shape == (60, X.shape[1])
    assert clusterer.n_features_in_ == X.shape[1]
    assert clusterer.n_clusters_ == N_GROUPS
    assert len(clusterer.eigenvalues_) == N_GROUPS
    assert clusterer.kernel_weights_.shape == (len(clusterer.kernel_names_),)
    assert clusterer.kernel_weights_.sum() == pytest.approx(1)


def test_samples_in_chunks_need_no_choice_of_a_solver(groups, clusterer):
    chunks = np.array_split(groups[0], 5)
    asked = clone(clusterer).set_params(solver="landmark").fit(groups[0])
    model = clone(clusterer).set_params(solver="auto").fit(iter(chunks))
    assert model.solver_.name == "landmark"
    assert model.solver_.reason == "the samples are read in chunks"
    assert np.array_equal(model.labels_, asked.labels_)


def test_new_samples_are_read_in_chunks_too(groups, clusterer):
    X, _ = groups
    assert np.array_equal(clusterer.predict(X), clusterer.labels_)
    assert np.array_equal(clusterer.predict(lambda: np.array_split(X, 3)), clusterer.labels_)


def test_one_new_sample_is_answered_for(groups, clusterer):
    X, _ = groups
    for one in (X[:1], Chunks(X[:1]), iter([X[:1]])):
        assert clusterer.predict(one).tolist() == clusterer.labels_[:1].tolist()


def test_the_classifier_answers_for_all_samples_and_new_ones(groups):
    X, y = groups
    names = np.array(["a", "b", "c", "d"], dtype=object)[y]
    partial = np.where(np.arange(len(y)) % 40 == 0, names, -1)
    model = WeaveClassifier(solver=Landmark(60), random_state=0, n_jobs=1).fit(X, partial)
    assert (model.transduction_ == names).mean() > 0.97
    assert (model.predict(Chunks(np.array_split(X, 4))) == names).mean() > 0.97
    np.testing.assert_allclose(model.predict_proba(X[:9]).sum(axis=1), 1, atol=1e-6)


def test_the_number_of_clusters_is_counted_in_some_of_many_samples():
    rng = np.random.default_rng(0)
    which = rng.integers(4, size=2600)
    X = rng.normal(size=(2600, 12)) + 8 * rng.normal(size=(4, 12))[which]
    for samples in (X, sparse.csr_array(X), Chunks([X[:1000], X[1000:]])):
        model = WeaveClustering("auto", solver="landmark", random_state=0).fit(samples)
        assert model.n_clusters_ == model.cluster_evidence_.chosen == model.membership_.shape[1] == 4
        assert model.cluster_evidence_.words.endswith("(counted in 2000 samples drawn at random)")
        assert adjusted_rand_score(model.labels_, which) == 1
        assert model._clarity.sample.n_samples == 300
        assert model.clarity_ == 1
    noise = WeaveClustering("auto", solver="landmark", random_state=0).fit(rng.normal(size=(400, 12)))
    assert (noise.n_clusters_, noise.cluster_evidence_.n_counted) == (1, None)


def test_copies_of_a_sample_are_counted_once():
    X = np.repeat(make_blobs(60, n_features=12, centers=3, random_state=0)[0], 50, axis=0)
    evidence = WeaveClustering("auto", solver="landmark", random_state=0).fit(X).cluster_evidence_
    assert (evidence.chosen, evidence.n_distinct, evidence.n_counted) == (3, 60, None)


def test_a_bad_chunk_leaves_no_labels(groups, clusterer):
    model = clone(clusterer)
    bad = groups[0].copy()
    bad[899, 0] = np.nan
    with pytest.raises(InvalidInputError, match="chunk 1 holds 1 NaN"):
        model.fit(Chunks([groups[0], bad]))
    assert not hasattr(model, "labels_")
