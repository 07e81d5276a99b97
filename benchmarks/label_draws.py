"""Classes from few labels, by how the labels were drawn: `python -m benchmarks.label_draws [--sets ...]`.

Labels are drawn as many of each class, or at random, so that classes have different numbers of them. Stored in
benchmarks/results/label_draws.json; label_draws.md shows the tables.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks._sets import MORE, OTHERS, PAPER, DataSet, load
from benchmarks._stored import Page, Rows, line
from benchmarks.calibration import binned, reliability
from kernelweave import WeaveClassifier

SETS = PAPER + OTHERS + MORE
WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "class mass": {"class_mass": True},
    "harmonic": {"propagation": "harmonic"},
    "lgc": {"propagation": "lgc"},
}
NUMBERS = (1, 3, 10)  # labels per class, in the mean if drawn at random
DRAWS = 3


def partial_labels(y: np.ndarray, each: int, rng: np.random.Generator, *, at_random: bool) -> np.ndarray:
    """Return the labels of some samples, -1 for the others; at least one sample of a class stays unlabelled."""
    rows = np.zeros(0, dtype=int)
    if at_random:
        while len(np.unique(y[rows])) < 2:  # a classifier needs two classes
            rows = rng.choice(len(y), min(each * len(np.unique(y)), len(y) // 2), replace=False)
    else:
        members = [rng.permutation(np.flatnonzero(y == label)) for label in np.unique(y)]
        rows = np.concatenate([some[: min(each, len(some) - 1)] for some in members])
    known = np.isin(np.arange(len(y)), rows)
    return np.where(known, np.unique(y, return_inverse=True)[1], -1)


def measure(data: DataSet) -> dict[str, Any]:
    """Return the accuracy of every way on the unlabelled samples, and the reliability of the default."""
    X, options = data.for_weave()
    codes = np.unique(data.y, return_inverse=True)[1]
    found: dict[str, Any] = {}
    for at_random in (False, True):
        for each in NUMBERS:
            name = f"{each} per class at random" if at_random else f"{each} of each class"
            right: dict[str, list[float]] = {way: [] for way in WAYS}
            bins: list[Any] = []
            for draw in range(DRAWS):
                y = partial_labels(data.y, each, np.random.default_rng(draw), at_random=at_random)
                for way, given in WAYS.items():
                    model = WeaveClassifier(**options, **given, dtype=data.dtype).fit(X, y)
                    hits = (model.transduction_ == codes)[y < 0]
                    right[way].append(float(hits.mean()))
                    if way == "default":
                        bins.append(binned(model.label_distributions_[y < 0].max(axis=1), hits))
            accuracy = {way: round(float(np.mean(values)), 4) for way, values in right.items()}
            found[name] = {"accuracy": accuracy, "bins": np.sum(bins, axis=0).round(4).tolist()}
    return found


def table(rows: Rows) -> str:
    """Return the mean accuracy of every way by the draw, that of the default by data set, and its reliability."""
    sets = rows["WeaveClassifier"]
    names = [name for name in SETS if name in sets]
    draws = list(sets[names[0]])
    parts = [line([f"mean accuracy of {len(names)} sets", *draws]), line(["---"] * (len(draws) + 1))]
    for way in WAYS:
        means = [np.mean([sets[name][draw]["accuracy"][way] for name in names]) for draw in draws]
        parts.append(line([way, *(f"{mean:.3f}" for mean in means)]))
    parts += ["", line(["default − harmonic", *draws]), line(["---"] * (len(draws) + 1))]
    for name in names:
        cells = [sets[name][draw]["accuracy"] for draw in draws]
        gains = (f"{cell['default']:.3f} ({cell['default'] - cell['harmonic']:+.3f})" for cell in cells)
        parts.append(line([name, *gains]))
    bins = {name: np.sum([sets[name][draw]["bins"] for draw in draws], axis=0) for name in names}
    return "\n".join([*parts, "", "The largest probability of the default, over all draws:", "", reliability(bins)])


PAGE = Page(
    "label_draws",
    "Few labels, drawn in two ways",
    f"Written by `python -m benchmarks.label_draws`: WeaveClassifier, accuracy on the unlabelled samples, mean of "
    f"{DRAWS} draws. Labels are drawn as many of each class, or as many in all but at random. `default` balances the "
    "classes; `harmonic` has the harmonic scores as they are, `class mass` those scaled to the shares of the labels, "
    "`lgc` local and global consistency. The balance was chosen on these sets: none of them is held out.",
    table,
)


def main() -> None:
    """Run the sets that were asked for and write both result files."""
    warnings.simplefilter("ignore")  # samples that no label reaches count as they were guessed
    arguments = PAGE.parser(SETS).parse_args()
    for name in arguments.sets:
        found = measure(load(name))
        PAGE.keep("WeaveClassifier", name, found)
        print(name, {draw: figures["accuracy"] for draw, figures in found.items()}, flush=True)
    PAGE.write()


if __name__ == "__main__":
    main()
