"""Headers of several rows: names in levels as pandas writes them, statistics, units, lines of dashes."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.tabular import TableError, Wishes, read_table
from kernelweave.tabular.table_parts import table_parts

RNG = np.random.default_rng(0)
IDS = [f"p{i}" for i in range(20)]
VISITS = pd.DataFrame(
    {
        "patient": np.repeat(IDS, 4),
        "visit": np.tile([1, 2, 3, 4], 20),
        "weight": RNG.normal(70, 9, 80).round(2),
        "height": RNG.normal(1.7, 0.1, 80).round(3),
    }
)
GROUPS = VISITS.drop(columns="visit").groupby("patient", sort=False)
LEVELS = pd.MultiIndex.from_product([["u", "v"], ["a", "b"]])
TABLES = {
    "statistics": (GROUPS.agg(["mean", "min", "max"]), ["weight mean", "weight min", "weight max", "height mean"]),
    "units_by_name": (GROUPS.agg({"weight": ["min"], "height": ["count"]}), ["weight", "height"]),
    "quantiles": (GROUPS.describe(), ["weight count", "weight mean", "weight std", "weight min", "weight 25%"]),
    "one_column": (GROUPS[["weight"]].describe(), ["count", "mean", "std", "min", "25%", "50%"]),
    "letters": (pd.DataFrame(RNG.normal(size=(20, 4)), index=IDS, columns=LEVELS), ["u a", "u b", "v a", "v b"]),
    "numbers": (
        VISITS.pivot(index="patient", columns="visit", values=["weight", "height"]).loc[IDS],
        ["weight 1", "weight 2", "weight 3", "weight 4", "height 1"],
    ),
    "numbers_unnamed": (
        VISITS.pivot(index="patient", columns="visit", values=["weight", "height"])
        .loc[IDS]
        .rename_axis(None)
        .rename_axis([None, None], axis=1),
        ["weight 1", "weight 2"],
    ),
}


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "parquet"])
@pytest.mark.parametrize("name", TABLES)
def test_names_in_two_levels_are_read_as_pandas_wrote_them(tmp_path, name, suffix):
    frame, names = TABLES[name]
    path = tmp_path / f"data.{suffix}"
    if suffix == "xlsx":
        pytest.importorskip("openpyxl")
    {"csv": frame.to_csv, "xlsx": frame.to_excel, "parquet": frame.to_parquet}[suffix](path)
    table = read_table(path)
    assert table.ids == IDS
    assert list(table.frame)[: len(names)] == names
    np.testing.assert_allclose(table.frame, frame)
    assert table.units == {}
    assert not any("holds units" in note for note in table.notes)


def test_units_in_a_second_level_are_units(tmp_path):
    frame = GROUPS.mean()
    frame.columns = pd.MultiIndex.from_tuples([("weight", "kg"), ("height", "m")])
    frame.to_csv(tmp_path / "data.csv")
    table = read_table(tmp_path / "data.csv")
    assert table.units == {"weight": "kg", "height": "m"}
    assert table.ids == IDS


@pytest.mark.parametrize("row", ["a,b", "x,y", "score,ratio", "n,d", "old,s", "kg,old,new,late"])
def test_a_second_row_of_words_is_no_row_of_units(tmp_path, row):
    names = ["one", "two", "three", "four"][: row.count(",") + 1]
    values = pd.DataFrame(RNG.normal(size=(20, len(names))), columns=names)
    (tmp_path / "data.csv").write_text(values.to_csv(index=False).replace("\n", f"\n{row}\n", 1))
    table = read_table(tmp_path / "data.csv")
    assert table.frame.shape == values.shape
    assert table.units == {}
    assert any("belongs to the header, so it is no sample" in note for note in table.notes)


def test_a_first_sample_without_data_stays_a_sample(tmp_path):
    frame = pd.DataFrame(RNG.normal(size=(20, 2)), index=IDS, columns=["a", "b"])
    frame.iloc[0] = np.nan
    frame.to_csv(tmp_path / "data.csv")
    assert read_table(tmp_path / "data.csv").ids == IDS


@pytest.mark.parametrize("rule", ["|---|---|---|", "| --- | :---: | ---: |", "|:-|-:|:-:|"])
def test_the_line_below_the_header_of_a_markdown_table_is_no_sample(tmp_path, rule):
    rows = [f"| s{i} | {i}.5 | {20 - i} |" for i in range(10)]
    (tmp_path / "data.txt").write_text("\n".join(["| id | a | b |", rule, *rows]) + "\n")
    table = read_table(tmp_path / "data.txt")
    assert table.ids == [f"s{i}" for i in range(10)]
    assert list(table.frame) == ["a", "b"]
    assert table.frame.dtypes.astype(str).tolist() == ["float64", "int64"]
    assert any("its second row is a line of dashes" in note for note in table.notes)


TEXT = pd.DataFrame({"id": range(101, 301), "x": RNG.normal(size=200).round(3), "y": RNG.integers(0, 9, 200)}).to_csv(
    index=False
)


def repeated(*after):
    lines = TEXT.splitlines()
    for row in sorted(after, reverse=True):
        lines.insert(row + 1, lines[0])
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((50,), "row 51 repeats the header, so it is left out"),
        ((150,), "row 151 repeats the header, so it is left out"),
        ((50, 100, 150), "3 rows repeat the header, so they are left out (rows 51, 102, 153)"),
    ],
)
def test_a_header_that_is_repeated_is_no_sample(tmp_path, rows, said):
    (tmp_path / "data.csv").write_text(TEXT)
    plain = read_table(tmp_path / "data.csv")
    (tmp_path / "data.csv").write_text(repeated(*rows))
    table = read_table(tmp_path / "data.csv")
    pd.testing.assert_frame_equal(table.frame, plain.frame)
    assert table.ids == plain.ids == [str(i) for i in range(101, 301)]
    assert any(said in note for note in table.notes)


def test_a_header_that_is_repeated_in_another_writing_is_refused(tmp_path):
    (tmp_path / "data.csv").write_text(TEXT + 'id,"x", y\n')
    with pytest.raises(TableError, match="row 201 repeats the header: remove it from the file"):
        read_table(tmp_path / "data.csv")


def test_a_header_that_is_repeated_is_refused_in_parts(tmp_path):
    (tmp_path / "data.csv").write_text(repeated(150))
    with pytest.raises(TableError, match="row 151 repeats the header"):
        list(table_parts(tmp_path / "data.csv", Wishes(), 60))
