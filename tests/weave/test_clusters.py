"""From graphs to clusters: k-means, merged embeddings, the weights of graphs, the number of clusters."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from kernelweave import Views
from kernelweave.core.graphs.affinity import GraphRule
from kernelweave.core.graphs.coordinates import commute_rows, embedded, row_order, unit_rows
from kernelweave.core.partitions.agreement import merge, trusted
from kernelweave.core.partitions.kmeans import partitions
from kernelweave.metrics import clustering_accuracy
from kernelweave.samples import Seen
from kernelweave.weave import graph_partitions
from kernelweave.weave.cluster_number import count_clusters
from kernelweave.weave.clusters import cluster_graphs
from kernelweave.weave.graph_partitions import kmeans, read_graph, spectrum
from kernelweave.weave.plan import ClusterTask, Plan
from kernelweave.weave.woven import SeveralGraphs, WovenGraph

SIZES = (30, 20, 25)
N = sum(SIZES)


def silent(text):
    """Drop a line of progress."""


def grouped(rng, y):
    """Return a graph whose edges join members of the same group, but for three that hold it together."""
    S = np.where(y[:, None] == y, rng.uniform(0.5, 1, size=(N, N)) * (rng.random((N, N)) < 0.3), 0)
    first, second, third = (np.flatnonzero(y == k)[:2] for k in range(3))
    S[first[0], second[0]] = S[second[1], third[0]] = S[third[1], first[1]] = 0.1
    S = np.maximum(S, S.T)
    np.fill_diagonal(S, 0)
    return sparse.csr_array(S)


def as_several(*graphs, **options):
    """Return graphs as a solver does; the first is the one that the model keeps."""
    views = Views.of_table(np.random.default_rng(0).normal(size=(N, 2)))
    settings = {
        "graphs": graphs,
        "priors": np.full(len(graphs), 1 / len(graphs)),
        "few_columns": False,
        "weave": lambda weights, S: WovenGraph(S, None, Seen(views.digests()), None, {"weights": weights}),
        "perturbed": lambda: [graphs[0], graphs[0]],
        "null": None,
        "sampled": None,
        "table": lambda: None,
        "samples": None,
        "versions": (),
        "copies": np.arange(N),
    }
    return SeveralGraphs(**(settings | options))


@pytest.fixture(scope="module")
def groups():
    """Three groups of samples that hang together by few edges, in no order."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(3), SIZES))
    return grouped(rng, y), y


def read(several, say=silent, **options):
    settings = {"n_clusters": 3, "embedding": "auto", "n_components": None, "n_init": 5}
    plan = Plan("released-7", "self", "auto", GraphRule(), "auto", True, None, 1, say)
    return cluster_graphs(several, ClusterTask(**(settings | options)), plan, np.random.RandomState(0))


def test_k_means_started_on_a_part_finds_the_groups_of_the_whole(monkeypatch):
    monkeypatch.setattr(graph_partitions, "_STARTS_ON", 100)
    X, y = make_blobs(1000, centers=4, cluster_std=0.3, random_state=1)
    found = kmeans(X, 4, n_init=5, rng=np.random.RandomState(0))
    assert clustering_accuracy(y, found) == 1


@pytest.mark.parametrize("embedding", ["auto", "merged", "raw", "soft", "unit", "commute"])
def test_every_embedding_finds_groups_that_hang_together_by_few_edges(groups, embedding):
    graph, y = groups
    found = read(as_several(graph), embedding=embedding)
    assert adjusted_rand_score(y, found.labels) == 1
    assert found.labels.dtype == np.int32
    assert_allclose(found.membership.sum(axis=1), 1)
    assert_array_equal(found.membership.argmax(axis=1), found.labels)


@pytest.mark.parametrize(
    ("embedding", "rows"),
    [
        ("raw", lambda P: P),
        ("soft", lambda P: unit_rows(P, 0.5)),
        ("unit", unit_rows),
        ("merged", lambda P: P),
        ("auto", lambda P: P),
    ],
)
def test_the_embedding_holds_the_rows_that_were_clustered(groups, embedding, rows):
    graph, _ = groups
    _, V, _ = spectrum(graph, 6)
    assert_allclose(read(as_several(graph), embedding=embedding).embedding, rows(V[:, :3]), atol=1e-9)


def test_commute_rows_leave_the_constant_eigenvector_out(groups):
    values, V, _ = spectrum(groups[0], 6)
    assert_allclose(embedded(values, V, "commute", 3), commute_rows(values[:4], V[:, :4]))
    assert embedded(values, V, "commute", 3).shape == (N, 3)


def test_one_coordinate_alone_is_not_the_constant_one(groups):
    values, V, _ = spectrum(groups[0], 3)
    assert_allclose(embedded(values, V, "raw", 1), V[:, 1:2])


def test_the_widest_embedding_that_is_merged_is_half_as_wide_again(groups, monkeypatch):
    widths = []
    monkeypatch.setattr(graph_partitions, "embedded", lambda *a: widths.append(a[3]) or embedded(*a))
    read_graph(groups[0], "auto", 10, 3, 4, np.random.RandomState(0))
    assert widths == [10, 10, 10, 10, 15]


def test_partitions_do_not_depend_on_the_order_of_the_samples(groups):
    values, V, _ = spectrum(groups[0], 6)
    order = np.random.default_rng(1).permutation(N)
    here, there = (
        partitions(
            [embedded(values, Q, kind, q) for kind, q in (("raw", 3), ("unit", 3), ("commute", 5))],
            [np.lexsort(Q.T)] * 3,
            3,
            n_init=2,
            rng=np.random.RandomState(0),
        )
        for Q in (V, V[order])
    )
    assert_array_equal(here[:, order], there)


@pytest.mark.parametrize("digits", [15, 0], ids=["all differ", "many are equal"])
def test_rows_are_sorted_by_all_coordinates_where_the_last_are_equal(digits):
    V = np.random.default_rng(0).normal(size=(60, 3)).round(digits)
    assert_array_equal(row_order(V), np.lexsort(V.T))


def test_eigenvalues_are_in_units_of_the_mean_degree(groups):
    here, there = (spectrum(sparse.csr_array(factor * groups[0]), 4)[0] for factor in (1, 7))
    assert_allclose(here, there, atol=1e-12)


def test_the_partitions_of_clear_groups_agree_and_there_is_one_for_each_embedding(groups):
    graph, _ = groups
    z, agreement, _ = read_graph(graph, "auto", 3, 3, 5, np.random.RandomState(0))
    assert z.shape == (5, N)
    assert agreement == 1
    one, alone, _ = read_graph(graph, "unit", 3, 3, 5, np.random.RandomState(0))
    assert one.shape == (1, N)
    assert alone == 1  # nothing to disagree with


def test_trust_grows_with_agreement_and_faster_where_columns_are_few():
    assert trusted(1.0) == trusted(1.0, few_columns=True) == 1
    assert trusted(0.5) == pytest.approx(2**-8)
    assert trusted(0.5, few_columns=True) == pytest.approx(2**-16)
    assert 0 < trusted(-0.2) == trusted(0.0)


def test_a_graph_without_groups_is_hardly_trusted_beside_one_with_groups(groups):
    graph, y = groups
    shuffled = sparse.random_array((N, N), density=0.1, rng=np.random.default_rng(3), format="csr")
    noise = sparse.csr_array((shuffled + shuffled.T) / 2)
    said = []
    found = read(as_several(graph, noise), said.append)
    weights = found.attributes["weights"]
    assert weights.sum() == pytest.approx(1)
    assert weights[0] > 0.95
    assert adjusted_rand_score(y, found.labels) == 1
    assert "graph 1 of 2: agreement of 5 partitions 1.00" in said


def test_the_weight_of_a_graph_is_its_prior_times_its_trust(groups):
    graph, y = groups
    other = grouped(np.random.default_rng(5), y)
    found = read(as_several(graph, other, priors=np.array([0.9, 0.1])))
    assert_allclose(found.attributes["weights"], [0.9, 0.1])  # both agree with themselves


def test_labels_and_memberships_are_what_the_partitions_of_all_graphs_agree_on(groups):
    graph, y = groups
    other = grouped(np.random.default_rng(5), np.roll(y, 4))
    found = read(as_several(graph, other))
    rng = np.random.RandomState(0)
    first, _, block = read_graph(graph, "auto", 3, 3, 5, rng)
    second, _, _ = read_graph(other, "auto", 3, 3, 5, rng, block)
    z = np.concatenate([first, second])
    labels, M = merge(z, np.repeat(found.attributes["weights"], 5), 3)
    assert_array_equal(found.labels, labels)
    assert_allclose(found.membership, M)
    assert_array_equal(found.model.distributions, found.membership)


def test_copies_get_what_their_sample_got(groups):
    graph, _ = groups
    copies = np.r_[np.arange(N), 3, 3, 70]
    found, once = read(as_several(graph, copies=copies)), read(as_several(graph))
    for name in ("labels", "membership", "embedding"):
        assert_array_equal(getattr(found, name), getattr(once, name)[copies])
    assert found.model.embedding.shape == (N + 3, 3)
    assert found.model.coordinates.shape == (N, 3)


def test_more_clusters_than_distinct_samples_are_told_and_not_made():
    S = sparse.csr_array(np.ones((2, 2)) - np.eye(2))
    several = as_several(S, copies=np.r_[np.zeros(40, dtype=int), np.ones(35, dtype=int)])
    with pytest.warns(ConvergenceWarning, match="only 2 distinct samples for n_clusters=3, so there will be as many"):
        found = read(several, n_clusters=3)
    assert adjusted_rand_score(several.copies, found.labels) == 1
    assert found.membership.shape == (75, 2)


# the number of clusters


def test_the_number_of_clusters_and_its_evidence_come_from_the_graph_and_perturbed_ones(groups):
    said = []
    evidence = count_clusters(as_several(groups[0]), said.append, np.random.RandomState(0))
    assert evidence.chosen == 3
    assert said[-1] == f"number of clusters: {evidence.words}"
    assert evidence.n_clusters.tolist() == list(range(2, 10))
    found = read(as_several(groups[0]), n_clusters="auto")
    assert found.membership.shape == (N, 3)
    assert found.evidence.chosen == 3


def test_one_graph_and_its_perturbed_ones_count_the_same(groups):
    graph, y = groups
    others = [grouped(np.random.default_rng(seed), np.roll(y, seed)) for seed in (4, 9)]
    alone = count_clusters(as_several(graph, perturbed=lambda: others), silent, np.random.RandomState(0))
    together = count_clusters(as_several(graph, *others), silent, np.random.RandomState(0))
    assert_allclose(alone.agreement, together.agreement)
    assert_allclose(alone.modularity, together.modularity)


def test_samples_without_structure_are_compared_with_as_many_graphs(groups):
    graph, _ = groups

    def null(rng, kind):
        y = np.random.default_rng({"normal": 0, "permuted": 1}[kind]).permutation(groups[1])
        return (grouped(rng=np.random.default_rng(7), y=y),) * 3

    several = as_several(graph, null=null)
    evidence = count_clusters(several, silent, np.random.RandomState(0))
    # these have the same groups three times over, so that nothing stands out
    assert evidence.chance[1] == 1
    assert evidence.chosen == 1
    assert evidence.found == "nothing"
    assert evidence.gap[1] < 2
    assert count_clusters(replace(several, null=None), silent, np.random.RandomState(0)).chosen == 3


def test_one_cluster_gives_labels_of_zero_and_finite_attributes(groups):
    graph, _ = groups
    found = read(as_several(graph), n_clusters=1)
    assert not found.labels.any()
    assert_array_equal(found.membership, np.ones((N, 1)))
    assert np.isfinite(found.embedding).all()
