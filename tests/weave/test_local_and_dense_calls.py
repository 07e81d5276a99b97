"""What the solvers "local" and "dense" ask of their parts, and searches for neighbours at their bounds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave import Dense, Local, Views, WeaveClassifier, WeaveClustering
from kernelweave.kernels import recipe
from kernelweave.samples.scaling import Version
from kernelweave.select import candidate_numbers
from kernelweave.weave import dense
from kernelweave.weave.local import local_solver, neighbours
from kernelweave.weave.local.local_graph import LocalRows
from kernelweave.weave.local.neighbours import ExactSearch, nearest, search_new

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) + 3 * np.eye(3)[np.arange(60) % 3]
PARTLY = np.where(np.arange(60) % 5 == 0, np.arange(60) % 3, -1)


@pytest.fixture
def asked(monkeypatch):
    """Keep what the local graph is asked for."""
    calls = []
    weave = local_solver.weave_local

    def kept(tables, consensus, rule, **options):
        calls.append((tables, consensus, rule, options))
        return weave(tables, consensus, rule, **options)

    monkeypatch.setattr(local_solver, "weave_local", kept)
    return calls


@pytest.mark.parametrize(("c", "least"), [(3, 60 / 12), (5, 3), (15, 1)])
def test_pieces_of_less_than_a_quarter_of_a_cluster_are_tied(asked, c, least):
    WeaveClustering(c, solver=Local(9), n_neighbors=4, random_state=0).fit(X)
    ((tables, consensus, rule, options),) = asked
    assert (options["least"], options["join"], options["n_candidates"]) == (least, True, 9)
    assert rule.n_neighbors == 4
    assert tables[0].dtype == np.float32
    assert len(consensus.kernels) == 1
    assert sum(kernel.shares.sum() for kernel in consensus.kernels) == pytest.approx(1)


def test_the_number_of_clusters_may_be_the_largest_that_is_compared(asked):
    WeaveClustering("auto", solver=Local(9), random_state=0).fit(X)
    assert asked[0][3]["least"] == 60 / (4 * candidate_numbers(60)[-1])


def test_classes_need_no_graph_in_one_piece(asked):
    WeaveClassifier(solver="local", n_neighbors=4, random_state=0).fit(X, PARTLY)
    options = asked[0][3]
    assert (options["least"], options["join"], options["n_candidates"]) == (0, False, 60)


@pytest.mark.parametrize(("most", "ordered"), [(60, False), (59, True)])
@pytest.mark.parametrize("estimator", ["clusters", "classes"])
def test_many_samples_are_put_in_order_for_clusters_only(asked, monkeypatch, most, ordered, estimator):
    monkeypatch.setattr(local_solver, "_ORDERED_FROM", most)
    monkeypatch.setattr(local_solver, "near_order", lambda table: np.arange(60)[::-1])
    if estimator == "clusters":
        model = WeaveClustering(3, solver=Local(9), scale="none", random_state=0).fit(X)
    else:
        model = WeaveClassifier(solver=Local(9), scale="none", random_state=0).fit(X, PARTLY)
    turned = ordered and estimator == "clusters"
    assert_allclose(asked[0][0][0], X[::-1] if turned else X, rtol=1e-6)
    S = model.graph_.toarray()
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    assert D[S > 0].mean() < 0.7 * D.mean()  # edges join neighbours in the order that was given


@pytest.mark.parametrize("most", [20, 200])
def test_kernels_are_weighed_on_some_of_the_samples(monkeypatch, most):
    monkeypatch.setattr(local_solver, "_WEIGHED_ON", most)
    sizes = []
    weigh = local_solver.weigh
    monkeypatch.setattr(
        local_solver, "weigh", lambda *a, **more: sizes.append((a[2].n_samples, more)) or weigh(*a, **more)
    )
    WeaveClustering(3, solver=Local(9), random_state=0).fit(X)
    WeaveClassifier(solver=Local(9), random_state=0).fit(X, PARTLY)
    assert [(size, more["together"], more["codes"] is None) for size, more in sizes] == [
        (min(most, 60), True, True),
        (min(most, 60), True, False),
    ]
    codes = sizes[1][1]["codes"]
    assert len(codes) == min(most, 60)
    assert (most < 60) or (codes == PARTLY).all()


def test_the_recall_and_the_graph_are_kept_and_told(capsys):
    model = WeaveClustering(3, solver=Local(9), random_state=0, verbose=1).fit(X)
    assert model.neighbor_recall_ == 1
    said = capsys.readouterr().err
    assert f"graph: {model.graph_.nnz // 2} edges between 60 samples, recall of neighbours 1.000" in said
    assert "scale of X: none, since 3 columns are few" in said
    best = model.kernel_shares_.argmax()
    assert f"kernels: 4, the largest share {model.kernel_shares_[best]:.0%} ({model.kernel_names_[best]})" in said


def test_classes_with_local_rows_are_compared_by_identity():
    assert LocalRows.__eq__ is object.__eq__


# dense


@pytest.mark.parametrize(
    ("graph", "name", "few", "kinds"),
    [
        ("ridge", "zscore", True, ("ridge",)), ("knn", "zscore", False, ("tuned",)),
        ("auto", "zscore", False, ("ridge", "tuned")), ("auto", "unit", True, ("ridge", "tuned")),
        ("auto", "unit", False, ("ridge",)),
    ],
)  # fmt: skip
def test_neighbours_are_looked_for_in_z_scores_and_where_columns_are_few(monkeypatch, graph, name, few, kinds):
    found = []
    cuts = dense.several_cuts
    monkeypatch.setattr(
        dense, "several_cuts", lambda K, kinds, gamma, **of: found.append(kinds) or cuts(K, kinds, gamma, **of)
    )
    prepare = dense.prepare

    def prepared(samples, scale, **options):
        one = prepare(samples, "none", **options)
        version = Version(name, one.compared[0].version.scalings, few_columns=few)
        return one._replace(compared=[one.compared[0]._replace(version=version)])

    monkeypatch.setattr(dense, "prepare", prepared)
    WeaveClustering(3, graph=graph, solver="dense", random_state=0).fit(X)
    assert found[0] == kinds


def test_four_copies_of_a_sample_are_compared_at_most_and_all_that_are_labelled(monkeypatch):
    asked = []
    prepare = dense.prepare
    monkeypatch.setattr(dense, "prepare", lambda *a, **more: asked.append(more) or prepare(*a, **more))
    table = np.vstack([X, np.repeat(X[:1], 8, axis=0)])
    model = WeaveClustering(3, solver="dense", random_state=0).fit(table)
    given = {"most_copies": 4, "codes": None}
    assert asked == [{**given, "by_value": False}, {**given, "by_value": True}]
    assert model.graph_.shape == model.consensus_kernel_.shape == (68, 68)
    assert_array_equal(model.graph_.toarray()[60], model.graph_.toarray()[67])
    assert model._graph_model.coordinates.shape[0] == 63  # 60, and three more copies of the first
    y = np.r_[PARTLY, np.full(7, -1), 2]
    classes = WeaveClassifier(solver="dense").fit(table, y)
    assert [one["most_copies"] for one in asked] == [4, 4, 4, 4]
    for one in asked[2:]:
        assert_array_equal(one["codes"], y)
    assert classes.graph_.shape == classes.consensus_kernel_.shape == (68, 68)
    assert classes.transduction_[67] == 2
    assert classes._graph_model.coordinates.shape[0] == 64 + (PARTLY[0] >= 0)


@pytest.mark.parametrize("right", [0, 3, 6])
def test_a_version_counts_by_a_power_of_the_share_of_labels_that_neighbours_predict(right):
    pairs = np.repeat(np.arange(6.0), 2) * 10 + np.tile([0, 1], 6)  # neighbours in pairs
    codes = np.repeat(np.arange(6) % 2, 2)
    for i in range(right, 6):
        codes[2 * i + 1] = 1 - codes[2 * i]
    K = np.exp(-((pairs[:, None] - pairs) ** 2))
    task = dense.LabelTask(np.r_[codes, -1], 2, "auto", False)
    whole = np.pad(K, (0, 1))
    whole[12, 12] = 1
    assert dense._label_trust(whole, task) == pytest.approx(((2 * right + 1) / 14) ** 16)
    alone = dense.LabelTask(np.r_[0, np.full(12, -1)], 2, "auto", False)
    assert dense._label_trust(whole, alone) == pytest.approx(0.5**16)


def test_the_graph_and_the_shares_of_versions_are_told(capsys):
    model = WeaveClustering(3, solver="dense", random_state=0, verbose=1).fit(X)
    said = capsys.readouterr().err
    assert f"graph: {model.graph_.nnz // 2} edges between 60 samples" in said
    for version in model.scaling_:
        assert (f"scale: {version.name}, share {version.share:.0%}" in said) == (len(model.scaling_) > 1)
    one = WeaveClustering(3, solver="dense", scale="none", random_state=0, verbose=1).fit(X)
    assert len(one.scaling_) == 1
    assert ", share" not in capsys.readouterr().err


def test_kernels_of_a_dense_fit_may_be_given(monkeypatch):
    K = recipe("released-7").fit_grams(X)
    model = WeaveClustering(3, kernels="precomputed", solver=Dense(), random_state=0).fit(K)
    assert_allclose(model.consensus_kernel_, np.tensordot(model.kernel_shares_, K, axes=1), rtol=1e-6)
    assert model._graph_model.joiner.single is False


@pytest.mark.parametrize(("options", "single"), [({}, True), ({"dtype": "float64"}, False), ({"scale": "none"}, False)])
def test_new_rows_may_be_single_if_all_samples_are_scaled_and_no_precision_is_asked_for(options, single):
    model = WeaveClustering(3, solver="dense", random_state=0, **options).fit(X)
    assert model._graph_model.joiner.single is single


def test_new_rows_of_views_are_single_if_every_view_is_scaled():
    views = {"a": X, "b": X[:, :2] + RNG.normal(size=(60, 2))}
    for scale, single in (({"a": "none", "b": "unit"}, False), ({"a": "unit", "b": "unit"}, True)):
        model = WeaveClustering(3, solver="dense", scale=scale, n_neighbors=5, random_state=0).fit(views)
        assert model._graph_model.joiner.single is single


# neighbours


@pytest.mark.parametrize(("pairs", "block", "size"), [(2**23, 7, 7), (180, 4096, 3), (1, 4096, 1)])
@pytest.mark.parametrize("thin", [False, True])
def test_blocks_of_an_exact_search_give_the_same_and_tell_how_far_they_are(monkeypatch, pairs, block, size, thin):
    monkeypatch.setattr(neighbours, "_PAIRS", pairs)
    monkeypatch.setattr(neighbours, "_BLOCK", block)
    table = sparse.csr_array(X) if thin else X
    told = []
    found = ExactSearch(table).nearest(table[:20], 4, lambda *words: told.append(words))
    D = ((X[:20, None] - X) ** 2).sum(axis=2)
    assert_array_equal(found, np.argsort(D, axis=1)[:, :4])
    assert found.dtype == np.int32
    step = size if thin else block
    assert told == [("neighbours", min(i + step, 20), 20) for i in range(0, 20, step)]
    assert_array_equal(ExactSearch(table).nearest(table[:20], 60)[:, 0], np.arange(20))


@pytest.mark.parametrize(("most", "exact"), [(60, True), (59, False)])
def test_the_search_is_exact_up_to_a_number_of_samples(monkeypatch, most, exact):
    monkeypatch.setattr(neighbours, "EXACT_UP_TO", most)
    monkeypatch.setattr(neighbours, "_NEW_EXACT_UP_TO", most)
    built = []
    monkeypatch.setattr(neighbours, "build_lists", lambda *a, **more: built.append((a[1], more["least"])))
    found = nearest(X, 5, seed=0)
    assert isinstance(search_new(X, 3, seed=0), ExactSearch)  # where lists find too few, the exact search is used
    assert built == ([] if exact else [(5, 0.96), (3, 0.9)])
    assert found.positions.shape == (60, 5)
    assert found.recall == 1
    monkeypatch.setattr(neighbours, "has_faiss", lambda: False)
    built.clear()
    search_new(X, 3, seed=0)
    assert built == []


def test_new_samples_of_a_view_with_one_sample_have_it_as_neighbour():
    assert_array_equal(ExactSearch(X[:1]).nearest(X[:3], 1), np.zeros((3, 1)))
    assert nearest(X[:2], 5, seed=0).positions.tolist() == [[1], [0]]


def test_the_samples_of_a_local_model_are_found_by_their_views():
    tables = [X, RNG.normal(size=(60, 2)) + X[:, :2]]
    model = WeaveClustering(3, solver=Local(9), random_state=0).fit(tables)
    joiner = model._graph_model.joiner
    assert len(joiner._searches) == 2
    assert joiner.rows(Views(tables).select([0, 1])).shape == (2, 60)
