"""What is learned on a sample with landmarks, beside brute force on small samples."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.core.graphs.bipartite import bipartite_sums, nearest_columns, relative_affinity
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Gaussian, KernelBank, Laplacian, Linear, Polynomial
from kernelweave.kernels.base import Pair
from kernelweave.samples.source import Run, sample_of, sliced
from kernelweave.samples.views import Views
from kernelweave.weave.landmark import learning
from kernelweave.weave.landmark.learning import (
    Settings,
    default_landmarks,
    landmark_classes,
    landmark_memory,
    learn_clusters,
    learn_graph,
)
from kernelweave.weave.plan import ClusterTask

BANK = KernelBank((Gaussian(0.5), Linear(), Polynomial(2, 1.0)))


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(150, 3)) + 3 * rng.integers(0, 3, size=(150, 1))


def sampled(X, scale="none", dtype=None):
    return sample_of(sliced(X, checked=True), np.arange(len(X)), Run(), scale, dtype)


def learned(X, n_landmarks=12, scale="none", dtype=None, **settings):
    given = Settings(**({"kernels": BANK, "landmarks": "random", "weights": "uniform"} | settings))
    return learn_graph(given, n_landmarks, sampled(X, scale, dtype))


def clusters(X, c, q, n_init=1):
    """The graph of the samples, the coordinates of the landmarks, the centres of the clusters, and the eigenvalues."""
    settings = Settings(BANK, "uniform", "random")
    model, values = learn_clusters(settings, 12, sampled(X), ClusterTask(c, "auto", q, n_init))
    return model.joiner, model.coordinates, model.centres.means, values


def dense(graph, X):
    """The affinities of samples to their nearest landmarks, from the whole kernel."""
    scaled = graph.version.scalings["X"].transform(X)
    K = graph.bank.weighted(Pair(scaled, graph.landmarks), graph.weights)
    own = sum(w * kernel.diag(scaled) for w, kernel in zip(graph.weights, graph.bank.kernels, strict=True))
    theirs = sum(w * k.diag(graph.landmarks) for w, k in zip(graph.weights, graph.bank.kernels, strict=True))
    D = np.maximum(own[:, None] + theirs - 2 * K, 0)
    J, least = nearest_columns(D, min(graph.n_neighbors, graph.m))
    B = np.zeros(D.shape)
    np.put_along_axis(B, J.astype(np.intp), relative_affinity(least), axis=1)
    return B


def test_the_settings_have_these_defaults():
    found = Settings()
    assert (found.kernels, found.weights, found.landmarks) == ("auto", "self", "kmeans")
    assert (found.n_neighbors, found.seed) == (3, 0)


@pytest.mark.parametrize(
    ("n", "c", "expected"),
    [(100, 3, 25), (3999, 3, 999), (4000, 3, 1000), (10**6, 3, 1000), (10**6, 51, 1020), (4100, 60, 1025),
     (10, 5, 5), (4, 9, 4), (1, 1, 1)],
)  # fmt: skip
def test_there_are_a_thousand_landmarks_twenty_per_cluster_or_a_quarter_of_few_samples(n, c, expected):
    assert default_landmarks(n, c) == expected


def test_the_memory_counts_the_sample_the_kernels_the_sums_the_chunks_and_the_results():
    chunks = 96 * 2**20
    few = landmark_memory(10, 100, 12, 8, n=1000, c=3)
    assert few == 1000 * 10 * 20 + (20 * 1000**2 + 3 * 12 * 512**2 * 4) + 100 * 10 * 16 + chunks + 1000 * 28
    many = landmark_memory(10, 5000, 12, 4, n=10**6, c=2)
    assert many == 100_000 * 10 * 12 + 32 * 5000**2 + 5000 * 10 * 16 + chunks + 10**6 * 20
    wide = landmark_memory(10, 100, 12, 4, n=10**6, c=2)
    assert wide == 10_000 * 10 * 12 + (12 * 2000**2 + 3 * 12 * 512**2 * 4) + 100 * 10 * 16 + chunks + 10**6 * 20
    assert landmark_memory(10, 100, 12, 4, n=10**6, c=2, n_numbers=10**6) == wide - 10_000 * 9 * 12


@pytest.mark.parametrize("tile", [1, 2**20])
@pytest.mark.parametrize("n_neighbors", [1, 3, 12, 50])
def test_samples_are_joined_to_the_nearest_landmarks_tile_by_tile(X, monkeypatch, tile, n_neighbors):
    graph = learned(X, n_neighbors=n_neighbors)
    monkeypatch.setattr(learning, "_TILE_BYTES", tile)
    B = graph.rows(Views.of_table(X))
    assert_allclose(B.toarray(), dense(graph, X), atol=1e-9)
    assert B.shape == (150, 12)
    assert B.nnz == 150 * min(n_neighbors, 12)
    assert B.dtype == np.float64
    assert_array_equal(graph.joined(X).toarray(), B.toarray())


@pytest.mark.parametrize("n_compared", [3, 7, 12])
def test_only_the_landmarks_nearest_by_distance_are_compared(X, monkeypatch, n_compared):
    monkeypatch.setattr(learning, "_TILE_BYTES", 1)
    bank = KernelBank((Gaussian(0.5), Gaussian(2.0)))  # the order is that of the distances
    graph = replace(learned(X, kernels=bank, weights=[0.25, 0.75]), n_compared=n_compared)
    assert_allclose(graph.rows(Views.of_table(X)).toarray(), dense(graph, X), atol=1e-8)


def test_landmarks_that_are_not_compared_are_not_joined(X):
    bank = KernelBank((Polynomial(2, 0.0),))  # opposite samples are alike
    signs = np.where(np.arange(150) % 2, 1, -1)[:, None]
    graph = learned(X * signs, kernels=bank, n_neighbors=2)
    assert graph.n_compared == graph.m
    few = replace(graph, n_compared=2)
    J = few.joined(X).indices.reshape(-1, 2)
    near = np.argsort(((X[:, None] - graph.landmarks) ** 2).sum(axis=2), axis=1)[:, :2]
    assert_array_equal(np.sort(J, axis=1), np.sort(near, axis=1))


def test_the_row_of_a_sample_takes_memory_for_its_neighbours_and_columns(X):
    assert learned(X).row_bytes == 32 * 3 + 16 * 3
    assert learned(X, n_neighbors=50).row_bytes == 32 * 12 + 16 * 3


def test_random_landmarks_are_samples_in_their_order(X):
    graph = learned(X)
    ordered = sampled(X).views.tables[0]
    rows = [int(np.flatnonzero((one == ordered).all(axis=1))[0]) for one in graph.landmarks]
    assert len(set(rows)) == 12
    assert rows == sorted(rows)
    assert not np.array_equal(graph.landmarks, learned(X, seed=1).landmarks)


def test_landmarks_of_kmeans_are_distinct_and_cover_the_groups():
    centres = np.array([[-64.0, 0], [0, 0], [64, 0]])
    X = np.repeat(centres, 30, axis=0)
    graph = learned(X, landmarks="kmeans", n_landmarks=9)
    assert_allclose(graph.landmarks, np.unique(centres, axis=0), atol=1e-4)
    assert graph.n_neighbors == 3
    assert learned(X, landmarks="kmeans", n_landmarks=9, n_neighbors=2).n_neighbors == 2
    unit = learned(np.random.default_rng(0).normal(size=(90, 3)), landmarks="kmeans", n_landmarks=9, scale="unit")
    assert_allclose(np.linalg.norm(unit.landmarks, axis=1), 1, rtol=1e-6)


def test_landmarks_are_found_in_the_precision_of_the_samples():
    rng = np.random.default_rng(0)
    far = learned(rng.normal(size=(90, 3)) + 1e9, landmarks="kmeans", n_landmarks=9, scale="none")
    assert far.landmarks.shape == (9, 3)  # in single precision all of these samples are equal
    large = rng.integers(0, 2**64, size=(90, 3), dtype=np.uint64).astype(float)  # whose squares overflow there
    assert learned(large, landmarks="kmeans", n_landmarks=9, scale="none").landmarks.shape == (9, 3)


def test_landmarks_that_are_given_are_scaled_like_the_samples(X):
    given = X[:4] + 1
    assert_allclose(learned(X, landmarks=given).landmarks, given)
    unit = learned(X, landmarks=given.tolist(), scale="unit")
    assert_allclose(unit.landmarks, given / np.linalg.norm(given, axis=1, keepdims=True), rtol=1e-6)
    assert unit.landmarks.dtype == np.float32


@pytest.mark.parametrize(
    ("asked", "stored", "scale", "expected"),
    [
        (None, np.float64, "none", np.float64),
        (None, np.float32, "none", np.float32),
        (None, np.float64, "unit", np.float32),
        ("float32", np.float64, "none", np.float32),
        ("float64", np.float32, "unit", np.float64),
    ],
)
def test_scaled_samples_are_compared_in_single_precision_unless_another_is_asked_for(X, asked, stored, scale, expected):
    graph = learned(X.astype(stored), dtype=asked, scale=scale)
    assert graph.dtype == expected
    assert graph.landmarks.dtype == expected


def test_weights_are_given_equal_or_learned(X):
    assert_array_equal(learned(X, weights=[0.5, 0.25, 0.25]).weights, [0.5, 0.25, 0.25])
    assert_allclose(learned(X).weights, [1 / 3] * 3)
    own = learned(X, weights="self").weights
    assert own.sum() == pytest.approx(1)
    assert not np.allclose(own, 1 / 3)


def enough(graph, X):
    """How many landmarks nearest by distance hold the nearest in the kernel, by brute force."""
    B = dense(graph, X) > 0
    rank = ((X[:, None] - graph.landmarks) ** 2).sum(axis=2).argsort(axis=1).argsort(axis=1)
    farthest = rank[B].max() + 1
    return next((e for e in (16, 32, 64) if farthest <= 0.75 * e and e < graph.m / 2), graph.m)


@pytest.mark.parametrize(
    ("kernels", "m", "k", "expected"),
    [
        ((Gaussian(0.5),), 40, 3, 16),
        ((Gaussian(0.5),), 40, 12, 16),
        ((Gaussian(0.5),), 40, 13, 40),  # 32 are too many of 40
        ((Gaussian(0.5),), 65, 13, 32),
        ((Gaussian(0.5),), 65, 24, 32),
        ((Gaussian(0.5),), 65, 25, 65),
        ((Gaussian(0.5),), 129, 25, 64),
        ((Gaussian(0.5),), 129, 49, 129),
        ((Gaussian(0.5),), 33, 3, 16),
        ((Gaussian(0.5),), 32, 3, 32),
        ((Gaussian(0.5), Laplacian(0.5)), 40, 3, 40),  # not a function of products
        ((Polynomial(2, 0.0),), 40, 3, 40),
    ],
)
def test_as_many_landmarks_are_compared_as_hold_the_nearest_in_the_kernel(X, kernels, m, k, expected):
    signs = np.where(np.arange(150) % 2, 1, -1)[:, None]
    graph = learned(X * signs, kernels=KernelBank(kernels), n_landmarks=m, n_neighbors=k)
    assert graph.n_compared == expected
    if all(isinstance(kernel, Gaussian) for kernel in kernels):
        assert enough(graph, X * signs) == expected


def test_coordinates_solve_the_eigenproblem_of_the_landmarks(X):
    graph, Q, centres, values = clusters(X, 3, 3, n_init=2)
    BB = bipartite_sums([graph.joined(X)])
    e = BB.sum(axis=1)
    T = BB / np.sqrt(np.outer(e, e))
    expected = np.sort(np.linalg.eigvalsh(T))[::-1][:3]
    found = np.sort(1 - values)[::-1] if values[0] < 0.5 else np.sort(values)[::-1]
    assert_allclose(found, expected, atol=1e-6)
    assert Q.shape == (12, 3)
    assert centres.shape == (3, 3)
    P = dense(graph, X) @ Q
    rows = P / np.linalg.norm(P, axis=1, keepdims=True)
    own = ((rows[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert_allclose(centres, [rows[own == j].mean(axis=0) for j in range(3)], atol=1e-6)  # k-means has converged


def test_a_single_component_is_not_the_constant_one(X):
    _, two, _, _ = clusters(X, 2, 2)
    _, one, _, values = clusters(X, 2, 1)
    assert one.shape == (12, 1)
    assert len(values) == 2
    assert_allclose(np.abs(one[:, 0]), np.abs(two[:, 1]))
    assert np.std(one[:, 0]) > 1e-3


def test_there_are_at_most_as_many_clusters_and_components_as_landmarks(X):
    assert clusters(X, 12, 12)[1].shape == (12, 12)
    for c, q in ((13, 2), (2, 13)):
        with pytest.raises(InvalidInputError, match=r"13 clusters or components need .* landmarks; got 12"):
            clusters(X, c, q)


@pytest.mark.parametrize("class_mass", [False, True])
@pytest.mark.parametrize("method", ["harmonic", "lgc"])
def test_label_scores_solve_the_equations_of_the_landmarks(X, method, class_mass):
    graph = learned(X)
    B = dense(graph, X)
    codes = np.where(np.arange(150) % 10 == 0, np.arange(150) % 3, -1)
    known = codes >= 0
    BB_u, BB_l, BY = B[~known].T @ B[~known], B[known].T @ B[known], B[known].T @ np.eye(3)[codes[known]]
    U = landmark_classes(np.hstack([BB_u, BB_l, BY]), harmonic=method == "harmonic", class_mass=class_mass)
    e = B.sum(axis=0)
    system = np.diag(e) - (0.99 * (BB_u + BB_l) if method == "lgc" else BB_u)
    expected = np.linalg.solve(system, BY)
    if class_mass:
        expected = expected * BY.sum(axis=0) / (B[~known].sum(axis=0) @ expected)
    assert_allclose(U / U.sum(), expected / expected.sum(), rtol=1e-6, atol=1e-9)
    if class_mass or method == "harmonic":
        assert_allclose(U, expected, rtol=1e-6)


def test_graphs_with_landmarks_are_compared_by_identity(X):
    assert learning.LandmarkRows.__eq__ is object.__eq__
