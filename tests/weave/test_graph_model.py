"""A fitted graph as an object: what it says of training and of new samples, in blocks, in chunks and after copying."""

import copy
import pickle
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

from kernelweave import Chunks, Landmark, Local, Views, WeaveClassifier, WeaveClustering
from kernelweave.errors import KernelweaveError, NotFiniteError
from kernelweave.kernels import recipe
from kernelweave.samples import KernelStack, Seen
from kernelweave.samples.digests import Lean
from kernelweave.weave import Centres, GraphModel, graph_model
from kernelweave.weave.graph_model import distributions
from kernelweave.weave.learned_rows import LearnedRows

X, Y = make_blobs(120, n_features=4, centers=3, cluster_std=2.0, random_state=0)
NEW = make_blobs(50, n_features=4, centers=3, cluster_std=2.0, random_state=0, shuffle=True)[0] + 0.1
PARTLY = np.where(np.arange(120) % 5 == 0, Y, -1)
BANK = recipe("released-7").fit(X)
GAP = np.where(np.arange(120)[:, None] % 10 == 1, np.nan, X[:, 2:])

# samples of fit, new ones, and parameters
CASES = {
    "dense": (X, NEW, {"solver": "dense"}),
    "dense, knn": (X, NEW, {"solver": "dense", "graph": "knn"}),
    "dense, both": (X, NEW, {"solver": "dense", "graph": "both"}),
    "dense, sparse": (sparse.csr_array(X), sparse.csr_array(NEW), {"solver": "dense"}),
    "dense, views": ([X[:, :2], X[:, 2:]], [NEW[:, :2], NEW[:, 2:]], {"solver": "dense"}),
    "dense, gaps": ([X[:, :2], GAP], [NEW[:, :2], NEW[:, 2:]], {"solver": "dense"}),
    "dense, precomputed": (BANK.grams(X), BANK.grams(NEW, X), {"solver": "dense", "kernels": "precomputed"}),
    "local": (X, NEW, {"solver": Local(30)}),
    "local, both": (X, NEW, {"solver": Local(30), "graph": "both"}),
    "local, views": ([X[:, :2], X[:, 2:]], [NEW[:, :2], NEW[:, 2:]], {"solver": Local(30)}),
    "landmark": (X, NEW, {"solver": Landmark(30)}),
}
REMEMBERING = [name for name in CASES if not name.startswith("landmark")]  # recognise training samples


def fit(name, estimator=WeaveClustering):
    samples, new, options = CASES[name]
    options = {"kernels": "released-7", "random_state": 0, "n_jobs": 1} | options
    model = WeaveClustering(3, **options) if estimator is WeaveClustering else WeaveClassifier(**options)
    return model.fit(samples, PARTLY), samples, new


def some(samples, rows):
    """Return some of the samples in their form."""
    if isinstance(samples, list):
        return [table[rows] for table in samples]
    return samples[:, rows] if getattr(samples, "ndim", 2) == 3 else samples[rows]


@pytest.fixture(params=CASES)
def case(request):
    return request.param


# blocks


def test_samples_that_are_all_new_and_fit_in_one_block_are_not_copied(monkeypatch):
    model, _, new = fit("dense")
    expected = model.predict_proba(new)
    monkeypatch.setattr(Views, "select", lambda *_: pytest.fail("the samples were copied"))
    assert_array_equal(model.predict_proba(new), expected)


def test_blocks_of_new_samples_do_not_change_clusters_memberships_or_coordinates(case, monkeypatch):
    model, _, new = fit(case)
    whole = model.predict(new), model.predict_proba(new), model.transform(new)
    monkeypatch.setattr(graph_model, "_LEAST", 7)
    monkeypatch.setattr(graph_model, "_MOST", 7)
    assert_array_equal(model.predict(new), whole[0])
    assert_allclose(model.predict_proba(new), whole[1], atol=1e-6)
    assert_allclose(model.transform(new), whole[2], atol=1e-6)


def test_blocks_of_new_samples_do_not_change_classes(case, monkeypatch):
    model, _, new = fit(case, WeaveClassifier)
    whole = model.predict_proba(new)
    monkeypatch.setattr(graph_model, "_LEAST", 7)
    monkeypatch.setattr(graph_model, "_MOST", 7)
    assert_allclose(model.predict_proba(new), whole, atol=1e-6)


@pytest.mark.parametrize("budget", [1000, 2000])
def test_blocks_are_as_large_as_the_budget_of_memory_allows(budget, monkeypatch):
    sizes = []

    class Watched(ByHand):
        def rows(self, new):
            sizes.append(new.n_samples)
            return super().rows(new)

    monkeypatch.setattr(graph_model, "_LEAST", 1)
    monkeypatch.setattr(graph_model, "_BUDGET", budget)
    GraphModel(Watched(), COORDINATES, VALUES).answers(Views.of_table(np.ones((45, 3))))
    assert sizes == [budget // 100] * (4500 // budget) + [45 % (budget // 100)]


def test_one_sample_is_answered_as_it_is_among_others(case):
    model, _, new = fit(case)
    whole = model.predict_proba(new)
    assert_allclose(model.predict_proba(some(new, [11])), whole[[11]], atol=1e-6)


@pytest.mark.parametrize("name", ["dense", "local", "landmark"])
def test_chunks_of_new_samples_do_not_change_answers(name):
    model, _, new = fit(name)
    chunks = Chunks(np.array_split(new, 6))
    assert_allclose(model.predict_proba(chunks), model.predict_proba(new), atol=1e-6)
    assert_allclose(model.transform(chunks), model.transform(new), atol=1e-6)
    assert_array_equal(model.undecided(chunks), model.undecided(new))


# training samples


@pytest.mark.parametrize("name", REMEMBERING)
def test_training_samples_get_the_answers_of_fit_exactly(name):
    model, samples, _ = fit(name)
    assert_array_equal(model.predict(samples), model.labels_)
    assert_array_equal(model.predict_proba(samples), model.membership_)
    assert_array_equal(model.transform(samples), model.embedding_)
    assert not model.undecided(samples).any()
    classes, samples, _ = fit(name, WeaveClassifier)
    assert_array_equal(classes.predict(samples), classes.transduction_)
    assert_array_equal(classes.predict_proba(samples), classes.label_distributions_)
    assert_array_equal(classes.undecided(samples), classes.undecided_)


@pytest.mark.parametrize("name", [name for name in REMEMBERING if "gaps" not in name])
def test_training_samples_get_the_answers_of_fit_in_any_order_and_number(name):
    model, samples, _ = fit(name)
    rows = np.array([101, 3, 3, 77])
    assert_array_equal(model.predict_proba(some(samples, rows)), model.membership_[rows])
    assert_array_equal(model._graph_model.known(model._read_again(some(samples, rows))), rows)


def test_landmarks_give_training_samples_the_answers_of_fit_by_their_place():
    model, samples, _ = fit("landmark")
    assert_array_equal(model.predict(samples), model.labels_)
    assert_allclose(model.predict_proba(samples), model.membership_, atol=1e-6)
    assert_allclose(model.transform(samples), model.embedding_, atol=1e-6)
    assert (model._graph_model.known(Views.of_table(X)) == -1).all()


def test_new_samples_are_no_training_samples(case):
    model, _, new = fit(case)
    assert (model._graph_model.known(model._read_again(new)) == -1).all()


# copies and pickles


@pytest.mark.parametrize("estimator", [WeaveClustering, WeaveClassifier])
def test_copies_and_pickles_give_the_same_answers(case, estimator):
    model, _, new = fit(case, estimator)
    for again in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert_array_equal(again.predict_proba(new), model.predict_proba(new))


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("dense")])
def test_copies_and_pickles_hold_the_fields_only(name):
    model, _, new = fit(name)
    joiner = model._graph_model.joiner
    before = len(pickle.dumps(model))
    model.predict(new)
    names = {field.name for field in fields(joiner)}
    assert isinstance(joiner, Lean)
    assert vars(joiner).keys() > names  # what was computed for new samples is kept for the next ones
    for again in (copy.copy(joiner), copy.deepcopy(joiner), pickle.loads(pickle.dumps(joiner))):
        assert vars(again).keys() == names
    assert abs(len(pickle.dumps(model)) - before) < 1000  # without the inverse, of 115 kB


def test_what_was_computed_for_new_samples_is_computed_once(monkeypatch):
    model, _, new = fit("dense, both")
    first = model.predict_proba(new)
    for name in ("ridge_inverse", "kernel_sqdist"):
        path = f"kernelweave.weave.dense_rows.{name}"
        monkeypatch.setattr(path, lambda *args, **options: pytest.fail("computed again"))
    assert_array_equal(model.predict_proba(new), first)


def test_a_fitted_graph_cannot_be_changed():
    model, _, _ = fit("dense")
    with pytest.raises(AttributeError, match="cannot assign to field 'values'"):
        model._graph_model.values = None
    with pytest.raises(AttributeError, match="cannot assign to field 'parts'"):
        model._graph_model.joiner.parts = ()


# the object itself


class ByHand:
    """Joins every new sample to the nodes by its own numbers."""

    chunked = False
    row_bytes = 100

    def rows(self, new):
        return np.maximum(new.tables[0], 0)


class InOrder(ByHand):
    """Asks for samples in the order of their first number, a few at a time, and remembers what it was given."""

    row_bytes = 2**20

    def __init__(self):
        self.given = []

    def order(self, new):
        return np.argsort(new.tables[0][:, 0], kind="stable")

    def rows(self, new):
        self.given.append(new.tables[0][:, 0])
        return super().rows(new)


VALUES = np.array([[1.0, 0], [0, 1], [1, 0]])
COORDINATES = np.array([[0.0, 0], [4, 0], [0, 2]])
JOINED = np.array([[1.0, 3, 0], [0, 0, 2], [-1, -1, -1]])


def test_scores_and_coordinates_are_means_over_neighbours_and_nothing_without_any():
    model = GraphModel(ByHand(), COORDINATES, VALUES)
    new = Views.of_table(JOINED)
    assert_allclose(model.scores(new), [[0.25, 0.75], [1, 0], [0, 0]])
    assert_allclose(model.transform(new), [[3, 0], [0, 2], [0, 0]])
    assert model.n_groups == 2


def test_a_sample_that_is_similar_to_nothing_is_uniform_and_undecided():
    found = GraphModel(ByHand(), COORDINATES, VALUES).answers(Views.of_table(JOINED))
    assert_allclose(found.distributions, [[0.25, 0.75], [1, 0], [0.5, 0.5]])
    assert_array_equal(found.undecided, [False, False, True])
    assert_array_equal(found.known, [-1, -1, -1])


def test_without_values_the_distance_to_the_centres_decides():
    centres = Centres(np.array([[0.0, 0], [4, 0]]), np.array([2, 2]))
    model = GraphModel(ByHand(), COORDINATES, centres=centres)
    found = model.scores(Views.of_table(JOINED))
    assert model.n_groups == 2
    assert_allclose(found[0], [1 / 10, 9 / 10])
    assert_allclose(found[2], 0)
    unit = GraphModel(ByHand(), COORDINATES, centres=Centres(centres.means, centres.counts, unit=True))
    M, P = unit.memberships(Views.of_table(np.array([[1.0, 3, 0], [7, 1, 0], [-1, -1, -1]])))
    assert_allclose(P, [[3, 0], [0.5, 0], [0, 0]])
    assert_allclose(M[0], M[1])  # of the same direction
    assert_allclose(M[2], 0)


def test_an_order_of_new_samples_changes_the_blocks_and_no_answer():
    joiner, new = InOrder(), Views.of_table(np.random.default_rng(0).normal(size=(50, 3)))
    found, plain = (GraphModel(one, COORDINATES, VALUES) for one in (joiner, ByHand()))
    assert_array_equal(found.answers(new).distributions, plain.answers(new).distributions)
    assert [len(block) for block in joiner.given] == [16, 16, 16, 2]
    assert_array_equal(np.concatenate(joiner.given), np.sort(new.tables[0][:, 0]))
    assert_array_equal(found.transform(new), plain.transform(new))


def test_samples_of_one_block_are_not_ordered():
    joiner, new = InOrder(), Views.of_table(np.random.default_rng(0).normal(size=(16, 3)))
    GraphModel(joiner, COORDINATES, VALUES).answers(new)
    assert_array_equal(joiner.given, [new.tables[0][:, 0]])


def test_a_loaded_model_without_values_and_centres_is_refused():
    with pytest.raises(TypeError, match="needs values or centres"):
        GraphModel(ByHand(), COORDINATES).check_loaded()


@pytest.mark.parametrize("node", [-1, 3])
def test_a_loaded_model_with_a_sample_at_no_node_is_refused(node):
    with pytest.raises(ValueError, match="none of its 3 nodes"):
        GraphModel(ByHand(), COORDINATES, VALUES, nodes=np.array([0, node])).check_loaded()


def test_training_samples_without_kept_answers_are_answered_as_new_ones():
    new = Views.of_table(JOINED)
    model = GraphModel(ByHand(), COORDINATES, VALUES, seen=Seen(new.digests()))
    plain = GraphModel(ByHand(), COORDINATES, VALUES)
    assert_array_equal(model.answers(new).distributions, plain.answers(new).distributions)
    assert_array_equal(model.transform(new), plain.transform(new))


def test_answers_of_fit_are_given_before_any_are_computed():
    new = Views.of_table(JOINED)
    answers = {
        "distributions": np.array([[0.5, 0.5]]),
        "undecided": np.array([True]),
        "embedding": np.array([[9.0, 9]]),
    }
    model = GraphModel(ByHand(), COORDINATES, VALUES, seen=Seen(new.select([1]).digests()), **answers)
    found = model.answers(new)
    assert_allclose(found.distributions, [[0.25, 0.75], [0.5, 0.5], [0.5, 0.5]])
    assert_array_equal(found.undecided, [False, True, True])
    assert_array_equal(found.known, [-1, 0, -1])
    assert_allclose(model.transform(new), [[3, 0], [9, 9], [0, 0]])


def test_distributions_are_scores_that_sum_to_one_or_uniform():
    F, empty = distributions(np.array([[1.0, 3], [0, 0]]))
    assert_allclose(F, [[0.25, 0.75], [0.5, 0.5]])
    assert_array_equal(empty, [False, True])


def test_kernels_with_the_training_samples_may_stand_for_new_samples():
    model, _, new = fit("dense, precomputed")
    stack = KernelStack(new, model.kernel_names_)
    assert_allclose(model._graph_model.answers(stack).distributions, model.predict_proba(new))
    assert model._graph_model.rows(stack).shape == (50, 120)


def test_new_samples_beyond_all_numbers_are_refused_without_a_warning():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.where(np.arange(60) % 2, np.arange(60) % 3, -1)
    model = WeaveClassifier(kernels="released-12", solver="landmark", scale="none").fit(X, y)
    with pytest.raises(KernelweaveError, match=r"gave inf or NaN|are not finite"):
        model.predict(np.full((1, 3), 1e170))


def test_a_consensus_that_cannot_be_inverted_asks_for_a_larger_gamma():
    rows = LearnedRows(SimpleNamespace(matrix=np.ones((4, 4))), np.eye(4, 2), 1.0, 0.0, None, np.ones(4))
    with pytest.raises(NotFiniteError, match=r"singular up to rounding with gamma=0 .*: fit with a larger gamma"):
        rows.rows(None)
