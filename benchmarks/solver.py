"""How fast the SMKL solver is, as ratios measured side by side in one run: `python -m benchmarks [section ...]`.

Sections: iteration, growth, fit, rivals, octave, path, memory, precision, grid. Every section prints its table and
stores it in benchmarks/results/solver.json; solver.md shows all of them. Seconds are of CPU: pin the threads
(OMP_NUM_THREADS=1), and hold the machine still for figures to compare. `--released` names the folder of the paper's
released program, for `octave`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tracemalloc
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs
from sklearn.base import clone
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.semi_supervised import LabelSpreading

from benchmarks import solver_grid, solver_rivals
from benchmarks._commits import computed, stamp
from benchmarks._tables import markdown, show
from benchmarks.plain_smkl import plain_smkl
from kernelweave import SMKLClassifier, SMKLClustering, WeaveClustering, smkl_path
from kernelweave.core.partitions.hartigan import sum_of_squares
from kernelweave.datasets import load_dataset
from kernelweave.kernels import recipe
from kernelweave.solve import Problem, Solution, minimise, smkl
from kernelweave.solve.steps import Beta

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "solver.json"
DATA = Path(os.environ.get("KERNELWEAVE_DATA", ROOT.parent / "shared" / "data" / "paper"))
PAPER = ("yale", "jaffe", "tr11", "tr45", "tr41", "ba", "coil20", "yeast")
PRECISIONS = ("float64", "float32")
DEFAULT = {"alpha": 1e-5, "gamma": 1.0}
SAME, TIE = 0.99, 1e-3  # adjusted Rand index; share of the sum of squares
Row = dict[str, Any]


def samples(n: int, dtype: str) -> np.ndarray:
    """Ten blobs that overlap."""
    return make_blobs(n, n_features=50, centers=10, cluster_std=4, random_state=0)[0].astype(dtype)


def best(run: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Return the least seconds of several runs, and what the last one gave."""
    times = []
    for _ in range(repeats):
        begun = process_time()
        result = run()
        times.append(process_time() - begun)
    return min(times), result


def iteration(sizes: Iterable[int] = (500, 1500, 3000, 5000)) -> list[Row]:
    """Seconds per iteration over the ideal: 2n³ flops at the speed of GEMM, 2 |H| + 8n² floats at that of memory.

    Beside it, over LAPACK's inverse and BLAS's syrk alone. What is compared is measured in turn, since the speed of a
    machine changes, and the ratios are medians.
    """
    rows = []
    for n in sizes:
        for dtype in ("float64", "float32"):
            H = recipe("released-12").fit_grams(samples(n, dtype))
            A = H[0] + 1
            B = A.T.copy()
            scheme = smkl("safeguarded", relative_beta=3, alpha=1e-4, gamma=0.1, classify=False)
            problem, K = Problem(H, 10), H.mean(axis=0)
            turns = np.array(
                [
                    (
                        min(solver_rivals.iteration_seconds(problem, scheme)),
                        best(lambda A=A, B=B: A @ B)[0],
                        best(lambda H=H: H.max())[0],
                        best(lambda K=K: inverse_and_product(K))[0],
                    )
                    for _ in range(7 if n < 2000 else 3)
                ]
            )
            seconds, product, read, parts = turns.T
            ideal = product + (2 + 8 / len(H)) * read
            rows.append(
                {"n": n, "dtype": dtype, "seconds": float(np.median(seconds)), "ideal": float(np.median(ideal)),
                 "ratio": float(np.median(seconds / ideal)), "/ (inverse + syrk)": float(np.median(seconds / parts)),
                 "gemm GFLOP/s": float(2 * n**3 / np.median(product) / 1e9)}
            )  # fmt: skip
    return rows


def inverse_and_product(K: np.ndarray) -> np.ndarray:
    """Return the upper triangle of the square of (K + I/10)^-1, by LAPACK and BLAS."""
    M = K.copy(order="F")
    M.flat[:: len(M) + 1] += 0.1
    potrf, potri = get_lapack_funcs(("potrf", "potri"), (M,))
    (syrk,) = get_blas_funcs(("syrk",), (M,))
    root, _ = potrf(M, lower=False, overwrite_a=True, clean=False)
    return np.asarray(syrk(1.0, potri(root, lower=False, overwrite_c=True)[0]))


def fit(n: int = 1500) -> list[Row]:
    """Whole fits on given kernels: ours, plain numpy with the same parameters, and scikit-learn on one kernel."""
    rows = []
    for dtype in ("float64", "float32"):
        X = samples(n, dtype)
        H = recipe("released-12").fit_grams(X)
        beta = Beta().value(Problem(H, 10))
        ours, model = best(lambda H=H: SMKLClustering(10, kernels="precomputed", random_state=0, **DEFAULT).fit(H))

        def plain(H: np.ndarray = H, beta: float = beta) -> tuple[np.ndarray, int]:
            _, P, count = plain_smkl(H, 10, beta=H.dtype.type(beta), max_iter=100, tol=1e-5, **DEFAULT)
            return KMeans(10, n_init=10, random_state=0).fit_predict(P), count

        theirs, (labels, count) = best(plain, repeats=1)
        one = np.maximum(H[3], 0).astype(np.float64)
        spectral, _ = best(
            lambda one=one: SpectralClustering(10, affinity="precomputed", random_state=0, n_init=10).fit(one)
        )
        weave, _ = best(lambda H=H: WeaveClustering(10, kernels="precomputed", random_state=0).fit(H))
        y = np.where(np.arange(n) % 10 == 0, model.labels_, -1)
        ours_ssl, _ = best(lambda H=H, y=y: SMKLClassifier(kernels="precomputed", **DEFAULT).fit(H, y))
        spreading, _ = best(lambda one=one, y=y: LabelSpreading(kernel=lambda a, b: one).fit(one, y))
        rows.append(
            {"dtype": dtype, "SMKL s": ours, "iterations": model.n_iter_, "plain numpy s": theirs,
             "plain iterations": count, "plain / SMKL": theirs / ours, "SpectralClustering s": spectral,
             "SMKL / spectral": ours / spectral, "Weave s": weave,
             "Weave / spectral": weave / spectral, "SMKLClassifier s": ours_ssl, "LabelSpreading s": spreading,
             "labels agree (ARI)": adjusted_rand_score(model.labels_, labels)}
        )  # fmt: skip
    return rows


def path() -> list[Row]:
    """Walk a grid of 60 settings with warm starts against as many cold fits."""
    grid = {"alpha": [1e-6, 1e-5, 1e-4, 1e-3], "relative_beta": [1, 3, 10, 30, 100], "gamma": [0.1, 0.3, 1]}
    rows = []
    for name in ("yale", "jaffe", "tr11"):
        data = load_dataset(name, data_home=DATA)
        base = SMKLClustering(len(np.unique(data.target)), random_state=0, max_iter=200)
        begun = process_time()
        warm = list(smkl_path(base, data.data, grid))
        warm_seconds, begun = process_time() - begun, process_time()
        cold = [clone(model).fit(data.data) for model in warm]
        cold_seconds = process_time() - begun
        pairs = list(zip(warm, cold, strict=True))
        graphs = [np.linalg.norm(w.graph_ - m.graph_) / np.linalg.norm(m.graph_) for w, m in pairs]
        warm_count, cold_count = sum(m.n_iter_ for m in warm), sum(m.n_iter_ for m in cold)
        plain = _released_runs(data, warm)
        rows.append(
            {"data": name, "settings": len(warm), "warm iterations": warm_count, "cold iterations": cold_count,
             "cold / warm": cold_count / warm_count, "cold s / warm s": cold_seconds / warm_seconds,
             "released / warm": sum(run.n_iter for run in plain) / warm_count,
             "released not converged": sum(not run.outcome.converged for run in plain),
             "warm not converged": sum(not m.outcome_.converged for m in warm), **_agreement(pairs),
             "graphs differ by": float(max(graphs))}
        )  # fmt: skip
    return rows


def _released_runs(data: Any, models: list[Any]) -> list[Solution]:
    """Return the released scheme's runs of the same settings, each from its own start."""
    problem = Problem(recipe("released-12").fit_grams(data.data), models[0].n_clusters)
    return [
        minimise(
            problem,
            smkl("released", alpha=m.alpha, relative_beta=m.relative_beta, gamma=m.gamma, classify=False),
            max_iter=200, tol=1e-5, rng=np.random.default_rng(0),
        )
        for m in models
    ]  # fmt: skip


def _agreement(pairs: list[tuple[Any, Any]]) -> Row:
    """Do the labels of two fits agree, and where they do not, is k-means to blame or the embeddings' difference.

    k-means is, if it missed a partition: on one of the embeddings the labels of the other fit are better than its own.
    If it is not, each partition is the better one on its own embedding, and J, the sum of squares, prefers it by
    no more than the embeddings explain: both excesses together are at most 2 Σ sin of the angles between them. Those
    that differ by less than a thousandth of J are ties.
    """
    found = np.array([adjusted_rand_score(a.labels_, b.labels_) for a, b in pairs])
    apart = [_excesses(*pair) for pair, ari in zip(pairs, found, strict=True) if ari < SAME]
    missed = [min(excess) < -1e-9 for excess in apart]
    ties = [max(excess) < TIE and not miss for excess, miss in zip(apart, missed, strict=True)]
    return {
        "ARI mean": float(found.mean()), "ARI least": float(found.min()), f"ARI < {SAME}": int((found < SAME).sum()),
        "k-means missed": sum(missed), "ties": sum(ties),
        "largest excess": float(max((max(excess) for excess in apart), default=0)),
        "embeddings differ by (sine)": max(_sine(a.embedding_, b.embedding_) for a, b in pairs),
        "differing": [_difference(*pair, ari) for pair, ari in zip(pairs, found, strict=True) if ari < SAME],
    }  # fmt: skip


def _difference(a: Any, b: Any, ari: float) -> str:
    sine, (first, second) = _sine(a.embedding_, b.embedding_), _excesses(a, b)
    setting = f"alpha={a.alpha:g} relative_beta={a.relative_beta} gamma={a.gamma:g}"
    return f"{setting}: ARI {ari:.3f}, sine {sine:.1g}, excess {first:.1g} and {second:.1g}"


def _excesses(a: Any, b: Any) -> tuple[float, float]:
    """How much worse than its own labels those of b are on the embedding of a, relatively, and those of a on b's."""
    J = [[sum_of_squares(m.embedding_.astype(float), of.labels_) for of in (a, b)] for m in (a, b)]
    return J[0][1] / J[0][0] - 1, J[1][0] / J[1][1] - 1


def _sine(P: np.ndarray, Q: np.ndarray) -> float:
    """Return the sine of the largest angle between the spaces of two embeddings."""
    P, Q = P.astype(float), Q.astype(float)
    return float(np.linalg.norm(Q - P @ (P.T @ Q), 2))


def memory(n: int = 1500) -> list[Row]:
    """Peak memory of a run beside H, in matrices of n² floats."""
    rows = []
    for dtype in ("float64", "float32"):
        problem = Problem(recipe("released-12").fit_grams(samples(n, dtype)), 10)
        scheme = smkl("safeguarded", relative_beta=30, classify=False, **DEFAULT)
        tracemalloc.start()
        minimise(problem, scheme, max_iter=3, tol=0, rng=np.random.default_rng(0))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        rows.append({"n": n, "dtype": dtype, "peak / n² floats": peak / problem.H[0].nbytes})
    return rows


def precision() -> list[Row]:
    """Single against double precision, by default and with all edges: do they agree, and how much time is saved."""
    rows = []
    for name, edges in product(PAPER, ("auto", "all")):
        data = load_dataset(name, data_home=DATA)
        base = SMKLClustering(len(np.unique(data.target)), n_neighbors=edges, random_state=0)
        models = (clone(base).set_params(dtype=dtype) for dtype in PRECISIONS)
        double, single = (best(lambda m=model, X=data.data: m.fit(X), repeats=1) for model in models)
        S64, S32 = double[1].graph_, single[1].graph_
        rows.append(
            {"data": name, "n_neighbors": edges, **_agreement([(double[1], single[1])]),
             "graphs differ by": float(np.linalg.norm(S64 - S32) / np.linalg.norm(S64)),
             "iterations": f"{double[1].n_iter_}, {single[1].n_iter_}", "double s / single s": double[0] / single[0]}
        )  # fmt: skip
    return rows


def growth(sizes: Iterable[int] = (500, 1000, 2000)) -> list[Row]:
    """Whole fits on samples at growing n, and the exponent of n from one size to the next."""
    rows: list[Row] = []
    for name, make in (("SMKL", SMKLClustering), ("Weave", WeaveClustering)):
        before: Row = {}
        for n in sizes:
            X = samples(n, "float64")
            seconds, _ = best(lambda make=make, X=X: make(10, random_state=0).fit(X), repeats=2)
            row: Row = {"model": name, "n": n, "CPU s": seconds}
            if before:
                row["exponent"] = float(np.log(seconds / before["CPU s"]) / np.log(n / before["n"]))
            rows.append(row)
            before = row
    return rows


SECTIONS: dict[str, Callable[[], Iterable[Row]]] = {
    "iteration": iteration, "growth": growth, "fit": fit, "rivals": solver_rivals.rivals,
    "octave": partial(solver_rivals.octave, DATA), "path": path, "memory": memory, "precision": precision,
    "grid": partial(solver_grid.grid, DATA),
}  # fmt: skip


def store(section: str, rows: list[Row]) -> None:
    """Write the rows of a section, and keep what the file has of others."""
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}  # now: another run may have written
    stored[section] = {
        "rows": rows,
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "numpy": np.__version__,
        "clock": "CPU",
        "machine": platform.machine(),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(stored, indent=1, default=float) + "\n")
    stamp("solver", section)
    parts = [f"## {name}\n\n{_about(name)}\n\n{markdown(stored[name]['rows'])}" for name in SECTIONS if name in stored]
    note = "Written by `python -m benchmarks`, section by section; seconds are of CPU, on one thread.\n"
    RESULTS.with_suffix(".md").write_text("\n".join(["# The SMKL solver\n", note, *parts, f"\n{computed('solver')}\n"]))


def _about(section: str) -> str:
    run = SECTIONS[section]
    return str(getattr(run, "func", run).__doc__)


def main() -> None:
    """Run the sections that are named, or all, and keep the results of the others."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="section", help=f"of {', '.join(SECTIONS)}; all by default")
    parser.add_argument("--released", help="folder of the released program (selfweightmkl.m), for the section octave")
    given = parser.parse_args()
    SECTIONS["octave"] = partial(solver_rivals.octave, DATA, given.released)
    wanted = given.sections or list(SECTIONS)
    unknown = set(wanted) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown section {', '.join(unknown)}: choose of {', '.join(SECTIONS)}")
    for name in wanted:
        print(f"\n{name}: {_about(name)}", flush=True)
        rows: list[Row] = []
        for row in SECTIONS[name]():
            rows.append(row)
            store(name, rows)  # a long section that is interrupted keeps the rows that it has
        show(rows)


if __name__ == "__main__":
    main()
