"""The slow parts of S2LRR, MKKM and the scheme "exact" beside what they replaced.

CPU seconds of one thread, both sides in one run of `python -m benchmarks.slow_baselines`: an iteration of S2LRR's ADMM
in double and in single precision; MKKM with products in every iteration and with updated sums; ten iterations of SMKL's
scheme "exact" with its nonnegative graph problem solved by ADMM and by pivoting.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks._stored import Page, Rows, line
from kernelweave import SMKLClustering
from kernelweave.baselines import mkkm
from kernelweave.baselines.low_rank_codes import low_rank_codes, low_rank_start
from kernelweave.core.paper.closed_forms import label_distances
from kernelweave.core.paper.nonnegative import optimality_gap
from kernelweave.core.partitions.kmeans import random_labels
from kernelweave.datasets import load_dataset
from kernelweave.kernels import Cosine, recipe
from kernelweave.solve import steps

DATA = Path(os.environ.get("KERNELWEAVE_DATA", Path(__file__).parents[2] / "shared" / "data" / "paper"))
ITERATIONS = 5
SWEEPS = 5000  # the most of ADMM on one graph problem

Measure = Callable[[str], dict[str, Any]]


def spent(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, and its result."""
    begun = process_time()
    result = run()
    return process_time() - begun, result


def s2lrr(name: str) -> dict[str, Any]:
    """Return the seconds of an iteration of ADMM without labels, in double and single precision."""
    G = Cosine().gram(load_dataset(name, data_home=DATA).data)
    seconds = []
    for dtype in (np.float64, np.float32):
        g = G.astype(dtype)
        start = low_rank_start(len(g), g.dtype)
        took, _ = spent(lambda g=g, start=start: low_rank_codes(g, 0 * g, 5.0, start=start, tol=0, max_iter=ITERATIONS))
        seconds.append(took / ITERATIONS)
    return {"n": len(G), "before": seconds[0], "now": seconds[1], "note": "per iteration"}


def kernel_kmeans(name: str) -> dict[str, Any]:
    """Return the seconds of ten starts of MKKM, with products in every iteration and with updates."""
    data = load_dataset(name, data_home=DATA)
    H, c = np.asarray(recipe("released-12").fit_grams(data.data)), len(np.unique(data.target))
    z = random_labels(H.shape[1], c, 10, np.random.default_rng(0))
    few, found = mkkm._FEW, []
    try:
        for share in (-1.0, few):
            mkkm._FEW = share
            found.append(spent(lambda: mkkm.multiple_kernel_kmeans(H, z, c, max_iter=100)))
    finally:
        mkkm._FEW = few
    (before, old), (now, new) = found
    same = "same labels" if np.array_equal(old.z, new.z) else "other labels"
    return {"n": H.shape[1], "before": before, "now": now, "note": f"ten starts; {same}"}


def exact_scheme(name: str) -> dict[str, Any]:
    """Return the seconds of ten iterations of SMKL with its graph problem solved by ADMM and by pivoting."""
    data = load_dataset(name, data_home=DATA)
    model = SMKLClustering(len(np.unique(data.target)), scheme="exact", gamma=0.1, max_iter=10, random_state=0)
    step, found = steps.exact_graph_step, []
    try:
        for solver in (admm, step):
            steps.exact_graph_step = solver
            found.append(spent(lambda: clone(model).fit(data.data)))
    finally:
        steps.exact_graph_step = step
    (before, old), (now, new) = found
    gap = float(np.abs(old.graph_ - new.graph_).max())
    return {"n": len(data.target), "before": before, "now": now, "note": f"graphs differ by at most {gap:.0e}"}


def admm(K: Any, P: Any, S: Any, *, alpha: float, gamma: float, tol: float) -> Any:
    """Solve the graph problem as the scheme did before: one inverse, at most SWEEPS sweeps."""
    B, Q = K - alpha / 4 * label_distances(P, squared=True), K + gamma * np.eye(len(K))
    rho = float(np.sqrt(gamma * np.abs(Q).sum(axis=1).max()))
    R, Z = np.linalg.inv(Q + rho * np.eye(len(Q))), S
    U = np.minimum(B - Q @ Z, 0) / rho
    for sweep in range(SWEEPS):
        U += 1.6 * (R @ (B + rho * (Z - U))) - 0.6 * Z
        Z = np.maximum(U, 0)
        U -= Z
        if sweep % 5 == 4 and optimality_gap(Z, Q, B) < tol * np.abs(B).max():
            break
    return Z


PARTS: dict[str, tuple[Measure, tuple[str, ...]]] = {
    "S2LRR, single precision": (s2lrr, ("ba", "coil20")),
    "MKKM, updated sums": (kernel_kmeans, ("tr41", "yeast")),
    "exact, pivoting": (exact_scheme, ("jaffe", "tr11")),
}


def table(rows: Rows) -> str:
    """Return the seconds side by side."""
    lines = [
        line(("part", "data", "n", "before, s", "now, s", "ratio", "")),
        "| :-- | :-- | --: | --: | --: | --: | :-- |",
    ]
    for part, sets in rows.items():
        for name, f in sets.items():
            ratio = f"{f['before'] / f['now']:.1f}"
            cells = (part, name.upper(), str(f["n"]), f"{f['before']:.2f}", f"{f['now']:.2f}", ratio, f["note"])
            lines.append(line(cells))
    return "\n".join(lines)


def main() -> None:
    """Measure the parts that were asked for, or all, and write the page."""
    page = Page("slow_baselines", "S2LRR, MKKM and the exact scheme", __doc__ or "", table)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for part in parser.parse_args().parts:
            measure, sets = PARTS[part]
            for name in sets:
                page.keep(part, name, measure(name))
    page.write()


if __name__ == "__main__":
    main()
