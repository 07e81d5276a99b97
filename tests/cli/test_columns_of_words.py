"""Columns of words are told at once, with the same result as by reading every cell; wide tables of them."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.cli import _numeric
from kernelweave.tabular.date_text import dates_of
from kernelweave.tabular.number_text import Style, has_word, numbers_of, seems_number

CELLS = [
    "AA", "high", "-", "", "nd", "5", "3,5", "7 mg", "<2", "(5)", "inf", "-Infinity", "NaN", "1e3", "31.12.2020",
    "5-May-2020", "2020/01/31", "x1", "²", "٣", "12 %", None,
]  # fmt: skip


@pytest.fixture(params=range(40))
def column(request):
    rng = np.random.default_rng(request.param)
    some = rng.choice(len(CELLS), rng.integers(1, 4), replace=False)
    return pd.Series([CELLS[i] for i in rng.choice(some, 30)], name="x", dtype=object)


def test_a_column_with_a_word_holds_neither_numbers_nor_dates(column):
    if has_word(column):
        assert numbers_of(column, Style()) is None
        assert numbers_of(column, Style(",", ".")) is None
        assert dates_of(column) is None


def test_columns_of_words_only_are_no_problem_of_a_table(column, monkeypatch):
    found = _numeric._text(column, 0.0, ids=True, fills=True)
    monkeypatch.setattr(_numeric, "seems_number", lambda cell: True)  # every cell is read
    assert _numeric._text(column, 0.0, ids=True, fills=True) == found


def test_a_number_seems_to_be_one(column):
    numbers = pd.to_numeric(column, errors="coerce")
    assert all(map(seems_number, column[numbers.notna()]))
    assert numbers.dropna().nunique() <= len({cell for cell in column if seems_number(cell)})


@pytest.mark.parametrize(
    ("cell", "number"),
    [("AA", False), ("-", False), ("inf", True), ("+NaN", True), ("x1", True), ("٣", True), (3.5, True), (None, True)],
)
def test_words_are_texts_without_digits(cell, number):
    assert seems_number(cell) is number


def test_genotypes_in_many_columns_are_categories(run, tmp_path):
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 30)
    share = rng.uniform(0.05, 0.95, (2, 400))
    count = (rng.random((60, 400)) < share[group]).astype(int) + (rng.random((60, 400)) < share[group])
    table = pd.DataFrame(np.array(["AA", "AG", "GG"])[count], columns=[f"rs{i}" for i in range(400)])
    table.to_csv(tmp_path / "genotypes.csv", index=False)
    code, _, err = run("cluster", tmp_path / "genotypes.csv", "-k", 2, "--out", tmp_path / "out")
    assert code == 0, err
    labels = pd.read_csv(tmp_path / "out" / "labels.csv").iloc[:, 1]
    assert pd.crosstab(labels, group).to_numpy().max(axis=1).sum() == 60
