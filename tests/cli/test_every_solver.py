"""Every command works for every estimator with every solver."""

from typing import get_args

import numpy as np
import pandas as pd
import pytest
from sklearn.base import ClassifierMixin

import kernelweave
from kernelweave.cli import _arguments
from kernelweave.weave.choice import SOLVERS

ESTIMATORS = tuple(
    name
    for name in kernelweave.__all__
    if isinstance(getattr(kernelweave, name), type) and hasattr(getattr(kernelweave, name), "fit")
)


def test_the_option_takes_every_solver():
    assert ("auto", *SOLVERS) == _arguments.SOLVERS
    assert get_args(_arguments.SolverName) == _arguments.SOLVERS


def read(path):
    return pd.read_csv(path, dtype={"id": str})


def check_predict_and_report(run, tmp_path, result, new):
    """Run the two commands on a result; both must succeed, and the labels must be those that were fitted."""
    fitted = read(tmp_path / result / "labels.csv")
    code, _, err = run("predict", result, new, "--id", "name", "--drop", "kind", "--out", "again.csv")
    assert code == 0, err
    again = read(tmp_path / "again.csv")
    assert again["label"].tolist() == fitted["label"].tolist()
    assert again["confidence"].between(0, 1).all()
    code, _, err = run("report", result, "--out", "page.html")
    assert code == 0, err
    assert '"ids":["000","001"' in (tmp_path / "page.html").read_text()


@pytest.fixture
def few(table, tmp_path):
    """A table in which every sixth sample has a class."""
    path = tmp_path / "few.csv"
    table.assign(kind=table["kind"].where(np.arange(60) % 6 == 0)).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("solver", SOLVERS)
def test_cluster_predict_and_report_with_every_solver(run, few, solver, tmp_path):
    given = ["--id", "name", "--drop", "kind", "-k", 3]
    code, out, err = run("cluster", few, *given, "--solver", solver, "--out", "found")
    assert code == 0, err
    assert out.startswith("60 samples in 3 clusters:\n")
    assert kernelweave.load(tmp_path / "found" / "model.kw").solver_.name == solver
    assert read(tmp_path / "found" / "labels.csv")["confidence"].between(0, 1).all()
    assert pd.read_csv(tmp_path / "found" / "weights.csv")["share"].sum() == pytest.approx(1, abs=1e-4)
    check_predict_and_report(run, tmp_path, "found", few)


@pytest.mark.parametrize("solver", SOLVERS)
def test_classify_predict_and_report_with_every_solver(run, few, solver, table, tmp_path):
    given = ["--id", "name", "--labels", "kind", "--scale", "none"]
    code, out, err = run("classify", few, *given, "--solver", solver, "--out", "found")
    assert code == 0, err
    assert out.startswith("60 samples in 3 classes:\n")
    assert kernelweave.load(tmp_path / "found" / "model.kw").solver_.name == solver
    assert read(tmp_path / "found" / "labels.csv")["label"].tolist() == table["kind"].tolist()
    check_predict_and_report(run, tmp_path, "found", few)


@pytest.fixture
def views(run, table):
    """The arguments that name two views of the table."""
    table[["name", "a", "b"]].to_csv("one.csv", index=False)
    table[["name", "c", "d"]].to_csv("two.csv", index=False)
    return ["one.csv", "two.csv", "--id", "name"]


@pytest.mark.parametrize("solver", ["dense", "local"])
def test_views_with_the_solvers_that_take_them(run, views, solver, tmp_path):
    code, _, err = run("cluster", *views, "-k", 3, "--solver", solver, "--out", "found")
    assert code == 0, err
    fitted = read(tmp_path / "found" / "labels.csv")
    assert len(fitted) == 60
    code, _, err = run("predict", "found", *views, "--out", "again.csv")
    assert code == 0, err
    assert read(tmp_path / "again.csv")["label"].tolist() == fitted["label"].tolist()


def test_views_with_landmarks_are_refused_with_the_solver_that_takes_them(refused, views):
    said = refused("cluster", *views, "-k", 3, "--solver", "landmark")
    able = " or ".join(f'"{name}"' for name, solver in SOLVERS.items() if "views" in solver.supports)
    assert f'solver="landmark" does not take several views: use solver={able}.' in said


@pytest.mark.parametrize("name", ESTIMATORS)
def test_predict_and_report_with_every_estimator(run, few, table, name, tmp_path):
    kind = getattr(kernelweave, name)
    X = table[list("abcd")]
    if issubclass(kind, ClassifierMixin):
        model = kind().fit(X, table["kind"].where(np.arange(60) % 6 == 0, "-1"))
    else:
        model = kind(3, random_state=0).fit(X)
    folder = tmp_path / "found"
    folder.mkdir()
    model.save(folder / "model.kw")
    labels = model.labels_ if hasattr(model, "labels_") else model.transduction_
    pd.DataFrame({"id": table["name"], "label": labels}).to_csv(folder / "labels.csv", index=False)
    check_predict_and_report(run, tmp_path, "found", few)
