"""Why SMKL's whole graph fails with few labels: `python -m benchmarks.few_labels`.

All 1797 digits with 5 labels per class. SMKLClassifier learns a graph, and labels are spread on it in several ways.
Prints the table and stores it in benchmarks/results/few_labels.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_digits

from benchmarks._commits import computed, stamp
from benchmarks._sets import ROOT
from benchmarks._tables import markdown, show
from benchmarks.family_defaults import DRAWS, LABELS, labelled
from kernelweave import SMKLClassifier
from kernelweave.core.graphs.edges import strongest_edges
from kernelweave.core.graphs.propagation import (
    class_mass_normalised,
    consistent_scores,
    harmonic_scores,
    without_loops,
)

Spread = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

WAYS: dict[str, Spread] = {
    "harmonic, all edges": lambda S, Y, known: harmonic_scores(S, Y, known).scores,
    "with class mass": lambda S, Y, known: class_mass_normalised(harmonic_scores(S, Y, known).scores, known),
    "LGC": lambda S, Y, known: consistent_scores(S, Y, known).scores,
    "30 entries per row": lambda S, Y, known: harmonic_scores(strongest_edges(S, 30), Y, known).scores,
    "15 entries per row": lambda S, Y, known: harmonic_scores(strongest_edges(S, 15), Y, known).scores,
    "15 with class mass": lambda S, Y, known: class_mass_normalised(
        harmonic_scores(strongest_edges(S, 15), Y, known).scores, known
    ),
}


def row(scale: str, gamma: float) -> dict[str, object]:
    """Return the accuracy of every way, and what the graph is like, means over the draws of labels."""
    X, y = load_digits(return_X_y=True)
    found: dict[str, list[float]] = {}
    for draw in range(DRAWS):
        known = labelled(y, draw)
        Y = np.where(known[:, None], np.eye(10)[y], 0)
        model = SMKLClassifier(scale=scale, gamma=gamma, n_neighbors="all").fit(X, np.where(known, y, -1))
        edges = without_loops(model.graph_)
        facts = {
            "pairs joined": np.mean(edges > 0),
            "weight within classes": edges[y[:, None] == y].sum() / edges.sum(),
            "deviation of scores": model.embedding_[~known].std(axis=0).mean(),
        }
        for name, spread in WAYS.items():
            facts[name] = np.mean(spread(model.graph_, Y, known)[~known].argmax(axis=1) == y[~known])
        for name, value in facts.items():
            found.setdefault(name, []).append(float(value))
    return {"scale": scale, "gamma": gamma} | {name: float(np.mean(values)) for name, values in found.items()}


def main() -> None:
    """Print the table and store it."""
    rows = [row(scale, gamma) for scale in ("none", "unit", "zscore") for gamma in (1, 0.1)]
    show(rows)
    head = (
        "# SMKL with few labels\n\n"
        f"Written by `python -m benchmarks.few_labels`: SMKLClassifier on all digits, {LABELS} labels per class, mean "
        f"of {DRAWS} draws. Accuracy on the unlabelled samples by how the labels spread on the learned graph.\n\n"
    )
    stamp("few_labels", "all")
    path = ROOT / "benchmarks" / "results" / "few_labels.md"
    path.write_text(f"{head}{markdown(rows)}\n{computed('few_labels')}\n")


if __name__ == "__main__":
    main()
