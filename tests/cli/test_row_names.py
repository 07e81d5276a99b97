"""Files that name their rows: R's write.table, pandas.to_csv, parquet with an index, and AnnData."""

import numpy as np
import pandas as pd
import pytest

import kernelweave
from kernelweave.tabular import read_table


def ids(folder):
    return pd.read_csv(folder / "labels.csv", dtype=str)["id"].tolist()


def features(folder):
    return kernelweave.load(folder / "model.kw").feature_names_in_.tolist()


def write_table(frame, path, separator):
    """Write a frame as R's write.table does: the header has no entry for the row names."""
    lines = [separator.join(f'"{name}"' for name in frame.columns)]
    lines += [separator.join([f'"{i}"', *map(str, row)]) for i, row in zip(frame.index, frame.to_numpy(), strict=True)]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(("name", "separator"), [("data.csv", ","), ("data.tsv", "\t")])
def test_the_first_column_of_r_s_write_table_holds_the_ids(run, table, tmp_path, name, separator):
    write_table(table.set_index("name")[list("abcd")], tmp_path / name, separator)
    code, _, err = run("cluster", name, "-k", 3)
    assert code == 0, err
    assert ids(tmp_path / "data-clusters") == table["name"].tolist()
    assert features(tmp_path / "data-clusters") == list("abcd")
    assert f"Note: {name}: its first column has no name, so its entries are the ids ('000', '001' ...)." in err


def test_labels_of_r_s_write_table_are_in_their_own_column(run, table, tmp_path):
    table["kind"] = table["kind"].where(np.arange(60) % 4 == 0, "NA")
    write_table(table.set_index("name"), tmp_path / "data.csv", ",")
    code, out, err = run("classify", "data.csv", "--labels", "kind")
    assert code == 0, err
    assert "in 3 classes" in out
    assert features(tmp_path / "data-classes") == list("abcd")


def test_a_separator_at_the_end_of_every_row_is_not_a_row_name(run, table, tmp_path):
    rows = [",".join(map(str, row)) + "," for row in table[list("abcd")].to_numpy()]
    (tmp_path / "data.csv").write_text("\n".join(["a,b,c,d", *rows]) + "\n")
    code, _, err = run("cluster", "data.csv", "-k", 3)
    assert code == 0, err
    assert features(tmp_path / "data-clusters") == list("abcd")
    assert ids(tmp_path / "data-clusters")[:2] == ["1", "2"]


def test_rows_with_entries_beyond_the_header_are_refused(refused, tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n3,4,5\n6,7\n")
    assert "row 2 has 3 entries, but the header has 2" in refused("cluster", "data.csv", "-k", 2)


def test_the_index_column_that_pandas_writes_is_not_a_feature(run, table, tmp_path):
    table[list("abcd")].to_csv("data.csv")
    code, _, err = run("cluster", "data.csv", "-k", 3)
    assert code == 0, err
    assert features(tmp_path / "data-clusters") == list("abcd")
    assert ids(tmp_path / "data-clusters") == [str(i) for i in range(60)]
    assert "Note: data.csv: its first column has no name, so its entries are the ids ('0', '1' ...)." in err


def test_ids_without_a_column_name_keep_their_zeros(run, table, tmp_path):
    table.set_index("name").rename_axis(None)[list("abcd")].to_csv("data.csv")
    assert run("cluster", "data.csv", "-k", 3)[0] == 0
    assert ids(tmp_path / "data-clusters") == table["name"].tolist()


def test_an_index_written_twice_is_left_out_twice(run, table, tmp_path):
    table[list("abcd")].to_csv("data.csv")
    pd.read_csv("data.csv").to_csv("data.csv")
    code, _, err = run("cluster", "data.csv", "-k", 3)
    assert code == 0, err
    assert features(tmp_path / "data-clusters") == list("abcd")
    assert "Note: data.csv: the column 'Unnamed: 0' is left out" in err


def test_a_column_without_a_name_is_left_out_beside_an_id_column(run, table, tmp_path):
    table.drop(columns="kind").to_csv("data.csv")
    code, _, err = run("cluster", "data.csv", "--id", "name", "-k", 3)
    assert code == 0, err
    assert ids(tmp_path / "data-clusters") == table["name"].tolist()
    assert features(tmp_path / "data-clusters") == list("abcd")
    assert "Note: data.csv: the column 'Unnamed: 0' is left out" in err


def test_a_column_without_a_name_that_repeats_itself_is_refused(run, refused, table, tmp_path):
    table[list("abcd")].set_axis([*range(30), *range(30)]).to_csv("data.csv")  # as pandas.concat leaves it
    said = refused("cluster", "data.csv", "-k", 3)
    assert "its first column has no name, and holds '0' twice (row 31)" in said
    assert "--drop 'Unnamed: 0'" in said
    assert run("cluster", "data.csv", "-k", 3, "--drop", "Unnamed: 0")[0] == 0
    assert features(tmp_path / "data-clusters") == list("abcd")


def test_excel_s_first_column_without_a_name_holds_the_ids(run, table, tmp_path):
    table.set_index("name").rename_axis(None)[list("abcd")].to_excel("data.xlsx")
    code, _, err = run("cluster", "data.xlsx", "-k", 3)
    assert code == 0, err
    assert ids(tmp_path / "data-clusters") == table["name"].tolist()
    assert features(tmp_path / "data-clusters") == list("abcd")


@pytest.mark.parametrize("options", [(), ("--id", "name")], ids=["found", "named"])
def test_the_index_of_a_parquet_file_holds_the_ids(run, table, tmp_path, options):
    table.set_index("name")[list("abcd")].to_parquet("data.parquet")
    code, _, err = run("cluster", "data.parquet", "-k", 3, *options)
    assert code == 0, err
    assert ids(tmp_path / "data-clusters") == table["name"].tolist()


def test_tables_with_row_names_are_joined_on_them(run, table, tmp_path):
    table = table.set_index("name").rename_axis(None)
    table[["a", "b"]].to_csv("one.csv")
    table[["c", "d"]].iloc[::-1].to_csv("two.csv")
    code, _, err = run("cluster", "one.csv", "two.csv", "-k", 3, "--out", "found")
    assert code == 0, err
    assert ids(tmp_path / "found") == table.index.tolist()
    model = kernelweave.load(tmp_path / "found" / "model.kw")
    assert sorted(np.bincount(model.labels_)) == [20, 20, 20]


@pytest.fixture
def cells(table, tmp_path):
    """An AnnData file of the table, written by anndata."""
    anndata = pytest.importorskip("anndata")
    # texts as objects: anndata does not write pandas' own type of texts by default
    names = pd.Index([f"cell-{i}" for i in range(60)], dtype=object)
    X = table[list("abcd")].set_axis(names)
    few = table["kind"].astype(object).where(np.arange(60) % 4 == 0, None)
    obs = pd.DataFrame({"kind": few.to_numpy(), "donor": table["name"].to_numpy(object)}, index=names, dtype=object)
    var = pd.DataFrame(index=X.columns.astype(object))
    path = tmp_path / "cells.h5ad"
    anndata.AnnData(X.to_numpy(), obs=obs.astype({"kind": "category"}), var=var).write_h5ad(path)
    return path


def test_the_names_of_observations_are_the_ids_of_an_anndata_file(run, cells, tmp_path):
    code, _, err = run("cluster", cells, "-k", 3)
    assert code == 0, err
    assert ids(tmp_path / "cells-clusters") == [f"cell-{i}" for i in range(60)]
    assert features(tmp_path / "cells-clusters") == list("abcd")


def test_a_column_of_obs_may_hold_the_ids_and_the_labels(run, cells, table, tmp_path):
    code, out, err = run("classify", cells, "--id", "donor", "--labels", "kind")
    assert code == 0, err
    assert "in 3 classes" in out
    assert ids(tmp_path / "cells-classes") == table["name"].tolist()


def test_a_column_that_obs_does_not_have_is_refused_with_those_it_has(refused, cells):
    assert "cells.h5ad has no column 'knid'; it has 'kind', 'donor'" in refused("classify", cells, "--labels", "knid")
    said = refused("classify", cells, "--labels", "kind", "--id", "dnoor")
    assert "cells.h5ad has no column 'dnoor'; it has 'kind', 'donor'" in said
    assert "no column 'dnoor'" in refused("cluster", cells, "-k", 3, "--id", "dnoor")


def test_ids_of_a_file_without_a_header_are_text(run, table, tmp_path):
    table[["name", *"abcd"]].to_csv("data.csv", index=False, header=False)
    code, _, err = run("cluster", "data.csv", "-k", 3, "--no-header", "--id", "0")
    assert code == 0, err
    assert ids(tmp_path / "data-clusters") == table["name"].tolist()


def with_numbers(name, path, *, step=7):
    rng = np.random.default_rng(0)
    numbers = 1000 + step * rng.permutation(30)
    pd.DataFrame({"a": rng.normal(size=30), name: numbers, "b": rng.normal(size=30)}).to_csv(path, index=False)
    return [str(number) for number in numbers]


@pytest.mark.parametrize("name", ["SUBJID", "usubjid", "patid", "sampleid", "geneid", "EntrezID", "respondent id"])
def test_numbers_that_are_called_ids_without_a_blank_are_ids(tmp_path, name):
    numbers = with_numbers(name, tmp_path / "data.csv")
    assert read_table(tmp_path / "data.csv").ids == numbers


@pytest.mark.parametrize(
    "name", ["PatNr", "Patient No.", "Kundennummer", "customer number", "MRN", "entrez", "Sample #"]
)
def test_numbers_that_are_called_like_those_of_samples_get_a_hint(tmp_path, name):
    with_numbers(name, tmp_path / "data.csv")
    (said,) = [note for note in read_table(tmp_path / "data.csv").notes if "is not a feature" in note]
    assert f"column {name!r} holds another whole number in every row" in said
    assert f'pass --id "{name}"' in said


@pytest.mark.parametrize("name", ["population", "acid", "paid", "grid", "cell number", "number"])
def test_other_numbers_that_all_differ_are_features_without_a_hint(tmp_path, name):
    with_numbers(name, tmp_path / "data.csv")
    table = read_table(tmp_path / "data.csv")
    assert table.ids is None
    assert not table.notes
