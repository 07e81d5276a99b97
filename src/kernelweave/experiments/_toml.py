"""Checked access to the values of a TOML file: errors name the file, the key, the value and the accepted values."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar, overload

from kernelweave.errors import InvalidInputError

__all__ = ["TomlTable", "read_toml"]

T = TypeVar("T")
Default = TypeVar("Default")
Word = TypeVar("Word", bound=str)
_REQUIRED = object()
_BYTES = 1 << 20


def read_toml(path: Path) -> TomlTable:
    """Return the content of a TOML file."""
    try:
        if path.is_file() and path.stat().st_size > _BYTES:
            msg = f"{path} has {path.stat().st_size} bytes; a file of settings has at most {_BYTES}."
            raise InvalidInputError(msg)
        text = path.read_text(encoding="utf-8")
        return TomlTable(path, "", tomllib.loads(text))
    except OSError as error:
        msg = f"The experiment file {path} cannot be read: {error.strerror or error}."
        raise InvalidInputError(msg) from error
    except RecursionError as error:
        msg = f"{path} is nested too deeply to be read."
        raise InvalidInputError(msg) from error
    except ValueError as error:  # of the syntax, the encoding, or an integer of thousands of digits
        if isinstance(error, InvalidInputError):
            raise
        msg = f"{path} is not valid TOML: {error}."
        raise InvalidInputError(msg) from error


class TomlTable:
    """One table of the file, with the file's path and the table's own place in it."""

    def __init__(self, path: Path, place: str, values: Mapping[str, Any]) -> None:
        self.path = path
        self.place = place
        self.values = values

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def fail(self, key: str, problem: str) -> NoReturn:
        """Raise the error for a key."""
        where = f"{self.place}.{key}" if self.place else key
        msg = f"{self.path}: {where}: {problem}"
        raise InvalidInputError(msg)

    @overload
    def take(self, key: str, kind: type[T] | tuple[type[T], ...]) -> T: ...
    @overload
    def take(self, key: str, kind: type[T] | tuple[type[T], ...], default: Default) -> T | Default: ...
    def take(self, key: str, kind: type | tuple[type, ...], default: object = _REQUIRED) -> object:
        """Return a value of the given type; a missing key without a default is an error."""
        if key not in self.values:
            if default is _REQUIRED:
                self.fail(key, "this key is missing.")
            return default
        value = self.values[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            names = " or ".join({"str": "text", "dict": "a table"}.get(k.__name__, k.__name__) for k in kinds)
            self.fail(key, f"expected {names}, got {value!r}.")
        return value

    def word(self, key: str, words: Iterable[Word], default: Word | None = None) -> Word:
        """Return one of the words."""
        if default is not None and key not in self.values:
            return default
        return self.check(key, self.take(key, str), words)

    def words(self, key: str, words: Iterable[Word], default: tuple[Word, ...] | None = None) -> tuple[Word, ...]:
        """Return a list of some of the words, without repetitions."""
        if default is not None and key not in self.values:
            return default
        known = tuple(words)
        return tuple(dict.fromkeys(self.check(key, value, known) for value in self.take(key, list)))

    def check(self, key: str, value: object, words: Iterable[Word]) -> Word:
        """Return a value as one of the words; raise if it is another."""
        known = tuple(words)
        for word in known:
            if word == value:
                return word
        near = difflib.get_close_matches(value, known, 1) if isinstance(value, str) else []
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        self.fail(key, f"got {value!r}{hint}; possible are {', '.join(map(repr, known))}.")

    @overload
    def count(self, key: str) -> int: ...
    @overload
    def count(self, key: str, default: Default) -> int | Default: ...
    def count(self, key: str, default: object = _REQUIRED) -> object:
        """Return a whole number of at least one."""
        if default is not _REQUIRED and key not in self.values:
            return default
        value = self.take(key, int)
        if value < 1:
            self.fail(key, f"expected a whole number of at least 1, got {value!r}.")
        return value

    def table(self, key: str, default: dict[str, Any] | None = None) -> TomlTable:
        """Return a table within this one."""
        return self._within(key, self.take(key, dict) if default is None else self.take(key, dict, default))

    def tables(self, key: str) -> list[TomlTable]:
        """Return an array of tables within this one, empty if the key is missing."""
        values: list[Any] = self.take(key, list, [])
        if not all(isinstance(value, dict) for value in values):
            self.fail(key, f"expected tables ([[{key}]]), got {values!r}.")
        return [self._within(f"{key}[{i}]", value) for i, value in enumerate(values)]

    def only(self, keys: Iterable[str]) -> None:
        """Raise if the table has a key that is not in `keys`."""
        known = tuple(keys)
        for key in self.values:
            if key not in known:
                near = difflib.get_close_matches(key, known, 1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                self.fail(key, f"unknown key{hint}; possible are {', '.join(known)}.")

    def _within(self, key: str, values: Mapping[str, Any]) -> TomlTable:
        return TomlTable(self.path, f"{self.place}.{key}" if self.place else key, values)
