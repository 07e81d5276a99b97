"""One model in one file: `save_model` and `load`."""

from __future__ import annotations

import os
from pathlib import Path
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

__all__ = ["load", "save_model"]

_FORMAT, _VERSION = "kernelweave model", 1


def save_model(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a model to one file of JSON and arrays, which `load` reads back.

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


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model that `model.save` wrote to a file.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        It predicts as the model that was saved.

    Raises
    ------
    BadFileError
        If the file is damaged, not a model file, or of a later version. Nothing in a file is run.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> import kernelweave
    >>> X, y = load_iris(return_X_y=True)
    >>> model = kernelweave.WeaveClustering(n_clusters=3, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "iris.kw")
    ...     again = kernelweave.load(Path(folder) / "iris.kw")
    >>> bool((again.predict(X + 0.01) == model.predict(X + 0.01)).all())
    True
    """
    path = Path(path)
    header, arrays = read_archive(path)
    try:
        return _model(header, arrays)
    except BadFileError as error:
        msg = f"{path.name} cannot be loaded: {error}"
        raise BadFileError(msg) from None
    except Exception as error:  # a constructor may raise anything if a value is not one of a model
        msg = f"{path.name} cannot be loaded: its contents are not those of a model ({error})."
        raise BadFileError(msg) from error


def _model(header: dict[str, Any], arrays: list[Array]) -> BaseEstimator:
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
    cls = plugin_method_class(name) if str(name).startswith(PLUGIN) else _exported(str(name))
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
    """Return the name of an exported estimator; packages that cannot hold it are not imported."""
    import kernelweave

    for place in ("kernelweave.baselines", "kernelweave"):
        if not cls.__module__.startswith(f"{place}."):
            continue
        package = kernelweave.baselines if place == "kernelweave.baselines" else kernelweave
        if cls.__name__ in package.__all__ and getattr(package, cls.__name__) is cls:
            return f"{place}.{cls.__name__}"
    plugin = plugin_method_name(cls)
    if plugin is not None:
        return plugin
    msg = f"{cls.__name__} is not a class of kernelweave, so load would not know it: save it by pickle or joblib."
    raise InvalidInputError(msg)


def _exported(name: str) -> type[BaseEstimator] | None:
    """Return the exported estimator of this name, None if there is none; packages that cannot hold it are not imported.

    Estimators import this package, so they are looked up when they are needed.
    """
    import kernelweave

    place, _, own = name.rpartition(".")
    if place not in ("kernelweave", "kernelweave.baselines"):
        return None
    package = kernelweave.baselines if place == "kernelweave.baselines" else kernelweave
    cls = getattr(package, own) if own in package.__all__ else None
    return cls if isinstance(cls, type) and issubclass(cls, BaseEstimator) else None
