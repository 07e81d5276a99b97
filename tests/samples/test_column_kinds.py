"""Columns of a data frame are told apart by kind."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.errors import InvalidInputError
from kernelweave.samples import ColumnChoices
from kernelweave.samples.mixed_table import fit_mixed

N = 24
RNG = np.random.default_rng(0)
DAYS = [date(2020, 1, 1) + timedelta(days=int(d)) for d in RNG.permutation(N)]
VARIED = RNG.normal(size=N)

PANDAS = {
    "floats": (VARIED, "number"),
    "integers": (RNG.integers(0, 5, N), "number"),
    "nullable integers": (pd.array([None, *range(5)] * 4, dtype="Int64"), "number"),
    "decimals": ([Decimal(i % 5) for i in range(N)], "number"),
    "numbers as texts": ([str(i / 7) for i in range(N)], "number"),
    "booleans": (RNG.random(N) < 0.5, "boolean"),
    "nullable booleans": (pd.array([None, True, False] * 8, dtype="boolean"), "boolean"),
    "booleans and None": ([True, None, False] * 8, "boolean"),
    "texts": (["a", "b", None, "c"] * 6, "category"),
    "string type": (pd.array(["a", "b", None, "c"] * 6, dtype="string"), "category"),
    "texts with an underscore": (["2_10", "3_4", "11_0", None] * 6, "category"),
    "categorical": (pd.Categorical(["x", "y", None] * 8), "category"),
    "categorical numbers": (pd.Categorical([3, 1, 2] * 8), "category"),
    "a categorical that differs everywhere": (pd.Categorical([f"c{i}" for i in range(N)]), "category"),
    "objects of several types": ([1, "a", None, 2.5] * 6, "category"),
    "ordered": (pd.Categorical(["lo", "hi", "mid"] * 8, categories=["lo", "mid", "hi"], ordered=True), "ordered"),
    "timestamps": (pd.to_datetime(DAYS), "date"),
    "timestamps with a zone": (pd.to_datetime(DAYS).tz_localize("Europe/Vienna"), "date"),
    "dates": (DAYS, "date"),
    "dates as texts": ([str(day) for day in DAYS], "date"),
    "times as texts": ([f"{day}T12:30:00Z" for day in DAYS], "date"),
    "durations": (pd.to_timedelta(np.arange(N) ** 2, unit="h"), "duration"),
    "row names": ([f"sample {i}" for i in range(N)], "left out"),
    "free text": ([f"note {i // 2 if i < 8 else i}" for i in range(N)], "left out"),
    "a counter of rows": (np.arange(7, 7 + N), "left out"),
    "one value": (np.ones(N), "left out"),
    "one text": (["same"] * N, "left out"),
    "nothing": ([None] * N, "left out"),
    "lists": ([[i] for i in range(N)], "left out"),
}

POLARS = {
    "floats": (pl.Series(VARIED), "number"),
    "booleans": (pl.Series([True, None, False] * 8), "boolean"),
    "texts": (pl.Series(["a", "b", None] * 8), "category"),
    "categorical": (pl.Series(["a", "b", None] * 8, dtype=pl.Categorical), "category"),
    "enum": (pl.Series(["a", "b", None] * 8, dtype=pl.Enum(["b", "a"])), "ordered"),
    "dates": (pl.Series(DAYS), "date"),
    "times": (pl.Series([datetime(2020, 1, 1 + i, tzinfo=UTC) for i in range(N)]), "date"),
    "durations": (pl.Series([timedelta(hours=i * i) for i in range(N)]), "duration"),
    "lists": (pl.Series([[i] for i in range(N)]), "left out"),
}


pytestmark = pytest.mark.filterwarnings("ignore:.*left out:kernelweave.errors.ColumnsWarning")


def fit(columns, make=pd.DataFrame, **choices):
    return fit_mixed(make({**columns, "other": VARIED}), "X", ColumnChoices(**choices))


@pytest.mark.parametrize("name", PANDAS)
def test_the_kind_of_a_column_of_pandas_is_told(name):
    values, kind = PANDAS[name]
    assert fit({"c": values})[0].columns[0].kind == kind


@pytest.mark.parametrize("name", POLARS)
def test_the_kind_of_a_column_of_polars_is_told(name):
    values, kind = POLARS[name]
    assert fit({"c": values}, pl.DataFrame)[0].columns[0].kind == kind


@pytest.mark.parametrize("name", ["id", "ID", "sample_id", "PassengerId", "patientID", "index", "Unnamed: 0"])
def test_integers_that_all_differ_number_the_samples_if_the_name_says_so(name):
    values = RNG.permutation(1000)[:N]
    assert fit({name: values})[0].columns[0].kind == "left out"
    assert fit({"fluid": values})[0].columns[0].kind == "number"
    assert fit({name: values // 500})[0].columns[0].kind == "number"


def test_a_text_with_an_underscore_is_no_number_even_if_the_column_is_chosen_as_numbers():
    assert fit({"c": ["1e3", " 2.5 "] * 12}, kinds={"c": "number"})[0].columns[0].kind == "number"
    with pytest.raises(InvalidInputError, match="Column 'c' was read as numbers, but holds '2_10'"):
        fit({"c": ["1", "2_10"] * 12}, kinds={"c": "number"})


def test_missing_cells_of_every_kind_are_counted():
    nothing = {"n": np.nan, "t": "  ", "d": None, "b": None}
    columns = {"n": VARIED, "t": ["a", "b"] * 12, "d": DAYS, "b": [True, False] * 12}
    columns = {name: [*list(values)[:-2], nothing[name], nothing[name]] for name, values in columns.items()}
    table, _ = fit(columns)
    assert table.missing == {"n": 2, "t": 2, "d": 2, "b": 2}


def test_ordered_categories_become_ranks_and_dates_become_days():
    columns = {"size": ["S", "L", "M", "S"] * 6, "day": DAYS}
    table, blocks = fit(columns, kinds={"size": ["S", "M", "L"]}, standardize=False)
    assert_array_equal(blocks["numbers"].values[:4, 0], [0, 2, 1, 0])
    assert_allclose(blocks["numbers"].values[:, 1], [(day - date(2020, 1, 1)).days for day in DAYS])
    assert table.columns[1].origin == "2020-01-01T00:00:00"


def test_dates_of_all_types_give_the_same_days():
    found = [
        fit({"c": PANDAS[name][0]}, standardize=False)[1]["numbers"].values[:, 0]
        for name in ("timestamps", "dates", "dates as texts", "times as texts")
    ]
    for other in found[1:]:
        assert_allclose(other, found[0], atol=1e-9)


def test_a_kind_that_was_chosen_is_taken():
    columns = {"zip": RNG.integers(1000, 1005, N), "note": ["x", "y"] * 12, "id": np.arange(N)}
    table, blocks = fit(columns, kinds={"zip": "category", "note": "left out", "id": "number"})
    assert [column.kind for column in table.columns] == ["category", "left out", "number", "number"]
    assert blocks["categories"].columns[0] == "zip=1000"


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"c": "categories"}, r"kinds\['c'\] must be one of 'number', .* got 'categories'"),
        ({"d": "category"}, "kinds names the column 'd', but the columns of 'X' are 'c', 'other'"),
        ({"c": "ordered"}, r"kinds\['c'\] is 'ordered', but its type has no order: give its categories as a list"),
        ({"c": ["a"]}, r"Column 'c' holds 'b' \(12\), which has no place in the order 'a'"),
        ({"c": "number"}, "Column 'c' was read as numbers, but holds 'a'"),
        ({"c": "date"}, "Column 'c' was read as dates, but holds 'a'"),
    ],
)
def test_kinds_that_do_not_fit_are_refused(kinds, message):
    with pytest.raises(InvalidInputError, match=message):
        fit({"c": ["a", "b"] * 12}, kinds=kinds)


def test_infinity_is_refused():
    with pytest.raises(InvalidInputError, match="Column 'c' holds infinity at row 1"):
        fit({"c": [1.0, np.inf] * 12})
