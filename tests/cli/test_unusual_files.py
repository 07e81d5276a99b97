"""Files that need a second look: two header rows, limits of detection, remarks below, GCT, JSON, long tables, codes."""

import gzip
import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from kernelweave.errors import InvalidInputError
from kernelweave.tabular import ReadOptions, TableError, read_table
from kernelweave.tabular.table_parts import table_parts

AGE = [31.0, 45.0, 52.0, 28.0, 60.0, 39.0]
CRP = [0.5, 1.2, 8.0, 0.7, 3.3, 12.5]
IDS = ["s1", "s2", "s3", "s4", "s5", "s6"]
PEOPLE = pd.DataFrame({"id": IDS, "age": AGE, "crp": CRP})
TEXT = PEOPLE.to_csv(index=False)
ROWS = TEXT.partition("\n")[2]
INDEXED = PEOPLE.set_index("id")


def gct(version="#1.2"):
    lines = [version, "2\t6" if version == "#1.2" else "2\t6\t1\t1", "\t".join(["Name", "Description", *IDS])]
    if version == "#1.3":
        lines.append("\t".join(["group", "na", *"aabbcc"]))
    lines += ["\t".join([name, "a gene", *map(str, values)]) for name, values in (("age", AGE), ("crp", CRP))]
    return "\n".join(lines) + "\n"


def levels(names, index=None):
    frame = pd.DataFrame({"x": AGE, "y": CRP}, index=pd.Index(IDS, name=index))
    frame.columns = pd.MultiIndex.from_tuples(names)
    return frame.to_csv()


def long(names=("id", "variable", "value")):
    return PEOPLE.melt("id").set_axis(names, axis=1).to_csv(index=False)


@dataclass(frozen=True)
class Kind:
    """A kind of file that holds the people above: its name, its content, and what is said of it."""

    name: str
    content: str | bytes
    said: tuple[str, ...]
    columns: tuple[str, str] = ("age", "crp")
    crp: tuple[float, ...] = tuple(CRP)


KINDS = [
    Kind("groups_below.csv", f"id,age,crp\n,clinic,lab\n{ROWS}", ("second row ('clinic', 'lab') belongs to the",)),
    Kind("groups_in_part.csv", f"id,age,crp\n,clinic,\n{ROWS}", ("second row ('clinic') belongs to the header",)),
    Kind("groups_above.csv", f",clinic,clinic\n{TEXT}", ("first row ('clinic') groups the columns",)),
    Kind("merged_groups.csv", f"patient,,lab\n{TEXT}", ("first row ('patient', 'lab') groups the columns",)),
    Kind(
        "questions.csv",
        f"id,age,crp\nResponse ID,How old are you?,C-reactive protein\n{ROWS}",
        ("second row ('Response ID', 'How old are you?', 'C-reactive protein') belongs",),
    ),
    Kind("levels.csv", levels([("m", "age"), ("m", "crp")]), ("its first row ('m') groups the columns",)),
    Kind(
        "levels_twice.csv",
        levels([("age", "old"), ("crp", "old")], "id"),
        ("its second row ('old') belongs to the header",),
    ),
    Kind("below.csv", TEXT.replace(",0.5\n", ",<0.5\n"), ("1 cell of column 'crp' is a limit, read as 0.5",)),
    Kind("above.csv", TEXT.replace(",12.5\n", ",> 12.5\n"), ("read as 12.5 for '> 12.5' (--limits",)),
    Kind(
        "limit_german.csv",
        PEOPLE.to_csv(index=False, sep=";", decimal=",").replace(";0,5\n", ";<0,5\n"),
        ("read as 0.5 for '<0,5'", "a comma is the decimal mark"),
    ),
    Kind(
        "limit_units.csv",
        "\n".join(["id,age,crp", *(f"{i},{a},{'<' if c == 0.5 else ''}{c} mg/L" for i, a, c in PEOPLE.to_numpy())]),
        ("numbers in mg/L", "read as 0.5 for '<0.5 mg/L'"),
    ),
    Kind("source.csv", TEXT + "Source: WHO 2020\n", ("its last line is not a row of the table", "'Source: WHO 2020'")),
    Kind("commas.csv", TEXT + "Source: WHO, 2020\n", ("so it is left out ('Source: WHO')",)),
    Kind("padded.csv", TEXT + ",,\n* fasting,,\n", ("so it is left out ('* fasting')",)),
    Kind("notes.csv", TEXT + "\nMeasured in 2020 by the clinic\nTotal\n", ("its last 2 lines are not rows",)),
    Kind("total.tsv", TEXT.replace(",", "\t") + "Total\n", ("so it is left out ('Total')",)),
    Kind("source16.csv", (TEXT + "Quelle: Müller\n").encode("utf-16"), ("so it is left out ('Quelle: Müller')",)),
    Kind("x.tab", TEXT.replace(",", "\t"), ()),
    Kind("x.dat", TEXT.replace(",", " "), ("separated by spaces",)),
    Kind("no_type", TEXT, ()),
    Kind("x.gct", gct(), ("its 6 columns are the samples", "of the rows is left out: 'Description'")),
    Kind("x3.gct", gct("#1.3"), ("its 6 columns are the samples",)),
    Kind("x.gct.gz", gzip.compress(gct().encode()), ("its 6 columns are the samples",)),
    Kind("records.json", PEOPLE.to_json(orient="records"), ("the column 'id' holds the ids",)),
    Kind("columns.json", PEOPLE.to_json(), ("the column 'id' holds the ids",)),
    Kind("named.json", INDEXED.to_json(), ("its columns are 'age', 'crp', as pandas writes them",)),
    Kind("split.json", INDEXED.to_json(orient="split"), ()),
    Kind("table.json", PEOPLE.to_json(orient="table", index=False), ()),
    Kind("lists.json", json.dumps(PEOPLE.to_dict("list")), ()),
    Kind("rows.json", json.dumps([list(PEOPLE), *PEOPLE.to_numpy().tolist()]), ("its first row names the columns",)),
    Kind("answer.json", json.dumps({"results": PEOPLE.to_dict("records")}), ("its records are those of 'results'",)),
    Kind("texts.json", PEOPLE.astype(str).to_json(orient="records"), ()),
    Kind("lines.jsonl", PEOPLE.to_json(orient="records", lines=True), ("the column 'id' holds the ids",)),
    Kind("lines.json", PEOPLE.to_json(orient="records", lines=True), ()),
    Kind("lines.ndjson.gz", gzip.compress(PEOPLE.to_json(orient="records", lines=True).encode()), ()),
    Kind("long.csv", long(), ("12 rows are 6 samples ('id') with 2 variables ('variable') and their values",)),
    Kind("long_genes.tsv", long(("sample", "gene", "expression")).replace(",", "\t"), ("it is a long table",)),
    Kind("long_patients.csv", long(("patient_id", "parameter", "result")), ("it is a long table",)),
]  # fmt: skip


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_there_are_more_than_thirty_further_kinds_of_files():
    assert len({kind.name for kind in KINDS}) == len(KINDS) > 30


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_file_is_read_as_a_person_reads_it_and_it_is_said(tmp_path, kind):
    table = read_table(write(tmp_path / kind.name, kind.content))
    assert table.ids == IDS
    assert list(table.frame) == list(kind.columns)
    np.testing.assert_allclose(table.frame.to_numpy(float), np.column_stack([AGE, kind.crp]))
    for words in kind.said:
        assert any(words in note for note in table.notes), table.notes


def test_the_command_line_reads_all_of_them_without_an_option(run, tmp_path):
    for kind in KINDS:
        write(tmp_path / kind.name, kind.content)
    code, out, err = run("inspect", *(f"--view={kind.name}={kind.name}" for kind in KINDS), "--json")
    assert code == 0, err
    views = json.loads(out)["views"]
    for kind in KINDS:
        view = views[kind.name]
        assert view["ids"] == IDS
        assert [(column["name"], column["use"]) for column in view["columns"]] == [(n, "feature") for n in kind.columns]


@pytest.mark.parametrize("index", [None, "id"])
def test_names_in_two_levels_are_joined(tmp_path, index):
    frame = pd.DataFrame(np.arange(24.0).reshape(6, 4), index=pd.Index(IDS, name=index))
    frame.columns = pd.MultiIndex.from_product([["clinic", "lab"], ["first", "last"]])
    frame.to_csv(tmp_path / "data.csv")
    table = read_table(tmp_path / "data.csv")
    assert table.ids == IDS
    assert list(table.frame) == ["clinic first", "clinic last", "lab first", "lab last"]
    np.testing.assert_array_equal(table.frame, frame)
    assert any("its first two rows name the columns ('clinic first', 'clinic last'" in note for note in table.notes)


@pytest.mark.parametrize(
    ("limits", "values", "said"),
    [
        ("limit", [0.5, 1.2, 12.5], "2 cells of column 'crp' are limits, read as 0.5 for '<0.5'"),
        ("half", [0.25, 1.2, 12.5], "2 cells of column 'crp' are limits, read as 0.25 for '<0.5'"),
        ("missing", [np.nan, 1.2, np.nan], "2 cells of column 'crp' are limits, read as missing for '<0.5'"),
    ],
)
def test_limits_of_detection_are_read_as_asked_and_counted(run, tmp_path, limits, values, said):
    write(tmp_path / "data.csv", TEXT.replace(",0.5\n", ",<0.5\n").replace(",12.5\n", ",>12.5\n"))
    np.testing.assert_array_equal(read_table(tmp_path / "data.csv", limits=limits).frame["crp"].iloc[[0, 1, 5]], values)
    _, out, _ = run("inspect", "data.csv", "--limits", limits)
    assert said in out


def test_the_report_says_how_the_file_was_read(run, tmp_path):
    write(tmp_path / "data.csv", TEXT.replace(",0.5\n", ",<0.5\n") + "Source: WHO\n")
    for command in (("cluster", "data.csv", "-k", 2), ("report", "data-clusters", "--force")):
        code, _, err = run(*command)
        assert code == 0, err
        page = (tmp_path / "data-clusters" / "report.html").read_text(encoding="utf-8")
        assert "How the files were read" in page
        assert "1 cell of column &#39;crp&#39; is a limit, read as 0.5 for &#39;&lt;0.5&#39;" in page
        assert "its last line is not a row of the table, so it is left out (&#39;Source: WHO&#39;)" in page


def test_limits_can_be_refused(refused, tmp_path):
    write(tmp_path / "data.csv", TEXT.replace(",0.5\n", ",<0.5\n"))
    said = refused("cluster", "data.csv", "-k", 2, "--limits", "refuse")
    assert "column 'crp' holds '<0.5' in row 1" in said
    assert "--limits must be limit, half, missing or refuse" in refused("cluster", "data.csv", "--limits", "ten")


def test_limits_without_numbers_are_categories(run, tmp_path):
    groups = PEOPLE.assign(age=["<18", ">65", "<18", ">65", "<18", "<18"])
    groups.to_csv(tmp_path / "data.csv", index=False)
    code, out, err = run("inspect", "data.csv", "--json")
    assert code == 0, err
    assert json.loads(out)["views"]["data"]["columns"][0]["kind"] == "category"


def test_a_remark_below_is_left_out_of_the_last_part_too(tmp_path):
    path = write(tmp_path / "data.csv", TEXT + "Source: WHO 2020\n")
    parts = [table.frame["age"].tolist() for table in table_parts(path, ReadOptions(), 4)]
    assert parts == [AGE[:4], AGE[4:]]


@pytest.mark.parametrize("last", ["s7", "Zoe", "7"])
def test_a_last_row_that_was_cut_off_is_refused(last, tmp_path):
    with pytest.raises(TableError, match="row 7 has 1 entry, but the header has 3"):
        read_table(write(tmp_path / "data.csv", TEXT + last + "\n"))


def test_remarks_around_a_table_in_a_workbook_are_left_out(tmp_path):
    pytest.importorskip("openpyxl")
    rows = [["Our study", "", ""], ["", "", ""], ["id", "age", "crp"], *PEOPLE.to_numpy().tolist(), ["Note: a", "", ""]]
    pd.DataFrame(rows).to_excel(tmp_path / "x.xlsx", index=False, header=False)
    table = read_table(tmp_path / "x.xlsx")
    assert table.ids == IDS
    np.testing.assert_array_equal(table.frame.to_numpy(float), np.column_stack([AGE, CRP]))
    assert any("2 rows before the table are left out" in note for note in table.notes)
    assert any("its last row is a remark, so it is left out ('Note: a')" in note for note in table.notes)


def test_the_first_sheet_with_a_table_is_read_or_the_one_that_is_named(run, refused, tmp_path):
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "x.xlsx") as book:
        pd.DataFrame({"about": ["made by us"]}).to_excel(book, sheet_name="read me", index=False)
        PEOPLE.to_excel(book, sheet_name="first", index=False)
        PEOPLE.assign(age=1.5 * PEOPLE["age"]).to_excel(book, sheet_name="second", index=False)
    table = read_table(tmp_path / "x.xlsx")
    assert table.frame["age"].tolist() == AGE
    assert any("the sheet 'first' is read; those left out: 'read me', 'second'" in note for note in table.notes)
    assert read_table(tmp_path / "x.xlsx", sheet="second").frame["age"].tolist() == [1.5 * age for age in AGE]
    assert "has no sheet 'third' with a table; its sheets: read me, first, second." in refused(
        "cluster", "x.xlsx", "--sheet", "third"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("1\t2\n", r"must begin with #1\.2 or #1\.3; got '1'"),
        ("#1.2\nmany\n", "its second line must hold 2 whole numbers; got 'many'"),
        (gct().replace("2\t6", "3\t6"), "says that it has 3 rows and 6 samples, but it has 2 and 6"),
        (gct().replace("31.0", "old"), "'age' of 's1' is 'old', which is not a number"),
    ],
)
def test_a_gct_file_that_is_damaged_is_refused(tmp_path, content, said):
    with pytest.raises(InvalidInputError, match=said):
        read_table(write(tmp_path / "x.gct", content))


def test_what_a_gct_file_says_of_its_samples_can_be_labels_and_ids(run, tmp_path):
    path = write(tmp_path / "x.gct", gct("#1.3"))
    assert read_table(path, labels="group").frame["group"].tolist() == list("aabbcc")
    assert list(read_table(path).frame) == ["age", "crp"]
    assert read_table(path, transpose=False).ids == ["age", "crp"]
    repeated = read_table(write(path, gct().replace("crp\t", "age\t")))
    assert list(repeated.frame) == ["age", "age.1"]
    assert any("several rows have the same name" in note for note in repeated.notes)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('"text"', "holds no table"),
        ("[]", "holds no table"),
        ("{}", "holds no table: .* got an empty object"),
        ('{"a": 1, "b": 2}', "got an object of 'a', 'b'"),
        ('{"a": [1, 2], "b": [1]}', "its columns differ in length: 'b' has 1 entry, 'a' 2"),
        ("[[1, 2], [3]]", "its rows have 1 to 2 entries"),
        ('[{"a": [1, 2]}, {"a": 3}]', r"'a' holds '\[1, 2\]' in row 1: a cell must be a number or a text"),
        ("[{", "cannot be read as .json"),
        ("[" * 10**5, "cannot be read as .json"),
    ],
)
def test_json_that_is_no_table_is_refused(tmp_path, content, said):
    with pytest.raises(InvalidInputError, match=said):
        read_table(write(tmp_path / "x.json", content))


def test_lines_that_are_no_records_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"line 2 is not a record, such as \{\"a\": 1\}, but '\[1\]'"):
        read_table(write(tmp_path / "x.jsonl", '{"a": 1}\n[1]\n'))


def test_rows_by_name_are_told_from_columns_by_their_kinds(tmp_path):
    frame = pd.DataFrame({"age": AGE, "sex": list("fmfmfm")}, index=IDS)
    table = read_table(write(tmp_path / "x.json", frame.to_json(orient="index")))
    assert table.ids == IDS
    assert table.frame["sex"].tolist() == list("fmfmfm")


def test_json_without_a_header_has_numbered_columns(tmp_path):
    table = read_table(write(tmp_path / "x.json", "[[1, 2.5], [3, 4.5]]"))
    assert list(table.frame) == ["0", "1"]
    assert any("it has no header" in note for note in table.notes)


def test_a_long_table_with_other_names_gets_a_hint_and_is_read_when_asked(run, tmp_path):
    frame = pd.concat([PEOPLE, PEOPLE.assign(id=[f"t{i}" for i in range(6)])]).assign(bmi=22.0)
    frame.melt("id").set_axis(["who", "what", "much"], axis=1).to_csv(tmp_path / "data.csv", index=False)
    _, out, _ = run("inspect", "data.csv")
    assert "it looks like a long table: if every row is one measurement, pass --long 'who' 'what' 'much'" in out
    code, out, err = run("inspect", "data.csv", "--long", "who", "what", "much", "--json")
    assert code == 0, err
    view = json.loads(out)["views"]["data"]
    assert view["n_samples"] == 12
    assert [column["name"] for column in view["columns"]] == ["age", "crp", "bmi"]


def test_values_that_a_long_table_lacks_are_missing_and_counted(tmp_path):
    rows = PEOPLE.melt("id").drop(index=[3, 8])
    rows.to_csv(tmp_path / "data.csv", index=False)
    table = read_table(tmp_path / "data.csv")
    assert table.frame.isna().sum().tolist() == [1, 1]
    assert any("2 values of samples and variables are missing in it" in note for note in table.notes)


def test_a_long_table_may_hold_texts_and_numbers(tmp_path):
    rows = PEOPLE.assign(sex=list("fmfmfm")).melt("id")
    rows.to_csv(tmp_path / "data.csv", index=False)
    table = read_table(tmp_path / "data.csv", long=("id", "variable", "value"))
    assert table.frame["age"].tolist() == AGE
    assert table.frame["sex"].tolist() == list("fmfmfm")


def test_a_table_that_is_long_by_chance_can_be_read_as_it_is(tmp_path):
    write(tmp_path / "data.csv", long(("visit", "gene", "value")))
    assert len(read_table(tmp_path / "data.csv").frame) == 6
    assert len(read_table(tmp_path / "data.csv", wide=True).frame) == 12


def test_a_long_table_that_repeats_a_pair_is_refused(refused, tmp_path):
    write(tmp_path / "data.csv", long(("who", "what", "much")) + "s1,age,7\n")
    said = refused("cluster", "data.csv", "--long", "who", "what", "much")
    assert "as a long table it has 's1' and 'age' again in row 13" in said
    assert "--wide (every row is a sample)" in said
    assert "has no column 'x'" in refused("cluster", "data.csv", "--long", "who", "what", "x")
    with pytest.raises(TableError, match="a long table cannot be read in parts"):
        next(table_parts(tmp_path / "data.csv", ReadOptions(long=("who", "what", "much")), 4))


def coded(code, n=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 90, n).astype(float), "score": rng.integers(1, 6, n)})
    frame.loc[[3, 9, 30], "age"] = code
    return frame


@pytest.mark.parametrize("code", [999, -999, -99, 9999, 123456.0])
def test_a_number_that_repeats_far_outside_gets_a_hint_and_is_not_changed(run, tmp_path, code):
    coded(code).to_csv(tmp_path / "data.csv", index=False)
    table = read_table(tmp_path / "data.csv")
    assert (table.frame["age"] == code).sum() == 3
    _, out, _ = run("inspect", "data.csv")
    assert f"column 'age' holds {code:g} in 3 rows, far from its other values (18 to 89)" in out
    assert f'pass --missing "age={code:g}"' in out


def test_an_answer_of_9_beside_1_to_5_gets_a_hint(tmp_path):
    rng = np.random.default_rng(0)
    answers = {"agree": rng.choice([1, 2, 3, 4, 5, 9], 60), "sex": rng.choice([1, 2, 9], 60, p=[0.4, 0.4, 0.2])}
    pd.DataFrame(answers).to_csv(tmp_path / "data.csv", index=False)
    assert any("('agree', 'sex') hold 9 far from" in note for note in read_table(tmp_path / "data.csv").notes)


def test_one_code_in_several_columns_is_one_hint(tmp_path):
    frame = coded(999).assign(score=lambda f: f["score"].where(f.index % 7 > 0, 999))
    frame.to_csv(tmp_path / "data.csv", index=False)
    (hint,) = [note for note in read_table(tmp_path / "data.csv").notes if "--missing" in note]
    assert "2 columns ('age', 'score') hold 999 far from their other values" in hint
    assert '--missing "999"' in hint


def test_usual_columns_get_no_hint(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "normal": rng.normal(size=200),
            "counts": rng.poisson(0.3, 200),
            "skewed": np.exp(2 * rng.normal(size=200)),
            "binary": rng.integers(0, 2, 200),
            "to nine": rng.integers(0, 10, 200),
            "percent": np.minimum(rng.integers(60, 130, 200), 99),
            "once": [*rng.normal(size=199), 999.0],
            "flat": 7,
            "cylinders": rng.choice([4, 6, 8], 200, p=[0.4, 0.4, 0.2]),
            "days": rng.choice([5, 6, 7], 200, p=[0.4, 0.4, 0.2]),
            "downwards": -rng.choice([2, 4, 8], 200, p=[0.4, 0.4, 0.2]),
        }
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    assert not [note for note in read_table(tmp_path / "data.csv").notes if "--missing" in note]


def test_codes_are_taken_as_missing_when_asked(run, refused, tmp_path):
    frame = coded(999).assign(score=999, id=[f"{i}" for i in range(998, 1058)], word=np.tile(["x", "none", "y"], 20))
    frame.to_csv(tmp_path / "data.csv", index=False)
    table = read_table(tmp_path / "data.csv", missing=["age=999", "none"])
    assert table.frame.isna().sum().to_dict() == {"age": 3, "score": 0, "word": 20}
    assert any("missing values have the code '999': 3 cells are taken as missing" in note for note in table.notes)
    assert "999" in table.ids
    everywhere = read_table(tmp_path / "data.csv", missing=["999"])
    assert "score" not in everywhere.frame  # nothing is left of it
    code, _, err = run("cluster", "data.csv", "-k", 2, "--missing", "age=999", "--drop", "score")
    assert code == 0, err
    assert "3 cells are taken as missing" in err
    code, _, err = run("predict", "data-clusters/model.kw", "data.csv")
    assert code == 0, err
    assert "Read as when the model was fitted: --missing age=999." in err
    assert "no column 'agee'" in refused("cluster", "data.csv", "--out", "x", "--missing", "agee=999")
    assert "missing must be codes such as 999" in refused("cluster", "data.csv", "--out", "x", "--missing", "age=")


def test_codes_in_arrays_are_taken_as_missing(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.array([[1.0, 999], [2, 3], [4, 5]]))
    table = read_table(tmp_path / "x.npz", missing=["999"])
    assert table.frame.isna().sum().tolist() == [0, 1]
    assert any("1 cell is taken as missing" in note for note in table.notes)
