"""Formulas in workbooks that a program wrote, and no spreadsheet computed."""

import pandas as pd
import pytest

from kernelweave.tabular import TableError, read_table

openpyxl = pytest.importorskip("openpyxl")


def book(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)


def numbers(i):
    return f"=B{i + 2}+C{i + 2}"


def test_a_column_of_formulas_without_results_is_named(tmp_path):
    rows = [[f"s{i}", i + 0.5, i % 7, numbers(i)] for i in range(20)]
    book(tmp_path / "x.xlsx", [["id", "a", "b", "sum"], *rows])
    table = read_table(tmp_path / "x.xlsx")
    assert list(table.frame) == ["a", "b"]
    told = "column 'sum' holds formulas without stored results (20 cells), which are missing here: open the file in a"
    assert any(told in note for note in table.notes)


def test_some_formulas_without_results_are_counted(tmp_path):
    rows = [[f"s{i}", i + 0.5, i % 7, numbers(i) if i % 5 == 0 else 3] for i in range(20)]
    book(tmp_path / "x.xlsx", [["Our study"], [], ["id", "a", "b", "sum"], *rows])
    table = read_table(tmp_path / "x.xlsx")
    assert table.frame["sum"].isna().sum() == 4
    assert any("'sum' holds formulas without stored results (4 cells)" in note for note in table.notes)


def test_a_table_of_formulas_without_results_is_refused(tmp_path):
    rows = [[f"s{i}", "=1+1", "=2*3"] for i in range(20)]
    book(tmp_path / "x.xlsx", [["id", "a", "b"], *rows])
    with pytest.raises(TableError, match=r"columns 'a', 'b' hold formulas without stored results \(40 cells\)"):
        read_table(tmp_path / "x.xlsx")


def test_empty_cells_and_formulas_outside_of_the_table_need_no_note(tmp_path):
    frame = pd.DataFrame({"id": [f"s{i}" for i in range(20)], "a": range(20), "b": [1.5, None] * 10, "empty": None})
    rows = [[None if cell != cell else cell for cell in row] for row in frame.astype(object).to_numpy().tolist()]
    book(tmp_path / "x.xlsx", [["=1+1"], [], list(frame), *rows])
    assert not any("stored results" in note for note in read_table(tmp_path / "x.xlsx").notes)
