"""New samples against a refit, and accuracy against confidence: `python -m benchmarks.new_samples [sets]`.

Fits on 80 % of a data set, predicts the rest, and compares with a fit on all of it. A refit moves clusters even for
the samples that both fits have seen, so three figures are printed: agreement (ARI) of the predicted samples with the
refit, agreement of the training samples with it, which no rule for new samples can be expected to beat, and agreement
of the predictions with the union's graph when the training samples keep their clusters there (harmonic extension).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from benchmarks._commits import computed, stamp
from benchmarks._sets import load
from kernelweave import SMKLClustering, Views, WeaveClassifier, WeaveClustering
from kernelweave.core.graphs.propagation import harmonic_scores

AGREEMENT = ("digits", "coil20", "mfeat")
CONFIDENCE = (
    *("digits", "coil20", "jaffe", "yale", "tr11", "orl", "bbcsport", "3sources", "msrcv1"),
    *("webkb", "breast_tcga"),  # not among those that the measure was chosen on
)
SPLITS = 3
_SMKL_UP_TO = 1500


def main(names: list[str]) -> None:
    """Print both tables, for all sets or some."""
    warnings.simplefilter("ignore")
    print("| data set | model | split | new, refit | training, refit | new, union's graph | new as training samples |")
    print("|---|---|---|---|---|---|---|")
    for name in names or AGREEMENT:
        _rows(name, _agreement)
    print("\n| data set | model | split | new = refit | accuracy new | accuracy refit |\n|---|---|---|---|---|---|")
    for name in names or AGREEMENT:
        _rows(name, _classes)
    print("\n| data set | model | ACC | least sure quarter | second | third | surest quarter |")
    print("|---|---|---|---|---|---|---|")
    for name in names or CONFIDENCE:
        _confidence(name)
    if not names:
        stamp("new_samples", "all")
        print(f"\n{computed('new_samples')}")


def samples(views: list[Any], rows: Any) -> Any:
    """Return some of the samples as an estimator takes them: one table, or Views."""
    return views[0][rows] if len(views) == 1 else Views([X[rows] for X in views])


def _split(n: int, split: int) -> tuple[Any, Any]:
    order = np.random.default_rng(split).permutation(n)
    return np.sort(order[: int(0.8 * n)]), np.sort(order[int(0.8 * n) :])


def _models(name: str, c: int, n: int) -> list[Any]:
    weave = WeaveClustering(c, random_state=0, dtype="float32" if name == "mfeat" else None)
    return [weave, SMKLClustering(c, random_state=0)] if n <= _SMKL_UP_TO else [weave]


def _rows(name: str, compare: Callable[[str, int], dict[str, Any]]) -> None:
    """Print the figures of every split, and their means if there are several."""
    splits = [compare(name, split) for split in range(SPLITS if name != "mfeat" else 1)]
    for split, found in enumerate(splits):
        for model, figures in found.items():
            _row(name, model, split, figures)
    for model in splits[0] if len(splits) > 1 else ():
        _row(name, model, "mean", np.mean([found[model] for found in splits], axis=0))


def _agreement(name: str, split: int) -> dict[str, Any]:
    data = load(name)
    old, new = _split(len(data.y), split)
    figures = {}
    for model in _models(name, data.c, len(data.y)):
        part = model.fit(samples(data.views, old))
        labels, found = part.labels_, part.predict(samples(data.views, new))
        rule = part._graph_model.scores(part._read_again(samples(data.views, old))).argmax(axis=1)
        whole = model.fit(samples(data.views, np.r_[old, new]))
        known = np.arange(len(data.y)) < len(old)
        Y = np.zeros((len(data.y), data.c), dtype=whole.graph_.dtype)
        Y[known] = np.eye(data.c)[labels]
        kept = harmonic_scores(whole.graph_, Y, known).scores[~known].argmax(axis=1)
        figures[type(model).__name__] = (
            adjusted_rand_score(found, whole.labels_[~known]),
            adjusted_rand_score(labels, whole.labels_[known]),
            adjusted_rand_score(found, kept),
            np.mean(rule == labels),
        )
    return figures


def _classes(name: str, split: int) -> dict[str, Any]:
    data = load(name)
    old, new = _split(len(data.y), split)
    order = np.r_[old, new]
    y = np.where(np.random.default_rng(split).random(len(order)) < 0.1, data.y[order], -1)
    y[len(old) :] = -1
    model = WeaveClassifier(dtype="float32" if name == "mfeat" else None)
    found = model.fit(samples(data.views, old), y[: len(old)]).predict(samples(data.views, new))
    whole = model.fit(samples(data.views, order), y).transduction_[len(old) :]
    figures = np.mean(found == whole), np.mean(found == data.y[new]), np.mean(whole == data.y[new])
    return {"WeaveClassifier": figures}


def _confidence(name: str) -> None:
    data = load(name)
    for model in _models(name, data.c, len(data.y)):
        model.fit(samples(data.views, np.arange(len(data.y))))
        correct = matched(data.y, model.labels_)
        quarters = np.array_split(np.argsort(model.confidence_, kind="stable"), 4)
        figures = [correct.mean(), *(correct[part].mean() for part in quarters)]
        _row(name, type(model).__name__, None, figures)


def _row(name: str, model: str, split: int | str | None, figures: Any) -> None:
    cells = [name, model, *([] if split is None else [str(split)]), *(f"{value:.3f}" for value in figures)]
    print(f"| {' | '.join(cells)} |", flush=True)


def matched(y: Any, labels: Any) -> Any:
    """Return which samples are in the cluster that is matched with their class."""
    y = np.unique(y, return_inverse=True)[1]
    counts = np.zeros((labels.max() + 1, y.max() + 1))
    np.add.at(counts, (labels, y), 1)
    match = dict(zip(*linear_sum_assignment(-counts), strict=True))
    return np.array([match.get(a) == b for a, b in zip(labels, y, strict=True)])


if __name__ == "__main__":
    main(sys.argv[1:])
