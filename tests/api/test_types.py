"""What an editor sees: a user's script passes the type checkers, and a wrong word does not."""

import re
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier

import kernelweave
from kernelweave import WeaveClassifier, WeaveClustering, baselines

RIGHT = """
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_iris

import kernelweave
from kernelweave import (
    Chunks,
    Dense,
    Landmark,
    Local,
    SMKLClassifier,
    SMKLClustering,
    Views,
    WeaveClassifier,
    WeaveClustering,
    load,
    smkl_path,
    view_importance,
)
from kernelweave.baselines import AASC, GFHF, SSR, KernelSpectralClustering
from kernelweave.datasets import label_split, list_datasets, mask_labels
from kernelweave.errors import KernelweaveError
from kernelweave.explain import associate, check_labels, compare_clusterings, explain_clusters, explain_sample
from kernelweave.experiments import load_spec, run_experiment
from kernelweave.kernels import Cosine, Gaussian, Kernel, KernelBank, Linear, Mixed, Overlap, RareOverlap
from kernelweave.leaderboard import Protocol, run_benchmark, standings
from kernelweave.metrics import clustering_accuracy
from kernelweave.plots import plot_contingency, plot_embedding, plot_feature, plot_graph, plot_weights
from kernelweave.report import model_report, write_report
from kernelweave.samples import Distances, Graph
from kernelweave.tabular import TableError, read_table

X: npt.NDArray[np.float64] = np.random.default_rng(0).normal(size=(30, 4))
y: npt.NDArray[np.int64] = np.arange(30) % 3


def mine(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    return float(a @ b)


def chunks() -> Iterator[npt.NDArray[np.float64]]:
    yield X[:20]
    yield X[20:]


# clusters
model = WeaveClustering(n_clusters=3, random_state=0).fit(X)
labels: npt.NDArray[np.int32] = WeaveClustering(3).fit(X).labels_
shares: dict[str, float] = dict(zip(model.kernel_names_, model.kernel_shares_.tolist()))
confident: npt.NDArray[np.floating[Any]] = model.confidence_[model.margin_ > 0.5]
why: str = f"{model.solver_.name}, since {model.solver_.reason}"
c: int = WeaveClustering("auto").fit(X).n_clusters_ + model.n_features_in_
rows, columns = model.membership_.shape
model.cluster_evidence_, model.eigenvalues_, model.embedding_, model.graph_, model.consensus_kernel_
model.kernel_weights_, model.kernel_views_, model.scaling_
versions: dict[str, float] = {version.name: version.share for version in model.scaling_}
sure: str = model.cluster_evidence_.words
new: npt.NDArray[np.int32] = model.predict(X + 0.1)
proba: npt.NDArray[np.floating[Any]] = model.predict_proba(X)
lost: npt.NDArray[np.bool_] = model.undecided(X)
where: npt.NDArray[np.floating[Any]] = model.transform([[0.0, 1.0, 2.0, 3.0]])

# tables of all kinds
flowers, species = load_iris(return_X_y=True)
species[10:40] = -1
WeaveClustering(3, random_state=0).fit(flowers)
WeaveClassifier().fit(flowers, species)
frame = pd.DataFrame(X, columns=pd.Index(["a", "b", "c", "d"]))
WeaveClustering(3, views={"first": ["a", "b"], "last": ["c", "d"]}).fit(frame).predict(frame)
WeaveClassifier().fit(frame, frame["a"] > 0)
WeaveClassifier().fit(sparse.csr_array(X), ["cat", "dog", -1] * 10)
WeaveClassifier().fit(sparse.csr_matrix(X), y)
Views({"words": sparse.csr_matrix(X), "links": sparse.csc_matrix(X)})

# kernels
kernels: list[Kernel] = [Gaussian(t=0.1), Linear()]
WeaveClustering(3, kernels=kernels).fit(X)
WeaveClustering(3, kernels=[Gaussian(t=0.1), 2 * Linear() + Cosine(), "rbf", mine]).fit(X)
WeaveClustering(3, kernels=KernelBank({"near": Gaussian(t=0.1), "far": Gaussian(t=1)}).fit(X)).fit(X)
WeaveClustering(3, kernels="precomputed").fit([X @ X.T, (1 + X @ X.T) ** 2])
WeaveClustering(3, kernels={"sepal": ["rbf"], "petal": "released-7"}, views={"sepal": [0, 1], "petal": slice(2, 4)})

# views, and a part of their samples
views = Views({"sepal": X[:, :2], "petal": X[:, 2:]}, missing={"petal": [3, 17]})
several = WeaveClustering(3, scale={"sepal": "unit", "petal": "none"}).fit(views)
tables: dict[str, float] = dict(zip(several.view_names_, several.view_shares_.tolist()))
several.predict({"sepal": X[:5, :2] + 0.1, "petal": X[:5, 2:]})
WeaveClustering(3).fit([X[:, :2], X[:, 2:]]).predict(views.select([0, 1]))
print(view_importance(several, views, n_resamples=2).shares)
WeaveClustering(3).fit({"measured": Distances(X @ X.T), "joined": Graph(sparse.eye_array(30)), "table": frame})
list_datasets(domain="images")

# solvers and chunks
WeaveClustering(3, solver=Local(n_candidates=20), graph="knn", gamma="auto", embedding="unit").fit(X)
WeaveClustering(3, solver="dense", weights="uniform", dtype="float32").fit(X)
WeaveClustering(3, solver=Dense(), weights=[1.0] * 12, dtype=np.float32).fit(X)
WeaveClustering(3, solver=Landmark(n_landmarks=10, landmarks="random")).fit(Chunks([X[:20], X[20:]]))
WeaveClustering(3, solver=Landmark(landmarks=X[:10])).fit("samples.parquet")
WeaveClustering(3).fit(chunks())
WeaveClustering(3).fit(chunks).predict(Path("samples.parquet"))

# classes
classifier = WeaveClassifier(graph="both", propagation="lgc").fit(X, y)
classes: npt.NDArray[np.int64] = classifier.classes_[classifier.label_distributions_.argmax(axis=1)]
classifier.transduction_, classifier.undecided_, classifier.embedding_
agreement: float = clustering_accuracy(y, WeaveClassifier().fit(X, y.tolist()).predict(X))

# the paper's models
paper = SMKLClustering(3, scheme="exact", alpha=1e-4, relative_beta=10).fit(X)
summary: str = f"{paper.outcome_.value} {paper.n_iter_} {paper.history_[-1].objective}"
SMKLClassifier(scheme="released").fit(X, y).history_
for fitted in smkl_path(SMKLClustering(3), X, {"alpha": [1e-5, 1e-3]}):
    print(fitted.alpha, fitted.labels_)

# baselines
AASC(3, scheme="released", init="released").fit(X).kernel_weights_.sum()
KernelSpectralClustering(3, kernel=Gaussian(t=0.1), laplacian="njw").fit(X).graph_.sum()
gap: float = SSR(3).fit(X).certificate_
GFHF("rbf").fit(X, y).predict_proba(X)

# explanations
found = explain_clusters(model, frame, units={"a": "kg"})
first: str = str(found.of("0")[0]["feature"])
nearest = explain_sample(model, frame, model.confidence_.argmin()).neighbors
related = associate(model, frame[["a"]], n_permutations=99)
compared = compare_clusterings(model, ["x", "y", "z"] * 10, names=("ours", "theirs"))
given = mask_labels(y, label_split(y, 0.2, random_state=0))
check = check_labels(WeaveClassifier(), frame, given, n_splits=3)
low, high = check.interval
page: str = model_report(model, features=found, metadata=related, check=check, comparison=compared, names={"0": "big"})
plot_feature(found, "a")
plot_contingency(compared)

# tables
Mixed(numbers="released-7", categories=[Overlap(), RareOverlap()], kinds={"tag": "left out", "sex": ["f", "m"]})
try:
    notes: tuple[str, ...] = read_table("people.csv", id="name", drop=["x"], missing=["999"], limits="half").notes
except TableError as error:
    print([way.meaning for problem in error.problems for way in problem.ways])
except KernelweaveError as refused:
    print(refused)

# experiments
trials = run_benchmark("out", ["iris"], ["KMeans"], conditions=("plain", "unknown"), protocol=Protocol(seeds=2))
place: int = standings(trials, "plain", "nmi").place
run_experiment(load_spec("table2", preset="quick"), "out", datasets=["yale"])

# files, pictures and the report
model.save(Path("model.kw"))
load("model.kw").predict(X)
kernelweave.load("model.kw").predict(X)
plot_weights(model).set_title("weights")
plot_embedding(model, labels=y).set_axis_off()
plot_graph(classifier)
write_report(model, "report.html", X=X, y=y)
"""

CELLS = """
import anndata

cells = anndata.AnnData(X)
kernelweave.sc.weave(cells, 3, use_rep="X_pca", solver="local")
kernelweave.sc.classify(cells, "type", layer="counts", copy=True)
WeaveClustering(3).fit(cells)
"""

WRONG = """
from typing import Any

import kernelweave
from kernelweave import Landmark, SMKLClassifier, SMKLClustering, WeaveClassifier, WeaveClustering
from kernelweave.baselines import AASC, KernelSpectralClustering

cells: Any = None
kernelweave.WeaveCluster(3)
kernelweave.sc.weave(cells, graph="kn")
kernelweave.sc.weave(cells, propagation="lgc")
kernelweave.sc.classify(cells, "type", propagation="x")
kernelweave.datasets.list_datasets(domain="image")
WeaveClustering(graph="kn")
WeaveClustering(solver="dens")
WeaveClustering(embedding="raww")
WeaveClustering(scale="units")
WeaveClustering(weights="selff")
WeaveClustering(gamma="aut")
WeaveClustering(n_clusters="three")
WeaveClustering(dtype="float16")
WeaveClustering(neighbors=3)
WeaveClassifier(propagation="x")
SMKLClustering(scheme="exct")
SMKLClassifier(scheme="exct")
Landmark(landmarks="kmean")
AASC(scheme="x")
KernelSpectralClustering(laplacian="x")
KernelSpectralClustering(init="x")
WeaveClustering().fit([[0.0, 1.0]]).label_  # mypy takes attributes of a class of scikit-learn's for Any
WeaveClustering().fit(None)
WeaveClassifier().fit([[0.0, 1.0]])
kernelweave.tabular.read_table("people.csv", limits="third")
kernelweave.tabular.read_table("people.csv", drop="age")
kernelweave.explain.explain_sample(cells, [[0.0, 1.0]], 1.5)
"""

COMMANDS = {
    "mypy": ["--strict", "--disable-error-code=import-untyped", "--config-file=", "--cache-dir=cache"],
    "pyright": ["--pythonpath", sys.executable],
}


@pytest.mark.parametrize("checker", COMMANDS)
def test_a_users_script_passes_the_type_checkers_and_every_wrong_word_is_an_error(checker, tmp_path):
    if find_spec(checker) is None:
        pytest.skip(f'{checker} is not installed: pip install "kernelweave[types]"')
    (tmp_path / "right.py").write_text(RIGHT + (CELLS if find_spec("anndata") else ""))
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [sys.executable, "-m", checker, *COMMANDS[checker], "right.py", "wrong.py"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    errors = re.findall(r"(right|wrong)\.py:(\d+).*error", found.stdout)
    assert not [line for file, line in errors if file == "right"], found.stdout + found.stderr
    assert {int(line) for _, line in errors} == _wrong_lines(checker), found.stdout + found.stderr


def _wrong_lines(checker):
    calls = [(i, line) for i, line in enumerate(WRONG.splitlines(), start=1) if re.match(r"[A-Z]|kernelweave\.", line)]
    return {i for i, line in calls if checker == "pyright" or "mypy" not in line}


def _estimators():
    for package in (kernelweave, baselines):
        classes = [getattr(package, name) for name in package.__all__]
        for cls in classes:
            if isinstance(cls, type) and issubclass(cls, BaseEstimator):
                yield cls()
    for solver in ("local", "landmark"):
        yield WeaveClustering(solver=solver)
        yield WeaveClassifier(solver=solver)
    yield WeaveClustering(n_clusters="auto")
    yield WeaveClustering(n_neighbors=10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", list(_estimators()), ids=repr)
def test_an_editor_knows_every_fitted_attribute(model):
    y = np.arange(60) % 2
    X = np.random.default_rng(0).normal(size=(60, 3)) + 5 * y[:, None]
    model.fit(X, np.where(np.arange(60) < 20, y, -1)) if is_classifier(model) else model.fit(X)
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    declared = {name for cls in type(model).__mro__ for name in getattr(cls, "__annotations__", ())}
    assert fitted
    assert fitted <= declared
