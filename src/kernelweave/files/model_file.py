"""One model in one file: `save_model` and `read_model`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from sys import modules
from typing import Any

from sklearn.base import BaseEstimator

from kernelweave import __version__
from kernelweave._plural import counted
from kernelweave._types import Array
from kernelweave.errors import BadFileError, InvalidInputError
from kernelweave.files.archive import read_archive, write_archive
from kernelweave.files.codec import decode, encode
from kernelweave.files.declared import check_declared
from kernelweave.files.plugin_classes import PLUGIN, plugin_method_class, plugin_method_name

__all__ = ["read_model", "save_model"]

_FORMAT, _VERSION = "kernelweave model", 1
_PLACES = {"kernelweave.estimators": "kernelweave", "kernelweave.baselines": "kernelweave.baselines"}  # in files


def save_model(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a model to one file of JSON and arrays, which `kernelweave.load` reads back.

    Parameters
    ----------
    model : estimator
        A model of kernelweave, fitted or not.
    path : str or path
        Where to write; an existing file is replaced once the new one is complete.

    Notes
    -----
    The file holds no pickle: reading it runs no code. Python functions and kernel classes of your own can therefore
    not be saved, unless a plugin adds them (`kernelweave.plugins`); use pickle or joblib for them, and read such files
    only if you trust them.
    """
    arrays: list[Array] = []
    params = model.get_params(deep=False)
    own = type(model)  # what it computes from the rest is not saved
    attributes = {name: value for name, value in vars(model).items() if name not in params and not hasattr(own, name)}
    header = {
        "format": _FORMAT,
        "format_version": _VERSION,
        "kernelweave": __version__,
        "class": _name_of(type(model)),
        "params": {name: encode(value, arrays, name) for name, value in params.items()},
        "attributes": {name: encode(value, arrays, name) for name, value in attributes.items()},
    }
    write_archive(Path(path), header, arrays)


def read_model(path: str | os.PathLike[str], estimator: Callable[[str], type[BaseEstimator] | None]) -> Any:
    """Return the model in a file; `estimator` returns the class of a name in it, None for a name that is not known."""
    path = Path(path)
    header, arrays = read_archive(path)
    try:
        return _model(header, arrays, estimator)
    except BadFileError as error:
        msg = f"{path.name} cannot be loaded: {error}"
        raise BadFileError(msg) from None
    except Exception as error:  # a constructor may raise anything if a value is not one of a model
        msg = f"{path.name} cannot be loaded: its contents are not those of a model ({error})."
        raise BadFileError(msg) from error


def _model(
    header: dict[str, Any], arrays: list[Array], estimator: Callable[[str], type[BaseEstimator] | None]
) -> BaseEstimator:
    if header.get("format") != _FORMAT:
        msg = "it is not a kernelweave model."
        raise BadFileError(msg)
    version = header.get("format_version")
    if not isinstance(version, int) or version < 1 or version > _VERSION:
        msg = (
            f"it has format {version!r} of kernelweave {header.get('kernelweave')!r}; kernelweave {__version__} reads "
            f"formats up to {_VERSION}. Update kernelweave."
        )
        raise BadFileError(msg)
    name = header.get("class")
    cls = plugin_method_class(name) if str(name).startswith(PLUGIN) else estimator(str(name))
    if cls is None:
        msg = f"it holds a {name!r}, which this version of kernelweave does not know."
        raise BadFileError(msg)
    params = {name: decode(value, arrays) for name, value in _mapping(header, "params").items()}
    model = cls(**params)
    attributes = {name: decode(value, arrays) for name, value in _mapping(header, "attributes").items()}
    for name in attributes:
        if name in params or hasattr(cls, name):
            msg = f"{name!r} is not an attribute of a fitted {cls.__name__}."
            raise BadFileError(msg)
    check_declared(cls, attributes)
    if attributes:  # a model that is not fitted checks its parameters when it is
        _check_complete(cls, attributes)
        model._validate_params()
    vars(model).update(attributes)
    return model


def _check_complete(cls: type[BaseEstimator], attributes: dict[str, Any]) -> None:
    """Refuse a fitted model that lacks what every fit sets; classes of plugins need not say what that is."""
    lacking = [name for name in getattr(cls, "_fitted_always", ()) if name not in attributes]
    if lacking:
        msg = f"its {cls.__name__} lacks {lacking[0]!r}, which every fitted one has."
        raise BadFileError(msg)
    names, widths = (attributes.get(name, ()) for name in ("view_names_", "view_widths_"))
    if len(names) != len(widths):
        msg = f"its {cls.__name__} has the names of {counted(len(names), 'view')} and the widths of {len(widths)}."
        raise BadFileError(msg)


def _mapping(header: dict[str, Any], key: str) -> dict[str, Any]:
    value = header.get(key)
    if not isinstance(value, dict):
        msg = f"its header has no {key}."
        raise BadFileError(msg)
    return value


def _name_of(cls: type) -> str:
    """Return the name of an exported estimator: the package that exports it, and its own."""
    package = ".".join(cls.__module__.split(".")[:2])
    exported = getattr(modules.get(package), "__all__", ())
    if package in _PLACES and cls.__name__ in exported and getattr(modules[package], cls.__name__) is cls:
        return f"{_PLACES[package]}.{cls.__name__}"
    plugin = plugin_method_name(cls)
    if plugin is not None:
        return plugin
    msg = f"{cls.__name__} is not a class of kernelweave, so load would not know it: save it by pickle or joblib."
    raise InvalidInputError(msg)
