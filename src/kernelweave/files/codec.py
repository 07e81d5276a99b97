"""Values as JSON and arrays, and back.

Besides numbers, texts, arrays and containers a file may hold objects of exported classes: every dataclass and Enum in
`__all__` of the packages below, every class there that lists the attributes to save in `__saved__`, and the kernels of
installed plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from kernelweave._types import Array
from kernelweave.errors import BadFileError, InvalidInputError
from kernelweave.files.declared import check_declared
from kernelweave.files.plugin_classes import PLUGIN, plugin_kernel_class, plugin_kernel_name

__all__ = ["decode", "encode", "exported_classes"]

_Tree: TypeAlias = dict[str, Any]  # what a decoder reads


@cache
def exported_classes() -> dict[str, type]:
    """Return the classes whose objects may stand in a file, by package and name, such as "kernels.Gaussian"."""
    from kernelweave import kernels, samples, select, solve, weave

    found: dict[str, type] = {}
    for package in (kernels, samples, select, solve, weave):
        for name in getattr(package, "__all__", ()):
            cls = getattr(package, name)
            if isinstance(cls, type) and (is_dataclass(cls) or issubclass(cls, Enum) or hasattr(cls, "__saved__")):
                found[f"{package.__name__.removeprefix('kernelweave.')}.{name}"] = cls
    return found


def encode(value: object, arrays: list[Array], where: str) -> Any:
    """Return a value as JSON can hold it; arrays are appended to the list and referred to by position.

    Parameters
    ----------
    value : object
        What to save.
    arrays : list of arrays
        The arrays of the file so far.
    where : str
        The name of the value, for error messages.
    """
    if isinstance(value, np.str_):
        return str(value)
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    if type(value) is float:
        return value if np.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, np.ndarray | np.generic):
        return _encode_array(value, arrays, where)
    if isinstance(value, list):
        return _encode_all(value, arrays, where)
    if type(value) is tuple:
        return {"$tuple": _encode_all(value, arrays, where)}
    if isinstance(value, dict):
        return {"$dict": [[encode(k, arrays, where), encode(v, arrays, f"{where}[{k!r}]")] for k, v in value.items()]}
    return _encode_special(value, arrays, where)


def _encode_all(values: Any, arrays: list[Array], where: str) -> list[Any]:
    return [encode(value, arrays, where) for value in values]


def _encode_array(value: Any, arrays: list[Array], where: str) -> Any:
    if value.dtype.kind == "O" and all(isinstance(item, str) for item in value.ravel()):
        return _encode_texts(value, arrays, where)
    if value.dtype.kind not in "biufSU" or value.dtype.fields is not None:
        msg = (
            f"{where} holds {value.dtype}, which a model file cannot hold: convert it to numbers or text, or use "
            "pickle."
        )
        raise InvalidInputError(msg)
    kind = "$array" if isinstance(value, np.ndarray) else "$scalar"
    for i, array in enumerate(arrays):
        if array is value:  # such as training samples, which the bank and some kernels keep
            return {kind: i}
    arrays.append(np.asarray(value))
    return {kind: len(arrays) - 1}


def _encode_texts(value: Any, arrays: list[Array], where: str) -> Any:
    """Return an array of str objects as one array of bytes and where each text ends: headers stay short."""
    texts = [str(item).encode("utf-8", "surrogatepass") for item in value.ravel()]
    parts = np.frombuffer(b"".join(texts), dtype=np.uint8), np.cumsum([len(text) for text in texts], dtype=np.int64)
    return {"$texts": _encode_all(parts, arrays, where), "shape": list(value.shape)}


def _encode_special(value: Any, arrays: list[Array], where: str) -> Any:
    if sparse.issparse(value):
        matrix = value if value.format in ("csr", "csc") else value.tocsr()
        parts = _encode_all((matrix.data, matrix.indices, matrix.indptr), arrays, where)
        kind = "array" if isinstance(matrix, sparse.sparray) else "matrix"
        return {"$sparse": f"{matrix.format}_{kind}", "parts": parts, "shape": [int(length) for length in matrix.shape]}
    if isinstance(value, slice):
        return {"$slice": _encode_all((value.start, value.stop, value.step), arrays, where)}
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return {"$dtype": np.dtype(value).str, "type": isinstance(value, type)}
    if isinstance(value, np.random.RandomState):
        return {"$random_state": _encode_all(value.get_state(legacy=True), arrays, where)}
    return _encode_object(value, arrays, where)


def _encode_object(value: Any, arrays: list[Array], where: str) -> Any:
    name = next((name for name, cls in exported_classes().items() if cls is type(value)), None) or plugin_kernel_name(
        value
    )
    if name is None and isinstance(value, Iterable) and isinstance(value, Sized):  # a Series, an Index, a range
        msg = (
            f"{where} holds a {type(value).__name__}, which a model file cannot hold: replace it by a list, a dict or "
            "an array of numpy, as by model.set_params, or save the model by pickle or joblib."
        )
        raise InvalidInputError(msg)
    if name is None:
        msg = (
            f"{where} holds {value!r}, a {type(value).__name__}, which a model file cannot hold: it holds data, not "
            "Python code. Use kernels of kernelweave.kernels or names of scikit-learn's, or save the model by pickle "
            "or joblib."
        )
        raise InvalidInputError(msg)
    if isinstance(value, Enum):
        return {"$enum": name, "name": value.name}
    encoded = {part: encode(getattr(value, part), arrays, f"{where}.{part}") for part in _saved_attributes(type(value))}
    return {"$object": name, "fields": encoded}


def _saved_attributes(cls: Any) -> tuple[str, ...]:
    listed: tuple[str, ...] | None = getattr(cls, "__saved__", None)
    return tuple(field.name for field in fields(cls) if field.init) if listed is None else listed


def decode(value: object, arrays: list[Array]) -> Any:
    """Return the value that JSON holds, with the arrays that it refers to."""
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), "")
    if kind not in _DECODERS:
        raise _unknown(kind)
    return _DECODERS[kind](value, arrays)


def _unknown(name: object) -> BadFileError:
    return BadFileError(f"it holds a {name!r}, which this version of kernelweave does not know.")


def _decode_float(value: _Tree, arrays: list[Array]) -> float:
    return {"nan": float("nan"), "inf": float("inf"), "-inf": -float("inf")}[value["$float"]]


def _decode_array(value: _Tree, arrays: list[Array]) -> Array:
    return arrays[_position(value["$array"])]


def _decode_scalar(value: _Tree, arrays: list[Array]) -> Any:
    return arrays[_position(value["$scalar"])][()]


def _position(i: object) -> int:
    if type(i) is not int or i < 0:
        msg = f"an array is referred to by {i!r}."
        raise BadFileError(msg)
    return i


def _decode_texts(value: _Tree, arrays: list[Array]) -> Array:
    letters, ends = (decode(part, arrays) for part in value["$texts"])
    if not (letters.dtype == np.uint8 and letters.ndim == 1 and ends.dtype == np.int64 and ends.ndim == 1):
        msg = "an array of texts is not made of bytes and the positions where they end."
        raise BadFileError(msg)
    data, steps = letters.tobytes(), [0, *ends.tolist()]
    if steps[-1] != len(data) or any(a > b for a, b in pairwise(steps)):
        msg = "the positions where the texts of an array end do not fit its bytes."
        raise BadFileError(msg)
    texts = [data[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(steps)]
    return np.array([*texts, None], dtype=object)[:-1].reshape(value["shape"])


def _decode_tuple(value: _Tree, arrays: list[Array]) -> tuple[Any, ...]:
    return tuple(decode(item, arrays) for item in value["$tuple"])


def _decode_dict(value: _Tree, arrays: list[Array]) -> dict[Any, Any]:
    return {decode(k, arrays): decode(v, arrays) for k, v in value["$dict"]}


def _decode_sparse(value: _Tree, arrays: list[Array]) -> Any:
    makers = {
        "csr_array": sparse.csr_array,
        "csc_array": sparse.csc_array,
        "csr_matrix": sparse.csr_matrix,
        "csc_matrix": sparse.csc_matrix,
    }
    matrix = makers[value["$sparse"]](tuple(decode(part, arrays) for part in value["parts"]), shape=value["shape"])
    matrix.check_format(full_check=True)
    return matrix


def _decode_slice(value: _Tree, arrays: list[Array]) -> slice:
    return slice(*(decode(part, arrays) for part in value["$slice"]))


def _decode_dtype(value: _Tree, arrays: list[Array]) -> Any:
    dtype = np.dtype(str(value["$dtype"]))
    return dtype.type if value["type"] else dtype


def _decode_random_state(value: _Tree, arrays: list[Array]) -> np.random.RandomState:
    state = np.random.RandomState(0)
    state.set_state(tuple(decode(part, arrays) for part in value["$random_state"]))
    return state


def _decode_enum(value: _Tree, arrays: list[Array]) -> Any:
    cls = _exported(value["$enum"])
    if not issubclass(cls, Enum):
        raise _unknown(value["$enum"])
    return cls[value["name"]]


def _decode_object(value: _Tree, arrays: list[Array]) -> Any:
    name = value["$object"]
    cls = _exported(name)
    given = {field: decode(part, arrays) for field, part in value["fields"].items()}
    if hasattr(cls, "__saved__") and (odd := set(given) ^ set(_saved_attributes(cls))):
        first = min(odd)
        problem = "has an unknown attribute" if first in given else "lacks the attribute"
        msg = f"a {name} in it {problem} {first!r}."
        raise BadFileError(msg)
    check_declared(cls, given)
    if not hasattr(cls, "__saved__"):
        made = cls(**given)
        if hasattr(made, "check_loaded"):  # what only a file can get wrong
            made.check_loaded()
        return made
    thing: object = object.__new__(cls)
    for field, part in given.items():
        object.__setattr__(thing, field, part)
    return thing


def _exported(name: Any) -> type:
    if isinstance(name, str) and name.startswith(PLUGIN):
        return plugin_kernel_class(name)
    if name not in exported_classes():
        raise _unknown(name)
    return exported_classes()[name]


_DECODERS: dict[str, Callable[[_Tree, list[Array]], Any]] = {
    "$float": _decode_float,
    "$array": _decode_array,
    "$scalar": _decode_scalar,
    "$texts": _decode_texts,
    "$tuple": _decode_tuple,
    "$dict": _decode_dict,
    "$sparse": _decode_sparse,
    "$slice": _decode_slice,
    "$dtype": _decode_dtype,
    "$random_state": _decode_random_state,
    "$enum": _decode_enum,
    "$object": _decode_object,
}
