"""The published figures that the tables are compared with."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, TypeAlias

from kernelweave.errors import InvalidInputError

__all__ = ["Figure", "Published", "load_published", "published_names"]

Unit: TypeAlias = Literal["share", "percent", "count"]
_LARGEST: dict[Unit, float] = {"share": 1.0, "percent": 100.0, "count": float("inf")}
_KEYS = ("dataset", "labels", "method")
_DEVIATION = "_std"


@dataclass(frozen=True, slots=True)
class Figure:
    """One published number: of a data set and, where it applies, of a method and a percentage of labels."""

    metric: str
    value: float
    std: float | None = None
    dataset: str = ""
    method: str | None = None
    labels: int | None = None
    where: str | None = None  # the place in the paper, if not the table itself


@dataclass(frozen=True, slots=True)
class Published:
    """One published table: its source, and its figures in the unit in which they were printed."""

    source: str
    table: str
    caption: str
    unit: Unit
    figures: tuple[Figure, ...]

    @property
    def scale(self) -> float:
        """The factor that converts our scores, from 0 to 1, to the unit of these figures."""
        return 100.0 if self.unit == "percent" else 1.0

    @property
    def metrics(self) -> tuple[str, ...]:
        """The published metrics, in their order."""
        return tuple(dict.fromkeys(figure.metric for figure in self.figures))

    def find(self, dataset: str, metric: str, method: str | None = None, labels: int | None = None) -> Figure | None:
        """Return a published figure, or None if there is none."""
        wanted = dataset, metric, method, labels
        return next((f for f in self.figures if (f.dataset, f.metric, f.method, f.labels) == wanted), None)


def published_names() -> tuple[str, ...]:
    """Return the names of the tables that come with the package."""
    return tuple(sorted(file.name.removesuffix(".toml") for file in _folder().iterdir() if file.name.endswith(".toml")))


def _folder() -> Traversable:
    return files("kernelweave.experiments") / "published"


def load_published(name: str | Path) -> Published:
    """Read the figures of a published table.

    Parameters
    ----------
    name : str or path
        One of `published_names`, or the path of a TOML file of your own: ``source``, ``table``, ``caption``, ``unit``
        ("share", "percent" or "count"), ``keys`` (the levels of the nested tables, in their order: "dataset",
        "labels", "method") and ``figures``, in which ``acc_std`` is the standard deviation of ``acc``.

    Returns
    -------
    published : Published
        The figures as printed.

    Raises
    ------
    InvalidInputError
        If there is no such table, or the file is not valid.
    """
    if str(name) in published_names():
        file: Traversable = _folder() / f"{name}.toml"
    else:
        file = Path(name)
        if not file.is_file():
            msg = (
                f"There are no published figures {str(name)!r}: choose one of {', '.join(published_names())}, "
                "or give the path of a TOML file."
            )
            raise InvalidInputError(msg)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{file} is not a TOML file: {error}."
        raise InvalidInputError(msg) from error
    return _read(content, str(file))


def _read(content: dict[str, Any], origin: str) -> Published:
    wanted = {"source": str, "table": str, "caption": str, "unit": str, "keys": list, "figures": dict}
    for key, kind in wanted.items():
        if not isinstance(content.get(key), kind):
            msg = f"{origin}: {key} must be a {kind.__name__}, got {content.get(key)!r}."
            raise InvalidInputError(msg)
    if more := sorted(set(content) - set(wanted)):
        msg = f"{origin}: unknown {', '.join(more)}; a table of figures has {', '.join(wanted)}."
        raise InvalidInputError(msg)
    unit = next((known for known in _LARGEST if known == content["unit"]), None)
    if unit is None:
        msg = f"{origin}: unit must be one of {', '.join(_LARGEST)}, got {content['unit']!r}."
        raise InvalidInputError(msg)
    keys = tuple(content["keys"])
    if "dataset" not in keys or len(set(keys)) < len(keys) or not set(keys) <= set(_KEYS):
        msg = f"{origin}: keys must name dataset, and may name labels and method, each once; got {list(keys)}."
        raise InvalidInputError(msg)
    figures = tuple(_walk(content["figures"], keys, {}, unit, origin))
    if not figures:
        msg = f"{origin}: figures is empty."
        raise InvalidInputError(msg)
    return Published(content["source"], content["table"], content["caption"], unit, figures)


def _walk(node: object, keys: tuple[str, ...], of: dict[str, Any], unit: Unit, origin: str) -> Iterator[Figure]:
    """Yield the figures of the nested tables, which have one key per level."""
    place = ".".join(["figures", *map(str, of.values())])
    if not isinstance(node, dict):
        msg = f"{origin}: {place} must be a table of {keys[0] if keys else 'figures'}, got {node!r}."
        raise InvalidInputError(msg)
    if not keys:
        yield from _figures(node, of, unit, f"{origin}: {place}")
        return
    for name, below in node.items():
        if keys[0] == "labels" and not name.isdecimal():
            msg = f"{origin}: {place}.{name} must be a whole percentage of labels, such as 10."
            raise InvalidInputError(msg)
        value = int(name) if keys[0] == "labels" else name
        yield from _walk(below, keys[1:], {**of, keys[0]: value}, unit, origin)


def _figures(node: dict[str, Any], of: dict[str, Any], unit: Unit, place: str) -> Iterator[Figure]:
    where = node.get("where")
    numbers = {name: value for name, value in node.items() if name != "where"}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LARGEST[unit]:
            msg = f"{place}.{name} must be a number from 0 to {_LARGEST[unit]:g} (unit {unit!r}), got {value!r}."
            raise InvalidInputError(msg)
        if name.endswith(_DEVIATION) and name.removesuffix(_DEVIATION) not in numbers:
            msg = f"{place}.{name} is the deviation of {name.removesuffix(_DEVIATION)}, which is missing."
            raise InvalidInputError(msg)
    for name, value in numbers.items():
        if not name.endswith(_DEVIATION):
            yield Figure(name, value, numbers.get(name + _DEVIATION), where=where, **of)
