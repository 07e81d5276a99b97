"""Options that several commands share, as dataclasses: a parameter of such a type stands for all of its options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

__all__ = ["OptionGroup", "with_groups"]


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
            name: hints[name](**{option.name: given.pop(option.name) for option in options})
            for name, options in groups.items()
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
