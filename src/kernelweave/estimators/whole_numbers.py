"""Whole numbers that functions take, without booleans and numbers that numpy cannot hold."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from kernelweave.errors import InvalidInputError

__all__ = ["check_seed", "check_whole"]


def check_whole(value: object, name: str, least: int, *, optional: bool = False) -> None:
    """Refuse an argument that is not a whole number of at least `least`; `optional` allows None."""
    if optional and value is None:
        return
    if not _is_whole(value, least, np.iinfo(np.int32).max):
        msg = f"{name} must be a whole number, {least} or more{', or None' if optional else ''}; got {value!r}."
        raise InvalidInputError(msg)


def check_seed(value: object) -> None:
    """Refuse a seed that is neither None nor one that numpy's generators take."""
    if value is not None and not _is_whole(value, 0, np.iinfo(np.uint32).max):
        msg = f"random_state must be a whole number from 0 to 2**32 - 1, or None; got {value!r}."
        raise InvalidInputError(msg)


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most
