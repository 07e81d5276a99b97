"""The template of a plugin: every name that it adds is found where names of kernelweave are."""

import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import ClusterMixin

import kernelweave
from kernelweave import WeaveClustering
from kernelweave.cli import main
from kernelweave.datasets import dataset_info, list_datasets, load_dataset
from kernelweave.errors import BadFileError, InvalidInputError
from kernelweave.experiments.methods import build, estimator_class, known_estimators
from kernelweave.kernels import Kernel, recipe
from kernelweave.leaderboard import Protocol, default_entrants, run_benchmark, standings
from kernelweave.metrics import clustering_accuracy
from kernelweave.plugins import load_plugin, plugin_names

PAPER = ["yale", "jaffe", "yeast", "tr11", "tr41", "tr45", "ba", "coil20"]


@pytest.fixture
def triplet(template):
    return load_dataset("triplet")


def test_the_names_are_those_of_its_entry_points(template):
    for group in ("methods", "kernels", "datasets"):
        assert set(template["entry-points"][f"kernelweave.{group}"]) <= set(plugin_names(group))


def test_listing_names_imports_no_plugin(template):
    plugin_names("kernels")
    list_datasets()
    assert "kernelweave_plugin_template" not in sys.modules


def test_the_data_set_is_listed_after_those_of_the_paper_and_loaded_from_the_package(triplet, monkeypatch, tmp_path):
    assert (list_datasets()[:8], list_datasets()[-1]) == (PAPER, "triplet")
    assert dataset_info("TRIPLET").n_classes == 3
    assert triplet.data.shape == (60, 2)
    monkeypatch.setenv("KERNELWEAVE_DATA", str(tmp_path))  # the folder of the paper's files is not asked
    assert_array_equal(load_dataset("triplet").target, triplet.target)


def test_a_damaged_file_of_the_data_set_is_refused(template):
    path = dataset_info("triplet").folder / "triplet.csv"
    path.write_text(path.read_text() + "0,0,1\n")
    with pytest.raises(InvalidInputError, match=r"triplet\.csv"):
        load_dataset("triplet")


def test_a_kernel_and_a_recipe_are_known_by_their_names(triplet):
    model = WeaveClustering(3, kernels=["cauchy", "rbf"], random_state=0).fit(triplet.data)
    assert model.kernel_names_ == ("cauchy(t=0.1)", "rbf")
    assert recipe("cauchy").names == ("cauchy(t=0.1)",)
    assert recipe("cauchy-3").names == ("cauchy(t=0.03)", "cauchy(t=0.1)", "cauchy(t=0.3)")


def test_a_recipe_may_be_given_to_one_view_and_a_kernel_to_all(triplet):
    views = {"a": triplet.data[:, :1], "b": triplet.data[:, 1:]}
    model = WeaveClustering(3, kernels={"a": "cauchy-3", "b": "cauchy"}, random_state=0).fit(views)
    assert model.kernel_views_ == ("a", "a", "a", "b")
    assert WeaveClustering(3, kernels={"x": "cauchy"}, random_state=0).fit(views).kernel_names_ == ("a: x", "b: x")


def test_models_with_the_kernel_are_saved_and_predict_alike(triplet, tmp_path):
    model = WeaveClustering(3, kernels="cauchy-3", random_state=0).fit(triplet.data)
    model.save(tmp_path / "model.kw")
    again = kernelweave.load(tmp_path / "model.kw")
    assert_array_equal(again.predict(triplet.data + 0.1), model.predict(triplet.data + 0.1))


def test_the_method_finds_the_groups_and_is_saved(triplet, tmp_path):
    model = load_plugin("methods", "linkage")(3, kernels="cauchy-3").fit(triplet.data)
    assert clustering_accuracy(triplet.target, model.labels_) == 1
    model.save(tmp_path / "model.kw")
    assert_array_equal(kernelweave.load(tmp_path / "model.kw").labels_, model.labels_)


@pytest.mark.parametrize("what", ["method", "kernel"])
def test_a_file_that_needs_a_plugin_says_so_where_it_is_not_installed(triplet, tmp_path, monkeypatch, what):
    kernels = "released-12" if what == "method" else "cauchy-3"
    cls = load_plugin("methods", "linkage") if what == "method" else WeaveClustering
    cls(3, kernels=kernels, random_state=0).fit(triplet.data).save(tmp_path / "model.kw")
    monkeypatch.setattr(sys, "path", [p for p in sys.path if "kernelweave-plugin-template" not in p])
    with pytest.raises(BadFileError, match=f"of the group kernelweave.{what}s, which no installed package adds"):
        kernelweave.load(tmp_path / "model.kw")


def test_an_experiment_may_name_the_method(template):
    assert "linkage" in known_estimators("clustering")
    assert issubclass(estimator_class("linkage", "clustering"), ClusterMixin)
    model = build("linkage", "clustering", "kernels", {}, n_classes=3, seed=0)
    assert (model.n_clusters, model.kernels, model.random_state) == (3, "precomputed", 0)


def test_the_command_line_knows_the_method_and_the_recipe(triplet, tmp_path, monkeypatch, capsys):
    np.savetxt(tmp_path / "points.csv", triplet.data, delimiter=",", header="x,y", comments="")
    monkeypatch.chdir(tmp_path)
    command = "kernelweave cluster points.csv -k 3 --method linkage --kernels cauchy-3 --json"
    monkeypatch.setattr(sys, "argv", command.split())
    with pytest.raises(SystemExit, match=r"^0$"):
        main()
    found = json.loads(capsys.readouterr().out)
    assert found["model"] == "KernelLinkage"
    assert set(found["clusters"].values()) == {20}
    assert (tmp_path / "points-clusters" / "labels.csv").read_text().splitlines()[1].endswith(",")  # no confidence
    assert set(found["weights"]) == set(recipe("cauchy-3").names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--solver local", "linkage has no solvers"),
        ("--scale zscore", "--scale zscore: the method linkage has no parameter scale. Leave --scale out."),
        ("", "ClassifierMixin"),
    ],
)
def test_the_command_line_refuses_what_the_method_cannot_do(template, tmp_path, monkeypatch, capsys, options, message):
    task = "cluster" if options else "classify --labels kind"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", f"kernelweave {task} points.csv --method linkage {options}".split())
    with pytest.raises(SystemExit, match=r"^2$"):
        main()
    assert message in capsys.readouterr().err


def test_the_kernel_is_symmetric_and_has_ones_on_its_diagonal(triplet):
    kernel = load_plugin("kernels", "cauchy")().fit(triplet.data)
    assert isinstance(kernel, Kernel)
    K = kernel.gram(triplet.data)
    assert_array_equal(K, K.T)
    assert_array_equal(K.diagonal(), kernel.diag(triplet.data))


SCRATCH = """
import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin


class NearestCentre(ClusterMixin, BaseEstimator):
    '''Clusters around centres that are far from each other.'''

    takes_views = True

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def fit(self, X, y=None):
        table = np.hstack(X.tables) if hasattr(X, "tables") else X
        chosen = [0]
        for _ in range(self.n_clusters - 1):
            distances = ((table[:, None] - table[chosen]) ** 2).sum(axis=2)
            chosen.append(int(distances.min(axis=1).argmax()))
        self.labels_ = ((table[:, None] - table[chosen]) ** 2).sum(axis=2).argmin(axis=1)
        return self
"""


def test_a_scratch_package_of_less_than_60_lines_joins_the_leaderboard(install, tmp_path):
    folder = install("scratch-method", {"kernelweave.methods": {"nearest-centre": "scratch_method:NearestCentre"}})
    (folder / "scratch_method.py").write_text(SCRATCH)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert sum(len(path.read_text().splitlines()) for path in files) < 60
    rows = run_benchmark(tmp_path / "out", ["iris"], ["KMeans", "nearest-centre"], protocol=Protocol(seeds=1))
    assert set(rows["method"]) == {"KMeans", "nearest-centre"}
    assert "nearest-centre" in [entrant.name for entrant in default_entrants()]
    assert {row.method for row in standings(rows).rows} == {"KMeans", "nearest-centre"}


def test_a_kernel_of_counts_known_by_its_name_meets_no_negative_values(install):
    code = """
from dataclasses import dataclass
import numpy as np
from kernelweave.kernels import Kernel

@dataclass(frozen=True)
class Common(Kernel):
    def evaluate(self, pair):
        assert min(pair.X.min(), pair.Y.min()) >= 0
        return np.minimum(pair.X[:, None], pair.Y).sum(axis=2)

    def diag(self, X):
        return X.sum(axis=1)
"""
    (install("counts", {"kernelweave.kernels": {"common": "counts:Common"}}) / "counts.py").write_text(code)
    rng = np.random.default_rng(0)
    X = np.vstack([rng.multinomial(80, mean, size=40) for mean in rng.dirichlet(np.ones(12), 3)]).astype(float)
    assert WeaveClustering(3, kernels="common", scale="none", random_state=0).fit(X).clarity_ > 0.5
