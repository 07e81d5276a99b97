"""What can go wrong, by name: every error says what, where, what was got and what to do."""

from __future__ import annotations

__all__ = [
    "BadFileError",
    "ColumnsWarning",
    "DataUnavailableError",
    "InvalidInputError",
    "KernelweaveError",
    "MissingPackageError",
    "NewSamplesError",
    "NotEnoughMemoryError",
    "NotFiniteError",
    "PluginError",
    "ProcessEndedError",
    "ResultsError",
    "UndecidedWarning",
]


class KernelweaveError(Exception):
    """Base of all errors that kernelweave raises on purpose."""


class InvalidInputError(KernelweaveError, ValueError):
    """The data or a parameter cannot be used as given."""


class NotFiniteError(KernelweaveError, ArithmeticError):
    """The solver met inf or nan, or a singular system, and has no answer to give."""


class NotEnoughMemoryError(KernelweaveError, MemoryError):
    """What was asked for does not fit in memory; said before it is allocated."""


class BadFileError(KernelweaveError, ValueError):
    """A file is not a saved model, or it is damaged, or of a later version."""


class NewSamplesError(InvalidInputError, NotImplementedError):
    """A model was asked about samples that it was not fitted on, which it cannot answer yet."""


class DataUnavailableError(KernelweaveError, OSError):
    """A data set is neither in the data folder nor available from its source."""


class MissingPackageError(KernelweaveError, ImportError):
    """An optional package is needed for this; the error names the extra to install."""


class ColumnsWarning(UserWarning):
    """A table was read in a way that its user should know: columns left out, or other than those of `fit`.

    Parameters
    ----------
    text : str
        What was found.
    advice : str, default=""
        What to do about it in Python; the command line has advice of its own.
    """

    def __init__(self, text: str, advice: str = "") -> None:
        super().__init__(f"{text} {advice}".strip())
        self.text = text
        self.advice = advice


class PluginError(KernelweaveError, ImportError):
    """A plugin of another package cannot be loaded, or is not what its group needs."""


class ProcessEndedError(KernelweaveError, RuntimeError):
    """A process that was to compute something ended before it was done, such as by a crash or for lack of memory."""


class ResultsError(KernelweaveError, OSError):
    """Results cannot be written, or those that are there cannot be read or belong to something else."""


class UndecidedWarning(UserWarning):
    """Some samples lie in parts of the graph that hold no label."""
