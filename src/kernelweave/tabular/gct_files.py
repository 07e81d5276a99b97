"""GCT files of gene expression (GenePattern, Broad Institute): genes are rows and samples columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from kernelweave._plural import counted
from kernelweave.errors import InvalidInputError
from kernelweave.tabular.packages import pandas
from kernelweave.tabular.problems import shown
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.table_file import TableFile, named_rows
from kernelweave.tabular.text_source import text_source

__all__ = ["read_gct"]

_VERSIONS = ("#1.2", "#1.3")


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The numbers of genes and samples, of columns that describe genes, and of rows that describe samples."""

    genes: int
    samples: int
    about_genes: int
    about_samples: int


def read_gct(path: Path, options: ReadOptions) -> TableFile:
    """Return the samples of a GCT file; rows that describe them may be ids and labels."""
    source = text_source(path, options.encoding)
    with source.open() as file:
        sizes = _sizes(file, path)
        cells = pandas().read_csv(file, sep="\t", dtype=str, keep_default_na=False, header=0, index_col=False)
    _check(cells, sizes, path)
    values = _numbers(cells.iloc[sizes.about_samples :, 1 + sizes.about_genes :], cells.iloc[:, 0], sizes, path)
    genes, twice = _distinct(cells.iloc[sizes.about_samples :, 0])
    notes = [*source.notes, f"its {counted(sizes.samples, 'column')} are the samples, and its rows the features"]
    if sizes.about_genes:
        described = ", ".join(map(shown, cells.columns[1 : 1 + sizes.about_genes]))
        notes.append(f"what it says of the rows is left out: {described}")
    notes += [f"several rows have the same name, so a number is added: {shown(twice)}"] if twice else []
    frame = pandas().DataFrame(values.to_numpy().T, columns=genes)
    about = cells.iloc[: sizes.about_samples, 1 + sizes.about_genes :]
    aside = {str(name): about.iloc[i].replace("", None).to_numpy() for i, name in enumerate(_names(cells, sizes))}
    options = options.settled(aside)
    for name in (options.named | options.asked) & set(aside):
        frame[name] = aside[name]
    said = tuple(f"{path}: {note}." for note in notes)
    table = TableFile(frame, [str(name) for name in values], said, None, (*aside, *genes))
    return named_rows(table, path, options)


def _sizes(file: IO[str], path: Path) -> _Sizes:
    version = file.readline().strip().split("\t")[0]
    if version not in _VERSIONS:
        msg = f"{path} is not a GCT file: it must begin with {' or '.join(_VERSIONS)}; got {shown(version)}."
        raise InvalidInputError(msg)
    sizes = [text for text in file.readline().split("\t") if text.strip()]
    n = 2 if version == "#1.2" else 4
    if len(sizes) < n or not all(text.strip().isdecimal() for text in sizes[:n]):
        msg = f"{path}: its second line must hold {n} whole numbers; got {shown(' '.join(sizes).strip())}."
        raise InvalidInputError(msg)
    found = [int(text) for text in sizes[:n]]
    return _Sizes(*found[:2], *(found[2:] if n == 4 else (1, 0)))


def _check(cells: Any, sizes: _Sizes, path: Path) -> None:
    rows, columns = len(cells) - sizes.about_samples, cells.shape[1] - 1 - sizes.about_genes
    if (rows, columns) != (sizes.genes, sizes.samples):
        msg = (
            f"{path} says that it has {counted(sizes.genes, 'row')} and {counted(sizes.samples, 'sample')}, but it has "
            f"{rows} and {columns}: it is damaged, or its second line is wrong."
        )
        raise InvalidInputError(msg)


def _numbers(values: Any, names: Any, sizes: _Sizes, path: Path) -> Any:
    """Return the cells as numbers; NA and empty cells are missing."""
    known = values.apply(lambda column: column.str.strip())
    known = known.mask(known.isin(["", "NA", "na", "NaN", "nan"]))
    numbers = known.apply(_read)
    wrong = (numbers.isna() & known.notna()).to_numpy()
    if wrong.any():
        i, j = (int(place[0]) for place in wrong.nonzero())
        gene = names.iloc[i + sizes.about_samples]
        msg = (
            f"{path}: {shown(gene)} of {shown(values.columns[j])} is {shown(values.iloc[i, j])}, which is not a number."
        )
        raise InvalidInputError(msg)
    return numbers


def _read(texts: Any) -> Any:
    """Return a column of texts as numbers with all their digits, of which `to_numeric` may lose the last."""
    numbers = pandas().to_numeric(texts, errors="coerce")
    exact = numbers.dtype.kind == "f" and numbers.isna().equals(texts.isna())
    return texts.astype("float64") if exact else numbers


def _distinct(names: Sequence[str]) -> tuple[list[str], str | None]:
    """Return names of which none repeats, with a number added, and the first that did."""
    seen: dict[str, int] = {}
    found, twice = [], None
    for name in map(str, names):
        times = seen[name] = seen.get(name, -1) + 1
        found.append(f"{name}.{times}" if times else name)
        twice = twice or (name if times else None)
    return found, twice


def _names(cells: Any, sizes: _Sizes) -> list[str]:
    return [str(name) for name in cells.iloc[: sizes.about_samples, 0]]
