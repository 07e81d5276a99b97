"""What the caller says about a file; what is left out is found from the file."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import get_args

from kernelweave.errors import InvalidInputError
from kernelweave.samples.file_reading import LimitWord

__all__ = ["SEPARATORS", "ReadOptions"]

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of `read_table`; None means that the option is inferred from the file.

    Parameters
    ----------
    id, labels, asked, drop, header, sep, decimal, thousands, encoding, layer, obsm
        As in `read_table`.
    modality : tuple of str
        The modalities of a .h5mu file to read; all if there are none.
    sheet, transpose, missing, limits, long, wide
        As in `read_table`.
    usual_id : str, optional
        The column of the ids in files that were read before; it holds the ids if the file has it.
    usual_drop : frozenset of str
        The columns that were left out of files that were read before.
    """

    id: str | None = None
    labels: str | None = None
    asked: frozenset[str] = field(default=frozenset())
    drop: frozenset[str] = field(default=frozenset())
    header: bool | None = None
    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    layer: str | None = None
    obsm: str | None = None
    modality: tuple[str, ...] = ()
    sheet: str | None = None
    transpose: bool | None = None
    missing: tuple[str, ...] = ()
    limits: LimitWord = "limit"
    long: tuple[str, str, str] | None = None
    wide: bool = False
    usual_id: str | None = None
    usual_drop: frozenset[str] = field(default=frozenset())

    def __post_init__(self) -> None:
        if self.sep is not None:
            sep = SEPARATORS.get(self.sep, "\t" if self.sep == "\\t" else self.sep)
            if len(sep) != 1:
                words = ", ".join(SEPARATORS)
                msg = f"sep must be one character, or one of the words {words}; got {self.sep!r}."
                raise InvalidInputError(msg)
            object.__setattr__(self, "sep", sep)
        for name in ("decimal", "thousands"):
            mark = getattr(self, name)
            if mark is not None and mark not in (".", ",", " ", "'"):
                msg = (
                    f"{name} must be '.' or ','{' or a space or an apostrophe' * (name == 'thousands')}; got {mark!r}."
                )
                raise InvalidInputError(msg)
        for name in ("header", "transpose"):
            if not isinstance(getattr(self, name), bool | None):
                msg = f"{name} must be True, False or None; got {getattr(self, name)!r}."
                raise InvalidInputError(msg)
        if not all(code.rpartition("=")[2].strip() for code in self.missing):
            msg = f"missing must be codes such as 999 or age=999; got {', '.join(map(repr, self.missing))}."
            raise InvalidInputError(msg)
        if self.limits not in get_args(LimitWord):
            msg = f"limits must be {', '.join(get_args(LimitWord))}; got {self.limits!r}."
            raise InvalidInputError(msg)
        if self.long is not None and (len(self.long) != 3 or self.wide):
            msg = f"long must name the columns of ids, variables and values, without wide; got {self.long!r}."
            raise InvalidInputError(msg)
        if self.decimal is not None and self.decimal == self.thousands:
            msg = f"decimal and thousands are both {self.decimal!r}: they must differ."
            raise InvalidInputError(msg)

    @property
    def place(self) -> dict[str, str | list[str]]:
        """What is read of annotated data, as options by name; nothing if it is the usual."""
        asked = {"layer": self.layer, "obsm": self.obsm, "modality": list(self.modality)}
        return {name: value for name, value in asked.items() if value}

    @property
    def kept(self) -> frozenset[str]:
        """The columns that are neither ids to be found nor left out for being empty, since options name them."""
        return self.asked | self.left_out | self.named

    @property
    def left_out(self) -> frozenset[str]:
        """The columns to leave out."""
        return self.drop | self.usual_drop - self.named - self.asked

    @property
    def named(self) -> frozenset[str]:
        """The columns of ids and labels."""
        return frozenset(name for name in (self.id, self.labels) if name is not None)

    def settled(self, columns: Collection[str | None]) -> ReadOptions:
        """Return the options for a file with these columns: its ids are the usual ones, if no others are named."""
        return replace(self, id=self.usual_id) if self.id is None and self.usual_id in columns else self
