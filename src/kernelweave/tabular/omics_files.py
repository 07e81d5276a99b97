"""Annotated data: AnnData (.h5ad) and MuData (.h5mu) files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from kernelweave.memory import check_memory
from kernelweave.tabular.packages import need
from kernelweave.tabular.table_file import TableFile, named_rows
from kernelweave.tabular.wishes import Wishes

__all__ = ["read_h5ad", "read_h5mu"]


def read_h5ad(path: Path, wishes: Wishes) -> TableFile:
    """Return the matrix X of an AnnData file; columns of `obs` may be the ids and the labels."""
    data = need("anndata", f"{path}: AnnData files are", "anndata").read_h5ad(path)
    return named_rows(_observations(data, path, wishes), path, wishes)


def read_h5mu(path: Path, wishes: Wishes) -> dict[str, TableFile]:
    """Return the modalities of a MuData file as views."""
    mudata = need("mudata", f"{path}: MuData files are", "anndata")
    with mudata.set_options(pull_on_update=False):  # otherwise it warns that this will be the default
        data = mudata.read_h5mu(path)
    tables = {str(name): _observations(part, path, wishes) for name, part in data.mod.items()}
    note = f"{path}: its {len(tables)} modalities are views: {', '.join(tables)}."
    for name, table in tables.items():
        _add_shared(table, data.obs, data.mod[name].obs_names, wishes)
    return {
        name: named_rows(TableFile(table.frame, table.ids, (note,), table.title, table.columns), path, wishes)
        for name, table in tables.items()
    }


def _observations(data: Any, path: Path, wishes: Wishes) -> TableFile:
    shape = getattr(data, "shape", None)
    if shape is not None:
        advice = "select variables in Python first, such as the highly variable ones"
        check_memory(8 * math.prod(shape), what=f"{path}: its matrix of shape {shape}", advice=advice)
    table = data.to_df()
    table.columns = table.columns.astype(str)
    for name in wishes.named & set(data.obs):
        table[name] = data.obs[name]
    title = data.obs_names.name
    columns = (*map(str, data.obs), *([] if title is None else [str(title)]))
    return TableFile(table.reset_index(drop=True), list(map(str, data.obs_names)), (), title, columns)


def _add_shared(table: TableFile, obs: Any, names: Any, wishes: Wishes) -> None:
    """Add columns of the observations of all modalities that options name, such as the labels."""
    for name in wishes.named & set(obs) - set(table.frame):
        table.frame[name] = obs[name].reindex(names).to_numpy()
