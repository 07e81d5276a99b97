"""Rows that are made up, and rows of a short run."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.leaderboard import Protocol, run_benchmark
from kernelweave.leaderboard.trial_runs import TRIAL_COLUMNS

QUICK = Protocol(seeds=1, max_samples=120, max_seconds=120)


@pytest.fixture
def made_up():
    """Return a function that makes rows from scores by method and data set; None did not finish."""

    def make(scores, condition="plain", **others):
        rows = []
        for method, line in scores.items():
            for j, score in enumerate(line):
                outcome = {"acc": score, "nmi": score, "ari": score, "outcome": "FINISHED", "error": ""}
                if score is None:
                    outcome = {"outcome": "NOT FINISHED", "error": "stopped after 60 s of CPU time"}
                told = {"dataset": f"set{j}", "domain": "text" if j else "images", "n_views": j + 1, "method": method,
                        "condition": condition, "seed": 0, "seconds": 2.0 + j, "mib": 10.0, "parameters": "{}",
                        "prepared": "all views", "created": "2026-01-01T00:00:00+00:00", "commit": "abc",
                        "protocol": '{"max_seconds": 60}', "n_samples": 100, "n_features": 4, "n_classes": 3,
                        "kernelweave": "1", "numpy": "1", "scipy": "1",
                        "sklearn": "1", "python": "3"}  # fmt: skip
                rows.append(told | outcome | others)
        return pd.DataFrame(rows, columns=list(TRIAL_COLUMNS)).astype(TRIAL_COLUMNS)

    return make


@pytest.fixture(scope="session")
def short_run(tmp_path_factory):
    """The rows of some methods on two data sets of scikit-learn."""
    out = tmp_path_factory.mktemp("short") / "out"
    methods = ["WeaveClustering", "KMeans", "HDBSCAN", "Ward"]
    return run_benchmark(out, ["iris", "wine"], methods, conditions=["plain", "unknown"], protocol=QUICK), out


@pytest.fixture
def rng():
    return np.random.default_rng(0)
