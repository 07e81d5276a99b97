"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import typer

from kernelweave.errors import InvalidInputError

__all__ = [
    "METHODS",
    "SCALES",
    "SOLVERS",
    "Compare",
    "DataDir",
    "Decimal",
    "Drop",
    "Encoding",
    "Files",
    "Force",
    "Header",
    "Id",
    "Jobs",
    "Json",
    "Kernels",
    "Layer",
    "Limits",
    "Long",
    "MetadataColumns",
    "MetadataFile",
    "Method",
    "MethodName",
    "Missing",
    "Modality",
    "Obsm",
    "Quiet",
    "Scale",
    "ScaleName",
    "Seed",
    "Sep",
    "Sheet",
    "Solver",
    "SolverName",
    "TestFeatures",
    "Thousands",
    "Transpose",
    "Views",
    "Wide",
    "check_solver",
    "is_plugin",
    "names_of",
    "one_of",
    "paths_of",
    "plugin_model",
]

MethodName: TypeAlias = Literal["weave", "smkl"]
SolverName: TypeAlias = Literal["auto", "dense", "local", "landmark"]
ScaleName: TypeAlias = Literal["auto", "unit", "zscore", "none"]
METHODS: tuple[MethodName, ...] = ("weave", "smkl")
SOLVERS: tuple[SolverName, ...] = ("auto", "dense", "local", "landmark")
SCALES: tuple[ScaleName, ...] = ("auto", "unit", "zscore", "none")

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Tables with one row per sample: .csv .tsv .txt .tab .dat .json .jsonl .ndjson .gct (also .gz .zip) "
        ".parquet .feather .xlsx .npy .npz .mat .h5ad .h5mu. Several files are views of the same "
        "samples, joined on their ids.",
        show_default=False,
    ),
]
Views = Annotated[list[str] | None, typer.Option("--view", metavar="NAME=FILE", help="A named view; can be repeated.")]
Id = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="The column with the names of the samples; found if not given."),
]
Drop = Annotated[list[str] | None, typer.Option("--drop", metavar="COLUMN", help="A column to drop; can be repeated.")]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row names the columns; found if not given. Without names they are called 0, 1, ...",
        show_default=False,
    ),
]
Sep = Annotated[
    str | None,
    typer.Option(
        metavar="MARK", help="What separates columns in text: a character, or tab, space ...; found if not given."
    ),
]
Decimal = Annotated[str | None, typer.Option(metavar="MARK", help="The decimal mark in text; found if not given.")]
Thousands = Annotated[
    str | None, typer.Option(metavar="MARK", help="The mark between thousands in text; found if not given.")
]
Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="The encoding of text; found if not given.")]
Sheet = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The sheet of an .xlsx file; the first that holds a table if not given."),
]
Layer = Annotated[
    str | None, typer.Option(metavar="NAME", help="The layer of a .h5ad or .h5mu file to read instead of X.")
]
Obsm = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The matrix of obsm in a .h5ad or .h5mu file to read instead of X, as X_pca."),
]
Modality = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A modality of a .h5mu file to read; can be repeated. All if not given."),
]
Transpose = Annotated[
    bool | None,
    typer.Option(
        "--transpose/--no-transpose",
        help="Whether the columns are the samples, and the rows the features.",
        show_default=False,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="CODE", help="A code for missing values: 999, or age=999 for one column; can be repeated."),
]
Limits = Annotated[
    str,
    typer.Option(
        help="How limits among numbers, such as <0.5 or >1000, are read: limit (0.5), half (0.25, if below), missing "
        "or refuse."
    ),
]
Long = Annotated[
    tuple[str, str, str] | None,
    typer.Option(
        metavar="ID VARIABLE VALUE",
        help="The columns of a long table, which has one row for every measurement.",
        show_default=False,
    ),
]
Wide = Annotated[bool, typer.Option("--wide", help="Every row is a sample, even if the table looks like a long one.")]
Scale = Annotated[
    str,
    typer.Option(
        help="How samples are scaled: unit (rows), zscore (columns) or none; auto compares both, or chooses one."
    ),
]
Kernels = Annotated[
    str | None,
    typer.Option(
        metavar="RECIPE",
        help="released-12, released-7, printed-12, printed-7, gaussian-4, or mixed, which also fills missing cells; "
        "chosen by the columns if not given.",
    ),
]
Method = Annotated[str, typer.Option(help="weave, the practical default, smkl, the paper's method, or a plugin.")]
Solver = Annotated[
    str,
    typer.Option(help="How weave builds its graph: dense, local or landmark; auto chooses by data size and memory."),
]
MetadataFile = Annotated[
    Path | None,
    typer.Option(
        "--metadata",
        metavar="FILE",
        help="A table of the same samples to compare with the result; it plays no part in it.",
    ),
]
MetadataColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--metadata-columns", metavar="COLUMN", help="A column of the table to use as metadata; can be repeated."
    ),
]
Compare = Annotated[
    Path | None,
    typer.Option(
        "--compare",
        metavar="RESULT",
        help="Another clustering of the same samples to compare with: a folder of results, or a table of ids and "
        "clusters.",
    ),
]
TestFeatures = Annotated[
    bool,
    typer.Option(
        "--test-features", help="Test the features that set the groups apart, which fits the model five more times."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing results.")]
Json = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no notes.")]
Jobs = Annotated[int, typer.Option(help="Number of processes; -1 uses all cores.")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder of the data files; else KERNELWEAVE_DATA, else the cache.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the random number generator.")]

Word = TypeVar("Word", bound=str)


def one_of(option: str, text: str, words: tuple[Word, ...]) -> Word:
    """Return the text of an option as one of the words; raise `InvalidInputError` if it is another."""
    for word in words:
        if word == text:
            return word
    msg = f"{option} must be {', '.join(words[:-1])} or {words[-1]}; got {text!r}."
    raise InvalidInputError(msg)


def names_of(option: str, text: str | None) -> list[str] | None:
    """Return the names in the text of an option, None if it was not given; raise if it holds none."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        msg = f"{option} names nothing; got {text!r}. Separate names by commas, or leave {option} out."
        raise InvalidInputError(msg)
    return names


def is_plugin(method: str) -> bool:
    """Return whether a method is one of another package, added by an entry point."""
    from kernelweave.plugins import plugin_names

    return method not in METHODS and method in plugin_names("methods")


def plugin_model(method: str, role: type, solver: str, given: Mapping[str, str | None], **settings: object) -> Any:
    """Return the model of a plugin; it gets those settings that it has parameters for.

    What is `given` is not the default of an option: it is refused if the plugin has no such parameter.
    """
    from inspect import signature

    from kernelweave.plugins import load_method

    if solver != "auto":
        msg = f"--solver {solver} needs --method weave: {method} has no solvers. Leave --solver out."
        raise InvalidInputError(msg)
    cls = load_method(method, role)
    known = signature(cls).parameters
    for name, value in given.items():
        if value is not None and name not in known:
            msg = f"--{name} {value}: the method {method} has no parameter {name}. Leave --{name} out."
            raise InvalidInputError(msg)
    settings |= {name: value for name, value in given.items() if value is not None}
    return cls(**{name: value for name, value in settings.items() if name in known})


def check_solver(method: MethodName, solver: str) -> SolverName:
    """Return the name of a solver; smkl has only one, so it accepts "auto" alone."""
    name = one_of("--solver", solver, SOLVERS)
    if method == "smkl" and name != "auto":
        msg = f"--solver {name} needs --method weave: smkl has one solver of its own. Leave --solver out."
        raise InvalidInputError(msg)
    return name


def paths_of(files: Sequence[Path], views: Sequence[str]) -> list[Path]:
    """Return the paths of all tables, in the order in which they were given."""
    return [*files, *(Path(view.partition("=")[2]) for view in views)]
