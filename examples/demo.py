"""Cluster scikit-learn's digits with twelve kernels, then classify them from a few labels; write a report.

Run by ``make demo``, or by hand: ``python examples/demo.py --out demo``.
"""

from __future__ import annotations

import argparse
import base64
import html
import io
from pathlib import Path
from time import perf_counter

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits

mpl.use("Agg")
import matplotlib.pyplot as plt

from kernelweave import SMKLClassifier, SMKLClustering
from kernelweave.datasets import label_split, mask_labels
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information, purity
from kernelweave.plots import plot_convergence, plot_embedding, plot_graph, plot_weights

PLOTS = {"weights": plot_weights, "graph": plot_graph, "convergence": plot_convergence, "embedding": plot_embedding}
LABELLED = 0.05


def main() -> None:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the figures and the report")
    parser.add_argument("--samples", type=int, default=None, help="use only the first so many digits")
    arguments = parser.parse_args()
    X, y = (part[: arguments.samples] for part in load_digits(return_X_y=True))

    print(f"Clustering {len(X)} handwritten digits into 10 groups with 12 kernels ...")
    begun = perf_counter()
    clusters = SMKLClustering(10, random_state=0, verbose=1).fit(X)
    text = [*clustering_report(clusters, y, perf_counter() - begun), ""]

    labelled = label_split(y, LABELLED, random_state=0)
    print(f"\nClassifying them from {labelled.sum()} labels ...")
    begun = perf_counter()
    classes = SMKLClassifier(kernels="released-12", gamma=0.1, verbose=1).fit(X, mask_labels(y, labelled))
    text += classification_report(classes, y, labelled, perf_counter() - begun)

    print("\n" + "\n".join(text))
    page = write_report(arguments.out, clusters, text)
    print(f"\nFigures and report: {page}")


def clustering_report(model: SMKLClustering, y: np.ndarray, seconds: float) -> list[str]:
    """Say what was found, in a few lines."""
    sizes = np.sort(np.bincount(model.labels_))[::-1]
    width = max(map(len, model.kernel_names_))
    order = np.argsort(-model.kernel_shares_)
    return [
        f"CLUSTERING   {len(y)} samples, {len(order)} kernels, {seconds:.1f} s, {model.n_iter_} iterations",
        f"  outcome    {model.outcome_.value}",
        f"  sizes      {' '.join(map(str, sizes))}",
        "  agreement with the true digits, which the method did not see:",
        f"             accuracy {clustering_accuracy(y, model.labels_):.3f}, "
        f"NMI {normalized_mutual_information(y, model.labels_):.3f}, purity {purity(y, model.labels_):.3f}",
        "  weights (share of each kernel in the consensus):",
        *(
            f"    {model.kernel_names_[i]:{width}} {model.kernel_shares_[i]:6.1%} {bar(model.kernel_shares_[i])}"
            for i in order
        ),
    ]


def classification_report(model: SMKLClassifier, y: np.ndarray, labelled: np.ndarray, seconds: float) -> list[str]:
    """Say how many of the unlabelled digits were recognised."""
    right = np.mean(model.transduction_[~labelled] == y[~labelled])
    return [
        f"CLASSIFYING  {labelled.sum()} labels, {(~labelled).sum()} digits to recognise, {seconds:.1f} s, "
        f"{model.n_iter_} iterations",
        f"  outcome    {model.outcome_.value}",
        f"  recognised {right:.1%} of the unlabelled digits",
    ]


def bar(share: float, width: int = 40) -> str:
    """Draw a share as a bar."""
    return "█" * round(share * width) or "▏"


def write_report(folder: Path, model: SMKLClustering, text: list[str]) -> Path:
    """Write every figure as a PNG, and one page that shows them all."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = []
    for name, plot in PLOTS.items():
        figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
        plot(model, ax=ax)
        picture = io.BytesIO()
        figure.savefig(picture, dpi=130)
        plt.close(figure)
        (folder / f"{name}.png").write_bytes(picture.getvalue())
        encoded = base64.b64encode(picture.getvalue()).decode()
        figures.append(f'<img alt="{name} of the clustering" src="data:image/png;base64,{encoded}">')
    page = folder / "report.html"
    page.write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>kernelweave: digits</title>'
        '<meta name="viewport" content="width=device-width"><style>body{font:16px/1.5 system-ui,sans-serif;'
        "max-width:76rem;margin:2rem auto;padding:0 1rem}main{display:grid;gap:1rem;"
        "grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr))}img{width:100%}"
        "pre{background:#f4f4f2;padding:1rem;overflow:auto;line-height:1.3}</style>"
        "<h1>Handwritten digits, clustered without labels</h1>"
        f"<pre>{html.escape(chr(10).join(text))}</pre><main>{''.join(figures)}</main></html>",
        encoding="utf-8",
    )
    return page


if __name__ == "__main__":
    main()
