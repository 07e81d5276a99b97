"""The recipe for mixed tables: kernels for their numbers, kernels for their categories, and how columns are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from kernelweave.errors import InvalidInputError
from kernelweave.kernels.bank import KernelBank, KernelLike
from kernelweave.kernels.base import Kernel
from kernelweave.kernels.categories import Overlap, RareOverlap
from kernelweave.kernels.distances import Gaussian
from kernelweave.kernels.recipes import recipe
from kernelweave.samples.column_kinds import KindLike
from kernelweave.samples.mixed_table import CATEGORIES, ColumnChoices

__all__ = ["BankLike", "KernelsLike", "Mixed", "as_bank", "is_mixed_recipe"]

# a recipe's name, a bank, one kernel, or several of them
BankLike: TypeAlias = str | KernelBank | Kernel | Callable[..., float] | Sequence[KernelLike] | Mapping[str, KernelLike]

# no narrow Gaussians: categories have few different distances, and these would only tell equal samples from others
_FOR_CATEGORIES: tuple[Kernel, ...] = (
    *(Overlap(power) for power in (1, 2, 4)),
    *(RareOverlap(power) for power in (1, 2)),
    *(Gaussian(t) for t in (0.3, 1, 10)),
)


@dataclass(frozen=True, slots=True)
class Mixed:
    """Kernels for mixed tables: ``kernels=Mixed(...)``, or ``kernels="mixed"`` for the defaults.

    Every data frame is read as a mixed table, also one of numbers only: columns are told apart by kind, missing cells
    are filled, columns of numbers are standardised, and columns that tell nothing (constants, ids, free text) are left
    out with a warning. The numbers and the categories are two views, each with its own kernels and its own share.

    Parameters
    ----------
    numbers : str, KernelBank, kernel, list or dict of kernels, default="released-12"
        The kernels of the numbers, and of tables that are not data frames.
    categories : str, KernelBank, kernel, list or dict of kernels, default=None
        The kernels of the categories, which they see as columns of 0 and 1. None is eight kernels: `Overlap` and
        `RareOverlap` to several powers, and Gaussians of the number of columns in which two samples differ.
    kinds : dict of column name to kind, default=None
        The kinds of columns that are not told rightly by themselves: "number", "boolean", "category", "date",
        "duration", "left out", "ordered" (of a type with an order), or a list of ordered categories, lowest first.
    standardize : bool, default=True
        Whether every column of numbers gets mean 0 and standard deviation 1.
    gaps : bool, default=True
        Whether a sample without any known number, or any known category, lacks that view, which needs the solver
        "dense". If not, its cells are filled as single missing cells are.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelweave import WeaveClustering
    >>> from kernelweave.kernels import Mixed
    >>> table = pd.DataFrame({
    ...     "weight": [3.1, 3.3, 3.2, 5.0, 5.2, 5.1], "sex": ["f", "f", "m", "m", "m", "f"],
    ...     "size": ["S", "S", "M", "L", "L", "L"],
    ... })
    >>> model = WeaveClustering(2, kernels=Mixed(kinds={"size": ["S", "M", "L"]}), random_state=0).fit(table)
    >>> model.view_names_
    ('numbers', 'categories')
    >>> print(model.readings_["X"])
    weight: number (its type is numeric)
    sex: category of 2 (its texts repeat: 2 differ)
    size: ordered of 3 (it was chosen)
    """

    numbers: BankLike = "released-12"
    categories: BankLike | None = None
    kinds: Mapping[str, KindLike] | None = None
    standardize: bool = True
    gaps: bool = True

    @property
    def choices(self) -> ColumnChoices:
        """How data frames are read."""
        return ColumnChoices(self.kinds, self.standardize, self.gaps)

    def bank(self, kind: str) -> KernelBank:
        """Return an unfitted bank for views of one kind."""
        if kind != CATEGORIES:
            return as_bank(self.numbers)
        return KernelBank(list(_FOR_CATEGORIES)) if self.categories is None else as_bank(self.categories)


# for all views, or for each by its name
KernelsLike: TypeAlias = BankLike | Mixed | Mapping[str, BankLike | Mixed]


def is_mixed_recipe(kernels: object) -> bool:
    """Return whether this is the recipe for mixed tables, by name or as an object."""
    return isinstance(kernels, Mixed) or (isinstance(kernels, str) and kernels == "mixed")


def as_bank(kernels: KernelsLike, kind: str = "table") -> KernelBank:
    """Return an unfitted bank from a recipe's name, a bank, a kernel, a list or mapping of kernels, or a `Mixed`.

    `kind` is that of the view it is for: a recipe by name is one of numbers, categories have their own.
    """
    if isinstance(kernels, str) and kernels != "mixed":
        bank = recipe(kernels)  # refuses names that are not known
        return bank if kind != CATEGORIES else Mixed().bank(kind)
    if isinstance(kernels, str | Mixed):
        return (Mixed() if isinstance(kernels, str) else kernels).bank(kind)
    if isinstance(kernels, KernelBank):
        return kernels.unfitted()
    if isinstance(kernels, Kernel) or callable(kernels):
        return KernelBank([kernels])
    if isinstance(kernels, Sequence | Mapping):
        return KernelBank(cast(Sequence[KernelLike] | Mapping[str, KernelLike], kernels))  # refuses other things
    msg = (
        "kernels must be a recipe's name, 'precomputed', a KernelBank, a list or dict of kernels, or a Mixed; got "
        f"{kernels!r}."
    )
    raise InvalidInputError(msg)
