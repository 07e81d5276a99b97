"""Access to the columns of the rows, for tables and pages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelweave.errors import InvalidInputError, MissingPackageError, ResultsError
from kernelweave.experiments.rows import COLUMNS, settled

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["GridShares", "grid_shares", "means_of_sets", "measured_sizes", "read_cells", "read_results", "setting_text"]

_WORDS = ("dataset", "method", "selection", "parameters", "kernel", "preprocessing", "seed", "split", "outcome")
_FIGURES = ("fraction", "acc", "nmi", "purity", "evidence", "seconds", "n_iter", "moved")
_BEFORE = {"preprocessing": "none", "moved": float("nan"), "commit": ""}  # of rows from before these were stored
_PREPROCESSED = {"unit": "unit rows", "zscore": "standardised"}


def read_cells(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with figures as floats, and with labels (%), protocol, rule and setting as tables show them.

    The column "settled" is whether the run converged, or its labels stayed the same with twice the iterations.
    """
    if missing := [column for column in (*_WORDS, *_FIGURES) if column not in rows]:
        msg = f"The rows have no column {', '.join(missing)}: pass the rows that an experiment wrote."
        raise InvalidInputError(msg)
    searched = zip(rows["parameters"], rows["kernel"], rows["preprocessing"], strict=True)
    figures = rows.assign(**{name: rows[name].astype(float) for name in _FIGURES})  # a column of None has dtype object
    return figures.assign(
        labels=(100 * figures["fraction"]).round(),
        protocol=rows["split"],
        rule=rows["selection"],
        setting=[setting_text(*setting) for setting in searched],
        settled=[
            settled(str(outcome), moved) for outcome, moved in zip(rows["outcome"], figures["moved"], strict=True)
        ],
    )


def setting_text(parameters: str, kernel: str, preprocessing: str = "none") -> str:
    """Return a setting as text, such as "alpha=1e-05, beta=100; linear; unit rows"."""
    named = ", ".join(f"{name}={_short(value)}" for name, value in json.loads(parameters).items())
    return "; ".join(filter(None, [named, kernel, _PREPROCESSED.get(preprocessing, "")])) or "defaults"


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def means_of_sets(runs: pd.DataFrame, metric: str, size: int) -> list[float]:
    """Return the mean of each set of `size` runs, taken in the order of their seeds; a rest is left out."""
    values = runs.sort_values("seed")[metric].to_numpy(dtype=float)
    return [float(values[i : i + size].mean()) for i in range(0, len(values) - size + 1, size)]


def measured_sizes(rows: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Return instances, features and classes of every data set of the rows."""
    columns = {"instances": "n_samples", "features": "n_features", "classes": "n_classes"}
    if missing := [column for column in ("dataset", *columns.values()) if column not in rows]:
        msg = f"The rows have no column {', '.join(missing)}: pass the rows that an experiment wrote."
        raise InvalidInputError(msg)
    first = rows.drop_duplicates("dataset").set_index("dataset")
    return {
        str(dataset): {name: int(first.at[dataset, column]) for name, column in columns.items()}
        for dataset in first.index
    }


@dataclass(frozen=True, slots=True)
class GridShares:
    """The result of a search over parameters: its size, its best, and the shares of settings far from and near it."""

    n_settings: int
    best: float
    below_half: float
    near: float
    region: dict[str, list[str]]  # for every parameter, the values that have a setting near the best


def grid_shares(rows: pd.DataFrame, near: float = 0.05) -> GridShares:
    """Return the shares of a search; a setting that failed counts as below half."""
    frame = read_cells(rows)
    acc = frame.groupby("parameters", sort=False)["acc"].mean()
    best = float(acc.max())
    close = [json.loads(parameters) for parameters in acc.index[acc >= best - near]]
    every = [json.loads(parameters) for parameters in acc.index]
    varied = [name for name in every[0] if len({str(setting[name]) for setting in every}) > 1]
    region = {name: [_short(value) for value in sorted({setting[name] for setting in close})] for name in varied}
    return GridShares(len(acc), best, float(1 - (acc >= best / 2).mean()), len(close) / len(acc), region)


def read_results(folder: Path) -> pd.DataFrame | None:
    """Return the rows in the folder of an experiment, or None if it has none.

    Rows from before the preprocessing and the commit were stored get "none", which it was, and an empty commit.
    """
    pandas = _pandas()
    for name, read in (
        ("results.parquet", pandas.read_parquet),
        ("results.csv", partial(pandas.read_csv, dtype=COLUMNS)),
    ):
        path = folder / name
        if not path.is_file():
            continue
        try:
            rows = read(path)
        except Exception as error:  # pyarrow and pandas raise many kinds of errors
            msg = (
                f"{path} cannot be read ({type(error).__name__}: {error}). Run the experiment again, or fetch the file."
            )
            raise ResultsError(msg) from error
        rows = rows.assign(**{name: value for name, value in _BEFORE.items() if name not in rows})
        present = {column: kind for column, kind in COLUMNS.items() if column in rows}
        words = {column: "" for column, kind in present.items() if kind == "string"}
        return rows.astype(present).fillna(words)
    return None


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        msg = 'Reading results needs pandas, which is not installed: run pip install "kernelweave[cli]".'
        raise MissingPackageError(msg) from error
    return pandas
