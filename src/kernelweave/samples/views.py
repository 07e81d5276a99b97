"""Several tables of the same samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

from kernelweave._plural import counted
from kernelweave._types import Array, Mask, RowsLike, Samples, Tables
from kernelweave.errors import InvalidInputError
from kernelweave.samples.alignment import align, known_rows, need_samples
from kernelweave.samples.comparisons import Distances, Graph, Neighbourhoods, Placement, fit_comparison
from kernelweave.samples.digests import joined_digests, row_digests
from kernelweave.samples.given_gaps import mark_missing
from kernelweave.samples.magnitudes import cast
from kernelweave.samples.mixed_table import ColumnChoices, MixedTable, fit_mixed, is_mixed
from kernelweave.samples.numbers import n_numbers
from kernelweave.samples.table import NamedColumns, Table, counts_rows, is_frame, is_table, read_table

if TYPE_CHECKING:
    from kernelweave.samples.scaling import Scaling

__all__ = ["Choices", "TableReading", "Views", "named_tables"]

TableReading: TypeAlias = NamedColumns | MixedTable | Placement | Neighbourhoods
Choices: TypeAlias = ColumnChoices | Mapping[str, ColumnChoices] | None  # for all data frames, or by table


class Views:
    """Tables of the same samples, aligned; a sample may be missing from some of them.

    Data frames with an index are aligned by it, and a sample whose index a table does not have is missing there.
    Tables that share none or fewer than 5 % of the samples of the smaller one are refused: their indexes most likely
    name the same samples in different ways.
    Tables without one (arrays, sparse matrices, polars, a pandas index that only counts rows) are aligned by position.
    An index that counts rows is refused beside one with the same numbers in another order, as after sorting a table.
    A row of NaN only is a missing sample too.

    Parameters
    ----------
    tables : mapping of name to table, list of tables, or MuData
        A table is an array, a masked array, a sparse matrix, or a data frame of pandas, polars or any library
        that narwhals supports. In a list the views are named "view 0", "view 1" and so on; the modalities of a MuData,
        or the `X` of an AnnData, are tables aligned by their names of observations. A data frame with columns that are
        not numbers is a mixed table: its numbers and its categories are two views, such as "clinic: numbers" and
        "clinic: categories". `Distances` and `Graph` compare samples with each other.
    missing : mapping of view name to mask, positions or sample names, optional
        Samples to treat as missing from a view, in addition to those that are absent or NaN. The name of a mixed table
        stands for both of its views. A mask that is a pandas Series is aligned by its index. Numbers that may be
        positions or names, since the index holds numbers, are refused.
    choices : ColumnChoices, or mapping of table name to ColumnChoices, optional
        How data frames are read as mixed tables, also those of numbers only.
    readings : mapping of table name to reading, optional
        `readings_` of a fitted model, or `readings` of other Views: how its tables were read. Tables with these names
        are read alike.

    Attributes
    ----------
    names : tuple of str
        The views' names.
    present : array of bool of shape (n_views, n_samples)
        Which samples each view has.
    sample_names : array of shape (n_samples,) or None
        The index of the samples, if tables have one: that of the first table, then the new entries of further tables.
    tables : tuple of arrays and CSR arrays
        For each view the rows of the samples that it has, in the order of the samples.
    n_samples : int
        The number of samples, each in at least one view.
    widths : tuple of int
        The number of columns of every view.
    shape : tuple of int
        The number of samples, and of columns in all views together.
    dtype : dtype
        The precision: single if all views are.
    complete : bool
        Whether every view has every sample.
    kinds : tuple of str
        What the numbers of every view are: a "table" as given, the "numbers" (standardised) or "categories" (0 and 1)
        of a mixed table, coordinates from "distances", or neighbourhoods in a "graph".
    sources : tuple of str
        The table that every view was read from.
    readings : mapping of table name to reading
        How every table was read: its columns, categories and constants.
    requirements : dict of str
        What a solver must support for these samples: several views, gaps in them.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from kernelweave import Views
    >>> genes = pd.DataFrame({"g1": [1.0, 2.0, 3.0], "g2": [0.0, 1.0, 5.0]}, index=["ann", "bob", "eve"])
    >>> visits = pd.DataFrame({"v": [4.0, 6.0, 5.0]}, index=["eve", "ann", "joe"])
    >>> views = Views({"genes": genes, "visits": visits})
    >>> views
    Views(genes: 3 of 4 samples, 2 columns; visits: 3 of 4 samples, 1 column)
    >>> views.sample_names.tolist(), views.present[1].tolist()
    (['ann', 'bob', 'eve', 'joe'], [True, False, True, True])
    """

    __saved__: ClassVar[tuple[str, ...]] = (
        *("names", "tables", "present", "sample_names"),
        *("n_samples", "widths", "shape", "dtype", "complete", "kinds", "sources", "requirements"),
    )

    names: tuple[str, ...]
    tables: tuple[Samples, ...]
    present: Mask
    sample_names: Array | None
    n_samples: int
    widths: tuple[int, ...]
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    complete: bool
    kinds: tuple[str, ...]
    sources: tuple[str, ...]
    requirements: dict[str, str]
    blocks: tuple[tuple[int, ...], ...] = ()  # positions of the numbers and the categories of one table
    readings: Mapping[str, TableReading] = MappingProxyType({})  # of samples from a file, whose model has them
    counted: bool = False  # whether data frames number the samples 0, 1, 2, ..., and no table names them
    attributes: Mapping[str, Any] = MappingProxyType({})  # of an estimator: set by the reader of its samples

    def __init__(
        self,
        tables: Tables,
        *,
        missing: Mapping[str, ArrayLike] | None = None,
        choices: Choices = None,
        readings: Mapping[str, TableReading] | None = None,
    ) -> None:
        read, sources, found = _read_tables(named_tables(tables), choices, readings or {})
        for name, table in read.items():
            if 0 in table.values.shape:
                msg = f"View {name!r} is empty: its shape is {table.values.shape}."
                raise InvalidInputError(msg)
        n, sample_names, rows = align(read)
        names = tuple(read)
        present = np.zeros((len(read), n), dtype=bool)
        for known, (name, table) in zip(present, read.items(), strict=True):
            known[rows[name]] = known_rows(table.values, name)
        if missing:
            mark_missing(present, missing, names, tuple(sources.values()), sample_names)
        need_samples(present, names, sample_names, least=0)
        order = {name: np.argsort(where) for name, where in rows.items()}
        ordered = tuple(
            table.values[order[name]][known[np.sort(rows[name])]]
            for known, (name, table) in zip(present, read.items(), strict=True)
        )
        kinds = tuple(table.kind for table in read.values())
        made = Views.of(
            ordered,
            present,
            sample_names,
            names=names,
            kinds=kinds,
            sources=tuple(sources.values()),
            readings=found,
            counted=sample_names is None
            and any(one.index is not None and counts_rows(one.index) for one in read.values()),
        )
        vars(self).update(vars(made))

    @classmethod
    def of_table(cls, table: Samples, name: str = "X", kind: str = "table") -> Views:
        """Return a table that was already checked as one view with every sample."""
        return cls.of((table,), np.ones((1, table.shape[0]), dtype=bool), names=(name,), kinds=(kind,))

    @classmethod
    def of(
        cls,
        tables: Sequence[Samples],
        present: Mask,
        sample_names: Array | None = None,
        *,
        names: tuple[str, ...] = ("X",),
        kinds: tuple[str, ...] = (),
        sources: tuple[str, ...] = (),
        readings: Mapping[str, TableReading] = MappingProxyType({}),
        counted: bool = False,
    ) -> Views:
        """Return tables that were already checked as views; they are tables by themselves by default."""
        views = object.__new__(cls)
        views.names, views.tables, views.present, views.sample_names = names, tuple(tables), present, sample_names
        views.n_samples = present.shape[1]
        views.widths = tuple(table.shape[1] for table in tables)
        views.shape = (views.n_samples, sum(views.widths))
        views.dtype = np.result_type(*(table.dtype for table in tables))
        views.complete = bool(present.all())
        views.kinds = kinds or ("table",) * len(names)
        views.sources = sources or names
        groups = (tuple(v for v, of in enumerate(views.sources) if of == one) for one in dict.fromkeys(views.sources))
        views.blocks = tuple(group for group in groups if len(group) > 1)
        views.requirements = {"views": "several views"} if len(names) > 1 else {}
        if not views.complete:
            views.requirements["gaps"] = "views that lack some samples"
        if set(views.kinds) & {"numbers", "categories"}:
            views.requirements["mixed"] = "a mixed table"
            if len(set(views.sources)) == 1:  # the user passed one table, whose numbers and categories are views
                alone = {"views": "a mixed table", "gaps": "samples without numbers or without categories"}
                views.requirements |= {name: alone.get(name, words) for name, words in views.requirements.items()}
        if readings:
            views.readings = dict(readings)
        views.counted = counted
        return views

    @property
    def n_numbers(self) -> int:
        """The number of numbers that the tables hold."""
        return sum(map(n_numbers, self.tables))

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> Views:
        """Return the views in another precision; without `copy`, views that have it already are returned."""
        if not copy and all(table.dtype == dtype for table in self.tables):
            return self
        return self.map({name: lambda table: cast(table, dtype, "X", copy=copy) for name in self.names})

    def map(self, functions: Mapping[str, Callable[[Any], Any]]) -> Views:
        """Return the views with a function applied to each table that has one; the others stay."""
        pairs = zip(self.names, self.tables, strict=True)
        tables = [functions[name](table) if name in functions else table for name, table in pairs]
        return Views.of(
            tables,
            self.present,
            self.sample_names,
            names=self.names,
            kinds=self.kinds,
            sources=self.sources,
            readings=self.readings,
            counted=self.counted,
        )

    def scaled(self, scalings: Mapping[str, Scaling], dtype: DTypeLike | None = None) -> Views:
        """Return the views, each scaled, and in this precision if it is given."""
        return self.map({name: partial(one.transform, dtype=dtype) for name, one in scalings.items()})

    def select(self, samples: RowsLike) -> Views:
        """Return some of the samples, by position or mask."""
        where = np.arange(self.n_samples)[samples]
        place = np.cumsum(self.present, axis=1) - 1  # of a sample among the rows of a view
        tables = [table[place[v, where[self.present[v, where]]]] for v, table in enumerate(self.tables)]
        names = None if self.sample_names is None else self.sample_names[where]
        return Views.of(
            tables,
            self.present[:, where],
            names,
            names=self.names,
            kinds=self.kinds,
            sources=self.sources,
            readings=self.readings,
        )

    def only(self, names: Sequence[str]) -> Views:
        """Return some of the views, in this order, with all samples; a sample that is in none of them is an error."""
        unknown = [name for name in names if name not in self.names]
        if unknown or not names:
            msg = f"The views are {', '.join(map(repr, self.names))}; got {', '.join(map(repr, names)) or 'none'}."
            raise InvalidInputError(msg)
        keep = [self.names.index(name) for name in names]
        need_samples(self.present[keep], tuple(names), self.sample_names, least=0)
        sources = tuple(self.sources[v] for v in keep)
        return Views.of(
            [self.tables[v] for v in keep],
            self.present[keep],
            self.sample_names,
            names=tuple(names),
            kinds=tuple(self.kinds[v] for v in keep),
            sources=sources,
            readings={name: one for name, one in self.readings.items() if name in sources},
            counted=self.counted,
        )

    def fitted_to(self, readings: Mapping[str, TableReading]) -> Views:
        """Return the views with columns in the order of `fit`, by their names; `readings` are those of `fit`."""
        aligned: dict[str, Callable[[Any], Any]] = {}
        for name, source in zip(self.names, self.sources, strict=True):
            fitted, own = readings.get(source), self.readings.get(source, NamedColumns(None))
            if isinstance(fitted, NamedColumns) and isinstance(own, NamedColumns):
                aligned[name] = partial(_in_order, fitted=fitted, own=own, view=name)
            elif fitted is not None and not _same_reading(fitted, own):
                msg = (
                    f"These Views hold {source!r} in another form than that of fit, with categories or constants of "
                    "its own: pass the tables themselves, or make the Views with readings=model.readings_."
                )
                raise InvalidInputError(msg)
        return self.map(aligned)

    def with_gaps(self, names: tuple[str, ...], widths: tuple[int, ...]) -> Views:
        """Return the views in this order; those that are absent lack every sample."""
        place = {name: v for v, name in enumerate(self.names)}
        none = np.zeros(self.n_samples, dtype=bool)
        tables = [
            self.tables[place[name]] if name in place else np.empty((0, width), dtype=self.dtype)
            for name, width in zip(names, widths, strict=True)
        ]
        present = np.stack([self.present[place[name]] if name in place else none for name in names])
        need_samples(present, names, self.sample_names, least=0)
        return Views.of(tables, present, self.sample_names, names=names, counted=self.counted)

    def digests(self) -> NDArray[np.uint8]:
        """Return a digest of 16 bytes of the values of every sample, and of which views have it."""
        if len(self.tables) == 1:
            return row_digests(self.tables[0])
        return joined_digests([row_digests(table) for table in self.tables], self.present)

    def __len__(self) -> int:
        return self.n_samples

    def __repr__(self) -> str:
        parts = [
            f"{name}: {table.shape[0]} of {counted(self.n_samples, 'sample')}, {counted(width, 'column')}"
            for name, table, width in zip(self.names, self.tables, self.widths, strict=True)
        ]
        return f"Views({'; '.join(parts)})"


def named_tables(tables: object) -> dict[str, Any]:
    """Return several tables by the names of their views."""
    if isinstance(tables, Views):
        msg = "These are Views already: pass them as they are."
        raise InvalidInputError(msg)
    if isinstance(tables, Mapping) and not sparse.issparse(tables):  # some sparse formats are mappings
        named = {str(name): table for name, table in tables.items()}
    elif hasattr(tables, "mod") and hasattr(tables, "obs_names"):
        named = {str(name): part for name, part in tables.mod.items()}
    elif isinstance(tables, Distances | Graph) or (hasattr(tables, "var_names") and hasattr(tables, "obs_names")):
        named = {"X": tables}
    elif isinstance(tables, list | tuple) and not is_table(tables):
        named = {f"view {i}": table for i, table in enumerate(tables)}
    else:
        msg = f"Views are made of a dict or a list of tables; got {type(tables).__name__}."
        raise InvalidInputError(msg)
    if not named:
        msg = "No view was given: pass at least one table."
        raise InvalidInputError(msg)
    if isinstance(tables, Mapping) and len(named) < len(tables):
        msg = f"The names of views must differ; got {', '.join(map(repr, tables))}."
        raise InvalidInputError(msg)
    return named


def _read_tables(
    named: Mapping[str, Any], choices: Choices, readings: Mapping[str, TableReading]
) -> tuple[dict[str, Table], dict[str, str], dict[str, TableReading]]:
    """Return the blocks of all tables by name, the table of each block, and how each table was read.

    `readings` are those of `fit`: a table that has one is read so again. The blocks of a mixed table are called after
    it, "clinic: numbers", but for a table "X", which is the only one.
    """
    blocks: dict[str, Table] = {}
    sources: dict[str, str] = {}
    found: dict[str, TableReading] = {}
    for name, thing in named.items():
        if name in readings:
            found[name], parts = readings[name], readings[name].read(thing, name)
        else:
            own = choices.get(name) if isinstance(choices, Mapping) else choices  # None: it is told whether it is mixed
            if isinstance(thing, Distances | Graph):
                found[name], parts = fit_comparison(thing, name)
            elif is_frame(thing) and (own is not None or is_mixed(thing)):
                found[name], parts = fit_mixed(thing, name, own)
            else:
                parts = {"": read_table(thing, name)}
                found[name] = NamedColumns(parts[""].columns)
        for part, table in parts.items():
            title = part if name == "X" and part else f"{name}: {part}" if part else name
            if title in blocks:
                msg = f"Two views are called {title!r}: rename one of the tables."
                raise InvalidInputError(msg)
            blocks[title], sources[title] = table, name
    return blocks, sources, found


def _same_reading(one: TableReading, other: TableReading | None) -> bool:
    """Return whether two tables were read alike, with the same categories and constants."""
    if isinstance(one, Placement | Neighbourhoods):
        return type(other) is type(one) and np.array_equal(one.seen.digests, other.seen.digests)
    return one == other


def _in_order(table: Samples, *, fitted: NamedColumns, own: NamedColumns, view: str) -> Samples:
    """Return a table with its columns in the order of `fit`."""
    return fitted.aligned(Table(table, columns=own.names), view).values
