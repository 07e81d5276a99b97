"""Tables with samples as columns: turned when asked, and a hint where the names look like genes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from kernelweave.tabular.number_text import text_columns
from kernelweave.tabular.packages import pandas
from kernelweave.tabular.problems import Problem, TableError, Way, shown, shown_names
from kernelweave.tabular.row_labels import examples, repeated
from kernelweave.tabular.table_file import TableFile

__all__ = ["hint", "transposed"]

_ACCESSION = (
    r"ENS[A-Z]*[GTP]\d{6,}(\.\d+)?|cg\d{6,}|\d+(_[sx])?_at|(hsa|mmu)-(mir|let)-?\S+|rs\d{3,}|[NX][MR]_\d+(\.\d+)?"
    r"|(sp|tr)\|\w+\|\w+|chr\w{1,2}[:_-]\d+[_-]\d+|[kd]__\w.*"  # proteins, peaks, bacteria
)
_SYMBOL = (
    r"[A-Z][A-Z0-9]{1,7}(-[A-Z0-9]{1,4})?|[A-Z][a-z]{1,4}\d{1,3}[a-z]?\d?|[A-Z]\d[A-Z][A-Z0-9]{2}\d[A-Z][A-Z0-9]{2}\d"
)
_GENE = re.compile(f"{_ACCESSION}|{_SYMBOL}", re.ASCII)
_SAMPLE = re.compile(
    r"(TCGA-|GS[ME]\d|S?RR\d|ERR\d|(sample|patient|subject|cell|donor|case)[ _.\-]?\d).*", re.IGNORECASE
)
_OF_GENES = frozenset(("length", "effective_length", "start", "end", "width", "strand", "chr", "chrom", "chromosome",
                       "position", "pos", "gc", "gc_content", "entrez", "entrezid", "entrez_id", "peptides",
                       "unique peptides", "razor + unique peptides", "sequence coverage [%]",
                       "unique + razor sequence coverage [%]", "mol. weight [kda]", "sequence length", "q-value",
                       "score", "ms/ms count", "intensity", "id", "basemean", "log2foldchange", "lfcse", "logfc",
                       "pvalue", "p-value", "padj", "adj.p.val", "fdr", "qual"))  # fmt: skip
_MANY, _TIMES = 100, 3  # rows, and how many times as many as columns
_NEARLY = 0.8  # share of names that differ where some genes have several rows


def transposed(table: TableFile, source: str) -> TableFile:
    """Return a table with rows and columns exchanged: the ids become the names of the columns, and they the ids."""
    frame = table.frame
    odd = [str(name) for name, dtype in zip(frame, frame.dtypes, strict=True) if dtype.kind not in "biuf"]
    if odd:
        columns = f"column {odd[0]!r} has" if len(odd) == 1 else f"columns {shown_names(odd, 5)} have"
        text = f"a table can be transposed if its cells are numbers; {columns} others."
        if 2 * len(odd) > len(frame.columns):
            raise TableError(
                source, [Problem(f"{text} Write numbers in place of them, such as 0, 1 and 2 for genotypes.")]
            )
        raise TableError(source, [Problem(text, (Way("leave out what is not a sample", {"drop": tuple(odd)}),))])
    names = table.ids if table.ids is not None else [str(i) for i in range(len(frame))]
    turned = pandas().DataFrame(frame.to_numpy().T, columns=names)
    ids = [str(name) for name in frame]
    notes = (*table.notes, *_describing(ids, source))
    return replace(table, frame=turned, ids=ids, title=None, columns=tuple(names), units={}, notes=notes)


def _describing(samples: Sequence[str], source: str) -> list[str]:
    """Return a note if some columns that are samples now are named like those that describe genes."""
    found = [name for name in samples if name.strip().lower() in _OF_GENES]
    if not found:
        return []
    name_suggests = "name suggests" if len(found) == 1 else "names suggest"
    drop = " ".join(f'--drop "{name}"' for name in found)
    told = (
        f"{shown_names(found, 5)} {'is a sample' if len(found) == 1 else 'are samples'} since the table was transposed"
    )
    return [f"{source}: {told}, but the {name_suggests} a description of genes or proteins. If so, pass {drop}."]


def hint(table: TableFile, source: str) -> str | None:
    """Return a sentence if the rows are named like genes, or the columns alone like samples; None if they are not.

    Rows without ids are named by a first column of texts of which few occur again: those must be corrected first.
    """
    title, names = _row_names(table)
    columns = [str(name) for name in table.frame.select_dtypes("number", exclude="timedelta")]
    n, d = len(table.frame), len(columns)
    if d < 2 or n < _MANY or n < _TIMES * d:
        return None
    # symbols that differ in their number only, such as L001, L002, are those of a list of samples
    pattern = re.compile(_ACCESSION, re.ASCII) if names and _are_counted(names) else _GENE
    if names and _share(pattern, names) >= 0.8:
        told = f"they are named like genes ({examples(names)})"
    elif _share(_SAMPLE, columns) > 0.8 and not (names and _share(_SAMPLE, names) >= 0.2):
        told = f"its columns are named like samples ({examples(columns)})"
    else:
        return None
    return (
        f"{source}: its {n} rows are taken as samples, but {told}. If its {d} columns are the samples, "
        f"{_correction(table, title)}pass --transpose (transpose=True in Python)."
    )


def _row_names(table: TableFile) -> tuple[str | None, list[str]]:
    """Return the ids, or the texts of a first column that nearly are ids, with its name; no names if it has others."""
    if table.ids is not None:
        return None, table.ids
    first = table.frame.iloc[:, :1]
    texts = first.squeeze("columns").dropna().astype(str).tolist() if text_columns(first) else []
    return (str(first.columns[0]), texts) if len(set(texts)) > _NEARLY * len(first) else (None, [])


def _correction(table: TableFile, title: str | None) -> str:
    """Return what to do first if the names of the rows are not ids, since one is missing or occurs again."""
    if title is None or (wrong := repeated(table.frame[title])) is None:
        return ""
    row, text = wrong
    told = f"{shown(text)} again" if text else "no entry"
    return f"give every row in the column {title!r} a name of its own (it has {told} in row {row}), and "


def _share(pattern: re.Pattern[str], names: Sequence[str]) -> float:
    """Return the share of names that a pattern fits; of several in one name, as of a group of proteins, the first."""
    few = [name.split(";")[0] if pattern is not _SAMPLE else name for name in names[:1000]]
    return sum(pattern.fullmatch(name) is not None for name in few) / len(few)


def _are_counted(names: Sequence[str]) -> bool:
    """Return whether most names are the same but for their digits."""
    stems = Counter(re.sub(r"\d+", "", name) for name in names[:1000])
    return stems.most_common(1)[0][1] > 0.5 * sum(stems.values())
