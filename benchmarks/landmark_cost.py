"""A cost model of the landmark solver: seconds and memory for n rows on k workers, fitted here and checked here."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks._landmark import landmark_fit, passes_begin
from benchmarks._large import CLUSTERS, blobs
from kernelweave.kernels import Gaussian, KernelBank, Polynomial, recipe
from kernelweave.weave.landmark.learning import landmark_memory, sample_size

CHUNK = 16 * 2**20


@dataclass(frozen=True)
class Cost:
    """CPU seconds per unit of work of one core, for the pass over all rows and for what is learned before it.

    pass = n (product m d + kernel m r + nearest m + read d + row), learning = s m d kmeans + s (as the pass) + m³ eigen
    + fixed, with s = max(20 m, 10,000) rows.
    """

    product: float
    kernel: float
    nearest: float
    read: float
    row: float
    kmeans: float
    eigen: float
    fixed: float

    def passing(self, n: float, d: int, m: int, r: int) -> float:
        """Return the CPU seconds of a pass over n rows."""
        return n * float(np.dot(_terms(d, m, r), (self.product, self.kernel, self.nearest, self.read, self.row)))

    def learning(self, n: float, d: int, m: int, r: int) -> float:
        """Return the CPU seconds of learning on the sample."""
        s = min(n, sample_size(m))
        return s * m * d * self.kmeans + 2 * self.passing(s, d, m, r) + m**3 * self.eigen + self.fixed

    def predict(self, n: float, d: int, m: int, r: int, workers: int = 1) -> dict[str, float]:
        """Return hours on k workers of one core each, and GiB: the pass is shared out, learning is not."""
        seconds = self.learning(n, d, m, r) + self.passing(n, d, m, r) / workers
        working, whole = (landmark_memory(d, m, r, 8, n=int(k), c=CLUSTERS) for k in (min(n, sample_size(m)), n))
        return {
            "n": n,
            "workers": workers,
            "hours": seconds / 3600,
            "worker_gib": (working + CHUNK) / 2**30,
            "client_gib": whole / 2**30,
        }


def _terms(d: int, m: int, r: int) -> np.ndarray:
    return np.array([m * d, m * r, m, d, 1.0])


def _bank(r: int) -> KernelBank:
    """Return r kernels in the recipe's proportion of Gaussians and polynomials."""
    if r == 12:
        return recipe("released-12")
    kernels = [Gaussian(t) for t in np.geomspace(0.05, 50, round(r * 7 / 12))]
    return KernelBank(kernels + [Polynomial(2, offset=float(i)) for i in range(r - len(kernels))])


def timed(n: int, d: int, m: int, r: int) -> tuple[float, float]:
    """Return the CPU seconds of learning and of the pass in one fit."""
    X = blobs(n, d)
    began = time.process_time()
    with passes_begin() as passing:
        landmark_fit(lambda: np.array_split(X, max(1, X.nbytes // CHUNK)), m, _bank(r))
    ended = time.process_time()
    return passing[0] - began, ended - passing[0]


BASE = {"n": 60_000, "d": 50, "m": 500, "r": 12}
VARIED = {"n": (30_000, 240_000), "d": (10, 400), "m": (125, 1500), "r": (4, 24)}


def cost_section() -> dict[str, Any]:
    """Return exponents of the pass, the fitted model, predictions beside measurements, and what 10^7 and 10^8 take."""
    points = [BASE] + [{**BASE, name: value} for name, ends in VARIED.items() for value in ends]
    times = [timed(**point) for point in points]
    passes = {(tuple(p.items())): t[1] for p, t in zip(points, times, strict=True)}
    exponents = {}
    for name, (low, high) in VARIED.items():
        ends = [passes[tuple({**BASE, name: value}.items())] for value in (low, high)]
        exponents[name] = float(np.log(ends[1] / ends[0]) / np.log(high / low))
    model = _fitted(points, times)
    checked = []
    for point in ({"n": 500_000, "d": 20, "m": 250, "r": 12}, {"n": 100_000, "d": 100, "m": 1000, "r": 7}):
        measured = sum(timed(**point))
        predicted = model.learning(**point) + model.passing(**point)
        checked.append({"what": str(point), "predicted": predicted, "measured": measured})
    shape = {"d": 50, "m": 1000, "r": 12}
    predicted = [model.predict(n, **shape, workers=k) for n in (1e6, 1e7, 1e8) for k in (1, 16, 64)]
    return {"model": asdict(model), "exponents": exponents, "checked": checked, "predicted": predicted}


def _fitted(points: list[dict[str, int]], times: list[tuple[float, float]]) -> Cost:
    """Return the model whose relative errors on the measured points are least, no term negative."""
    A = np.array([p["n"] * _terms(p["d"], p["m"], p["r"]) for p in points])
    seconds = np.array([t[1] for t in times])
    rates, _ = nnls(A / seconds[:, None], np.ones(len(seconds)))
    halfway = Cost(*rates, 0, 0, 0)
    sizes = [(min(p["n"], sample_size(p["m"])), p) for p in points]
    rest = np.array(
        [t[0] - 2 * halfway.passing(s, p["d"], p["m"], p["r"]) for t, (s, p) in zip(times, sizes, strict=True)]
    )
    L = np.array([[s * p["m"] * p["d"], p["m"] ** 3, 1.0] for s, p in sizes])
    learned = np.array([t[0] for t in times])
    more, _ = nnls(L / learned[:, None], np.maximum(rest, 0) / learned)
    return Cost(*rates, *more)
