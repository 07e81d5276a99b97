"""The options that say how files are read, which all commands with tables share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from kernelweave.cli import _arguments as option
from kernelweave.cli._option_groups import OptionGroup

if TYPE_CHECKING:
    from kernelweave.tabular import ReadOptions

__all__ = ["Reading"]


@dataclass(frozen=True, slots=True)
class Reading(OptionGroup):
    """The values of these options."""

    id: option.Id = None
    drop: option.Drop = None
    header: option.Header = None
    sep: option.Sep = None
    decimal: option.Decimal = None
    thousands: option.Thousands = None
    encoding: option.Encoding = None
    sheet: option.Sheet = None
    layer: option.Layer = None
    obsm: option.Obsm = None
    modality: option.Modality = None
    transpose: option.Transpose = None
    missing: option.Missing = None
    limits: option.Limits = "limit"
    long: option.Long = None
    wide: option.Wide = False

    def options(self, paths: Sequence[Path], labels: str | None = None, *, without: Iterable[str] = ()) -> ReadOptions:
        """Return what the readers of these files take; columns in `without` are left out, too.

        An option that applies to none of the files is refused.
        """
        from kernelweave.samples.file_reading import LimitWord
        from kernelweave.tabular import ReadOptions
        from kernelweave.tabular.intake import refuse_unused

        read_options = ReadOptions(
            id=self.id,
            labels=labels,
            drop=frozenset((*(self.drop or ()), *without)),
            header=self.header,
            sep=self.sep,
            decimal=self.decimal,
            thousands=self.thousands,
            encoding=self.encoding,
            sheet=self.sheet,
            layer=self.layer,
            obsm=self.obsm,
            modality=tuple(self.modality or ()),
            transpose=self.transpose,
            missing=tuple(self.missing or ()),
            limits=option.one_of("--limits", self.limits, get_args(LimitWord)),
            long=self.long,
            wide=self.wide,
        )
        refuse_unused(read_options, paths)
        return read_options
