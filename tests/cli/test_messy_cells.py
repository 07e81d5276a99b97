"""Cells as people and their programs write them: signs, blanks, words for missing values, dates."""

import json

import numpy as np
import pandas as pd
import pytest

from kernelweave.tabular import ReadOptions, read_table
from kernelweave.tabular.table_parts import table_parts

N = 40
VALUES = np.random.default_rng(0).normal(size=N).round(2) * 1000


def written(path, **columns):
    """Write a table with ids, and return it as it is read."""
    frame = pd.DataFrame({"id": [f"P{i}" for i in range(N)], **columns})
    frame.to_excel(path, index=False) if path.suffix == ".xlsx" else frame.to_csv(path, index=False)
    return read_table(path)


@pytest.mark.parametrize("form", ["{:.2f}", "{:,.2f}", "${:,.2f}"])
def test_numbers_in_parentheses_are_negative(tmp_path, form):
    texts = [f"({form.format(-v)})" if v < 0 else form.format(v) for v in VALUES]
    table = written(tmp_path / "data.csv", profit=texts, other=VALUES)
    np.testing.assert_allclose(table.frame["profit"], VALUES)
    below = int((VALUES < 0).sum())
    assert any(f"column 'profit': {below} numbers in parentheses are read as negative" in note for note in table.notes)
    (part,) = table_parts(tmp_path / "data.csv", ReadOptions(), 1000)
    np.testing.assert_allclose(part.frame["profit"], VALUES)


@pytest.mark.parametrize("kind", ["all", "beside a minus"])
def test_parentheses_that_may_mean_something_else_stay_texts(tmp_path, kind):
    texts = [f"({abs(v):.2f})" if kind == "all" or i % 2 else f"{v:.2f}" for i, v in enumerate(VALUES)]
    table = written(tmp_path / "data.csv", error=texts, other=VALUES)
    assert table.frame["error"].tolist() == texts


@pytest.mark.parametrize("minus", ["−", "–", "‐", "‑", "－"])
def test_dashes_of_text_programs_before_numbers_are_minus(tmp_path, minus):
    table = written(tmp_path / "data.csv", x=[f"{v:.1f}".replace("-", minus) for v in VALUES])
    np.testing.assert_allclose(table.frame["x"], VALUES)


@pytest.mark.parametrize("word", ["Nan", "NULL", "N/a", "not available", "No data", "#n/a"])
def test_words_for_missing_values_among_numbers_are_missing_in_every_spelling(tmp_path, word):
    texts = [word if i == 3 else f"{v:.2f}" for i, v in enumerate(VALUES)]
    assert written(tmp_path / "data.csv", x=texts, y=VALUES).frame["x"].isna().sum() == 1
    records = [{"x": "n/a" if i == 3 else v, "y": v} for i, v in enumerate(VALUES.tolist())]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, records)))
    assert read_table(tmp_path / "data.jsonl").frame["x"].isna().sum() == 1


@pytest.mark.parametrize(("word", "every"), [("BDL", 4), ("not done", 7), ("1.2*", 5)])
def test_measured_numbers_with_some_words_are_never_left_out_as_free_text(refused, run, tmp_path, word, every):
    texts = [word if i % every == 0 else f"{v / 1000:.2f}" for i, v in enumerate(VALUES)]
    written(tmp_path / "data.csv", x=texts, y=VALUES)
    message = refused("cluster", "data.csv", "-k", 2)
    assert f"column 'x' holds {word!r} in row 1, which is not a number." in message
    assert run("cluster", "data.csv", "-k", 2, "--missing", f"x={word}")[0] == 0


@pytest.mark.parametrize(("n", "words"), [(12, 2), (12, 6), (80, 16), (80, 48), (80, 70)])
@pytest.mark.parametrize("form", [".2f", ".0f"])
def test_words_among_numbers_that_differ_are_refused_however_many_there_are(refused, tmp_path, n, words, form):
    values = np.random.default_rng(0).uniform(1000, 90000, n)
    texts = ["<LOD" if i < words else format(v, form) for i, v in enumerate(values)]
    frame = pd.DataFrame({"id": [f"P{i}" for i in range(n)], "x": texts, "y": np.arange(n) % 7 / 3})
    frame.to_csv(tmp_path / "data.csv", index=False)
    assert "column 'x' holds '<LOD' in row 1, which is not a number." in refused("cluster", "data.csv", "-k", 2)


@pytest.mark.parametrize("texts", [[*map(str, range(1, 31)), *["X"] * 10], ["1.5", "2.5", *["none of these"] * 38]])
def test_numbers_that_may_be_codes_beside_a_word_are_still_categories(run, tmp_path, texts):
    written(tmp_path / "data.csv", kind=texts, y=VALUES)
    assert run("inspect", "data.csv")[0] == 0


@pytest.mark.parametrize("several", [1, 2, 5])
def test_numbers_that_repeat_beside_a_word_get_a_hint_that_works(run, tmp_path, several):
    ages = ["refused" if i % 4 == 0 else str(20 + i % 17) for i in range(N)]
    names = [f"age{j}" for j in range(several)]
    table = written(tmp_path / "data.csv", **dict.fromkeys(names, ages), y=VALUES)
    (note,) = [note for note in table.notes if "not read as numbers" in note]
    codes = ["refused"] if several == 5 else [f"{name}=refused" for name in names]
    assert f"since {'it holds' if several == 1 else 'they hold'} 'refused' beside them" in note
    assert f"(missing={codes!r} in Python)" in note
    assert (read_table(tmp_path / "data.csv", missing=codes).frame[names].dtypes == "float64").all()
    assert run("inspect", "data.csv")[0] == 0


@pytest.mark.parametrize("texts", [["low", "high"], ["1", "2", "3", "other"], ["120/80", "130/85"], ["1", "<LOD"]])
def test_categories_get_no_hint_that_they_are_numbers(tmp_path, texts):
    table = written(tmp_path / "data.csv", kind=texts * (N // len(texts)), y=VALUES)
    assert not any("not read as numbers" in note for note in table.notes)


def test_numbers_beside_words_that_the_commands_refuse_get_no_hint_as_well(tmp_path):
    texts = ["<LOD" if i % 3 else f"{v:.2f}" for i, v in enumerate(VALUES)]
    assert not any("not read as numbers" in note for note in written(tmp_path / "data.csv", x=texts, y=VALUES).notes)


def test_codes_with_zeros_in_front_get_a_note_beside_missing_cells_too(tmp_path):
    codes = [f"{i * 37:05}" for i in range(N)]
    table = written(tmp_path / "data.csv", postcode=["NA", "", *codes[2:]], y=VALUES)
    assert any("column 'postcode' is read as whole numbers, but written with zeros in front" in n for n in table.notes)


def test_the_same_word_in_many_columns_is_one_problem_that_one_option_settles(refused, run, tmp_path):
    rng = np.random.default_rng(0)
    columns = {f"m{j}": [f"{v:.2f}" for v in rng.uniform(0, 90, N)] for j in range(6)}
    for texts in columns.values():
        texts[3] = "Filtered"
    written(tmp_path / "data.csv", **columns, y=VALUES)
    message = refused("cluster", "data.csv", "-k", 2)
    assert "6 columns ('m0', 'm1', 'm2' and 3 more) hold 'Filtered', first in row 4, which is not a number." in message
    assert message.endswith("kernelweave cluster data.csv -k 2 --missing Filtered")
    code, out, _ = run("inspect", "data.csv")
    assert code == 2
    assert out.count("to be settled") == 6
    assert run("cluster", "data.csv", "-k", 2, "--missing", "Filtered")[0] == 0


def test_many_columns_with_a_word_that_is_a_category_elsewhere_are_named_one_by_one(refused, run, tmp_path):
    rng = np.random.default_rng(0)
    columns = {f"m{j}": ["low", *(f"{v:.2f}" for v in rng.uniform(0, 90, N - 1))] for j in range(6)}
    written(tmp_path / "data.csv", **columns, risk=["low", "high"] * (N // 2))
    message = refused("cluster", "data.csv", "-k", 2)
    assert message.count("holds 'low' in row 1") == 6
    assert "--missing m0=low --missing m1=low" in message
    named = [part for j in range(6) for part in ("--missing", f"m{j}=low")]
    assert run("cluster", "data.csv", "-k", 2, *named)[0] == 0


@pytest.mark.parametrize("n", [3, 5])
def test_what_is_said_of_many_columns_alike_is_said_once(tmp_path, n):
    texts = ["ND", "<0.5", *(f"{v:.2f} %" for v in abs(VALUES[2:]))]
    texts[1] += " %"
    table = written(tmp_path / "data.csv", **{f"m{j}": texts for j in range(n)}, y=["-", *VALUES[1:]])
    said = [note for note in table.notes if "'m0'" in note or "'m2'" in note]
    if n == 3:
        assert len(said) == 6
        assert any("1 cell of column 'm2' is taken as missing ('ND')" in note for note in said)
    else:
        names = "5 columns ('m0', 'm1', 'm2' and 2 more) are"
        assert len(said) == 3
        assert any(f"5 cells of {names} taken as missing ('ND')." in note for note in said)
        assert any(f"5 cells of {names} limits, read as 0.5 for '<0.5 %' (--limits chooses" in note for note in said)
        assert any(f": {names} read as numbers in %" in note for note in said)
    assert any("1 cell of column 'y' is taken as missing ('-')" in note for note in table.notes)


@pytest.mark.parametrize("row", [0, 30])
def test_a_row_of_other_words_in_all_columns_of_numbers_is_no_sample_and_no_option_makes_it_one(
    refused, run, tmp_path, row
):
    columns = {name: [f"{v + j:.2f}" for v in VALUES] for j, name in enumerate("abc")}
    for name, word in zip("abc", ["n", "mean", "deviation of it"], strict=True):
        columns[name][row] = word
    written(tmp_path / "data.csv", **columns, group=["x", "y"] * (N // 2))
    told = f"row {row + 1} (sample 'P{row}') holds words in all columns of numbers ('n', 'mean', 'deviation of it'):"
    assert told in (message := refused("cluster", "data.csv", "-k", 2))
    assert "--missing" not in message
    assert run("inspect", "data.csv")[1].count("to be settled") == 3


@pytest.mark.parametrize("words", [["BDL", "BDL"], ["BDL", "hemolysed"]])
def test_a_sample_with_words_that_others_have_too_is_settled_by_an_option(refused, run, tmp_path, words):
    columns = {name: [f"{v + j:.2f}" for v in VALUES] for j, name in enumerate("ab")}
    for name, word in zip("ab", words, strict=True):
        columns[name][3] = word
    columns["a"][9] = "BDL"
    written(tmp_path / "data.csv", **columns, y=VALUES if words[0] == words[1] else ["x", "y"] * (N // 2))
    assert "column 'a' holds 'BDL' in row 4, which is not a number." in refused("cluster", "data.csv", "-k", 2)
    named = [part for name, word in zip("ab", words, strict=True) for part in ("--missing", f"{name}={word}")]
    assert run("inspect", "data.csv", *named)[0] == 0


def test_infinite_values_in_many_columns_are_one_problem(refused, run, tmp_path):
    rng = np.random.default_rng(0)
    columns = {f"m{j}": ["1.5", "inf", *(f"{v:.2f}" for v in rng.uniform(0, 90, N - 2))] for j in range(6)}
    written(tmp_path / "data.csv", **columns, y=VALUES)
    assert "6 columns ('m0', 'm1', 'm2' and 3 more) have infinite values, first in row 2." in refused(
        "cluster", "data.csv", "-k", 2
    )
    assert run("cluster", "data.csv", "-k", 2, "--missing", "inf")[0] == 0


@pytest.mark.parametrize("texts", [["placebo", "0.5", "1.0", "2.5"], ["X", "Y", *map(str, range(1, 9))]])
def test_categories_with_numbers_in_them_are_still_categories(run, tmp_path, texts):
    written(tmp_path / "data.csv", kind=texts * (N // len(texts)), y=VALUES)
    code, out, _ = run("inspect", "data.csv")
    assert code == 0
    assert f"{len(texts)} different" in out


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_blanks_around_a_category_are_no_part_of_it(tmp_path, suffix):
    if suffix == "xlsx":
        pytest.importorskip("openpyxl")
    table = written(tmp_path / f"data.{suffix}", tissue=["lung", "lung ", "liver", " liver"] * 10, y=VALUES)
    assert set(table.frame["tissue"]) == {"lung", "liver"}


def test_names_and_ids_have_no_blanks_around_them_and_no_line_breaks(tmp_path):
    rows = "".join(f'"P{i}" , {v} , {v}\n' for i, v in enumerate(VALUES))
    (tmp_path / "data.csv").write_text(f'"id" , "weight\n(kg)" , "y "\n{rows}')
    table = read_table(tmp_path / "data.csv")
    assert (table.title, table.ids[:2]) == ("id", ["P0", "P1"])
    assert list(table.frame) == ["weight (kg)", "y"]
    assert table.units == {"weight (kg)": "kg"}


def test_groups_above_names_are_found_if_one_of_the_names_is_sodium(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["Study"], [], ["", "Blood", "", "Urine", ""], ["Patient", "Na", "K", "Na", "K"]):
        sheet.append(row)
    sheet.merge_cells("B3:C3")
    for i, v in enumerate(VALUES.tolist()):
        sheet.append([f"P{i}", v, v + 1, v + 2, v + 3])
    book.save(tmp_path / "data.xlsx")
    table = read_table(tmp_path / "data.xlsx")
    assert list(table.frame) == ["Blood Na", "Blood K", "Urine Na", "Urine K"]
    assert len(table.frame) == N


@pytest.mark.parametrize("form", ["%d-%b-%Y", "%d %B %Y", "%d-%b-%Y upper"])
def test_dates_with_names_of_months_are_dates(tmp_path, form):
    days = pd.Series(pd.date_range("2019-12-25", periods=N, freq="9D"))
    texts = days.dt.strftime(form.removesuffix(" upper"))
    texts = texts.str.upper() if form.endswith("upper") else texts
    table = written(tmp_path / "data.csv", day=texts, y=VALUES)
    assert table.frame["day"].tolist() == days.tolist()
    assert any(f"column 'day' is read as dates ({texts[0]!r})" in note for note in table.notes)


@pytest.mark.parametrize("texts", [["1-Foo-2020", "2-Bar-2020"], ["31-Feb-2020", "1-Jan-2020"], ["3 marches 2020"] * 2])
def test_other_words_between_numbers_are_no_months(tmp_path, texts):
    table = written(tmp_path / "data.csv", code=texts * (N // 2), y=VALUES)
    assert table.frame["code"].tolist()[:2] == texts


def test_whole_numbers_that_are_all_dates_get_a_hint(tmp_path):
    days = pd.date_range("2019-12-25", periods=N, freq="9D").strftime("%Y%m%d").astype(int)
    table = written(tmp_path / "data.csv", visit=days, y=VALUES)
    told = "column 'visit' is read as whole numbers, but all of them are dates (20191225 is 2019-12-25)"
    assert any(told in note for note in table.notes)
    table = written(tmp_path / "data.csv", cells=days + 60, y=VALUES)
    assert not any("are dates" in note for note in table.notes)


@pytest.mark.parametrize("form", ["%Y/%m/%d", "%Y/%m/%d %H:%M:%S"])
def test_dates_with_slashes_and_the_year_first_are_dates(tmp_path, form):
    days = pd.Series(pd.date_range("2021-03-01 10:15:00" if "%H" in form else "2021-03-01", periods=N, freq="9D"))
    table = written(tmp_path / "data.csv", day=days.dt.strftime(form), y=VALUES)
    assert table.frame["day"].tolist() == days.tolist()
    assert any("column 'day' is read as dates with the year first ('2021/03/01" in note for note in table.notes)


def test_categories_that_differ_in_capital_letters_only_get_a_hint(tmp_path):
    table = written(
        tmp_path / "data.csv", tissue=["Lung", "lung", "Liver", "liver"] * 10, sex=["f", "m"] * 20, y=VALUES
    )
    hints = [note for note in table.notes if "capital" in note]
    assert len(hints) == 1
    assert "column 'tissue' has categories that differ in small and capital letters only ('Lung', 'lung')" in hints[0]
    table = read_table(tmp_path / "data.csv", drop=["tissue"])
    assert not any("capital" in note for note in table.notes)


def test_numbers_that_are_written_with_zeros_in_front_get_a_note(tmp_path):
    codes = [f"{i * 37:05}" for i in range(N)]
    months = [f"{i % 12 + 1:02}" for i in range(N)]
    table = written(tmp_path / "data.csv", y=VALUES, postcode=codes, month=months, n=np.arange(100, 100 + N) * 3)
    notes = [note for note in table.notes if "zeros in front" in note]
    assert len(notes) == 1
    assert "column 'postcode' is read as whole numbers, but written with zeros in front ('00000')" in notes[0]
    assert '--drop "postcode"' in notes[0]
