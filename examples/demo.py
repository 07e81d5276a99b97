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
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits

mpl.use("Agg")
import matplotlib.pyplot as plt

from kernelweave import SMKLClustering, WeaveClassifier, WeaveClustering
from kernelweave.datasets import label_split, mask_labels
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information, purity
from kernelweave.plots import plot_convergence, plot_embedding, plot_graph, plot_weights

LABELLED = 0.03


def main() -> None:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the figures and the report")
    parser.add_argument("--samples", type=int, default=None, help="use only the first so many digits")
    arguments = parser.parse_args()
    X, y = (part[: arguments.samples] for part in load_digits(return_X_y=True))
    labelled = label_split(y, LABELLED, random_state=0)

    print(f"{len(X)} handwritten digits, twelve kernels, no labels ...")
    weave, weave_seconds = timed(WeaveClustering(10, random_state=0), X)
    smkl, smkl_seconds = timed(SMKLClustering(10, random_state=0, verbose=1), X)
    print(f"... and now from {labelled.sum()} labels ...")
    classes, class_seconds = timed(WeaveClassifier(), X, mask_labels(y, labelled))

    right = np.mean(classes.transduction_[~labelled] == y[~labelled])
    text = [
        *clustering_report("WeaveClustering, the practical default", weave, y, weave_seconds),
        *weight_bars(weave),
        "",
        *clustering_report("SMKLClustering, the paper's method", smkl, y, smkl_seconds),
        f"  {smkl.n_iter_} iterations: {smkl.outcome_.value}",
        "",
        f"WeaveClassifier, from {labelled.sum()} labels ({class_seconds:.1f} s)",
        f"  recognises {right:.1%} of the other {(~labelled).sum()} digits",
    ]
    print("\n" + "\n".join(text))
    pictures = {"weights": plot_weights, "graph": plot_graph, "embedding": plot_embedding}
    figures = [draw(arguments.out, name, plot, weave) for name, plot in pictures.items()]
    figures.append(draw(arguments.out, "convergence", plot_convergence, smkl))
    print(f"\nFigures and report: {write_report(arguments.out, figures, text)}")


def timed(model: Any, *data: Any) -> tuple[Any, float]:
    """Fit the model and take the time."""
    begun = perf_counter()
    return model.fit(*data), perf_counter() - begun


def clustering_report(title: str, model: Any, y: np.ndarray, seconds: float) -> list[str]:
    """Say what was found, in a few lines."""
    sizes = np.sort(np.bincount(model.labels_))[::-1]
    return [
        f"{title} ({seconds:.1f} s)",
        f"  sizes {' '.join(map(str, sizes))}",
        "  agreement with the true digits, which it did not see: "
        f"accuracy {clustering_accuracy(y, model.labels_):.3f}, "
        f"NMI {normalized_mutual_information(y, model.labels_):.3f}, purity {purity(y, model.labels_):.3f}",
    ]


def weight_bars(model: Any, width: int = 40) -> list[str]:
    """Draw the share of every kernel in the consensus as a bar, the largest first."""
    longest, top = max(map(len, model.kernel_names_)), model.kernel_shares_.max()
    lines = ["  share of each kernel in the consensus:"]
    for i in np.argsort(-model.kernel_shares_):
        share = model.kernel_shares_[i]
        lines.append(f"    {model.kernel_names_[i]:{longest}} {share:6.1%} {'█' * round(share / top * width) or '▏'}")
    return lines


def draw(folder: Path, name: str, plot: Any, model: Any) -> str:
    """Write a figure as a PNG, and return it as an image for the page."""
    folder.mkdir(parents=True, exist_ok=True)
    figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
    plot(model, ax=ax)
    picture = io.BytesIO()
    figure.savefig(picture, dpi=130)
    plt.close(figure)
    (folder / f"{name}.png").write_bytes(picture.getvalue())
    encoded = base64.b64encode(picture.getvalue()).decode()
    return f'<img alt="{name} of {type(model).__name__}" src="data:image/png;base64,{encoded}">'


def write_report(folder: Path, figures: list[str], text: list[str]) -> Path:
    """Write one page that shows the results and every figure."""
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
