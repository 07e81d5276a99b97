"""Modules whose import is deferred until they are used."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

__all__ = ["defer"]

_LOADS = frozenset({"__all__", "__path__"})  # of the special attributes, those that tell what a module has


def defer(name: str) -> None:
    """Make `import name` load the module only when it is first used; do nothing if it is loaded already.

    scikit-learn imports scipy.stats, which takes longer to load than all else that it needs, and most commands use
    nothing of it. The LazyLoader of importlib does not help here: scikit-learn's imports make it load the module.
    """
    if name in sys.modules:
        return
    module = ModuleType(name)

    def load(attribute: str) -> object:
        if attribute.startswith("__") and attribute not in _LOADS:
            msg = f"module {name!r} has no attribute {attribute!r}"
            raise AttributeError(msg)
        if sys.modules.get(name) is module:
            del sys.modules[name]
        return getattr(import_module(name), attribute)

    module.__getattr__ = load  # type: ignore[method-assign]
    sys.modules[name] = module
