"""An AnnData or MuData object: what is read from it as views, and what is written into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy import sparse

from kernelweave import __version__
from kernelweave._types import Samples
from kernelweave.errors import InvalidInputError
from kernelweave.estimators import WeaveClassifier, WeaveClustering
from kernelweave.samples.views import Views

__all__ = ["AnnotatedData", "CellTables", "Representation", "read_cells", "write_classes", "write_clusters"]

Representation: TypeAlias = str | Sequence[str]  # the matrix "X", a key of obsm, or several of these
_MATRIX = "X"
_COMPONENTS = "X_pca"  # where scanpy stores principal components


class AnnotatedData(Protocol):
    """An AnnData or MuData object: what both have."""

    obs: Any
    uns: Any
    obsm: Any  # not properties: type checkers do not take those of AnnData for ones
    obsp: Any

    @property
    def obs_names(self) -> Any:
        """The names of the cells."""

    def copy(self) -> Any:
        """Return a copy."""


@dataclass(frozen=True, slots=True)
class CellTables:
    """The tables to fit, and where in the object they come from.

    Attributes
    ----------
    X : array, sparse matrix or Views
        One table with a row for every cell in the order of the object, or several as views.
    places : dict of str
        The place of every table, such as `obsm["X_pca"]`, by the name of its view; "X" if there is one.
    """

    X: Samples | Views
    places: dict[str, str]


@dataclass(frozen=True, slots=True)
class _NamedRows:
    """A matrix with the names of its rows and columns, which is what `Views` reads of an AnnData."""

    X: Any
    obs_names: Any
    var_names: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""
        shape: tuple[int, ...] = self.X.shape
        return shape


def read_cells(
    data: AnnotatedData,
    use_rep: Representation | Mapping[str, Representation] | None,
    layer: str | Mapping[str, str] | None,
    modalities: Sequence[str] | None,
) -> CellTables:
    """Return the tables of the cells, each by the name of its view."""
    if hasattr(data, "mod"):
        return _aligned(data, _modality_tables(data, use_rep, layer, modalities))
    if modalities is not None:
        msg = f"modalities are those of a MuData object; got {type(data).__name__}: leave them out, or see use_rep."
        raise InvalidInputError(msg)
    if isinstance(use_rep, Mapping) or isinstance(layer, Mapping):
        msg = "A use_rep or layer by modality needs a MuData object; for AnnData name the key, or a list of keys."
        raise InvalidInputError(msg)
    tables = _tables(data, use_rep, layer, "data")
    places = {name: place for name, (place, _) in tables.items()}
    if len(tables) == 1:
        ((place, table),) = tables.values()
        return CellTables(table.X, {_MATRIX: place})
    # the rows of one object are in one order, so that names of cells may repeat
    return CellTables(Views({name: table.X for name, (_, table) in tables.items()}), places)


def _aligned(data: AnnotatedData, tables: Mapping[str, tuple[str, _NamedRows]]) -> CellTables:
    """Return the tables as views, with the cells in the order of the object; a cell may be missing in some."""
    views = Views({name: table for name, (_, table) in tables.items()})
    names = np.arange(views.n_samples) if views.sample_names is None else views.sample_names
    row = {name: i for i, name in enumerate(names.tolist())}
    unknown = [name for name in data.obs_names if name not in row]
    if unknown:
        msg = f"The cell {unknown[0]!r} is in none of the modalities {', '.join(tables)}: remove it, or add a modality."
        raise InvalidInputError(msg)
    order = np.array([row[name] for name in data.obs_names])
    return CellTables(views.select(order), {name: place for name, (place, _) in tables.items()})


def _modality_tables(
    data: Any,
    use_rep: Representation | Mapping[str, Representation] | None,
    layer: str | Mapping[str, str] | None,
    modalities: Sequence[str] | None,
) -> dict[str, tuple[str, _NamedRows]]:
    """Return the tables of the modalities of a MuData object."""
    chosen = list(data.mod) if modalities is None else list(modalities)
    named = {key for part in (use_rep, layer) if isinstance(part, Mapping) for key in part}
    _need_keys([*chosen, *sorted(named)], data.mod, "modality", "modalities")
    if unused := sorted(named - set(chosen)):
        msg = f"use_rep or layer names the modality {unused[0]!r}, which is not among those chosen: {chosen}."
        raise InvalidInputError(msg)
    found: dict[str, tuple[str, _NamedRows]] = {}
    for name in chosen:
        of_rep = use_rep.get(name) if isinstance(use_rep, Mapping) else use_rep
        of_layer = layer.get(name) if isinstance(layer, Mapping) else layer
        tables = _tables(data.mod[name], of_rep, of_layer, f"data.mod[{name!r}]")
        found |= {name if len(tables) == 1 else f"{name} {key}": table for key, table in tables.items()}
    return found


def _tables(
    data: Any, use_rep: Representation | None, layer: str | None, where: str
) -> dict[str, tuple[str, _NamedRows]]:
    """Return the tables of an AnnData object by name, each after its place."""
    if layer is not None and use_rep is not None:
        msg = f"Give use_rep or layer for {where}, not both; got use_rep={use_rep!r} and layer={layer!r}."
        raise InvalidInputError(msg)
    if layer is not None:
        _need_keys([layer], data.layers, "layer", f"{where}.layers")
        return {layer: (f"layers[{layer!r}]", _rows(data, data.layers[layer], data.var_names))}
    if use_rep is None:
        use_rep = _COMPONENTS if _COMPONENTS in data.obsm else _MATRIX
    keys = [use_rep] if isinstance(use_rep, str) else list(use_rep)
    if not keys:
        msg = "use_rep names no table: give a key of obsm or 'X', or a list of them."
        raise InvalidInputError(msg)
    if len(set(keys)) < len(keys):
        msg = f"use_rep names a table more than once: {', '.join(map(repr, keys))}."
        raise InvalidInputError(msg)
    _need_keys(keys, {_MATRIX: None, **dict.fromkeys(data.obsm)}, "representation", f"X and {where}.obsm")
    if _MATRIX in keys and data.X is None:
        there = ", ".join(map(repr, data.obsm)) or "none"
        msg = f"{where} has no matrix X: name a key of obsm with use_rep ({there}), or a layer."
        raise InvalidInputError(msg)
    return {key: _representation(data, key) for key in keys}


def _representation(data: Any, key: str) -> tuple[str, _NamedRows]:
    if key == _MATRIX:
        return _MATRIX, _rows(data, data.X, data.var_names)
    values = data.obsm[key]
    names = getattr(values, "columns", [f"{key}[{j}]" for j in range(values.shape[1])])
    return f"obsm[{key!r}]", _rows(data, values, names)


def _rows(data: Any, values: Any, names: Any) -> _NamedRows:
    if getattr(data, "isbacked", False):  # the matrix is still on disk
        values = values.to_memory() if hasattr(values, "to_memory") else values[:]
    return _NamedRows(values, data.obs_names, names)


def _need_keys(keys: Sequence[str], there: Mapping[str, Any], what: str, where: str) -> None:
    unknown = [key for key in keys if key not in there]
    if unknown:
        msg = f"There is no {what} {unknown[0]!r} in {where}; there are: {', '.join(map(str, there)) or 'none'}."
        raise InvalidInputError(msg)


def write_clusters(data: AnnotatedData, model: WeaveClustering, key: str, places: dict[str, str]) -> None:
    """Write the clusters, numbered by size, "0" being the largest, and what was learned."""
    import pandas as pd

    sizes = np.bincount(model.labels_)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    labels = pd.Categorical.from_codes(_inverse(order, len(sizes))[model.labels_], [str(k) for k in range(len(order))])
    told: dict[str, Any] = {"n_clusters": len(order)}
    evidence = getattr(model, "cluster_evidence_", None)
    if evidence is not None:
        told["evidence"] = evidence.words
    _write(data, model, key, labels, getattr(model, "confidence_", None), places, told)


def write_classes(data: AnnotatedData, model: WeaveClassifier, key: str, places: dict[str, str]) -> None:
    """Write the classes of the cells and what was learned; undecided cells have a missing class."""
    import pandas as pd

    codes = np.searchsorted(model.classes_, model.transduction_)
    codes[model.undecided_] = -1
    labels = pd.Categorical.from_codes(codes, list(map(str, model.classes_)))
    confidence = np.asarray(model.label_distributions_).max(axis=1)
    _write(data, model, key, labels, confidence, places, {})


def _write(
    data: AnnotatedData,
    model: WeaveClustering | WeaveClassifier,
    key: str,
    labels: Any,
    confidence: Any,
    places: dict[str, str],
    told: dict[str, Any],
) -> None:
    _remove(data, key)
    data.obs[key] = labels
    if confidence is not None:
        data.obs[f"{key}_confidence"] = np.asarray(confidence, dtype=np.float64)
    data.obsm[f"X_{key}"] = np.asarray(model.embedding_)
    told["params"] = _parameters(model, places)
    graph = getattr(model, "graph_", None)
    if graph is not None and graph.shape == (len(data.obs_names),) * 2:
        edges = sparse.csr_matrix(graph)
        data.obsp[f"{key}_connectivities"] = edges
        data.obsp[f"{key}_distances"] = _lengths(edges)
        told |= {"connectivities_key": f"{key}_connectivities", "distances_key": f"{key}_distances"}
    data.uns[key] = told | _shares(model)


def _remove(data: AnnotatedData, key: str) -> None:
    """Remove what an earlier run wrote at this key and this one may not have, such as a graph of the cells."""
    if f"{key}_confidence" in data.obs:
        del data.obs[f"{key}_confidence"]
    for name in (f"{key}_connectivities", f"{key}_distances"):
        if name in data.obsp:
            del data.obsp[name]


def _lengths(edges: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return 1 - w / max w for every edge of weight w: scanpy needs distances with every graph."""
    lengths = edges.copy()
    lengths.data = 1 - edges.data / (edges.data.max() if edges.nnz else 1.0)
    return lengths


def _parameters(model: WeaveClustering | WeaveClassifier, places: dict[str, str]) -> dict[str, Any]:
    """Return the parameters in a form that .h5ad files can hold; those that are None are left out."""
    plain = (bool, int, float, str)
    set_to = {name: value for name, value in model.get_params(deep=False).items() if value is not None}
    kept = {name: value if isinstance(value, plain) else repr(value) for name, value in set_to.items()}
    return {"method": "kernelweave", "version": __version__, "tables": places, **kept}


def _shares(model: WeaveClustering | WeaveClassifier) -> dict[str, Any]:
    import pandas as pd

    kernels = pd.DataFrame({"share": model.kernel_shares_}, index=list(map(str, model.kernel_names_)))
    views = pd.DataFrame({"share": model.view_shares_}, index=list(map(str, model.view_names_)))
    return {"kernels": kernels, "views": views}


def _inverse(order: Any, n: int) -> Any:
    place = np.full(n, -1)
    place[order] = np.arange(len(order))
    return place
