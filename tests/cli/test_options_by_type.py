"""An option that cannot be honoured is refused, and `inspect` ends as `cluster` does."""

import json

import numpy as np
import pandas as pd
import pytest

import kernelweave
from kernelweave.errors import InvalidInputError
from kernelweave.tabular import FORMATS, read_table
from kernelweave.tabular.table_reader import HONOURED

WRITERS = {
    ".csv": lambda table: table.to_csv("data.csv", index=False),
    ".parquet": lambda table: table.to_parquet("data.parquet"),
    ".json": lambda table: table.to_json("data.json", orient="records"),
    ".xlsx": lambda table: table.to_excel("data.xlsx", index=False),
    ".npy": lambda table: np.save("data.npy", table[list("abcd")].to_numpy()),
}


@pytest.mark.parametrize(
    ("suffix", "given"),
    [
        *((suffix, ("--sheet", "x")) for suffix in (".csv", ".parquet", ".npy")),
        *((suffix, ("--sep", ";")) for suffix in (".xlsx", ".parquet", ".json")),
        *((suffix, ("--encoding", "utf-8")) for suffix in (".xlsx", ".parquet", ".npy")),
        *((suffix, ("--no-header",)) for suffix in (".parquet", ".json")),
        *((".npy", given) for given in (("--header",), ("--decimal", ","), ("--limits", "half"))),
    ],
)
def test_an_option_that_says_nothing_of_the_file_is_refused(run, refused, table, suffix, given):
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    WRITERS[suffix](table.drop(columns="kind"))
    for command in ("cluster", "inspect"):
        said = refused(command, f"data{suffix}", *given)
        assert f"{given[0]} is for files of type" in said
        assert f"it does not apply to data{suffix}. Leave it out." in said
    assert run("inspect", f"data{suffix}")[0] == 0


def test_an_option_that_says_something_of_one_of_the_files_is_taken(run, table):
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    table.drop(columns="kind").to_csv("one.csv", index=False)
    table.drop(columns="kind").to_excel("two.xlsx", index=False, sheet_name="x")
    code, _, err = run("cluster", "one.csv", "two.xlsx", "--sheet", "x", "--sep", ",", "-k", 3, "--out", "found")
    assert code == 0, err
    code, _, err = run("predict", "found", "--view", "one=one.csv")
    assert code == 0, err


def test_new_files_of_a_model_are_asked_for_the_same(run, refused, table):
    WRITERS[".csv"](table.drop(columns="kind"))
    assert run("cluster", "data.csv", "-k", 3, "--out", "found")[0] == 0
    assert "--sheet is for files of type .xlsx" in refused("predict", "found", "data.csv", "--sheet", "x")


def test_every_type_of_an_option_is_one_that_is_read():
    assert {suffix for types in HONOURED.values() for suffix in types} <= set(FORMATS)


@pytest.mark.parametrize("given", [("--decimal", ","), ("--thousands", ".")])
def test_marks_that_the_numbers_do_not_have_are_refused(run, refused, table, given):
    WRITERS[".csv"](table.drop(columns="kind"))
    said = refused("cluster", "data.csv", *given)
    assert "data.csv: column 'a', 'b', 'c' and 1 more holds numbers with a decimal point" in said
    assert f"but {' '.join(given)} says that a point is not one" in said
    table[list("abcd")].to_csv("data.csv", index=False, sep=";", decimal=",")
    assert run("cluster", "data.csv", *given, "-k", 3)[0] == 0


@pytest.fixture
def genes(run, table):
    turned = table.set_index("name")[list("abcd")].T
    turned.insert(0, "Symbol", ["TP53", "MYC", "KRAS", "EGFR"])
    turned.to_csv("genes.tsv", sep="\t", index_label="ENSEMBL")
    return "genes.tsv"


def test_a_column_of_a_table_that_is_transposed_can_be_left_out(run, refused, genes):
    code, _, err = run("cluster", genes, "--transpose", "--drop", "Symbol", "-k", 3, "--out", "found")
    assert code == 0, err
    assert len(pd.read_csv("found/labels.csv")) == 60
    code, _, err = run("predict", "found", genes)
    assert code == 0, err
    said = refused("cluster", genes, "--transpose", "--drop", "Symbol", "--drop", "a")
    assert "genes.tsv has no column 'a'; it has 'ENSEMBL', 'Symbol', '000'" in said


def both(run, *arguments):
    """Return the exit codes of inspect and cluster, and what both said."""
    code, out, _ = run("inspect", *arguments)
    other, _, err = run("cluster", *arguments)
    return (code, other), out, err


def test_inspect_refuses_what_cluster_refuses(run, csv, table):
    assert both(run, csv, "--drop", "nothing")[0] == (2, 2)
    table[["name", *"abcd"]].head(1).to_csv("one.csv", index=False)
    codes, out, err = both(run, "one.csv")
    assert codes == (2, 2)
    assert "There is only 1 sample; at least 2 are needed." in out
    assert "There is only 1 sample; at least 2 are needed." in err
    table.assign(**dict.fromkeys("abcd", 1.5))[["name", *"abcd"]].to_csv("same.csv", index=False)
    codes, out, _ = both(run, "same.csv")
    assert codes == (2, 2)
    assert "all 60 rows are the same" in out
    table[["name", "a"]].to_csv("a.csv", index=False)
    table[["name", "b"]].assign(name=[f"x{i}" for i in range(60)]).to_csv("b.csv", index=False)
    codes, out, _ = both(run, "a.csv", "b.csv")
    assert codes == (2, 2)
    assert "b.csv shares none of its 60 ids with a.csv" in out


@pytest.mark.parametrize("mixed", [False, True])
def test_a_row_without_any_value_is_named_by_its_id(run, table, mixed):
    table = table.drop(columns="kind")
    if mixed:
        table["sex"], table["text"] = np.tile(["f", "m"], 30), [f"{i} is odd" for i in range(60)]
    table.loc[4, [name for name in table if name not in ("name", "text")]] = None
    table.to_csv("data.csv", index=False)
    codes, out, err = both(run, "data.csv")
    assert codes == (2, 2)
    for said in (out, err):
        assert "data.csv: row 5 (sample '004') has no value in any feature. Add one, or leave the row out." in said
    assert "filled" not in err


def test_new_rows_without_any_value_are_named_by_their_ids(run, refused, table):
    table["sex"] = np.tile(["f", "m"], 30)
    table.drop(columns="kind").to_csv("data.csv", index=False)
    assert run("cluster", "data.csv", "-k", 3, "--out", "found")[0] == 0
    table.loc[[4, 7], [*"abcd", "sex"]] = None
    table.drop(columns="kind").to_csv("new.csv", index=False)
    said = refused("predict", "found", "new.csv")
    assert "new.csv: row 5 (sample '004') and 1 other row have no value in any feature" in said


def test_one_more_column_than_is_shown_is_counted_in_the_singular(run):
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(30, 41))).add_prefix("x").to_csv("wide.csv", index=False)
    _, out, _ = run("inspect", "wide.csv")
    assert out.splitlines()[-1].strip() == "... and 1 more column"
    holes = pd.DataFrame(rng.normal(size=(30, 6))).add_prefix("x")
    holes.loc[0] = np.nan
    holes.loc[0, "x0"] = 1.0
    holes.loc[1, "x0"] = np.nan
    holes.to_csv("holes.csv", index=False)
    code, _, err = run("cluster", "holes.csv", "-k", "2")
    assert code == 0, err
    assert " and 1 more column)" in " ".join(err.split())


def test_inspect_shows_columns_as_the_model_reads_them(run, table):
    table["when"] = [f"2024-01-{i % 28 + 1:02}" for i in range(60)]
    table["day"] = [f"2024-01-{i % 28 + 1:02}T10:00" if i else None for i in range(60)]
    table["one"] = 1
    table.to_json("data.json", orient="records")
    code, out, err = run("inspect", "data.json", "--json")
    assert code == 0, err
    columns = {column["name"]: column for column in json.loads(out)["views"]["data"]["columns"]}
    assert columns["when"]["kind"] == columns["day"]["kind"] == "date"
    assert columns["when"]["content"] == "2024-01-01 to 2024-01-28"
    assert columns["day"]["missing"] == 1
    assert columns["one"]["use"] == "left out"
    assert columns["one"]["reason"] == "it is constant"
    assert columns["kind"]["reason"] is None
    assert columns["kind"]["kind"] == "category"


def test_inspect_refuses_features_that_equal_the_labels(run, table):
    table.assign(Class=table["kind"]).to_csv("data.csv", index=False)
    code, out, _ = run("inspect", "data.csv", "--labels", "kind")
    assert code == 2
    assert "column 'Class' equals the given labels in all 60 labelled samples" in out


@pytest.mark.parametrize(
    ("suffix", "options"),
    [
        (".csv", {"sheet": "x"}),
        (".parquet", {"sep": ";"}),
        (".xlsx", {"encoding": "latin-1"}),
        (".npy", {"header": True}),
    ],
)
def test_python_refuses_options_that_say_nothing_of_a_file_too(run, table, suffix, options):
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    WRITERS[suffix](table)
    with pytest.raises(
        InvalidInputError, match=f"--{next(iter(options))} is for files of type .*; it does not apply to data{suffix}"
    ):
        read_table(f"data{suffix}", **options)
    assert len(read_table(f"data{suffix}").frame) == len(table)


def test_a_table_without_any_feature_is_refused_by_inspect_as_by_cluster(run, refused):
    pressure = [f"{100 + i}/{60 + i % 20}" for i in range(40)]
    pd.DataFrame({"id": [f"s{i}" for i in range(40)], "bp": pressure}).to_csv("data.csv", index=False)
    assert "it has no column that tells samples apart ('bp')" in refused("cluster", "data.csv", "-k", 2)
    code, out, _ = run("inspect", "data.csv")
    assert code == 2
    assert "it has no column that tells samples apart ('bp')" in out


def test_categories_of_noise_are_left_out_and_shown_so(run, table, tmp_path):
    rng = np.random.default_rng(0)
    table.assign(coin=rng.choice(["heads", "tails"], len(table))).to_csv("data.csv", index=False)
    code, out, err = run("inspect", "data.csv", "--json")
    assert code == 0, err
    (view,) = json.loads(out)["views"].values()
    assert [column["name"] for column in view["columns"] if column["use"] == "left out"] == ["coin"]
    assert view["columns"][-1]["reason"] == "it is related to no other column"
    _, out, _ = run("inspect", "data.csv")
    assert "left out: it is related to no other column" in out
    code, _, err = run("cluster", "data.csv", "-k", 3)
    assert code == 0, err
    assert "1 column of the table is left out, since it is related to no other column: 'coin'." in " ".join(err.split())
    model = kernelweave.load(tmp_path / "data-clusters" / "model.kw")
    assert set(model.readings_["X"].left_out) == {"coin"}
