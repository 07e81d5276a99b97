"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import typer

from kernelweave.errors import InvalidInputError

__all__ = [
    "METHODS",
    "SOLVERS",
    "Drop",
    "Files",
    "Force",
    "Id",
    "Json",
    "Kernels",
    "Method",
    "MethodName",
    "NoHeader",
    "OneHot",
    "Quiet",
    "Seed",
    "Solver",
    "SolverName",
    "Views",
    "check_solver",
    "is_plugin",
    "one_of",
    "plugin_model",
]

MethodName: TypeAlias = Literal["weave", "smkl"]
SolverName: TypeAlias = Literal["auto", "dense", "local", "landmark"]
METHODS: tuple[MethodName, ...] = ("weave", "smkl")
SOLVERS: tuple[SolverName, ...] = ("auto", "dense", "local", "landmark")

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Tables with one row per sample: .csv .tsv .parquet .xlsx .npy .npz .mat .h5ad. "
        "Several files are views of the same samples, joined on --id.",
        show_default=False,
    ),
]
Views = Annotated[list[str] | None, typer.Option("--view", metavar="NAME=FILE", help="A named view; can be repeated.")]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="The column with the names of the samples.")]
OneHot = Annotated[
    list[str] | None, typer.Option("--one-hot", metavar="COLUMN", help="A column to one-hot encode; can be repeated.")
]
Drop = Annotated[list[str] | None, typer.Option("--drop", metavar="COLUMN", help="A column to drop; can be repeated.")]
NoHeader = Annotated[bool, typer.Option("--no-header", help="The file has no header; columns are named 0, 1, ...")]
Kernels = Annotated[
    str | None, typer.Option(metavar="RECIPE", help="released-12, released-7, printed-12 or printed-7.")
]
Method = Annotated[str, typer.Option(help="weave, the practical default, smkl, the paper's method, or a plugin.")]
Solver = Annotated[
    str,
    typer.Option(help="How weave builds its graph: dense, local or landmark; auto chooses by data size and memory."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing results.")]
Json = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no notes.")]
Seed = Annotated[int, typer.Option(help="Seed of the random number generator.")]

Word = TypeVar("Word", bound=str)


def one_of(option: str, text: str, words: tuple[Word, ...]) -> Word:
    """Return the word that the text of an option is; raise `InvalidInputError` if it is none of them."""
    for word in words:
        if word == text:
            return word
    msg = f"{option} must be {', '.join(words[:-1])} or {words[-1]}; got {text!r}."
    raise InvalidInputError(msg)


def is_plugin(method: str) -> bool:
    """Return whether a method is one of another package, added by an entry point."""
    from kernelweave.plugins import plugin_names

    return method not in METHODS and method in plugin_names("methods")


def plugin_model(method: str, role: type, solver: str, **settings: object) -> Any:
    """Return the model of a plugin; it gets those settings that it has parameters for."""
    from inspect import signature

    from kernelweave.plugins import load_method

    if solver != "auto":
        msg = f"--solver {solver} needs --method weave: {method} has no solvers. Leave --solver out."
        raise InvalidInputError(msg)
    cls = load_method(method, role)
    known = signature(cls).parameters
    return cls(**{name: value for name, value in settings.items() if name in known})


def check_solver(method: MethodName, solver: str) -> SolverName:
    """Return the name of a solver; smkl has only one, so it accepts "auto" alone."""
    name = one_of("--solver", solver, SOLVERS)
    if method == "smkl" and name != "auto":
        msg = f"--solver {name} needs --method weave: smkl has one solver of its own. Leave --solver out."
        raise InvalidInputError(msg)
    return name
