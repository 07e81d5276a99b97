"""Corners of reading that a user meets rarely: options in Python, files in parts, arrays, indexes, large files."""

import json
import zipfile
from datetime import time
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import io as matlab
from scipy import sparse

from kernelweave.errors import InvalidInputError
from kernelweave.tabular import ReadOptions, TableError, read_table
from kernelweave.tabular.column_summary import summarise
from kernelweave.tabular.table_parts import table_parts

PEOPLE = pd.DataFrame({"id": list("abcdef"), "age": [31.0, 45, 52, 28, 60, 39], "crp": [0.5, 1.2, 8, 0.7, 3.3, 12.5]})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limits": "ten"}, "limits must be limit, half, missing, refuse; got 'ten'"),
        ({"long": ("a", "b")}, "long must name the columns of ids, variables and values"),
        ({"long": ("a", "b", "c"), "wide": True}, "without wide"),
        ({"missing": ["age="]}, "missing must be codes such as 999 or age=999; got 'age='"),
        ({"thousands": "x"}, "thousands must be '.' or ',' or a space or an apostrophe"),
        ({"drop": "age"}, r"drop must be a list of texts, such as drop=\['age'\]; got 'age'"),
        ({"asked": "age"}, "asked must be a list of texts"),
        ({"missing": "999"}, r"missing must be a list of texts, such as missing=\['age=999'\]; got '999'"),
        ({"missing": [999]}, r"missing must be a list of texts.*got \[999\]"),
        ({"missing": 999}, "missing must be a list of texts.*got 999"),
        ({"header": "yes"}, "header must be True, False or None; got 'yes'"),
        ({"transpose": 1.5}, "transpose must be True, False or None; got 1.5"),
        ({"drop": ["weight"]}, "has no column 'weight'; it has 'id', 'age', 'crp'"),
        ({"asked": ["weight"]}, "has no column 'weight'"),
        ({"labels": "weight"}, "has no column 'weight'"),
        ({"missing": ["weight=9"]}, "has no column 'weight'"),
        ({"table": "x"}, "data.csv holds the table data: pass one of them as table; got 'x'"),
    ],
)
def test_options_that_make_no_sense_are_refused_in_python(tmp_path, options, said):
    PEOPLE.to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(InvalidInputError, match=said):
        read_table(tmp_path / "data.csv", **options)


def parts(path, text, rows=3, **options):
    path.write_text(text, encoding="utf-8")
    return list(table_parts(path, ReadOptions(**options), rows))


def test_a_part_with_another_decimal_mark_is_refused(tmp_path):
    rows = "".join(
        f"{a};{b}\n" for a, b in [("1.5", "2"), ("2.5", "3"), ("3.5", "4"), ("1.234.567,5", "5"), ("7,5", "1")]
    )
    with pytest.raises(TableError, match=r"decimal mark '\.' in some rows and ',' in others"):
        parts(tmp_path / "data.csv", f"a;b\n{rows}")


def test_a_part_with_several_units_is_refused(tmp_path):
    rows = "".join(f"{weight},{i}\n" for i, weight in enumerate(["1 kg", "2 kg", "3 kg", "4 kg", "500 g", "6 kg"]))
    with pytest.raises(TableError, match="column 'w' has numbers in several units: kg in row 1 and g in row 2"):
        parts(tmp_path / "data.csv", f"w,v\n{rows}")


def test_a_short_row_in_a_later_part_is_refused(tmp_path):
    text = PEOPLE.to_csv(index=False).replace("e,60.0,3.3", "e,60.0")
    with pytest.raises(TableError, match="row 5 has 2 entries, but the header has 3"):
        parts(tmp_path / "data.csv", text)


def test_ids_that_end_in_a_later_part_are_refused(tmp_path):
    towns = [*(f"town {i}" for i in range(150)), *["nowhere"] * 50]
    frame = pd.DataFrame({"town": towns, "size": np.arange(200.0)})
    with pytest.raises(TableError, match="the ids of the rows cannot be read in the same way before and after row 150"):
        parts(tmp_path / "data.csv", frame.to_csv(index=False), 150)


def test_an_empty_stretch_of_a_column_is_missing_in_its_part(tmp_path):
    text = "a,b,c\n1.5,2,x\n2.5,3,y\n3.5,4,x\n4.5,,y\n5.5,,x\n6.5,,y\n"
    found = parts(tmp_path / "data.csv", text)
    assert [part.frame["b"].isna().sum() for part in found] == [0, 3]
    assert [list(part.frame) for part in found] == [["a", "b", "c"]] * 2


def test_a_remark_below_a_large_table_is_left_out(tmp_path):
    values = np.random.default_rng(0).normal(size=(20000, 4)).round(6)
    frame = pd.DataFrame(values, columns=list("abcd"))
    (tmp_path / "data.csv").write_text(frame.to_csv(index=False) + "Source: a machine\n")
    table = read_table(tmp_path / "data.csv")
    np.testing.assert_array_equal(table.frame, values)
    assert any("so it is left out ('Source: a machine')" in note for note in table.notes)
    found = pd.concat([part.frame for part in table_parts(tmp_path / "data.csv", ReadOptions(), 7000)])
    np.testing.assert_array_equal(found, values)


def test_cell_arrays_of_matlab_are_views_or_names(tmp_path):
    cells = np.empty(2, dtype=object)
    cells[:] = [np.eye(4), np.ones((4, 2))]
    names = np.array(["w", "x", "y", "z"], dtype=object)
    matlab.savemat(tmp_path / "x.mat", {"X": cells, "ids": names, "other": np.array([{"a": 1}, 3], dtype=object)})
    assert read_table(tmp_path / "x.mat", table="X[0]").ids == ["w", "x", "y", "z"]
    assert read_table(tmp_path / "x.mat", table="X[1]").frame.shape == (4, 2)
    matlab.savemat(tmp_path / "s.mat", {"X": sparse.csc_array(np.eye(4))})
    np.testing.assert_array_equal(read_table(tmp_path / "s.mat").frame, np.eye(4))
    with pytest.raises(
        InvalidInputError, match=r"holds the tables X\[0\], X\[1\]: pass one of them as table; got None"
    ):
        read_table(tmp_path / "x.mat")


def test_labels_in_an_array_beside_the_matrix_are_read_by_name(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.eye(4), kind=np.array(["r", "g", "r", "g"]))
    table = read_table(tmp_path / "x.npz", labels="kind")
    assert table.frame["kind"].tolist() == ["r", "g", "r", "g"]


def test_a_table_with_an_index_is_read_like_any_other(tmp_path):
    frame = PEOPLE.assign(crp=["<0.5", "1.2", "8", "0.7", "3.3", "12.5"], empty=None).set_index("id")
    frame.loc["c"] = None
    frame.to_parquet(tmp_path / "x.parquet")
    table = read_table(tmp_path / "x.parquet")
    assert table.ids == list("abcdef")  # a row with a name stays, though it has no value
    assert list(table.frame) == ["age", "crp"]
    assert table.frame["crp"].iloc[0] == 0.5
    pd.DataFrame({"w": ["1 kg", "2 g", "3 kg"]}, index=list("abc")).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(TableError, match="numbers in several units"):
        read_table(tmp_path / "x.parquet")


def test_a_workbook_without_a_table_holds_no_rows(tmp_path):
    pytest.importorskip("openpyxl")
    pd.DataFrame().to_excel(tmp_path / "x.xlsx", index=False, header=False)
    with pytest.raises(InvalidInputError, match="holds no rows"):
        read_table(tmp_path / "x.xlsx")


def test_columns_are_summarised_by_their_kind():
    frame = pd.DataFrame(
        {
            "none": [None, None, None],
            "flag": [True, False, True],
            "day": pd.to_datetime(["2020-01-01", "2020-02-01", None]),
            "text": ["one thing", "another", "a third"],
            "whole": [1, 2, 3],
            "waited": pd.to_timedelta([3, None, 1], unit="h"),
            "came": [time(8, 30), time(7, 15), None],
        }
    )
    assert [(each.kind, each.n_missing, each.content) for each in summarise(frame)] == [
        ("empty", 3, ""),
        ("boolean", 0, "2 times True"),
        ("date", 1, "2020-01-01 to 2020-02-01"),
        ("text", 0, "3 different: 'one thing', 'another', 'a third'"),
        ("whole number", 0, "1 to 3"),
        ("duration", 1, "0 days 01:00:00 to 0 days 03:00:00"),
        ("time", 1, "07:15:00 to 08:30:00"),
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [("a", "x", 1), ("a", "x", 2), ("b", "y", 3)],  # a pair twice
        [("a", "x", 1), ("b", "y", 2), ("c", "z", 3)],  # every id once
        [("a", "x", "u"), ("a", "y", "v"), ("b", "x", "w")],  # no numbers
        [("a", None, 1), ("a", "y", 2), ("b", "x", 3)],  # a variable without a name
    ],
)
def test_a_table_that_only_looks_long_is_left_as_it_is(tmp_path, rows):
    pd.DataFrame(rows, columns=["town", "gene", "value"]).to_csv(tmp_path / "data.csv", index=False)
    assert not any("long table" in note for note in read_table(tmp_path / "data.csv").notes)


def test_a_long_table_with_several_units_is_refused(tmp_path):
    rows = [("a", "w", "1 kg"), ("b", "w", "2 g"), ("a", "h", "3 m"), ("b", "h", "4 m")]
    pd.DataFrame(rows, columns=["town", "what", "much"]).to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(TableError, match="numbers in several units"):
        read_table(tmp_path / "data.csv", long=("town", "what", "much"), drop=["much"])


@pytest.mark.parametrize("packed", [False, True])
def test_arrays_saved_by_python_2_are_read_without_a_warning(tmp_path, packed):
    plain = tmp_path / "x.npy"
    np.save(plain, np.arange(6.0).reshape(3, 2))
    old = plain.read_bytes().replace(b"(3, 2), } ", b"(3L, 2L),}")  # of the same length
    assert b"3L" in old
    path = tmp_path / "x.npz" if packed else plain
    if packed:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.npy", old)
    else:
        path.write_bytes(old)
    assert read_table(path).frame.to_numpy().tolist() == [[0, 1], [2, 3], [4, 5]]


def write_typed(frame, path):
    if path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_parquet(path, index=False) if path.suffix == ".parquet" else frame.to_feather(path)


@pytest.mark.parametrize("name", ["data.xlsx", "data.parquet", "data.feather"])
def test_texts_with_decimal_commas_are_numbers_in_files_with_types_too(tmp_path, name):
    crp = [f"{value}".replace(".", ",") for value in PEOPLE["crp"]]
    write_typed(PEOPLE.assign(crp=crp), tmp_path / name)
    table = read_table(tmp_path / name)
    assert table.frame["crp"].tolist() == PEOPLE["crp"].tolist()
    assert table.frame["age"].tolist() == PEOPLE["age"].tolist()
    assert any("a comma is the decimal mark ('0,5')" in note for note in table.notes)


def test_numbers_among_texts_with_decimal_commas_stay_what_they_are(tmp_path):
    crp = [0.5, "1,2", 8, "0,7", None, 12.5]
    write_typed(PEOPLE.assign(crp=pd.Series(crp, dtype=object)), tmp_path / "data.xlsx")
    crp = read_table(tmp_path / "data.xlsx").frame["crp"]
    np.testing.assert_array_equal(crp, [0.5, 1.2, 8, 0.7, np.nan, 12.5])


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_decimals_of_files_with_types_are_numbers_beside_texts_with_decimal_commas(tmp_path, suffix):
    prices = [Decimal(f"{i + 1}.{i + 100}") for i in range(6)]
    prices[2] = None
    numbered = [Decimal(10**19 + i) for i in range(6)]
    frame = PEOPLE.assign(price=prices, crp=[f"{i},5" for i in range(6)], number=numbered)
    write_typed(frame, tmp_path / f"data.{suffix}")
    table = read_table(tmp_path / f"data.{suffix}", id="number")
    np.testing.assert_array_equal(table.frame["price"], [1.1, 2.101, np.nan, 4.103, 5.104, 6.105])
    assert table.ids == [str(number) for number in numbered]


def test_texts_whose_comma_may_mean_either_are_refused_in_files_with_types_too(tmp_path):
    write_typed(PEOPLE.assign(crp="1,234"), tmp_path / "data.xlsx")
    with pytest.raises(TableError, match=r"'1,234' may be 1\.234 or 1234"):
        read_table(tmp_path / "data.xlsx")
    assert (read_table(tmp_path / "data.xlsx", thousands=",").frame["crp"] == 1234).all()
    assert (read_table(tmp_path / "data.xlsx", decimal=",").frame["crp"] == 1.234).all()


@pytest.mark.parametrize(
    "last",
    [
        'p59,1,2,"first line\nSource: this is the second line of words"',
        'p59,1,2,"first line\n\nSource: this is the last of ""three"" lines"',
        'p59,1,"Total\nNote: all of these words",3',
        '"p59\nTotal",1,2,3',
    ],
)
@pytest.mark.parametrize("below", ["", "\n", "Source: WHO 2020\n", 'Source: "WHO" 2020\n'])
def test_a_last_entry_of_several_lines_is_not_a_remark_below_the_table(tmp_path, last, below):
    rows = "".join(f"p{i},{i},{i % 7},word {i % 3}\n" for i in range(59))
    (tmp_path / "data.csv").write_text(f"id,a,b,note\n{rows}{last}\n{below}")
    table = read_table(tmp_path / "data.csv")
    assert len(table.frame) == 60
    assert table.frame["a"].iloc[-1] == 1
    assert any("not a row of the table" in note for note in table.notes) == bool(below.strip())


@pytest.mark.parametrize(
    ("mark", "options", "said"),
    [
        (":", {}, r"with commas between columns it has a single column of texts \('id:a:b'\)\. Pass sep=':'"),
        ("~", {}, "Pass sep='~'"),
        (",", {"sep": "tab"}, "with tabs between columns it has a single column .* Pass sep='comma'"),
        (";", {"sep": ","}, "Pass sep='semicolon'"),
        ("\x01", {}, "only, which holds the ids. If there are others, say what separates them with --sep"),
    ],
)
def test_a_separator_that_is_not_found_is_asked_for(tmp_path, mark, options, said):
    rows = [["id", "a", "b"], *([f"s{i}", f"{i}.5", f"{i % 7}"] for i in range(20))]
    (tmp_path / "data.csv").write_text("\n".join(map(mark.join, rows)))
    with pytest.raises(TableError, match=said):
        read_table(tmp_path / "data.csv", **options)
    assert read_table(tmp_path / "data.csv", sep=mark).frame.shape == (20, 2)


@pytest.mark.parametrize("cells", [["12:30", "13:45", "12:30"], ["1,5", "2,5", "3,25"], ["a:b", "c:d", "a:b"]])
def test_a_single_column_may_hold_what_separates_columns_elsewhere(tmp_path, cells):
    (tmp_path / "data.csv").write_text("\n".join(["value", *cells]))
    assert read_table(tmp_path / "data.csv", sep="tab").frame.shape == (3, 1)


def test_lines_that_are_left_out_as_comments_are_counted(tmp_path):
    rows = [f"{'#' if i % 50 == 7 else ''}s{i},{i}.5,{i % 7}\n" for i in range(200)]
    (tmp_path / "data.csv").write_text("id,a,b\n" + "".join(["# a remark\n", *rows]))
    table = read_table(tmp_path / "data.csv")
    assert len(table.frame) == 196
    told = "comments, so they are left out: 5 lines, of which 4 have as many entries as a row ('#s7')."
    assert any(told in note for note in table.notes)


def test_rows_in_which_perseus_describes_columns_are_no_samples(tmp_path):
    rows = [f"{20 + i / 7:.2f}\t{25 - i / 9:.2f}\tGENE{i}\n" for i in range(40)]
    head = "LFQ 1\tLFQ 2\tGene\n#!{Type}E\tE\tT\n#!{C:Group}control\tdrug\t\n"
    (tmp_path / "data.txt").write_text("".join([head, *rows]))
    table = read_table(tmp_path / "data.txt")
    assert (len(table.frame), table.ids[0]) == (40, "GENE0")
    assert [column.kind for column in table.frame.dtypes] == ["f", "f"]
    told = "comments, so they are left out: 2 lines, of which 2 have as many entries as a row ('#!{Type}E')."
    assert any(told in note for note in table.notes)


@pytest.mark.parametrize("n", [20, 200])
def test_ids_that_all_begin_with_a_hash_stay_beside_a_comment(tmp_path, n):
    rows = [f"#{i},{i}.5,{i % 7}\n" for i in range(n)]
    (tmp_path / "data.csv").write_text("id,a,b\n" + "".join(["# made, by us\n", *rows]))
    assert read_table(tmp_path / "data.csv").ids == [f"#{i}" for i in range(n)]
    found = [name for part in table_parts(tmp_path / "data.csv", ReadOptions(), 7) for name in part.ids]
    assert found == [f"#{i}" for i in range(n)]


def test_lines_within_quotes_are_no_comments(tmp_path):
    rows = [f's{i},{i / 2},"ok\n# second line {i}"' for i in range(20)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["id,x,note", *rows[:10], "# a remark", *rows[10:]]) + "\n", encoding="utf-8")
    table = read_table(path)
    assert table.ids == [f"s{i}" for i in range(20)]
    assert table.frame["note"].tolist() == [f"ok\n# second line {i}" for i in range(20)]
    assert any("begin with # are comments, so they are left out: 1 line" in note for note in table.notes)


@pytest.mark.parametrize("name", ["x.csv", "x;.csv", "x_kg.csv", "x.tsv.gz", "x.json", "x.gct", "x.parquet"])
def test_numbers_keep_all_their_digits(tmp_path, name):
    path = tmp_path / name
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["x", "y", "z"])
    frame.insert(0, "id", [f"s{i}" for i in range(40)])
    if name == "x.json":
        path.write_text(json.dumps(frame.to_dict(orient="records")))
    elif name == "x.gct":
        genes = frame.rename(columns={"id": "Name"}).set_index("Name").T.rename_axis("Name").reset_index()
        genes.insert(1, "Description", "d")
        path.write_text(f"#1.2\n3\t40\n{genes.to_csv(sep=chr(9), index=False)}")
    elif name == "x.parquet":
        frame.to_parquet(path, index=False)
    elif name == "x;.csv":
        frame.to_csv(path, index=False, sep=";", decimal=",")
    elif name == "x_kg.csv":
        frame.set_index("id").map(lambda value: f"{value!r} kg").reset_index().to_csv(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in name else ",")
    found = read_table(path).frame
    np.testing.assert_array_equal(found[["x", "y", "z"]], frame[["x", "y", "z"]])
