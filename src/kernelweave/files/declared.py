"""Values against the types that a class declares for its attributes."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from inspect import getattr_static
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from kernelweave._types import Dimensions
from kernelweave.errors import BadFileError

__all__ = ["check_declared", "declared"]


@cache
def declared(cls: type) -> dict[str, Any]:
    """Return the attributes of the objects of a class, and of its bases, with their types.

    They are those that it annotates and those that it computes when they are first read.
    """
    hints = get_type_hints(cls, include_extras=True)
    for name in {name for base in cls.__mro__ for name, member in vars(base).items()}:
        if isinstance(member := getattr(cls, name), cached_property):
            hints[name] = get_type_hints(member.func)["return"]
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def check_declared(cls: type, values: Mapping[str, object]) -> None:
    """Refuse values that are not of the types that the class declares for them."""
    hints = declared(cls)
    for name, value in values.items():
        if name not in hints:
            msg = f"{name!r} is not an attribute of a {cls.__name__}."
            raise BadFileError(msg)
        if not _fits(value, hints[name]):
            msg = f"{name!r} of its {cls.__name__} is {_kind(value)}, which is not allowed."
            raise BadFileError(msg)


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} and shape {value.shape}"
    return "null" if value is None else f"of type {type(value).__name__}"


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of a type; one that says nothing of its kind fits anything."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if hint is None or hint is types.NoneType:
        return value is None
    if origin is Annotated:
        dimensions = [mark for mark in inner[1:] if isinstance(mark, Dimensions)]
        return _fits(value, inner[0]) and all(getattr(value, "ndim", None) in mark.possible for mark in dimensions)
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return any(type(value) is type(word) and value == word for word in inner)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _has_dtype(value.dtype, inner[1])
    if origin is np.dtype or hint is np.dtype:
        return isinstance(value, np.dtype)
    return _plain(value, hint) if origin is None else _container(value, origin, inner)


def _has_dtype(dtype: np.dtype[Any], hint: Any) -> bool:
    (scalar,) = get_args(hint)
    scalar = get_origin(scalar) or scalar
    return scalar is Any or issubclass(dtype.type, scalar)


def _plain(value: Any, hint: type) -> bool:
    if hint in (int, float):  # numbers of numpy are numbers too
        return isinstance(value, Integral if hint is int else Real) and not isinstance(value, bool)
    if getattr(hint, "_is_protocol", False):
        members = [name for name in {*vars(hint), *hint.__annotations__} if not name.startswith("_")]
        missing = object()  # looked up without being evaluated: some properties take long to compute
        return all(getattr_static(value, name, missing) is not missing for name in members)
    return isinstance(value, hint)


def _container(value: Any, origin: Any, inner: tuple[Any, ...]) -> bool:
    """Return whether a container, or a function, is of its type, and its items of theirs."""
    if not isinstance(value, origin):
        return False
    if isinstance(value, Mapping):
        return all(_fits(key, inner[0]) and _fits(item, inner[1]) for key, item in value.items())
    if isinstance(value, tuple) and inner[-1] is not Ellipsis:
        return len(value) == len(inner) and all(map(_fits, value, inner))
    return not isinstance(value, Iterable) or isinstance(value, str) or all(_fits(item, inner[0]) for item in value)
