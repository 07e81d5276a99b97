"""Distances between samples and graphs of samples as views: what a user passes, and how it becomes a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from kernelweave._types import Mask, Matrix, Samples, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.samples.digests import Seen, row_digests
from kernelweave.samples.table import Table, fitted_places, read_table

__all__ = ["Comparison", "Distances", "Graph", "Neighbourhoods", "Placement", "fit_comparison"]

_LARGEST = 1e75  # of distances, which are squared
_RANK = 1e-9  # of the largest eigenvalue; smaller ones are rounding


@dataclass(frozen=True, slots=True, eq=False)
class Distances:
    """Distances between samples, as one view.

    Parameters
    ----------
    matrix : array or data frame of shape (n, n); (m, n) for new samples
        In `fit`, the distance between every two samples: symmetric, not negative, 0 on the diagonal. In `predict`,
        the distances of m new samples to the n samples of `fit`, in the same order of columns. A data frame is
        aligned by its index, and its columns are found by their names. A sample whose row is NaN lacks the view.

    Notes
    -----
    Samples are placed at the coordinates of classical scaling, whose Euclidean distances are the given ones where
    that is possible. Directions that are not Euclidean, with negative eigenvalues, are left out, and so are those that
    are not larger than the largest of them. New samples are placed by their distances to the samples of `fit`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics import pairwise_distances
    >>> from kernelweave import WeaveClustering
    >>> from kernelweave.samples import Distances
    >>> X = load_iris().data
    >>> D = pairwise_distances(X[:, 2:], metric="cityblock")
    >>> model = WeaveClustering(3, random_state=0).fit({"sepal": X[:, :2], "petal": Distances(D)})
    >>> model.view_names_
    ('sepal', 'petal')
    >>> new = {"sepal": X[:2, :2] + 0.1, "petal": Distances(D[:2] + 0.1)}  # distances to the 150 samples of fit
    >>> model.predict(new).shape
    (2,)
    """

    matrix: Any


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A graph whose nodes are the samples, as one view.

    Parameters
    ----------
    matrix : sparse matrix, array or data frame of shape (n, n); (m, n) for new samples
        The weights of the edges, not negative, 0 where there is none; symmetric in `fit`, its diagonal is ignored. In
        `predict`, the edges of m new samples to the n samples of `fit`. A sample without any edge lacks the view.

    Notes
    -----
    Samples are compared by their neighbourhoods: the shares of the edges of a sample (one to itself included), and
    those of its neighbours, as a row of unit length.
    """

    matrix: Any


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """The coordinates of samples from their distances to the samples of `fit`: classical scaling.

    Parameters
    ----------
    seen : Seen
        The rows of distances in `fit`, whose coordinates are kept.
    known : array of shape (n,)
        Which columns belong to samples that have the view.
    coordinates : array of shape (n, q)
        Of the samples of `fit`.
    means : array of shape (n,)
        The mean of every column of squared distances.
    projection : array of shape (n, q)
        Takes squared distances, less the means, to coordinates.
    left_out : float
        The share of the eigenvalues, by absolute value, that is left out: 0 for Euclidean distances.
    names : tuple of str or None
        The names of the samples of `fit`, if the columns have names.
    """

    kind: ClassVar[str] = "distances"

    seen: Seen = field(repr=False)
    known: Mask = field(repr=False)
    coordinates: Matrix = field(repr=False)
    means: Vector = field(repr=False)
    projection: Matrix = field(repr=False)
    left_out: float
    names: tuple[str, ...] | None = field(default=None, repr=False)

    def read(self, thing: Any, view: str) -> dict[str, Table]:
        """Return the coordinates of samples from their distances to those of `fit`."""
        table = _new_rows(thing, Distances, self.names, len(self.known), view)
        D = _dense(table.values)[:, self.known]
        values = np.full((len(D), self.coordinates.shape[1]), np.nan)
        lacking = np.isnan(D).all(axis=1)
        _check_entries(D[~lacking], view, "distances")
        values[~lacking] = self._placed(D[~lacking])
        return {"": Table(values, table.index, None, self.kind)}

    def _placed(self, D: Matrix) -> Matrix:
        found = np.asarray((D**2 - self.means) @ self.projection)
        where = self.seen.find(_Rows(D))
        found[where >= 0] = self.coordinates[where[where >= 0]]  # to the last digit, so that they are recognised
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhoods:
    """The neighbourhoods of samples in a graph.

    Parameters
    ----------
    seen : Seen
        The rows of the graph in `fit`, whose neighbourhoods are kept.
    steps : sparse array of shape (n, n)
        The shares of the edges of every sample of `fit`, one to itself included.
    profiles : sparse array of shape (n, n)
        The neighbourhoods of the samples of `fit`.
    names : tuple of str or None
        The names of the samples of `fit`, if the columns have names.
    """

    kind: ClassVar[str] = "graph"

    seen: Seen = field(repr=False)
    steps: Samples = field(repr=False)
    profiles: Samples = field(repr=False)
    names: tuple[str, ...] | None = field(default=None, repr=False)

    def read(self, thing: Any, view: str) -> dict[str, Table]:
        """Return the neighbourhoods of samples from their edges to those of `fit`."""
        table = _new_rows(thing, Graph, self.names, self.steps.shape[0], view)
        A = _edges(table.values, view)
        found = _profiles(_shares(A), self.steps)
        where = self.seen.find(_Rows(A))
        old = np.flatnonzero(where >= 0)
        if len(old):  # to the last digit, so that they are recognised
            new = sparse.diags_array((where < 0).astype(np.float64))
            pick = sparse.csr_array((np.ones(len(old)), (old, where[old])), shape=(len(where), A.shape[1]))
            found = sparse.csr_array(new @ found + pick @ self.profiles)
        return {"": Table(_with_gaps(found, _degrees(A) == 0), table.index, None, self.kind)}


Comparison = Placement | Neighbourhoods


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows that have digests."""

    rows: Any

    def digests(self) -> NDArray[np.uint8]:
        """Return 16 bytes for every row."""
        return row_digests(self.rows)


def fit_comparison(thing: Distances | Graph, view: str) -> tuple[Comparison, dict[str, Table]]:
    """Return how distances or a graph of the samples of `fit` are read, and the table that they become."""
    table = read_table(thing.matrix, view)
    what = "distances" if isinstance(thing, Distances) else "edges"
    if table.values.shape[0] != table.values.shape[1]:
        msg = f"The {what} of view {view!r} must be a square matrix of all samples in fit; got {table.values.shape}."
        raise InvalidInputError(msg)
    if table.names is not None and table.columns is not None:
        table = _in_order_of_index(table, view)
    fit = _fit_distances if isinstance(thing, Distances) else _fit_graph
    return fit(table, view)


def _fit_distances(table: Table, view: str) -> tuple[Placement, dict[str, Table]]:
    whole = _dense(table.values)
    known = np.asarray(~np.isnan(whole).all(axis=1))
    if not known.any():
        msg = f"The distances of view {view!r} are all NaN: leave it out."
        raise InvalidInputError(msg)
    D = whole[np.ix_(known, known)]
    _check_entries(D, view, "distances")
    _check_symmetric(D, view, "distances")
    if np.abs(D.diagonal()).max(initial=0) > 0:
        msg = f"The distance of a sample to itself must be 0 in view {view!r}; are these similarities? Use Graph(...)."
        raise InvalidInputError(msg)
    squares = D**2
    means = squares.mean(axis=0)
    B = -0.5 * (squares - means - means[:, None] + means.mean())
    values, vectors = linalg.eigh(B)
    keep = values > max(_RANK * values[-1], -values[0], 0.0)
    if not keep.any():
        msg = f"The distances of view {view!r} are all 0, or no points have distances like these: leave it out."
        raise InvalidInputError(msg)
    left_out = float(np.abs(values[~keep]).sum() / np.abs(values).sum())
    roots = np.sqrt(values[keep])[::-1]
    vectors = np.ascontiguousarray(vectors[:, keep][:, ::-1])
    coordinates = vectors * roots
    shown = np.full((len(whole), len(roots)), np.nan)
    shown[known] = coordinates
    seen = Seen(row_digests(D))
    reading = Placement(seen, known, coordinates, means, vectors / (-2 * roots), left_out, table.columns)
    return reading, {"": Table(shown, table.index, None, "distances")}


def _fit_graph(table: Table, view: str) -> tuple[Neighbourhoods, dict[str, Table]]:
    given = _edges(table.values, view)
    A = given.copy()
    A.setdiag(0)
    A.eliminate_zeros()
    _check_symmetric(A, view, "edges")
    strongest = np.asarray(A.max(axis=1).todense()).ravel()
    steps = _shares(sparse.csr_array(A + sparse.diags_array(np.where(strongest > 0, strongest, 1.0))))
    profiles = _profiles(steps, steps)
    reading = Neighbourhoods(Seen(row_digests(given)), steps, profiles, table.columns)
    return reading, {"": Table(_with_gaps(profiles, strongest == 0), table.index, None, "graph")}


def _profiles(own: Samples, steps: Samples) -> Samples:
    """Return rows of unit length from the edges of samples and of their neighbours."""
    P = sparse.csr_array(own + own @ steps)
    norms = np.sqrt(np.asarray(P.multiply(P).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array(1 / np.where(norms > 0, norms, 1)) @ P)


def _with_gaps(P: Samples, lacking: Mask) -> Samples:
    """Return rows with NaN for samples that lack the view."""
    if not lacking.any():
        return P
    P = P.tolil()
    P[np.flatnonzero(lacking)] = np.nan
    return sparse.csr_array(P)


def _degrees(A: Samples) -> Vector:
    return np.asarray(A.sum(axis=1)).ravel()


def _shares(A: Samples) -> Samples:
    """Return a graph whose rows sum to one, but for empty ones."""
    degrees = _degrees(A)
    A = sparse.csr_array(A, copy=True)
    A.data /= np.repeat(np.where(degrees > 0, degrees, 1), np.diff(A.indptr))  # the inverse of a degree may overflow
    return A


def _new_rows(
    thing: Any, kind: type[Distances] | type[Graph], names: tuple[str, ...] | None, n: int, view: str
) -> Table:
    """Return the comparisons of new samples with those of `fit`, with columns in the order of `fit`."""
    if not isinstance(thing, kind):
        wanted = f"{kind.__name__}(matrix)"
        msg = f"View {view!r} was fitted on {wanted}: pass {wanted} for new samples too; got {type(thing).__name__}."
        raise InvalidInputError(msg)
    table = read_table(thing.matrix, view)
    if names is not None and table.columns is not None:
        places = fitted_places(names, table.columns, view)
        table = table if places is None else Table(table.values[:, places], table.index, names)
    if table.values.shape[1] != n:
        what = "distances" if kind is Distances else "edges"
        msg = (
            f"View {view!r} needs the {what} of every new sample to the {n} samples of fit, in their order: expected "
            f"{n} columns; got shape {table.values.shape}."
        )
        raise InvalidInputError(msg)
    return table


def _in_order_of_index(table: Table, view: str) -> Table:
    """Return a square table whose columns follow its index."""
    names = tuple(map(str, table.index))
    places = fitted_places(names, table.columns or (), view)
    return Table(table.values if places is None else table.values[:, places], table.index, names)


def _dense(values: Any) -> Matrix:
    found = values.toarray() if sparse.issparse(values) else values
    return np.asarray(found, dtype=np.float64)


def _edges(values: Any, view: str) -> Samples:
    """Return a graph as a CSR array of weights that are not negative; NaN means no edge."""
    A = sparse.csr_array(values, dtype=np.float64, copy=True)
    A.data[np.isnan(A.data)] = 0
    A.eliminate_zeros()
    A.sum_duplicates()
    _check_entries(A.data, view, "edges")
    return A


def _check_entries(values: Any, view: str, what: str) -> None:
    if np.isfinite(values).all() and values.max(initial=0) > _LARGEST:
        msg = f"The {what} of view {view!r} are larger than {_LARGEST:g}: divide them by the largest."
        raise InvalidInputError(msg)
    if not np.isfinite(values).all() or (values < 0).any():
        msg = f"The {what} of view {view!r} must be finite and not negative. A sample may lack the view: a row of NaN."
        raise InvalidInputError(msg)


def _check_symmetric(M: Any, view: str, what: str) -> None:
    asymmetry = float(abs(M - M.T).max())
    if asymmetry > 1e-8 * float(abs(M).max()):
        msg = (
            f"The {what} of view {view!r} must be symmetric; they differ by up to {asymmetry:.3g}. Pass (M + M.T) / 2."
        )
        raise InvalidInputError(msg)
