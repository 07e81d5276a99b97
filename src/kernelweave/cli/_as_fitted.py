"""How files were read: kept in the model, and taken up when new files are read for it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelweave.cli._far_values import ranges_of
from kernelweave.cli._refusal import flags_of
from kernelweave.samples.file_reading import FileReading
from kernelweave.tabular.intake import type_of
from kernelweave.tabular.omics_files import ANNOTATED

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from kernelweave.cli._inputs import Inputs
    from kernelweave.cli._reading_options import Reading
    from kernelweave.tabular import ReadOptions

__all__ = ["options_as_fitted", "reading_of"]

_OF_TEXT = ("header", "sep", "decimal", "thousands", "encoding", "sheet")
_OF_ANNOTATED = ("layer", "obsm", "modality")
_OF_ALL = ("transpose", "missing", "limits", "long", "wide")
_TOGETHER = (("decimal", "thousands"), ("long", "wide"), _OF_ANNOTATED)  # one may contradict another
_NOT_GIVEN: dict[str, object] = {"modality": (), "missing": (), "limits": "limit", "wide": False}  # None for others


def reading_of(read_options: ReadOptions, paths: Sequence[Path], inputs: Inputs) -> FileReading:
    """Return what a model keeps of how its files were read: options, the column of ids, named or found, and units."""
    left_out = read_options.left_out if read_options.labels is None else read_options.left_out | {read_options.labels}
    given: dict[str, Any] = {name: getattr(read_options, name) for name in (*_OF_TEXT, *_OF_ANNOTATED, *_OF_ALL)}
    types = tuple(dict.fromkeys(map(type_of, paths)))
    given |= {"units": dict(inputs.units), "ranges": ranges_of(inputs.X)}
    return FileReading(types, read_options.id or inputs.title, tuple(sorted(left_out)), **given)


def options_as_fitted(reading: Reading, fitted: BaseEstimator, paths: Sequence[Path]) -> ReadOptions:
    """Return the options for new files: those that are given, else those of the fit, and say which these are.

    Options for text apply to files of the same types, and the part of annotated data to such data. The ids, and
    the columns that were left out, are those of the fit if the files have such columns.
    """
    read_options = reading.options(paths)
    before: FileReading | None = getattr(fitted, "file_reading_", None)
    if before is None:
        return read_options
    taken = {name: getattr(before, name) for name in _applying(read_options, before, paths) if _is_given(before, name)}
    if taken:
        warnings.warn(f"Read as when the model was fitted: {flags_of(taken)}.", UserWarning, stacklevel=2)
    return replace(read_options, **taken, usual_id=before.id, usual_drop=frozenset(before.drop))


def _applying(read_options: ReadOptions, before: FileReading, paths: Sequence[Path]) -> Iterator[str]:
    """Yield the names of the options that are not given, and that say something of these files."""
    types = set(map(type_of, paths))
    of_text = _OF_TEXT if types <= set(before.types) else ()
    of_annotated = _OF_ANNOTATED if types & set(ANNOTATED) else ()
    for name in (*of_text, *of_annotated, *_OF_ALL):
        related = next((names for names in _TOGETHER if name in names), (name,))
        if not any(_is_given(read_options, other) for other in related):
            yield name


def _is_given(options: ReadOptions | FileReading, name: str) -> bool:
    return bool(getattr(options, name) != _NOT_GIVEN.get(name))
