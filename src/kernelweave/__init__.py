"""Cluster data, or classify it from a few labels, when nobody knows which kernel is the right one."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelweave.estimators import (
        KGLClassifier,
        KGLClustering,
        PMKLClassifier,
        PMKLClustering,
        SMKLClassifier,
        SMKLClustering,
        WeaveClassifier,
        WeaveClustering,
        load,
        smkl_path,
        view_importance,
    )
    from kernelweave.samples import Views

__version__ = "0.1.0"

__all__ = [
    "KGLClassifier",
    "KGLClustering",
    "PMKLClassifier",
    "PMKLClustering",
    "SMKLClassifier",
    "SMKLClustering",
    "Views",
    "WeaveClassifier",
    "WeaveClustering",
    "load",
    "smkl_path",
    "view_importance",
]


def __getattr__(name: str) -> Any:
    """Import the estimators when the first of them is asked for, so that the command line answers at once."""
    if name == "baselines":
        return import_module("kernelweave.baselines")
    if name == "Views":
        return import_module("kernelweave.samples").Views
    if name in __all__:
        return getattr(import_module("kernelweave.estimators"), name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
