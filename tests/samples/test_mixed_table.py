"""A mixed table is read as numbers and categories, and new tables are read alike."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave import Views
from kernelweave.errors import ColumnsWarning, InvalidInputError
from kernelweave.samples import ColumnChoices, MixedTable
from kernelweave.samples.mixed_table import fit_mixed

COLUMNS = {
    "age": [20.0, 30.0, None, 50.0, 60.0, 40.0],
    "sex": ["f", "m", "m", None, "f", "f"],
    "smokes": [True, False, True, True, None, False],
    "size": ["S", "L", "M", "S", None, "M"],
}
CHOICES = ColumnChoices(kinds={"size": ["S", "M", "L"]})


@pytest.fixture(params=[pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def make(request):
    return request.param


@pytest.fixture
def fitted(make):
    return fit_mixed(make(COLUMNS), "X", CHOICES)


def test_the_blocks_hold_numbers_and_categories(fitted):
    _, blocks = fitted
    assert tuple(blocks) == ("numbers", "categories")
    assert blocks["numbers"].columns == ("age", "size")
    assert blocks["categories"].columns == ("sex=f", "sex=m", "smokes=False", "smokes=True")
    assert [block.kind for block in blocks.values()] == ["numbers", "categories"]


def test_numbers_are_filled_by_the_median_and_standardised(fitted):
    age = np.array([20, 30, 40, 50, 60, 40])
    known = age[[0, 1, 3, 4, 5]]
    assert_allclose(fitted[1]["numbers"].values[:, 0], (age - known.mean()) / known.std())
    rank = np.array([0, 2, 1, 0, 1, 1])  # the median of the known ranks 0, 2, 1, 0, 1 is 1
    known = np.array([0, 2, 1, 0, 1])
    assert_allclose(fitted[1]["numbers"].values[:, 1], (rank - known.mean()) / known.std())


def test_a_missing_category_is_the_shares_of_all_categories(fitted):
    X = fitted[1]["categories"].values
    assert_allclose(X[3, :2], [3 / 5, 2 / 5])
    assert_allclose(X[4, 2:], [2 / 5, 3 / 5])
    assert_array_equal(X[:3, :2], [[1, 0], [0, 1], [0, 1]])


def test_a_sample_without_any_known_cell_of_a_block_lacks_the_block(make):
    columns = {name: [*values, None] for name, values in COLUMNS.items()} | {"age": [*COLUMNS["age"], 33.0]}
    views = Views({"t": make(columns)}, choices=CHOICES)
    assert views.names == ("t: numbers", "t: categories")
    assert_array_equal(views.present[:, -1], [True, False])
    assert views.requirements.keys() == {"views", "gaps", "mixed"}
    filled = Views({"t": make(columns)}, choices=ColumnChoices(CHOICES.kinds, gaps=False))
    assert filled.complete
    assert_allclose(filled.tables[1][-1], [3 / 5, 2 / 5, 2 / 5, 3 / 5])


def test_the_table_is_read_again_to_the_last_digit(fitted, make):
    table, blocks = fitted
    again = table.read(make(COLUMNS), "X")
    some = table.read(make({name: values[2:4] for name, values in COLUMNS.items()}), "X")
    for name, block in blocks.items():
        assert_array_equal(again[name].values, block.values)
        assert_array_equal(some[name].values, block.values[2:4])


def test_columns_may_have_another_order(fitted, make):
    table, blocks = fitted
    again = table.read(make({name: COLUMNS[name] for name in reversed(COLUMNS)}), "X")
    for name, block in blocks.items():
        assert_array_equal(again[name].values, block.values)


def test_columns_that_fit_did_not_see_are_counted_and_named(fitted, make):
    with pytest.warns(ColumnsWarning, match="View 'X': 2 columns not seen in fit, and not used: 'u', 'v'"):
        again = fitted[0].read(make({"u": [1] * 6, **COLUMNS, "v": list("abcdef")}), "X")
    assert_array_equal(again["numbers"].values, fitted[1]["numbers"].values)


def test_columns_that_are_absent_are_missing_cells(fitted, make):
    table = fitted[0]
    with pytest.warns(ColumnsWarning, match="1 column of fit absent, read as missing cells: 'sex'"):
        some = table.read(make({name: values for name, values in COLUMNS.items() if name != "sex"}), "X")
    assert_allclose(some["categories"].values[:, :2], [[3 / 5, 2 / 5]] * 4 + [[np.nan] * 2] + [[3 / 5, 2 / 5]])
    with pytest.warns(ColumnsWarning, match="2 columns of fit absent"):
        none = table.read(make({name: COLUMNS[name] for name in ("age", "size")}), "X")
    assert np.isnan(none["categories"].values).all()
    with pytest.raises(InvalidInputError, match="has none of the 4 columns that the model was fitted on"):
        table.read(make({"weight": [1.0, 2.0]}), "X")


def test_unknown_categories_are_counted_and_match_nothing(fitted, make):
    columns = COLUMNS | {"sex": ["x", "x", "y", None, "f", "f"], "size": ["XL", "L", "M", "S", None, "M"]}
    with pytest.warns(ColumnsWarning, match=r"in 4 cells: 'sex': 'x' \(2\), 'y' \(1\); 'size': 'XL' \(1\)"):
        again = fitted[0].read(make(columns), "X")
    assert_array_equal(again["categories"].values[:3, :2], np.zeros((3, 2)))
    assert_array_equal(again["numbers"].values[0, 1], again["numbers"].values[4, 1])  # of a missing cell


def test_columns_that_are_left_out_are_named_with_the_reason(make):
    with pytest.warns(ColumnsWarning, match="2 columns of 'X' are left out.*'c': it is constant; 'n': every text"):
        table, _ = fit_mixed(make({**COLUMNS, "c": [1] * 6, "n": list("uvwxyz")}), "X", CHOICES)
    assert table.left_out == {"c": "it is constant", "n": "every text in it is different, so it names the samples"}


def test_a_table_found_to_be_mixed_says_so(make):
    with pytest.warns(ColumnsWarning, match="'X' has columns that are not numbers, so it is read as a mixed table: 1"):
        fit_mixed(make(COLUMNS), "X")


def test_a_column_that_was_left_out_on_request_is_not_warned_of(make):
    kinds = {**CHOICES.kinds, "n": "left out"}
    table, _ = fit_mixed(make({**COLUMNS, "n": list("uvwxyz")}), "X", ColumnChoices(kinds))
    assert table.left_out == {"n": "it was chosen"}


def test_a_table_without_any_column_to_compare_is_refused(make):
    with pytest.raises(InvalidInputError, match=r"has no column that tells samples apart.*'n': every text"):
        fit_mixed(make({"n": list("uvwxyz")}), "X", ColumnChoices())


def test_column_names_that_repeat_are_refused():
    with pytest.raises(InvalidInputError, match="has several columns called 'a'"):
        fit_mixed(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "X", ColumnChoices())


def test_what_is_not_a_data_frame_is_not_read_as_one(fitted):
    with pytest.raises(InvalidInputError, match="was read as a mixed table: pass a data frame in memory; got ndarray"):
        fitted[0].read(np.ones((2, 4)), "X")


def test_the_reading_of_every_column_is_printed(fitted):
    assert str(fitted[0]).splitlines()[:2] == [
        "age: number, 1 cell missing (its type is numeric)",
        "sex: category of 2, 1 cell missing (its texts repeat: 2 differ)",
    ]


def test_the_libraries_of_data_frames_are_read_alike():
    pandas, polars = (fit_mixed(make(COLUMNS), "X", CHOICES) for make in (pd.DataFrame, pl.DataFrame))
    for name in ("numbers", "categories"):
        assert_allclose(pandas[1][name].values, polars[1][name].values)
    again = pandas[0].read(pl.DataFrame(COLUMNS), "X")
    assert_array_equal(again["categories"].values, pandas[1]["categories"].values)


# views


@pytest.mark.filterwarnings("ignore:.*mixed table:kernelweave.errors.ColumnsWarning")
def test_a_mixed_table_is_aligned_with_others_by_its_index():
    ids = list("uvwxyz")
    frame = pd.DataFrame(COLUMNS, index=ids)
    genes = pd.DataFrame({"g": [3.0, 2.0, 1.0]}, index=["w", "v", "u"])
    views = Views({"clinic": frame, "genes": genes})
    assert views.names == ("clinic: numbers", "clinic: categories", "genes")
    assert views.kinds == ("numbers", "categories", "table")
    assert views.sources == ("clinic", "clinic", "genes")
    assert_array_equal(views.present.sum(axis=1), [5, 6, 3])
    assert_array_equal(views.tables[2].ravel(), [1, 2, 3])
    assert isinstance(views.readings["clinic"], MixedTable)
    some = views.select([0, 3]).only(["clinic: categories"])
    assert some.kinds == ("categories",)
    assert tuple(some.readings) == ("clinic",)


def test_views_with_the_same_name_are_refused():
    frame = pd.DataFrame(COLUMNS)
    with pytest.raises(InvalidInputError, match="Two views are called 'numbers'"):
        Views({"X": frame, "numbers": np.ones((6, 1))}, choices=CHOICES)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_numbers_too_far_away_to_be_standardised_are_refused_with_the_column():
    small = pd.DataFrame({"a": [1e-10, 2e-10, 3e-10, 4e-10], "b": list("uvuv")})
    table, _ = fit_mixed(small, "X", ColumnChoices())
    with pytest.raises(InvalidInputError, match="Column 'a' holds values that are too far from its mean"):
        table.read(small.assign(a=1e305), "X")


def test_kinds_may_name_columns_by_numbers():
    frame = pd.DataFrame({0: [1.0, 2.0, 1.0, 2.0], 1: [0.1, 0.2, 0.3, 0.4], 2: [1, 1, 2, 2]})
    table, _ = fit_mixed(frame, "X", ColumnChoices({0: "category", 2: "left out"}))
    assert [column.kind for column in table.columns] == ["category", "number", "left out"]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [(pd.date_range("2020", periods=4), "date"), (pd.to_timedelta([1, 2, 3, 4], unit="D"), "duration")],
    ids=["dates", "durations"],
)
def test_numbers_in_place_of_dates_and_durations_are_refused(cells, kind):
    frame = pd.DataFrame({"when": cells, "size": [1.0, 2.0, 3.0, 5.0]})
    table, _ = fit_mixed(frame, "X", ColumnChoices())
    with pytest.raises(InvalidInputError, match=f"Column 'when' was read as {kind}s, but holds numbers"):
        table.read(frame.assign(when=frame["when"].astype("int64")), "X")
    missing = table.read(frame.assign(when=np.nan), "X")["numbers"].values
    assert_array_equal(missing[:, 0], np.full(4, missing[0, 0]))


WORDY = {
    "numbers that differ": ([i + 0.5 for i in range(24)], "'x': 18 of its 24 texts are numbers, but '<LOD' is not"),
    "numbers that repeat": (
        [i % 24 + 0.5 for i in range(96)],
        "'x': 18 of its 19 texts are numbers, but '<LOD' is not",
    ),
    "uncertainties": (
        [f"{i}.5 ± 0.2" for i in range(24)],
        "it seems to hold numbers with an uncertainty ('1.5 ± 0.2')",
    ),
    "ranges that repeat": ([f"{i}0-{i}9" for i in range(1, 7)] * 8, "'x': it seems to hold ranges ('10-19')"),
}


@pytest.mark.parametrize("case", WORDY)
def test_the_warning_names_columns_of_measurements_that_are_not_read_as_numbers(case):
    cells, told = WORDY[case]
    texts = ["<LOD" if i % 4 == 0 else cell for i, cell in enumerate(cells)]
    table = pd.DataFrame({"a": np.arange(len(texts)) ** 0.5, "x": texts, "g": ["u", "v"] * (len(texts) // 2)})
    with pytest.warns(ColumnsWarning, match=re.escape(told)):
        fit_mixed(table, "X")


def test_categories_with_few_numbers_in_them_are_not_doubted():
    codes = pd.DataFrame({"a": np.arange(48) ** 0.5, "arm": ["1", "2", "3", "X"] * 12, "g": ["5A", "5B", "6A"] * 16})
    with pytest.warns(ColumnsWarning, match="mixed table") as said:
        fit_mixed(codes, "X")
    assert "measurements" not in str(said[0].message)
