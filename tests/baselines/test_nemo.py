import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.datasets import make_blobs

from kernelweave import Views
from kernelweave.baselines import NEMO
from kernelweave.baselines.nemo import count_by_eigengap
from kernelweave.core.graphs.coordinates import laplacian
from kernelweave.metrics import clustering_accuracy

MISSING = {"a": [0, 3, 4, 20], "b": [1, 2, 21, 22, 39], "c": [0, 1, 5]}


@pytest.fixture(scope="module")
def data():
    X, y = make_blobs(40, n_features=9, centers=3, cluster_std=2, random_state=0)
    return {"a": X[:, :2], "b": 50 * X[:, 2:5], "c": X[:, 5:] / 7}, y


def direct_similarity(X, k, scheme):
    """Return the similarities of one table, pair by pair."""
    n = len(X)
    D = np.array([[((a - b) ** 2).sum() for b in X] for a in X])
    reach = [np.mean(sorted(D[i, j] for j in range(n) if j != i)[:k]) for i in range(n)]
    s = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            mean = (reach[i] + reach[j] + D[i, j]) / 3
            s[i, j] = (
                norm.pdf(D[i, j], scale=mean / 2)
                if scheme == "released"
                else norm.pdf(np.sqrt(D[i, j]), scale=np.sqrt(mean))
            )
    return s


def direct_network(tables, missing, ks, scheme):
    """Return the mean relative similarity by the formulas of the paper, pair by pair."""
    n = len(tables["a"])
    known = {name: [i for i in range(n) if i not in missing.get(name, ())] for name in tables}
    found = [[[] for _ in range(n)] for _ in range(n)]
    for (name, X), k in zip(tables.items(), ks, strict=True):
        s = direct_similarity(X[known[name]], k, scheme)
        near = [set(np.argsort(-row)[:k]) for row in s]
        total = [sum(s[i, j] for j in near[i]) for i in range(len(s))]
        for a, i in enumerate(known[name]):
            for b, j in enumerate(known[name]):
                found[i][j].append(s[a, b] / total[a] * (b in near[a]) + s[a, b] / total[b] * (a in near[b]))
    R = np.array([[np.mean(pair) if pair else np.nan for pair in row] for row in found])
    rest = R[np.tril_indices(n, -1)]
    return np.where(np.isnan(R), np.nanmean(rest), R)


@pytest.mark.parametrize("scheme", ["released", "printed"])
@pytest.mark.parametrize("missing", [{}, MISSING], ids=["complete", "gaps"])
def test_the_mean_relative_similarity_is_that_of_the_formulas(data, missing, scheme):
    tables, _ = data
    model = NEMO(3, n_neighbors=6, scheme=scheme, random_state=0).fit(Views(tables, missing=missing))
    assert model.n_neighbors_ == (6, 6, 6)
    assert_allclose(model.graph_, direct_network(tables, missing, (6, 6, 6), scheme), atol=1e-12)


def test_samples_without_a_common_view_get_the_mean_of_all_pairs_that_have_one(data):
    tables, _ = data
    two = {name: tables[name] for name in ("a", "b")}
    missing = {"a": [0, 3, 4, 20], "b": [1, 2, 21, 22, 39]}
    model = NEMO(3, n_neighbors=6, random_state=0).fit(Views(two, missing=missing))
    expected = direct_network(two, missing, (6, 6), "released")
    assert_allclose(model.graph_, expected, atol=1e-12)
    assert len(np.unique(model.graph_[np.ix_(missing["a"], missing["b"])])) == 1


def test_a_sixth_of_the_samples_of_a_view_are_neighbours_by_default(data):
    tables, _ = data
    model = NEMO(3, random_state=0).fit(Views(tables, missing=MISSING))
    assert model.n_neighbors_ == (6, 6, 6)
    assert NEMO(3, random_state=0).fit(tables).n_neighbors_ == (7, 7, 7)
    assert NEMO(2, random_state=0).fit(tables["a"][:5]).n_neighbors_ == (2,)
    assert_allclose(model.graph_, direct_network(tables, MISSING, (6, 6, 6), "released"), atol=1e-12)


def test_every_row_of_relative_similarities_counts_the_sample_and_those_it_is_near_to(data):
    R = NEMO(3).fit(data[0]).graph_
    assert_array_equal(R, R.T)
    assert_allclose(R.sum(), 2 * len(R))


def test_the_unit_of_a_table_does_not_matter(data):
    tables, _ = data
    scaled = {name: 10.0**power * table for power, (name, table) in enumerate(tables.items(), start=-2)}
    assert_allclose(NEMO(3).fit(scaled).graph_, NEMO(3).fit(tables).graph_, atol=1e-10)


def test_half_of_the_samples_may_lack_each_view(data):
    X, y = make_blobs(120, n_features=6, centers=3, cluster_std=0.6, random_state=0)
    tables = {"left": X[:, :3], "right": X[:, 3:]}
    lack = {"left": np.arange(0, 120, 3), "right": np.arange(1, 120, 3)}
    model = NEMO(3, random_state=0).fit(Views(tables, missing=lack))
    assert clustering_accuracy(y, model.labels_) == 1


def test_a_view_that_two_samples_have_is_possible(data):
    tables, _ = data
    model = NEMO(3, random_state=0).fit(Views(tables, missing={"c": range(2, 40)}))
    assert model.n_neighbors_[2] == 2
    assert np.isfinite(model.graph_).all()


@pytest.mark.parametrize("c", [2, 3, 5])
def test_the_number_of_clusters_is_found_by_the_eigengap(c):
    X, y = make_blobs(30 * c, n_features=6, centers=c, cluster_std=0.5, random_state=3)
    model = NEMO("auto", n_neighbors=30, random_state=0).fit(X)
    assert model.n_clusters_ == model.embedding_.shape[1] == c
    assert clustering_accuracy(y, model.labels_) == 1
    assert_array_equal(model.labels_for(0), model.labels_)


def test_the_eigengap_is_weighed_by_the_number_of_clusters(data):
    R = NEMO(3).fit(data[0]).graph_
    W = R - np.diag(R.diagonal())
    root = 1 / np.sqrt(W.sum(axis=1))
    e = np.linalg.eigvalsh(root[:, None] * laplacian(W) * root)
    gains = {i: i * (e[i] - e[i - 1]) for i in range(2, 16)}  # e[i] is the eigenvalue i + 1
    assert count_by_eigengap(R) == max(gains, key=gains.get)


def test_few_samples_have_few_candidates():
    assert count_by_eigengap(np.ones((3, 3))) == 2
