"""Methods, kernels and data sets of other packages, found by their entry points.

A package adds to kernelweave by entry points in three groups, which `pip install` registers:

- ``kernelweave.methods``: an estimator class,
- ``kernelweave.kernels``: a class derived from `kernelweave.kernels.Kernel` whose parameters all have defaults, or a
  mapping of names to kernels,
- ``kernelweave.datasets``: a `kernelweave.datasets.DatasetInfo`.

The names of kernelweave come first: a plugin cannot replace them. A plugin is imported when its name is used.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeAlias

from kernelweave.errors import PluginError

__all__ = ["PluginGroup", "load_method", "load_plugin", "name_of_plugin", "plugin_names"]

PluginGroup: TypeAlias = Literal["methods", "kernels", "datasets"]


def plugin_names(group: PluginGroup) -> tuple[str, ...]:
    """Return the names that installed packages add to a group, sorted. Nothing is imported.

    Parameters
    ----------
    group : {"methods", "kernels", "datasets"}
        What to list.

    Returns
    -------
    names : tuple of str
    """
    return tuple(sorted({point.name for point in _points(group)}))


def load_plugin(group: PluginGroup, name: str) -> Any:
    """Import a plugin.

    Parameters
    ----------
    group : {"methods", "kernels", "datasets"}
        What the plugin is.
    name : str
        One of `plugin_names`.

    Returns
    -------
    plugin : object
        What the entry point names.

    Raises
    ------
    KeyError
        If no installed package adds this name.
    PluginError
        If several packages add it, or if it cannot be imported.
    """
    found = [point for point in _points(group) if point.name == name]
    if not found:
        raise KeyError(name)
    if len({point.value for point in found}) > 1:
        owners = ", ".join(sorted(map(_owner, found)))
        msg = (
            f"{name!r} of the group kernelweave.{group} is added by several packages ({owners}): uninstall all but one."
        )
        raise PluginError(msg)
    try:
        return found[0].load()
    except Exception as error:  # importing a package may raise anything
        msg = (
            f"{name!r} of the group kernelweave.{group} cannot be loaded from {found[0].value} of the package "
            f"{_owner(found[0])} ({type(error).__name__}: {error}): update or uninstall the package."
        )
        raise PluginError(msg) from error


def load_method(name: str, role: type) -> Any:
    """Import the class of a method of another package.

    Parameters
    ----------
    name : str
        One of ``plugin_names("methods")``.
    role : type
        What the class must derive from, such as `sklearn.base.ClusterMixin`.

    Returns
    -------
    cls : type
    """
    found = load_plugin("methods", name)
    if not isinstance(found, type) or not issubclass(found, role):
        msg = (
            f"{name!r} of the group kernelweave.methods is needed as a class derived from {role.__name__}; got "
            f"{found!r}. Choose another method, or update the package."
        )
        raise PluginError(msg)
    return found


def name_of_plugin(group: PluginGroup, thing: type) -> str | None:
    """Return the name under which an installed package adds a class to a group; None if none does."""
    package = thing.__module__.partition(".")[0]
    for point in _points(group):  # only the package that has the class is imported, which it is already
        if point.module.partition(".")[0] == package and load_plugin(group, point.name) is thing:
            return point.name
    return None


def _points(group: PluginGroup) -> tuple[EntryPoint, ...]:
    return _found(group, tuple(sys.path))


@cache  # reading the metadata of all installed packages takes some milliseconds
def _found(group: PluginGroup, folders: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=f"kernelweave.{group}"))


def _owner(point: EntryPoint) -> str:
    return point.value if point.dist is None else f"{point.dist.name} {point.dist.version}"
