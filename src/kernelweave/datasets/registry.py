"""The records of the data sets: their files, shapes, sources, licences and citations, from ``entries/``."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from kernelweave.datasets.contents import LabelledTable, Layout
from kernelweave.datasets.readers import Format
from kernelweave.errors import InvalidInputError, PluginError
from kernelweave.plugins import load_plugin, plugin_names

__all__ = [
    "DATASETS",
    "DOMAINS",
    "DatasetInfo",
    "Domain",
    "FileCopy",
    "dataset_info",
    "list_datasets",
]

Domain: TypeAlias = Literal["images", "text", "omics", "documents with links", "sound and video", "made up", "tables"]
DOMAINS: tuple[Domain, ...] = get_args(Domain)
_FILES = ("paper", "several_tables", "one_table", "scikit_learn")
_COPIED = ("citation", "preprocessing", "description", "domain", "format", "git_blob", "kernels")


@dataclass(frozen=True, slots=True)
class FileCopy:
    """A copy of a data set as .npz without pickles: read if a data folder has it and not the published file."""

    filename: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """The file, shape and origin of a data set.

    Parameters
    ----------
    name : str
        The name, in lower case.
    filename, url : str
        The file, and where it is downloaded from. A data set without `filename` comes with scikit-learn.
    sha256 : str or None
        The checksum of the file. Without it, and without `git_blob`, only the shape of the data is checked.
    n_samples, n_features, n_classes : int
        The shape; `n_features` counts the columns of all tables.
    source, citation, preprocessing, description : str
        Where the data come from, the publication, how they were prepared, and what they are.
    format : str or callable, default="mat"
        The reader of the file. A data set of a plugin may have its own, a function of the path.
    folder : path, optional
        Where the file is, if it comes with a package.
    views : tuple of int
        The numbers of columns of several tables; empty for one table.
    view_names : tuple of str
        The names of the tables.
    kernels : int, default=0
        The number of kernel matrices, for data sets that have no samples.
    licence : str, default="not stated"
        The licence of the data.
    domain : str, default="tables"
        The kind of data, as in `list_datasets`.
    git_blob : str, optional
        The object name of the file in git, which is checked where `sha256` is not known.
    layout : Layout, optional
        The parts of the file that hold the samples and the classes.
    copy : FileCopy, optional
        A copy without pickles, which is read if a data folder has it and not the published file.
    """

    name: str
    filename: str
    url: str
    sha256: str | None
    n_samples: int
    n_features: int
    n_classes: int
    source: str
    citation: str
    preprocessing: str
    description: str
    format: Format | Callable[[Path], LabelledTable] = "mat"
    folder: Path | None = None
    views: tuple[int, ...] = ()
    view_names: tuple[str, ...] = ()
    kernels: int = 0
    licence: str = "not stated"
    domain: Domain = "tables"
    git_blob: str | None = None
    layout: Layout = field(default_factory=Layout)
    copy: FileCopy | None = None

    @property
    def n_views(self) -> int:
        """The number of tables, or of kernel matrices."""
        return len(self.views) or self.kernels or 1

    @property
    def bundled(self) -> bool:
        """Whether the data set comes with scikit-learn and has no file."""
        return not self.filename


def list_datasets(
    *,
    views: tuple[int, int | None] = (1, None),
    samples: tuple[int, int | None] = (0, None),
    domain: Domain | None = None,
) -> list[str]:
    """Return the names of the data sets: the paper's, in the order of its tables, others, then those of plugins.

    Parameters
    ----------
    views : tuple of two ints, default=(1, None)
        The least and the largest number of views; None for no limit.
    samples : tuple of two ints, default=(0, None)
        The least and the largest number of samples.
    domain : {"images", "text", "omics", "documents with links", "sound and video", "made up", "tables"}, default=None
        Only data sets of this kind.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> list_datasets()[:8]
    ['yale', 'jaffe', 'yeast', 'tr11', 'tr41', 'tr45', 'ba', 'coil20']
    >>> list_datasets(views=(3, None), samples=(0, 200), domain="text")
    ['3sources']
    """
    if domain is not None and domain not in DOMAINS:
        msg = f"There is no domain {domain!r}: choose one of {', '.join(DOMAINS)}."
        raise InvalidInputError(msg)
    own = [info.name for info in DATASETS]
    names = own + [name for name in plugin_names("datasets") if name not in own]
    if (views, samples, domain) == ((1, None), (0, None), None):
        return names  # without importing plugins
    found = [dataset_info(name) for name in names]
    return [
        info.name
        for info in found
        if _within(info.n_views, views) and _within(info.n_samples, samples) and domain in (None, info.domain)
    ]


def _within(number: int, limits: tuple[int, int | None]) -> bool:
    least, most = limits
    return least <= number and (most is None or number <= most)


def dataset_info(name: str) -> DatasetInfo:
    """Look up a data set's file, shape and origin, without reading or downloading it.

    Parameters
    ----------
    name : str
        One of `list_datasets`; upper and lower case are the same.

    Returns
    -------
    info : DatasetInfo
        File, address, checksum, shape, source, licence, citation, preprocessing and description.

    Raises
    ------
    InvalidInputError
        If there is no data set of that name.

    Examples
    --------
    >>> dataset_info("YALE").n_classes
    15
    >>> dataset_info("msrcv1").views
    (24, 576, 512, 256, 254)
    """
    known = {info.name: info for info in DATASETS}
    key = name.casefold() if isinstance(name, str) else None
    if key in known:
        return known[key]
    if key is None or key not in plugin_names("datasets"):
        msg = f"There is no data set {name!r}: choose one of {', '.join(list_datasets())}."
        raise InvalidInputError(msg)
    return _plugin(key)


def _plugin(name: str) -> DatasetInfo:
    found = load_plugin("datasets", name)
    if not isinstance(found, DatasetInfo) or found.name != name:
        msg = (
            f"{name!r} of the group kernelweave.datasets must be a kernelweave.datasets.DatasetInfo of that name; got "
            f"{found!r}. Update or uninstall the package."
        )
        raise PluginError(msg)
    return found


def _read_entries() -> tuple[DatasetInfo, ...]:
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


DATASETS: tuple[DatasetInfo, ...] = _read_entries()
