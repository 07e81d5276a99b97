"""What can go wrong, by name: every error says what, where, what was got and what to do."""

from __future__ import annotations

__all__ = [
    "DataUnavailableError",
    "InvalidInputError",
    "KernelweaveError",
    "NewSamplesError",
    "NotFiniteError",
    "UndecidedWarning",
]


class KernelweaveError(Exception):
    """Base of all errors that kernelweave raises on purpose."""


class InvalidInputError(KernelweaveError, ValueError):
    """The data or a parameter cannot be used as given."""


class NotFiniteError(KernelweaveError, ArithmeticError):
    """The solver met inf or nan, or a singular system, and has no answer to give."""


class NewSamplesError(InvalidInputError, NotImplementedError):
    """A model was asked about samples that it was not fitted on, which it cannot answer yet."""


class DataUnavailableError(KernelweaveError, OSError):
    """A data set is neither in the data folder nor to be had from its source."""


class UndecidedWarning(UserWarning):
    """Some samples lie in parts of the graph that hold no label."""
