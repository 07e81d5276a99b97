"""Workbooks whose cells are merged downwards, as a group is written once beside all of its samples."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.tabular import read_table
from kernelweave.tabular.excel_files import with_merged

openpyxl = pytest.importorskip("openpyxl")
VALUES = np.random.default_rng(0).normal(size=(30, 2)).round(3).tolist()


def workbook(path, merged, *, titles=0, blank=(), own=None):
    """Write 30 samples in three groups of ten; cells of the first column are merged."""
    book = openpyxl.Workbook()
    sheet = book.active
    for _ in range(titles):
        sheet.append(["A study of mice"])
    sheet.append(["group", "sample", "a", "b"])
    for i, row in enumerate(VALUES):
        group = (own or {}).get(i, "ABC"[i // 10] if i % 10 == 0 else None)
        sheet.append([None] * 4 if i in blank else [group, f"P{i}", *row])
    for cells in merged:
        sheet.merge_cells(cells)
    book.save(path)
    return read_table(path, id="sample")


def test_a_merged_cell_has_its_value_in_all_of_its_rows(tmp_path):
    table = workbook(tmp_path / "data.xlsx", ["A2:A11", "A12:A21", "A22:A31"])
    assert table.frame["group"].tolist() == ["A"] * 10 + ["B"] * 10 + ["C"] * 10
    told = "column 'group' has merged cells, whose value is taken for all of their rows (27 cells filled)."
    assert any(told in note for note in table.notes)


def test_a_note_says_if_openpyxl_does_not_tell_where_a_worksheet_is():
    table = pd.DataFrame({"group": ["A", None], "a": [1.0, 2.0]})
    for worksheet in (object(), openpyxl.Workbook().active):
        found, (note,) = with_merged(table, worksheet, 1)
        assert found is table
        assert note == "its merged cells cannot be found with this version of openpyxl, and count as missing"
    assert with_merged(table.dropna(), object(), 1)[1] == []  # nothing is missing


def test_merged_cells_are_found_below_titles_and_rows_that_are_empty_stay_so(tmp_path):
    table = workbook(tmp_path / "data.xlsx", ["A4:A13", "A14:A23"], titles=2, blank=[5])
    assert table.frame["group"].fillna("").tolist() == ["A"] * 9 + ["B"] * 10 + ["C"] + [""] * 9
    assert "P5" not in table.ids


def test_cells_that_are_empty_but_not_merged_stay_missing(tmp_path):
    table = workbook(tmp_path / "data.xlsx", [])
    assert table.frame["group"].notna().sum() == 3
    assert not any("merged" in note for note in table.notes)


def test_cells_that_are_merged_with_those_beside_them_are_read_as_they_are(tmp_path):
    table = workbook(tmp_path / "data.xlsx", ["C5:D6"])
    assert table.frame["b"].isna().sum() == 2
    assert not any("merged" in note for note in table.notes)


def test_a_merged_number_is_that_of_all_of_its_rows(tmp_path):
    table = workbook(tmp_path / "data.xlsx", ["A2:A11"], own={0: 2.5, 10: 3.5, 20: 4.5})
    assert table.frame["group"][:10].tolist() == [2.5] * 10
    assert table.frame["group"].notna().sum() == 12


def test_samples_are_classified_by_the_merged_names_of_their_groups(run, tmp_path):
    workbook(tmp_path / "data.xlsx", ["A2:A11", "A12:A21", "A22:A31"])
    code, _, err = run("classify", "data.xlsx", "--labels", "group", "--id", "sample", "--folds", 0, "--out", "found")
    assert code == 0, err
    found = pd.read_csv("found/labels.csv")
    assert found["label"].tolist() == ["A"] * 10 + ["B"] * 10 + ["C"] * 10
    assert set(found["source"]) == {"given"}
