"""The kernels of all views as one bank, and what a user may pass as `kernels`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, ClassVar, Protocol, cast, overload

import numpy as np
from numpy.typing import DTypeLike

from kernelweave._types import Matrix, TileOf, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.bank import KernelBank, joined_sum, weighted_stack
from kernelweave.kernels.base import Pair
from kernelweave.kernels.gaps import knowledge, spread
from kernelweave.kernels.precomputed_bank import PrecomputedBank
from kernelweave.kernels.recipes import BankLike, KernelsLike, Mixed, as_bank, is_mixed_recipe, is_recipe
from kernelweave.samples.alignment import need_samples
from kernelweave.samples.mixed_table import CATEGORIES
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.scaling import FEW_COLUMNS
from kernelweave.samples.views import Views

__all__ = ["Bank", "KernelsLike", "ViewBank", "as_bank", "bank_of"]


class ViewBank:
    """The kernels of one or several views as one bank.

    The constants of a kernel are fixed on the samples that its view has. A sample that lacks a view is placed at the
    mean of the features of the view's kernels, and its other views count for more in proportion.

    Parameters
    ----------
    banks : mapping of view name to KernelBank
        The kernels of every view.
    together : sequence of tuples of int, default=()
        The positions of views that are compared together too: a quarter of the weighted sum of their kernels is
        replaced by a product.

    Attributes
    ----------
    names : tuple of str
        The name of every kernel, after that of its view if there are several.
    views : tuple of str
        The view of every kernel.
    banks : dict of view name to KernelBank
        The bank of every view.
    training : Views or None
        The samples that the kernels were fixed on; None before `fit`.

    Notes
    -----
    Only `fit` checks its argument. The other methods take `Views` that were read with the names of these banks.
    """

    __saved__: ClassVar[tuple[str, ...]] = ("names", "views", "banks", "together", "training", "_means")

    names: tuple[str, ...]
    views: tuple[str, ...]
    banks: dict[str, KernelBank]
    together: tuple[tuple[int, ...], ...]
    training: Views | None
    _means: dict[str, tuple[Matrix, Vector]]

    def __init__(self, banks: Mapping[str, KernelBank], together: Sequence[tuple[int, ...]] = ()) -> None:
        self.banks = dict(banks)
        self.together = tuple(together)
        self.views = tuple(view for view, bank in self.banks.items() for _ in bank.names)
        names = tuple(name for bank in self.banks.values() for name in bank.names)
        several = len(self.banks) > 1
        self.names = (
            tuple(f"{view}: {name}" for view, name in zip(self.views, names, strict=True)) if several else names
        )
        self.training = None
        self._means = {}

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        counts = [f"{view}: {len(bank)} kernel{'s' * (len(bank) != 1)}" for view, bank in self.banks.items()]
        return f"ViewBank({', '.join(counts)})"

    def unfitted(self) -> ViewBank:
        """Return a bank of the same kernels that is not fixed on any samples."""
        return ViewBank({view: bank.unfitted() for view, bank in self.banks.items()}, self.together)

    def fit(self, X: Views) -> ViewBank:
        """Fix the constants of every kernel on the samples of its view, and return the bank."""
        if not isinstance(X, Views) or X.names != tuple(self.banks):
            got = ", ".join(X.names) if isinstance(X, Views) else type(X).__name__
            msg = f"This ViewBank has kernels for the views {', '.join(self.banks)}; got {got}."
            raise InvalidInputError(msg)
        need_samples(X.present, X.names, X.sample_names, least=2)
        self.fit_tiles(X)
        return self

    def fit_grams(self, X: Views) -> Matrix:
        """Fit on X and return its kernel matrices, (r, n, n)."""
        self.training, self._means = X, {}
        if len(self.banks) == 1:
            (bank,) = self.banks.values()
            return bank.stack(bank.fit_pair(Pair(X.tables[0])))
        H = np.empty((len(self.names), X.n_samples, X.n_samples), dtype=X.dtype)
        start = 0
        for v, bank in enumerate(self.banks.values()):
            part = slice(start, start := start + len(bank.names))
            with _naming(X.names[v]):
                pair = bank.fit_pair(Pair(X.tables[v]))
            known = bank.stack(pair)
            if not X.complete:
                a, t = known.mean(axis=2, dtype=np.float64), knowledge(X.present)[v]
                self._means[X.names[v]] = a, a.mean(axis=1)
                known = spread(known, t, t, (a, *self._means[X.names[v]]), X.dtype)
            H[part] = known
        return H

    def fit_tiles(self, X: Views) -> TileOf:
        """Fit on X and return a function that gives tiles (r, b, b') of its kernel matrices, or (b, b') of their sum.

        In the sum, views that are compared together have a product too.
        """
        self.training, self._means = X, {}
        if len(self.banks) == 1:
            (bank,) = self.banks.values()
            return bank.fit_tiles(X.tables[0])
        parts = [self._view_tiles(X, v) for v in range(len(self.banks))]
        ends = np.cumsum([len(bank) for bank in self.banks.values()])[:-1]  # of the weights of each view

        def tile(rows: slice, cols: slice, dtype: DTypeLike | None = None, p: Vector | None = None) -> Matrix:
            dtype = dtype or X.dtype
            if p is None:
                return np.concatenate([part(rows, cols, dtype) for part in parts])
            each = [part(rows, cols, dtype, q) for part, q in zip(parts, np.split(p, ends), strict=True)]
            return self._summed(each, p) if self.together else np.asarray(sum(each[1:], start=each[0]))

        return tile

    def grams(self, X: Views, Y: Views | None = None) -> Matrix:
        """Return the kernel matrices of X with Y (or with itself) as one array of shape (r, n, m)."""
        self._fitted()
        Y = X if Y is None else Y
        if len(self.banks) == 1:
            return self._view_grams(X, Y, 0)
        H = np.empty((len(self.names), X.n_samples, Y.n_samples), dtype=np.result_type(X.dtype, Y.dtype))
        start = 0
        for v, bank in enumerate(self.banks.values()):
            part = slice(start, start := start + len(bank.names))
            H[part] = self._view_grams(X, Y, v)
        return H

    def astype(self, dtype: DTypeLike) -> ViewBank:
        """Return the fitted bank with its training samples in another precision."""
        bank = copy(self)
        bank.training = self._fitted().astype(dtype)
        return bank

    def weighted(self, X: Views, p: Vector) -> Matrix:
        """Return Σ p_i H_i of samples X with the training samples, (n, m), without a stack of the kernels.

        Views that are compared together have a product in it, as in `fit_tiles`.
        """
        training, parts = self._fitted(), list[Matrix]()
        start = 0
        for v, bank in enumerate(self.banks.values()):
            q, x, y = p[start : (start := start + len(bank.names))], X.tables[v], training.tables[v]
            known: Matrix = bank.weighted(Pair(x, y), q) if x.shape[0] else np.empty((0, y.shape[0]), dtype=X.dtype)
            if not (X.complete and training.complete):
                a, (means, mean) = known.mean(axis=1, dtype=np.float64), self._training_means(v)
                t, u = knowledge(X.present)[v], knowledge(training.present)[v]
                # filling in samples that lack the view is linear in the kernels, so the weighted sum can be filled in
                # directly
                sums = a[None], (q @ means)[None], np.atleast_1d(q @ mean)
                known = np.asarray(spread(known[None], t, u, sums, known.dtype)[0])
            parts.append(known)
        return self._summed(parts, p) if self.together else np.asarray(sum(parts[1:], start=parts[0]))

    def _summed(self, parts: Sequence[Matrix], p: Vector) -> Matrix:
        """Return the weighted sum of the kernels of all views from that of each, as `joined_sum`."""
        views = np.array(self.views)
        return joined_sum(parts, [float(p[views == name].sum()) for name in self.banks], self.together)

    def _view_grams(self, X: Views, Y: Views, v: int) -> Matrix:
        """Return the kernel matrices of one view for all samples, (r_v, n, m)."""
        bank, x, y = self.banks[X.names[v]], X.tables[v], Y.tables[v]
        if 0 in (x.shape[0], y.shape[0]):
            known: Matrix = np.empty((len(bank), x.shape[0], y.shape[0]))
        else:
            known = bank.stack(Pair(x, y))
        if X.complete and Y.complete:
            return known
        a = self._mean_values(X, v)
        b = a if Y is X else self._mean_values(Y, v)
        t, u = knowledge(X.present)[v], knowledge(Y.present)[v]
        return spread(known, t, u, (a, b, self._training_means(v)[1]), np.result_type(X.dtype, Y.dtype))

    def _view_tiles(self, X: Views, v: int) -> TileOf:
        """Fit the kernels of one view and return the function of their tiles."""
        bank = self.banks[X.names[v]]
        with _naming(X.names[v]):
            known = bank.fit_tiles(X.tables[v])
        if X.complete:
            return known
        t = knowledge(X.present)[v]
        place = np.r_[0, np.cumsum(X.present[v])]  # known samples before each sample: rows of a tile stay a slice
        a, mean = self._training_means(v)

        def tile(rows: slice, cols: slice, dtype: DTypeLike | None = None, p: Vector | None = None) -> Matrix:
            x, y = (slice(place[part.start], place[part.stop]) for part in (rows, cols))
            shape = len(bank), x.stop - x.start, y.stop - y.start
            H = np.empty(shape) if 0 in shape else known(x, y, dtype)
            H = spread(H, t[rows], t[cols], (a[:, x], a[:, y], mean), dtype)
            return H if p is None else weighted_stack(H, p)

        return tile

    def _mean_values(self, X: Views, v: int) -> Matrix:
        """Return the mean kernel value of every sample that the view has with the training samples, (r_v, n_v)."""
        training, bank = self._fitted(), self.banks[X.names[v]]
        if X.tables[v] is training.tables[v]:
            return self._training_means(v)[0]
        if X.tables[v].shape[0] == 0:
            return np.empty((len(bank), 0))
        return np.stack([K.mean(axis=1, dtype=np.float64) for K in bank.each(X.tables[v], training.tables[v])])

    def _training_means(self, v: int) -> tuple[Matrix, Vector]:
        """Return the mean kernel values of the training samples that the view has, and the mean of these."""
        training = self._fitted()
        name = training.names[v]
        if name not in self._means:
            matrices = self.banks[name].each(training.tables[v])
            means = np.stack([K.mean(axis=1, dtype=np.float64) for K in matrices])
            self._means[name] = means, means.mean(axis=1)
        return self._means[name]

    def _fitted(self) -> Views:
        if self.training is None:
            msg = "This ViewBank is not fitted: call bank.fit(views) on the training samples first."
            raise InvalidInputError(msg)
        return self.training


@contextmanager
def _naming(view: str) -> Iterator[None]:
    """Name the view in an error of its kernels."""
    try:
        yield
    except InvalidInputError as error:
        msg = f"View {view!r}: {error}"
        raise InvalidInputError(msg) from error


class Bank(Protocol):
    """Named kernels of the samples that `bank_of` made them for: a `ViewBank` of Views, or a `PrecomputedBank`.

    The samples of its methods are of that kind too, which types cannot say of a bank whose kind is not known.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every kernel."""

    @property
    def views(self) -> tuple[str, ...]:
        """The view of every kernel."""

    @property
    def training(self) -> Views | None:
        """The samples that the kernels were fixed on; None for kernel matrices, which new samples bring along."""

    def __len__(self) -> int: ...

    def astype(self, dtype: DTypeLike) -> Bank:
        """Return the fitted bank with its training samples in another precision."""

    def fit_grams(self, X: Any) -> Matrix:
        """Fit on X and return its kernel matrices, (r, n, n)."""

    def fit_tiles(self, X: Any) -> TileOf:
        """Fit on X and return a function that gives tiles (r, b, b') of its kernel matrices."""

    def grams(self, X: Any, Y: Any = None) -> Matrix:
        """Return the kernel matrices of X with Y, (r, n, m)."""

    def weighted(self, X: Any, p: Vector) -> Matrix:
        """Return Σ p_i H_i of X with the training samples, (n, m)."""


@overload
def bank_of(kernels: KernelsLike, samples: Views, *, together: bool = False) -> ViewBank: ...
@overload
def bank_of(kernels: KernelsLike, samples: Views | KernelStack, *, together: bool = False) -> Bank: ...
def bank_of(kernels: KernelsLike, samples: Views | KernelStack, *, together: bool = False) -> Bank:
    """Return an unfitted bank of the kernels of every view, or of the matrices that were given.

    Parameters
    ----------
    kernels : str, KernelBank, kernel, list or dict
        A recipe's name, a bank, one kernel, a list of kernels or a dict of kernels by name, which all views get; or a
        dict that gives each view, by its name or that of its table, one of these. A recipe's name stands for kernels
        of numbers; the categories of a mixed table get those of `Mixed`. "auto" chooses by the columns of the widest
        view, or of the view that it is given for; a table with categories has the kernels of many columns.
    samples : Views or KernelStack
        The samples: their views get the kernels. For kernel matrices `kernels` plays no part.
    together : bool, default=False
        Whether numbers and categories of one table are compared together, by products of their kernels, too.

    Returns
    -------
    ViewBank or PrecomputedBank
    """
    if isinstance(samples, KernelStack):
        return PrecomputedBank(samples.names)
    names = samples.names
    kinds = dict(zip(names, samples.kinds, strict=True))
    least = FEW_COLUMNS if CATEGORIES in samples.kinds else 0  # numbers with categories need all widths
    widths = {name: max(width, least) for name, width in zip(names, samples.widths, strict=True)}
    groups = samples.blocks if together else ()
    if not isinstance(kernels, Mapping) or not _per_view(kernels, names, samples.sources):
        for_all = cast(BankLike | Mixed, kernels)
        return ViewBank({name: as_bank(for_all, kind, max(widths.values())) for name, kind in kinds.items()}, groups)
    keys = {name: name if name in kernels else source for name, source in zip(names, samples.sources, strict=True)}
    if set(kernels) != set(keys.values()):
        odd = sorted(set(map(str, kernels)) ^ set(keys.values()))
        msg = (
            f"kernels must name every view once, or none: the views are {', '.join(map(repr, names))}, kernels has "
            f"{', '.join(map(repr, kernels))} (see {odd[0]!r})."
        )
        raise InvalidInputError(msg)
    return ViewBank({name: as_bank(kernels[key], kinds[name], widths[name]) for name, key in keys.items()}, groups)


def _per_view(kernels: Mapping[str, object], names: tuple[str, ...], sources: tuple[str, ...]) -> bool:
    """Return whether a dict gives each view its kernels; otherwise it names kernels that all views have."""
    several = [
        isinstance(value, list | tuple | Mapping | KernelBank)
        or (isinstance(value, str) and is_recipe(value))
        or is_mixed_recipe(value)
        for value in kernels.values()
    ]
    if len(names) == 1:  # a kernel may have the name of the only view
        return set(kernels) in (set(names), set(sources)) and all(several)
    return bool(set(kernels) & {*names, *sources}) or any(several)
