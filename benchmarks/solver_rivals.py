"""SMKL and Weave beside other programs: packages for several views where they are installed, and the released one."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.io import savemat
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs

from kernelweave import SMKLClustering, WeaveClustering
from kernelweave.datasets import load_dataset
from kernelweave.kernels import recipe
from kernelweave.metrics import clustering_accuracy
from kernelweave.solve import Problem, Scheme, minimise, smkl

Row = dict[str, Any]

# what the released loop calls and its folder may lack; k-means and scores are not part of an iteration
_STUBS = {
    "eig1.m": """function [V, values, all] = eig1(A, c, largest)
  [V, D] = eig((A + A') / 2); [all, order] = sort(diag(D));
  V = V(:, order(1:c)); values = all(1:c);
end
""",
    "kmeans.m": "function ids = kmeans(F, varargin)\n  ids = ones(rows(F), 1);\nend\n",
    "ClusteringMeasure.m": "function m = ClusteringMeasure(a, b)\n  m = [0 0 0];\nend\n",
    "measure.m": """load('problem.mat');
begun = cputime; result = selfweightmkl(H, y, 1e-5, 1e6, 1);
printf('%.6f %d\\n', cputime - begun, result(end));
""",
}


def rivals(n: int = 1500) -> list[Row]:
    """Whole fits, CPU seconds: SMKL and Weave on twelve kernels, other packages on the same samples as three views."""
    X, y = make_blobs(n, n_features=60, centers=10, cluster_std=6, random_state=0)
    views = [X[:, :20], X[:, 20:40], X[:, 40:]]
    programs: dict[str, Callable[[], Any]] = {
        "SMKL": lambda: SMKLClustering(10, random_state=0).fit(X).labels_,
        "Weave": lambda: WeaveClustering(10, random_state=0).fit(X).labels_,
        "mvlearn spectral": lambda: _mvlearn(views),
        "snfpy + spectral": lambda: _snf(views),
        "imml NEMO": lambda: _imml(views),
    }
    rows: list[Row] = []
    for name, run in programs.items():
        begun = process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                labels = np.asarray(run())
        except ImportError as error:
            rows.append({"program": name, "note": f"not installed ({error.name})"})
            continue
        except Exception as error:  # a rival that breaks is a row of the table, not the end of it
            rows.append({"program": name, "note": f"failed: {type(error).__name__}: {error}"[:90]})
            continue
        seconds = process_time() - begun
        rows.append({"program": name, "n": n, "CPU s": seconds, "accuracy": clustering_accuracy(y, labels)})
    for row in rows:
        if "CPU s" in row:
            row["/ SMKL"] = row["CPU s"] / rows[0]["CPU s"]
    return rows


def _mvlearn(views: list[np.ndarray]) -> Any:
    cluster = importlib.import_module("mvlearn.cluster")
    return cluster.MultiviewSpectralClustering(n_clusters=10, random_state=0).fit_predict(views)


def _snf(views: list[np.ndarray]) -> Any:
    snf = importlib.import_module("snf")
    W = snf.snf(snf.make_affinity(views, K=20, mu=0.5), K=20)
    return SpectralClustering(10, affinity="precomputed", random_state=0).fit_predict(W)


def _imml(views: list[np.ndarray]) -> Any:
    cluster = importlib.import_module("imml.cluster")
    return cluster.NEMO(n_clusters=10, random_state=0).fit_predict(views)


def iteration_seconds(problem: Problem, scheme: Scheme) -> list[float]:
    """Return the CPU seconds of every iteration of a run but the first, which also pays for what is computed once."""
    marks: list[float] = []
    minimise(
        problem, scheme, max_iter=8, tol=0, rng=np.random.default_rng(0),
        watch=lambda *_: marks.append(process_time()),
    )  # fmt: skip
    return [float(seconds) for seconds in np.diff(marks)]


def octave(data_home: Path, source: str | None = None) -> list[Row]:
    """One iteration of the program released with the paper against one of ours, TR11 (n = 414), CPU seconds."""
    if shutil.which("octave") is None:
        return [{"note": "not measured: octave is not on the PATH"}]
    if not source or not (Path(source) / "selfweightmkl.m").is_file():
        return [{"note": "not measured: --released names no folder with selfweightmkl.m"}]
    data = load_dataset("tr11", data_home=data_home)
    H = recipe("released-12").fit_grams(data.data)
    theirs, count = _released(Path(source), H, data.target)
    problem = Problem(H, len(np.unique(data.target)))
    rows: list[Row] = []
    for version in ("released", "safeguarded"):
        scheme = smkl(version, alpha=1e-5, beta=1e6, gamma=1, classify=False)
        ours = min(s for _ in range(3) for s in iteration_seconds(problem, scheme))
        rows.append(
            {"scheme": version, "n": problem.n, "Octave s / iteration": theirs / count, "iterations": count,
             "ours s / iteration": ours, "Octave / ours": theirs / count / ours}
        )  # fmt: skip
    return rows


def _released(source: Path, H: np.ndarray, y: np.ndarray) -> tuple[float, int]:
    """Return the CPU seconds of the released clustering program and its iterations."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in _STUBS.items():
            (Path(folder) / name).write_text(text)
        for file in source.glob("*.m"):
            if file.name in ("selfweightmkl.m", "eig1.m"):
                shutil.copy(file, folder)
        savemat(Path(folder) / "problem.mat", {"H": H.transpose(1, 2, 0), "y": y.astype(float)[:, None]})
        done = subprocess.run(
            ["octave", "--no-gui", "--quiet", "measure.m"], cwd=folder, capture_output=True, text=True, check=True
        )
    seconds, count = done.stdout.split()[-2:]
    return float(seconds), int(count)
