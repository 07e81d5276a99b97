"""Clusters through landmarks: the dense graph they stand for, and what must not change them."""

import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import adjusted_rand_score

from kernelweave import Chunks, Landmark, Views
from kernelweave.core.graphs.affinity import GraphRule
from kernelweave.core.graphs.bipartite import nearest_columns, relative_affinity
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Laplacian, Polynomial
from kernelweave.kernels.base import Pair
from kernelweave.weave.graph_model import chunked_answers
from kernelweave.weave.landmark.learning import default_landmarks, landmark_memory
from kernelweave.weave.plan import ClusterTask, Plan

from .conftest import make_groups


def test_groups_are_found(groups, fit):
    X, y = groups
    assert adjusted_rand_score(y, fit(X).labels_) > 0.95


def test_with_every_sample_a_landmark_the_eigenvectors_are_those_of_the_dense_graph(fit):
    X, _ = make_groups(150, spread=6.0)
    found = fit(X, landmarks=X, n_landmarks=None, n_neighbors=36, scale="none")
    graph = found._graph_model.joiner
    K = np.tensordot(graph.weights, graph.bank.grams(X), axes=1)
    J, V = nearest_columns(np.maximum(2 - 2 * K, 0), 12)
    B = np.zeros_like(K)
    np.put_along_axis(B, J.astype(np.intp), relative_affinity(V), axis=1)
    values, P = np.linalg.eigh((B / B.sum(axis=0)) @ B.T)
    assert_allclose(found.eigenvalues_, 1 - values[::-1][:4], atol=1e-8)  # of the Laplacian: all degrees are 1
    overlap = found.transform(X).T @ P[:, ::-1][:, :4]
    assert_allclose(np.abs(np.linalg.det(overlap)), 1, atol=1e-5)


@pytest.mark.parametrize("size", [1, 70, 333, 900])
def test_no_chunking_changes_labels_or_landmarks(groups, fit, size):
    X, _ = groups
    whole = fit(X)
    chunks = fit(Chunks([X[i : i + size] for i in range(0, len(X), size)]))
    assert np.array_equal(whole.labels_, chunks.labels_)
    assert np.array_equal(whole.landmarks_, chunks.landmarks_)


def test_no_number_of_threads_changes_labels(groups, fit):
    chunks = Chunks(np.array_split(groups[0], 7))
    assert np.array_equal(fit(chunks).labels_, fit(chunks, n_jobs=3).labels_)


def test_permuted_samples_get_permuted_labels(groups, fit):
    X, _ = groups
    order = np.random.default_rng(1).permutation(len(X))
    assert adjusted_rand_score(fit(X).labels_[order], fit(X[order]).labels_) == 1


@pytest.mark.parametrize("how", ["kmeans", "random"])
def test_the_seed_repeats_a_fit_and_another_draws_others(groups, fit, how):
    X, _ = groups
    first, again, other = fit(X, landmarks=how), fit(X, landmarks=how), fit(X, 1, landmarks=how)
    assert np.array_equal(first.labels_, again.labels_)
    assert not np.array_equal(first.landmarks_, other.landmarks_)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_either_precision_finds_the_same_groups(groups, fit, dtype):
    X, _ = groups
    found = fit(X.astype(dtype), dtype=dtype)
    assert found.landmarks_.dtype == dtype
    assert adjusted_rand_score(fit(X).labels_, found.labels_) > 0.99


def test_predicting_the_samples_of_fit_gives_their_labels_also_after_pickling(groups, fit):
    X, _ = groups
    found = fit(X)
    model = pickle.loads(pickle.dumps(found))
    assert np.array_equal(model.predict(X), found.labels_)
    assert np.array_equal(model.predict(iter(np.array_split(X, 5))), found.labels_)


def test_shares_of_the_kernels_can_be_given(groups, fit):
    p = np.arange(1.0, 8.0) / 28
    assert_allclose(fit(groups[0], weights=p).kernel_weights_, p)
    assert_allclose(fit(groups[0], weights="uniform").kernel_weights_, 1 / 7)


def test_copies_of_few_samples_share_landmarks_and_labels(fit):
    X = np.repeat(make_groups(12)[0], 20, axis=0)
    found = fit(X, n_landmarks=40)
    assert len(found.landmarks_) < 40
    assert (found.labels_.reshape(12, 20) == found.labels_[::20, None]).all()


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
    model = fit(groups[0])
    with pytest.raises(InvalidInputError, match="X has 5 features, but the model was fitted on samples of 6"):
        model.predict(Chunks(groups[0][:, :5]))
    with pytest.raises(ValueError, match="X has 5 features, but WeaveClustering is expecting 6 features"):
        model.predict(groups[0][:, :5])


def test_the_default_number_of_landmarks_fits_samples_and_clusters():
    assert default_landmarks(10**6, 10) == 1000
    assert default_landmarks(10**6, 100) == 2000
    assert default_landmarks(400, 10) == 100
    assert default_landmarks(12, 8) == 8


def test_progress_tells_stage_and_rows(groups, fit, capsys):
    told = []
    chunks = Chunks(np.array_split(groups[0], 3))
    model = fit(chunks, verbose=1)
    assert "landmarks: learned on 900 of 900 samples" in capsys.readouterr().err
    chunked_answers(model._graph_model, chunks, 6, 1, lambda *step: told.append(step))
    assert [step[0] for step in told] == ["passing"] * 4
    assert told[-1] == ("passing", 900, 900)


def test_memory_beyond_answers_and_chunks_does_not_grow_with_the_samples():
    plan = Plan("released-7", "self", "auto", GraphRule(), "auto", True, None, 1, lambda text: None)
    task = ClusterTask(4, "auto", None, 10)

    def blocks(count):
        return lambda: (make_groups(4000, seed=i)[0] for i in range(count))

    def peak(count):
        tracemalloc.start()
        Landmark(60).cluster(Chunks(blocks(count)), plan, task, np.random.RandomState(0))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    few, many = peak(4), peak(16)
    answers = 4 + 2 * 4 * 4  # bytes of a label, and of memberships and coordinates in 4 clusters
    assert many < few + 48_000 * answers + 2**21  # and 2 MiB against a copy of the added samples' 2.3
    assert many < landmark_memory(6, 60, 7, 8, n=64_000, c=4)


def test_rows_of_the_graph_are_sparse_sum_to_one_and_join_the_nearest_landmarks(groups, fit):
    X, _ = groups
    graph = fit(X, scale="none")._graph_model.joiner
    B = graph.rows(Views.of_table(X))
    K = graph.bank.weighted(Pair(X, graph.landmarks), graph.weights)
    diagonal = np.einsum("i,ij->j", graph.weights, [kernel.diag(X) for kernel in graph.bank.kernels])
    theirs = np.einsum("i,ij->j", graph.weights, [kernel.diag(graph.landmarks) for kernel in graph.bank.kernels])
    J, V = nearest_columns(np.maximum(diagonal[:, None] + theirs - 2 * K, 0), 3)
    expected = np.zeros_like(K)
    np.put_along_axis(expected, J.astype(np.intp), relative_affinity(V), axis=1)
    assert B.nnz == 3 * len(X)
    assert_allclose(B.sum(axis=1), 1)
    assert_allclose(B.toarray(), expected, atol=1e-9)


def test_comparing_the_nearest_landmarks_alone_gives_the_graph_of_all(fit):
    X, _ = make_groups(2000, spread=6.0)
    graph = fit(X, n_landmarks=200, scale="unit")._graph_model.joiner
    assert graph.n_compared < graph.m
    new = Views.of_table(X)
    B, expected = graph.rows(new), replace(graph, n_compared=graph.m).rows(new)
    assert np.array_equal(B.indices, expected.indices)
    assert_allclose(B.data, expected.data, rtol=1e-5)  # rounding of products in single precision


@pytest.mark.parametrize("kernel", [Polynomial(2, 0.0), Laplacian(0.5)], ids=str)
def test_landmarks_are_all_compared_where_the_kernel_does_not_follow_the_distance(fit, kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3)) * rng.choice([-1, 1], size=(1000, 1)) + 1
    graph = fit(X, n_landmarks=200, kernels=[kernel], scale="none")._graph_model.joiner
    assert graph.n_compared == graph.m
