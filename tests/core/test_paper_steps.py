"""The steps of the paper against loops, in both precisions and around the sizes of tiles."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from kernelweave.core.algebra.matrices import ridge_inverse
from kernelweave.core.graphs.coordinates import laplacian
from kernelweave.core.paper import closed_forms as kernel_steps
from kernelweave.core.paper import nonnegative
from kernelweave.core.paper.closed_forms import (
    combine,
    consensus_distances,
    consensus_weights,
    embedding,
    graph_from_inverse,
    identity_minus,
    kernel_products,
    kernel_residuals,
    kernel_step,
    label_distances,
    parametrised_weights,
    perturbation_term,
    positive_graph,
    residual,
    self_weighted_mean,
    self_weights,
    smoothness,
    unexpressed,
)
from kernelweave.core.paper.nonnegative import NotOptimalError, exact_graph_step, optimality_gap
from kernelweave.core.partitions.kernel_centres import (
    centres,
    distance_rounding,
    kernel_kmeans,
    plain_centres,
    root_loss,
    seeded_centres,
    squared_loss,
)
from kernelweave.core.partitions.kmeans import random_labels

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def close(dtype):
    return {"rtol": 2e-3, "atol": 2e-4} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-11}


@DTYPES
@pytest.mark.parametrize("n", [1, 127, 128, 129])
@pytest.mark.parametrize("squared", [True, False])
def test_the_graph_solves_its_system_column_by_column(n, squared, dtype):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 4))
    K, P = (X @ X.T / 4 + np.eye(n)).astype(dtype), rng.normal(size=(n, 2)).astype(dtype)
    alpha, gamma = 0.3, 0.5
    G = cdist(P, P, "sqeuclidean" if squared else "euclidean")
    assert_allclose(label_distances(P, squared=squared), G, **close(dtype))
    A = ridge_inverse(K, gamma=gamma)
    assert_allclose(A, np.linalg.inv(K.astype(float) + gamma * np.eye(n)), **close(dtype))
    expected = np.linalg.solve(K.astype(float) + gamma * np.eye(n), K - alpha * G / 4)
    before = A.copy()
    assert_allclose(graph_from_inverse(A, P, alpha=alpha, gamma=gamma, squared=squared), expected, **close(dtype))
    if squared:
        assert_array_equal(
            graph_from_inverse(A, P, alpha=alpha, gamma=gamma),
            graph_from_inverse(A, P, alpha=alpha, gamma=gamma, squared=True),
        )
        E = unexpressed(A, P, alpha=alpha, gamma=gamma)
        assert_allclose(E, np.eye(n) - expected, **close(dtype))
        assert_array_equal(A, before)
        own = A.copy()
        assert np.shares_memory(unexpressed(own, P, alpha=alpha, gamma=gamma, overwrite=True), own)


def test_a_sample_is_at_no_distance_from_itself_and_none_is_negative():
    P = 1e6 + np.random.default_rng(0).normal(size=(6, 2))
    for squared in (True, False):
        G = label_distances(P, squared=squared)
        assert_array_equal(G.diagonal(), 0)
        assert G.min() >= 0


@DTYPES
def test_positive_graphs_and_residuals_are_new_matrices(dtype):
    S = np.random.default_rng(0).normal(size=(140, 140)).astype(dtype)
    before = S.copy()
    assert_array_equal(positive_graph(S), (np.maximum(S, 0) + np.maximum(S, 0).T) / 2)
    E = np.eye(140) - S
    assert_allclose(residual(S), E @ E.T, rtol=1e-3, atol=1e-3 if dtype == np.float32 else 1e-9)
    assert_array_equal(S, before)
    own = S.copy()
    assert identity_minus(own) is own
    assert_array_equal(own, np.eye(140, dtype=dtype) - S)


@DTYPES
@pytest.mark.parametrize("n", [3, 16, 17, 50])
def test_kernels_are_added_and_multiplied_entry_by_entry(n, dtype):
    rng = np.random.default_rng(n)
    H = rng.normal(size=(3, n, n)).astype(dtype)
    w, M = rng.uniform(1, 2, size=3), rng.normal(size=(n, n)).astype(dtype)
    mean = sum(wi * Hi for wi, Hi in zip(w, H, strict=True)) / w.sum()
    assert_allclose(combine(H, w), mean * w.sum(), **close(dtype))
    assert combine(H[:, :2], w).shape == (2, n)
    assert_allclose(kernel_step(H, w, M, beta=0.7), mean - M / (2 * 0.7 * w.sum()), **close(dtype))
    assert_allclose(kernel_products(H), np.einsum("aij,bij->ab", H, H, dtype=float), rtol=1e-5)
    assert_allclose(kernel_residuals(H, M), [(Hi * M).sum() for Hi in H], rtol=1e-2, atol=1e-4)
    K = H.mean(axis=0)
    d = np.array([np.linalg.norm((Hi - K).astype(float)) for Hi in H])
    assert_allclose(consensus_distances(H, K), d, rtol=1e-4)
    found, weights = self_weighted_mean(H, 1e-9)
    assert_allclose(found, K, **close(dtype))
    assert_allclose(weights, 1 / (2 * d), rtol=1e-4)


def test_distances_below_the_floor_count_as_the_floor_in_weights_and_as_a_parabola_in_the_objective():
    d = np.array([0.0, 0.5, 1.0, 2.0])
    assert_allclose(self_weights(d, 1.0), [0.5, 0.5, 0.5, 0.25])
    assert perturbation_term(d, 1.0, beta=3.0) == pytest.approx(3 * (0.5 + 0.625 + 1.0 + 2.0))


def test_parametrised_weights_are_squares_of_shares_of_the_inverse_residuals():
    h = np.array([1.0, 2.0, 4.0])
    assert_allclose(parametrised_weights(h), (np.array([4, 2, 1]) / 7) ** 2)
    eps = np.finfo(float).eps
    u = 1 / np.maximum([-1.0, 0.0, 4.0], 4 * eps)
    assert_allclose(parametrised_weights(np.array([-1.0, 0.0, 4.0])), (u / u.sum()) ** 2)
    assert_allclose(parametrised_weights(np.zeros(3)), 1 / 9)


def naive_weights(H, M, w, beta, floor, cycles):
    """Two steps of Eq. 9 and 16 and an extrapolated one, kept where the objective is no higher, on the matrices."""

    def at(w):
        K = kernel_step(H, w, M, beta=beta)
        d = consensus_distances(H, K)
        return d, np.vdot(K, M) + perturbation_term(d, floor, beta=beta)

    d = at(w)[0]
    for _ in range(cycles):
        w1 = self_weights(d, floor)
        w2 = self_weights(at(w1)[0], floor)
        d2, lowest = at(w2)
        step, bend = np.log(w1 / w), np.log(w2 / w1) - np.log(w1 / w)
        w, d = w2, d2
        stride = min(np.linalg.norm(step) / np.linalg.norm(bend), 1e3)
        if stride > 1:
            far = w1 * np.exp((2 * stride - 1) * step + stride**2 * bend)
            d_far, value = at(far)
            if value <= lowest:
                w, d = far, d_far
    w = self_weights(d, floor)
    return w, at(w)[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cycles", [1, 2, 3])
def test_the_search_for_weights_takes_two_steps_and_an_extrapolated_one(seed, cycles, monkeypatch):
    rng = np.random.default_rng(seed)
    H = np.stack([np.diag(rng.exponential(size=12) ** 3) for _ in range(3)])
    M = residual(np.diag(rng.random(12)))
    start = np.exp(rng.normal(scale=2, size=3))
    monkeypatch.setattr(kernel_steps, "_MAX_CYCLES", cycles)
    h, m = kernel_residuals(H, M), float(np.vdot(M, M))
    w, d = consensus_weights(kernel_products(H), h, m, start, beta=3.0, floor=1e-9)
    expected, distances = naive_weights(H, M, start, 3.0, 1e-9, cycles)
    assert_allclose(w, expected, rtol=1e-6)
    assert_allclose(d, distances, rtol=1e-6)


def test_the_search_for_weights_ends_where_they_no_longer_change(monkeypatch):
    rng = np.random.default_rng(0)
    H = np.stack([np.diag(rng.exponential(size=12) ** 3) for _ in range(5)])
    M = residual(np.diag(rng.random(12)))
    h, m = kernel_residuals(H, M), float(np.vdot(M, M))
    calls = []
    monkeypatch.setattr(kernel_steps, "self_weights", lambda d, floor: calls.append(d) or self_weights(d, floor))
    w, _ = consensus_weights(kernel_products(H), h, m, np.ones(5), beta=9.0, floor=1e-9)
    many = len(calls)
    calls.clear()
    again, _ = consensus_weights(kernel_products(H), h, m, w, beta=9.0, floor=1e-9)
    assert_allclose(again, w, rtol=1e-8)
    assert len(calls) == 3 < many < 300  # one cycle: two steps, and the last weights


# labels


@DTYPES
def test_smoothness_is_the_sum_over_edges_of_the_symmetric_part(dtype):
    rng = np.random.default_rng(0)
    S, P, Q = (rng.random(shape).astype(dtype) for shape in ((9, 9), (9, 2), (9, 3)))
    found = smoothness(S, P, Q)
    for labels, q in zip((P, Q), found, strict=True):
        expected = sum(S[i, j] * ((labels[i] - labels[j]) ** 2).sum() / 2 for i in range(9) for j in range(9))
        assert q == pytest.approx(expected, rel=1e-4)
        assert q == pytest.approx(np.trace(labels.T @ laplacian(S) @ labels), rel=1e-4)


@pytest.mark.parametrize(("n", "c"), [(60, 3), (399, 2), (400, 2), (401, 20), (400, 21)])
def test_the_embedding_is_that_of_lapack_whichever_solver_is_taken(n, c):
    rng = np.random.default_rng(n + c)
    S = rng.random((n, n)) * (rng.random((n, n)) < 0.1)
    before = S.copy()
    P = embedding(S, c)
    values, V = np.linalg.eigh(laplacian(S))
    assert P.shape == (n, c)
    assert_allclose(np.trace(P.T @ laplacian(S) @ P), values[:c].sum(), rtol=1e-8, atol=1e-8)
    assert_allclose(np.linalg.svd(V[:, :c].T @ P, compute_uv=False), 1, atol=1e-5)
    assert_allclose((P * (laplacian(S) @ P)).sum(axis=0), values[:c], atol=1e-7)  # the smallest first
    assert_array_equal(S, before)


def test_many_samples_in_parts_or_far_from_the_first_are_embedded():
    parts = np.kron(np.eye(2), np.ones((210, 210)))
    P = embedding(parts, 2)
    assert np.linalg.norm(laplacian(parts) @ P) < 1e-9
    ring = np.zeros((420, 420))
    i = np.arange(420)
    for k in range(1, 40):
        ring[i, (i + k) % 420] = ring[(i + k) % 420, i] = 1
    ring[0, 1:] = ring[1:, 0] = 0
    ring[0, 200] = ring[200, 0] = 1  # the first sample hangs by one edge
    values = np.linalg.eigvalsh(laplacian(ring))
    P = embedding(ring, 2)
    assert_allclose((P * (laplacian(ring) @ P)).sum(axis=0), values[:2], atol=1e-8)


# the exact graph


def naive_sweeps(q, b, free, slack):
    """Return the solution of one column by block principal pivoting, and the number of sweeps."""
    n, free = len(b), free.copy()
    fewest, patience = n + 1, 3
    for sweep in range(1, 500):
        x = np.zeros(n)
        if free.any():
            x[free] = np.linalg.solve(q[np.ix_(free, free)], b[free])
        wrong = np.where(free, x < -slack / 1000, q @ x - b < -slack / 2)
        if not wrong.any():
            return np.maximum(x, 0), sweep
        patience = 3 if wrong.sum() < fewest else patience - 1
        fewest = min(fewest, wrong.sum())
        if patience < 0:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        free ^= wrong
    raise AssertionError


@pytest.mark.parametrize("seed", range(6))
def test_the_exact_graph_takes_as_many_sweeps_as_pivoting_column_by_column(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 3))
    K = X @ X.T + 0.01 * np.eye(25)
    P, S = rng.normal(size=(25, 2)), (rng.random((25, 25)) < 0.5) * 1.0
    alpha, gamma, tol = 20.0, 1e-3, 1e-9
    Q, B = K + gamma * np.eye(25), K - alpha * cdist(P, P, "sqeuclidean") / 4
    columns = [naive_sweeps(Q, B[:, j], S[:, j] > 0, tol * np.abs(B).max()) for j in range(25)]
    sweeps = max(count for _, count in columns)
    monkeypatch.setattr(nonnegative, "_MAX_SWEEPS", sweeps)
    found = exact_graph_step(K, P, S, alpha=alpha, gamma=gamma, tol=tol)
    assert_allclose(found, np.column_stack([x for x, _ in columns]), atol=1e-8)
    monkeypatch.setattr(nonnegative, "_MAX_SWEEPS", sweeps - 1)
    with pytest.raises(NotOptimalError, match=f"after {sweeps - 1} sweeps"):
        exact_graph_step(K, P, S, alpha=alpha, gamma=gamma, tol=tol)


def test_the_gap_is_the_largest_violation_of_the_optimality_conditions():
    Q, B = np.eye(2), np.array([[1.0, -1.0], [2.0, 0.0]])
    optimum = np.array([[1.0, 0.0], [2.0, 0.0]])
    assert optimality_gap(optimum, Q, B) == 0
    assert optimality_gap(optimum + np.array([[0.1, 0], [0, 0.3]]), Q, B) == pytest.approx(0.3)
    assert optimality_gap(optimum - np.array([[0.1, 0], [0.4, 0]]), Q, B) == pytest.approx(0.4)


# kernel k-means


def naive_kernel_kmeans(X, z, c, loss, max_iter):
    """Assignment to the nearest weighted mean, of samples rather than kernels; return z and the objectives."""

    def distances(z, s):
        C = np.array([np.average(X[z == k], axis=0, weights=s[z == k]) for k in range(c)])
        return cdist(C, X, "sqeuclidean")

    n, history = np.arange(len(X)), []
    D = distances(z, np.ones(len(X)))
    z = D.argmin(axis=0)
    s = loss.slope(D[z, n])
    converged = False
    for _ in range(1, max_iter):
        D = distances(z, s)
        history.append(loss.cost(D[z, n]).sum())
        new = D.argmin(axis=0)
        s = loss.slope(D[new, n])
        converged = (new == z).all()
        z = new
        if converged:
            break
    D = distances(z, s)
    history.append(loss.cost(D[z, n]).sum())
    return z, history, converged


@pytest.mark.parametrize("loss", [squared_loss(), root_loss(1e-6)], ids=["squared", "root"])
@pytest.mark.parametrize("max_iter", [1, 2, 4, 60])
def test_kernel_k_means_is_k_means_of_the_samples(loss, max_iter):
    X = np.random.default_rng(0).normal(size=(30, 2))
    z = random_labels(30, 4, 1, np.random.default_rng(1))
    found = kernel_kmeans(X @ X.T, plain_centres(z, 4, float), loss, max_iter=max_iter)
    labels, history, converged = naive_kernel_kmeans(X, z[0], 4, loss, max_iter)
    assert_array_equal(found.z, labels)
    assert_allclose(found.history, history)
    assert found.converged == converged


def test_starts_are_the_means_of_the_samples_nearest_to_random_ones():
    X = np.random.default_rng(0).normal(size=(20, 3))
    found = seeded_centres(X @ X.T, 4, 3, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    for A in found:
        seeds = rng.choice(20, size=4, replace=False)
        z = cdist(X[seeds], X, "sqeuclidean").argmin(axis=0)
        for k in range(4):
            assert_allclose(A[k], (z == k) / (z == k).sum())


def test_losses_meet_at_the_floor_and_an_empty_cluster_is_at_the_origin():
    loss = root_loss(4.0)
    d = np.array([-1.0, 0.0, 1.0, 4.0, 9.0])
    assert_allclose(loss.cost(d), [1, 1, 1.25, 2, 3])
    assert_allclose(loss.slope(d), [0.25, 0.25, 0.25, 0.25, 1 / 6])
    assert_array_equal(squared_loss().cost(d), d)
    assert_array_equal(squared_loss().slope(d), 1)
    A = centres(np.array([[0, 0, 2]]), 3, np.array([[1.0, 3.0, 5.0]]))
    assert_allclose(A[0], [[0.25, 0.75, 0], [0, 0, 0], [0, 0, 1]])
    K = np.diag([1.0, -9.0, 2.0]).astype(np.float32)
    assert distance_rounding(K) == pytest.approx(64 * 9 * np.finfo(np.float32).eps)


def test_a_start_whose_seeds_coincide_takes_the_sample_farthest_from_its_centre():
    x = np.array([[0.0], [0.0], [0.0], [1.0], [3.0], [7.0]])
    for seed in range(12):
        seeds = np.random.default_rng(seed).choice(6, size=3, replace=False)
        D = (x[seeds] - x.T) ** 2
        z = D.argmin(axis=0)
        for empty in sorted(set(range(3)) - set(z)):
            d = np.where(np.bincount(z, minlength=3)[z] > 1, D[z, np.arange(6)], -np.inf)
            z[d.argmax()] = empty
        (A,) = seeded_centres(x @ x.T, 3, 1, np.random.default_rng(seed))
        assert_allclose(A, [(z == k) / (z == k).sum() for k in range(3)])


@pytest.mark.parametrize(("beside", "enters"), [(0.08, True), (0.045, False)])
def test_an_entry_enters_the_exact_graph_where_half_of_the_slack_is_not_enough(beside, enters):
    K = np.array([[1.0, beside], [beside, 1.0]])  # the slack is 0.1, and 0.8 of `beside` is missing without the entry
    found = exact_graph_step(K, np.zeros((2, 1)), np.zeros((2, 2)), alpha=0.0, gamma=4.0, tol=0.1)
    expected = np.linalg.solve(K + 4 * np.eye(2), K) if enters else np.eye(2) / 5
    assert_allclose(found, expected)
