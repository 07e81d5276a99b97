"""Headers of several rows: names in levels as pandas writes them, statistics, units, lines of dashes."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.tabular import ReadOptions, TableError, read_table
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
    assert any("belongs to the header, so it is not a sample" in note for note in table.notes)


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
        list(table_parts(tmp_path / "data.csv", ReadOptions(), 60))


def under(path, head, units, n=12):
    """Write a table of names and numbers with a second row, and return it as it is read."""
    rows = [[f"P{i}" if j == 0 else f"{1 + i * j / 10:g}" for j in range(len(head))] for i in range(n)]
    if path.suffix == ".xlsx":
        cells = [[row[0], *map(float, row[1:])] for row in rows]
        pd.DataFrame([head, units, *cells]).to_excel(path, header=False, index=False)
    else:
        path.write_text("\n".join(map(",".join, [head, units, *rows])) + "\n")
    return read_table(path)


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
@pytest.mark.parametrize(
    ("names", "units", "found"),
    [
        (("time", "age"), ("s", "d"), {"time": "s", "age": "d"}),
        (("reaction_time", "score"), ("s", ""), {"reaction_time": "s"}),
        (("rt", "size"), ("s", "cm"), {"rt": "s", "size": "cm"}),
        (("rt", "size"), ("[s]", "[-]"), {"rt": "s"}),
        (("glucose", "fat"), ("mg/dL", "%"), {"glucose": "mg/dL", "fat": "%"}),
    ],
)
def test_units_of_one_letter_are_units_of_times_or_beside_others(tmp_path, names, units, found, suffix):
    if suffix == "xlsx":
        pytest.importorskip("openpyxl")
    first = "[-]" if "[s]" in units else ""
    table = under(tmp_path / f"data.{suffix}", ["name", *names], [first, *units])
    assert table.units == found
    assert list(table.frame) == list(names)
    assert len(table.frame) == 12
    assert any("its second row holds units" in note for note in table.notes)


@pytest.mark.parametrize("units", [("s", "d"), ("d", "d"), ("A", "A"), ("s", "")])
def test_words_that_may_be_units_get_a_note_that_tells_how_to_keep_them(tmp_path, units):
    table = under(tmp_path / "data.csv", ["name", "t1", "t2"], ["", *units])
    assert table.units == {}
    assert len(table.frame) == 12
    told = f"if its second row holds units, write them into the names, such as 't1 [{units[0]}]'"
    assert any(told in note for note in table.notes)


def test_dashes_in_a_row_of_names_stand_for_the_names_above(tmp_path):
    table = under(tmp_path / "data.csv", ["name", "t", "t"], ["-", "s", "d"])
    assert (table.title, list(table.frame)) == ("name", ["s", "d"])


@pytest.mark.parametrize("n", [2, 5, 9, 30])
@pytest.mark.parametrize("row", ["x,kg,zz", ",kg,m/f", "P100,kg,ctl", "P100,s,ctl"])
def test_a_row_of_units_that_is_not_found_is_never_taken_as_a_sample(refused, tmp_path, row, n):
    rows = [f"P{i},{50 + i / 10},{('ctl', 'trt')[i % 2]}" for i in range(n)]
    (tmp_path / "data.csv").write_text("\n".join(["name,weight,group", row, *rows]) + "\n")
    message = refused("cluster", "data.csv", "-k", 2)
    unit = row.split(",")[1]
    assert f"column 'weight' holds numbers, but {unit!r} in its first row, which seems to be a row of units" in message
    assert f"Remove the row, and write units into the names, such as 'weight [{unit}]'" in message


def test_a_first_row_with_a_code_among_numbers_is_a_sample(run, tmp_path):
    rows = "".join(f"{i},{249 - i}\n" for i in range(1, 9))
    (tmp_path / "data.csv").write_text(f"chromosome,size\nX,156\n{rows}")
    code, out, _ = run("inspect", "data.csv")
    assert code == 0
    assert "data.csv: 9 rows" in out


ABOVE = {
    "pairs and a blank line": ["Exported,2024-01-01", "Plate,7", ""],
    "pairs": ["Exported,2024-01-01", "Plate,7"],
    "a single pair": ["Exported,2024-01-01", ""],
    "pairs as a spreadsheet writes them": ["Exported,2024-01-01,,", "Operator,Bo,,", ",,,"],
    "a title and pairs": ["Study of mice", "", "Operator: Bo", "Dose,5 mg,low", ""],
    "sections": ["[Header]", "Date,2024-01-01", "[Data]"],
    "an entry of two lines": ['Remark,"cold, \nwet"', "# plate 7,x", "Operator,Bo"],
}


@pytest.mark.parametrize("sep", [",", ";", "\t"])
@pytest.mark.parametrize("above", ABOVE)
def test_rows_of_keys_and_values_above_a_table_are_left_out(tmp_path, above, sep):
    rows = [f"P{i},{50 + i / 10},{i % 7},{('x', 'y')[i % 2]}" for i in range(30)]
    text = "\n".join([*ABOVE[above], "Sample,weight,grade,group", *rows, ""])
    (tmp_path / "data.csv").write_text(text.replace(",", sep))
    table = read_table(tmp_path / "data.csv")
    assert (table.title, list(table.frame)) == ("Sample", ["weight", "grade", "group"])
    assert (len(table.frame), table.ids[0]) == (30, "P0")
    assert table.frame["weight"].dtype.kind == "f"
    assert any("before the table are left out" in note for note in table.notes)
    (part,) = table_parts(tmp_path / "data.csv", ReadOptions(), 1000)
    assert part.frame.equals(table.frame)


def test_rows_of_keys_and_values_above_a_table_of_a_workbook_are_left_out(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Study of mice"], ["Exported", "2024-01-01"], ["Operator", "Bo"], [], ["Sample", "a", "b", "c"]):
        book.active.append(row)
    for i in range(30):
        book.active.append([f"P{i}", i / 10, i % 7, "xy"[i % 2]])
    book.save(tmp_path / "data.xlsx")
    table = read_table(tmp_path / "data.xlsx")
    assert (table.title, list(table.frame), table.ids[0]) == ("Sample", ["a", "b", "c"], "P0")
    assert any("4 rows before the table are left out" in note for note in table.notes)


@pytest.mark.parametrize(
    ("head", "names"),
    [
        (["weight,grade"], ["weight", "grade"]),  # as R writes a table with names of rows
        (["weight,grade", "unit,kg,points"], ["weight", "grade"]),
        (["Sample,weight,"], ["weight", "Unnamed: 2"]),
        (["Sample,a,", "name,b,c"], ["b", "c"]),
        (["Sample,a,", "P100,,", "P101,1,2"], ["a", "Unnamed: 2"]),
    ],
)
def test_a_header_that_lacks_names_is_no_row_above_the_table(tmp_path, head, names):
    rows = [f"P{i},{50 + i / 10},{i % 7}" for i in range(30)]
    (tmp_path / "data.csv").write_text("\n".join([*head, *rows, ""]))
    assert list(read_table(tmp_path / "data.csv").frame) == names


@pytest.mark.parametrize("suffix", ["csv", "tsv", "xlsx"])
def test_the_three_header_rows_of_qualtrics_are_no_samples(tmp_path, suffix):
    names = ["ResponseId", "Duration", "Q1", "Q2"]
    questions = ["Response ID", "Duration (in seconds)", "How old, in years, are you?", "Do you agree?"]
    imports = ['{"ImportId":"_recordId"}', '{"ImportId":"duration"}', '{"ImportId":"QID1_TEXT"}', '{"ImportId":"QID2"}']
    answers = [[f"R_{i}", 100 + 7 * i, 20 + i % 9, i % 5 + 1] for i in range(24)]
    frame = pd.DataFrame([questions, imports, *answers], columns=names)
    path = tmp_path / f"survey.{suffix}"
    if suffix == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="," if suffix == "csv" else "\t")
    table = read_table(path)
    assert table.ids == [f"R_{i}" for i in range(24)]
    assert list(table.frame) == names[1:]
    assert table.frame["Q1"].tolist() == [20 + i % 9 for i in range(24)]
    assert any("its third row holds the import ids of Qualtrics" in note for note in table.notes)


@pytest.mark.parametrize("above", [1, 3, 6])
def test_a_plate_below_lines_of_a_reader_is_found_though_they_are_many(tmp_path, above):
    lines = ["Assay run on 12.03.2024 14:05:11", *(f"Key {i}:;value {i}" for i in range(above)), ""]
    plate = [f"{row};" + ";".join(f"{RNG.random():.3f}" for _ in range(12)) for row in "ABCDEFGH"]
    head = "<>;" + ";".join(map(str, range(1, 13)))
    (tmp_path / "plate.csv").write_text("\n".join([*lines, head, *plate]) + "\n")
    table = read_table(tmp_path / "plate.csv")
    assert table.frame.shape == (8, 12)
    assert table.ids == list("ABCDEFGH")
