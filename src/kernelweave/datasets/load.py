"""Load a data set by its name."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from kernelweave.datasets.contents import LabelledTable, LabelledTables
from kernelweave.datasets.fetch import Located, locate
from kernelweave.datasets.readers import READERS, read_bundled
from kernelweave.datasets.registry import DatasetInfo, dataset_info
from kernelweave.errors import InvalidInputError
from kernelweave.samples import Views

__all__ = ["load_dataset"]


def load_dataset(name: str, *, data_home: os.PathLike[str] | str | None = None, download: bool = True) -> Bunch:
    """Load a data set by its name, with its samples, classes and origin as published.

    Parameters
    ----------
    name : str
        One of `list_datasets`; upper and lower case are the same.
    data_home : path-like, default=None
        Folder that holds the files under their published names, itself or in folders directly in it. It is only read:
        nothing is downloaded into it. Defaults to the environment variable ``KERNELWEAVE_DATA``. Without either, the
        file is downloaded once (this needs ``pip install 'kernelweave[data]'``) and kept in the user's cache.
    download : bool, default=True
        Whether a file that is not in the cache may be downloaded. Has no effect with a data folder.

    Returns
    -------
    dataset : sklearn.utils.Bunch
        data : ndarray or scipy.sparse.csr_array of shape (n_samples, n_features), Views, or ndarray
            Float64. `kernelweave.Views` for data sets with several tables, an array of shape (n_kernels, n_samples,
            n_samples) for those with kernel matrices only.
        target : ndarray of shape (n_samples,)
            Classes as int64 from 0.
        target_names : ndarray of str or None
            Names of the classes, if the file has them.
        name, description : str
            The name of the data set, and what it holds.
        provenance : dict
            file, url, sha256, source, licence, citation and preprocessing.

    Raises
    ------
    InvalidInputError
        If the name is unknown, or a file is not the published one.
    DataUnavailableError
        If the file is not in the folder, or could not be downloaded. The message says which file to save where.

    Examples
    --------
    >>> load_dataset("iris").data.shape
    (150, 4)
    >>> msrcv1 = load_dataset("msrcv1")  # doctest: +SKIP
    >>> msrcv1.data.widths  # doctest: +SKIP
    (24, 576, 512, 256, 254)
    """
    info = dataset_info(name)
    if info.bundled:
        return _bunch(info, read_bundled(info.name), "")
    located = locate(info, data_home, download=download)
    return _bunch(info, _read(info, located), located.path)


def _read(info: DatasetInfo, located: Located) -> LabelledTable | LabelledTables:
    if located.is_copy:
        return READERS["copy"](located.path, info.layout)
    if isinstance(info.format, str):
        return READERS[info.format](located.path, info.layout)
    return info.format(located.path)


def _bunch(info: DatasetInfo, read: LabelledTable | LabelledTables, path: object) -> Bunch:
    tables = read.tables if isinstance(read, LabelledTables) else (read.data,)
    _check_shape(info, tables, read.target, path)
    return Bunch(
        data=_samples(info, tables),
        target=read.target,
        target_names=read.target_names,
        name=info.name,
        description=info.description,
        provenance={
            "file": info.filename,
            "url": info.url,
            "sha256": info.sha256,
            "source": info.source,
            "licence": info.licence,
            "citation": info.citation,
            "preprocessing": info.preprocessing,
        },
    )


def _samples(info: DatasetInfo, tables: tuple[Any, ...]) -> Any:
    if info.kernels:
        return np.stack(tables)
    if not info.views:
        return tables[0]
    names = info.view_names or tuple(f"view {v}" for v in range(len(tables)))
    return Views(dict(zip(names, tables, strict=True)))


def _check_shape(info: DatasetInfo, tables: tuple[Any, ...], target: Any, path: object) -> None:
    columns = info.views or (info.n_samples,) * info.kernels or (info.n_features,)
    expected = tuple((info.n_samples, width) for width in columns), info.n_samples, info.n_classes
    got = tuple(tuple(map(int, table.shape)) for table in tables), len(target), len(set(target.tolist()))
    if got != expected:
        msg = (
            f"{path} does not hold {info.name!r}: expected {_sizes(*expected)}; got {_sizes(*got)}. "
            f"Fetch it again from {info.url}."
        )
        raise InvalidInputError(msg)


def _sizes(shapes: tuple[tuple[int, ...], ...], n_labels: int, c: int) -> str:
    said = ", ".join(" x ".join(map(str, shape)) for shape in shapes)
    return f"{said} values, number of labels {n_labels}, number of classes {c}"
