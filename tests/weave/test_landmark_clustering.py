"""Clusters through landmarks: the dense graph they stand for, and what must not change them."""

import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import adjusted_rand_score

from kernelweave.core.graphs.bipartite import nearest_columns, relative_affinity
from kernelweave.errors import InvalidInputError
from kernelweave.weave.landmark import default_landmarks, landmark_memory, landmark_predict, landmark_scores

from .conftest import make_groups


def test_groups_are_found(groups, fit):
    X, y = groups
    assert adjusted_rand_score(y, fit(X).labels) > 0.95


def test_with_every_sample_a_landmark_the_eigenvectors_are_those_of_the_dense_graph(fit):
    X, _ = make_groups(150, spread=6.0)
    found = fit(X, landmarks=X, n_landmarks=None, n_neighbors=12, scale="none")
    model = found.model
    K = np.tensordot(model.weights, model.bank.grams(X), axes=1)
    J, V = nearest_columns(np.maximum(2 - 2 * K, 0), 12)
    B = np.zeros_like(K)
    np.put_along_axis(B, J.astype(np.intp), relative_affinity(V), axis=1)
    values, P = np.linalg.eigh((B / B.sum(axis=0)) @ B.T)
    assert_allclose(found.eigenvalues, values[::-1][:4], atol=1e-8)
    overlap = landmark_scores(model, X).T @ P[:, ::-1][:, :4]
    assert_allclose(np.abs(np.linalg.det(overlap)), 1, atol=1e-5)


@pytest.mark.parametrize("size", [1, 70, 333, 900])
def test_no_chunking_changes_labels_or_landmarks(groups, fit, size):
    X, _ = groups
    whole = fit(X)
    chunks = fit([X[i : i + size] for i in range(0, len(X), size)])
    assert np.array_equal(whole.labels, chunks.labels)
    assert np.array_equal(whole.model.landmarks, chunks.model.landmarks)


def test_no_number_of_threads_changes_labels(groups, fit):
    chunks = np.array_split(groups[0], 7)
    assert np.array_equal(fit(chunks).labels, fit(chunks, n_jobs=3).labels)


def test_permuted_samples_get_permuted_labels(groups, fit):
    X, _ = groups
    order = np.random.default_rng(1).permutation(len(X))
    assert adjusted_rand_score(fit(X).labels[order], fit(X[order]).labels) == 1


@pytest.mark.parametrize("how", ["kmeans", "random"])
def test_the_seed_repeats_a_fit_and_another_draws_others(groups, fit, how):
    X, _ = groups
    first, again, other = fit(X, landmarks=how), fit(X, landmarks=how), fit(X, 1, landmarks=how)
    assert np.array_equal(first.labels, again.labels)
    assert not np.array_equal(first.model.landmarks, other.model.landmarks)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_either_precision_finds_the_same_groups(groups, fit, dtype):
    X, _ = groups
    found = fit(X.astype(dtype), dtype=dtype)
    assert found.model.landmarks.dtype == dtype
    assert adjusted_rand_score(fit(X).labels, found.labels) > 0.99


def test_predicting_the_samples_of_fit_gives_their_labels_also_after_pickling(groups, fit):
    X, _ = groups
    found = fit(X)
    model = pickle.loads(pickle.dumps(found.model))
    assert np.array_equal(landmark_predict(model, X), found.labels)
    assert np.array_equal(landmark_predict(model, iter(np.array_split(X, 5))), found.labels)


def test_shares_of_the_kernels_can_be_given(groups, fit):
    p = np.arange(1.0, 8.0) / 28
    assert_allclose(fit(groups[0], weights=p).model.weights, p)
    assert_allclose(fit(groups[0], weights="uniform").model.weights, 1 / 7)


def test_copies_of_few_samples_share_landmarks_and_labels(fit):
    X = np.repeat(make_groups(12)[0], 20, axis=0)
    found = fit(X, n_landmarks=40)
    assert len(found.model.landmarks) < 40
    assert (found.labels.reshape(12, 20) == found.labels[::20, None]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_landmarks": 901}, "n_landmarks=901 is more than the n_samples=900"),
        ({"n_landmarks": 3}, "need as many distinct landmarks; got 3"),
        ({"landmarks": "best"}, "landmarks must be 'kmeans', 'random' or an array"),
        (
            {"landmarks": np.ones((5, 4)), "n_landmarks": None},
            r"shape \(n_landmarks, 6\), one per row; got shape \(5, 4\)",
        ),
        ({"landmarks": np.full((60, 6), np.nan)}, "landmarks hold NaN"),
    ],
)
def test_landmarks_that_cannot_be_are_refused(groups, fit, options, message):
    with pytest.raises(InvalidInputError, match=message):
        fit(groups[0], **options)


def test_new_samples_of_another_width_are_refused(groups, fit):
    model = fit(groups[0]).model
    with pytest.raises(InvalidInputError, match="X has 5 features, but the model was fitted on samples of 6"):
        landmark_predict(model, groups[0][:, :5])


def test_the_default_number_of_landmarks_fits_samples_and_clusters():
    assert default_landmarks(10**6, 10) == 1000
    assert default_landmarks(10**6, 100) == 2000
    assert default_landmarks(400, 10) == 100
    assert default_landmarks(12, 8) == 8


def test_progress_tells_stage_and_rows(groups, fit):
    told = []
    fit(np.array_split(groups[0], 3), progress=lambda *step: told.append(step))
    assert [step[0] for step in told] == ["sample", "landmarks", "spectrum"] + ["passing"] * 4
    assert told[-1] == ("passing", 900, 900)


def test_memory_beyond_labels_and_chunks_does_not_grow_with_the_samples(fit):
    def blocks(count):
        return lambda: (make_groups(4000, seed=i)[0] for i in range(count))

    def peak(count):
        tracemalloc.start()
        fit(blocks(count))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    few, many = peak(4), peak(16)
    assert many < few + 48_000 * 4 + 2**21  # labels, and 2 MiB against a copy of the added samples' 2.3
    assert many < landmark_memory(6, 60, 7, 8, n=64_000)
