"""What the Weave estimators share: their parameters, and the choice of a solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sklearn.utils._param_validation import StrOptions

from kernelweave.core.graphs.affinity import GraphKind, GraphRule
from kernelweave.errors import InvalidInputError
from kernelweave.estimators._estimator import POSITIVE, KernelModel
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.reader import SampleSet
from kernelweave.samples.scaling import SCALES
from kernelweave.weave.choice import SOLVERS, SolverChoice, choose_solver
from kernelweave.weave.plan import Plan

if TYPE_CHECKING:
    from kernelweave.estimators.weave_classifier import WeaveClassifier
    from kernelweave.estimators.weave_clustering import WeaveClustering

__all__ = ["CONSTRAINTS", "choose", "plan_of"]

_GAMMA = 0.1

CONSTRAINTS: dict[str, list[Any]] = {
    **KernelModel._parameter_constraints,
    "scale": [StrOptions(set(SCALES)), Mapping],
    "weights": [StrOptions({"self", "uniform"}), "array-like"],
    "graph": [StrOptions({"auto", "ridge", "knn", "both"})],
    "gamma": [POSITIVE, StrOptions({"auto"})],
    "solver": [StrOptions({"auto", *SOLVERS}), *map(type, SOLVERS.values())],
}


def choose(
    model: WeaveClustering | WeaveClassifier, samples: SampleSet, wishes: Mapping[str, str], n_groups: int
) -> SolverChoice:
    """Return the solver for these samples, and why."""
    asked = {name: f"{name}={getattr(model, name)!r}" for name in ("graph", "gamma") if getattr(model, name) != "auto"}
    if model._precomputed and model.scale in ("unit", "zscore"):
        msg = f"scale={model.scale!r} scales samples, but kernels are 'precomputed': use 'auto' or 'none'."
        raise InvalidInputError(msg)
    choice = choose_solver(model.solver, samples, {**asked, **wishes}, n_neighbors=model.n_neighbors, n_groups=n_groups)
    model._say(f"solver: {choice.name}, since {choice.reason}")
    return choice


def plan_of(model: WeaveClustering | WeaveClassifier, default: GraphKind) -> Plan:
    """Return what the model asks of its solver; `default` is the graph that "auto" stands for."""
    graph = default if model.graph == "auto" else model.graph
    gamma = _GAMMA if model.gamma == "auto" else float(model.gamma)
    rule = GraphRule(graph, gamma, model.n_neighbors)
    return Plan(model.kernels, model.weights, model.scale, rule, model.dtype, model.n_jobs, model._say)


def n_features(samples: SampleSet) -> dict[str, int]:
    """Return the number of features of samples that were read in chunks, known only after that."""
    return {"n_features_in_": int(samples.source.width or 0)} if isinstance(samples, Chunks) else {}
