"""What the Weave estimators share: their parameters, and the choice of a solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sklearn.utils._param_validation import StrOptions

from kernelweave.core.graphs.affinity import GraphKind, GraphRule
from kernelweave.estimators._estimator import AT_LEAST_ONE, RIDGE, KernelModel
from kernelweave.samples.reader import SampleSet
from kernelweave.samples.scaling import SCALES
from kernelweave.weave.choice import SOLVERS, Room, SolverChoice, choose_solver
from kernelweave.weave.plan import Plan
from kernelweave.weave.progress import Reporter

if TYPE_CHECKING:
    from kernelweave.estimators.weave_classifier import WeaveClassifier
    from kernelweave.estimators.weave_clustering import WeaveClustering

__all__ = ["CONSTRAINTS", "choose"]

_GAMMA = 0.1
_NEIGHBOURS = 10
_CHOSEN = ("graph", "gamma", "embedding")  # parameters that "auto" leaves to the solver

CONSTRAINTS: dict[str, list[Any]] = {
    **KernelModel._parameter_constraints,
    "scale": [StrOptions(set(SCALES)), Mapping],
    "weights": [StrOptions({"self", "uniform"}), "array-like"],
    "graph": [StrOptions({"auto", "ridge", "knn", "both"})],
    "gamma": [RIDGE, StrOptions({"auto"})],
    "n_neighbors": [AT_LEAST_ONE, StrOptions({"auto"})],
    "solver": [StrOptions({"auto", *SOLVERS}), *map(type, SOLVERS.values())],
}


def choose(
    model: WeaveClustering | WeaveClassifier, samples: SampleSet, *, n_groups: int, graph: GraphKind
) -> tuple[SolverChoice, Plan]:
    """Return the solver for these samples and why, and what it is asked for; `graph` is what "auto" stands for."""
    given = model.get_params(deep=False)
    asked = {name: f"{name}={given[name]!r}" for name in _CHOSEN if given.get(name, "auto") != "auto"}
    if given.get("n_clusters") == "auto":
        asked["auto"] = 'n_clusters="auto"'
    k = _NEIGHBOURS if model.n_neighbors == "auto" else model.n_neighbors
    choice = choose_solver(model.solver, samples, asked, Room(k, n_groups))
    say = Reporter(type(model).__name__, model.verbose)
    say(f"solver: {choice.solver.name}, since {choice.reason}")
    gamma = _GAMMA if model.gamma == "auto" else float(model.gamma)
    rule = GraphRule(graph if model.graph == "auto" else model.graph, gamma, k)
    many = model.n_neighbors == "auto" and rule.graph != "both"
    plan = Plan(model.kernels, model.weights, model.scale, rule, model.graph, many, model.dtype, model.n_jobs, say)
    return choice, plan
