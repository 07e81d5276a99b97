"""Options that several commands share, as dataclasses: a parameter of such a type stands for all of its options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from kernelweave.cli import _arguments as option

if TYPE_CHECKING:
    from kernelweave.tabular import ReadOptions

__all__ = ["OptionGroup", "Reading", "with_groups"]


class OptionGroup:
    """The base of dataclasses whose fields are options."""

    __slots__ = ()


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameters that are groups of options are given by these options, in their place."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, list[Parameter]] = {}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        own = hints[name]
        if isinstance(own, type) and issubclass(own, OptionGroup):
            groups[name] = _options(own)
            parameters += groups[name]
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=own))

    @wraps(command)
    def run(**given: Any) -> None:
        made = {
            name: hints[name](**{one.name: given.pop(one.name) for one in options}) for name, options in groups.items()
        }
        command(**given, **made)

    del run.__wrapped__  # otherwise the parameters of the command are read instead of these
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _options(group: type[OptionGroup]) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])
        for each in fields(group)  # type: ignore[arg-type]
    ]


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
        from kernelweave.tabular.table_reader import refuse_unused

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
