"""Rows of one task with estimators that are made up: what is fitted, on what, how it is scored, and what fails."""

import json
import re
import warnings

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from kernelweave.core.partitions.agreement import modularity
from kernelweave.datasets import label_split
from kernelweave.errors import ResultsError
from kernelweave.experiments import execute, methods
from kernelweave.experiments.data import Identity, LabelledSamples, identify, load_samples
from kernelweave.experiments.execute import run_task
from kernelweave.experiments.methods import accepted_parameters, build, known_estimators
from kernelweave.experiments.rows import COLUMNS
from kernelweave.experiments.spec import Method
from kernelweave.experiments.store import SharedData, open_kernels, open_samples
from kernelweave.experiments.tasks import Point, Task
from kernelweave.kernels import recipe
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information, purity

Y = np.repeat([0, 1, 2], 8)
X = np.random.default_rng(0).normal(size=(24, 3)) + 4 * np.eye(3)[Y]
H = recipe("released-7").fit_grams(X)


class Clusterer(BaseEstimator):
    """Groups the first samples of each class wrongly: as many as the seed, fewer with more iterations."""

    fitted: list = []  # noqa: RUF012  kept for all
    breaks = stops = ()

    def __init__(self, alpha=1.0, max_iter=10, seed=0):
        self.alpha, self.max_iter, self.seed = alpha, max_iter, seed

    def labels_for(self, seed):
        wrong = np.arange(24) < max(0, seed - self.max_iter // 20)
        return np.where(wrong, (Y + 1) % 3, Y)

    def fit(self, X, y=None):
        self.fitted.append((self.alpha, self.seed, self.max_iter, np.shape(X), None if y is None else np.asarray(y)))
        if (self.alpha, self.seed) in self.breaks:
            msg = "no answer"
            raise ArithmeticError(msg)
        if self.alpha in self.stops:
            warnings.warn("short", ConvergenceWarning, stacklevel=2)
        self.given = X
        self.labels_ = self.transduction_ = self.labels_for(self.seed)
        self.n_iter_ = 7
        return self


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a task of made-up fits; return its rows and what was fitted."""
    shared = SharedData(tmp_path)
    joblib.dump(LabelledSamples(X, Y), shared.samples("tiny"))
    np.save(shared.kernels("tiny", "released-7"), H)

    def call(points, cls=Clusterer, path=False, method=None, **more):
        Clusterer.fitted.clear()
        models = []

        def made(name, kind, given, parameters, *, n_classes, seed):
            models.append(cls(**parameters, seed=seed))
            return models[-1]

        monkeypatch.setattr(execute, "build", made)
        monkeypatch.setattr(execute, "estimator_class", lambda name, kind: cls)
        given = {"name": "M", "estimator": "E", "selection": "oracle", "input": "features", "kernels": "released-7"}
        given |= {"parameters": {}, "grids": (), "repeats": 1, "batch": 1} | (method or {})
        data = Identity("tiny", "abc", 24, 3, 3)
        task = Task("exp", "quick", "clustering", data, Method(**given), tuple(points), path=path, **more)
        return run_task(task, shared), list(Clusterer.fitted), models

    yield call
    Clusterer.breaks = Clusterer.stops = ()


def test_a_row_has_the_scores_of_the_labels_and_what_it_was_computed_from(run):
    (row,), _, _ = run([Point({"alpha": 0.5}, "", 2)], method={"parameters": {"max_iter": 5}})
    labels = Clusterer().labels_for(2)
    assert row["acc"] == clustering_accuracy(Y, labels) < 1
    assert row["nmi"] == normalized_mutual_information(Y, labels)
    assert row["purity"] == purity(Y, labels)
    assert (row["evidence"], row["undecided"], row["moved"], row["error"]) == (None, None, None, "")
    assert (row["outcome"], row["n_iter"], row["seed"], row["split"], row["fraction"]) == ("CONVERGED", 7, 2, "", None)
    assert json.loads(row["parameters"]) == {"alpha": 0.5, "max_iter": 5}
    assert (row["n_samples"], row["n_features"], row["n_classes"], row["data_sha256"]) == (24, 3, 3, "abc")
    assert (row["method"], row["estimator"], row["selection"], row["experiment"]) == ("M", "E", "oracle", "exp")
    assert list(COLUMNS) == [column for column in COLUMNS if column in row]
    assert row["seconds"] > 0


def test_repeats_of_one_setting_share_a_fit_and_are_scored_by_their_own_seed(run):
    points = [Point({"alpha": a}, "", seed) for a in (1.0, 2.0) for seed in (0, 1, 2)]
    rows, fitted, _ = run(points)
    assert [(alpha, seed) for alpha, seed, *_ in fitted] == [(1.0, 0), (2.0, 0)]
    expected = [clustering_accuracy(Y, Clusterer().labels_for(seed)) for seed in (0, 1, 2)] * 2
    assert [row["acc"] for row in rows] == expected
    assert [row["seed"] for row in rows] == [0, 1, 2] * 2
    _, own, _ = run([Point({"scheme": "printed"}, "", seed) for seed in (0, 1)], cls=Printed)
    assert len(own) == 2


class Printed(Clusterer):
    def __init__(self, alpha=1.0, max_iter=10, seed=0, scheme=""):
        super().__init__(alpha, max_iter, seed)
        self.scheme = scheme


def test_after_a_failure_the_next_repeat_is_fitted_again(run):
    Clusterer.breaks = {(1.0, 0)}
    rows, fitted, _ = run([Point({"alpha": 1.0}, "", seed) for seed in (0, 1, 2)])
    assert [row["outcome"] for row in rows] == ["FAILED", "CONVERGED", "CONVERGED"]
    assert [row["error"] for row in rows] == ["ArithmeticError: no answer", "", ""]
    assert [row["acc"] is None for row in rows] == [True, False, False]
    assert [seed for _, seed, *_ in fitted] == [0, 1]


def test_a_warning_that_a_fit_did_not_converge_counts_for_all_repeats_that_share_it(run):
    Clusterer.stops = {2.0}
    rows, _, _ = run([Point({"alpha": a}, "", seed) for a in (1.0, 2.0) for seed in (0, 1)])
    assert [row["outcome"] for row in rows] == ["CONVERGED"] * 2 + ["MAX_ITER"] * 2


def test_a_run_that_stopped_is_confirmed_with_twice_the_iterations(run):
    Clusterer.stops = {1.0}
    rows, fitted, _ = run([Point({"alpha": 1.0}, "", seed) for seed in (0, 4)], method={"confirm": True})
    assert [row["moved"] for row in rows] == pytest.approx([0, 1 / 24])
    assert [max_iter for *_, max_iter, _, _ in fitted] == [10, 20, 20]
    Clusterer.stops = ()
    calm, fitted, _ = run([Point({"alpha": 1.0}, "", 0)], method={"confirm": True})
    assert calm[0]["moved"] is None
    assert len(fitted) == 1


@pytest.mark.parametrize("undecided", [None, 3])
def test_classes_are_scored_on_samples_without_labels(run, undecided):
    class Classifier(Clusterer):
        def fit(self, X, y=None):
            super().fit(X, y)
            if undecided is not None:
                self.undecided_ = np.arange(24) < undecided
            return self

    labels = {"protocol": "per-class", "fraction": 0.25}
    rows, fitted, _ = run([Point({}, "", seed) for seed in (4, 5)], cls=Classifier, **labels)
    assert len(fitted) == 2  # every draw has its own labels
    for row, (*_, y), seed in zip(rows, fitted, (4, 5), strict=True):
        mask = label_split(Y, 0.25, "per-class", seed)
        assert np.array_equal(y, np.where(mask, Y, -1))
        right = Clusterer().labels_for(seed) == Y
        assert row["acc"] == right[~mask].mean() < 1
        assert (row["nmi"], row["undecided"]) == (None, undecided)
        assert (row["split"], row["fraction"]) == ("per-class", 0.25)


def test_a_confirmed_class_counts_the_unlabelled_samples_that_move(run):
    Clusterer.stops = {1.0}
    labels = {"protocol": "per-class", "fraction": 0.25}
    (row,), _, _ = run([Point({"alpha": 1.0}, "", 6)], method={"confirm": True}, **labels)
    mask = label_split(Y, 0.25, "per-class", 6)
    moved = Clusterer(max_iter=10).labels_for(6) != Clusterer(max_iter=20).labels_for(6)
    assert row["moved"] == moved[~mask].mean()


@pytest.mark.parametrize(
    ("given", "kernel", "expected"),
    [
        ("features", "", X), ("kernels", "released-7", H), ("mean-kernel", "mean of released-7", H.mean(axis=0)),
        ("each-kernel", recipe("released-7").names[2], H[2]),
        ("each-kernel", f"{recipe('released-7').names[5]} of released-7", H[5]),
    ],
)  # fmt: skip
def test_a_method_gets_the_input_that_it_names(run, given, kernel, expected):
    _, _, (model,) = run([Point({}, kernel, 0)], method={"input": given})
    np.testing.assert_allclose(model.given, expected)


def test_the_evidence_is_the_modularity_of_the_clusters_on_the_graph(run):
    graph = sparse.csr_array((H[0] > np.median(H[0])).astype(float))

    class Learner(Clusterer):
        graph_ = graph.toarray()

    (row,), _, _ = run([Point({}, "", 3)], cls=Learner)
    assert row["evidence"] == pytest.approx(modularity(graph, Clusterer().labels_for(3)))


def test_a_path_is_one_chain_of_fits_that_starts_again_after_a_failure(run, monkeypatch):
    chains = []

    def path(model, X, grid, y=None):
        chains.append(list(grid["alpha"]))
        for alpha in chains[-1]:
            yield Clusterer(alpha, seed=model.seed).fit(X, y)

    monkeypatch.setattr(execute, "smkl_path", path)
    Clusterer.breaks, Clusterer.stops = {(2.0, 0)}, {3.0}
    points = [Point({"alpha": a}, "", seed) for a in (1.0, 2.0, 3.0) for seed in (0, 1)]
    rows, fitted, _ = run(points, path=True)
    assert chains == [[1.0, 2.0, 3.0], [3.0]]
    assert [row["outcome"] for row in rows] == ["CONVERGED"] * 2 + ["FAILED"] * 2 + ["MAX_ITER"] * 2
    accs = [clustering_accuracy(Y, Clusterer().labels_for(seed)) for seed in (0, 1)]
    assert [row["acc"] for row in rows] == [*accs, None, None, *accs]
    assert len(fitted) == 3
    assert [json.loads(row["parameters"])["alpha"] for row in rows] == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]


def test_a_task_without_a_method_measures_the_samples(tmp_path):
    shared = SharedData(tmp_path)
    joblib.dump(LabelledSamples(X, Y), shared.samples("tiny"))
    task = Task("exp", "quick", "data", Identity("tiny", "abc", 1, 1, 1), None, (Point({}, "", 0),))
    (row,) = run_task(task, shared)
    assert (row["n_samples"], row["n_features"], row["n_classes"]) == (24, 3, 3)
    assert (row["method"], row["estimator"], row["selection"], row["outcome"]) == ("data", "", "", "CONVERGED")
    assert (row["seconds"], row["acc"], row["parameters"]) == (0.0, None, "{}")


# estimators and data


def test_an_estimator_is_built_for_its_input_classes_and_seed():
    model = build("KernelSpectralClustering", "clustering", "each-kernel", {"n_init": 3}, n_classes=4, seed=5)
    assert (model.kernel, model.n_clusters, model.random_state, model.n_init) == ("precomputed", 4, 5, 3)
    several = build("MKKM", "clustering", "kernels", {}, n_classes=4, seed=5)
    assert (several.kernels, several.n_clusters) == ("precomputed", 4)
    plain = build("WeaveClassifier", "classification", "features", {}, n_classes=4, seed=5)
    assert plain.kernels != "precomputed"
    assert plain.random_state == 5
    leak = build("MisalignedSMKL", "leak", "kernels", {"alpha": 2.0}, n_classes=4, seed=5)
    assert (leak.alpha, leak.random_state, leak.order, leak.max_iter, leak.tol) == (2.0, 5, "file", 30, 1e-5)


def test_estimators_are_those_of_the_kind_and_the_runner_sets_what_it_knows():
    assert "WeaveClustering" in known_estimators("clustering")
    assert "WeaveClassifier" not in known_estimators("clustering")
    assert "WeaveClassifier" in known_estimators("classification")
    assert "MKKM" in known_estimators("surface")
    assert set(known_estimators("leak")[:2]) == {"SMKLClassifier", "MisalignedSMKL"}
    accepted = accepted_parameters("WeaveClustering", "clustering")
    assert {"n_clusters", "random_state", "n_jobs", "verbose"}.isdisjoint(accepted)
    assert {"kernels", "n_neighbors", "solver"} <= set(accepted)


def test_estimators_of_plugins_follow_those_of_the_package(monkeypatch):
    own = known_estimators("clustering")
    monkeypatch.setattr(methods, "plugin_names", lambda group: ("MKKM", "Extra"))
    assert known_estimators("clustering") == (*own, "Extra")


def test_data_that_comes_with_scikit_learn_is_identified_by_its_content():
    iris = identify("iris")
    assert (iris.n_samples, iris.n_features, iris.n_classes) == (150, 4, 3)
    assert len(iris.sha256) == 64
    samples = load_samples("iris")
    assert (samples.X.dtype, samples.y.dtype) == (np.float64, np.int64)
    assert identify("yale").n_samples == 165


def test_a_disk_that_is_full_is_named_and_nothing_stays(tmp_path, monkeypatch):
    def full(path, kernels):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    spec = {"name": "M", "estimator": "E", "selection": "oracle", "input": "kernels", "kernels": "released-7"}
    method = Method(**spec, parameters={}, grids=(), repeats=1, batch=1)
    task = Task("exp", "quick", "clustering", identify("iris"), method, (Point({}, "", 0),))
    message = f"The kernels cannot be written to {tmp_path}: No space left on device. Give another folder with --out."
    with pytest.raises(ResultsError, match=f"^{re.escape(message)}$"):
        SharedData.build(tmp_path, [task], None)
    assert list(tmp_path.iterdir()) == []


def test_samples_and_kernels_are_stored_for_every_preprocessing_and_recipe(tmp_path):
    def task(given, kernels, preprocessing="none"):
        spec = {"name": "M", "estimator": "E", "selection": "oracle", "input": given, "kernels": kernels}
        method = Method(**spec, parameters={}, grids=(), repeats=1, batch=1)
        points = (Point({}, "", 0),)
        return Task("exp", "quick", "clustering", identify("iris"), method, points, preprocessing=preprocessing)

    tasks = [task("features", "released-12"), task("kernels", "released-7"), task("features", "printed-7", "unit")]
    shared = SharedData.build(tmp_path, tasks, None)
    assert sorted(path.name for path in shared.folder.iterdir()) == [
        "iris-none-released-7.npy", "iris-none.joblib", "iris-unit.joblib",
    ]  # fmt: skip
    iris = load_samples("iris")
    unit = open_samples(shared.samples("iris", "unit"))
    np.testing.assert_allclose(np.linalg.norm(unit.X, axis=1), 1)
    np.testing.assert_array_equal(unit.y, iris.y)
    kernels = open_kernels(shared.kernels("iris", "released-7"))
    np.testing.assert_allclose(kernels, recipe("released-7").fit_grams(iris.X))
    shared.remove()
    assert list(tmp_path.iterdir()) == []
