"""Cluster data, or classify it from a few labels, without choosing a kernel by hand."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelweave import baselines, datasets, explain, kernels, metrics, plots, report, sc, tabular
    from kernelweave._versions import show_versions
    from kernelweave.estimators import (
        KGLClassifier,
        KGLClustering,
        PMKLClassifier,
        PMKLClustering,
        SMKLClassifier,
        SMKLClustering,
        WeaveClassifier,
        WeaveClustering,
        smkl_path,
        view_importance,
    )
    from kernelweave.loading import load
    from kernelweave.samples import Chunks, Views
    from kernelweave.weave import Dense, Landmark, Local

__version__ = "0.1.0"

__all__ = [
    "Chunks",
    "Dense",
    "KGLClassifier",
    "KGLClustering",
    "Landmark",
    "Local",
    "PMKLClassifier",
    "PMKLClustering",
    "SMKLClassifier",
    "SMKLClustering",
    "Views",
    "WeaveClassifier",
    "WeaveClustering",
    "baselines",
    "datasets",
    "explain",
    "kernels",
    "load",
    "metrics",
    "plots",
    "report",
    "sc",
    "show_versions",
    "smkl_path",
    "tabular",
    "view_importance",
]

_PACKAGES = ("baselines", "datasets", "explain", "kernels", "metrics", "plots", "report", "sc", "tabular")
_PLACES = {  # of what does not come from kernelweave.estimators
    "Chunks": "kernelweave.samples",
    "Dense": "kernelweave.weave",
    "Landmark": "kernelweave.weave",
    "Local": "kernelweave.weave",
    "Views": "kernelweave.samples",
    "load": "kernelweave.loading",
    "show_versions": "kernelweave._versions",
}


if not TYPE_CHECKING:  # else type checkers take every name for one of the package

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used, so that the command line starts quickly."""
        if name in _PACKAGES:
            return import_module(f"kernelweave.{name}")
        if name in __all__:
            return getattr(import_module(_PLACES.get(name, "kernelweave.estimators")), name)
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
