"""Text files as they come: compressed or not, in the encoding that their bytes show."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from kernelweave.errors import InvalidInputError
from kernelweave.runtime import check_memory
from kernelweave.tabular.problems import shown

__all__ = ["PACKED", "TextSource", "inner_name", "text_source"]

PACKED = (".gz", ".zip")
_CHUNK = 1 << 20
_END = 1 << 14  # bytes, a multiple of four for encodings of two and four bytes
_TAIL = 30  # lines
_BOMS = (  # that of UTF-32 begins like that of UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WINDOWS = re.compile(rb"[\x80-\x9f]")  # control characters in latin-1, letters and quotes in Windows-1252
_NOT_WINDOWS = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # the bytes that Windows-1252 has no character for
_OTHERS = {  # what a file that is not a text begins with
    b"PK\x03\x04": "a zip or Excel file: call it .xlsx if it is from Excel, .zip if it is packed",
    b"PAR1": "a Parquet file: call it .parquet",
    b"ARROW1": "a Feather file: call it .feather",
    b"\x89HDF": "an HDF5 file: call it .h5ad or .h5mu if it holds annotated data",
    b"\x93NUMPY": "a file of numpy: call it .npy",
    b"\xd0\xcf\x11\xe0": "an old Excel file: save it as .xlsx or .csv",
    b"%PDF": "a PDF document: export the table as .csv",
    b"\xfd7zXZ\x00": "packed by xz: unpack it first",
    b"version https://git-lfs": "a pointer of Git LFS: fetch the file itself with git lfs pull",
    b"<!doctype html": "a web page: download the file that it shows",
    b"<html": "a web page: download the file that it shows",
}


@dataclass(frozen=True, slots=True)
class TextSource:
    """A text file: its path, encoding, what was found out about it, and its last lines."""

    path: Path
    encoding: str
    notes: tuple[str, ...] = field(default=())
    tail: tuple[str, ...] = field(default=())

    @contextmanager
    def open(self) -> Iterator[IO[str]]:
        """Open the file as text."""
        with open_bytes(self.path) as raw, io.TextIOWrapper(raw, encoding=self.encoding, newline="") as text:
            yield text


def inner_name(path: Path) -> str:
    """Return the name of a file without that of its compression: data.csv for data.csv.gz."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        return Path(_member(path)).name
    return path.stem if suffix == ".gz" else path.name


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open the bytes of a file, unpacked."""
    if path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive, archive.open(_member(path)) as raw:
            yield raw
        return
    with path.open("rb") as raw:
        if raw.peek(2)[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield unpacked  # type: ignore[misc]  # it is one in all but name
        else:
            yield raw


def _member(path: Path) -> str:
    """Return the name of the one file in an archive."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/") and not _is_hidden(name)]
    if len(names) != 1:
        held = ", ".join(names[:6]) + (" ..." if len(names) > 6 else "")
        msg = f"{path} must hold one file; it holds {held or 'none'}. Unpack it, and name the files to read."
        raise InvalidInputError(msg)
    return names[0]


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))


def text_source(path: Path, encoding: str | None, *, whole: bool = True) -> TextSource:
    """Return a text file with its encoding: as given, by its byte order mark, UTF-8, or else latin-1 or its kin.

    A file that will be read as a `whole` must fit in memory.
    """
    with open_bytes(path) as raw:
        head = raw.read(_CHUNK)
        _need_text(path, head, encoding)
        found = encoding or _marked(head) or _wide(path, head)
        bad, windows, end = _misfit(path, head, raw, found, whole=whole)
    if found is not None:
        notes = () if found in ("utf-8", "utf-8-sig") or encoding else (f"it is encoded as {found.upper()}",)
        return TextSource(path, found, notes, _last_lines(end, found))
    if bad is None:
        return TextSource(path, "utf-8", (), _last_lines(end, "utf-8"))
    name = "cp1252" if windows else "latin-1"
    word = re.search(r"[^\s,;|\"]*[^\x00-\x7f][^\s,;|\"]*", bad.decode(name, errors="replace"))
    example = f": {shown(word.group())}" if word else ""
    return TextSource(path, name, (f"it is not UTF-8, so it is read as {name}{example}",), _last_lines(end, name))


def _last_lines(end: bytes, encoding: str) -> tuple[str, ...]:
    """Return the last lines of a file from its last bytes, without the first, which may have begun before."""
    order = "be" if end[:1] == b"\0" else "le"  # of an encoding whose mark is at the beginning of the file
    text = end.decode(f"{encoding}-{order}" if encoding in ("utf-16", "utf-32") else encoding, errors="replace")
    lines = re.split("\r\n|\r|\n", text)
    return tuple(lines[1 : None if lines[-1] else -1][-_TAIL:])


def _misfit(
    path: Path, head: bytes, raw: IO[bytes], encoding: str | None, *, whole: bool
) -> tuple[bytes | None, bool, bytes]:
    """Return a piece that is not in the encoding (UTF-8 if None), whether it may be Windows-1252, and the last bytes.

    The piece is None if all is in the encoding. The file is read once in pieces, so that one that unpacks to more than
    the memory is refused before it fills it.
    """
    decoder = codecs.getincrementaldecoder(encoding or "utf-8")()
    size, bad, windows, other, chunk, end = 0, None, False, False, head, b""
    while chunk:
        size += len(chunk)
        if whole:
            check_memory(3 * size, what=f"Reading {path}", advice="split the file, or give the rows that matter")
        try:
            if bad is None:
                decoder.decode(chunk)
        except UnicodeDecodeError as error:
            if encoding is not None:
                msg = f"{path} is not encoded as {encoding}: {error.reason}. Leave encoding out to have it found."
                raise InvalidInputError(msg) from error
            bad = error.object[max(error.start - 40, 0) : error.start].rpartition(b"\n")[2]
            bad += error.object[error.start : error.start + 40].partition(b"\n")[0]
        windows = windows or _WINDOWS.search(chunk) is not None
        other = other or _NOT_WINDOWS.search(chunk) is not None
        end = (end + chunk)[-_END:]
        chunk = raw.read(_CHUNK)
    return bad, windows and not other, end


def _need_text(path: Path, head: bytes, encoding: str | None) -> None:
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except LookupError as error:
            msg = f"There is no encoding {encoding!r}: pass one such as utf-8, utf-16, latin-1 or cp1252."
            raise InvalidInputError(msg) from error
    start = head[:64].removeprefix(codecs.BOM_UTF8).lstrip()
    for magic, what in _OTHERS.items():
        if head.startswith(magic) or start.lower().startswith(magic):
            msg = f"{path} is not text but {what}."
            raise InvalidInputError(msg)


def _marked(head: bytes) -> str | None:
    return next((name for mark, name in _BOMS if head.startswith(mark)), None)


def _wide(path: Path, head: bytes) -> str | None:
    """Return the encoding of text whose characters take two bytes each, None if they do not."""
    start = head[: 1 << 12]
    if b"\0" not in start:
        return None
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) < 0.6 * len(start) / 2 or min(even, odd) > 0.05 * len(start):
        msg = f"{path} is not text: it contains null bytes. Check what kind of file it is."
        raise InvalidInputError(msg)
    return "utf-16-le" if odd > even else "utf-16-be"
