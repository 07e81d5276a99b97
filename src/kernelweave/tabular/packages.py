"""Packages that only some kinds of files need; an error names the extra that installs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kernelweave.errors import MissingPackageError

__all__ = ["need", "pandas"]


def need(package: str, what: str, extra: str) -> Any:
    """Return a package; raise `MissingPackageError` with the extra to install if it is not there."""
    try:
        return import_module(package)
    except ImportError as error:
        msg = f'{what} read with {package}, which is not installed: pip install "kernelweave[{extra}]".'
        raise MissingPackageError(msg) from error


def pandas() -> Any:
    """Return pandas."""
    return need("pandas", "Tables are", "cli")
