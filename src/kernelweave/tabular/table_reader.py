"""Files of tables, read by their type. None of the readers runs code from the file."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from kernelweave.errors import InvalidInputError, KernelweaveError, NotEnoughMemoryError
from kernelweave.samples.file_reading import LimitWord
from kernelweave.tabular.annotated_files import ANNOTATED, read_h5ad, read_h5mu
from kernelweave.tabular.array_files import read_mat, read_npy, read_npz
from kernelweave.tabular.delimited import read_delimited
from kernelweave.tabular.excel_files import read_excel
from kernelweave.tabular.frame_files import read_feather, read_parquet
from kernelweave.tabular.gct_files import read_gct
from kernelweave.tabular.json_files import read_json, read_json_lines
from kernelweave.tabular.missing_codes import codes_of
from kernelweave.tabular.orientation import hint, transposed
from kernelweave.tabular.problems import need_column
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.summary_rows import without_summaries
from kernelweave.tabular.table_file import TableFile
from kernelweave.tabular.text_source import PACKED, inner_name

__all__ = [
    "CELLS",
    "FORMATS",
    "HONOURED",
    "TEXTS",
    "columns_of",
    "need_annotated",
    "need_columns",
    "one_table",
    "read_table",
    "read_tables",
    "readable",
    "refuse_unused",
    "stem_of",
    "type_of",
]

Names: TypeAlias = list[str] | tuple[str, ...] | set[str] | frozenset[str]  # a text is a Collection of texts too
Reader: TypeAlias = Callable[[Path, ReadOptions], TableFile | dict[str, TableFile]]
_READERS: dict[str, Reader] = {
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".txt": read_delimited,
    ".tab": read_delimited,
    ".dat": read_delimited,
    ".gct": read_gct,
    ".json": read_json,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".parquet": read_parquet,
    ".feather": read_feather,
    ".xlsx": read_excel,
    ".npy": read_npy,
    ".npz": read_npz,
    ".mat": read_mat,
    ".h5ad": read_h5ad,
    ".h5mu": read_h5mu,
}
FORMATS = tuple(_READERS)
TEXTS = (".csv", ".tsv", ".txt", ".tab", ".dat")
_JSON = (".json", ".jsonl", ".ndjson")
_PACKABLE = (*TEXTS, ".gct", *_JSON)
_INSTEAD = {  # what to do with files of other types
    (".bz2", ".xz", ".zst", ".7z", ".rar", ".tar", ".tgz"): "unpack it first",
    (".xls", ".xlsm", ".xlsb", ".ods", ".numbers"): "save it as .xlsx or .csv in a spreadsheet program",
    (".rds", ".rda", ".rdata"): "write the table as .csv in R",
    (
        ".sav",
        ".dta",
        ".sas7bdat",
        ".xpt",
        ".pkl",
        ".pickle",
        ".h5",
        ".hdf5",
        ".orc",
    ): "write the table as .csv or .parquet",
    (".mtx", ".loom"): "write it as .h5ad with scanpy",
}
CELLS = (*TEXTS, *_JSON, ".parquet", ".feather", ".xlsx")  # whose cells may be texts, and whose columns are features
HONOURED = {  # options that say something of some types of files only
    "header": (*TEXTS, ".xlsx"),
    "sep": TEXTS,
    "decimal": CELLS,
    "thousands": CELLS,
    "limits": CELLS,
    "long": CELLS,
    "encoding": (*TEXTS, *_JSON, ".gct"),
    "sheet": (".xlsx",),
    "missing": tuple(suffix for suffix in FORMATS if suffix != ".gct"),
}


_EXAMPLES = {"asked": ["age"], "drop": ["age"], "missing": ["age=999"]}


def read_table(
    path: str | PathLike[str],
    *,
    table: str | None = None,
    id: str | None = None,
    labels: str | None = None,
    asked: Names = (),
    drop: Names = (),
    header: bool | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    layer: str | None = None,
    obsm: str | None = None,
    transpose: bool | None = None,
    missing: Names = (),
    limits: LimitWord = "limit",
    long: tuple[str, str, str] | None = None,
    wide: bool = False,
) -> TableFile:
    """Return a file as a table; what is not given is found from the file and said in `notes`.

    Parameters
    ----------
    path : str or path
        A .csv, .tsv, .txt, .tab, .dat, .json, .jsonl, .ndjson or .gct file, which may be compressed (.gz, .zip), or a
        .parquet, .feather, .xlsx, .npy, .npz, .mat, .h5ad or .h5mu file.
    table : str, optional
        The table to return if a file holds several: a matrix of a .npz or .mat file, a modality of a .h5mu file.
    id : str, optional
        The column of the ids. Every entry is read as text, "007" and "NA" too.
    labels : str, optional
        A column that is read as text; it stays in the frame. In files of arrays and annotated data, vectors and
        columns of `obs` are read only if `id` or `labels` names them.
    asked : list of str, default=()
        Further columns that must stay in the frame, even if they look like ids or are empty.
    drop : list of str, default=()
        Columns to leave out, before the table is transposed.
    header : bool, optional
        Whether the first row names the columns. Columns without names are called "0", "1", ...
    sep : str, optional
        What separates columns in text: a character, or one of the words comma, semicolon, tab, pipe and space.
    decimal, thousands : str, optional
        The marks in numbers in text: ",", "." and, for thousands, a space or an apostrophe.
    encoding : str, optional
        The encoding of text.
    sheet : str, optional
        The sheet of an .xlsx file; the first one that holds a table if it is not given.
    layer, obsm : str, optional
        The layer, or the matrix of obsm, that is read of a .h5ad or .h5mu file instead of X.
    transpose : bool, optional
        Whether the columns are the samples; if it is not said, they are in .gct files only.
    missing : list of str, default=()
        Codes for missing values: "999" in all columns, "age=999" in one.
    limits : {"limit", "half", "missing", "refuse"}, default="limit"
        How a limit of detection among numbers, such as <0.5 or >1000, is read: as the limit itself, as half of it if
        the value is below it, as missing, or not at all.
    long : tuple of three str, optional
        The columns of ids, variables and values of a long table, which has one row for every measurement.
    wide : bool, default=False
        Whether every row is a sample even if the table looks like a long one.

    Returns
    -------
    TableFile
        With `frame`, `ids` and `notes`.

    Raises
    ------
    TableError
        If the file can be read in two ways, or its rows and units do not fit together.
    InvalidInputError
        If the file cannot be read, has no column that is named here, or holds several tables and `table` names none
        of them.
    MissingPackageError
        If a package is not installed; the message names the extra that has it.
    NotEnoughMemoryError
        If the table is larger than the memory, before it is read.
    """
    options = ReadOptions(
        id=id,
        labels=labels,
        asked=frozenset(_texts("asked", asked)),
        drop=frozenset(_texts("drop", drop)),
        header=header,
        sep=sep,
        decimal=decimal,
        thousands=thousands,
        encoding=encoding,
        layer=layer,
        obsm=obsm,
        sheet=sheet,
        transpose=transpose,
        missing=_texts("missing", missing),
        limits=limits,
        long=long,
        wide=wide,
    )
    need_annotated([Path(path)], options)
    refuse_unused(options, [Path(path)])
    tables = read_tables(path, options)
    need_columns([(Path(path), one) for one in tables.values()], options)
    for column in sorted(options.asked):
        _need_one([columns_of(one) for one in tables.values()], column, str(path))
    return one_table(tables, path, table)


def one_table(tables: Mapping[str, TableFile], path: str | PathLike[str], table: str | None = None) -> TableFile:
    """Return one of the tables in a file by its name, which is not needed if there is only one."""
    if table is None and len(tables) == 1:
        return next(iter(tables.values()))
    if table is None or table not in tables:
        several = "tables" if len(tables) > 1 else "table"
        msg = f"{path} holds the {several} {', '.join(tables)}: pass one of them as table; got {table!r}."
        raise InvalidInputError(msg)
    return tables[table]


def _texts(name: str, given: Names) -> tuple[str, ...]:
    """Return a parameter that is a list of texts; a single text would be taken for a list of letters."""
    if isinstance(given, str) or not isinstance(given, Collection) or not all(isinstance(one, str) for one in given):
        msg = f"{name} must be a list of texts, such as {name}={_EXAMPLES[name]!r}; got {given!r}."
        raise InvalidInputError(msg)
    return tuple(given)


def columns_of(table: TableFile) -> list[str]:
    """Return the names of all columns that a table has, those of ids and labels too."""
    return [*table.columns, *map(str, table.frame)]


def need_columns(files: Sequence[tuple[Path, TableFile]], options: ReadOptions, *, coded: bool = True) -> None:
    """Refuse options that name a column which no file has; if `coded`, also those of codes for missing values."""
    sources = ", ".join(dict.fromkeys(str(path) for path, _ in files))
    if options.labels is not None:
        _need_one([columns_of(table) for _, table in files], options.labels, sources)
    codes = [column for column, _ in codes_of(options.missing) if column is not None] if coded else []
    if codes or options.drop:
        held = [names for path, table in files for names in _columns_in_file(path, table, options)]
        for column in (*sorted(options.drop), *codes):
            _need_one(held, column, sources)


def _need_one(held: Sequence[Sequence[str]], column: str, sources: str) -> None:
    if not any(column in names for names in held):
        need_column(list(dict.fromkeys(held[0])), column, sources)


def _columns_in_file(path: Path, table: TableFile, options: ReadOptions) -> list[list[str]]:
    """Return the columns of the tables in a file: `drop` and `missing` name those, not the ones after transposing."""
    tables = [table]
    if options.transpose is not None and options.transpose != (type_of(path) == ".gct"):
        tables = list(
            read_tables(path, replace(options, transpose=None, drop=frozenset(), usual_drop=frozenset())).values()
        )
    return [columns_of(one) for one in tables]


def need_annotated(paths: Sequence[Path], options: ReadOptions) -> None:
    """Refuse a layer, obsm or modality if none of the files has such parts."""
    if options.place and not any(path.suffix.lower() in ANNOTATED for path in paths):
        given = ", ".join(options.place)
        names = ", ".join(map(str, paths))
        msg = f"{given}: only {' and '.join(ANNOTATED)} files have such parts; got {names}. Leave it out."
        raise InvalidInputError(msg)


def refuse_unused(options: ReadOptions, paths: Sequence[Path]) -> None:
    """Refuse an option that applies to none of the files; a file of an unknown type takes any option."""
    types = [type_of(path) for path in paths]
    if not all(suffix in FORMATS for suffix in types):
        return
    for name, honoured in HONOURED.items():
        given = getattr(options, name) not in (None, (), "limit")
        if given and types and not set(types).intersection(honoured):
            flag = "no-header" if name == "header" and options.header is False else name
            files, those = ", ".join(map(str, paths)), " ".join(honoured)
            msg = f"--{flag} is for files of type {those}; it does not apply to {files}. Leave it out."
            raise InvalidInputError(msg)


def read_tables(path: str | PathLike[str], options: ReadOptions) -> dict[str, TableFile]:
    """Return the tables in a file by name; most files hold one, which has the name of the file.

    Parameters
    ----------
    path : str or path
        As in `read_table`.
    options : ReadOptions
        How it is read.

    Returns
    -------
    dict of TableFile
    """
    path = Path(path)
    _need_file(path)
    suffix = _suffix(path)
    with readable(path, suffix):
        read = _READERS[suffix](path, options)
    tables = read if isinstance(read, dict) else {stem_of(path): read}
    for table in tables.values():
        if not len(table.frame):
            msg = f"{path} holds no rows."
            raise InvalidInputError(msg)
    kept = {name: without_summaries(table.without(options.left_out), str(path)) for name, table in tables.items()}
    # rows and columns of .gct files, whose columns are the samples, are exchanged already
    transpose = options.transpose is False if suffix == ".gct" else options.transpose
    return {name: _turned(table, str(path), transpose) for name, table in kept.items()}


@contextmanager
def readable(path: Path, suffix: str) -> Iterator[None]:
    """Name the file whose reader fails: each raises errors of its own for a file of another format."""
    try:
        yield
    except KernelweaveError:
        raise
    except MemoryError as error:  # a damaged file may claim any size
        msg = f"{path} cannot be read as {suffix}: it needs more memory than there is, or is damaged."
        raise NotEnoughMemoryError(msg) from error
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        if "pickle" in reason:  # numpy's message goes on to say how to load it nevertheless
            reason = "it holds pickled objects, which can run any code, or is another type of file. Save plain numbers."
        msg = f"{path} cannot be read as {suffix}: {reason[:300]}"
        raise InvalidInputError(msg) from error


def stem_of(path: Path) -> str:
    """Return the name of a file without its type and compression: data for data.csv.gz."""
    stem = path.stem if path.suffix.lower() in PACKED else path.name
    return stem[: -len(Path(stem).suffix)] if Path(stem).suffix.lower() in FORMATS else stem


def type_of(path: Path) -> str:
    """Return the type that the name of a file says, without its compression: .csv for data.csv.gz."""
    return (Path(path.stem) if path.suffix.lower() in PACKED else path).suffix.lower()


def _turned(table: TableFile, source: str, transpose: bool | None) -> TableFile:
    if transpose:
        return transposed(table, source)
    said = None if transpose is False else hint(table, source)
    return table if said is None else replace(table, notes=(*table.notes, said))


def _suffix(path: Path) -> str:
    """Return the type of a file; compressed files must be text."""
    packed = path.suffix.lower() in PACKED
    try:
        name = inner_name(path) if packed else path.name
    except zipfile.BadZipFile as error:
        msg = f"{path} cannot be read as .zip: {error}."
        raise InvalidInputError(msg) from error
    suffix = Path(name).suffix.lower() or ".txt"  # a file without a type is most likely text
    if suffix not in _READERS:
        advice = next(
            (told for types, told in _INSTEAD.items() if suffix in types), "if it is a text table, call it .txt"
        )
        msg = f"{path}: files of type {suffix} are not read: {advice}. Those that are: {' '.join(_READERS)}."
        raise InvalidInputError(msg)
    if packed and suffix not in _PACKABLE:
        msg = f"{path}: only text tables may be compressed ({' '.join(_PACKABLE)}): unpack it first."
        raise InvalidInputError(msg)
    return suffix


def _need_file(path: Path) -> None:
    if str(path) == "-" or path.is_fifo() or path.is_char_device():
        msg = f"{path}: a table is read several times, so not from standard input or a pipe: write it to a file first."
    elif not path.exists():
        msg = f"{path}: there is no such file."
    elif path.is_dir():
        msg = f"{path} is a folder: name the file in it."
    elif path.stat().st_size == 0:
        msg = f"{path} is empty."
    else:
        return
    raise InvalidInputError(msg)
