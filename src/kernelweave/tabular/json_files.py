"""Tables in JSON: records, columns or rows by name, as pandas and web services write them, and records line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kernelweave._plural import counted
from kernelweave.errors import InvalidInputError
from kernelweave.runtime import check_memory
from kernelweave.tabular.frame_files import typed_table
from kernelweave.tabular.packages import pandas
from kernelweave.tabular.problems import shown, shown_names
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.table_file import TableFile
from kernelweave.tabular.text_source import TextSource, text_source

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_json", "read_json_lines"]

Found: TypeAlias = tuple[Any, list[str]]  # a data frame, and what was found

_TIMES = 10  # bytes in memory for a byte of text


def read_json(path: Path, options: ReadOptions) -> TableFile:
    """Return the table in a JSON file."""
    source = _source(path, options)
    with source.open() as file:
        text = file.read()
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data" or "\n" not in text.strip():
            raise
        return read_json_lines(path, options)  # a record on every line, in a file that is called .json
    frame, notes = _table(content, path)
    return typed_table(frame, path, options, [*source.notes, *notes])


def read_json_lines(path: Path, options: ReadOptions) -> TableFile:
    """Return the records of a file with one on every line."""
    source = _source(path, options)
    with source.open() as file:
        records = list(_records(file, path))
    return typed_table(_of_records(records), path, options, list(source.notes))


def _source(path: Path, options: ReadOptions) -> TextSource:
    source = text_source(path, options.encoding)
    check_memory(_TIMES * path.stat().st_size, what=f"Reading {path}", advice="write it as .csv or .parquet")
    return source


def _records(lines: Any, path: Path) -> Iterator[Mapping[str, Any]]:
    for i, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        record = json.loads(line)
        if not isinstance(record, dict):
            msg = f'{path}: line {i} is not a record, such as {{"a": 1}}, but {shown(line.strip())}.'
            raise InvalidInputError(msg)
        yield record


def _of_records(records: list[Mapping[str, Any]]) -> Any:
    """Return the table of records; the columns are in the order in which they occur."""
    names = dict.fromkeys(str(name) for record in records for name in record)
    return pandas().DataFrame({name: [record.get(name) for record in records] for name in names})


def _table(content: Any, path: Path) -> Found:
    """Return the table that JSON holds in one of the ways in which tables are written."""
    pd = pandas()
    if _is_list_of(content, dict):
        return _of_records(content), []
    if _is_list_of(content, list):
        return _of_rows(content, path)
    if isinstance(content, dict) and {"columns", "data"} <= content.keys():
        index = content.get("index")
        frame = pd.DataFrame(content["data"], columns=content["columns"], index=index)
        return _counted(frame), []
    if isinstance(content, dict) and {"schema", "data"} <= content.keys() and _is_list_of(content["data"], dict):
        return _of_records(content["data"]), []
    if isinstance(content, dict) and content and all(_is_list_of(column, None) for column in content.values()):
        return _of_lists(content, path)
    if isinstance(content, dict) and content and all(isinstance(column, dict) for column in content.values()):
        return _of_dicts(content)
    msg = (
        f'{path} holds no table: it must be a list of records, such as [{{"a": 1}}, {{"a": 2}}], or columns by name, '
        f'such as {{"a": [1, 2]}}; got {_described(content)}.'
    )
    raise InvalidInputError(msg)


def _is_list_of(thing: Any, kind: type | None) -> bool:
    return isinstance(thing, list) and bool(thing) and (kind is None or all(isinstance(each, kind) for each in thing))


def _of_rows(rows: list[list[Any]], path: Path) -> Found:
    """Return a list of rows; the first one names the columns if it holds texts only."""
    pd = pandas()
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        msg = f"{path}: its rows have {min(lengths)} to {max(lengths)} entries: give all of them the same number."
        raise InvalidInputError(msg)
    head, *body = rows
    names_columns = all(isinstance(cell, str) for cell in head) and len(set(head)) == len(head)
    if names_columns and not all(isinstance(cell, str) for row in body for cell in row):
        return pd.DataFrame(body, columns=head), ["its first row names the columns"]
    names = [str(j) for j in range(len(head))]
    return pd.DataFrame(rows, columns=names), ["it has no header, so its columns are named 0, 1, ..."]


def _of_lists(content: dict[str, list[Any]], path: Path) -> Found:
    """Return columns by name; one list of records is the answer of a web service."""
    if len(content) == 1:
        ((name, records),) = content.items()
        if _is_list_of(records, dict):
            return _of_records(records), [f"its records are those of {name!r}"]
    lengths = {name: len(column) for name, column in content.items()}
    if len(set(lengths.values())) > 1:
        short, long = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        few = counted(lengths[short], "entry")
        msg = (
            f"{path}: its columns differ in length: {short!r} has {few}, {long!r} {lengths[long]}. "
            "Give all of them one entry for every sample."
        )
        raise InvalidInputError(msg)
    return pandas().DataFrame(content), []


def _of_dicts(content: dict[str, dict[str, Any]]) -> Found:
    """Return columns by name, as pandas writes them, or rows by name if their entries are of several kinds."""
    pd = pandas()
    inner = list(dict.fromkeys(key for each in content.values() for key in each))
    numbered = inner == [str(i) for i in range(len(inner))]
    if not numbered and any(_kinds(each) > 1 for each in content.values()):
        frame = pd.DataFrame.from_dict(content, orient="index")[inner]
        return _counted(frame), [f"its rows are {shown_names(list(content))}"]
    columns = {name: [each.get(key) for key in inner] for name, each in content.items()}
    note = f"its columns are {shown_names(list(content))}, as pandas writes them; pass --transpose if they are samples"
    return _counted(pd.DataFrame(columns, index=inner)), [] if numbered else [note]


def _kinds(each: Mapping[str, Any]) -> int:
    """Return how many kinds of values there are: numbers, texts, booleans."""
    kinds = {"number" if type(v) in (int, float) else type(v).__name__ for v in each.values() if v is not None}
    return len(kinds)


def _counted(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table without an index that only counts its rows."""
    if [str(key) for key in frame.index] == [str(i) for i in range(len(frame))]:
        return frame.reset_index(drop=True)
    return frame.set_axis([str(key) for key in frame.index], axis=0)


def _described(content: Any) -> str:
    if isinstance(content, dict):
        return f"an object of {shown_names(list(content))}" if content else "an empty object"
    return f"a list of {type(content[0]).__name__}" if isinstance(content, list) and content else shown(content)
