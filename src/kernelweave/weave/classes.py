"""From a graph and a few labels to the classes of all samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernelweave._plural import counted
from kernelweave._types import Labels
from kernelweave.core.graphs.new_rows import distributions
from kernelweave.core.graphs.propagation import (
    balance,
    class_mass_factors,
    class_mass_normalised,
    consistent_scores,
    harmonic_scores,
    one_hot,
    reached,
)
from kernelweave.weave.graph_model import GraphModel
from kernelweave.weave.plan import Classes, LabelTask
from kernelweave.weave.woven import WovenGraph

__all__ = ["classify_graph"]

_POWER = 2.0  # of balanced scores: with it, probabilities come nearest to the shares of samples that are right


def classify_graph(
    woven: WovenGraph, task: LabelTask, copies: Labels, *, lgc: bool, say: Callable[[str], None]
) -> Classes:
    """Return the label scores of every sample: harmonic, or by local and global consistency if `lgc`.

    The graph and the task are those of samples with few copies, `copies` is the position of every sample among these.
    Harmonic scores are balanced unless they were asked for, or class masses were.
    """
    S = woven.graph
    Y, labelled = one_hot(task.codes, task.n_classes, S.dtype)
    F, converged, n_iter, passed_on = (consistent_scores if lgc else harmonic_scores)(S, Y, labelled)
    steps = f", {counted(n_iter, 'step')} of conjugate gradients" if n_iter else ""
    say(f"labels: {'lgc' if lgc else 'harmonic'}{steps}")
    if not converged:
        msg = (
            f"The label scores did not converge in {n_iter} steps of conjugate gradients: parts of the graph are "
            'joined by very weak edges only. Use propagation="lgc", or raise n_neighbors.'
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=5)
    near = reached(S, labelled)
    scores, values, power = F, np.maximum(F if passed_on is None else passed_on, 0), 1.0
    if task.class_mass:
        scores, values = class_mass_normalised(F, labelled), values * class_mass_factors(F, labelled)
    elif task.propagation == "auto" and not lgc:
        power = _POWER
        shift, factors = balance(F, near & ~labelled, int(labelled.sum()))
        values = np.maximum(F - shift, 0) * factors
        scores = np.where(labelled[:, None], F, values)
    undecided = ~near | (scores.sum(axis=1) <= 0)  # scores may underflow far from all labels
    values = np.where(undecided[:, None], 0, values)
    model = GraphModel(woven.joiner, values, values, seen=woven.seen, power=power, nodes=copies)
    scores, _ = distributions(np.maximum(scores, 0), power)
    return Classes(model, F[copies], scores[copies], undecided[copies], woven.kernels, woven.attributes)
