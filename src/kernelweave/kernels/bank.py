"""The bank: an ordered, named set of kernels, fixed once on the training samples; sums over tiles of their matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import get_blas_funcs

from kernelweave._plural import counted
from kernelweave._types import Matrix, Samples, Tile, TileOf, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.base import Kernel, Pair, Products, read_pair, row_sqnorms, with_itself
from kernelweave.kernels.pairwise import Pairwise, is_metric
from kernelweave.kernels.plugin_kernels import plugin_kernel
from kernelweave.samples.magnitudes import LARGEST, check_kernel

__all__ = [
    "KernelBank",
    "KernelLike",
    "KernelTiles",
    "as_kernel",
    "check_stack",
    "combine_tiles",
    "joined_sum",
    "kernel_moments",
    "weighted_diagonal",
    "weighted_products",
    "weighted_stack",
]

_TILE = (192, 512)  # samples of a tile, at least and at most
_PRODUCT = 0.25  # share of the product among views that are compared together
_FLAT = 1e-6  # share of the second moment below which a kernel has no variance off the diagonal in single precision

KernelLike: TypeAlias = Kernel | str | Callable[..., float]


def as_kernel(spec: KernelLike) -> Kernel:
    """Return a kernel from a kernel, a function of two samples, or a name.

    Parameters
    ----------
    spec : Kernel, str or callable
        A kernel, which is returned as it is; a function of two samples; or the name of a scikit-learn metric, or of a
        kernel of a plugin.

    Returns
    -------
    Kernel
    """
    if isinstance(spec, str) and not is_metric(spec):
        spec = plugin_kernel(spec) or spec
    return spec if isinstance(spec, Kernel) else Pairwise(spec)


class KernelBank:
    """An ordered, named set of kernels.

    Parameters
    ----------
    kernels : mapping of name to kernel, or sequence of kernels
        A kernel is a `Kernel`, the name of a scikit-learn metric, or a function of two samples. In a sequence
        each kernel is named after itself.

    Attributes
    ----------
    names : tuple of str
        The name of every kernel, in order.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import Gaussian, KernelBank, Linear
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> bank = KernelBank({"near": Gaussian(t=0.1), "far": Gaussian(t=1), "line": Linear()}).fit(X)
    >>> bank.names, bank.grams(X).shape
    (('near', 'far', 'line'), (3, 20, 20))
    """

    __saved__: ClassVar[tuple[str, ...]] = ("names", "_given", "_fixed", "_n_features")

    names: tuple[str, ...]
    _given: tuple[Kernel, ...]
    _fixed: tuple[Kernel, ...]  # empty until the bank is fitted
    _n_features: int

    def __init__(self, kernels: Mapping[str, KernelLike] | Sequence[KernelLike]) -> None:
        if isinstance(kernels, Mapping):
            named = {str(name): k if isinstance(k, Kernel) else as_kernel(k) for name, k in kernels.items()}
        elif isinstance(kernels, Sequence) and not isinstance(kernels, str):
            named = _named([as_kernel(spec) for spec in kernels])
        else:
            msg = f"A KernelBank takes a mapping of names to kernels or a list of kernels; got {kernels!r}."
            raise InvalidInputError(msg)
        if not named:
            msg = "A KernelBank needs at least one kernel; got none."
            raise InvalidInputError(msg)
        if len(named) < len(kernels):
            msg = f"The names of kernels must differ; got {', '.join(map(repr, kernels))}."
            raise InvalidInputError(msg)
        self.names = tuple(named)
        self._given = tuple(named.values())
        self._fixed = ()
        self._n_features = 0

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels in order: as fixed on the training samples, or as given while the bank is not fitted."""
        return self._fixed or self._given

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"KernelBank({', '.join(self.names)}; {'fitted' if self._fixed else 'not fitted'})"

    def unfitted(self) -> KernelBank:
        """Return a bank of the same kernels that is not fixed on any samples."""
        return KernelBank(dict(zip(self.names, self._given, strict=True)))

    def fit(self, X: Samples) -> KernelBank:
        """Fix every data-dependent constant on the training samples X, and return the bank."""
        self.fit_pair(_checked_pair(X))
        return self

    def grams(self, X: Samples, Y: Samples | None = None) -> Matrix:
        """Return the kernel matrices of X with Y (or with itself) as one array of shape (r, n, m)."""
        pair = _checked_pair(X, Y)
        self._need_fitted(pair)
        return self.stack(pair)

    def fit_grams(self, X: Samples) -> Matrix:
        """Fit on X and return its kernel matrices, computing the products between samples once for both."""
        return self.stack(self.fit_pair(_checked_pair(X)))

    def fit_tiles(self, X: Samples) -> TileOf:
        """Fit on X and return a function that gives tiles of its kernel matrices.

        The function keeps the products between samples, but no kernel matrix. X must be floating point and finite: it
        is not checked.
        """
        pair = self.fit_pair(Pair(X))
        return lambda rows, cols, dtype=None, p=None: (
            self.stack(pair.tile(rows, cols, dtype)) if p is None else self.weighted(pair.tile(rows, cols, dtype), p)
        )

    def fit_pair(self, pair: Pair) -> Pair:
        """Fix every data-dependent constant on the samples of a pair, which are not checked, and return the pair."""
        self._fixed = tuple(kernel.fix(pair) for kernel in self._given)
        self._n_features = pair.X.shape[1]
        return pair

    def each(self, X: Samples, Y: Samples | None = None) -> Iterator[Matrix]:
        """Yield the kernel matrices one by one, so that only one of them is in memory.

        The samples must be floating point and finite: they are not checked.
        """
        pair = Pair(X, Y)
        self._need_fitted(pair)
        return (_matrix(name, kernel, pair) for name, kernel in zip(self.names, self._fixed, strict=True))

    def stack(self, pair: Pair) -> Matrix:
        """Return the matrices of the fitted kernels for a pair whose samples were checked, (r, n, m)."""
        H = np.empty((len(self._fixed), *pair.shape), dtype=pair.dtype)
        for K, name, kernel in zip(H, self.names, self._fixed, strict=True):
            K[...] = _matrix(name, kernel, pair)
        return H

    def weighted(self, pair: Pair, p: Vector) -> Matrix:
        """Return Σ p_i H_i of the fitted kernels for a pair whose samples were checked, (n, m).

        One kernel matrix is in memory at a time.
        """
        K = np.zeros(pair.shape, dtype=pair.dtype)
        (add,) = get_blas_funcs(("axpy",), (K,))
        for share, name, kernel in zip(p, self.names, self._fixed, strict=True):
            if share != 0:
                H = np.ascontiguousarray(_matrix(name, kernel, pair), dtype=K.dtype)
                add(H.ravel(), K.ravel(), a=share)  # in place, in one pass
        return K

    def _need_fitted(self, pair: Pair) -> None:
        if not self._fixed:
            msg = "This KernelBank is not fitted: call bank.fit(X) on the training samples first."
            raise InvalidInputError(msg)
        if pair.X.shape[1] != self._n_features:
            got = counted(pair.X.shape[1], "feature")
            msg = f"X has {got}, but the bank was fitted on samples of {self._n_features}."
            raise InvalidInputError(msg)


def _matrix(name: str, kernel: Kernel, pair: Pair) -> Matrix:
    """Return the matrix of one kernel, or name the kernel if it is not usable."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
        K = kernel.of_products(pair)
        K = kernel.evaluate(pair) if K is None else K
        total = np.vdot(K, K)
    if K.shape != pair.shape:
        msg = f"Kernel {name!r} gave a matrix of shape {K.shape}; expected {pair.shape}."
        raise InvalidInputError(msg)
    if not (np.isfinite(total) or np.isfinite(K).all()):  # a sum is faster than a mask, but may overflow by itself
        msg = f"Kernel {name!r} gave inf or NaN for these samples: check its parameters and the scale of X."
        raise InvalidInputError(msg)
    return K


def _named(kernels: Sequence[Kernel]) -> dict[str, Kernel]:
    """Name kernels after themselves; a repeated name gets its count."""
    names = [str(kernel) for kernel in kernels]
    counts = [names[: i + 1].count(name) for i, name in enumerate(names)]
    return {name if c == 1 else f"{name} #{c}": k for name, c, k in zip(names, counts, kernels, strict=True)}


def _checked_pair(X: Samples, Y: Samples | None = None) -> Pair:
    """Return what a user passes as samples, converted and checked."""
    pair = read_pair(X, Y)
    for name, Z in (("X", pair.X),) if pair.same else (("X", pair.X), ("Y", pair.Y)):
        if 0 in Z.shape:
            msg = f"{name} is empty: its shape is {Z.shape}."
            raise InvalidInputError(msg)
        values = Z.data if sparse.issparse(Z) else Z
        if not np.isfinite(values).all():
            msg = (
                f"{name} holds {counted(int(np.count_nonzero(~np.isfinite(values))), 'NaN or infinite value')}; "
                "kernels need finite numbers. Impute or drop them first."
            )
            raise InvalidInputError(msg)
    return pair


def check_stack(H: Matrix, names: Sequence[str], *, training: bool) -> None:
    """Refuse kernel matrices (r, n, m) of values too large or too small to be computed with, as `check_kernel`."""
    flat, limit = H.reshape(len(H), -1), LARGEST[H.dtype.itemsize]
    largest = np.maximum(flat.max(axis=1, initial=0), -flat.min(axis=1, initial=0))
    if not ((1 / limit <= largest) & (largest <= limit)).all():  # look at each
        for name, K in zip(names, H, strict=True):
            check_kernel(K, f"Kernel {name!r}", training=training)


def weighted_stack(H: Matrix, p: Vector) -> Matrix:
    """Return Σ p_i H_i of a stack (r, n, m)."""
    return np.asarray(np.tensordot(p.astype(H.dtype), H, axes=1))


def joined_sum(parts: Sequence[Matrix], shares: Sequence[float], groups: Iterable[tuple[int, ...]]) -> Matrix:
    """Return Σ_v K_v, where the parts v of a group have ¾ Σ_v K_v + ¼ (Σ_v P_v) Π_v K_v / P_v, P_v their shares.

    K_v is the weighted sum of the kernels of one view, and P_v the sum of their weights. Samples that are alike in some
    views of a group only are then less alike than those that are so in all. A product of Gram matrices is one.
    """
    total = np.asarray(sum(parts[1:], start=parts[0]))
    for group in groups:
        if min(shares[v] for v in group) > 0:
            means = [parts[v] / shares[v] for v in group]
            product = np.multiply.reduce(means)
            for v, mean in zip(group, means, strict=True):
                total = total + _PRODUCT * shares[v] * (product - mean)
    return np.asarray(total, dtype=parts[0].dtype)


def weighted_products(
    kernels: Sequence[Kernel], p: Vector, products: Products, otherwise: Callable[[Kernel], Matrix]
) -> Matrix:
    """Return Σ p_i H_i of some pairs of samples from products; kernels that need more are left to `otherwise`."""
    dtype = products.inner.dtype
    total = np.zeros(products.inner.shape, dtype=dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
        for share, kernel in zip(p, kernels, strict=True):
            if share != 0:
                K = kernel.of_products(products)
                K = otherwise(kernel) if K is None else K
                K *= dtype.type(share)
                total += K
        size = total.sum()
    if not (np.isfinite(size) or np.isfinite(total).all()):
        names = ", ".join(map(str, kernels))
        msg = f"The kernels {names} gave inf or NaN for these samples: check their parameters and the scale of X."
        raise InvalidInputError(msg)
    return total


def weighted_diagonal(kernels: Sequence[Kernel], p: Vector, X: Samples) -> Vector:
    """Return Σ p_i k_i(x, x) of every sample."""
    return weighted_products(kernels, p, with_itself(row_sqnorms(X)), lambda kernel: kernel.diag(X))


@dataclass(frozen=True, slots=True)
class KernelTiles:
    """The r kernel matrices of n samples, computed tile by tile when needed, so that no stack of them is stored.

    Parameters
    ----------
    tile : function of (rows, columns, dtype, weights)
        Returns the tile (r, b, b') of all kernels, or that of their weighted sum, (b, b').
    r, n : int
        The numbers of kernels and samples.
    check : function of a tile and `training`, whether it lies on the diagonal, optional
        Refuses tiles that cannot be computed with.
    """

    tile: TileOf
    r: int
    n: int
    check: Callable[..., None] | None = None

    def of(self, dtype: np.dtype[np.floating], p: Vector | None = None) -> Iterator[Tile]:
        """Yield the tiles on and above the diagonal; all kernels of a tile take about a third of a kernel matrix.

        Those of the sum with the weights p are small, so that the terms of a tile stay in the processor's cache.
        """
        size = int(np.clip(self.n / np.sqrt(3 * self.r), *_TILE)) if p is None else _TILE[0]
        for i in range(0, self.n, size):
            for j in range(i, self.n, size):
                rows, cols = slice(i, min(i + size, self.n)), slice(j, min(j + size, self.n))
                if self.check is None:
                    yield rows, cols, self.tile(rows, cols, dtype, p)
                else:
                    H = self.tile(rows, cols, dtype)
                    self.check(H, training=i == j)
                    yield rows, cols, H if p is None else self.tile(rows, cols, dtype, p)


def kernel_moments(tiles: Iterable[Tile]) -> tuple[Matrix, Matrix]:
    """G_ij = <H_i, H_j>, and R_ij = C_ij / sqrt(C_ii C_jj), the correlations of the kernels' entries off the diagonal.

    R is 0, also for i = j, for a kernel without variance off the diagonal.
    Sums are taken about the mean of the first tile, those of the tiles are added in double precision, and the diagonals
    are added last, since sums of nearly constant kernels, and of kernels near the identity, would cancel.
    """
    centre: Vector = np.empty(0)
    seconds, firsts, on_diagonal, n = [], [], [], 0
    for rows, cols, H in tiles:
        flat = H.reshape(len(H), -1)
        if len(centre) == 0:
            centre = flat.mean(axis=1)
        E = flat - centre[:, None]
        if rows == cols:
            diagonal = E[:, :: H.shape[1] + 1]
            on_diagonal.append(diagonal.astype(np.float64))
            diagonal[:] = 0
        times = 1 if rows == cols else 2
        seconds.append(times * (E @ E.T).astype(np.float64))
        firsts.append(times * E.sum(axis=1).astype(np.float64))
        n = max(n, cols.stop)
    second, off, d = np.sum(seconds, axis=0), np.sum(firsts, axis=0), np.hstack(on_diagonal)
    m, first = centre.astype(np.float64), off + d.sum(axis=1)
    G = second + d @ d.T + np.outer(m, first) + np.outer(first, m) + n**2 * np.outer(m, m)
    C = second - np.outer(off, off) / max(n * (n - 1), 1)
    # about the mean of all entries, since the size of the first tile is arbitrary
    about_mean = second.diagonal() + (d * d).sum(axis=1) - first**2 / n**2
    varies = C.diagonal() > _FLAT * about_mean
    scale = np.zeros(len(C))
    scale[varies] = 1 / np.sqrt(C.diagonal()[varies])
    R = np.clip(C * scale * scale[:, None], -1, 1)
    np.fill_diagonal(R, varies)
    return np.asarray(G), np.asarray(R)


def combine_tiles(tiles: Iterable[Tile], n: int, dtype: np.dtype[np.floating]) -> Matrix:
    """K (n, n), exactly symmetric, from its tiles (b, b')."""
    K = np.empty((n, n), dtype=dtype)
    for rows, cols, tile in tiles:
        if rows == cols:
            K[rows, rows] = (tile + tile.T) / 2
        else:
            K[rows, cols], K[cols, rows] = tile, tile.T
    return K
