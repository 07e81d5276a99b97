"""The index of Parquet, Feather and JSON files: which of them hold ids, and what is said about it."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.tabular import ReadOptions, read_table
from kernelweave.tabular.table_parts import table_parts

FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["x", "y"])
INDEXED = {
    "shuffled": FRAME.sample(frac=1, random_state=0),
    "filtered": FRAME[FRAME["x"] > 0],
    "every other": FRAME.iloc[::2],
    "without the first": FRAME.iloc[10:],
    "reversed": FRAME.iloc[::-1],
    "numbers of patients": FRAME.set_axis(np.arange(1000, 1040), axis=0),
    "days": FRAME.set_axis(pd.date_range("2020-01-01", periods=40), axis=0),
}


def as_texts(index):
    return index.astype(str).tolist()


@pytest.mark.parametrize("kind", list(INDEXED))
@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv"])
def test_an_index_that_does_not_count_the_rows_holds_the_ids_and_a_note_says_so(tmp_path, kind, suffix):
    frame = INDEXED[kind]
    getattr(frame, f"to_{suffix}")(tmp_path / f"data.{suffix}")
    table = read_table(tmp_path / f"data.{suffix}")
    assert table.ids == as_texts(frame.index)
    held = "its first column has no name, so its entries are" if suffix == "csv" else "its index holds"
    first, second = table.ids[:2]
    assert any(f"{held} the ids ({first!r}, {second!r} ...)" in note for note in table.notes)
    assert list(table.frame) == ["x", "y"]


@pytest.mark.parametrize("kind", list(INDEXED))
@pytest.mark.parametrize("rows", [1, 7, 100])
def test_an_index_is_read_in_parts_as_in_the_whole(tmp_path, kind, rows):
    INDEXED[kind].to_parquet(tmp_path / "data.parquet")
    parts = list(table_parts(tmp_path / "data.parquet", ReadOptions(), rows))
    assert [name for part in parts for name in part.ids] == as_texts(INDEXED[kind].index)


@pytest.mark.parametrize("rows", [None, 7])
def test_an_index_that_counts_the_rows_holds_no_ids(tmp_path, rows):
    FRAME.to_parquet(tmp_path / "data.parquet")
    path = tmp_path / "data.parquet"
    tables = [read_table(path)] if rows is None else list(table_parts(path, ReadOptions(), rows))
    assert all(table.ids is None and table.notes == () for table in tables)


def test_an_index_with_a_name_holds_the_ids_even_if_it_counts(tmp_path):
    FRAME.rename_axis("patient").to_parquet(tmp_path / "data.parquet")
    table = read_table(tmp_path / "data.parquet")
    assert (table.title, table.ids) == ("patient", as_texts(FRAME.index))
    assert "its index 'patient' holds the ids ('0', '1' ...)" in table.notes[0]
    assert read_table(tmp_path / "data.parquet", id="patient").notes == ()


def test_a_column_of_ids_comes_before_an_index_of_numbers_as_in_text(tmp_path):
    frame = FRAME.assign(sample_id=[f"s{i}" for i in range(40)]).sample(frac=1, random_state=0)
    frame.to_parquet(tmp_path / "data.parquet")
    frame.to_csv(tmp_path / "data.csv")
    table = read_table(tmp_path / "data.parquet")
    assert table.ids == read_table(tmp_path / "data.csv").ids == frame["sample_id"].tolist()
    assert "its index of numbers is left out, since a column holds the ids" in table.notes[0]


def test_an_index_comes_before_a_column_whose_entries_repeat_in_the_end(tmp_path):
    frame = FRAME.sample(frac=5, replace=True, random_state=0).set_axis(np.arange(200) + 7, axis=0)
    frame.insert(0, "name", [*(f"s{i}" for i in range(199)), "s0"])
    frame.to_parquet(tmp_path / "data.parquet")
    assert read_table(tmp_path / "data.parquet").ids == as_texts(frame.index)


def test_numbers_that_repeat_in_an_index_are_no_ids(tmp_path):
    pd.concat([FRAME[:20], FRAME[:20]]).to_parquet(tmp_path / "data.parquet")
    table = read_table(tmp_path / "data.parquet")
    assert table.ids is None
    assert "its index holds '0' again in row 21, so it is left out, and the samples are numbered" in table.notes[0]


def test_an_index_of_several_levels_is_left_out_with_a_note(tmp_path):
    index = pd.MultiIndex.from_product([list("ab"), range(20)], names=["group", "i"])
    FRAME.set_axis(index, axis=0).to_parquet(tmp_path / "data.parquet")
    table = read_table(tmp_path / "data.parquet")
    assert table.ids is None
    assert "its index of 2 levels ('group', 'i') is left out: reset_index() in pandas makes" in table.notes[0]


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
@pytest.mark.parametrize("cell", [[1.0, 2.0], {"a": 1}])
def test_columns_of_lists_and_records_are_refused_with_the_option_that_leaves_them_out(
    run, refused, tmp_path, suffix, cell
):
    frame = FRAME.assign(parts=[None, *[cell] * 39])
    getattr(frame, f"to_{suffix}")(tmp_path / f"data.{suffix}")
    message = refused("cluster", f"data.{suffix}", "-k", 2)
    assert "column 'parts' holds " in message
    assert "in row 2: a cell must be a number or a text. Write its parts as columns of their own." in message
    assert message.endswith(f"kernelweave cluster data.{suffix} -k 2 --drop parts")
    assert run("cluster", f"data.{suffix}", "-k", 2, "--drop", "parts")[0] == 0
