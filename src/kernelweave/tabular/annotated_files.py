"""Annotated data: AnnData (.h5ad) and MuData (.h5mu) files."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelweave.errors import InvalidInputError
from kernelweave.files.hdf5_structure import check_heaps
from kernelweave.runtime import check_memory
from kernelweave.tabular.missing_codes import without_codes
from kernelweave.tabular.packages import need, pandas
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.table_file import TableFile, named_rows

__all__ = ["ANNOTATED", "read_h5ad", "read_h5mu"]

ANNOTATED = (".h5ad", ".h5mu")


def read_h5ad(path: Path, options: ReadOptions) -> TableFile:
    """Return the matrix X of an AnnData file, a layer or a matrix of obsm; columns of `obs` may be ids and labels."""
    anndata = need("anndata", f"{path}: AnnData files are", "anndata")
    check_heaps(path)
    data = anndata.read_h5ad(path)
    options = options.settled([*data.obs, data.obs_names.name])
    return named_rows(_observations(data, str(path), options), path, options)


def read_h5mu(path: Path, options: ReadOptions) -> dict[str, TableFile]:
    """Return the modalities of a MuData file as views, or those that were asked for."""
    mudata = need("mudata", f"{path}: MuData files are", "anndata")
    check_heaps(path)
    with mudata.set_options(pull_on_update=False):  # otherwise it warns that this will be the default
        data = mudata.read_h5mu(path)
    shared = set.intersection(*(set(each.obs) for each in data.mod.values()))
    options = options.settled(shared)
    for name in options.modality:
        _need_key(name, data.mod, "modality", "modalities", str(path))
    chosen = options.modality or tuple(map(str, data.mod))
    tables = {name: _observations(data.mod[name], f"{path}, modality {name}", options) for name in chosen}
    others = [str(name) for name in data.mod if name not in chosen]
    rest = f"; those left out: {', '.join(others)}" if others else ""
    views = f"its {len(tables)} modalities are views" if len(tables) > 1 else "the modality is read"
    note = f"{path}: {views}: {', '.join(tables)}{rest}."
    for name, table in tables.items():
        _add_shared(table, data.obs, data.mod[name].obs_names, options)
    return {
        name: named_rows(replace(table, notes=(note, *table.notes)), path, options) for name, table in tables.items()
    }


def _observations(data: Any, where: str, options: ReadOptions) -> TableFile:
    table, note = _matrix(data, where, options)
    table.columns = table.columns.astype(str)
    for name in options.named & set(data.obs):
        table[name] = data.obs[name]
    table, coded = without_codes(table, options.missing, {options.id})
    title = data.obs_names.name
    columns = (*map(str, data.obs), *([] if title is None else [str(title)]))
    notes = tuple(f"{where}: {said}." for said in (note, *coded) if said is not None)
    return TableFile(table.reset_index(drop=True), list(map(str, data.obs_names)), notes, title, columns)


def _matrix(data: Any, where: str, options: ReadOptions) -> tuple[Any, str | None]:
    """Return the table that was asked for, and what it is, if the file has others."""
    there = _listed({"the layers": data.layers, "obsm": data.obsm})
    if options.layer is not None and options.obsm is not None:
        msg = f"{where}: one table is read, a layer or a matrix of obsm; got {options.layer!r} and {options.obsm!r}."
        raise InvalidInputError(msg)
    if options.layer is not None:
        _need_key(options.layer, data.layers, "layer", "layers", where)
        _check_size(data.shape, where)
        return data.to_df(layer=options.layer), f"the layer {options.layer!r} is read"
    if options.obsm is not None:
        _need_key(options.obsm, data.obsm, "matrix", "matrices in obsm", where)
        return _components(data, options.obsm, where), f"the matrix {options.obsm!r} of obsm is read"
    if data.X is None:
        msg = f"{where} has no matrix X; it has {there or 'no other'}. Name a layer or a matrix of obsm."
        raise InvalidInputError(msg)
    _check_size(data.shape, where)
    return data.to_df(), f"the matrix X is read; it also has {there}" if there else None


def _components(data: Any, key: str, where: str) -> Any:
    """Return a matrix of obsm; its columns are numbered if they have no names."""
    values = data.obsm[key]
    if hasattr(values, "columns"):
        return values.copy()
    _check_size(values.shape, where)
    dense = values.toarray() if hasattr(values, "toarray") else values
    names = [f"{key}[{j}]" for j in range(dense.shape[1])]
    return pandas().DataFrame(dense, index=data.obs_names, columns=names)


def _check_size(shape: tuple[int, ...], where: str) -> None:
    advice = "select variables in Python first, such as the highly variable ones"
    check_memory(8 * math.prod(shape), what=f"{where}: its matrix of shape {shape}", advice=advice)


def _need_key(key: str, there: Iterable[str], what: str, several: str, where: str) -> None:
    names = list(map(str, there))
    if key not in names:
        msg = f"{where} has no {what} {key!r}; its {several}: {', '.join(names) or 'none'}."
        raise InvalidInputError(msg)


def _listed(there: dict[str, Iterable[str]]) -> str:
    parts = {what: ", ".join(map(str, keys)) for what, keys in there.items()}
    return " and ".join(f"{what} {keys}" for what, keys in parts.items() if keys)


def _add_shared(table: TableFile, obs: Any, names: Any, options: ReadOptions) -> None:
    """Add columns of the observations of all modalities that options name, such as the labels."""
    for name in options.named & set(obs) - set(table.frame):
        table.frame[name] = obs[name].reindex(names).to_numpy()
