"""Kernels and methods of plugins in files: known by the names of their entry points, never by a path in the file."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

from sklearn.base import BaseEstimator

from kernelweave.errors import BadFileError
from kernelweave.kernels import Kernel
from kernelweave.plugins import PluginGroup, load_plugin, name_of_plugin, plugin_names

__all__ = ["PLUGIN", "plugin_kernel_class", "plugin_kernel_name", "plugin_method_class", "plugin_method_name"]

PLUGIN = "plugin."  # before the name of an entry point


def plugin_kernel_name(value: object) -> str | None:
    """Return how a file names the class of a kernel of a plugin; None for other values."""
    return _name("kernels", type(value)) if isinstance(value, Kernel) and is_dataclass(value) else None


def plugin_kernel_class(name: str) -> type[Kernel]:
    """Return the class of a kernel of a plugin that a file names."""
    cls: type[Kernel] = _class("kernels", name, Kernel)
    if is_dataclass(cls):
        return cls
    raise _refused(name)


def plugin_method_name(cls: type) -> str | None:
    """Return how a file names an estimator of a plugin; None if no plugin adds it."""
    return _name("methods", cls)


def plugin_method_class(name: object) -> type[BaseEstimator]:
    """Return the class of an estimator of a plugin that a file names."""
    cls: type[BaseEstimator] = _class("methods", str(name), BaseEstimator)
    return cls


def _name(group: PluginGroup, cls: type) -> str | None:
    name = name_of_plugin(group, cls)
    return None if name is None else PLUGIN + name


def _class(group: PluginGroup, name: str, base: type) -> Any:
    entry = name.removeprefix(PLUGIN)
    if entry not in plugin_names(group):
        msg = f"it holds {entry!r} of the group kernelweave.{group}, which no installed package adds: install one."
        raise BadFileError(msg)
    cls = load_plugin(group, entry)
    if not isinstance(cls, type) or not issubclass(cls, base):
        raise _refused(name)
    return cls


def _refused(name: str) -> BadFileError:
    return BadFileError(f"it holds a {name!r}, which is not a class that a model file may hold.")
