"""Laplace learning is GFHF on the graph of nearest neighbours."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

from kernelweave import Views
from kernelweave.baselines import GFHF, LaplaceLearning
from kernelweave.baselines.neighbour_graph import kernel_neighbours, mean_graph, neighbour_weights, table_neighbours
from kernelweave.errors import UndecidedWarning


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(80, n_features=4, centers=3, cluster_std=4.0, random_state=0)
    return X, y, np.where(np.arange(80) % 8, -1, y)


def brute_force_graph(X, k):
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    far = np.sort(D, axis=1)[:, k - 1 : k]
    C = np.where(far >= D, np.exp(-4 * D / far), 0)
    return (C + C.T) / 2


def test_the_graph_is_that_of_the_paper(blobs):
    model = LaplaceLearning(n_neighbors=6).fit(blobs[0], blobs[2])
    assert_allclose(model.graph_.toarray(), brute_force_graph(blobs[0], 6), atol=1e-12)


def test_it_is_gfhf_on_its_graph(blobs):
    X, _, y = blobs
    model = LaplaceLearning().fit(X, y)
    same = GFHF(kernel="precomputed").fit(model.graph_.toarray(), y)
    assert_allclose(model.label_distributions_, same.label_distributions_, atol=1e-10)
    assert not model.undecided_.any()


def test_scores_are_the_means_of_their_neighbours_and_labels_are_kept(blobs):
    model = LaplaceLearning().fit(blobs[0], blobs[2])
    F, W = model.label_distributions_, model.graph_.toarray()
    unlabelled = blobs[2] < 0
    assert_allclose((W @ F / W.sum(axis=1, keepdims=True))[unlabelled], F[unlabelled], atol=1e-10)
    assert_array_equal(model.transduction_[~unlabelled], blobs[2][~unlabelled])


def test_a_kernel_matrix_gives_the_neighbours_in_its_space(blobs):
    X = blobs[0]
    index, D = kernel_neighbours(X @ X.T, 5)
    assert_array_equal(index, table_neighbours(X, 5)[0])
    assert_allclose(D, table_neighbours(X, 5)[1], atol=1e-9)


def test_copies_of_a_sample_are_joined_with_weight_one():
    X = np.repeat(np.arange(3.0), 4)[:, None]
    W = neighbour_weights(*table_neighbours(X, 3)).toarray()
    assert_allclose(W, np.kron(np.eye(3), 1 - np.eye(4)))


def test_views_have_the_mean_graph_of_those_that_know_both_samples():
    rng = np.random.default_rng(0)
    full, part = rng.normal(size=(6, 2)), rng.normal(size=(4, 2))
    graphs = [neighbour_weights(*table_neighbours(X, 2)) for X in (full, part)]
    present = np.array([[True] * 6, [True] * 4 + [False] * 2])
    W = mean_graph(graphs, present).toarray()
    first, second = graphs[0].toarray(), graphs[1].toarray()
    assert_allclose(W[:4, :4], (first[:4, :4] + second) / 2)
    assert_allclose(W[4:], first[4:])


def test_several_kernel_matrices_have_the_mean_graph_too(blobs):
    X, _, y = blobs
    kernels = [X[:, :2] @ X[:, :2].T, X[:, 2:] @ X[:, 2:].T]
    both = LaplaceLearning("precomputed").fit(kernels, y).graph_.toarray()
    single = [LaplaceLearning("precomputed").fit(K, y).graph_.toarray() for K in kernels]
    assert_allclose(both, sum(single) / 2)


def test_views_with_gaps_are_joined_through_both(blobs):
    X, _, partial = blobs
    views = Views({"a": X[:, :2], "b": X[:, 2:]}, missing={"a": np.arange(10), "b": np.arange(70, 80)})
    model = LaplaceLearning().fit(views, partial)
    assert model.graph_.shape == (80, 80)
    assert (model.graph_.toarray()[:10, 70:] == 0).all()  # no view knows both
    assert not model.undecided_.any()


def test_sparse_samples_have_the_same_graph(blobs):
    X, _, y = blobs
    dense, thin = (LaplaceLearning().fit(form(X), y).graph_.toarray() for form in (np.asarray, sparse.csr_array))
    assert_allclose(thin, dense, atol=1e-10)


def test_a_component_without_a_label_is_undecided():
    X = np.r_[np.arange(5.0), 100 + np.arange(5.0)][:, None]
    with pytest.warns(UndecidedWarning, match=r"5 of 10 samples lie in parts.* or raise n_neighbors"):
        model = LaplaceLearning(n_neighbors=2).fit(X, [0, 1] + 8 * [-1])
    assert_array_equal(model.undecided_, np.arange(10) >= 5)
