"""The labels of `classify`: which entries are labels, which classes may be the same, which features repeat them."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from kernelweave._plural import counted
from kernelweave._types import Array
from kernelweave.cli._refusal import InvalidFilesError
from kernelweave.errors import InvalidInputError
from kernelweave.samples.partial_labels import UNLABELLED_WORDS
from kernelweave.tabular.missing_codes import codes_of
from kernelweave.tabular.number_text import MISSING, is_blank, is_number
from kernelweave.tabular.problems import Problem, Way, shown_names
from kernelweave.tabular.row_labels import text_of

if TYPE_CHECKING:
    import pandas as pd

    from kernelweave.cli._inputs import Frames
    from kernelweave.tabular import ReadOptions

__all__ = ["label_texts", "merged", "options_beside_labels", "partial_labels", "refuse_copies", "say_alike"]

_UNLABELLED = ("-1", "-1.0")
_CHANCE = 1e-3  # that one of the features is equal to the labels, above which it may be a coincidence
_LEAST_LETTERS = 5  # letters of a word in which a slip is looked for
_MEANT = re.compile(r"[+\-<>=]|\d[\W_]+\d")
_MOST_CLASSES = 200  # classes that are compared


def label_texts(column: pd.Series, source: str) -> list[str | None]:
    """Return the labels in a column as text, None where there is none: no entry, -1, or a mark such as ?."""
    texts = ["" if gap else text_of(value).strip() for value, gap in zip(column, column.isna(), strict=True)]
    marks = _marks(set(texts))
    counts = Counter(text for text in texts if text in marks)
    if counts:
        n = sum(counts.values())
        told = f"{counted(n, 'label')} of {str(column.name)!r} {'is' if n == 1 else 'are'} taken as unlabelled"
        advice = f"If {'it' if len(counts) == 1 else 'one'} is a class, give it another name"
        warnings.warn(f"{source}: {told} ({shown_names(sorted(counts))}). {advice}.", UserWarning, stacklevel=2)
    _say_minus(texts, str(column.name), source)
    known = [None if text in ("", *_UNLABELLED) or text in marks else text for text in texts]
    _say_words(known, str(column.name), source)
    _say_measured(known, str(column.name), source)
    return known


def _marks(texts: set[str]) -> set[str]:
    """Return the texts that are marks for a missing entry; beside signs such as + and **, only ? and NA are some."""
    signs = any(text and not is_blank(text) and not any(map(str.isalnum, text)) for text in texts)
    blank = {text for text in texts if text and is_blank(text)}
    return {text for text in blank if text in (*MISSING, "?") or not (signs or text.isalpha())}


def _say_minus(texts: Sequence[str], column: str, source: str) -> None:
    """Issue a warning if -1 may be a class: it stands beside 0, and other entries are empty."""
    n = sum(text in _UNLABELLED for text in texts)
    if n and "" in texts and not {"0", "0.0"}.isdisjoint(texts):
        told = f"{counted(n, 'label')} of {column!r} {'is' if n == 1 else 'are'} -1, which is taken as unlabelled"
        msg = f"{source}: {told}, as empty entries are. If -1 is a class, give it another name."
        warnings.warn(msg, UserWarning, stacklevel=3)


def _say_words(labels: Sequence[str | None], column: str, source: str) -> None:
    """Issue a warning for every class whose name suggests samples without a label."""
    for name, count in Counter(label for label in labels if label is not None).items():
        if name.lower() in UNLABELLED_WORDS or (is_blank(name) and name.isalpha()):
            msg = (
                f"{source}: {name!r} is taken as a class ({counted(count, 'label')}), but its name suggests "
                f'samples without a label. If it stands for unlabelled, pass --missing "{column}={name}".'
            )
            warnings.warn(msg, UserWarning, stacklevel=2)


def _say_measured(labels: Sequence[str | None], column: str, source: str) -> None:
    """Issue a warning if the labels are numbers with decimals, which estimators refuse as "continuous".

    They may still be the names of classes, such as 1.1 and 1.2, and texts are what a table has of them.
    """
    given = {label.replace(",", ".") for label in labels if label is not None}
    if len(given) > 1 and all(map(is_number, given)) and not all(float(label).is_integer() for label in given):
        msg = (
            f"{source}: the labels in {column!r} are numbers with decimals, of which {len(given)} differ, and each is "
            "taken as the name of a class. If they were measured, give a few ranges names, and use these as labels."
        )
        warnings.warn(msg, UserWarning, stacklevel=3)


def options_beside_labels(read_options: ReadOptions, name: str, *, named: bool) -> ReadOptions:
    """Return the options for the tables of samples whose labels, called `name`, are in a file of their own.

    A column of that name is not a feature, and codes for its missing values are not those of the tables. A name that is
    a number is the position of the column, not its name in the file, unless the user `named` it.
    """
    codes = tuple(code for code in read_options.missing if codes_of([code])[0][0] != name)
    like = frozenset({name}) if named or not name.isdecimal() else frozenset()
    return replace(read_options, missing=codes, usual_drop=read_options.usual_drop | like)


def merged(known: Mapping[str, str], new: Mapping[str, str], source: str) -> dict[str, str]:
    """Return the labels of several tables by id; refuse a sample whose tables name different classes."""
    for sample, label in new.items():
        if known.get(sample, label) != label:
            msg = (
                f"{source}: sample {sample!r} has the label {label!r}, but {known[sample]!r} in another table. Give it "
                "one class, or leave one of the columns out."
            )
            raise InvalidInputError(msg)
    return {**known, **new}


def refuse_copies(X: Frames, labels: Sequence[str | None], ids: Sequence[str], source: str) -> None:
    """Refuse features that equal the given labels: with them, every accuracy would be that of the labels themselves.

    With so few labels that the two may be equal by chance, a warning says so instead. `source` is the file of a table.
    """
    given = {sample: label for sample, label in zip(ids, labels, strict=True) if label is not None}
    problems = []
    for view, frame in X.items() if isinstance(X, dict) else [(source, X.set_axis(list(ids), axis=0))]:
        own = frame.loc[[sample for sample in given if sample in frame.index]]
        expected = [given[sample] for sample in own.index]
        counts = Counter(expected)
        if len(counts) < 2:
            continue
        ways = math.lgamma(len(own) + 1) - sum(math.lgamma(count + 1) for count in counts.values())
        ways -= math.log(frame.shape[1])  # any of the columns may be equal by chance
        for name in [name for name, column in own.items() if _equal(column, expected)]:
            text = f"column {str(name)!r} equals the given labels in all {counted(len(own), 'labelled sample')}"
            if ways > -math.log(_CHANCE):
                leave = Way("leave it out", {"drop": str(name)})
                problems.append((view, Problem(f"{text}: with it, no accuracy would be meaningful.", (leave,))))
            else:
                msg = f'{view}: {text}, and is a feature. If it is no coincidence, leave it out with --drop "{name}".'
                warnings.warn(msg, UserWarning, stacklevel=2)
    if problems:
        raise InvalidFilesError(problems)


def _equal(column: pd.Series, labels: Sequence[str]) -> bool:
    """Return whether a feature is the labels, but for small and capital letters."""
    pairs = zip(column, labels, strict=True)
    return bool(labels) and all(text_of(value).strip().casefold() == label.casefold() for value, label in pairs)


def partial_labels(labels: Sequence[str | None]) -> Array:
    """Return labels in the form that classifiers take: text, and -1 for unlabelled samples."""
    y = np.empty(len(labels), dtype=object)
    y[:] = [-1 if label is None else label for label in labels]
    return y


def say_alike(labels: Sequence[str | None]) -> None:
    """Issue a warning for every two classes whose names differ in case, marks, or a slip of the pen only."""
    counts = Counter(label for label in labels if label is not None)
    for one, other in combinations(sorted(counts)[:_MOST_CLASSES], 2):
        if _folded(one) == _folded(other) or _slipped(one.casefold(), other.casefold()):
            pair = " and ".join(f"{name!r} ({counted(counts[name], 'label')})" for name in (one, other))
            msg = f"The classes {pair} are nearly the same text. If they are one class, write them alike."
            warnings.warn(msg, UserWarning, stacklevel=2)


def _folded(name: str) -> str:
    """Return a name without case, spaces and marks; marks that mean something, as in ER+, 1.0 and 1-2, are kept."""
    return name if _MEANT.search(name) or not re.search(r"\w", name) else re.sub(r"[\W_]+", "", name).casefold()


def _slipped(one: str, other: str) -> bool:
    """Return whether two words differ by a letter that lacks, or two that are swapped, after the first letter."""
    short, long = sorted((one, other), key=len)
    if not (short.isalpha() and long.isalpha()) or len(short) < _LEAST_LETTERS or short[0] != long[0]:
        return False  # normal and abnormal, type1 and type2 are different
    at = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) == len(long):
        return short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
    return short[at:] == long[at + 1 :]
