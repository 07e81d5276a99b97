"""Singular and plural in messages."""

from __future__ import annotations

__all__ = ["counted", "plural"]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 sample, 60 samples, 3 classes."""
    return f"{number} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun: samples, classes."""
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"
