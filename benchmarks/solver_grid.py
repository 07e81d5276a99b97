"""How runs of the safeguarded scheme end over a wide grid of parameters on every paper data set, and why."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy import linalg

from kernelweave.core.labels import laplacian
from kernelweave.datasets import load_dataset
from kernelweave.kernels import recipe
from kernelweave.solve import Outcome, Problem, Solution, minimise, smkl

Row = dict[str, Any]

WIDE = ((1e-6, 1e-3, 1, 1e2), (1e-2, 1, 1e2, 1e4), (1e-3, 1e-1, 1, 1e2))
THIN = ((1e-6, 1, 1e2), (1e-2, 1e2, 1e4), (1e-3, 1, 1e2))
CORNERS = ((1e-6, 1e2), (1e-2, 1e4), (1e-3, 1e2))
# of alpha, beta and gamma; the most iterations; CPU seconds after which no other setting is begun
PLANS = {
    "yale": (WIDE, 50, 300), "jaffe": (WIDE, 50, 300), "tr11": (THIN, 30, 40), "tr45": (THIN, 15, 30),
    "tr41": (THIN, 15, 30), "ba": (CORNERS, 10, 15), "coil20": (CORNERS, 10, 15), "yeast": (CORNERS, 10, 15),
}  # fmt: skip

_FALLING = 1e-6
_GAP = 1e-3


def grid(data_home: Path) -> list[Row]:
    """How runs end over a wide grid (thinned, with a cap of time, on the larger sets), and why some did not settle."""
    return [_row(name, data_home, *plan) for name, plan in PLANS.items()]


def _row(name: str, data_home: Path, axes: tuple[tuple[float, ...], ...], max_iter: int, seconds: float) -> Row:
    data = load_dataset(name, data_home=data_home)
    problem = Problem(recipe("released-12").fit_grams(data.data), len(np.unique(data.target)))
    ends, rise, unsettled, begun = Counter[str](), 0.0, [], process_time()
    settings = list(product(*axes))[::-1]  # the large alphas first: where time ends, the easy ones are left out
    for alpha, beta, gamma in settings:
        if process_time() - begun > seconds:
            break
        scheme = smkl("safeguarded", alpha=alpha, beta=beta, gamma=gamma, classify=False)
        run = minimise(problem, scheme, max_iter=max_iter, tol=1e-5, rng=np.random.default_rng(0))
        ends[run.outcome.name] += 1
        J = run.history.objective
        rise = max(rise, float((np.diff(J) / np.abs(J[:-1])).max(initial=0)))
        if run.outcome not in (Outcome.CONVERGED, Outcome.LEVEL):
            unsettled.append(f"alpha={alpha:g} beta={beta:g} gamma={gamma:g}: {why(run, problem, gamma)}")
    reasons = Counter(reason.split(":")[1].split(",")[0].strip() for reason in unsettled)
    return {
        "data": name, "n": problem.n, "settings": len(settings), "run": sum(ends.values()), "max_iter": max_iter,
        **{end: ends[end] for end in ("CONVERGED", "LEVEL", "MAX_ITER")}, "largest rise": rise,
        "why": "; ".join(f"{count} {reason}" for reason, count in reasons.most_common()), "unsettled": unsettled,
    }  # fmt: skip


def why(run: Solution, problem: Problem, gamma: float) -> str:
    """Return why a run did not settle, the first cause first, with the figures that show it."""
    J, state, causes = run.history.objective, run.state, []
    fall = float((J[-2] - J[-1]) / abs(J[-1])) if len(J) > 1 else np.inf
    if linalg.eigvalsh(state.K, subset_by_index=(0, 0))[0] < -0.499 * gamma:
        causes.append("K is on its bound")
    values = linalg.eigvalsh(laplacian(state.S), subset_by_index=(problem.c - 1, problem.c))
    if values[1] - values[0] < _GAP * abs(values[1]):
        causes.append(f"the embedding is not unique (gap {(values[1] - values[0]) / abs(values[1]):.0e})")
    causes.append("the objective is still falling" if fall > _FALLING else "the objective is level to six digits")
    return f"{', '.join(causes)} ({fall:.0e} an iteration), change {run.history.change[-1]:.0e}"
