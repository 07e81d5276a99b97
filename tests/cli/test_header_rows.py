"""Headers of several rows: names in levels as pandas writes them, statistics, units, lines of dashes."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.tabular import read_table

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
