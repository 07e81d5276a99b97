"""The graph of samples and anchors: its spectral step through the anchors equals the one of the whole graph."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse

from kernelweave.baselines.anchor_graph import bipartite_embedding, kmeans_anchors


@pytest.fixture(scope="module")
def B():
    dense = np.random.default_rng(0).uniform(size=(30, 7))
    return np.where(dense > 0.6, dense, 0) + 0.01


def whole_graph(B):
    """Return eigenvalues and eigenvectors of Lu = μDu on the graph of all samples and anchors."""
    n, m = B.shape
    W = np.block([[np.zeros((n, n)), B], [B.T, np.zeros((m, m))]])
    D = np.diag(W.sum(axis=1))
    return linalg.eigh(D - W, D)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_eigenvectors_are_those_of_the_whole_bipartite_graph(B, form):
    values, P = bipartite_embedding(form(B), 4)
    true_values, V = whole_graph(B)
    assert_allclose(values, true_values[:4], atol=1e-8)
    for mine, true in zip(P.T, V[:30, :4].T, strict=True):
        cosine = mine @ true / (np.linalg.norm(mine) * np.linalg.norm(true))
        assert_allclose(abs(cosine), 1, atol=1e-9)


def test_columns_are_orthonormal_with_the_degrees_as_weights(B):
    P = bipartite_embedding(B, 4)[1]
    assert_allclose(P.T @ (B.sum(axis=1)[:, None] * P), np.eye(4), atol=1e-10)


def test_single_precision_is_kept(B):
    assert bipartite_embedding(B.astype(np.float32), 3)[1].dtype == np.float32


def test_anchors_of_few_distinct_rows_are_these_rows():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0], [9.0, 0.0]], 10, axis=0)
    A = kmeans_anchors(X, 5, candidates=100, n_init=3, max_iter=20, rng=np.random.RandomState(0))
    assert A.shape == (5, 2)
    assert {tuple(row) for row in A.round(12)} == {(0.0, 0.0), (5.0, 5.0), (9.0, 0.0)}
