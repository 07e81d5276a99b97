"""One landmark fit, and when its pass over all samples begins, for landmark.py and its parts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks._large import CLUSTERS
from kernelweave import Landmark, WeaveClustering
from kernelweave.kernels import KernelBank
from kernelweave.weave.landmark import landmark_solver


def landmark_fit(X: Any, n_landmarks: int, kernels: KernelBank | str = "released-12") -> WeaveClustering:
    """Return the clusters of the samples by the landmark solver on one thread."""
    solver = Landmark(n_landmarks=n_landmarks)
    return WeaveClustering(CLUSTERS, kernels=kernels, solver=solver, n_jobs=1, random_state=0).fit(X)


@contextmanager
def passes_begin() -> Iterator[list[float]]:
    """Record the CPU seconds at which each pass over all samples begins."""
    began: list[float] = []
    pass_over = landmark_solver.pass_over

    def timed_pass(*arguments: Any) -> Any:
        began.append(time.process_time())
        return pass_over(*arguments)

    landmark_solver.pass_over = timed_pass
    try:
        yield began
    finally:
        landmark_solver.pass_over = pass_over
