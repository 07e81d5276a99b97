"""Local graphs: the same numbers as dense ones among candidates, in one piece, symmetric."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelweave.core.graphs.affinity import GraphRule, KernelAffinities, ridge_affinity
from kernelweave.errors import InvalidInputError, NotFiniteError
from kernelweave.kernels import Centered, Chi2, Cosine, Gaussian, Laplacian, Linear, Polynomial, SelfTuning, recipe
from kernelweave.kernels.base import Products, row_sqnorms
from kernelweave.weave.local.local_graph import new_rows, weave_local
from kernelweave.weave.local.local_kernel import LocalConsensus, LocalKernel, affinities, gathered, ridge_rows
from kernelweave.weave.local.local_solver import Local
from kernelweave.weave.local.neighbours import ExactSearch


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return np.abs(rng.normal(size=(60, 8)) + 3 * np.eye(8)[rng.integers(0, 8, 60)]).astype(np.float32)


@pytest.fixture(scope="module")
def kernel(X):
    bank = recipe("released-12").fit(X)
    return LocalKernel.fixed_on(X, bank.kernels, np.full(12, 1 / 12))


@pytest.fixture(scope="module")
def K(X):
    return recipe("released-12").fit_grams(X.astype(np.float64)).mean(axis=0)


def everyone(n):
    """All other samples as candidates of each."""
    return np.array([[j for j in range(n) if j != i] for i in range(n)], dtype=np.int32)


def weave(X, kernel, graph="ridge", n_neighbors=5, n_candidates=20):
    rule = GraphRule(graph, 0.1, n_neighbors)
    return weave_local((X,), LocalConsensus((kernel,)), rule, n_candidates=n_candidates, join=True, seed=0)[0]


def test_the_kernel_within_groups_is_that_of_the_bank(X, kernel, K):
    groups = np.array([[0, 5, 9, 12], [3, 4, 5, 3]])
    values = kernel.within(gathered(X, groups))
    for group, value in zip(groups, values, strict=True):
        assert_allclose(value, K[np.ix_(group, group)], atol=2e-5)


def test_the_kernel_between_a_sample_and_its_group_is_that_of_the_bank(X, kernel, K):
    groups = np.array([[5, 9, 12], [4, 5, 3]])
    assert_allclose(kernel.between(X[[0, 3]], gathered(X, groups)), [K[0, groups[0]], K[3, groups[1]]], atol=2e-5)


def test_samples_far_from_the_origin_keep_their_distances():
    X = (np.random.default_rng(0).normal(size=(30, 3)) + 1000).astype(np.float32)
    bank = [Gaussian(0.1).fit(X.astype(np.float64))]
    local = LocalKernel.fixed_on(X, tuple(bank), np.ones(1))
    group = np.arange(30)[None]
    assert_allclose(local.within(X[group])[0], bank[0].gram(X.astype(np.float64)), atol=1e-3)
    assert_allclose(local.between(X[:1], X[group])[0], bank[0].gram(X.astype(np.float64))[0], atol=1e-3)


def test_kernels_that_take_more_than_products_are_asked_group_by_group(X):
    kernels = (Chi2().fit(X), Linear())
    local = LocalKernel.fixed_on(X, kernels, np.array([0.25, 0.75]))
    groups = np.array([[1, 2, 3], [4, 0, 2]])
    whole = 0.25 * kernels[0].gram(X[:5]) + 0.75 * kernels[1].gram(X[:5])
    assert_allclose(local.within(X[groups]), [whole[np.ix_(group, group)] for group in groups], rtol=1e-5)
    assert_allclose(local.between(X[:2], X[groups]), [whole[0, groups[0]], whole[1, groups[1]]], rtol=1e-5)


@pytest.mark.parametrize(
    "kernel",
    [
        *recipe("released-12").kernels,
        *recipe("printed-7").kernels,
        Cosine(),
        2 * Linear() + Polynomial(2, 1.0),
        Linear() * Gaussian(),
    ],
    ids=str,
)
def test_kernels_from_products_are_kernels_from_samples(X, kernel):
    X = X.astype(np.float64)
    fixed = kernel.fit(X)
    x = row_sqnorms(X)
    sqdist = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    products = Products(X @ X.T, sqdist, np.broadcast_to(x[:, None], sqdist.shape), np.broadcast_to(x, sqdist.shape))
    assert_allclose(fixed.of_products(products), fixed.gram(X), rtol=1e-9, atol=1e-12)


def test_the_local_row_is_the_row_of_the_dense_ridge_when_everyone_is_a_candidate(X, kernel, K):
    found = affinities((X,), everyone(60), LocalConsensus((kernel,)), GraphRule("ridge"), g=0.1)
    Z = ridge_affinity(K, gamma=0.1)
    assert_allclose(found.parts["ridge"].values, np.take_along_axis(Z, everyone(60), axis=1), atol=2e-4)


def test_the_ridge_row_is_the_scaled_solution_of_the_small_system():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(7, 9))
    K, g = A @ A.T, 0.3
    beta = np.linalg.solve(K[1:, 1:] + g * np.eye(6), K[0, 1:])
    exact = g * beta / (K[0, 0] + g - K[0, 1:] @ beta)
    assert_allclose(ridge_rows(K[None], g)[0], exact, rtol=1e-9)


@pytest.mark.parametrize("graph", ["ridge", "knn", "both"])
def test_the_local_graph_is_the_dense_one_when_everyone_is_a_candidate(X, kernel, K, graph):
    rule = GraphRule(graph, 0.1, 4)
    found = affinities((X,), everyone(60), LocalConsensus((kernel,)), rule, g=0.1)
    here, there = rule.weave(found.parts.__getitem__, 60), rule.weave(KernelAffinities(K, 0.1), 60)
    assert_allclose(here.graph.toarray(), there.graph.toarray(), atol=5e-4)
    assert_allclose(here.degrees, there.degrees, rtol=1e-4)


@pytest.mark.parametrize(("graph", "lacking"), [("ridge", "tuned"), ("knn", "ridge")])
def test_affinities_that_the_rule_does_not_use_are_not_computed(X, kernel, graph, lacking):
    assert lacking not in affinities((X,), everyone(60), LocalConsensus((kernel,)), GraphRule(graph), g=0.1).parts


@pytest.mark.parametrize("graph", ["ridge", "knn", "both"])
def test_the_graph_is_symmetric_without_loops_and_in_one_piece(X, kernel, graph):
    S = weave(X, kernel, graph=graph, n_neighbors=2).graph
    assert abs(S - S.T).max() == 0
    assert S.diagonal().max() == 0
    assert connected_components(S)[0] == 1


def test_pieces_without_candidates_outside_are_joined_all_the_same(kernel, X):
    far = np.vstack([X, X + 500]).astype(np.float32)
    bank = recipe("released-12").fit(far)
    S = weave(far, LocalKernel.fixed_on(far, bank.kernels, np.full(12, 1 / 12)), n_candidates=6, n_neighbors=3).graph
    assert connected_components(S)[0] == 1


def test_sparse_samples_give_the_graph_of_dense_ones(X, kernel):
    thin = np.where(X > 1, X, 0).astype(np.float32)
    here, there = weave(thin, kernel, graph="both"), weave(sparse.csr_array(thin), kernel, graph="both")
    assert_allclose(there.graph.toarray(), here.graph.toarray(), atol=1e-4)


@pytest.mark.parametrize("kernel", [SelfTuning(), Centered(Linear())], ids=str)
def test_kernels_of_whole_rows_are_refused_for_sparse_samples(X, kernel):
    fixed = (kernel.fit(X),)
    assert weave(X, LocalKernel.fixed_on(X, fixed, np.ones(1))).graph.nnz > 0
    with pytest.raises(InvalidInputError, match=r"make them dense with X.toarray\(\)"):
        LocalKernel.fixed_on(sparse.csr_array(X), fixed, np.ones(1))


def test_kernels_that_add_up_columns_take_sparse_samples(X):
    thin = np.where(X > 1, X, 0).astype(np.float32)
    kernel = LocalKernel.fixed_on(sparse.csr_array(thin), (Laplacian().fit(thin),), np.ones(1))
    here, there = weave(thin, kernel), weave(sparse.csr_array(thin), kernel)
    assert_allclose(there.graph.toarray(), here.graph.toarray(), atol=1e-4)


def test_the_same_table_twice_gives_the_graph_of_one(X, kernel):
    half = LocalKernel(kernel.kernels, kernel.shares / 2, kernel.origin)
    twice = weave_local(
        (X, X), LocalConsensus((half, half)), GraphRule("ridge", 0.1, 5), n_candidates=20, join=True, seed=0
    )[0]
    assert_allclose(twice.graph.toarray(), weave(X, kernel).graph.toarray(), atol=1e-4)


@pytest.mark.parametrize("graph", ["ridge", "knn", "both"])
def test_a_new_row_points_to_near_samples(X, kernel, graph):
    woven = weave(X, kernel, graph=graph)
    rows = new_rows((X,), (X[:4] + np.float32(0.001),), woven, (ExactSearch(X),))
    assert rows.shape == (4, 60)
    assert_array_equal(rows.toarray().argmax(axis=1), np.arange(4))


def test_new_rows_of_sparse_samples_are_those_of_dense_ones(X, kernel):
    thin = np.where(X > 1, X, 0).astype(np.float32)
    dense = new_rows((thin,), (thin[:5] * np.float32(1.1),), weave(thin, kernel), (ExactSearch(thin),))
    rows, new = sparse.csr_array(thin), sparse.csr_array(thin[:5] * np.float32(1.1))
    again = new_rows((rows,), (new,), weave(rows, kernel), (ExactSearch(rows),))
    assert_allclose(again.toarray(), dense.toarray(), atol=1e-4)


def test_copies_of_a_sample_do_no_harm(kernel, X):
    S = weave(np.repeat(X[:3], 20, axis=0), kernel, graph="both").graph
    assert np.isfinite(S.data).all()


def test_kernels_without_a_diagonal_are_refused(X):
    with pytest.raises(InvalidInputError, match="must be positive"):
        weave(np.zeros_like(X), LocalKernel((Linear(),), np.ones(1)))


def test_a_singular_neighbourhood_is_said_to_be_one():
    with pytest.raises(NotFiniteError, match="raise gamma"):
        ridge_rows(-np.eye(3)[None], 1.0)


def test_the_number_of_candidates_is_more_than_the_graph_keeps():
    assert Local().candidates(5000, 10) == 60
    assert Local().candidates(5001, 10) == 15
    assert Local().candidates(5001, 20) == 30
