"""Values as JSON and arrays, by classes that are known beforehand, and back."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave.errors import BadFileError, InvalidInputError

__all__ = ["decode", "encode"]

# dataclasses and enumerations of these modules may stand in a file; those that are not there yet are passed over
_MODULES = (
    "kernels.base",
    "kernels.distances",
    "kernels.normalise",
    "kernels.pairwise",
    "kernels.products",
    "samples.scaling",
    "select",
    "solve.result",
    "estimators._seen",
    "estimators._weave_solver",
    "weave.local.local_graph",
    "weave.local.local_kernel",
    "weave.local.local_weave",
    "weave.landmark.landmark_model",
)
# other classes, and the attributes that make them up
_PLAIN = {
    "kernels.bank.KernelBank": ("names", "_given", "_fixed", "_n_features"),
    "kernels.view_bank.ViewBank": ("names", "views", "banks", "_training", "_means"),
    "samples.views.Views": ("names", "tables", "present", "sample_names"),
}


@cache
def _classes() -> dict[str, type]:
    """Return the classes that may stand in a file, by the name that they have there."""
    found: dict[str, type] = {}
    for name in _MODULES:
        module = import_module(f"kernelweave.{name}")
        for cls in vars(module).values():
            own = isinstance(cls, type) and cls.__module__ == module.__name__
            if own and (is_dataclass(cls) or issubclass(cls, Enum)):
                found[f"{name}.{cls.__name__}"] = cls
    for name in _PLAIN:
        module_name, _, cls_name = name.rpartition(".")
        found[name] = getattr(import_module(f"kernelweave.{module_name}"), cls_name)
    return found


@cache
def _names() -> dict[type, str]:
    return {cls: name for name, cls in _classes().items()}


def encode(value: Any, arrays: list[NDArray[Any]], where: str) -> Any:
    """Return what JSON can hold of a value; arrays go to the list, by their position in it."""
    if value is None or isinstance(value, bool | str):
        return str(value) if type(value) is np.str_ else value
    if type(value) is int:
        return value
    if type(value) is float:
        return value if np.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, np.ndarray | np.generic):
        return _encode_array(value, arrays, where)
    if isinstance(value, list):
        return [encode(item, arrays, where) for item in value]
    if type(value) is tuple:
        return {"$tuple": [encode(item, arrays, where) for item in value]}
    if isinstance(value, dict):
        return {"$dict": [[encode(k, arrays, where), encode(v, arrays, f"{where}[{k!r}]")] for k, v in value.items()]}
    return _encode_object(value, arrays, where)


def _encode_array(value: Any, arrays: list[NDArray[Any]], where: str) -> Any:
    if value.dtype.kind == "O" and all(isinstance(item, str) for item in value.ravel()):
        return {"$strings": [str(item) for item in value.ravel()], "shape": list(value.shape)}
    if value.dtype.kind not in "biufSU" or value.dtype.fields is not None:
        msg = f"{where} holds {value.dtype}, which a model file cannot: convert it to numbers or text, or use pickle."
        raise InvalidInputError(msg)
    arrays.append(np.asarray(value))
    return {"$array" if isinstance(value, np.ndarray) else "$scalar": len(arrays) - 1}


def _encode_object(value: Any, arrays: list[NDArray[Any]], where: str) -> Any:
    if sparse.issparse(value):
        matrix = value if value.format in ("csr", "csc") else value.tocsr()
        parts = [encode(part, arrays, where) for part in (matrix.data, matrix.indices, matrix.indptr)]
        kind = "array" if isinstance(matrix, sparse.sparray) else "matrix"
        return {"$sparse": f"{matrix.format}_{kind}", "parts": parts, "shape": [int(length) for length in matrix.shape]}
    if isinstance(value, slice):
        return {"$slice": [encode(part, arrays, where) for part in (value.start, value.stop, value.step)]}
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return {"$dtype": np.dtype(value).str, "type": isinstance(value, type)}
    if isinstance(value, np.random.RandomState):
        return {"$random_state": [encode(part, arrays, where) for part in value.get_state(legacy=True)]}
    name = _names().get(type(value))
    if name is None:
        msg = (
            f"{where} holds {value!r}, a {type(value).__name__}, which a model file cannot hold: it has data, not "
            "Python code. Use kernels of kernelweave.kernels or names of scikit-learn's, or save the model by pickle "
            "or joblib."
        )
        raise InvalidInputError(msg)
    if isinstance(value, Enum):
        return {"$enum": name, "name": value.name}
    parts = _PLAIN.get(name) or [field.name for field in fields(value)]
    encoded = {part: encode(getattr(value, part), arrays, f"{where}.{part}") for part in parts}
    return {"$object": name, "fields": encoded}


def decode(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return the value that JSON holds."""
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), "")
    if kind not in _DECODERS:
        msg = f"it holds a {kind!r}, which this version of kernelweave does not know."
        raise BadFileError(msg)
    return _DECODERS[kind](value, arrays)


def _decode_sparse(value: dict[str, Any], arrays: list[NDArray[Any]]) -> Any:
    makers = {
        "csr_array": sparse.csr_array,
        "csc_array": sparse.csc_array,
        "csr_matrix": sparse.csr_matrix,
        "csc_matrix": sparse.csc_matrix,
    }
    matrix = makers[value["$sparse"]](tuple(decode(part, arrays) for part in value["parts"]), shape=value["shape"])
    matrix.check_format(full_check=True)
    return matrix


def _decode_strings(value: dict[str, Any], arrays: list[NDArray[Any]]) -> Any:
    if not all(isinstance(item, str) for item in value["$strings"]):
        msg = "a list of texts holds something else."
        raise BadFileError(msg)
    return np.array([*value["$strings"], None], dtype=object)[:-1].reshape(value["shape"])


def _decode_dtype(value: dict[str, Any], arrays: list[NDArray[Any]]) -> Any:
    dtype = np.dtype(str(value["$dtype"]))
    return dtype.type if value["type"] else dtype


def _decode_random_state(value: dict[str, Any], arrays: list[NDArray[Any]]) -> Any:
    state = np.random.RandomState(0)
    state.set_state(tuple(decode(part, arrays) for part in value["$random_state"]))
    return state


def _decode_object(value: dict[str, Any], arrays: list[NDArray[Any]]) -> Any:
    name = value["$object"]
    cls = _known_class(name)
    given = {field: decode(part, arrays) for field, part in value["fields"].items()}
    if name not in _PLAIN:
        return cls(**given)
    if set(given) != set(_PLAIN[name]):
        msg = f"a {name} of it lacks what makes it up."
        raise BadFileError(msg)
    thing = object.__new__(cls)
    for field, part in given.items():
        setattr(thing, field, part)
    return thing


def _known_class(name: Any) -> type:
    if name not in _classes():
        msg = f"it holds a {name!r}, which this version of kernelweave does not know."
        raise BadFileError(msg)
    return _classes()[name]


_DECODERS: dict[str, Any] = {
    "$float": lambda value, arrays: {"nan": float("nan"), "inf": float("inf"), "-inf": -float("inf")}[value["$float"]],
    "$array": lambda value, arrays: arrays[_position(value["$array"])],
    "$scalar": lambda value, arrays: arrays[_position(value["$scalar"])][()],
    "$strings": _decode_strings,
    "$tuple": lambda value, arrays: tuple(decode(item, arrays) for item in value["$tuple"]),
    "$dict": lambda value, arrays: {decode(k, arrays): decode(v, arrays) for k, v in value["$dict"]},
    "$sparse": _decode_sparse,
    "$slice": lambda value, arrays: slice(*(decode(part, arrays) for part in value["$slice"])),
    "$dtype": _decode_dtype,
    "$random_state": _decode_random_state,
    "$enum": lambda value, arrays: _known_class(value["$enum"])[value["name"]],  # type: ignore[index]
    "$object": _decode_object,
}


def _position(i: Any) -> int:
    if type(i) is not int or i < 0:
        msg = f"an array is referred to by {i!r}."
        raise BadFileError(msg)
    return i
