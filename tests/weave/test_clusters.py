"""From a graph to clusters: k-means, merged embeddings, the number of clusters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from kernelweave import Views
from kernelweave.core.graphs.affinity import GraphRule
from kernelweave.core.graphs.coordinates import commute_rows, memberships, soft_rows, unit_rows
from kernelweave.errors import NotEnoughMemoryError
from kernelweave.metrics import clustering_accuracy
from kernelweave.samples import Seen
from kernelweave.weave import clusters
from kernelweave.weave.clusters import cluster_graph, count_clusters, embedded, kmeans, partitions, spectrum, wide
from kernelweave.weave.plan import Plan, Reading
from kernelweave.weave.woven import WovenGraph

SIZES = (30, 20, 25)


def silent(text):
    """Drop a line of progress."""


@pytest.fixture(scope="module")
def woven():
    """Three groups of samples that hang together by few edges, in no order."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), SIZES)
    S = np.where(y[:, None] == y, rng.uniform(0.5, 1, size=(75, 75)) * (rng.random((75, 75)) < 0.3), 0)
    S[0, 30] = S[31, 50] = S[51, 1] = 0.1
    S = np.maximum(S, S.T)
    np.fill_diagonal(S, 0)
    order = rng.permutation(75)
    graph = sparse.csr_array(S[np.ix_(order, order)])
    views = Views.of_table(rng.normal(size=(75, 2)))
    return WovenGraph(graph, None, Seen(views.digests()), lambda: [graph, graph], {"graph_": graph}), y[order]


def reading(**options):
    settings = {"n_clusters": 3, "embedding": "auto", "n_components": None, "n_init": 5, "consensus": False}
    return Reading(**(settings | options))


def plan(say=silent):
    return Plan("released-7", "self", "auto", GraphRule(), None, 1, say)


def read(woven, **options):
    return cluster_graph(woven, reading(**options), plan(), np.random.RandomState(0))


def test_k_means_started_on_a_part_finds_the_groups_of_the_whole(monkeypatch):
    monkeypatch.setattr(clusters, "_STARTS_ON", 100)
    X, y = make_blobs(1000, centers=4, cluster_std=0.3, random_state=1)
    found = kmeans(X, 4, n_init=5, rng=np.random.RandomState(0))
    assert clustering_accuracy(y, found) == 1


@pytest.mark.parametrize("embedding", ["auto", "merged", "raw", "soft", "unit", "commute"])
def test_every_embedding_finds_groups_that_hang_together_by_few_edges(woven, embedding):
    graph, y = woven
    found = read(graph, embedding=embedding)
    assert adjusted_rand_score(y, found.labels) == 1
    assert found.labels.dtype == np.int32
    assert_allclose(found.membership, memberships(graph.graph, found.embedding, found.labels, 3))


@pytest.mark.parametrize(
    ("embedding", "rows"),
    [("raw", lambda P: P), ("soft", soft_rows), ("unit", unit_rows), ("merged", lambda P: P), ("auto", lambda P: P)],
)
def test_the_embedding_holds_the_rows_that_were_clustered(woven, embedding, rows):
    graph, _ = woven
    _, P = spectrum(graph.graph, 6, silent)
    assert_allclose(read(graph, embedding=embedding).embedding, rows(P[:, :3]), atol=1e-9)


def test_commute_rows_leave_the_constant_eigenvector_out(woven):
    values, P = spectrum(woven[0].graph, 6, silent)
    assert_allclose(embedded(values, P, "commute", 3), commute_rows(values[:4], P[:, :4]))
    assert embedded(values, P, "commute", 3).shape == (75, 3)


def test_one_coordinate_alone_is_not_the_constant_one(woven):
    values, P = spectrum(woven[0].graph, 3, silent)
    assert_allclose(embedded(values, P, "raw", 1), P[:, 1:2])


def test_the_widest_embedding_that_is_merged_is_half_as_wide_again():
    assert [wide(m) for m in (1, 2, 3, 10)] == [2, 3, 5, 15]


def test_many_samples_are_not_merged_unless_asked_for(woven, monkeypatch):
    monkeypatch.setattr(clusters, "_MERGED_UP_TO", 10)
    assert_allclose(np.linalg.norm(read(woven[0]).embedding, axis=1), 1)
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e4")
    with pytest.raises(NotEnoughMemoryError, match=r'Merging embeddings of 75 samples .* use embedding="unit"'):
        read(woven[0], embedding="merged")


def test_partitions_do_not_depend_on_the_order_of_the_samples(woven):
    values, P = spectrum(woven[0].graph, 6, silent)
    order = np.random.default_rng(1).permutation(75)
    rows = [("raw", 3), ("unit", 3), ("commute", 5)]
    here, there = (partitions(values, Q, rows, 3, n_init=2, rng=np.random.RandomState(0)) for Q in (P, P[order]))
    assert_array_equal(here[:, order], there)


def test_eigenvalues_are_in_units_of_the_mean_degree(woven):
    graph = woven[0].graph
    here, there = spectrum(graph, 4, silent)[0], spectrum(sparse.csr_array(7 * graph), 4, silent)[0]
    assert_allclose(here, there, atol=1e-12)


def test_the_number_of_clusters_and_its_evidence_come_from_the_graph_and_perturbed_ones(woven):
    said = []
    number, evidence = count_clusters(woven[0], said.append, np.random.RandomState(0))
    assert number == evidence.chosen == 3
    assert said[-1] == "number of clusters: 3, of 2 to 9"
    found = read(woven[0], n_clusters="auto")
    assert found.membership.shape == (75, 3)
    assert found.evidence.chosen == 3
