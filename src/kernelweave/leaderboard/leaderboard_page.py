"""The leaderboard as one HTML page that needs nothing else: sortable, filterable, light and dark."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from jinja2 import Environment
from markupsafe import Markup

from kernelweave.leaderboard.protocol import CONDITION_WORDS, CONDITIONS, Condition
from kernelweave.leaderboard.rank_diagram import draw_ranks
from kernelweave.leaderboard.standings import TIE, Metric, Standings, comparable, standings
from kernelweave.leaderboard.verdicts import (
    data_table,
    given_to,
    protocol_words,
    provenance,
    reference_of,
    summary,
    unfinished,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["leaderboard_html"]

_METRICS: tuple[Metric, ...] = ("acc", "nmi", "ari")


def leaderboard_html(
    rows: pd.DataFrame,
    *,
    held_out: Sequence[str] = (),
    title: str = "Leaderboard of clustering without labels",
) -> str:
    """Return the page of the rows of `run_benchmark`.

    Parameters
    ----------
    rows : pandas.DataFrame
        The rows.
    held_out : sequence of str, optional
        Data sets that were not used to choose any default; they can be shown apart.
    title : str
        The heading.

    Returns
    -------
    page : str
    """
    rows = comparable(rows)
    present = [condition for condition in CONDITIONS if (rows["condition"] == condition).any()]
    found = {condition: standings(rows, condition, reference=reference_of(condition)) for condition in present}
    template = Environment(autoescape=True).from_string(
        resources.files("kernelweave.leaderboard").joinpath("assets/leaderboard.html").read_text(encoding="utf-8")
    )
    return template.render(
        title=title,
        summary=summary(rows, held_out),
        diagrams=[{"condition": c, "svg": Markup(draw_ranks(one))} for c, one in found.items()],
        protocol=protocol_words(rows),
        prepared=_prepared(rows),
        sets=data_table(rows),
        unfinished=unfinished(rows),
        provenance=provenance(rows),
        data=Markup(_json(rows, found, held_out)),
    )


def _json(rows: pd.DataFrame, found: Mapping[Condition, Standings], held_out: Sequence[str]) -> str:
    names = list(dict.fromkeys(name for one in found.values() for name in one.datasets))
    first = rows.drop_duplicates("dataset").set_index("dataset")
    part = {name: "held out" if name in held_out else "used for defaults" for name in names}
    content = {
        "tie": TIE,
        "conditions": [[c, CONDITION_WORDS[c]] for c in CONDITIONS if c in found],  # in the order of the protocol
        "parts": sorted(set(part.values())) if len(set(part.values())) > 1 else [],
        "datasets": [
            {"name": n, "domain": first.loc[n, "domain"], "views": int(first.loc[n, "n_views"]), "part": part[n]}
            for n in names
        ],
        "tables": {condition: _table(rows, condition, one) for condition, one in found.items()},
    }
    # a script ends at "</", also within a string
    return json.dumps(content, allow_nan=False).replace("</", "<\\/")


def _table(rows: pd.DataFrame, condition: Condition, one: Standings) -> dict[str, Any]:
    methods = [row.method for row in one.rows]
    some = rows[(rows["condition"] == one.condition) & rows["outcome"].isin(("FINISHED", "MAX_ITER"))]
    cell = some.groupby(["method", "dataset"])
    means = cell[[*_METRICS, "seconds"]].mean().assign(mib=cell["mib"].max())  # a peak, as in the tables

    def cells(column: str) -> list[list[float | None]]:
        return [[_number(means[column].get((m, d))) for d in one.datasets] for m in methods]

    tables: dict[str, Any] = {column: cells(column) for column in (*_METRICS, "seconds", "mib")}
    words = CONDITION_WORDS[condition]
    return {
        "methods": methods,
        "datasets": one.datasets,
        "refused": one.refused,
        "words": words,
        "reference": one.reference,
        **tables,
    }


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else round(float(value), 6)


def _prepared(rows: pd.DataFrame) -> list[dict[str, str]]:
    return [
        {
            "method": str(row.method),
            "prepared": str(row.prepared),
            "parameters": str(row.parameters) if row.parameters != "{}" else "defaults",
        }
        for row in given_to(rows)
    ]
