"""The options that say how files are read, which all commands with tables share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from kernelweave.cli import _arguments as option

if TYPE_CHECKING:
    from kernelweave.tabular import Wishes

__all__ = ["Reading", "reads_files"]


@dataclass(frozen=True, slots=True)
class Reading:
    """The values of these options."""

    id: option.Id = None
    drop: option.Drop = None
    header: option.Header = None
    sep: option.Sep = None
    decimal: option.Decimal = None
    thousands: option.Thousands = None
    encoding: option.Encoding = None
    layer: option.Layer = None
    obsm: option.Obsm = None
    modality: option.Modality = None
    transpose: option.Transpose = None
    missing: option.Missing = None
    limits: option.Limits = "limit"
    long: option.Long = None
    wide: option.Wide = False

    def wishes(self, labels: str | None = None, *, without: Iterable[str] = ()) -> Wishes:
        """Return what the readers of tables take; columns in `without` are left out, too."""
        from kernelweave.samples.file_reading import LimitWord
        from kernelweave.tabular import Wishes

        return Wishes(
            id=self.id,
            labels=labels,
            drop=frozenset((*(self.drop or ()), *without)),
            header=self.header,
            sep=self.sep,
            decimal=self.decimal,
            thousands=self.thousands,
            encoding=self.encoding,
            layer=self.layer,
            obsm=self.obsm,
            modality=tuple(self.modality or ()),
            transpose=self.transpose,
            missing=tuple(self.missing or ()),
            limits=option.one_of("--limits", self.limits, get_args(LimitWord)),
            long=self.long,
            wide=self.wide,
        )


def reads_files(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameter `reading` is given by these options, in its place."""
    hints = get_type_hints(Reading, include_extras=True)
    shared = [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])
        for each in fields(Reading)
    ]
    own = get_type_hints(command, include_extras=True)
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        kept = parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=own[name])
        parameters += shared if name == "reading" else [kept]

    @wraps(command)
    def run(**given: Any) -> None:
        reading = Reading(**{each.name: given.pop(each.name) for each in shared})
        command(**given, reading=reading)

    del run.__wrapped__  # otherwise the parameters of the command are read instead of these
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
