"""Values of a TOML file, checked as they are taken: an error names the file, the key, what was got and what may be."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from kernelweave.errors import InvalidInputError

__all__ = ["Table", "read_toml"]


def read_toml(path: Path) -> Table:
    """Return the content of a TOML file."""
    try:
        text = path.read_text(encoding="utf-8")
        return Table(path, "", tomllib.loads(text))
    except OSError as error:
        msg = f"The experiment file {path} cannot be read: {error.strerror or error}."
        raise InvalidInputError(msg) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path} is not valid TOML: {error}."
        raise InvalidInputError(msg) from error


class Table:
    """One table of the file, which knows where it stands."""

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

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        """Return a value of the given type; it is an error if it is missing and has no default."""
        if key not in self.values:
            if default is ...:
                self.fail(key, "this key is missing.")
            return default
        value = self.values[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            names = " or ".join({"str": "text", "dict": "a table"}.get(k.__name__, k.__name__) for k in kinds)
            self.fail(key, f"expected {names}, got {value!r}.")
        return value

    def word(self, key: str, words: Iterable[str], default: Any = ...) -> Any:
        """Return one of the words."""
        value = self.take(key, str, default)
        if value is not default:
            self.check(key, value, words)
        return value

    def words(self, key: str, words: Iterable[str], default: Any = ...) -> Any:
        """Return a list of some of the words, without repetitions."""
        values = self.take(key, list, default)
        if values is default:
            return default
        words = tuple(words)
        for value in values:
            self.check(key, value, words)
        return tuple(dict.fromkeys(values))

    def check(self, key: str, value: Any, words: Iterable[str]) -> None:
        """Refuse a value that is none of the words."""
        words = tuple(words)
        if value not in words:
            near = difflib.get_close_matches(value, words, 1) if isinstance(value, str) else []
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            self.fail(key, f"got {value!r}{hint}; possible are {', '.join(map(repr, words))}.")

    def count(self, key: str, default: Any = ...) -> Any:
        """Return a whole number of at least one."""
        value = self.take(key, int, default)
        if value is not None and value < 1:
            self.fail(key, f"expected a whole number of at least 1, got {value!r}.")
        return value

    def table(self, key: str, default: Any = ...) -> Table:
        """Return a table within this one."""
        return self._within(key, self.take(key, dict, default))

    def tables(self, key: str) -> list[Table]:
        """Return an array of tables within this one; () if there is none."""
        values = self.take(key, list, [])
        if not all(isinstance(value, dict) for value in values):
            self.fail(key, f"expected tables ([[{key}]]), got {values!r}.")
        return [self._within(f"{key}[{i}]", value) for i, value in enumerate(values)]

    def only(self, keys: Iterable[str]) -> None:
        """Refuse keys that nobody reads."""
        keys = tuple(keys)
        for key in self.values:
            if key not in keys:
                near = difflib.get_close_matches(key, keys, 1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                self.fail(key, f"unknown key{hint}; possible are {', '.join(keys)}.")

    def _within(self, key: str, values: Mapping[str, Any]) -> Table:
        return Table(self.path, f"{self.place}.{key}" if self.place else key, values)
