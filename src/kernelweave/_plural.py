"""Singular and plural, lists and sentences in messages."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["counted", "listed", "plural", "sentence"]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 sample, 60 samples, 3 classes."""
    return f"{number} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun: samples, classes, entries."""
    if noun.endswith("try"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def listed(parts: Iterable[str], joint: str = "and") -> str:
    """Return different parts as a list: a; a and b; a, b and c."""
    *first, last = dict.fromkeys(parts)
    return f"{', '.join(first)} {joint} {last}" if first else last


def sentence(words: str) -> str:
    """Return words with a capital letter at the beginning and a full stop at the end."""
    return f"{words[:1].upper()}{words[1:]}."
