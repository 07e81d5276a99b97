from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.datasets import make_blobs

from kernelweave.baselines import SNF
from kernelweave.baselines.neighbour_similarity import pair_scales, strongest_shares
from kernelweave.baselines.snf import status_matrix
from kernelweave.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def tables():
    X, _ = make_blobs(40, n_features=9, centers=3, cluster_std=2, random_state=0)
    return [X[:, :2], 50 * X[:, 2:5], X[:, 5:] / 7]


def distances(X):
    return np.array([[np.sqrt(((a - b) ** 2).sum()) for b in X] for a in X])


def direct_similarity(X, k, mu, scheme):
    """Return the similarities of one table, pair by pair."""
    rho = distances(X)
    n = len(X)
    reach = [np.mean(sorted(rho[i, j] for j in range(n) if j != i)[:k]) for i in range(n)]
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            epsilon = (reach[i] + reach[j] + rho[i, j]) / 3
            W[i, j] = (
                norm.pdf(rho[i, j], scale=mu * epsilon)
                if scheme == "released"
                else np.exp(-(rho[i, j] ** 2) / (mu * epsilon))
            )
    return W


def direct_status(W):
    n = len(W)
    P = np.array([[0.5 if i == j else W[i, j] / (2 * (sum(W[i]) - W[i, i])) for j in range(n)] for i in range(n)])
    return (P + P.T) / 2


def direct_shares(P, k):
    S = np.zeros_like(P)
    for i, row in enumerate(P):
        nearest = np.argsort(-row)[:k]
        S[i, nearest] = row[nearest] / row[nearest].sum()
    return S


def direct_fusion(tables, k, mu, steps, scheme):
    """Return the fused network by the formulas of the paper and SNFtool, with dense matrices and loops."""
    P = [direct_status(direct_similarity(X, k, mu, scheme)) for X in tables]
    S = [direct_shares(Pv, k) for Pv in P]
    for _ in range(steps):
        P = [
            direct_status(S[v] @ np.mean([P[u] for u in range(len(P)) if u != v], axis=0) @ S[v].T)
            for v in range(len(P))
        ]
    return direct_status(np.mean(P, axis=0))


@pytest.mark.parametrize("scheme", ["released", "printed"])
@pytest.mark.parametrize("n_views", [2, 3])
def test_the_fused_network_is_that_of_the_formulas(tables, n_views, scheme):
    given = [table / 20 if scheme == "printed" else table for table in tables[:n_views]]
    model = SNF(3, n_neighbors=7, mu=0.4, n_iter=6, scheme=scheme, random_state=0).fit(given)
    expected = direct_fusion(given, 7, 0.4, 6, scheme)
    assert np.abs(expected).max() > 0.1
    assert_allclose(model.graph_, expected, atol=1e-12)


def test_the_defaults_are_those_of_the_released_program(tables):
    assert_allclose(
        SNF(3, random_state=0).fit(tables).graph_, direct_fusion(tables, 20, 0.5, 20, "released"), atol=1e-12
    )


def test_the_unit_of_a_table_does_not_matter_to_the_released_similarities(tables):
    model = SNF(3, random_state=0).fit(tables)
    scaled = SNF(3, random_state=0).fit([1e3 * tables[0], tables[1], 1e-3 * tables[2]])
    assert_allclose(scaled.graph_, model.graph_, atol=1e-10)


def test_the_order_of_views_does_not_matter(tables):
    assert_allclose(SNF(3).fit(tables[::-1]).graph_, SNF(3).fit(tables).graph_, atol=1e-12)


def test_one_view_is_not_diffused(tables):
    model = SNF(3).fit(tables[0])
    assert model.n_iter_ == 0
    assert_allclose(model.graph_, direct_status(direct_status(direct_similarity(tables[0], 20, 0.5, "released"))))


def test_rows_of_a_status_matrix_sum_to_one_before_the_mean_with_the_transpose():
    W = np.ones((6, 6))
    P = status_matrix(W)  # symmetric before as well, since all rows are equal
    assert_allclose(P.sum(axis=1), 1)
    assert_array_equal(P.diagonal(), 0.5)


def test_samples_that_coincide_have_finite_similarities():
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 2)), 10, axis=0)
    model = SNF(4, n_neighbors=5, random_state=0).fit([X, 2 * X])
    assert np.isfinite(model.graph_).all()
    assert clustering_accuracy(np.repeat(range(4), 10), model.labels_) == 1


def test_scales_are_positive_even_if_all_samples_are_equal():
    assert (pair_scales(np.zeros((5, 5)), 3) > 0).all()


def test_shares_are_those_of_the_largest_entries():
    W = np.array([[4.0, 3.0, 1.0], [3.0, 4.0, 3.0], [1.0, 2.0, 4.0]])
    assert_allclose(strongest_shares(W, 2), [[4 / 7, 3 / 7, 0], [0.3, 0.4, 0.3], [0, 1 / 3, 2 / 3]])


def test_labels_for_another_seed_are_those_of_another_fit(tables):
    model = SNF(3, random_state=0).fit(tables)
    assert_array_equal(model.labels_for(5), SNF(3, random_state=5).fit(tables).labels_)


@pytest.mark.parametrize("mu", [1e-300, 5e-324, 1e300])
def test_a_width_of_no_use_is_refused(mu):
    with pytest.raises(ValueError, match="'mu' parameter of SNF"):
        SNF(2, mu=mu).fit(np.eye(6))


def test_the_fused_network_is_that_of_the_r_package():
    # A, B and W: inputs and result of SNFtool 2.3.1, SNF(list(...), 8, 15) of affinityMatrix(dist2(.)^.5, 8, .4)
    stored = np.load(Path(__file__).parent / "data" / "snftool.npz")
    found = SNF(2, n_neighbors=8, mu=0.4, n_iter=15, random_state=0).fit([stored["A"], stored["B"]])
    assert_allclose(found.graph_, stored["W"], rtol=0, atol=1e-12)
