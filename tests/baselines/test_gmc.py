import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

from kernelweave.baselines import GMC
from kernelweave.baselines.adaptive_neighbours import neighbour_start
from kernelweave.baselines.gmc import graph_start, graph_weight, unified_graph, unified_step, view_step
from kernelweave.core.graphs.coordinates import laplacian
from kernelweave.metrics import clustering_accuracy

PUBLISHED = {"3sources": 0.6923, "bbcsport": 0.8070, "webkb": 0.7537}


def squared_distances(X):
    return ((X[:, None] - X) ** 2).sum(axis=2)


def random_graph(rng, n):
    U = rng.random((n, n)) * (rng.random((n, n)) < 0.4)
    np.fill_diagonal(U, 0)
    return U / U.sum(axis=1, keepdims=True)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def model():
    X, _ = make_blobs(60, n_features=6, centers=3, cluster_std=0.6, random_state=0)
    return GMC(3).fit({"left": X[:, :3], "right": X[:, 3:]})


def assert_optimal_on_the_simplex(S, gradient, allowed):
    """Assert the conditions of Karush, Kuhn and Tucker: the gradient of a row is equal on its support, else larger."""
    assert S.min() >= 0
    assert_allclose(S.sum(axis=1), 1)
    assert_array_equal(S[~allowed], 0)
    gradient = np.where(allowed, gradient, np.inf)
    above = gradient - gradient.min(axis=1, keepdims=True)
    assert_allclose(np.where(S > 0, above, 0), 0, atol=1e-9)


@pytest.mark.parametrize(("scale", "far"), [(100.0, {True}), (0.5, {True, False}), (1e-3, {False})])
def test_the_graph_of_a_view_is_the_minimum_of_its_subproblem(rng, scale, far):
    k, w = 4, 0.7
    D, U = scale * squared_distances(rng.normal(size=(20, 3))), random_graph(rng, 20)
    S = view_step(D, U, w, k)
    others = ~np.eye(20, dtype=bool)
    E = np.sort((D - 2 * w * U)[others].reshape(20, 19), axis=1)
    alpha = np.maximum((k * E[:, k] - E[:, :k].sum(axis=1)) / 2 - w, 0)
    assert_optimal_on_the_simplex(S, D + 2 * alpha[:, None] * S + 2 * w * (S - U), others)
    neighbours = (S > 0).sum(axis=1)
    assert_array_equal(neighbours[alpha > 0], k)
    assert set(alpha > 0) == far
    assert (neighbours >= k).all()


def test_a_view_of_equal_samples_repeats_the_unified_graph(rng):
    U = random_graph(rng, 20)
    assert_allclose(view_step(np.zeros((20, 20)), U, 0.3, 4), U, atol=1e-12)


def test_the_unified_graph_is_the_minimum_of_its_subproblem(rng):
    lam, w = 3.0, np.array([0.2, 0.9])
    S, F = np.stack([random_graph(rng, 15) for _ in w]), rng.normal(size=(15, 2))
    support = (S > 0).any(axis=0)
    U = unified_step(np.tensordot(w, S, axes=1) / w.sum(), support, F, lam / w.sum())
    gradient = 2 * np.tensordot(w, U - S, axes=1) + lam * squared_distances(F)
    assert_optimal_on_the_simplex(U, gradient, support)


def test_the_penalty_of_the_unified_step_is_that_of_the_problem(rng):
    U, F = random_graph(rng, 15), rng.normal(size=(15, 2))
    assert_allclose(2 * np.trace(F.T @ laplacian(U) @ F), np.vdot(U, squared_distances(F)))


def test_one_iteration_updates_graphs_weights_and_unified_graph_in_turn(rng):
    k = 5
    D = np.stack([squared_distances(rng.normal(size=(25, 3))) for _ in range(2)])
    start = np.mean([neighbour_start(Dv, k) for Dv in D], axis=0)
    S = np.stack([view_step(Dv, start, 0.5, k) for Dv in D])
    w = 1 / (2 * np.linalg.norm(start - S, axis=(1, 2)))
    F = np.linalg.eigh(laplacian(start))[1][:, :2]
    target = np.tensordot(w, S, axes=1) / w.sum()
    found = unified_graph(D, 2, k=k, max_iter=1)
    assert_allclose(graph_start(D, k), start)
    assert_allclose(found.w, w)
    assert_allclose(found.U, unified_step(target, (S > 0).any(axis=0), F, 1 / w.sum()), atol=1e-10)


def test_the_weight_of_a_view_is_finite_where_its_graph_is_the_unified_one(rng):
    U = random_graph(rng, 10)
    assert np.isfinite(graph_weight(U, U))
    assert_allclose(graph_weight(U, 2 * U), 1 / (2 * np.linalg.norm(U)))


def test_a_view_in_which_all_samples_are_equal_does_not_change_the_start(rng):
    D = squared_distances(rng.normal(size=(20, 3)))
    assert_allclose(graph_start(np.stack([D, np.zeros_like(D)]), 4), graph_start(D[None], 4))
    assert_allclose(graph_start(np.zeros((1, 20, 20)), 4).sum(axis=1), 1)


def test_clusters_are_the_connected_components_of_the_graph(model):
    n_components, labels = connected_components(sparse.csr_array(model.graph_), directed=False)
    assert n_components == model.n_components_ == 3
    assert_array_equal(model.labels_, labels)


def test_the_laplacian_of_the_graph_has_as_many_eigenvalues_0_as_clusters(model):
    values = np.linalg.eigvalsh(laplacian(model.graph_))
    assert values[2] < 1e-12 < 1e-3 < values[3]
    F = model.embedding_
    assert_allclose(F.T @ F, np.eye(3), atol=1e-10)
    assert_allclose(np.trace(F.T @ laplacian(model.graph_) @ F), 0, atol=1e-10)


def test_rows_of_the_graph_lie_on_the_simplex_and_off_the_diagonal(model):
    assert model.graph_.min() >= 0
    assert_allclose(model.graph_.sum(axis=1), 1)
    assert_array_equal(model.graph_.diagonal(), 0)


def test_the_view_with_the_clearer_neighbours_weighs_more():
    X, y = make_blobs(60, n_features=3, centers=3, cluster_std=0.6, random_state=0)
    noise = np.random.default_rng(0).normal(size=(60, 3))
    model = GMC(3).fit({"clear": X, "clear too": X + 1e-3, "noise": noise})
    assert model.view_weights_.argmin() == 2
    assert_allclose(model.view_shares_, model.view_weights_ / model.view_weights_.sum())
    assert clustering_accuracy(y, model.labels_) > 0.9


def test_lambda_is_doubled_or_halved_until_the_graph_falls_apart_as_asked(model):
    assert np.log2(model.lam_) % 1 == 0
    assert abs(np.log2(model.lam_)) <= model.n_iter_ - 1


def test_squared_distances_may_be_given():
    X, _ = load_iris(return_X_y=True)
    left, right = X[:, :2], X[:, 2:]
    model = GMC(3).fit([left, right])
    given = GMC(3, kernel="distances").fit([squared_distances(left), squared_distances(right)])
    assert_allclose(given.graph_, model.graph_, atol=1e-8)


def test_a_graph_that_does_not_fall_into_so_many_parts_is_clustered_by_k_means_with_a_warning():
    X, _ = make_blobs(12, centers=3, random_state=0)
    warning = r"^GMC stopped after 30 iterations, with a graph of \d components? instead of 12, so that k-means found"
    with pytest.warns(ConvergenceWarning, match=warning):
        model = GMC(12, random_state=0).fit(X)
    assert model.n_iter_ == 30
    assert len(np.unique(model.labels_)) == 12


def test_one_cluster_is_possible():
    X, _ = make_blobs(12, centers=3, random_state=0)
    assert_array_equal(GMC(1).fit(X).labels_, 0)


def standardised(X):
    """Return every sample with mean 0 and deviation 1 over its features, as in the published experiments."""
    deviation = X.std(axis=1, ddof=1, keepdims=True)
    return np.divide(X - X.mean(axis=1, keepdims=True), deviation, out=np.zeros_like(X), where=deviation > 0)


def counts(X):
    """Return term frequencies from tf-idf: the file of BBCSport has these, the experiments had counts."""
    n, df = len(X), (X > 0).sum(axis=0)
    return np.divide(X, np.log(n / np.maximum(df, 1)), out=np.zeros_like(X), where=(X > 0) & (df < n))


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_accuracy_is_reached(name, shared_data):
    with np.load(shared_data / "extra" / f"{name}.npz") as file:
        stems = sorted({key.split("_")[0] for key in file if key.startswith("X")})
        parts = [[file[f"{stem}_{part}"] for part in ("data", "indices", "indptr", "shape")] for stem in stems]
        y = file["y"]
    views = [sparse.csr_array(tuple(part[:3]), shape=tuple(part[3])).toarray().astype(float) for part in parts]
    if name == "bbcsport":
        views = [counts(X) for X in views]
    model = GMC(len(np.unique(y))).fit([standardised(X) for X in views])
    assert model.n_components_ == len(np.unique(y))
    assert abs(clustering_accuracy(y, model.labels_) - PUBLISHED[name]) < 0.03


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_sample_far_from_all_others_has_equal_shares_of_them():
    D = np.zeros((20, 20))
    D[0, 1:] = D[1:, 0] = 1e76  # k times this number less k such numbers is not 0 in floating point
    S = view_step(D, np.where(np.eye(20), 0, 1 / 19), 1.0, 15)
    assert_allclose(S.sum(axis=1), 1)
    assert_allclose(S[0, 1:], 1 / 19)
    labels = GMC(2, random_state=0).fit_predict(np.r_[1e38, np.zeros(19)][:, None])
    assert labels.shape == (20,)
