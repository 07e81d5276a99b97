"""Parts of the solvers at their bounds: memory, choice, consensus, samples of landmarks, passes, order, progress."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave import Chunks, Dense, Landmark, Local, Views, WeaveClassifier, WeaveClustering
from kernelweave.core.graphs.affinity import GraphRule, RowPart
from kernelweave.errors import InvalidInputError, NotEnoughMemoryError
from kernelweave.kernels import KernelBank, Linear, recipe
from kernelweave.runtime import StageProgress, available_memory
from kernelweave.samples import Seen
from kernelweave.samples.mixed_table import CATEGORIES, NUMBERS, ColumnChoices, MixedTable
from kernelweave.samples.prepared import Compared
from kernelweave.samples.scaling import Version, fit_scaling
from kernelweave.weave import choice, dense_rows
from kernelweave.weave.choice import Size, choose_solver
from kernelweave.weave.clarity import Clarity
from kernelweave.weave.classes import classify_graph
from kernelweave.weave.consensus_kernel import block_shares, combine, given_weights, weigh
from kernelweave.weave.dense_rows import DenseRows
from kernelweave.weave.graph_model import GraphModel, pass_over
from kernelweave.weave.landmark import landmark_solver, learning
from kernelweave.weave.learned_rows import LearnedRows
from kernelweave.weave.local import local_solver, locality
from kernelweave.weave.local.local_graph import LocalRows
from kernelweave.weave.local.locality import near_order
from kernelweave.weave.plan import LabelTask, Plan
from kernelweave.weave.woven import WovenGraph

X = np.random.default_rng(0).normal(size=(60, 3)) + 5 * np.eye(3)[np.arange(60) % 3]


def rows(n, d=5, dtype=np.float32):
    return Views.of_table(np.broadcast_to(dtype(0), (n, d)))


# memory and choice


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 4), (np.float64, 8)])
def test_a_dense_fit_takes_six_matrices(dtype, size):
    assert Dense().memory(rows(100, dtype=dtype), 10, 3) == 6 * size * 100**2


def test_a_local_fit_takes_memory_for_samples_candidates_and_columns():
    assert Local(7).memory(rows(100), 10, 3) == 100 * (400 + 70 * 7 + 8 * 5)
    assert Local().memory(rows(6000), 12, 3) == 6000 * (400 + 70 * 18 + 8 * 5)


def test_a_fit_with_landmarks_takes_the_memory_of_its_landmarks_and_none_if_samples_are_not_counted():
    expected = learning.landmark_memory(5, 40, 12, 4, n=1000, c=3)
    assert Landmark(40).memory(rows(1000), 10, 3) == expected
    assert Landmark().memory(rows(1000), 10, 3) == learning.landmark_memory(5, 250, 12, 4, n=1000, c=3)
    given = Landmark(landmarks=np.zeros((7, 5)))
    assert given.memory(rows(1000), 10, 3) == learning.landmark_memory(5, 7, 12, 4, n=1000, c=3)
    assert Landmark().memory(Chunks([X]), 10, 3) == 0


def choose(samples, required=None, solver="auto"):
    return choose_solver(solver, samples, required or {}, Size(10, 3), available_memory())


@pytest.mark.parametrize(("extra", "name"), [(0, "dense"), (-1, "local")])
def test_memory_that_is_just_enough_is_enough(monkeypatch, extra, name):
    need = Dense().memory(rows(1000), 10, 3)
    monkeypatch.setenv("KERNELWEAVE_MEMORY", str(need + extra))
    assert choose(rows(1000)).name == name
    if extra:
        with pytest.raises(NotEnoughMemoryError, match="needs about"):
            choose(rows(1000), solver="dense")
    else:
        assert choose(rows(1000), solver="dense").reason == "it was asked for"


@pytest.mark.usefixtures("three_solvers")
def test_the_solver_with_the_least_need_is_taken_if_it_just_fits(monkeypatch):
    samples, required = rows(9000), {"gaps": "gaps", "precomputed": "kernels"}
    need = Dense().memory(samples, 10, 3)
    monkeypatch.setenv("KERNELWEAVE_MEMORY", str(need))
    assert choose(samples, required) == choice.SolverChoice(Dense(), "it takes gaps and kernels")
    monkeypatch.setenv("KERNELWEAVE_MEMORY", str(need - 1))
    with pytest.raises(NotEnoughMemoryError, match="The dense graph of 9000 samples"):
        choose(samples, required)


@pytest.mark.parametrize(
    ("n", "name"), [(5000, "dense"), (5001, "local"), (2_000_000, "local"), (2_000_001, "landmark")]
)
def test_a_solver_is_taken_up_to_its_number_of_samples(monkeypatch, n, name):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e15")
    assert choose(rows(n)).name == name


@pytest.mark.usefixtures("three_solvers")
@pytest.mark.parametrize(("n", "name"), [(20_000, "local"), (20_001, "landmark")])
def test_without_faiss_local_graphs_are_of_few_samples(monkeypatch, n, name):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e15")
    monkeypatch.setattr(local_solver, "has_faiss", lambda: False)
    assert choose(rows(n)).name == name
    assert choose(rows(n), {"gamma": "gamma=1"}).name == "local"  # the only one that takes it


def test_requirements_that_no_solver_meets_together_are_refused():
    with pytest.raises(InvalidInputError, match="No solver takes a and b together: leave one of them out"):
        choose(rows(10), {"chunks": "a", "gaps": "b"})


def test_gaps_are_refused_where_the_solver_does_not_take_them():
    gaps = Views({"a": X, "b": X[:, :2]}, missing={"b": [1]})
    choice.refuse_gaps(choice.SolverChoice(Dense(), ""), gaps)
    with pytest.raises(InvalidInputError, match=r"lack the view 'b'.*fit it with solver=\"dense\""):
        choice.refuse_gaps(choice.SolverChoice(Local(), ""), gaps)


# consensus


def mixed(numbers, categories):
    columns = [SimpleNamespace(kind="number")] * numbers + [SimpleNamespace(kind="category")] * categories
    return MixedTable(tuple(columns))


def test_blocks_of_a_mixed_table_count_by_the_root_of_their_columns():
    blocks = mixed(9, 4).blocks
    samples = SimpleNamespace(
        readings={"X": mixed(9, 4), "Y": None},
        sources=("X", "X", "Y"),
        kinds=(NUMBERS, CATEGORIES, "table"),
    )
    view = np.array([0, 0, 0, 1, 2])  # three kernels of numbers, one of categories, one of another table
    found = block_shares(samples, view)
    number, word = np.sqrt(len(blocks[NUMBERS])), np.sqrt(len(blocks[CATEGORIES]))
    share = number / (number + word)
    assert_allclose(found, [share / 0.75] * 3 + [(1 - share) / 0.25, 1])
    alone = SimpleNamespace(readings={"X": mixed(9, 4)}, sources=("X", "Z"), kinds=(NUMBERS, "table"))
    assert_array_equal(block_shares(alone, view[:4]), 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_count_by_a_power_of_the_share_of_labels_that_neighbours_predict(dtype):
    table = pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1, 9.0, 9.1, 20.0], "word": list("ababbaa")})
    samples = Views({"X": table}, choices=ColumnChoices(standardize=False, gaps=False)).astype(dtype)
    codes = np.array([0, 0, 1, 1, 0, 0, -1])
    # by the numbers all six are right; of the two others with the same word, four samples share the class of one
    found = block_shares(samples, np.array([0, 0, 1]), codes)
    numbers, words = (7 / 8) ** 4, ((4 * 0.5 + 1) / 8) ** 4
    assert_allclose(found, [numbers / (numbers + words) / (2 / 3)] * 2 + [words / (numbers + words) * 3])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_consensus_is_the_weighted_sum_of_kernels_in_the_precision_of_the_samples(dtype):
    scaling = fit_scaling(X, "none")
    samples = Views.of_table(X.astype(dtype))
    said = []
    found = combine(
        Compared(Version("given", {"X": scaling}), samples), recipe("released-7"), [1, 0, 0, 0, 0, 0, 3], said.append
    )
    H = recipe("released-7").fit_grams(X)
    assert found.matrix.dtype == dtype
    assert_allclose(found.matrix, 0.25 * H[0] + 0.75 * H[6], rtol=1e-4, atol=1e-5)
    assert said == [f"kernels: 7, the largest share 75% ({recipe('released-7').names[6]})"]
    assert_allclose(found.training_rows(np.array([3, 5])), found.matrix[[3, 5]], rtol=1e-4, atol=1e-5)
    single = found.astype(np.dtype(np.float32))
    assert single.matrix.dtype == single.training.dtype == np.float32
    assert_allclose(found.rows(samples.select([3, 5])), found.matrix[[3, 5]], rtol=1e-4, atol=1e-5)
    assert_allclose(weigh(recipe("released-7"), "uniform", samples).shares, [1 / 7] * 7)


def test_a_weight_of_0_is_a_weight():
    assert_array_equal(given_weights((0, 2, 0), ("a", "b", "c")), [0, 1, 0])
    for bad in ([[1, 2, 3]], [1, np.inf, 1]):
        with pytest.raises(InvalidInputError, match="weights must"):
            given_weights(bad, ("a", "b", "c"))


RIDGE = (RowPart("ridge", 8, 1.0),)


def dense_joiner(parts=RIDGE, single=True, table=X):
    compared = Compared(Version("given", {"X": fit_scaling(table, "none")}), Views.of_table(table))
    return DenseRows(combine(compared, KernelBank((Linear(),)), "uniform"), 0.1, parts, single)


@pytest.mark.parametrize(
    ("fewest", "single", "dtype"), [(60, True, np.float32), (61, True, np.float64), (60, False, np.float64)]
)
def test_rows_are_computed_in_single_precision_from_a_number_of_samples(monkeypatch, fewest, single, dtype):
    monkeypatch.setattr(dense_rows, "_SINGLE_FROM", fewest)
    joiner = dense_joiner(single=single)
    found = joiner.rows(Views.of_table(X[:4] + 0.1))
    assert found.dtype == dtype
    assert joiner.row_bytes == 4 * 60 * np.dtype(dtype).itemsize


def test_rows_that_differ_in_single_precision_are_computed_in_double(monkeypatch):
    monkeypatch.setattr(dense_rows, "_SINGLE_FROM", 10)
    far = X + 1e6
    assert dense_joiner(table=far).rows(Views.of_table(far[:2])).dtype == np.float64
    monkeypatch.setattr(dense_rows, "_ALIKE", -1.0)
    assert dense_joiner().rows(Views.of_table(X[:2])).dtype == np.float64


def test_rows_of_blocks_are_those_of_all(monkeypatch):
    joiner = dense_joiner((RowPart("ridge", 8, 0.5), RowPart("tuned", 5, 0.5)))
    new = Views.of_table(X + 0.1)
    whole = joiner.rows(new).toarray()
    monkeypatch.setattr(dense_rows, "row_blocks", lambda n: (slice(i, min(i + 7, n)) for i in range(0, n, 7)))
    assert_allclose(joiner.rows(new).toarray(), whole, atol=1e-12)


def test_learned_rows_take_the_memory_of_eight_rows():
    joiner = LearnedRows(SimpleNamespace(matrix=np.eye(4)), np.eye(4, 2), 1.0, 0.1, None, np.ones(4))
    assert joiner.row_bytes == 8 * 32


# samples of landmarks


@pytest.fixture
def sampled(monkeypatch):
    """Learn from a hundred samples, and keep what is learned from."""
    monkeypatch.setattr(learning, "_LEAST_SAMPLE", 100)
    monkeypatch.setattr(learning, "_PER_LANDMARK", 1)
    given = []

    def kept(settings, m, sample, codes, shares, task):
        given.append((sample.views.tables[0], codes, shares, task.n_classes))
        return learning.learn_classes(settings, m, sample, codes, shares, task)

    monkeypatch.setattr(landmark_solver, "learn_classes", kept)
    return given


@pytest.mark.parametrize(
    ("labelled", "known", "unknown"),
    [(40, 40, 60), (50, 50, 50), (300, 50, 50), (580, 80, 20), (570, 70, 30), (599, 99, 1), (600, 100, 0), (5, 5, 95)],
)
def test_half_of_the_sample_is_labelled_or_as_much_as_there_is(sampled, labelled, known, unknown):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(600, 2)) + 9 * np.eye(2)[np.arange(600) % 2]
    y = np.where(rng.permutation(600) < labelled, np.arange(600) % 2, -1)
    WeaveClassifier(solver=Landmark(20), kernels="released-7", scale="none", random_state=0, n_jobs=1).fit(table, y)
    ((sample, codes, shares, n_classes),) = sampled
    assert (np.count_nonzero(codes >= 0), np.count_nonzero(codes < 0)) == (known, unknown)
    assert shares == (labelled / known, (600 - labelled) / max(unknown, 1))
    assert n_classes == 2
    assert len(np.unique(sample, axis=0)) == 100
    place = {tuple(row): i for i, row in enumerate(table)}
    assert_array_equal(codes, y[[place[tuple(row)] for row in sample]])


@pytest.mark.parametrize("size", [30, 13])  # two blocks, and five
def test_the_sample_is_summed_in_blocks(sampled, monkeypatch, size):
    y = np.where(np.arange(60) % 4 == 0, np.arange(60) % 3, -1)
    clusterer = WeaveClustering(3, solver=Landmark(9), scale="none", random_state=0, n_jobs=1)
    classifier = WeaveClassifier(solver=Landmark(9), kernels="released-7", scale="none", random_state=0, n_jobs=1)
    sizes, whole = [], [model.fit(X, y).predict_proba(X) for model in (clusterer, classifier)]
    joined = learning.LandmarkRows.joined

    def counted(graph, scaled, **how):
        sizes.append(len(scaled))
        return joined(graph, scaled, **how)

    monkeypatch.setattr(learning, "_BLOCK", size)
    monkeypatch.setattr(learning.LandmarkRows, "joined", counted)
    blocks = [min(size, 60 - i) for i in range(0, 60, size)]
    for model, proba in zip((clusterer, classifier), whole, strict=True):
        sizes.clear()
        assert_allclose(model.fit(X, y).predict_proba(X), proba, atol=1e-6)
        assert sizes[1 : 1 + len(blocks)] == blocks  # after the check of how many landmarks are enough


@pytest.mark.parametrize(("n_neighbors", "joined"), [(1, 1), (3, 1), (4, 1), (5, 2), (10, 3), (12, 4)])
def test_a_sample_is_joined_to_a_third_as_many_landmarks(n_neighbors, joined):
    model = WeaveClustering(3, solver=Landmark(9), n_neighbors=n_neighbors, random_state=0, n_jobs=1).fit(X)
    assert model._graph_model.joiner.n_neighbors == joined


def test_labelled_samples_keep_their_labels_and_are_decided():
    y = np.where(np.arange(60) % 4 == 0, (np.arange(60) + 1) % 3, -1)  # wrong ones
    model = WeaveClassifier(solver=Landmark(9), random_state=0, n_jobs=1).fit(X, y)
    assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
    assert not model.undecided_.any()
    assert (model.label_distributions_ >= 0).all()


@pytest.mark.parametrize(
    ("landmarks", "n_landmarks", "message"),
    [
        (np.ones((4, 2)), None, r"shape \(n_landmarks, 3\), one per row; got shape \(4, 2\)"),
        (np.ones(3), None, r"got shape \(3,\)"),
        (np.ones((4, 3)), 5, r"shape \(5, 3\), one per row; got shape \(4, 3\)"),
        (np.full((4, 3), np.inf), 4, "hold NaN or infinite values"),
        ("best", None, "must be 'kmeans', 'random' or an array"),
        ("random", 61, "n_landmarks=61 is more than the n_samples=60"),
    ],
)
def test_landmarks_that_do_not_fit_are_refused(landmarks, n_landmarks, message):
    with pytest.raises(InvalidInputError, match=message):
        WeaveClustering(3, solver=Landmark(n_landmarks, landmarks)).fit(X)


def test_as_many_landmarks_as_samples_are_taken():
    assert WeaveClustering(3, solver=Landmark(60, "random"), random_state=0).fit(X).landmarks_.shape == (60, 3)
    assert WeaveClustering(3, solver=Landmark(4, X[:4]), random_state=0).fit(X).landmarks_.shape == (4, 3)


# passes over chunks


def passed(parts, n, width=1):
    told = []
    source = SimpleNamespace(n=n)
    run = SimpleNamespace(over=lambda task, model, source: iter(parts))
    spec = [(width, np.float64), (1, np.int32)]
    found = pass_over(source, run, None, None, spec, lambda *words: told.append(words))
    return found, told


def test_results_of_chunks_are_put_one_below_the_other_and_progress_is_told():
    parts = [(np.full((2, 1), 1.0), np.full((2, 1), 5)), (np.full((3, 1), 2.0), np.full((3, 1), 6))]
    (first, second), told = passed(parts, 5)
    assert_array_equal(first.ravel(), [1, 1, 2, 2, 2])
    assert_array_equal(second.ravel(), [5, 5, 6, 6, 6])
    assert (first.dtype, second.dtype) == (np.float64, np.int32)
    assert told == [("passing", 0, 5), ("passing", 2, 5), ("passing", 5, 5)]
    with pytest.raises(InvalidInputError, match="more rows than the 4 of the first reading"):
        passed(parts, 4)
    with pytest.raises(InvalidInputError, match="X gave 5 rows, but 6 when it was first read"):
        passed(parts, 6)


# order in memory, progress, candidates


def test_samples_are_halved_at_the_median_until_few_are_left(monkeypatch):
    monkeypatch.setattr(locality, "_LEAF", 5)
    line = np.random.default_rng(0).permutation(40).astype(float)
    order = near_order(np.column_stack([line, np.zeros(40)]))
    leaves = line[order].reshape(8, 5)
    ranges = sorted((leaf.min(), leaf.max()) for leaf in leaves)
    assert ranges == [(5 * i, 5 * i + 4) for i in range(8)]
    steps = [abs(a.mean() - b.mean()) for a, b in pairwise(leaves)]
    assert max(steps[::2]) == 5  # halves of a part stand next to each other
    monkeypatch.setattr(locality, "_LEAF", 40)
    assert_array_equal(near_order(np.column_stack([line, line])), np.arange(40))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_samples_are_divided_where_they_differ_most(monkeypatch, make):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(locality, "_LEAF", 1200)
    long = rng.normal(size=(2000, 3)) * [1, 20, 1] + [50, 0, 0]
    order = near_order(make(long))
    first = long[order[:1000], 1]
    assert len(order) == 2000
    assert first.max() <= np.median(long[:, 1]) + 2 or first.min() >= np.median(long[:, 1]) - 2


def test_the_number_of_candidates_is_one_and_a_half_times_the_neighbours_at_least():
    assert [Local().candidates(5000, k) for k in (1, 40, 41)] == [60, 60, 62]
    assert [Local().candidates(5001, k) for k in (1, 10, 11)] == [15, 15, 17]


def test_the_rows_of_a_local_model_take_the_memory_of_its_candidates():
    model = WeaveClustering(3, solver=Local(7), random_state=0).fit(X)
    joiner = model._graph_model.joiner
    assert isinstance(joiner, LocalRows)
    assert joiner.row_bytes == 8 * 3 * 4 + 64 * 40


def test_an_order_among_many_training_samples_changes_no_answer(monkeypatch):
    model = WeaveClustering(3, solver=Local(7), random_state=0).fit(X)
    new = np.random.default_rng(1).normal(size=(6000, 3)).astype(X.dtype)
    before, joiner = model.predict_proba(new), model._graph_model.joiner
    assert_array_equal(joiner.order(Views.of_table(new)), np.arange(6000))
    monkeypatch.setattr("kernelweave.weave.local.local_graph._NEW_ORDERED_FROM", 60)
    order = joiner.order(Views.of_table(new))
    assert_array_equal(np.sort(order), np.arange(6000))
    assert not np.array_equal(order, np.arange(6000))
    assert_allclose(model.predict_proba(new), before, atol=1e-6)


@pytest.mark.parametrize(("later", "said"), [(1.9, []), (2.0, ["rows: 30 of 90, 15/s, 4 s left"])])
def test_progress_is_told_after_two_seconds(monkeypatch, later, said):
    now = iter([0.0, later])
    monkeypatch.setattr("kernelweave.runtime.time.monotonic", lambda: next(now))
    heard = []
    progress = StageProgress(heard.append, _began=0.0, _said=0.0)
    progress("rows", 1, 90)
    progress("rows", 30, 90)
    assert heard == said


# few labels, and whether clusters stand out


@pytest.mark.parametrize(("labels", "lgc"), [(3, False), (2, True)])
def test_fewer_labels_than_a_fiftieth_spread_by_consistency(labels, lgc, capsys):
    table = np.random.default_rng(0).normal(size=(150, 3))
    y = np.full(150, -1)
    y[:labels] = np.arange(labels) % 3
    WeaveClassifier(solver=Local(9), random_state=0, verbose=1).fit(table, y)
    assert ("labels: lgc" in capsys.readouterr().err) is lgc


@pytest.mark.parametrize("class_mass", [False, True])
def test_values_for_new_samples_are_the_scores_that_are_not_negative(class_mass):
    S = sparse.csr_array(np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0.0]]))
    task = LabelTask(np.array([0, -1, 1, -1]), 2, "harmonic", class_mass)
    said = []
    found = classify_graph(WovenGraph(S, None, None, None, {}), task, np.arange(S.shape[0]), lgc=False, say=said.append)
    assert_array_equal(found.undecided, [False, False, False, True])
    assert_allclose(found.scores[1], found.scores[1, ::-1])
    assert_array_equal(found.model.values[3], 0)
    assert (found.model.values >= 0).all()
    assert said[0].startswith("labels: harmonic")


PLAN = Plan("auto", "self", "auto", GraphRule(), "auto", True, None, None, print)


@pytest.mark.parametrize(("n", "c", "required"), [(16, 2, 2), (15, 2, None), (40, 9, 5), (100, 3, 3), (300, 50, 37)])
def test_clusters_of_fewer_than_eight_samples_are_not_asked_for(monkeypatch, n, c, required):
    numbers = []

    def measured(clarity, views, n_clusters, rng):
        numbers.append(n_clusters)
        return [np.arange(n_clusters + 2.0)], 1.0

    monkeypatch.setattr(Clarity, "_measured", measured)
    views = Views.of_table(np.random.default_rng(0).normal(size=(n, 3)))
    assert 0 <= Clarity(views, (), PLAN, c, np.random.RandomState(0)).value <= 1
    assert set(numbers) == (set() if required is None else {required})


def test_where_all_samples_are_known_no_rows_are_computed():
    samples = Views.of_table(X)
    answers = {"distributions": np.eye(60), "undecided": np.zeros(60, dtype=bool), "embedding": np.eye(60)}
    joiner = SimpleNamespace(row_bytes=0, rows=None)
    model = GraphModel(joiner, np.eye(2, 60), np.eye(2, 60), seen=Seen(samples.digests()), **answers)
    assert_array_equal(model.answers(samples).distributions, np.eye(60))
    assert_array_equal(model.transform(samples), np.eye(60))


def test_a_perturbed_rule_keeps_its_kind():
    assert GraphRule("knn", 0.1, 10).perturbed(2.0, 1.4) == replace(
        GraphRule("knn", 0.1, 10), gamma=0.2, n_neighbors=14
    )
