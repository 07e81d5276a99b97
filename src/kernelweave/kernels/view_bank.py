"""The kernels of several views, as one bank."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kernelweave._types import Matrix, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.bank import KernelBank
from kernelweave.kernels.gaps import knowledge, spread
from kernelweave.samples.alignment import need_samples
from kernelweave.samples.views import Views

__all__ = ["ViewBank"]


class ViewBank:
    """The kernels of several views as one bank, with the interface of a `KernelBank`.

    Constants of kernels are fixed on the samples that a view has. Where samples are missing, a kernel tells a sample
    that it does not know from no other: the sample stands at the mean of the kernel's features, and what its other
    views say of it counts in proportion more.

    Parameters
    ----------
    banks : mapping of view name to KernelBank
        The kernels of every view.
    """

    def __init__(self, banks: Mapping[str, KernelBank]) -> None:
        self._banks = dict(banks)
        self._training: Views | None = None
        self._means: dict[str, tuple[Matrix, Vector]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The kernels' names, each after that of its view."""
        return tuple(f"{view}: {name}" for view, bank in self._banks.items() for name in bank.names)

    @property
    def views(self) -> tuple[str, ...]:
        """The view of every kernel."""
        return tuple(view for view, bank in self._banks.items() for _ in bank.names)

    @property
    def banks(self) -> dict[str, KernelBank]:
        """The bank of every view."""
        return dict(self._banks)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"ViewBank({', '.join(f'{view}: {len(bank)} kernels' for view, bank in self._banks.items())})"

    def unfitted(self) -> ViewBank:
        """Return a bank of the same kernels that is not fixed on any samples."""
        return ViewBank({view: bank.unfitted() for view, bank in self._banks.items()})

    def fit(self, X: Views) -> ViewBank:
        """Fix the constants of every kernel on the samples of its view, and return the bank."""
        self._each_bank(X, lambda v, bank: bank.fit(X.tables[v]))
        return self

    def fit_grams(self, X: Views) -> Matrix:
        """Fit on X and return its kernel matrices, (r, n, n)."""
        return self.fit(X).grams(X)

    def fit_tiles(self, X: Views) -> Callable[..., Matrix]:
        """Fit on X and return a function of rows, columns and, if not that of X, precision: a tile (r, b, b') of H."""
        parts = self._each_bank(X, self._tiles)

        def tile(rows: slice, cols: slice, dtype: Any = None) -> Matrix:
            return np.concatenate([part(rows, cols, dtype or X.dtype) for part in parts])

        return tile

    def _each_bank(self, X: Views, fit: Callable[[int, KernelBank], Any]) -> list[Any]:
        """Return what a fit of every bank on its view of X gives; an error names the view."""
        self._need(X)
        need_samples(X.present, X.names, X.sample_names, least=2)
        self._training, self._means = X, {}
        found = []
        for v, (name, bank) in enumerate(self._banks.items()):
            try:
                found.append(fit(v, bank))
            except InvalidInputError as error:
                msg = f"View {name!r}: {error}"
                raise InvalidInputError(msg) from error
        return found

    def grams(self, X: Views, Y: Views | None = None) -> Matrix:
        """Return the kernel matrices of X with Y (or with itself) as one array of shape (r, n, m)."""
        training = self._fitted()
        self._need(X)
        Y = X if Y is None else Y
        self._need(Y)
        plain = X.complete and Y.complete
        t, u = knowledge(X.present), knowledge(Y.present)
        H = np.empty((len(self), X.n_samples, Y.n_samples), dtype=np.result_type(X.dtype, Y.dtype))
        start = 0
        for v, bank in enumerate(self._banks.values()):
            part = slice(start, start := start + len(bank))
            x, y = X.tables[v], Y.tables[v]
            known = bank.grams(x, None if y is x else y) if 0 not in (x.shape[0], y.shape[0]) else None
            if plain:
                H[part] = known
                continue
            a = self._mean_values(v, bank, X, training)
            b = a if Y is X else self._mean_values(v, bank, Y, training)
            if known is None:
                known = np.empty((len(bank), x.shape[0], y.shape[0]))
            H[part] = spread(known, t[v], u[v], (a, b, self._training_means(v, bank)[1]), H.dtype)
        return H

    def _tiles(self, v: int, bank: KernelBank) -> Callable[[slice, slice, Any], Matrix]:
        X = self._fitted()
        tile_of = bank.fit_tiles(X.tables[v])
        if X.complete:
            return tile_of
        t = knowledge(X.present)[v]
        place = np.r_[0, np.cumsum(X.present[v])]  # known samples before each sample: rows of a tile stay a slice
        a, mean = self._training_means(v, bank)

        def tile(rows: slice, cols: slice, dtype: Any) -> Matrix:
            x, y = (slice(place[part.start], place[part.stop]) for part in (rows, cols))
            empty = x.start == x.stop or y.start == y.stop
            H = np.empty((len(bank), x.stop - x.start, y.stop - y.start)) if empty else tile_of(x, y, np.dtype(dtype))
            return spread(H, t[rows], t[cols], (a[:, x], a[:, y], mean), np.dtype(dtype))

        return tile

    def _mean_values(self, v: int, bank: KernelBank, X: Views, training: Views) -> Matrix:
        """Return the mean kernel value of every sample that the view has with the training samples, (r_v, n_v)."""
        if X.tables[v] is training.tables[v]:
            return self._training_means(v, bank)[0]
        if X.tables[v].shape[0] == 0:
            return np.empty((len(bank), 0))
        return np.stack([K.mean(axis=1, dtype=np.float64) for K in bank.each(X.tables[v], training.tables[v])])

    def _training_means(self, v: int, bank: KernelBank) -> tuple[Matrix, Vector]:
        name = self._fitted().names[v]
        if name not in self._means:
            means = np.stack([K.mean(axis=1, dtype=np.float64) for K in bank.each(self._fitted().tables[v])])
            self._means[name] = means, means.mean(axis=1)
        return self._means[name]

    def _fitted(self) -> Views:
        if self._training is None:
            msg = "This ViewBank is not fitted: call bank.fit(views) on the training samples first."
            raise InvalidInputError(msg)
        return self._training

    def _need(self, X: Views) -> None:
        if not isinstance(X, Views) or X.names != tuple(self._banks):
            got = ", ".join(X.names) if isinstance(X, Views) else type(X).__name__
            msg = f"This ViewBank has kernels for the views {', '.join(self._banks)}; got {got}."
            raise InvalidInputError(msg)
