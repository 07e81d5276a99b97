"""`kernelweave demo`: cluster and classify handwritten digits, with a report of each."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from kernelweave._shares import percent
from kernelweave.cli import _arguments as option

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from kernelweave._types import Array, Mask, Matrix

__all__ = ["demo"]

_PAGES = ("report.html", "classes.html")
_LABELLED = 0.03


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the reports.")] = Path("demo"),
    samples: Annotated[int | None, typer.Option(help="Use only the first N digits.", min=50)] = None,
    force: option.Force = False,
    quiet: option.Quiet = False,
) -> None:
    """Cluster scikit-learn's digits with twelve kernels, then classify them from a few labels; write two reports.

    kernelweave demo --out demo
    """
    from sklearn.datasets import load_digits

    from kernelweave import WeaveClassifier, WeaveClustering
    from kernelweave.cli._results import check_target, write_all
    from kernelweave.datasets import label_split, mask_labels
    from kernelweave.report import write_report

    check_target(out, _PAGES, force=force)
    X, y = (part[:samples] for part in load_digits(return_X_y=True))
    known = label_split(y, _LABELLED, random_state=0)
    ids = [f"digit {i}" for i in range(len(y))]
    clusters = _fitted(f"Clustering {len(X)} handwritten digits", WeaveClustering(10, random_state=0), X, quiet=quiet)
    text = f"Classifying them from {known.sum()} labels"
    classes = _fitted(text, WeaveClassifier(), X, mask_labels(y, known), quiet=quiet)
    _tell(clusters, classes, y, known)
    written = write_all(
        out,
        force=force,
        writers={
            "report.html": lambda path: write_report(
                clusters, path, ids=ids, y=y, title="Handwritten digits, clustered without labels"
            ),
            "classes.html": lambda path: write_report(
                classes, path, ids=ids, y=y, labelled=known, title=f"Handwritten digits, from {known.sum()} labels"
            ),
        },
    )
    typer.echo("\nOpen in a browser: " + " and ".join(map(str, written.values())))


def _fitted(what: str, model: BaseEstimator, X: Matrix, y: Array | None = None, *, quiet: bool) -> BaseEstimator:
    from kernelweave.cli._working import working

    begun = perf_counter()
    with working(what, quiet=quiet):
        model.fit(X, y)
    typer.echo(f"{what}: {type(model).__name__}, {perf_counter() - begun:.1f} s")
    return model


def _tell(clusters: BaseEstimator, classes: BaseEstimator, y: Array, known: Mask) -> None:
    import numpy as np

    from kernelweave.metrics import clustering_accuracy, normalized_mutual_information, purity

    found = clusters.labels_
    typer.echo(
        "  agreement of the clusters with the true digits, which were not used: accuracy "
        f"{clustering_accuracy(y, found):.3f}, NMI {normalized_mutual_information(y, found):.3f}, "
        f"purity {purity(y, found):.3f}"
    )
    typer.echo("  share of each kernel in the consensus:")
    for i in np.argsort(-clusters.kernel_shares_, kind="stable"):
        share = clusters.kernel_shares_[i]
        bar = "█" * round(40 * share / clusters.kernel_shares_.max()) or "▏"
        typer.echo(f"    {clusters.kernel_names_[i]:22} {percent(share, 1):>6} {bar}")
    right = np.mean(classes.transduction_[~known] == y[~known])
    typer.echo(f"  of the {(~known).sum()} digits without a label, {percent(right, 1)} are recognised")
