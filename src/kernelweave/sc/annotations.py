"""What is written into an AnnData or MuData object: labels, confidence, graph, embedding and parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from kernelweave import __version__
from kernelweave.estimators import WeaveClassifier, WeaveClustering
from kernelweave.sc.annotated import AnnotatedData

__all__ = ["write_classes", "write_clusters"]


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
