"""Models as files: `model.save` and `load`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from kernelweave import __version__
from kernelweave.errors import BadFileError, InvalidInputError
from kernelweave.estimators._archive import read_archive, write_archive
from kernelweave.estimators._codec import decode, encode

__all__ = ["Savable", "load"]

_FORMAT, _VERSION = "kernelweave model", 1

_ESTIMATORS = ("kernelweave.estimators", "kernelweave.baselines")


class Savable:
    """A model that can be written to a file."""

    def save(self, path: Any) -> None:
        """Write the model to one file of JSON and arrays, which `kernelweave.load` reads back.

        Parameters
        ----------
        path : str or path
            Where to; a file that is there is replaced, once the new one is whole.

        Notes
        -----
        There is no pickle in the file: reading it runs no code. Python functions and kernel classes of your own can
        therefore not be saved; pickle or joblib can, for readers who trust the file.
        """
        arrays: list[NDArray[Any]] = []
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        attributes = {name: value for name, value in vars(self).items() if name not in params}
        header = {
            "format": _FORMAT,
            "format_version": _VERSION,
            "kernelweave": __version__,
            "class": _name_of_estimator(type(self)),
            "params": {name: encode(value, arrays, name) for name, value in params.items()},
            "attributes": {name: encode(value, arrays, name) for name, value in attributes.items()},
        }
        write_archive(Path(path), header, arrays)


def load(path: Any) -> Any:
    """Return the model that `model.save` wrote to a file.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        It answers as the one that was saved.

    Raises
    ------
    BadFileError
        If the file is damaged, no model file, or of a later version. Nothing in a file is run.

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
    except Exception as error:  # whatever a constructor makes of values that no model has
        msg = f"{path.name} cannot be loaded: its contents are not those of a model ({error})."
        raise BadFileError(msg) from error


def _model(header: dict[str, Any], arrays: list[NDArray[Any]]) -> Any:
    if header.get("format") != _FORMAT:
        msg = "it is no kernelweave model."
        raise BadFileError(msg)
    version = header.get("format_version")
    if not isinstance(version, int) or version < 1 or version > _VERSION:
        msg = (
            f"it has format {version!r} of kernelweave {header.get('kernelweave')!r}; kernelweave {__version__} reads "
            f"formats up to {_VERSION}. Update kernelweave."
        )
        raise BadFileError(msg)
    cls = _estimator(header.get("class"))
    params = {name: decode(value, arrays) for name, value in _mapping(header, "params").items()}
    model = cls(**params)
    for name, value in _mapping(header, "attributes").items():
        if not name.isidentifier() or name in params or hasattr(cls, name) or not (name[0] == "_" or name[-1] == "_"):
            msg = f"{name!r} is no attribute of a fitted {cls.__name__}."
            raise BadFileError(msg)
        setattr(model, name, decode(value, arrays))
    return model


def _mapping(header: dict[str, Any], key: str) -> dict[str, Any]:
    value = header.get(key)
    if not isinstance(value, dict):
        msg = f"its header has no {key}."
        raise BadFileError(msg)
    return value


def _name_of_estimator(cls: type) -> str:
    for module in _ESTIMATORS:
        if getattr(import_module(module), cls.__name__, None) is cls:
            return f"{module}.{cls.__name__}"
    msg = f"{cls.__name__} is not a class of kernelweave, so load would not know it: save it by pickle or joblib."
    raise InvalidInputError(msg)


def _estimator(name: Any) -> type:
    module, _, cls = str(name).rpartition(".")
    found = import_module(module) if module in _ESTIMATORS else None
    if found is None or cls not in found.__all__ or not isinstance(getattr(found, cls), type):
        msg = f"it holds a {name!r}, which this version of kernelweave does not know."
        raise BadFileError(msg)
    known: type = getattr(found, cls)
    return known
