"""Load a data set by its name."""

from __future__ import annotations

import os

from sklearn.utils import Bunch

from kernelweave.datasets.fetch import locate
from kernelweave.datasets.readers import READERS, LabelledTable
from kernelweave.datasets.registry import DatasetInfo, dataset_info
from kernelweave.errors import InvalidInputError

__all__ = ["load_dataset"]


def load_dataset(name: str, *, data_home: os.PathLike[str] | str | None = None, download: bool = True) -> Bunch:
    """Load one of the paper's data sets, or of a plugin, with its samples, classes and origin as published.

    Parameters
    ----------
    name : str
        One of `list_datasets`; upper and lower case are the same.
    data_home : path-like, default=None
        Folder that holds the files under their published names. It is only read: nothing is downloaded into it.
        Defaults to the environment variable ``KERNELWEAVE_DATA``. Without either, the file is downloaded once (this
        needs ``pip install 'kernelweave[data]'``) and kept in the user's cache.
    download : bool, default=True
        Whether a file that is not in the cache may be downloaded. Has no effect with a data folder.

    Returns
    -------
    dataset : sklearn.utils.Bunch
        data : ndarray or scipy.sparse.csr_array of shape (n_samples, n_features)
            Float64. Sparse for tr11, tr41, tr45 and yeast.
        target : ndarray of shape (n_samples,)
            Classes as int64 from 0.
        target_names : ndarray of str or None
            Names of the classes, if the file has them (yeast).
        name, description : str
            The name of the data set, and what it holds.
        provenance : dict
            file, url, sha256, source, citation and preprocessing.

    Raises
    ------
    InvalidInputError
        If the name is unknown, or a file is not the published one.
    DataUnavailableError
        If the file is not in the folder, or could not be downloaded. The message says which file to save where.

    Examples
    --------
    >>> yale = load_dataset("yale")  # doctest: +SKIP
    >>> yale.data.shape  # doctest: +SKIP
    (165, 1024)
    """
    info = dataset_info(name)
    path = locate(info, data_home, download=download)
    read = READERS[info.format] if isinstance(info.format, str) else info.format
    table = read(path)
    _check_shape(info, table, path)
    return Bunch(
        data=table.data,
        target=table.target,
        target_names=table.target_names,
        name=info.name,
        description=info.description,
        provenance={
            "file": info.filename,
            "url": info.url,
            "sha256": info.sha256,
            "source": info.source,
            "citation": info.citation,
            "preprocessing": info.preprocessing,
        },
    )


def _check_shape(info: DatasetInfo, table: LabelledTable, path: os.PathLike[str]) -> None:
    expected = info.n_samples, info.n_features, info.n_samples, info.n_classes
    got = *table.data.shape, len(table.target), len(set(table.target.tolist()))
    if got != expected:
        msg = (
            f"{path} does not hold {info.name!r}: expected {_sizes(*expected)}; got {_sizes(*got)}. "
            f"Fetch it again from {info.url}."
        )
        raise InvalidInputError(msg)


def _sizes(n: int, d: int, n_labels: int, c: int) -> str:
    return f"{n} x {d} values, number of labels {n_labels}, number of classes {c}"
