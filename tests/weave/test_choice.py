"""Which solver is taken and why, and what a solver cannot honour."""

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_blobs

from kernelweave import Chunks, Dense, Landmark, Local, SMKLClustering, Views, WeaveClassifier, WeaveClustering
from kernelweave.errors import InvalidInputError, NotEnoughMemoryError
from kernelweave.runtime import available_memory
from kernelweave.weave import SolverChoice
from kernelweave.weave.choice import SOLVERS, Size, choose_solver
from kernelweave.weave.local import inverted_lists

X, Y = load_iris(return_X_y=True)
TABLES = [X[:, :2], X[:, 2:]]
GAPS = np.where(np.arange(150)[:, None] == 3, np.nan, X[:, 2:])
PARTLY = np.where(np.arange(150) % 5 == 0, Y, -1)

# what requires each capability of a solver: parameters, and samples
REQUIRING = {
    "views": ({}, TABLES),
    "gaps": ({}, [X[:, :2], GAPS]),
    "mixed": ({"kernels": "mixed"}, pd.DataFrame(X, columns=list("abcd"))),
    "precomputed": ({"kernels": "precomputed"}, X @ X.T),
    "chunks": ({}, Chunks([X[:70], X[70:]])),
    "auto": ({"n_clusters": "auto"}, X),
    "graph": ({"graph": "knn"}, X),
    "gamma": ({"gamma": 0.5}, X),
    "embedding": ({"embedding": "unit"}, X),
    "float64": ({"dtype": "float64"}, X),
}
OF_CLASSIFIERS = ("views", "gaps", "mixed", "precomputed", "chunks", "graph", "gamma", "float64")


@pytest.fixture(scope="module")
def far_blobs():
    return make_blobs([60, 60, 60], n_features=3, cluster_std=0.4, center_box=(-20, 20), random_state=3)


def clusterer(capability, solver):
    parameters, samples = REQUIRING[capability]
    return WeaveClustering(**({"n_clusters": 3, "random_state": 0, "solver": solver} | parameters)), samples


def classifier(capability, solver):
    parameters, samples = REQUIRING[capability]
    return WeaveClassifier(**({"random_state": 0, "solver": solver} | parameters)), samples


def choose(samples, required=None, solver="auto", n_groups=3):
    return choose_solver(solver, samples, required or {}, Size(10, n_groups), available_memory())


def rows(n, d=5):
    """Return n samples that take no memory."""
    return Views.of_table(np.broadcast_to(np.float32(0), (n, d)))


def names(capabilities):
    return [name for name, solver in SOLVERS.items() if capabilities <= solver.supports]


def alternatives(message):
    """Return the solvers that a message tells to use."""
    found = re.search(r": use solver=(.*)\.$", message)
    return re.findall(r'"(\w+)"', found.group(1))


def attempt(call):
    """Return what a call returns, or the error by which it is refused because of memory."""
    try:
        return call()
    except NotEnoughMemoryError as error:
        return error


# what a solver cannot honour


def test_every_capability_is_tried_here():
    assert set().union(*(solver.supports for solver in SOLVERS.values())) == set(REQUIRING)


@pytest.mark.parametrize("make", [clusterer, classifier], ids=["clustering", "classes"])
@pytest.mark.parametrize("capability", REQUIRING)
@pytest.mark.parametrize("solver", SOLVERS)
def test_what_a_solver_does_not_support_is_refused_by_a_message_that_names_one_that_does(solver, capability, make):
    if make is classifier and capability not in OF_CLASSIFIERS:
        return
    model, samples = make(capability, solver)
    if capability in SOLVERS[solver].supports:
        model.fit(samples, PARTLY)
        assert model.solver_.name == solver
        return
    with pytest.raises(InvalidInputError, match=f'^solver="{solver}" does not take .*: use solver="') as caught:
        model.fit(samples, PARTLY)
    others = alternatives(str(caught.value))
    assert others
    for other in others:
        again, _ = make(capability, other)
        assert again.fit(samples, PARTLY).solver_.name == other


@pytest.mark.parametrize("capability", REQUIRING)
@pytest.mark.parametrize("solver", [Dense(), Local(30), Landmark(20)], ids=lambda solver: solver.name)
def test_a_solver_object_refuses_what_its_name_refuses(solver, capability):
    named, samples = clusterer(capability, solver.name)
    given = clusterer(capability, solver)[0]
    if capability in solver.supports:
        assert given.fit(samples).solver_.solver is solver
        return
    messages = []
    for model in (named, given):
        with pytest.raises(InvalidInputError, match="does not take") as caught:
            model.fit(samples)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_refusal_names_everything_that_the_solver_does_not_take():
    able = [name for name, solver in SOLVERS.items() if {"graph", "gamma", "views"} <= solver.supports]
    assert able[:2] == ["dense", "local"]
    cure = " or ".join(f'"{name}"' for name in able)
    with pytest.raises(
        InvalidInputError,
        match=rf"^solver=\"landmark\" does not take graph='both', gamma=0\.5 or several views: use solver={cure}\.$",
    ):
        WeaveClustering(3, solver="landmark", graph="both", gamma=0.5).fit(TABLES)


def test_what_no_solver_takes_together_is_refused():
    chunks = Chunks([X[:70], X[70:]])
    load = r'or load X as a table in memory, of which solver="dense" or "local" takes gamma=0\.5\.$'
    with pytest.raises(
        InvalidInputError,
        match=rf"^No solver takes gamma=0\.5 and samples that are read in chunks together: leave .* out, {load}",
    ):
        WeaveClustering(3, gamma=0.5).fit(chunks)
    with pytest.raises(
        InvalidInputError, match=rf'^solver="landmark" does not take gamma=0\.5: leave out gamma=0\.5, {load}'
    ):
        WeaveClustering(3, gamma=0.5, solver="landmark").fit(chunks)
    with pytest.raises(
        InvalidInputError, match=r"in memory, of which .* takes embedding='unit' and n_clusters=\"auto\""
    ):
        WeaveClustering("auto", embedding="unit").fit(chunks)


def test_an_unknown_solver_is_refused(far_blobs):
    for solver in ("fast", 3, Dense):
        with pytest.raises(ValueError, match="The 'solver' parameter of WeaveClustering must be"):
            WeaveClustering(3, solver=solver).fit(far_blobs[0])


def test_a_class_as_solver_is_refused_with_what_an_object_is(far_blobs):
    with pytest.raises(ValueError, match=r"or a solver object, such as Local\(\), with .* Got <class .*Dense'>"):
        WeaveClustering(3, solver=Dense).fit(far_blobs[0])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"solver": "local", "kernels": "precomputed"}, "does not take precomputed kernels"),
        ({"solver": "landmark", "embedding": "unit"}, "does not take embedding='unit'"),
        ({"solver": "landmark", "graph": "knn"}, "does not take graph='knn'"),
    ],
)
def test_what_a_solver_cannot_do_is_refused(far_blobs, options, match):
    settings = {"n_clusters": 3} | options
    K = far_blobs[0] @ far_blobs[0].T
    with pytest.raises(InvalidInputError, match=match):
        WeaveClustering(**settings).fit(K if "kernels" in options else far_blobs[0])


def test_counts_must_be_positive(far_blobs):
    with pytest.raises(ValueError, match="n_candidates == 0, must be >= 1"):
        Local(n_candidates=0)
    with pytest.raises(ValueError, match="n_landmarks == 0, must be >= 1"):
        Landmark(n_landmarks=0)
    with pytest.raises(
        ValueError, match=r"The 'n_clusters' parameter .* must be an int in the range \[1, 2147483647\]"
    ):
        WeaveClustering(n_clusters=0, solver="local").fit(far_blobs[0])


def test_counts_must_be_whole_numbers():
    with pytest.raises(TypeError, match="n_candidates must be an instance of int"):
        Local(n_candidates=2.5)
    with pytest.raises(TypeError, match="n_landmarks must be an instance of int"):
        Landmark(n_landmarks="many")


def test_views_that_lack_samples_are_refused_by_the_local_solver():
    with pytest.raises(InvalidInputError, match='views that lack some samples: use solver="dense"'):
        WeaveClustering(3, solver="local").fit({"left": X[:, :2], "right": GAPS})


# what "auto" takes


@pytest.mark.parametrize("capability", REQUIRING)
def test_auto_takes_a_solver_that_supports_what_is_asked_for(capability):
    model, samples = clusterer(capability, "auto")
    assert capability in model.fit(samples).solver_.solver.supports


@pytest.mark.parametrize("n", [150, 6000, 30_000, 3_000_000])
@pytest.mark.parametrize("memory", ["1e4", "1e6", "1e8", "1e10", "1e15"])
def test_auto_never_takes_a_solver_without_the_capabilities_asked_for(n, memory, monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", memory)
    for required in ({}, {"gamma": "gamma=1"}, {"precomputed": "kernels"}, {"graph": "g", "embedding": "e"}):
        found = attempt(lambda required=required: choose(rows(n), required))
        if isinstance(found, NotEnoughMemoryError):
            assert "of memory, more than the" in str(found)
        else:
            assert required.keys() <= found.solver.supports


def test_auto_takes_the_dense_solver_for_few_samples_and_says_so(far_blobs, capsys):
    model = WeaveClustering(3, random_state=0, verbose=1).fit(far_blobs[0])
    assert model.solver_.name == "dense"
    assert "180 samples" in model.solver_.reason
    assert "solver: dense, since 180 samples" in capsys.readouterr().err


def test_auto_takes_the_local_solver_where_samples_are_many(far_blobs, monkeypatch):
    monkeypatch.setattr(Dense, "up_to", 100)
    model = WeaveClustering(3, random_state=0).fit(far_blobs[0])
    assert model.solver_.name == "local"
    assert model.solver_.reason == "180 samples are more than 100"
    assert not hasattr(model, "consensus_kernel_")


def test_auto_takes_the_local_solver_where_memory_is_short_and_says_so(far_blobs, monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e6")
    choice = WeaveClustering(3, random_state=0).fit(far_blobs[0]).solver_
    assert choice.name == "local"
    assert choice.reason == "The dense graph of 180 samples needs 1.48 MiB, more than the 0.954 MiB available"


@pytest.mark.parametrize(
    ("n", "memory", "reason"),
    [
        (3_000_000, "1e12", "3000000 samples are more than 2000000"),
        (1_000_000, "3e8", "The local graph of 1000000 samples needs 1.39 GiB, more than the 0.279 GiB available"),
    ],
)
def test_auto_takes_landmarks_beyond_what_rows_and_memory_allow(n, memory, reason, monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", memory)
    assert choose(rows(n)) == SolverChoice(Landmark(), reason)


def test_what_does_not_fit_with_any_solver_is_refused(monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e8")
    with pytest.raises(
        NotEnoughMemoryError, match=r"^The landmark graph of 1000000 samples needs about .* fewer samples"
    ):
        choose(rows(1_000_000))
    with pytest.raises(NotEnoughMemoryError, match=r"available: take fewer samples\.$"):  # landmarks do not fit either
        choose(rows(1_000_000), {"gamma": "gamma=1"})
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "3e8")
    with pytest.raises(
        NotEnoughMemoryError,
        match=r'fewer samples, or solver="landmark", which needs less memory but does not take gamma=1\.$',
    ):
        choose(rows(1_000_000), {"gamma": "gamma=1"})


def test_auto_takes_landmarks_without_the_package_for_neighbours(monkeypatch):
    monkeypatch.setattr(inverted_lists, "find_spec", lambda name: None)
    choice = choose(rows(30_000))
    assert choice.name == "landmark"
    assert "faiss-cpu" in choice.reason


@pytest.mark.usefixtures("three_solvers")
def test_where_one_solver_is_left_the_reason_is_what_it_takes():
    assert choose(rows(150), {"gaps": "views with gaps"}).reason == "it takes views with gaps"
    assert choose(rows(9000), {"gaps": "views with gaps"}) == SolverChoice(Dense(), "it takes views with gaps")


@pytest.mark.usefixtures("three_solvers")
def test_the_reason_is_a_list_with_commas_that_says_everything_once():
    required = {"views": "a mixed table", "gaps": "gaps", "auto": 'n_clusters="auto"', "mixed": "a mixed table"}
    assert choose(rows(150), required).reason == 'it takes a mixed table, gaps and n_clusters="auto"'


def test_the_reason_speaks_of_no_views_for_one_mixed_table():
    table = pd.DataFrame({"a": np.r_[np.nan, np.arange(29.0)], "b": ["x", "y", "z"] * 10})
    alone = WeaveClustering(2, kernels="mixed", random_state=0).fit(table).solver_.reason
    beside = {"first": table, "second": table[["a"]].fillna(0.0)}
    several = WeaveClustering(2, kernels="mixed", random_state=0).fit(beside).solver_.reason
    assert alone == "it takes a mixed table and samples without numbers or without categories"
    assert several == "it takes several views, views that lack some samples and a mixed table"


def as_path(folder):
    pd.DataFrame(X, columns=list("abcd")).to_parquet(folder / "x.parquet")
    return folder / "x.parquet"


@pytest.mark.parametrize("make", [as_path, lambda folder: iter([X])], ids=["path", "iterator"])
def test_what_is_read_in_chunks_goes_to_landmarks(make, tmp_path):
    chunks = Chunks(make(tmp_path))
    assert choose(chunks) == SolverChoice(Landmark(), "the samples are read in chunks")
    with pytest.raises(InvalidInputError, match="read in chunks"):
        choose(chunks, solver="local")


def test_a_solver_that_was_asked_for_is_taken_and_its_parameters_are_kept():
    choice = choose(rows(150), solver=Local(40))
    assert choice == SolverChoice(Local(40), "it was asked for")
    assert choice.name == "local"
    assert choose(rows(150), solver="local").solver == Local()


@pytest.mark.parametrize(
    ("solver", "n", "memory", "other"),
    [
        ("dense", 20_000, "1e9", "local"),
        ("dense", 1_000_000, "1e9", "landmark"),  # the first of those that fit
        ("local", 1_000_000, "1e9", "landmark"),
    ],
)
def test_what_was_asked_for_and_does_not_fit_is_refused_and_a_solver_that_needs_less_named(
    solver, n, memory, other, monkeypatch
):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", memory)
    with pytest.raises(NotEnoughMemoryError, match=rf'The {solver} graph of {n} .* available: use solver="{other}"\.$'):
        choose(rows(n), solver=solver)


@pytest.mark.parametrize(
    ("memory", "dense", "local"),
    [
        ("7e5", r'use solver="local", or dtype="float32"', None),
        ("6e5", r'take fewer samples, or dtype="float32"', "take fewer samples"),
        ("1e4", r'take fewer samples, and solver="local", which needs less memory', "take fewer samples"),
    ],
)
def test_single_precision_is_advised_where_it_fits(memory, dense, local, monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", memory)
    double = Views.of_table(np.broadcast_to(0.0, (150, 5)))
    for solver, advice in (("dense", dense), ("local", local)):
        if advice is None:
            assert choose(double, solver=solver).name == solver
            continue
        with pytest.raises(NotEnoughMemoryError, match=rf"available: {advice}\.$"):
            choose(double, solver=solver)
    lacking = r', or solver="local", which .* but does not take dtype="float64"' if memory == "7e5" else ""
    with pytest.raises(NotEnoughMemoryError, match=rf"available: take fewer samples{lacking}\.$"):
        choose(double, {"float64": 'dtype="float64"'}, solver="dense")


@dataclass(frozen=True)
class Halved:
    """A solver of a user, which the chooser does not know."""

    name: ClassVar[str] = "halved"
    supports: ClassVar[frozenset[str]] = Dense.supports

    def unsuited(self, n):
        return None

    def memory(self, samples, n_neighbors, n_groups):
        return Dense().memory(samples, n_neighbors, n_groups)

    def cluster(self, samples, plan, task, rng):
        return Dense().cluster(samples, plan, task, rng)

    def classify(self, samples, plan, task, rng):
        return Dense().classify(samples, plan, task, rng)


def test_a_solver_of_a_user_is_taken(monkeypatch):
    model = WeaveClustering(3, solver=Halved(), random_state=0).fit(X)
    assert model.solver_ == SolverChoice(Halved(), "it was asked for")
    assert model.labels_.tolist() == WeaveClustering(3, solver="dense", random_state=0).fit(X).labels_.tolist()
    assert WeaveClassifier(solver=Halved()).fit(X, PARTLY).score(X, Y) > 0.8
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e4")
    with pytest.raises(NotEnoughMemoryError, match="The halved graph of 20000 samples"):
        choose(rows(20_000), solver=Halved())


def test_an_object_that_does_not_say_what_it_supports_is_no_solver():
    class Silent(Halved):
        supports = None

    for solver in (Silent(), Halved, object()):
        with pytest.raises(ValueError, match="The 'solver' parameter of WeaveClustering must be"):
            WeaveClustering(3, solver=solver).fit(X)


@pytest.mark.parametrize("n_neighbors", [20, np.int64(20)])
def test_fewer_candidates_than_neighbours_are_refused(n_neighbors):
    for model in (WeaveClustering(3, n_neighbors=n_neighbors), WeaveClassifier(n_neighbors=n_neighbors)):
        with pytest.raises(InvalidInputError, match=r"Local\(n_candidates=3\) compares .* than the n_neighbors=20"):
            model.set_params(solver=Local(n_candidates=3)).fit(X, PARTLY)
    WeaveClustering(3, n_neighbors=20, solver=Local(n_candidates=20), random_state=0).fit(X)
    WeaveClustering(2, n_neighbors=20, solver=Local(n_candidates=9), random_state=0).fit(X[::15])  # all others


def test_double_precision_is_honoured_where_it_is_taken():
    for model in (WeaveClustering(3, random_state=0), WeaveClassifier(random_state=0)):
        found = {
            dtype: model.set_params(solver="landmark", dtype=dtype).fit(X, PARTLY).embedding_.dtype
            for dtype in (None, "float32", "float64")
        }
        assert found == {None: np.float32, "float32": np.float32, "float64": np.float64}


def test_landmarks_are_checked_and_compared_when_they_are_given():
    with pytest.raises(InvalidInputError, match="landmarks must be 'kmeans', 'random' or an array"):
        Landmark(landmarks="foo")
    one, same, other = (Landmark(landmarks=points) for points in (X[:5], X[:5].copy(), X[1:6]))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != Landmark()
    assert Landmark(20) == Landmark(20) != Landmark(21)
    assert len({one, same, other, Landmark()}) == 3


def test_an_array_of_landmarks_needs_no_comparison_with_other_solvers(far_blobs):
    model = WeaveClustering(3, solver=Landmark(landmarks=far_blobs[0][::3]), random_state=0).fit(far_blobs[0])
    assert model.landmarks_.shape == (60, 3)


# every limit of memory gives one label per sample, or a refusal


@pytest.mark.parametrize("memory", [f"{digit}e{power}" for power in range(3, 10) for digit in (1, 3, 8)])
@pytest.mark.parametrize("samples", [TABLES, tuple(TABLES), X], ids=["list", "tuple", "table"])
def test_every_limit_of_memory_gives_one_label_per_sample_or_a_refusal(samples, memory, monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", memory)
    found = attempt(lambda: WeaveClustering(3, random_state=0).fit(samples))
    if isinstance(found, NotEnoughMemoryError):
        assert re.search(r"graph of 150 samples needs about .* of memory, more than the .* available: ", str(found))
        assert float(memory) < 1e6
        return
    assert found.labels_.shape == (150,)
    assert len(set(found.labels_)) == 3
    assert ("more than the" in found.solver_.reason) == (found.solver_.name != "dense")


def test_single_precision_is_advised_only_where_it_takes_less_memory_than_there_is(monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e8")  # which landmarks exceed in either precision
    with pytest.raises(NotEnoughMemoryError, match=r'MiB available: use solver="dense"\.$'):
        WeaveClustering(3, solver="landmark").fit(X)
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e6")
    with pytest.raises(NotEnoughMemoryError, match='use solver="local", or dtype="float32"') as refused:
        WeaveClustering(3, solver="dense").fit(X)
    assert "landmark" not in str(refused.value)
    assert WeaveClustering(3, solver="dense", dtype="float32").fit(X).labels_.shape == (150,)


@pytest.mark.parametrize(
    ("samples", "kernels", "solvers"),
    [
        (X, "released-7", ' with solver="local" or "landmark" for many samples,'),
        (TABLES, "released-7", ' with solver="local" for many samples,'),
        ([X[:, :2], GAPS], "released-7", ""),
        (X @ X.T, "precomputed", ""),
    ],
    ids=["table", "views", "gaps", "precomputed"],
)
def test_a_model_of_the_paper_names_the_solvers_that_take_its_samples(samples, kernels, solvers, monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e3")
    with pytest.raises(
        NotEnoughMemoryError, match=f"use WeaveClustering or WeaveClassifier,{solvers} or fewer samples"
    ):
        SMKLClustering(3, kernels=kernels).fit(samples)
