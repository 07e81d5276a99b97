"""Spectra and partitions of graphs, the evidence for a number of clusters, and density, with parts that are made up."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave import Views
from kernelweave.core.graphs.affinity import GraphRule
from kernelweave.core.graphs.propagation import one_hot
from kernelweave.core.partitions.agreement import modularity, rand_index
from kernelweave.samples.scaling import Scaling, Version, fit_by_view, fit_scaling
from kernelweave.select import CLEAR
from kernelweave.weave import cluster_number, clusters, graph_partitions
from kernelweave.weave.clarity import Clarity
from kernelweave.weave.cluster_number import count_clusters
from kernelweave.weave.clusters import cluster_graphs
from kernelweave.weave.density import few_columns_of
from kernelweave.weave.graph_partitions import Read, Spectra, kmeans, read_graph, spectra, spectrum, unit_partitions
from kernelweave.weave.plan import ClusterTask, Plan, check_count
from kernelweave.weave.woven import PERTURBATIONS, SeveralGraphs, WovenGraph


def ring_of_cliques(size, n_cliques, weight=1.0):
    """Cliques that hang together by single edges."""
    n = size * n_cliques
    S = np.kron(np.eye(n_cliques), np.ones((size, size)))
    for i in range(n_cliques):
        a, b = i * size, ((i + 1) % n_cliques) * size + 1
        S[a, b] = S[b, a] = 0.1
    np.fill_diagonal(S, 0)
    return sparse.csr_array(weight * S), np.arange(n) // size


@pytest.mark.parametrize("weight", [1.0, 8.0])
def test_eigenvalues_are_those_of_the_laplacian_over_the_mean_degree(weight):
    S, _ = ring_of_cliques(6, 3, weight)
    values, V, _ = spectrum(S, 4)
    L = np.diag(S.sum(axis=1)) - S.toarray()
    assert_allclose(values, np.linalg.eigvalsh(L)[:4] / (S.sum() / 18), atol=1e-9)
    assert_allclose(L @ V, V * (values * S.sum() / 18), atol=1e-6)
    assert V.shape == (18, 4)


def test_the_eigenvalues_of_a_graph_without_edges_are_0():
    assert_array_equal(spectrum(sparse.csr_array((5, 5)), 2)[0], 0)


def test_spectra_have_one_eigenvector_more_than_clusters_and_tell_how_far_they_are():
    graphs = [ring_of_cliques(6, 3)[0], ring_of_cliques(6, 3, 2.0)[0]]
    said = []
    found = spectra(graphs, 3, said.append)
    assert [len(values) for values in found.values] == [4, 4]
    assert [V.shape for V in found.vectors] == [(18, 4)] * 2
    for order, V in zip(found.order, found.vectors, strict=True):
        assert_array_equal(order, np.lexsort(V.T))
    assert said == ["number of clusters: graph 1 of 2", "number of clusters: graph 2 of 2"]
    assert_allclose(spectra(graphs, 3).values, found.values)


@pytest.fixture
def watched(monkeypatch):
    """Keep the tables and numbers that k-means is given."""
    calls = []

    def find(tables, order, n_clusters, *, n_init, rng):
        calls.append(([table.shape for table in tables], n_clusters, n_init))
        return np.zeros((len(tables), len(order[0])), dtype=np.int32)

    monkeypatch.setattr(graph_partitions, "partitions", find)
    return calls


@pytest.mark.parametrize(("n_init", "starts"), [(1, 1), (4, 1), (5, 2), (20, 5)])
def test_the_starts_of_k_means_are_divided_among_five_embeddings(watched, n_init, starts):
    S, _ = ring_of_cliques(6, 3)
    for kind in ("auto", "merged"):
        read_graph(S, kind, 3, 4, n_init, np.random.RandomState(0))
        assert watched.pop() == ([(18, 3)] * 4 + [(18, 5)], 4, starts)
    read_graph(S, "unit", 3, 4, n_init, np.random.RandomState(0))
    assert watched.pop() == ([(18, 3)], 4, n_init)


@pytest.mark.parametrize(("most", "many"), [(17, True), (18, False)])
def test_starts_of_many_rows_are_compared_on_a_part(watched, monkeypatch, most, many):
    monkeypatch.setattr(graph_partitions, "_STARTS_ON", most)
    S, y = ring_of_cliques(6, 3)
    found = read_graph(S, "unit", 3, 3, 5, np.random.RandomState(0)).partitions
    assert len(watched) == (0 if many else 1)
    if many:
        assert rand_index(found[0], y) == 1
        assert found.dtype == np.int32


@pytest.mark.parametrize(("most", "rows"), [(12, 12), (18, 18), (19, 18)])
def test_numbers_of_clusters_of_many_rows_are_compared_by_centres_of_a_part(watched, monkeypatch, most, rows):
    monkeypatch.setattr(graph_partitions, "_COUNTED_ON", most)
    S, _ = ring_of_cliques(6, 3)
    unit_partitions(spectra([S, S], 3), [2, 3], np.random.RandomState(0), n_init=2)
    assert watched == [([(rows, k)] * 2, k, 2) for k in (2, 3)]


@pytest.mark.parametrize("together", [5, 100])
def test_rows_that_were_not_drawn_are_assigned_to_the_nearest_centre(monkeypatch, together):
    monkeypatch.setattr(graph_partitions, "_COUNTED_ON", 12)
    monkeypatch.setattr(graph_partitions, "_TOGETHER", together)
    S, y = ring_of_cliques(6, 3)
    found = unit_partitions(spectra([S, S], 3), [2, 3], np.random.RandomState(0), n_init=2)
    assert [rand_index(z, y) for z in found[3]] == [1, 1]
    assert found[2].shape == (2, 18)
    assert found[2].dtype == np.int32
    assert all(len(np.unique(z)) == 2 for z in found[2])


def test_one_partition_of_every_graph_is_made_for_each_number(watched):
    graphs = [ring_of_cliques(6, 3)[0], ring_of_cliques(6, 3, 2.0)[0]]
    found = unit_partitions(spectra(graphs, 4), [2, 4], np.random.RandomState(0), n_init=3)
    assert list(found) == [2, 4]
    assert watched == [([(18, 2)] * 2, 2, 3), ([(18, 4)] * 2, 4, 3)]


def test_k_means_compares_starts_in_double_precision():
    rng = np.random.default_rng(0)
    P = (rng.normal(size=(60, 2)) + 20 * np.eye(3, 2)[np.arange(60) % 3]).astype(np.float32)
    labels = kmeans(P, 3, n_init=4, rng=np.random.RandomState(0))
    assert rand_index(labels, np.arange(60) % 3) == 1
    assert_array_equal(labels, kmeans(P.astype(np.float64), 3, n_init=4, rng=np.random.RandomState(0)))


# clusters of several graphs


def several_of(*graphs, **options):
    n = graphs[0].shape[0]
    settings = {
        "graphs": graphs, "priors": np.full(len(graphs), 1 / len(graphs)), "few_columns": False,
        "weave": lambda weights, S: WovenGraph(S, None, None, None, {"weights": weights}),
        "perturbed": lambda: [graphs[0], graphs[0]], "null": None, "sampled": None, "table": lambda: None,
        "samples": None, "versions": (), "copies": np.arange(n),
    }  # fmt: skip
    return SeveralGraphs(**(settings | options))


def clustered(several, say=lambda text: None, **options):
    settings = {"n_clusters": 3, "embedding": "unit", "n_components": None, "n_init": 2}
    plan = Plan("released-7", "self", "auto", GraphRule(), "auto", True, None, 1, say)
    return cluster_graphs(several, ClusterTask(**(settings | options)), plan, np.random.RandomState(0))


def test_clusters_are_read_before_it_is_asked_whether_they_are_clear(monkeypatch):
    S, y = ring_of_cliques(6, 3)
    asked = []
    said = []
    views, versions = Views.of_table(np.zeros((18, 1))), (Version("given", {}),)
    monkeypatch.setattr(clusters, "Clarity", lambda *given: asked.append(given) or "later")
    found = clustered(several_of(S, samples=views, versions=versions), said.append)
    ((sample, scaled, _, c, _),) = asked
    assert (sample.n_samples, scaled, c) == (18, versions, 3)
    assert found.clarity == "later"
    assert rand_index(found.labels, y) == 1
    assert_allclose(found.membership[np.arange(18), found.labels], 1)
    assert_allclose(found.membership.sum(axis=1), 1)
    assert_allclose(found.model.values, np.eye(3)[found.labels])
    assert "graph 1 of 1: agreement of 1 partition 1.00" in said
    assert not found.model.undecided.any()


def test_one_cluster_does_not_stand_out_and_those_of_kernel_matrices_do_without_a_look(monkeypatch):
    S, _ = ring_of_cliques(6, 3)
    monkeypatch.setattr(Clarity, "_measured", lambda *given: pytest.fail("looked"))
    several = several_of(S, samples=Views.of_table(np.zeros((18, 1))))
    assert clustered(several, n_clusters=1).clarity.value == 0
    assert clustered(several_of(S)).clarity.value == 1


@pytest.mark.parametrize(("n_components", "width"), [(None, 3), (2, 2), (5, 5)])
def test_the_embedding_has_as_many_columns_as_asked_for_or_clusters(n_components, width):
    S, _ = ring_of_cliques(6, 3)
    found = clustered(several_of(S), n_components=n_components)
    assert found.embedding.shape == (18, width)
    assert len(found.eigenvalues) == width + 1


def test_graphs_are_read_from_the_eigenvectors_of_the_one_before_and_the_sum_from_the_most_trusted(monkeypatch):
    S, _ = ring_of_cliques(6, 3)
    starts, agreements = [], iter([0.5, 0.9, 0.9])

    def read(graph, kind, q, c, n_init, rng, start, say):
        starts.append(start)
        number = len(starts)
        return Read(np.tile(np.arange(18) // 6, (2, 1)), next(agreements), np.full((18, 1), number))

    def whole(graph, q, *, firm, start, say):
        starts.append(start)
        return spectrum(graph, q, firm=firm)

    monkeypatch.setattr(clusters, "read_graph", read)
    monkeypatch.setattr(clusters, "spectrum", whole)
    found = clustered(several_of(S, S, S, priors=np.array([0.5, 0.25, 0.25])))
    assert [None if start is None else int(start[0, 0]) for start in starts] == [None, 1, 2, 2]
    weights = np.array([0.5 * 0.5**8, 0.25 * 0.9**8, 0.25 * 0.9**8])
    assert_allclose(found.attributes["weights"], weights / weights.sum())


# the number of clusters


def test_agreement_and_modularity_are_means_weighted_by_the_priors(monkeypatch):
    S, y = ring_of_cliques(6, 3)
    T, z = ring_of_cliques(6, 3, 2.0)
    given = []
    labels = {k: np.stack([y % k, z % 2, (y + z) % k]).astype(np.int32) for k in (2, 3)}
    monkeypatch.setattr(cluster_number, "candidate_numbers", lambda n: [2, 3])
    monkeypatch.setattr(
        cluster_number, "unit_partitions", lambda of, numbers, rng, n_init: given.append(n_init) or labels
    )
    monkeypatch.setattr(
        cluster_number, "cluster_evidence",
        lambda agreement, within, values, **more: SimpleNamespace(a=agreement, w=within, v=values, m=more, words="x"),
    )  # fmt: skip
    priors = np.array([0.5, 0.3, 0.2])
    said = []
    found = count_clusters(several_of(S, T, S, priors=priors, few_columns=True), said.append, np.random.RandomState(0))
    for k, parts in labels.items():
        pairs = [(0, 1, 0.15), (0, 2, 0.1), (1, 2, 0.06)]
        expected = sum(w * rand_index(parts[i], parts[j]) for i, j, w in pairs) / 0.31
        assert found.a[k] == pytest.approx(expected)
        assert found.w[k] == pytest.approx(sum(priors[i] * modularity((S, T, S)[i], parts[i]) for i in range(3)))
    assert [len(values) for values in found.v] == [4, 4, 4]
    even = {2: [True, True, False], 3: [True, False, True]}  # others have an empty cluster
    assert found.m == {"even": even, "few_columns": True, "n_distinct": 18}
    assert given == [3]
    assert said[-1] == "number of clusters: x"


@pytest.fixture
def beside_chance(monkeypatch):
    """Count with a null whose spectra are made up; return the draws and what was compared."""

    def call(gap, n=60, chosen=3, numbers=(2, 3, 8, 10, 11, 12, 16, 20)):
        S = sparse.csr_array((n, n))
        drawn, compared, weighed = [], [], []

        def null(rng, kind):
            drawn.append(kind)
            return (len(drawn),)

        def made(graphs, most, say=None):
            value = graphs[0] if isinstance(graphs[0], int) else 0
            compared.append((value, most))
            return Spectra([np.full(3, float(value))], [np.zeros((n, 1))], [np.arange(n)])

        def weigh(agreement, within, values, without=None, chance=None, *, even, few_columns, n_distinct):
            weighed.append((without, chance))
            return SimpleNamespace(chosen=chosen, words="x")

        monkeypatch.setattr(cluster_number, "candidate_numbers", lambda n: list(numbers))
        monkeypatch.setattr(cluster_number, "spectra", made)
        found = {"tried": []}

        def parts(of, numbers, rng, n_init):
            found["tried"].append((list(numbers), n_init))
            return {k: np.zeros((2, n), dtype=np.int32) for k in numbers}

        monkeypatch.setattr(cluster_number, "unit_partitions", parts)
        monkeypatch.setattr(cluster_number, "modularity", lambda graph, z: 0.0)
        monkeypatch.setattr(cluster_number, "eigenvalue_gaps", lambda *a: np.array([0.1, gap]))
        monkeypatch.setattr(cluster_number, "cluster_evidence", weigh)
        several = several_of(S, S, null=null, copies=np.arange(n))
        count_clusters(several, lambda text: None, np.random.RandomState(0))
        return drawn, compared, weighed, found["tried"]

    return call


@pytest.mark.parametrize(
    ("factor", "n", "draws"),
    [(1.0, 60, 4), (1.29, 60, 4), (0.78, 60, 4), (1.31, 60, 0), (0.76, 60, 0), (1.0, 800, 2), (1.0, 1300, 2),
     (1.0, 9000, 1)],
)  # fmt: skip
def test_where_a_gap_is_in_doubt_samples_without_structure_are_drawn_again(beside_chance, factor, n, draws):
    drawn, compared, weighed, _ = beside_chance(factor * CLEAR, n)
    assert drawn == ["normal"] * (1 + draws) + ["permuted"]
    assert compared[0] == (0, 20)
    assert [most for _, most in compared[1:-1]] == [20] * (1 + draws)
    mean = np.mean(np.arange(1, draws + 2))
    assert_allclose(weighed[0][0], [np.full(3, mean)])
    assert_allclose(weighed[1][0], [np.full(3, mean)])
    assert weighed[0][1] is None


@pytest.mark.parametrize(("chosen", "expected"), [(3, [2, 3, 8, 10]), (4, [2, 3, 8, 10]), (5, [2, 3, 8, 10, 12]),
                                                  (9, [2, 3, 8, 10, 12, 16]), (12, [2, 3, 8, 10, 12, 16])])  # fmt: skip
def test_chance_is_measured_for_numbers_up_to_a_little_more_than_the_chosen_one(beside_chance, chosen, expected):
    _, compared, weighed, tried = beside_chance(2 * CLEAR, chosen=chosen)
    assert compared[-1][1] == expected[-1]
    assert tried[1:] == [(expected, 3), (expected, 3)]
    assert [list(one) for one in weighed[-1][1]] == [expected, expected]


def test_peaks_of_density_of_few_samples_are_not_counted(monkeypatch):
    S, _ = ring_of_cliques(20, 2)
    seen = {}
    monkeypatch.setattr(cluster_number, "candidate_numbers", lambda n: [2, 4])
    monkeypatch.setattr(cluster_number, "peak_partitions", lambda of, numbers: seen["peaks"])
    monkeypatch.setattr(cluster_number, "depth", lambda of, z, errors=0.0: float(np.bincount(z).min()) - errors)
    monkeypatch.setattr(
        cluster_number, "cluster_evidence", lambda *a, **more: seen.update(more) or SimpleNamespace(words="x")
    )
    monkeypatch.setattr(cluster_number, "shared_shape", lambda X: {2: X.sum()})
    table = np.arange(80.0).reshape(40, 2)
    for sizes, kept in (((38, 2), True), ((39, 1), False)):
        seen["peaks"] = {2: np.repeat([0, 1], sizes), 4: np.repeat([0, 1, 2, 3], [37, 1, 1, 1])}
        several = several_of(S, S, table=lambda: table)
        count_clusters(several, lambda text: None, np.random.RandomState(0))
        assert seen["peak_depths"] == ({2: 2.0, 4: 1.0} if kept else {4: 1.0})
        assert list(seen["depths"]) == [2, 4]
        assert all(len(depths) == 2 for depths in seen["depths"].values())
        assert seen["depths"][2] == [19.0, 19.0]  # one standard error less
        assert seen["shared_shapes"] == {2: table.sum()}


# density


@pytest.mark.parametrize(("widths", "measured"), [((1,), True), ((2,), True), ((9,), True), ((10,), False),
                                                  ((1, 1), True), ((5, 4), True), ((5, 5), False)])  # fmt: skip
def test_views_of_one_to_nine_columns_are_one_table(widths, measured):
    rng = np.random.default_rng(0)
    views = Views([rng.normal(size=(30, d)) for d in widths])
    scalings = fit_by_view(views, "none").scalings
    found = few_columns_of(views, scalings)
    assert (found is not None) == measured
    if measured:
        order = rng.permutation(30)
        assert_allclose(found, np.hstack(views.tables))
        assert_allclose(few_columns_of(views, scalings, order), found[order])


def test_kernels_and_views_with_gaps_are_no_table_of_few_columns():
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert few_columns_of(None, {}) is None  # kernel matrices
    gaps = Views({"a": X, "b": X[:, :2]}, missing={"b": [1]})
    assert few_columns_of(gaps, {}) is None


def test_scores_beyond_the_cut_are_not_cut_off_for_density():
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[0] = 300
    scaling = fit_scaling(X, "zscore")
    found = few_columns_of(Views.of_table(X), {"X": scaling})
    plain = few_columns_of(Views.of_table(scaling.transform(X, clipped=False)), {"X": Scaling("none", "")})
    assert_allclose(found, plain)
    assert found.max() > 5


# what is passed to solvers


def test_labels_as_numbers_are_rows_of_the_identity_and_0_where_unlabelled():
    Y, labelled = one_hot(np.array([1, -1, 0]), 3, np.float32)
    assert_array_equal(labelled, [True, False, True])
    assert_array_equal(Y, [[0, 1, 0], [0, 0, 0], [1, 0, 0]])
    assert Y.dtype == np.float32


def test_a_count_is_a_positive_integer_or_none():
    for good in (None, 1, np.int64(5), np.iinfo(np.int32).max):
        check_count(good, "n")
    for bad in (0, -1, np.iinfo(np.int32).max + 1):
        with pytest.raises(ValueError, match="n == "):
            check_count(bad, "n")
    for other in (True, np.bool_(False), 1.5, "1"):
        with pytest.raises(TypeError, match="n must be an instance of"):
            check_count(other, "n")


def test_a_silent_plan_says_nothing_and_differs_in_nothing_else():
    said = []
    plan = Plan("released-7", "self", "auto", GraphRule(), "auto", True, None, 1, said.append)
    quiet = plan.silent()
    quiet.say("a line")
    assert said == []
    assert (quiet.kernels, quiet.rule, quiet.many, quiet.n_jobs) == ("released-7", GraphRule(), True, 1)


def test_perturbed_graphs_have_twice_or_half_the_ridge_and_more_or_fewer_neighbours():
    assert PERTURBATIONS == ((2.0, 1.4), (0.5, 0.8))
