"""The file of a data set: in a folder of the user, in the cache, or downloaded."""

from __future__ import annotations

import hashlib
import os
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from kernelweave.datasets.registry import DatasetInfo
from kernelweave.errors import DataUnavailableError, InvalidInputError

__all__ = ["ENV_DATA", "Located", "locate"]

ENV_DATA = "KERNELWEAVE_DATA"


class Located(NamedTuple):
    """The checked file of a data set, and whether it is the copy as .npz instead of the published file."""

    path: Path
    is_copy: bool = False


def locate(info: DatasetInfo, data_home: os.PathLike[str] | str | None, *, download: bool) -> Located:
    """Return the checked file; a user's folder is only read, downloads go to the cache."""
    if info.folder is not None:
        return _in_folder(info, info.folder, "the package of the data set")
    if data_home is not None:
        return _in_folder(info, Path(data_home), "data_home")
    if os.environ.get(ENV_DATA):
        return _in_folder(info, Path(os.environ[ENV_DATA]), ENV_DATA)
    return Located(_downloaded(info) if download else _in_cache(info))


def _in_folder(info: DatasetInfo, folder: Path, origin: str) -> Located:
    """Look for the published file, then for the copy, in a folder and the folders directly in it."""
    folder = folder.expanduser().absolute()
    if not folder.is_dir():
        msg = f"The data folder {folder} (from {origin}) does not exist. {_by_hand(info, 'in an existing folder')}"
        raise DataUnavailableError(msg)
    path = _within(folder, info.filename)
    if path is not None:
        _check(info, path, f"fetch it again from {info.url}")
        return Located(path)
    copy = None if info.copy is None else _within(folder, info.copy.filename)
    if info.copy is None or copy is None:
        msg = f"The data folder {folder} (from {origin}) has no file {info.filename}. {_by_hand(info, 'there')}"
        raise DataUnavailableError(msg)
    _compare(copy, _digest(copy), info.copy.sha256, f"the known copy of {info.name!r}", f"fetch {info.url}")
    return Located(copy, is_copy=True)


def _within(folder: Path, filename: str) -> Path | None:
    places = [folder, *sorted(inner for inner in folder.iterdir() if inner.is_dir())]
    return next((place / filename for place in places if (place / filename).is_file()), None)


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
    known = None if info.sha256 is None else f"sha256:{info.sha256}"
    try:
        path = Path(pooch.retrieve(info.url, known, fname=info.filename, path=folder))
    except OSError as error:  # includes the errors of requests
        msg = f"{info.name!r} is not in the cache {folder} and could not be fetched: {error}. {_by_hand(info)}"
        raise DataUnavailableError(msg) from error
    except ValueError as error:
        msg = f"{info.url} no longer serves the file of {info.name!r}; nothing was kept. {error} {_by_hand(info)}"
        raise DataUnavailableError(msg) from error
    if info.sha256 is None:
        _check(info, path, f"delete it and fetch it again from {info.url}")
    return path


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
    """Compare the file with the checksum that is known, if one is."""
    if info.sha256 is not None:
        _compare(path, _digest(path), info.sha256, f"the published file of {info.name!r}", remedy)
    elif info.git_blob is not None:
        found = _git_blob(path)
        _compare(path, found, info.git_blob, f"the published file of {info.name!r}", remedy, what="git object")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _git_blob(path: Path) -> str:
    """Return the name that git gives to a file: the SHA-1 of its size and content."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _compare(path: Path, found: str, expected: str, whose: str, remedy: str, what: str = "sha256") -> None:
    if found != expected:
        msg = (
            f"{path} is not {whose}: expected {what} {expected}, got {found}. "
            f"It may be damaged or another version: {remedy}."
        )
        raise InvalidInputError(msg)


def _by_hand(info: DatasetInfo, where: str = "in a folder") -> str:
    known = (
        f"sha256 {info.sha256}" if info.sha256 else f"git object {info.git_blob}" if info.git_blob else "no checksum"
    )
    return (
        f"To provide {info.name!r} by hand, save {info.url} as {info.filename} ({known}) {where}, "
        f"and pass that folder as data_home or set {ENV_DATA} to it."
    )
