"""How runs of the safeguarded scheme end over a wide grid of parameters on every paper data set, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from kernelweave.datasets import load_dataset
from kernelweave.kernels import recipe
from kernelweave.solve import Outcome, Problem, minimise, smkl

Row = dict[str, Any]

# of alpha, beta and gamma
WIDE = ((1e-6, 1e-3, 1, 1e2), (1e-2, 1, 1e2, 1e4), (1e-3, 1e-1, 1, 1e2))
# the most iterations: the default of the estimators, fewer where one takes seconds
MOST = {"yale": 100, "jaffe": 100, "tr11": 100, "tr45": 100, "tr41": 100, "ba": 15, "coil20": 15, "yeast": 40}
ENDS = [end for end in Outcome if not end.failed]


def grid(data_home: Path) -> Iterator[Row]:
    """How 64 settings end on every data set: converged, or why not (ON_BOUND, OVERRULED: see docs/solver.md)."""
    return (_row(name, data_home, most) for name, most in MOST.items())


def _row(name: str, data_home: Path, max_iter: int) -> Row:
    data = load_dataset(name, data_home=data_home)
    problem = Problem(recipe("released-12").fit_grams(data.data), len(np.unique(data.target)))
    ends, rise, iterations, begun = list[Outcome](), 0.0, list[int](), process_time()
    unconverged: list[str] = []
    for alpha, beta, gamma in product(*WIDE):
        scheme = smkl("safeguarded", alpha=alpha, beta=beta, gamma=gamma, classify=False)
        run = minimise(problem, scheme, max_iter=max_iter, tol=1e-5, rng=np.random.default_rng(0))
        ends.append(run.outcome)
        J = run.history.objective
        rise = max(rise, float((np.diff(J) / np.abs(J[:-1])).max(initial=0)))
        if run.outcome.converged:
            iterations.append(run.n_iter)
        else:
            change = run.history[-1].change if run.n_iter else np.inf
            unconverged.append(
                f"alpha={alpha:g} beta={beta:g} gamma={gamma:g}: {run.outcome.name}, change {change:.1e}"
            )
    counts = Counter(ends)
    return {
        "data": name, "n": problem.n, "settings": len(ends), "max_iter": max_iter,
        **{end.name: counts[end] for end in ENDS}, "failed": sum(end.failed for end in ends),
        "median iterations": float(np.median(iterations)), "largest rise": rise, "CPU s": process_time() - begun,
        "unconverged": unconverged,
    }  # fmt: skip
