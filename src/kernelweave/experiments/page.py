"""The page on the reproduction, from committed rows: `python -m kernelweave.experiments.page RESULTS --out FILE`.

The words are here, every figure is computed from the rows and the published tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from kernelweave.errors import ResultsError
from kernelweave.experiments import findings
from kernelweave.experiments.reading import read_results
from kernelweave.experiments.render import to_markdown
from kernelweave.experiments.spec import load_spec
from kernelweave.experiments.tables import tables_of, write_atomically, write_tables

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["add_run", "main", "write_page"]

_HEAD = """# Reproducing the paper

<!-- Written by `python -m kernelweave.experiments.page`; change the rows or that program, not this page. -->

Every figure on this page was computed by the shipped code: the rows behind it are in `experiments/results/`, and
`kernelweave reproduce table2 --preset full` (or `table1`, `table3`, `figure1`, `leak`) computes them again. Published
figures are those of Kang, Lu, Yi and Xu (IJCAI 2018), as printed.

Rules by which a figure was chosen:

- **oracle**: the best setting of a search, chosen by the labels that score it. The published figures seem to be of this
  kind, so they are compared with it; nobody without labels can have it. The number of settings is always printed.
- **fixed**: one setting for all data sets.
- **unsupervised**: a setting chosen from the data without labels.

Two figures count as the same here when they are at most {near} apart.
"""

_PROTOCOL = """## Where the protocol differs

The paper's text, the program released with it and this library are three different things:

- **Kernels.** Printed: `exp(-d²/(t d_max²))`, scaled by the largest squared distance. Released, and used here:
  `exp(-d²/(2 t² d_max²))`, scaled to `K_ij / sqrt(K_ii K_jj)`.
- **Algorithm.** Printed: S, K, w, P from a random S. Released (the scheme "released" here): other orders, from S = I,
  unsquared distances, S and K clipped at 0 and symmetrised. The library's own default is the safeguarded scheme.
- **Parameters.** The paper does not say which values were searched. What was searched here is in the experiments'
  files, and how many settings that makes is in the tables.
- **Labels drawn.** The text says at random; the released program reuses one set of positions in every class ("same
  positions"), which is followed here and named with the table.
- **Rows.** The released semi-supervised program misaligns rows, see the leak. The library never does.
- **Purity.** The released program swaps its arguments; the paper prints none.
- **Data.** YEAST is UCI's yeast with the name of the sequence one-hot encoded. Sizes other than the printed ones are
  named with Table 1.
"""

_LEAK = """The semi-supervised program released with the paper stacks its label scores as [labelled; unlabelled], then
takes row i for sample i. Unless labelled samples come first, samples learn from the row of another; in a file that is
sorted by class the graph is thereby pulled towards the order of the file, that is towards the classes to be found. The
wrong order lives in `experiments/leak.py` alone, for this demonstration; it equals the released program's own values
to the last digits. With labelled samples first the bug has no effect; shuffled, nothing is left to leak.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """One experiment of the page: its name, its heading, and what is said of its rows."""

    name: str
    heading: str
    say: Callable[[pd.DataFrame], Sequence[str]]
    words: str = ""


PARTS = (
    Part("table1", "Table 1: the data", findings.sizes),
    Part("table2", "Table 2: clustering", findings.clustering),
    Part("table3", "Table 3: semi-supervised classification", findings.classification),
    Part("figure1", "Figure 1: sensitivity to the parameters", findings.sensitivity),
    Part("leak", "The leak", findings.leak, _LEAK),
)


def write_page(results: str | Path) -> str:
    """Return the page on what is in a folder of results.

    Parameters
    ----------
    results : path
        Folder with one folder for each experiment, as `kernelweave reproduce --out` writes them.

    Returns
    -------
    page : str
        Markdown. Of an experiment without rows it says that there are none.
    """
    folder = Path(results)
    rows = {part.name: read_results(folder / part.name) for part in PARTS}
    lines = [_HEAD.format(near=f"{findings.NEAR:g}"), _summary(rows)]
    for part in PARTS:
        lines += [f"## {part.heading}\n", *([part.words] if part.words else []), _part(part, rows[part.name], folder)]
    lines += [_PROTOCOL, "## Where the rows come from\n", _provenance(rows)]
    return "\n".join(lines).rstrip() + "\n"


def _summary(rows: dict[str, pd.DataFrame | None]) -> str:
    said = [f"- **{part.heading}.** {_first(part, rows[part.name])}" for part in PARTS]
    return "\n".join(["## In short\n", *said, ""])


def _first(part: Part, rows: pd.DataFrame | None) -> str:
    if rows is None:
        return _absent(part)
    presets = sorted(set(rows["preset"]) - {"full"})
    short = f" (Rows of the preset {', '.join(presets)}: less than the paper's protocol.)" if presets else ""
    return part.say(rows)[0] + short


def _absent(part: Part) -> str:
    return f"There are no rows of `{part.name}` in this repository yet."


def _part(part: Part, rows: pd.DataFrame | None, folder: Path) -> str:
    if rows is None:
        return _absent(part) + "\n"
    said = "\n".join(f"- {sentence}" for sentence in part.say(rows))
    tables = to_markdown(tables_of(rows, part.name, load_spec(part.name).kind))
    return f"{said}\n\n{tables}{_pictures(part, folder)}"


def _pictures(part: Part, folder: Path) -> str:
    """Return links to the committed pictures, relative to the folder of the documents beside that of the results."""
    found = sorted(folder.joinpath(part.name).glob("*.png"))
    return "".join(f"\n![{part.heading}](../experiments/results/{part.name}/{path.name})\n" for path in found)


def _provenance(rows: dict[str, pd.DataFrame | None]) -> str:
    lines = [
        "| experiment | preset | rows | failed | hours of computing | versions |",
        "| :-- | :-- | --: | --: | --: | :-- |",
    ]
    for name, frame in rows.items():
        if frame is None:
            lines.append(f"| {name} | – | 0 | – | – | – |")
            continue
        lines.append(f"| {name} | {' | '.join(findings.provenance(frame))} |")
    return "\n".join(lines) + "\n"


def add_run(run: Path, results: Path) -> None:
    """Put the rows of a run, small enough to commit, and its tables into its folder of the results."""
    rows = read_results(run)
    if rows is None or not len(rows):
        msg = f"{run} has no results.parquet with rows: run the experiment with --out {run} first."
        raise ResultsError(msg)
    spec = load_spec(rows["experiment"].iloc[0], rows["preset"].iloc[0])
    folder = results / spec.name
    folder.mkdir(parents=True, exist_ok=True)
    buffer = BytesIO()
    # the key follows from the other columns, and is what does not compress
    small = rows.drop(columns="key").assign(seconds=rows["seconds"].round(3))
    small.to_parquet(buffer, index=False, compression="zstd", compression_level=19)
    write_atomically(folder / "results.parquet", buffer.getvalue())
    write_tables(rows, spec, folder)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m kernelweave.experiments.page", description=__doc__)
    parser.add_argument("results", type=Path, help="folder with one folder of rows for each experiment")
    parser.add_argument("--add", type=Path, action="append", default=[], metavar="RUN", help="first add this run")
    parser.add_argument("--out", type=Path, required=True, help="the Markdown file to write")
    chosen = parser.parse_args(arguments)
    for run in chosen.add:
        add_run(run, chosen.results)
    write_atomically(chosen.out, write_page(chosen.results).encode())


if __name__ == "__main__":
    main()
