"""The file of a data set: in a folder of the user, in the cache, or downloaded."""

from __future__ import annotations

import hashlib
import os
from importlib import import_module
from pathlib import Path
from types import ModuleType

from kernelweave.datasets.registry import DatasetInfo
from kernelweave.errors import DataUnavailableError, InvalidInputError

__all__ = ["ENV_DATA", "locate"]

ENV_DATA = "KERNELWEAVE_DATA"


def locate(info: DatasetInfo, data_home: os.PathLike[str] | str | None, *, download: bool) -> Path:
    """Return the path of the checked file; a user's folder is only read, downloads go to the cache."""
    if info.folder is not None:
        return _in_folder(info, info.folder, "the package of the data set")
    if data_home is not None:
        return _in_folder(info, Path(data_home), "data_home")
    if os.environ.get(ENV_DATA):
        return _in_folder(info, Path(os.environ[ENV_DATA]), ENV_DATA)
    return _downloaded(info) if download else _in_cache(info)


def _in_folder(info: DatasetInfo, folder: Path, origin: str) -> Path:
    folder = folder.expanduser().absolute()
    if not folder.is_dir():
        msg = f"The data folder {folder} (from {origin}) does not exist. {_by_hand(info, 'in an existing folder')}"
        raise DataUnavailableError(msg)
    path = folder / info.filename
    if not path.is_file():
        msg = f"The data folder {folder} (from {origin}) has no file {info.filename}. {_by_hand(info, 'there')}"
        raise DataUnavailableError(msg)
    _check(info, path, f"fetch it again from {info.url}")
    return path


def _in_cache(info: DatasetInfo) -> Path:
    path = _cache_folder(_pooch(info)) / info.filename
    if not path.is_file():
        msg = (
            f"{info.name!r} is not in the cache (no file {path}) and download=False. Pass download=True. "
            f"{_by_hand(info)}"
        )
        raise DataUnavailableError(msg)
    _check(info, path, "pass download=True to replace it")
    return path


def _downloaded(info: DatasetInfo) -> Path:
    pooch = _pooch(info)
    folder = _cache_folder(pooch)
    try:
        path = pooch.retrieve(info.url, f"sha256:{info.sha256}", fname=info.filename, path=folder)
    except OSError as error:  # includes the errors of requests
        msg = f"{info.name!r} is not in the cache {folder} and could not be fetched: {error}. {_by_hand(info)}"
        raise DataUnavailableError(msg) from error
    except ValueError as error:
        msg = f"{info.url} no longer serves the file of {info.name!r}; nothing was kept. {error} {_by_hand(info)}"
        raise DataUnavailableError(msg) from error
    return Path(path)


def _pooch(info: DatasetInfo) -> ModuleType:
    try:
        return import_module("pooch")  # an optional dependency without type annotations
    except ImportError as error:
        msg = (
            f"Fetching {info.name!r} needs the package pooch, which is not installed: run pip install "
            f"'kernelweave[data]'. {_by_hand(info)}"
        )
        raise DataUnavailableError(msg) from error


def _cache_folder(pooch: ModuleType) -> Path:
    return Path(pooch.os_cache("kernelweave"))


def _check(info: DatasetInfo, path: Path, remedy: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != info.sha256:
        msg = (
            f"{path} is not the published file of {info.name!r}: expected sha256 {info.sha256}, got {found}. "
            f"It may be damaged or another version: {remedy}."
        )
        raise InvalidInputError(msg)


def _by_hand(info: DatasetInfo, where: str = "in a folder") -> str:
    return (
        f"To provide {info.name!r} by hand, save {info.url} as {info.filename} (sha256 {info.sha256}) {where}, "
        f"and pass that folder as data_home or set {ENV_DATA} to it."
    )
