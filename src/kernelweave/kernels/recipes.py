"""Kernel sets by name: the paper's, released and printed, and those for mixed tables; banks of what a user passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from kernelweave.errors import InvalidInputError
from kernelweave.kernels.bank import KernelBank, KernelLike
from kernelweave.kernels.base import Kernel
from kernelweave.kernels.categories import Overlap, RareOverlap
from kernelweave.kernels.normalise import DiameterNormalized
from kernelweave.kernels.plugin_kernels import plugin_kernel, plugin_recipe
from kernelweave.kernels.vector_kernels import CosineNormalized, Gaussian, Linear, Polynomial
from kernelweave.samples.column_kinds import KindLike
from kernelweave.samples.mixed_table import CATEGORIES, ColumnChoices
from kernelweave.samples.scaling import FEW_COLUMNS

__all__ = [
    "RECIPES",
    "BankLike",
    "KernelsLike",
    "Mixed",
    "as_bank",
    "is_mixed_recipe",
    "is_recipe",
    "recipe",
    "take_negatives",
]


def _released(ts: tuple[float, ...], polynomials: tuple[tuple[int, int], ...]) -> dict[str, Kernel]:
    """Kernels as the program behind the paper's figures builds them: unit diagonals."""
    gaussians: dict[str, Kernel] = {f"gaussian(t={t:g})": Gaussian(t) for t in ts}  # unit diagonal already
    return gaussians | {name: CosineNormalized(kernel) for name, kernel in _products(polynomials).items()}


def _printed(ts: tuple[float, ...], polynomials: tuple[tuple[int, int], ...]) -> dict[str, Kernel]:
    """Kernels as the paper prints them: exp(-d²/(t d_max²)), and all divided by d_max²."""
    gaussians: dict[str, Kernel] = {f"gaussian(t={t:g})": Gaussian((t / 2) ** 0.5) for t in ts}
    return {name: DiameterNormalized(kernel) for name, kernel in (gaussians | _products(polynomials)).items()}


def _products(polynomials: tuple[tuple[int, int], ...]) -> dict[str, Kernel]:
    linear: dict[str, Kernel] = {"linear": Linear()}
    return linear | {f"polynomial(a={a}, b={b})": Polynomial(degree=b, offset=float(a)) for a, b in polynomials}


_TWELVE = (0.01, 0.05, 0.1, 1, 10, 50, 100), ((0, 2), (0, 4), (1, 2), (1, 4))
_SEVEN = (0.1, 1, 10, 100), ((0, 2), (1, 2))
_FOUR = (0.01, 0.05, 0.1, 1)

RECIPES: Mapping[str, Mapping[str, Kernel]] = {
    "released-12": _released(*_TWELVE),
    "released-7": _released(*_SEVEN),
    "printed-12": _printed(*_TWELVE),
    "printed-7": _printed(*_SEVEN),
    "gaussian-4": {f"gaussian(t={t:g})": Gaussian(t) for t in _FOUR},
}
AUTO = "auto"  # the recipe that suits the number of columns


def is_recipe(name: str) -> bool:
    """Return whether a name is that of a recipe, here or of a plugin."""
    return name == AUTO or name in RECIPES or plugin_recipe(name) is not None


def recipe(name: str, n_columns: int | None = None) -> KernelBank:
    """Return an unfitted bank by the name of its recipe.

    Parameters
    ----------
    name : {"auto", "released-12", "released-7", "printed-12", "printed-7", "gaussian-4"} or the name of a plugin
        `released` kernels are those of the program behind the paper's figures: Gaussians
        exp(-d²/(2 t² d_max²)) and polynomials, divided by sqrt(K_ii K_jj). `printed` kernels follow the
        paper's text: Gaussians exp(-d²/(t d_max²)) and polynomials, divided by d_max², the largest squared
        distance between two samples. Twelve kernels are the clustering set, seven the classification set.
        "gaussian-4" has the released Gaussians with t = 0.01, 0.05, 0.1 and 1 only. "auto" is "gaussian-4" for fewer
        than ten columns, whose directions carry little information, and "released-12" for more, and for tables with
        categories.
    n_columns : int, optional
        The number of columns of the samples, which "auto" needs.

    Returns
    -------
    KernelBank
        Call its `fit` with the training samples.
    """
    if name == AUTO and n_columns is not None:
        name = "gaussian-4" if n_columns < FEW_COLUMNS else "released-12"
    kernels = RECIPES.get(name) or plugin_recipe(name)
    if kernels is not None:
        return KernelBank(kernels)
    kernel = plugin_kernel(name)
    if kernel is None:
        known = ", ".join(RECIPES)
        msg = (
            f"Unknown kernel recipe {name!r}: choose one of {known}, {AUTO}, or pass a list of kernels. Estimators "
            "also take 'mixed', for data frames with categories, and 'precomputed', for kernel matrices."
        )
        if name == AUTO:
            msg = f"The recipe 'auto' depends on the number of columns: give n_columns, or choose one of {known}."
        raise InvalidInputError(msg)
    return KernelBank([kernel])


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
    are filled, columns of numbers are standardised, and columns without information (constants, ids, free text, and
    categories that are related to no other column) are left out with a warning. The numbers and the categories are two
    views, each with its own kernels and its own share.

    Parameters
    ----------
    numbers : str, KernelBank, kernel, list or dict of kernels, default="auto"
        The kernels of the numbers, and of tables that are not data frames; "auto" as in `recipe`.
    categories : str, KernelBank, kernel, list or dict of kernels, default=None
        The kernels of the categories, which are columns of 0 and 1. None is eight kernels: `Overlap` and
        `RareOverlap` to several powers, and Gaussians of the number of columns in which two samples differ.
    kinds : dict of column name to kind, default=None
        The kinds of columns whose kind is not recognised correctly: "number", "boolean", "category", "date",
        "duration", "left out", "ordered" (of a type with an order), or a list of ordered categories, lowest first.
        A column of a given kind is never left out for being related to no other.
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

    numbers: BankLike = AUTO
    categories: BankLike | None = None
    kinds: Mapping[str, KindLike] | None = None
    standardize: bool = True
    gaps: bool = True

    @property
    def choices(self) -> ColumnChoices:
        """How data frames are read."""
        return ColumnChoices(self.kinds, self.standardize, self.gaps)

    def bank(self, kind: str, n_columns: int | None = None) -> KernelBank:
        """Return an unfitted bank for views of one kind, of this many columns."""
        if kind != CATEGORIES:
            return as_bank(self.numbers, n_columns=n_columns)
        return KernelBank(list(_FOR_CATEGORIES)) if self.categories is None else as_bank(self.categories)


# for all views, or for each by its name
KernelsLike: TypeAlias = BankLike | Mixed | Mapping[str, BankLike | Mixed]


def is_mixed_recipe(kernels: object) -> bool:
    """Return whether this is the recipe for mixed tables, by name or as an object."""
    return isinstance(kernels, Mixed) or (isinstance(kernels, str) and kernels == "mixed")


def take_negatives(kernels: object) -> bool:
    """Return whether kernels are known to take negative values: those of a recipe here. Others may refuse them."""
    return isinstance(kernels, str) and kernels in (*RECIPES, AUTO, "mixed")


def as_bank(kernels: KernelsLike, kind: str = "table", n_columns: int | None = None) -> KernelBank:
    """Return an unfitted bank from a recipe's name, a bank, a kernel, a list or mapping of kernels, or a `Mixed`.

    `kind` is that of the view it is for: a recipe by name is one of numbers, categories have their own. `n_columns` is
    the number of its columns, by which the recipe "auto" chooses.
    """
    if isinstance(kernels, str) and kernels != "mixed":
        bank = recipe(kernels, n_columns)  # refuses names that are not known
        return bank if kind != CATEGORIES else Mixed().bank(kind)
    if isinstance(kernels, str | Mixed):
        return (Mixed() if isinstance(kernels, str) else kernels).bank(kind, n_columns)
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
