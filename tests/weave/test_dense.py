"""The solver "dense": its graphs, their rows for new samples, the consensus kernel, copies of samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from kernelweave import SMKLClustering, Views, WeaveClassifier, WeaveClustering
from kernelweave.core.graphs.affinity import (
    Cut,
    GraphRule,
    KernelAffinities,
    RowPart,
    cut_graphs,
    mean_degree,
    one_graph,
    ridge_affinity,
    several_cuts,
    weighted_sum,
)
from kernelweave.core.graphs.edges import join_pieces
from kernelweave.errors import InvalidInputError, NotFiniteError
from kernelweave.kernels import recipe
from kernelweave.samples.prepared import Compared
from kernelweave.samples.scaling import Scaling, Version, fit_scaling
from kernelweave.weave import dense
from kernelweave.weave.consensus_kernel import Consensus, combine, given_weights
from kernelweave.weave.dense import row_shares
from kernelweave.weave.dense_rows import DenseRows

X, Y = make_blobs(90, n_features=4, centers=3, cluster_std=2.0, random_state=0)
NEW = X[:5] + 0.3
KINDS = ["ridge", "knn", "both"]


@pytest.fixture(scope="module")
def K():
    return recipe("released-7").fit_grams(X).mean(axis=0)


@pytest.mark.parametrize("graph", KINDS)
def test_the_graph_is_that_of_the_rule_joined_if_asked_for(K, graph):
    rule = GraphRule(graph, 0.1, 1)
    expected = rule.weave(KernelAffinities(K, 0.1), 90)
    (loose,), parts, _ = one_graph(K, rule, join=False)
    (whole,), _, degree = one_graph(K, rule)
    assert_array_equal(loose.toarray(), expected.graph.toarray())
    weights = [1 / d for d in expected.degrees] if graph == "both" else [1]
    assert [(part.kind, part.k, part.weight) for part in parts] == [
        (kind, k, weight) for (kind, k), weight in zip(rule.kept.items(), weights, strict=True)
    ]
    assert connected_components(whole)[0] == 1
    assert_array_equal(whole.toarray(), join_pieces(expected.graph, expected.last).toarray())
    assert degree == pytest.approx(whole.sum() / 90)


def test_kernels_without_a_diagonal_are_refused(K):
    for make in (lambda K: one_graph(K, GraphRule()), lambda K: several_cuts(K, ("ridge",), 0.1)):
        with pytest.raises(InvalidInputError, match=r"trace 0, but k\(x, x\) is positive"):
            make(np.zeros_like(K))


def test_a_singular_system_is_said_to_be_one():
    K = np.diag([3.0, -1.0, 1.0, 1.0])
    for make in (lambda K: one_graph(K, GraphRule("ridge", 1.0)), lambda K: several_cuts(K, ("ridge",), 1.0)):
        with pytest.raises(NotFiniteError, match=r"K \+ gamma I is singular at gamma=1: raise gamma"):
            make(K)


# several graphs of one kernel


def test_every_kind_of_affinity_is_cut_at_several_numbers_of_neighbours(K):
    ridge, tuned = several_cuts(K, ("ridge", "tuned"), 0.1)
    assert (len(ridge.graphs), len(tuned.graphs)) == (4, 2)
    cuts = [Cut(10), Cut(15), Cut(10, shared=True), Cut(30, shared=True)]
    affinities = KernelAffinities(K, 0.1)
    for found, expected in zip(ridge.graphs, cut_graphs(affinities("ridge"), cuts, 90), strict=True):
        assert_array_equal(found.toarray(), expected.toarray())
    for found, k in zip(tuned.graphs, (5, 15), strict=True):
        alone = GraphRule("knn", 0.1, k).weave(affinities, 90)
        assert_allclose(found.toarray(), join_pieces(alone.graph, alone.last).toarray())
    for family, (kind, k), plain in ((ridge, ("ridge", 15), 1), (tuned, ("tuned", 15), 1)):
        assert [(part.kind, part.k, part.weight) for part in family.parts] == [(kind, k, 1)]
        assert family.degree == pytest.approx(family.graphs[plain].sum() / 90)


def test_groups_of_any_shape_have_two_more_graphs_of_shared_neighbours(K):
    usual, shapes = (several_cuts(K, ("ridge", "tuned"), 0.1, any_shape=of) for of in (False, True))
    cuts = [Cut(10, shared=True), Cut(20, shared=True)]
    more = cut_graphs(KernelAffinities(K, 0.1)("tuned"), cuts, 90)
    for family, graphs in zip(shapes, (usual[0].graphs, [*usual[1].graphs, *more]), strict=True):
        for found, expected in zip(family.graphs, graphs, strict=True):
            assert_array_equal(found.toarray(), expected.toarray())
    for family, same in zip(shapes, usual, strict=True):  # new samples join both by the same rows
        assert (family.parts, family.degree) == (same.parts, same.degree)


@pytest.mark.parametrize(
    ("columns", "graph", "any_shape"), [(2, "auto", True), (3, "auto", True), (4, "auto", False), (2, "knn", False)]
)
def test_groups_of_two_or_three_columns_may_have_any_shape(monkeypatch, columns, graph, any_shape):
    asked = []
    monkeypatch.setattr(dense, "several_cuts", lambda *args, **of: asked.append(of) or several_cuts(*args, **of))
    WeaveClustering(3, graph=graph, random_state=0).fit(np.random.default_rng(0).normal(size=(40, columns)))
    assert asked
    assert all(of == {"any_shape": any_shape} for of in asked)


@pytest.mark.parametrize("scale", ["auto", "none", "zscore"])
@pytest.mark.parametrize("noise", [0.03, 0.05])
def test_rings_are_found_in_every_scaling_that_keeps_them(scale, noise):
    X, y = make_circles(300, factor=0.5, noise=noise, random_state=0)
    model = WeaveClustering(2, scale=scale, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95


def test_the_mean_degree_of_a_graph_without_edges_is_one():
    assert mean_degree(sparse.csr_array((4, 4))) == 1
    assert mean_degree(sparse.csr_array(np.ones((4, 4)))) == 4


def test_the_weighted_sum_of_graphs_has_each_at_mean_degree_one(K):
    graphs = several_cuts(K, ("ridge",), 0.1)[0].graphs[:3]
    w = np.array([0.5, 0.0, 0.5])
    expected = sum(wg * S.toarray() / S.sum() * 90 for wg, S in zip(w, graphs, strict=True))
    total = weighted_sum(graphs, w)
    assert_allclose(total.toarray(), expected)
    assert total.has_sorted_indices
    assert total.sum() / 90 == pytest.approx(1)
    assert weighted_sum(graphs[:1], np.ones(1)) is graphs[0]


# rows of new samples


def bordered(scaling):
    """Return the affinities of one new sample in the graph of all samples and it, by brute force."""
    Z, z = scaling.transform(X), scaling.transform(NEW[:1])
    whole = recipe("released-7").fit(Z).grams(np.vstack([Z, z])).mean(axis=0)
    d = whole.diagonal()
    D = d[:, None] + d - 2 * whole
    own, theirs = np.sort(D[90, :90])[6], np.sort(D[:90, :90], axis=1)[:, 7]
    return {
        "ridge": ridge_affinity(whole, gamma=0.1)[90:, :90],
        "tuned": np.exp(-D[90:, :90] / np.sqrt(own * theirs)),
    }


def kept(values, k):
    """Return the k largest positive entries of a row, the others 0."""
    return np.where(values >= np.sort(values, axis=1)[:, -k][:, None], np.maximum(values, 0), 0)


@pytest.mark.parametrize("graph", KINDS)
def test_a_new_row_is_that_of_the_graph_with_the_new_sample_in_it(graph):
    options = {"kernels": "released-7", "weights": "uniform", "scale": "none"}
    model = WeaveClassifier(graph=graph, solver="dense", **options).fit(X, Y)
    joiner = model._graph_model.joiner
    affinity = bordered(Scaling("none", ""))
    expected = sum(part.weight * kept(affinity[part.kind], part.k) for part in joiner.parts)
    found = model._graph_model.rows(Views.of_table(NEW[:1]))
    assert_allclose(found.toarray(), expected, atol=1e-9)


def consensus_of(scaling):
    compared = Compared(Version("given", {"X": scaling}), Views.of_table(scaling.transform(X)))
    return combine(compared, recipe("released-7"), "uniform")


def test_the_rows_of_several_kinds_are_added_with_their_weights():
    none = fit_scaling(X, "none")
    parts = (RowPart("ridge", 8, 0.5), RowPart("tuned", 10, 0.3))
    expected = 0.5 * kept(bordered(none)["ridge"], 8) + 0.3 * kept(bordered(none)["tuned"], 10)
    found = DenseRows(consensus_of(none), 0.1, parts).rows(Views.of_table(NEW[:1]))
    assert_allclose(found.toarray(), expected, atol=1e-9)


def test_the_consensus_of_several_versions_is_their_sum_for_new_samples_too():
    parts = [consensus_of(fit_scaling(X, method)) for method in ("none", "zscore")]
    total = Consensus.summed(parts, [0.3, 0.7])
    new = Views.of_table(NEW)
    assert_allclose(total.matrix, 0.3 * parts[0].matrix + 0.7 * parts[1].matrix, atol=1e-12)
    assert_allclose(total.rows(new), 0.3 * parts[0].rows(new) + 0.7 * parts[1].rows(new), atol=1e-12)
    own = [part.versions[0].weights for part in parts]
    assert_allclose([one.weights for one in total.versions], [0.3 * own[0], 0.7 * own[1]])
    assert Consensus.summed(parts[:1], [1.0]) is parts[0]


def many(offset=0.0):
    """Return 520 samples of three groups, and 40 new ones."""
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(560, 12)) + 3 * np.eye(12)[rng.integers(3, size=560)] + offset
    return Z[:520], Z[520:]


def used(model):
    """Return the precision in which a fitted model compares new samples."""
    return model._graph_model.joiner._border[1].A.dtype


def test_new_samples_of_a_larger_model_are_compared_in_single_precision_with_the_same_result():
    old, new = many()
    single, double = (WeaveClustering(3, dtype=dtype, random_state=0).fit(old) for dtype in (None, "float64"))
    assert (used(single), used(double)) == (np.float32, np.float64)
    assert_array_equal(single.predict(new), double.predict(new))
    assert_allclose(single.predict_proba(new), double.predict_proba(new), atol=1e-4)
    assert single.predict_proba(new).dtype == np.float64


@pytest.mark.parametrize(
    ("offset", "options"), [(1e7, {"scale": "unit"}), (0, {"gamma": 1e-7}), (0, {"scale": "none"})]
)
def test_new_samples_are_compared_in_double_precision_where_single_precision_is_not_enough(offset, options):
    old, new = many(offset)
    model, double = (WeaveClustering(3, **options, dtype=dtype, random_state=0).fit(old) for dtype in (None, "float64"))
    assert_array_equal(model.predict_proba(new), double.predict_proba(new))
    assert used(model) == np.float64  # afterwards: what is computed here has other threads than `predict`


def test_new_rows_of_the_default_weigh_every_kind_by_the_shares_of_its_graphs():
    model = WeaveClustering(3, kernels="released-7", weights="uniform", random_state=0).fit(X)
    joiner = model._graph_model.joiner
    assert len(joiner.consensus.versions) == len(model.scaling_) == 2
    assert [(part.kind, part.k) for part in joiner.parts] == [("ridge", 15), ("tuned", 15)]
    assert sum(version.share for version in model.scaling_) == pytest.approx(1)

    parts = [consensus_of(version.scalings["X"]) for version in model.scaling_]
    families = [several_cuts(part.matrix, ("ridge", "tuned"), 0.1) for part in parts]
    weights = np.arange(1, 13) / 78  # four graphs of ridge affinities and two of neighbours in either version
    built = list(zip(model.scaling_, parts, families, strict=True))
    shares, rows = row_shares(built, weights)
    assert_allclose(shares, [weights[:6].sum(), weights[6:].sum()])
    (ridge, tuned), (ridge_z, tuned_z) = families
    assert rows == (
        RowPart("ridge", 15, weights[:4].sum() / ridge.degree + weights[6:10].sum() / ridge_z.degree),
        RowPart("tuned", 15, weights[4:6].sum() / tuned.degree + weights[10:].sum() / tuned_z.degree),
    )


def test_the_consensus_of_new_samples_is_the_weighted_sum_of_their_kernels():
    model = WeaveClustering(3, kernels="released-7", scale="none", random_state=0).fit(X)
    joiner = model._graph_model.joiner
    consensus = joiner.consensus
    H = recipe("released-7").fit(X).grams(NEW, X)
    assert_allclose(consensus.rows(Views.of_table(NEW)), np.tensordot(model.kernel_shares_, H, axes=1), atol=1e-12)
    assert_allclose(consensus.rows(Views.of_table(X)), consensus.matrix, atol=1e-12)


def test_kernels_and_graphs_of_several_versions_are_summed_by_their_shares():
    model = WeaveClustering(3, kernels="released-7", random_state=0).fit(X)
    parts = [consensus_of(version.scalings["X"]) for version in model.scaling_]
    consensus = model._graph_model.joiner.consensus
    p = sum(one.weights for one in consensus.versions)
    assert_allclose(model.kernel_shares_, p)
    assert_allclose([one.weights.sum() for one in consensus.versions], [v.share for v in model.scaling_])
    assert_allclose(model.consensus_kernel_, consensus.matrix)
    assert_allclose(consensus.rows(Views.of_table(X)), consensus.matrix, atol=1e-12)
    for part, one in zip(parts, consensus.versions, strict=True):
        assert_allclose(one.bank.training.tables[0], part.training.tables[0])
    assert model.graph_.sum() / 90 == pytest.approx(1)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("abc", "weights must be 'self', 'uniform' or one number per kernel; got 'abc'"),
        ([1, 2], r"one number for each of the 3 kernels; got shape \(2,\)"),
        ([1, -1, 1], "must be finite, not negative and not all zero"),
        ([0, 0, 0], "must be finite, not negative and not all zero"),
        ([1, np.nan, 1], "must be finite, not negative and not all zero"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(weights, message):
    with pytest.raises(InvalidInputError, match=message):
        given_weights(weights, ("a", "b", "c"))


def test_given_weights_become_shares():
    assert_allclose(given_weights([2, 1, 1], ("a", "b", "c")), [0.5, 0.25, 0.25])


@pytest.mark.parametrize("size", [1e308, 1e-320])
def test_the_size_of_given_weights_does_not_matter(size):
    assert_allclose(given_weights([size] * 4, ("a", "b", "c", "d")), 0.25)


@pytest.mark.parametrize("model", [WeaveClustering(3, random_state=0), SMKLClustering(3, random_state=0)])
def test_the_versions_that_were_compared_are_an_attribute_unless_there_were_no_samples(model):
    model = clone(model).fit(X)
    assert all(isinstance(version, Version) and version.scalings for version in model.scaling_)
    model.set_params(kernels="precomputed").fit(recipe("released-7").fit(X).grams(X))
    assert not hasattr(model, "scaling_")  # that of the first fit is gone too


# copies of a sample


def test_more_than_four_copies_of_a_sample_change_nothing():
    four, many = np.r_[np.arange(90), [5] * 3], np.r_[np.arange(40), [5] * 9, np.arange(40, 90), [5] * 3]
    few, again = (WeaveClustering(3, random_state=0).fit(X[rows]) for rows in (four, many))
    assert adjusted_rand_score(again.labels_, few.labels_[many]) == 1
    for name in ("confidence_", "margin_", "embedding_"):
        assert_allclose(getattr(again, name), getattr(few, name)[many], atol=1e-6)


def test_copies_of_a_sample_get_the_same_results():
    order = np.r_[5, np.arange(40), 5, 17, np.arange(40, 90), 80]
    model = WeaveClustering(3, random_state=0).fit(X[order])
    for value in (5, 17, 80):
        places = np.flatnonzero(order == value)
        assert len(places) > 1
        for name in ("labels_", "confidence_", "embedding_"):
            found = getattr(model, name)[places]
            assert_array_equal(found, np.broadcast_to(found[0], found.shape))


def test_training_samples_get_the_answers_of_fit_with_copies_among_them():
    order = np.r_[5, np.arange(40), 5, 17, np.arange(40, 90), 80]
    model = WeaveClustering(3, random_state=0).fit(X[order])
    assert_array_equal(model.predict(X[order]), model.labels_)
    assert_array_equal(model.predict_proba(X[order]), model.membership_)
    assert_array_equal(model.transform(X[order]), model.embedding_)
    some = np.array([93, 7, 42])
    assert_array_equal(model.predict(X[order][some]), model.labels_[some])
    assert model.predict(NEW).shape == (5,)


def test_many_copies_of_one_sample_are_no_cluster():
    order = np.r_[np.arange(90), np.full(60, 7)]
    labels = WeaveClustering(3, random_state=0).fit(X[order]).labels_
    assert len(set(labels[order == 7])) == 1
    assert np.count_nonzero(labels[:90] == labels[7]) > 10


def test_copies_of_samples_with_gaps_are_found_too():
    views = Views({"left": X[:, :2], "right": X[:, 2:]}, missing={"right": [3, 50]})
    few, many = np.r_[np.arange(90), [3] * 3], np.r_[np.arange(90), [3] * 8]
    once, again = (WeaveClustering(3, random_state=0).fit(views.select(order)) for order in (few, many))
    assert_array_equal(again.labels_, once.labels_[many])


def test_fewer_distinct_samples_than_clusters_are_told():
    with pytest.warns(ConvergenceWarning, match="only 2 distinct samples for n_clusters=3"):
        model = WeaveClustering(3, random_state=0).fit(np.repeat(X[:2], 10, axis=0))
    assert model.n_clusters_ == 2
    assert_array_equal(model.labels_, np.repeat(model.labels_[[0, 10]], 10))


def test_kernel_matrices_keep_their_copies():
    K = recipe("released-7").fit_grams(X[np.r_[np.arange(90), 5]]).mean(axis=0)
    model = WeaveClustering(3, kernels="precomputed", random_state=0).fit(K)
    assert model.graph_.shape == (91, 91)
    assert not hasattr(model, "scaling_")


def test_versions_count_by_their_share_and_by_how_far_labels_agree_in_them(monkeypatch):
    X, y = make_blobs(60, n_features=4, centers=3, random_state=0)
    trusts, real, seen = {}, dense._woven, {}

    def trust(K, task):
        return trusts.setdefault(K.tobytes(), 1 / 2 ** len(trusts))

    def woven(prepared, built, shares, S, plan):
        seen["expected"] = [version.share * trust(consensus.matrix, None) for version, consensus, _ in built]
        seen["shares"] = shares
        return real(prepared, built, shares, S, plan)

    monkeypatch.setattr(dense, "_label_trust", trust)
    monkeypatch.setattr(dense, "_woven", woven)
    WeaveClassifier().fit(X, np.where(np.arange(60) < 12, y, -1))
    assert len(seen["shares"]) > 1
    assert_allclose(seen["shares"], np.divide(seen["expected"], sum(seen["expected"])))


def test_one_graph_is_compared_with_perturbed_ones_to_count_clusters():
    X, _ = make_blobs(90, n_features=3, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 0]], random_state=0)
    model = WeaveClustering("auto", graph="knn", n_neighbors=8, scale="none", random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == 3
