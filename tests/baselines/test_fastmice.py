"""FastMICE: random groups, graphs to the nearest anchors, the consensus, and memory that is linear in the samples."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

from kernelweave.baselines import FastMICE
from kernelweave.baselines.anchor_graph import bipartite_embedding
from kernelweave.baselines.fastmice import anchor_affinity, draw_group, label_graph
from kernelweave.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 4)), rng.normal(size=(9, 4))


def test_groups_draw_every_number_of_views_and_a_part_of_their_columns():
    rng, widths = np.random.RandomState(0), (10, 1, 25)
    groups = [draw_group(widths, rng) for _ in range(200)]
    assert {len(group.views) for group in groups} == {1, 2, 3}
    for group in groups:
        for v, columns in zip(group.views, group.columns, strict=True):
            assert 0.2 * widths[v] <= len(columns) <= max(1, np.ceil(0.8 * widths[v]))
            assert len(set(columns)) == len(columns)
            assert columns.max() < widths[v]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_samples_are_joined_to_their_nearest_anchors_only(samples, form):
    X, A = samples
    B = anchor_affinity(form(X), A, 3, "euclidean").toarray()
    D = ((X[:, None] - A) ** 2).sum(axis=2)
    near = np.argsort(D, axis=1)[:, :3]
    assert_array_equal(np.sort(np.argsort(-B, axis=1)[:, :3]), np.sort(near))
    assert_array_equal((B > 0).sum(axis=1), 3)
    scale = np.sqrt(np.take_along_axis(D, near, axis=1)).mean()
    expected = np.exp(-np.take_along_axis(D, near, axis=1) / (2 * scale**2))
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert_allclose(np.take_along_axis(B, near, axis=1), expected, rtol=1e-8)


def test_cosine_affinities_are_inner_products_of_unit_rows(samples):
    X, A = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in samples)
    B = anchor_affinity(X, A, 2, "cosine").toarray()
    best = np.sort(np.maximum(X @ A.T, 0), axis=1)[:, -2:]
    assert_allclose(np.sort(B, axis=1)[:, -2:], best / np.linalg.norm(best, axis=1, keepdims=True), atol=1e-7)


def test_the_label_graph_joins_every_sample_to_its_cluster_in_every_clustering():
    base = np.array([[0, 0, 1, 1], [2, 0, 1, 1]], dtype=np.int32)
    expected = [[1, 0, 0, 0, 1], [1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 1, 0, 1, 0]]
    assert_array_equal(label_graph(base, np.dtype(np.float64)).toarray(), expected)


def test_equal_base_clusterings_are_their_own_consensus():
    z = np.random.default_rng(0).integers(4, size=40).astype(np.int32)
    P = bipartite_embedding(label_graph(np.stack([z, z, z]), np.dtype(np.float64)), 4)[1]
    same = z[:, None] == z
    distances = ((P[:, None] - P) ** 2).sum(axis=2)
    assert distances[same].max() < 1e-12
    assert distances[~same].min() > 1e-3


def test_an_ensemble_is_better_than_its_members_on_average():
    X, y = make_blobs(300, n_features=8, centers=5, cluster_std=3.0, random_state=3)
    model = FastMICE(5, n_anchors=60, random_state=0).fit([X[:, :4], X[:, 4:]])
    members = [clustering_accuracy(y, labels) for labels in model.base_labels_]
    assert clustering_accuracy(y, model.labels_) > np.mean(members)


def test_base_clusterings_have_between_c_and_2c_clusters():
    X, _ = make_blobs(200, n_features=4, centers=3, random_state=0)
    model = FastMICE(4, n_groups=30, n_anchors=50, random_state=0).fit(X)
    assert model.base_labels_.shape == (30, 200)
    counts = {len(np.unique(labels)) for labels in model.base_labels_}
    assert max(counts) <= 8
    assert len(counts) > 2


def test_the_length_of_a_row_does_not_matter_to_cosines():
    X, _ = make_blobs(100, n_features=5, centers=3, random_state=0)
    lengths = np.random.default_rng(0).uniform(0.1, 10, size=(100, 1))
    model = FastMICE(3, n_anchors=20, metric="cosine", random_state=0)
    assert_array_equal(model.fit_predict(lengths * X), model.fit_predict(X))


def test_memory_is_far_below_a_matrix_of_all_pairs():
    n = 12_000
    X = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    tracemalloc.start()
    FastMICE(3, n_groups=3, n_anchors=50, random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n / 10
    assert FastMICE.estimate_memory(2 * n) == 2 * FastMICE.estimate_memory(n)
