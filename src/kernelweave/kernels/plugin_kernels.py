"""Kernels and recipes that other packages add by the entry point group ``kernelweave.kernels``."""

from __future__ import annotations

from collections.abc import Mapping

from kernelweave.errors import PluginError
from kernelweave.kernels.base import Kernel
from kernelweave.plugins import load_plugin, plugin_names

__all__ = ["plugin_kernel", "plugin_recipe"]


def plugin_kernel(name: str) -> Kernel | None:
    """Return a kernel of another package by its name; None if there is no such kernel."""
    found = _plugin(name)
    return found if isinstance(found, Kernel) else None


def plugin_recipe(name: str) -> Mapping[str, Kernel] | None:
    """Return the kernels of a recipe of another package by its name; None if there is no such recipe."""
    found = _plugin(name)
    return None if isinstance(found, Kernel) else found


def _plugin(name: str) -> Kernel | Mapping[str, Kernel] | None:
    if name not in plugin_names("kernels"):
        return None
    found = load_plugin("kernels", name)
    if isinstance(found, type) and issubclass(found, Kernel):
        return _made(name, found)
    if isinstance(found, Mapping) and found and all(isinstance(kernel, Kernel) for kernel in found.values()):
        return found
    msg = (
        f"{name!r} of the group kernelweave.kernels must be a class derived from kernelweave.kernels.Kernel, or a "
        f"mapping of names to kernels; got {found!r}. Update or uninstall the package."
    )
    raise PluginError(msg)


def _made(name: str, cls: type[Kernel]) -> Kernel:
    try:
        return cls()
    except TypeError as error:
        msg = (
            f"{name!r} of the group kernelweave.kernels must be a kernel whose parameters all have defaults, but "
            f"{cls.__name__}() fails ({error}). Update or uninstall the package."
        )
        raise PluginError(msg) from error
