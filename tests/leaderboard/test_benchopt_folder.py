"""The folder for benchopt, with stand-ins for its base classes: data, method and scores fit together."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from kernelweave.leaderboard import default_entrants

FOLDER = Path(__file__).parents[2] / "benchmarks" / "benchopt"


class Base:
    """What benchopt does for a class: its parameters become attributes."""

    def __init__(self, **parameters):
        vars(self).update(parameters)


@pytest.fixture
def load(monkeypatch):
    benchopt = ModuleType("benchopt")
    benchopt.BaseObjective = benchopt.BaseDataset = benchopt.BaseSolver = Base
    monkeypatch.setitem(sys.modules, "benchopt", benchopt)

    def read(path):
        spec = importlib.util.spec_from_file_location(f"benchopt_folder_{Path(path).stem}", FOLDER / path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return read


@pytest.mark.parametrize("method", ["WeaveClustering", "KMeans", "HDBSCAN"])
def test_a_method_is_scored_on_a_data_set(load, method):
    data = load("datasets/registry.py").Dataset(dataset="iris", max_samples=60).get_data()
    objective = load("objective.py").Objective()
    objective.set_data(**data)
    solver = load("solvers/entrants.py").Solver(method=method, seed=0)
    solver.set_objective(**objective.get_objective())
    solver.run(None)
    scores = objective.evaluate_result(**solver.get_result())
    assert scores["value"] == 1 - scores["acc"]
    assert 0.5 < scores["acc"] <= 1
    assert objective.evaluate_result(**objective.get_one_result())["value"] == 0


def test_all_clusterers_of_the_leaderboard_are_offered(load):
    offered = load("solvers/entrants.py").Solver.parameters["method"]
    assert offered == [entrant.name for entrant in default_entrants() if entrant.role == "clusterer"]
