"""The records of the data sets, from the files in ``entries/``."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

from kernelweave.datasets.contents import Layout
from kernelweave.datasets.registry import DatasetInfo, FileCopy

__all__ = ["read_catalogue"]

_FILES = ("paper", "several_tables", "one_table", "scikit_learn")
_COPIED = ("citation", "preprocessing", "description", "domain", "format", "git_blob", "kernels")


def read_catalogue() -> tuple[DatasetInfo, ...]:
    """Return the records in the order of the files."""
    folder = resources.files("kernelweave.datasets").joinpath("entries")
    read = {
        name: tomllib.loads(folder.joinpath(f"{name}.toml").read_text(encoding="utf-8"))
        for name in ("sources", *_FILES)
    }
    return tuple(_record(name, fields, read["sources"]) for file in _FILES for name, fields in read[file].items())


def _record(name: str, fields: dict[str, Any], sources: dict[str, dict[str, str]]) -> DatasetInfo:
    """Return a record; `file` is its path at the source, `views` the columns of its tables."""
    source = sources[fields["from"]]
    path = fields.get("file", "")
    views = tuple(fields.get("views", ()))
    copy = fields.get("copy")
    layout = fields.get("layout", {})
    return DatasetInfo(
        name=name,
        filename=fields.get("filename", path.rpartition("/")[2]),
        url=source["url"] + path,
        sha256=fields.get("sha256"),
        n_samples=fields["samples"],
        n_features=sum(views) or fields["columns"],
        n_classes=fields["classes"],
        views=views,
        view_names=tuple(fields.get("view_names", ())),
        source=source["source"],
        licence=fields.get("licence", source["licence"]),
        layout=Layout(tuple(layout.get("samples", ("X",))), layout.get("target", "y"), layout.get("form", "rows")),
        copy=None if copy is None else FileCopy(copy["file"], copy["sha256"]),
        **{key: fields[key] for key in _COPIED if key in fields},
    )
