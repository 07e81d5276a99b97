"""How the files of a fit were read: kept in the model, so that new files are read alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from kernelweave.errors import BadFileError

__all__ = ["FileReading", "LimitWord"]

LimitWord: TypeAlias = Literal["limit", "half", "missing", "refuse"]


@dataclass(frozen=True, slots=True)
class FileReading:
    """How the files of a fit were read. The options are those of `kernelweave.tabular.read_table`.

    Parameters
    ----------
    types : tuple of str
        The types of the files, such as ".csv". What is said of text (header, separator, marks, encoding) holds for new
        files of these types only.
    id : str or None
        The column of the ids, whether it was named or found.
    drop : tuple of str
        The columns that are not features: those that were left out, labels and metadata.
    header, sep, decimal, thousands, encoding, sheet, layer, obsm, modality, transpose, missing, limits, long, wide
        The options that were given; None, False or () where they were not.
    units : dict of str to str
        The units that the files said, by column, or by view and column ("clinic: weight").
    ranges : dict of str to (float, float)
        The smallest and the largest number of columns of numbers, by the same names.
    """

    types: tuple[str, ...] = ()
    id: str | None = None
    drop: tuple[str, ...] = ()
    header: bool | None = None
    sep: str | None = None
    decimal: Literal[".", ",", None] = None
    thousands: Literal[".", ",", " ", "'", None] = None
    encoding: str | None = None
    sheet: str | None = None
    layer: str | None = None
    obsm: str | None = None
    modality: tuple[str, ...] = ()
    transpose: bool | None = None
    missing: tuple[str, ...] = ()
    limits: LimitWord = "limit"
    long: tuple[str, str, str] | None = None
    wide: bool = False
    units: dict[str, str] = field(default_factory=dict)
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)

    def check_loaded(self) -> None:
        """Refuse marks that no option could have set."""
        if self.sep is not None and len(self.sep) != 1:
            msg = f"the separator of its files is {self.sep!r}, which is not one character."
            raise BadFileError(msg)
        if self.decimal is not None and self.decimal == self.thousands:
            msg = f"the decimal mark and that of thousands of its files are both {self.decimal!r}."
            raise BadFileError(msg)
