"""Views are joined on the ids of their samples: what they share is said, and hardly anything shared is refused."""

import numpy as np
import pandas as pd
import pytest


def write(table, columns, name, ids=None):
    table[["name", *columns]].assign(**({} if ids is None else {"name": ids})).to_csv(name, index=False)


def test_tables_whose_ids_share_nothing_are_refused(refused, table):
    write(table, "ab", "one.csv")
    write(table, "cd", "two.csv", ids=[f"s{i}" for i in range(60)])
    said = refused("cluster", "one.csv", "two.csv", "--id", "name", "-k", 3)
    assert "two.csv shares none of its 60 ids with one.csv" in said
    assert "it holds 's0', 's1' ..., one.csv '000', '001' ..." in said
    assert "--id" in said


def test_tables_that_share_hardly_any_id_are_refused(refused, table):
    write(table, "ab", "one.csv")
    write(table, "cd", "two.csv", ids=["000", *(f"s{i}" for i in range(59))])
    said = refused("cluster", "one.csv", "two.csv", "--id", "name", "-k", 3)
    assert "two.csv shares 1 of its 60 ids with one.csv" in said


def test_ids_that_only_some_tables_have_are_counted_in_a_note(run, table):
    write(table.head(50), "ab", "one.csv")
    write(table.tail(50), "cd", "two.csv")
    code, _, err = run("cluster", "one.csv", "two.csv", "--id", "name", "-k", 3)
    assert code == 0
    assert "Note: 40 of 60 samples are in both views (one has 50, two has 50); the others are in one of them" in err
    assert "Note" not in run("cluster", "one.csv", "two.csv", "--id", "name", "-k", 3, "--quiet", "--force")[2]


def test_the_views_of_a_note_are_counted_if_there_are_more_than_two(run, table):
    for part, columns in ((table.head(50), "ab"), (table.tail(50), "cd"), (table, "ad")):
        write(part, columns, f"{columns}.csv")
    _, _, err = run("cluster", "ab.csv", "cd.csv", "ad.csv", "--id", "name", "-k", 3)
    assert (
        "40 of 60 samples are in all 3 views (ab has 50, cd has 50, ad has 60); the others are in some of them" in err
    )


def test_tables_with_the_same_ids_need_no_note(run, table):
    write(table, "ab", "one.csv")
    write(table.iloc[::-1], "cd", "two.csv")
    code, _, err = run("cluster", "one.csv", "two.csv", "--id", "name", "-k", 3)
    assert code == 0
    assert "views" not in err


def test_row_names_in_some_tables_alone_are_refused(refused, table):
    table[["a", "b"]].to_csv("one.csv")  # pandas numbers the rows from 0, in a column without a name
    table[["c", "d"]].to_csv("two.csv", index=False)
    said = refused("cluster", "one.csv", "two.csv", "-k", 3)
    assert "one.csv names its samples, but two.csv does not" in said


@pytest.mark.parametrize("ids", [np.arange(1, 61), np.arange(60) * 37 % 1000 + 1000], ids=["counted", "numbers"])
def test_a_column_that_names_the_samples_in_another_order_is_not_joined_by_rows(run, refused, table, ids):
    table = table.assign(patient=ids)
    table[["patient", "a", "b"]].to_csv("one.csv", index=False)
    table[["patient", "c", "d"]].iloc[::-1].to_csv("two.csv", index=False)
    said = refused("cluster", "one.csv", "two.csv", "-k", 3)
    assert "one.csv and two.csv have the column 'patient'" in said
    assert "but not in the same rows: pass --id 'patient'" in said
    assert run("cluster", "one.csv", "two.csv", "-k", 3, "--id", "patient")[0] == 0


def test_columns_of_ranks_name_no_samples(run, table):
    ranks = table[["a", "b", "c", "d"]].rank(method="first").astype(int)
    ranks.to_csv("one.csv", index=False)
    ranks.iloc[:, ::-1].set_axis(list("abcd"), axis=1).to_csv("two.csv", index=False)
    assert run("cluster", "one.csv", "two.csv", "-k", 3)[0] == 0


def test_a_repeated_id_in_one_of_the_tables_is_named(refused, table):
    table = table.assign(patient=[f"P{i}" for i in range(60)])
    table[["patient", "a", "b"]].to_csv("one.csv", index=False)
    pd.concat([table, table.head(1)])[["patient", "c", "d"]].to_csv("two.csv", index=False)
    said = refused("cluster", "one.csv", "two.csv", "-k", 3)
    assert "two.csv does not: its column 'patient' holds 'P0' again in row 61" in said


def test_a_file_whose_columns_are_the_samples_beside_one_with_rows_is_told(refused, table):
    ids = [f"P{i}" for i in range(60)]
    table[["a", "b"]].set_axis(ids).rename_axis("patient").to_csv("one.csv")
    table[["c", "d"]].set_axis(ids).T.rename_axis("gene").to_csv("two.csv")
    said = refused("cluster", "one.csv", "two.csv", "-k", 3)
    assert "The columns of two.csv have the names of the ids of one.csv" in said
    assert "Transpose one of them first" in said


def test_ids_that_are_nearly_the_same_text_are_said_once(run, table):
    ids = [f"P{i}" for i in range(60)]
    write(table, "ab", "one.csv", ids=ids)
    write(table, "cd", "two.csv", ids=[*ids[:50], *map(str.lower, ids[50:])])
    code, _, err = run("cluster", "one.csv", "two.csv", "--id", "name", "-k", 3)
    assert code == 0
    assert err.count("10 pairs of samples may be one sample each") == 1
    assert "'P50' in view 'one' and 'p50' in view 'two'" in err


@pytest.mark.parametrize("word", ["NA", "nan", "None", "null", "N/A", ""])
@pytest.mark.parametrize("kind", ["csv", "tsv", "xlsx"])
def test_words_that_look_like_missing_values_are_ids(run, refused, table, tmp_path, word, kind):
    table.loc[3, "name"] = word
    frame = table.drop(columns="kind")
    if kind == "xlsx":
        frame.to_excel("data.xlsx", index=False)
    else:
        frame.to_csv(f"data.{kind}", index=False, sep="," if kind == "csv" else "\t")
    if word == "":
        assert "is missing in row 4" in refused("cluster", f"data.{kind}", "--id", "name", "-k", 3)
        return
    code, _, err = run("cluster", f"data.{kind}", "--id", "name", "-k", 3)
    assert code == 0, err
    labels = pd.read_csv(tmp_path / "data-clusters" / "labels.csv", dtype=str, keep_default_na=False)
    assert labels["id"].tolist() == table["name"].tolist()


def test_labels_that_look_like_missing_values_are_unlabelled(run, table, tmp_path):
    table["kind"] = table["kind"].where(np.arange(60) % 4 == 0, "NA")  # R writes NA
    table.to_csv("data.csv", index=False)
    code, out, err = run("classify", "data.csv", "--id", "name", "--labels", "kind")
    assert code == 0, err
    assert "in 3 classes" in out


@pytest.mark.parametrize("form", ["{:03}", "P{:03}"])
@pytest.mark.parametrize("turned", [False, True])
def test_ids_that_differ_by_zeros_in_front_are_told_apart_from_others(refused, table, form, turned):
    short = form.replace("03", "")
    for name, text in (("one.csv", short), ("two.csv", form))[:: -1 if turned else 1]:
        frame = table[["a", "b"]].head(9).assign(id=[text.format(i + 1) for i in range(9)])
        frame.to_csv(name, index=False)
    said = " ".join(refused("cluster", "one.csv", "two.csv", "-k", 3).split())
    assert "They seem to be the same but for zeros in front" in said
    assert "write those of one.csv with the zeros again." in said


def test_other_ids_that_differ_are_not_said_to_lack_zeros(refused, table):
    for name, first in (("one.csv", 1), ("two.csv", 300)):
        table[["a", "b"]].head(20).assign(id=[f"{i + first:03}" for i in range(20)]).to_csv(name, index=False)
    assert "zeros in front" not in refused("cluster", "one.csv", "two.csv", "-k", 3)
