"""Find the subtypes of breast cancer from three tables of the same patients, some of whom lack a table.

Run ``python examples/multi_omics.py --out multi_omics``. It reads mRNA, miRNA and protein levels of 150 patients
(breast.TCGA of mixOmics) from ``extra/breast_tcga.npz`` in the folder that KERNELWEAVE_DATA names. Where there is none
it says so and takes scikit-learn's digits instead, as pixels, Fourier coefficients and sums of rows and columns.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits

mpl.use("Agg")

from kernelweave import SMKLClustering, Views, WeaveClustering, view_importance
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information
from kernelweave.plots import plot_view_importance, plot_weights

DATA = Path(os.environ.get("KERNELWEAVE_DATA", Path(__file__).parents[2] / "shared" / "data"))
LACKING = 0.3


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("multi_omics"), help="folder for the figures")
    out = parser.parse_args().out
    tables, y = read()
    c = len(np.unique(y))
    views = Views(tables)
    print(f"{views}\n")

    weave = WeaveClustering(c, random_state=0).fit(views)
    report("WeaveClustering, all views", weave.labels_, y)
    print(f"  shares: {shares(weave)}")
    smkl = SMKLClustering(c, random_state=0).fit(views)
    report("SMKLClustering, all views", smkl.labels_, y)
    for name in views.names:
        single = WeaveClustering(c, random_state=0).fit(views.only([name]))
        report(f"WeaveClustering, {name} only", single.labels_, y)

    incomplete = Views(tables, missing=gaps(views))
    print(f"\nNow {LACKING:.0%} of the samples lack one of the views:\n{incomplete}\n")
    report("WeaveClustering, with gaps", WeaveClustering(c, random_state=0).fit(incomplete).labels_, y)

    print("\nWhich view mattered (the score is the NMI with the classes, which no model saw):\n")
    importance = view_importance(WeaveClustering(c, random_state=0), views, y, n_resamples=5, random_state=0)
    print(importance)
    out.mkdir(parents=True, exist_ok=True)
    plot_view_importance(importance).figure.savefig(out / "views.png", dpi=130)
    plot_weights(weave).figure.savefig(out / "weights.png", dpi=130)
    print(f"\nFigures: {out / 'views.png'}, {out / 'weights.png'}")


def read() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the tables by name, and the classes."""
    path = DATA / "extra" / "breast_tcga.npz"
    if path.exists():
        with np.load(path) as file:
            return {name: file[f"X{i}"] for i, name in enumerate(("mrna", "mirna", "protein"))}, file["y"]
    print(f"{path} is not there, so these are scikit-learn's digits in three views instead of breast_tcga.\n")
    X, y = (part[:600] for part in load_digits(return_X_y=True))
    images = X.reshape(-1, 8, 8)
    spectrum = np.abs(np.fft.rfft2(images)).reshape(len(X), -1)
    sums = np.hstack([images.sum(axis=1), images.sum(axis=2)])
    return {"pixels": X, "fourier": spectrum, "sums": sums}, y


def gaps(views: Views) -> dict[str, np.ndarray]:
    """Draw the samples that lack one view each."""
    rng = np.random.default_rng(0)
    lacking = rng.choice(views.n_samples, round(LACKING * views.n_samples), replace=False)
    which = rng.integers(len(views.names), size=len(lacking))
    return {name: lacking[which == i] for i, name in enumerate(views.names)}


def report(title: str, labels: np.ndarray, y: np.ndarray) -> None:
    """Say how far clusters and classes agree."""
    accuracy, information = clustering_accuracy(y, labels), normalized_mutual_information(y, labels)
    print(f"{title:30} accuracy {accuracy:.3f}, NMI {information:.3f}")


def shares(model: WeaveClustering) -> str:
    """Return the shares of the views in a line."""
    return ", ".join(f"{name} {share:.0%}" for name, share in zip(model.view_names_, model.view_shares_, strict=True))


if __name__ == "__main__":
    main()
