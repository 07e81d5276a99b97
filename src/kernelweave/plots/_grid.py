"""The rows of a parameter search, arranged for the plots."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kernelweave.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Grid", "Panel", "read_grid", "tick"]

_NAMES = {"acc": "ACC", "nmi": "NMI", "purity": "purity"}
_COLUMNS = ("dataset", "method", "parameters")


@dataclass(frozen=True, slots=True)
class Panel:
    """The values of one metric for one beta, of shape (n_gammas, n_alphas); NaN where there is no result."""

    metric: str
    beta: float
    values: npt.NDArray[np.float64]

    @property
    def name(self) -> str:
        """The name of the metric, as shown."""
        return _NAMES.get(self.metric, self.metric)


@dataclass(frozen=True, slots=True)
class Grid:
    """The rows of one method on one data set, laid out by alpha, gamma and beta."""

    dataset: str
    method: str
    alphas: tuple[float, ...]
    gammas: tuple[float, ...]
    betas: tuple[float, ...]
    panels: tuple[tuple[Panel, ...], ...]  # one row per metric, one column per beta

    def limits(self, metric: int) -> tuple[float, float]:
        """Return the smallest and largest value of a metric over all its panels, which share one scale."""
        values = np.concatenate([panel.values.ravel() for panel in self.panels[metric]])
        return float(np.nanmin(values)), float(np.nanmax(values))

    def __iter__(self) -> Iterator[tuple[int, int, Panel]]:
        return ((i, j, panel) for i, row in enumerate(self.panels) for j, panel in enumerate(row))


def read_grid(rows: pd.DataFrame, metrics: Sequence[str], betas: Sequence[float] | None) -> Grid:
    """Return the mean over seeds of every metric at every alpha, gamma and beta."""
    if not hasattr(rows, "pivot_table"):
        msg = (
            "plot_heatmap and plot_surface draw the rows of an experiment, a pandas DataFrame with the columns "
            f"{', '.join(_COLUMNS)}; got {type(rows).__name__}. run_experiment returns such rows."
        )
        raise InvalidInputError(msg)
    for column in (*_COLUMNS, *metrics):
        if column not in rows:
            msg = (
                f"The rows have no column {column!r}: pass the rows of an experiment, which have {', '.join(_COLUMNS)}."
            )
            raise InvalidInputError(msg)
    found = [_parameters(text) for text in rows["parameters"]]
    table = rows.assign(**{name: [p[name] for p in found] for name in ("alpha", "beta", "gamma")})
    dataset, method = (_only(table, name) for name in ("dataset", "method"))
    alphas, gammas, every = (tuple(sorted(table[name].unique())) for name in ("alpha", "gamma", "beta"))
    chosen = every if betas is None else tuple(betas)
    if missing := [beta for beta in chosen if beta not in every]:
        msg = f"The rows have no beta {missing[0]:g}: choose among {', '.join(f'{beta:g}' for beta in every)}."
        raise InvalidInputError(msg)
    panels = tuple(
        tuple(Panel(metric, beta, _pivot(table, metric, beta, alphas, gammas)) for beta in chosen) for metric in metrics
    )
    for row in panels:
        if not any(np.isfinite(panel.values).any() for panel in row):
            msg = (
                f"No row has a value of {row[0].metric}, so there is nothing to draw: see the rows' outcome and error."
            )
            raise InvalidInputError(msg)
    return Grid(dataset, method, alphas, gammas, chosen, panels)


def _parameters(text: str) -> dict[str, float]:
    parameters: dict[str, float] = json.loads(text)
    if missing := [name for name in ("alpha", "beta", "gamma") if not isinstance(parameters.get(name), int | float)]:
        msg = f"The parameters {text} have no number {missing[0]!r}: draw a method with alpha, beta and gamma, as SMKL."
        raise InvalidInputError(msg)
    return parameters


def _only(table: pd.DataFrame, column: str) -> str:
    found = table[column].unique()
    if len(found) != 1:
        msg = (
            f"The rows must have the same {column}, got {len(found)} ({', '.join(map(str, found[:5]))}): "
            f"pass rows[rows.{column} == ...]."
        )
        raise InvalidInputError(msg)
    return str(found[0])


def _pivot(
    table: pd.DataFrame, metric: str, beta: float, alphas: tuple[float, ...], gammas: tuple[float, ...]
) -> npt.NDArray[np.float64]:
    part = table[table["beta"] == beta]
    laid_out = part.pivot_table(index="gamma", columns="alpha", values=metric, aggfunc="mean", dropna=False)
    return np.asarray(laid_out.reindex(index=gammas, columns=alphas), dtype=float)


def tick(value: float) -> str:
    """Return a parameter's value as a short label: 10⁻⁴, 0.3, 25."""
    exponent = np.log10(value) if value > 0 else 0.0
    if abs(exponent) >= 3 and exponent == round(exponent):
        return rf"$10^{{{round(exponent)}}}$"
    return f"{value:g}"
