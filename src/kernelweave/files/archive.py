"""One file of JSON and arrays: an uncompressed zip archive, checked member by member; reading it runs no code."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import re
import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from kernelweave._types import Array
from kernelweave.errors import BadFileError, InvalidInputError
from kernelweave.files.temporary import replacing
from kernelweave.runtime import check_memory

__all__ = ["read_archive", "write_archive"]

_HEADER = "model.json"
_ARRAY = re.compile(r"arrays/\d{5}\.npy")
_KINDS = "biufcSU"  # no objects: they would need pickle
_STAMP = (1980, 1, 1, 0, 0, 0)  # the same model makes the same file
_HEADER_BYTES = 1 << 24  # texts of arrays, such as names of samples, are stored as arrays
_VALUES = 1 << 20  # each takes up to about 100 bytes once it is parsed
_DEPTH = 500  # Python's parser and ours recurse
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?', re.DOTALL)  # an unfinished one ends with the header


def write_archive(path: Path, header: dict[str, Any], arrays: list[Array]) -> None:
    """Write a header and its arrays as one file, which replaces an existing one once it is complete."""
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        members = []
        for i, array in enumerate(arrays):
            data = _npy_bytes(array)
            name = f"arrays/{i:05d}.npy"
            members.append({"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()})
            archive.writestr(zipfile.ZipInfo(name, _STAMP), data)
        archive.writestr(zipfile.ZipInfo(_HEADER, _STAMP), _header_text({**header, "arrays": members}))


def _header_text(header: dict[str, Any]) -> bytes:
    """Return a header as bytes, within the limits of what is read again."""
    text = json.dumps(header, allow_nan=False, ensure_ascii=False).encode("utf-8", "surrogatepass")
    try:
        _check_header(text)
    except BadFileError as error:
        msg = f"The model is too large to be loaded again: {error} Save it by pickle or joblib."
        raise InvalidInputError(msg) from None
    return text


def read_archive(path: Path) -> tuple[dict[str, Any], list[Array]]:
    """Return the header and the arrays of a file; a BadFileError says what is wrong with it."""
    size = _size(path)
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            members = _members(archive, size)
            text = archive.read(_HEADER)
            _check_header(text)
            header = json.loads(text.decode("utf-8", "surrogatepass"))
            listed = _listed(header, set(members))
            arrays = [_array(archive.read(entry["name"]), entry) for entry in listed]
    except BadFileError as error:
        msg = f"{path.name} cannot be loaded: {error}"
        raise BadFileError(msg) from None
    except (OSError, MemoryError) as error:
        # an error of the file system, such as no permission, is raised; EINVAL is a position that a damaged file gives
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise _broken(path, error) from error
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError, NotImplementedError, RecursionError) as error:
        raise _broken(path, error) from error
    except (EOFError, RuntimeError, OverflowError, AttributeError, IndexError, LookupError) as error:
        raise _broken(path, error) from error
    return header, arrays


def _size(path: Path) -> int:
    """Return the size of a file, which must be a regular one, whose bytes fit in memory."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        msg = f"{path} is not a regular file, so it holds no model: give the path of a file that save wrote."
        raise BadFileError(msg)
    check_memory(found.st_size, what=f"Loading {path.name}", advice="use a machine with more memory")
    return found.st_size


def _broken(path: Path, error: BaseException) -> BadFileError:
    reason = str(error) or type(error).__name__
    return BadFileError(f"{path.name} is not a model file, or it is damaged ({reason}). Save the model again.")


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name, none of them larger than the file: nothing is compressed, so nothing expands."""
    infos = archive.infolist()
    members = {info.filename: info for info in infos}
    if len(members) < len(infos):
        msg = "two of its members have the same name."
        raise BadFileError(msg)
    for name, info in members.items():
        if name != _HEADER and not _ARRAY.fullmatch(name):
            msg = f"it holds {name!r}, which is not part of a model file."
            raise BadFileError(msg)
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 or info.file_size != info.compress_size:
            msg = f"{name!r} is compressed or encrypted; the members of a model file are not."
            raise BadFileError(msg)
        if info.file_size > size:
            msg = f"{name!r} claims {info.file_size} bytes, but the file has {size}."
            raise BadFileError(msg)
    if sum(info.file_size for info in infos) > size:
        msg = f"its members claim more bytes than the {size} of the file."
        raise BadFileError(msg)
    if _HEADER not in members:
        msg = f"it has no {_HEADER!r}: it is another kind of archive."
        raise BadFileError(msg)
    if members[_HEADER].file_size > _HEADER_BYTES:
        msg = f"its header has {members[_HEADER].file_size} bytes; at most {_HEADER_BYTES} are read."
        raise BadFileError(msg)
    return members


def _listed(header: Any, names: set[str]) -> list[dict[str, Any]]:
    """Return the arrays that the header lists, which must be those of the archive."""
    if not isinstance(header, dict) or not isinstance(header.get("arrays"), list):
        msg = "its header is not that of a model."
        raise BadFileError(msg)
    listed: list[dict[str, Any]] = header["arrays"]
    given = [entry["name"] for entry in listed]
    if {*given, _HEADER} != names or len(set(given)) < len(given):
        odd = sorted(names.symmetric_difference({*given, _HEADER}))[:3]
        msg = f"its header and its members disagree ({', '.join(map(repr, odd))})."
        raise BadFileError(msg)
    return listed


def _npy_bytes(array: Array) -> bytes:
    buffer = io.BytesIO()
    npy.write_array(buffer, np.asanyarray(array), version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _array(data: bytes, entry: dict[str, Any]) -> Array:
    """Return one array from the bytes of an .npy member, which must be as long as its shape says."""
    name = entry["name"]
    if len(data) != entry["size"] or hashlib.sha256(data).hexdigest() != entry["sha256"]:
        msg = f"{name!r} is not what was saved (its length or checksum differs)."
        raise BadFileError(msg)
    buffer = io.BytesIO(data)
    if npy.read_magic(buffer) != (1, 0):
        msg = f"{name!r} has another version of the .npy format than model files have."
        raise BadFileError(msg)
    shape, fortran, dtype = npy.read_array_header_1_0(buffer)
    if dtype.kind not in _KINDS or dtype.fields is not None or dtype.subdtype is not None:
        msg = f"{name!r} holds {dtype}, not plain numbers or text."
        raise BadFileError(msg)
    body = len(data) - buffer.tell()
    count = 1
    for length in shape:  # Python's integers do not overflow
        count *= length
    if any(length < 0 for length in shape) or count * dtype.itemsize != body or (count and not body):
        msg = f"{name!r} claims shape {shape} of {dtype}, but has {body} bytes."
        raise BadFileError(msg)
    if body == 0:
        return np.zeros(shape, dtype=dtype)
    flat = np.frombuffer(data, dtype=dtype, offset=buffer.tell()).copy()
    return flat.reshape(shape, order="F" if fortran else "C")


def _check_header(text: bytes) -> None:
    """Refuse a header that is too long, has too many values or is too deeply nested, without parsing it."""
    if len(text) > _HEADER_BYTES:
        msg = f"its header has {len(text)} bytes; at most {_HEADER_BYTES} are read."
        raise BadFileError(msg)
    marks = np.frombuffer(_TEXT.sub(b"", text), dtype=np.uint8)
    opening, closing = np.isin(marks, list(b"[{")), np.isin(marks, list(b"]}"))
    values = np.count_nonzero(opening) + np.count_nonzero(marks == ord(","))
    if values > _VALUES:
        msg = f"its header has about {values} values; at most {_VALUES} are read."
        raise BadFileError(msg)
    depth = int((opening.astype(np.int32) - closing).cumsum().max(initial=0))
    if depth > _DEPTH:
        msg = f"its header is nested {depth} levels deep; at most {_DEPTH} are read."
        raise BadFileError(msg)
