"""Columns of measurements that are written in ways which are read, or get a note since they are not."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.tabular import read_table

N = 40
VALUES = (np.random.default_rng(0).integers(100, 999, N) / 100).tolist()


def read(folder, texts, *, first=False, name="x", suffix=".csv"):
    """Write a column beside one of numbers, and return the table."""
    column = pd.Series(list(texts), dtype=object)
    columns = {name: column, "other": VALUES} if first else {"other": VALUES, name: column, "more": VALUES}
    frame, path = pd.DataFrame(columns), folder / f"data{suffix}"
    frame.to_excel(path, index=False) if suffix == ".xlsx" else frame.to_csv(path, index=False)
    return read_table(path)


@pytest.mark.parametrize(
    "form", ["{}x10^-5", "{} x 10^-5", "{} × 10^−5", "{}*10^-5", "{}·10^(-5)", "{}*10**-5", "{}D-05", "{}d-5"]
)
def test_powers_of_ten_and_the_exponents_of_fortran_are_numbers(tmp_path, form):
    texts = [form.format(f"{v:.2f}") for v in VALUES]
    table = read(tmp_path, texts)
    np.testing.assert_allclose(table.frame["x"], np.array(VALUES) * 1e-5)
    first = f"({texts[0]!r} is {VALUES[0] * 1e-5:g})"
    assert f"column 'x' is read as numbers {first}" in " ".join(table.notes)


def test_powers_of_ten_may_stand_beside_other_numbers_and_have_a_decimal_comma(tmp_path):
    texts = [f"{v:.2f}".replace(".", ",") + "x10^3" * (i % 2) for i, v in enumerate(VALUES)]
    expected = [v * 1000 if i % 2 else v for i, v in enumerate(VALUES)]
    (tmp_path / "data.csv").write_text("x;y\n" + "".join(f"{t};{t}\n" for t in texts), encoding="utf-8")
    np.testing.assert_allclose(read_table(tmp_path / "data.csv").frame["x"], expected)


@pytest.mark.parametrize("form", ["{}D{}", "{}D-{}", "{}x{}", "{}x10", "{}d"])
def test_codes_that_look_like_powers_of_ten_stay_texts(tmp_path, form):
    texts = [form.format(i + 1, i % 7) for i in range(N)]
    assert not any("read as numbers (" in note for note in read(tmp_path, texts).notes)


def hints(table):
    return " ".join(note for note in table.notes if "not read as" in note)


WRITTEN = {  # how a number is written, and what the hint calls it
    "{v:.1f} ± 0.3": "numbers with an uncertainty",
    "{v:.1f}+/-0.3": "numbers with an uncertainty",
    "{v:.1f}(0.3)": "numbers with others in parentheses",
    "{v:.1f} [{v:.1f}-{v:.1f}]": "numbers with others in parentheses",
    "{k:02}/12/98": "dates",
    "{k}.12.2020 10:15": "dates",
    "{k:02}-12-98": "dates",
    "Dec {k}, 2020": "dates",
    "8:{k:02}": "times or ratios",
    "{k}:30 PM": "times or ratios",
    "1:{k}0": "times or ratios",
    "{k}0-{k}9": "ranges",
    "1{k}/8{k}": "pairs of numbers",
    "{v:.2f}*": "numbers with a sign behind them",
    "{v:.2f} furlongs": "numbers with a unit",
}


@pytest.mark.parametrize(("form", "kind"), WRITTEN.items(), ids=WRITTEN)
def test_measurements_that_stay_texts_get_a_hint_with_an_example(tmp_path, form, kind):
    texts = [form.format(v=v, k=i % 28 + 1) for i, v in enumerate(VALUES)]
    said = hints(read(tmp_path, texts))
    assert f"column 'x' seems to hold {kind} ({texts[0]!r}), which are not read as" in said
    assert 'or leave it out with --drop "x"' in said
    assert not hints(read_table(tmp_path / "data.csv", drop=["x"]))


def test_times_of_survival_some_of_which_have_a_plus_get_a_hint(run, tmp_path):
    texts = [f"{i * 7 % 61}{'' if i % 3 else '+'}" for i in range(N)]
    assert "column 'x' seems to hold numbers with a sign behind them ('0+')" in hints(read(tmp_path, texts))
    _, _, said = run("cluster", tmp_path / "data.csv", "-k", "2", "--out", tmp_path / "out")
    assert "'x': it seems to hold numbers with a sign behind them ('0+'), which are not read" in said
    assert "write the numbers alone, and the signs in another column" in said
    assert "so it names the samples" not in said


def test_a_workbook_that_mixes_dates_with_texts_of_dates_gets_a_hint(tmp_path):
    days = pd.date_range("2020-01-01", periods=N).to_pydatetime().tolist()
    said = hints(
        read(tmp_path, [f"{d.day}.{d.month}.2020" if i % 2 else d for i, d in enumerate(days)], suffix=".xlsx")
    )
    assert "column 'x' seems to hold dates ('2020-01-01 00:00:00')" in said
    assert "Write all of them as 2020-12-31" in said


def test_a_word_among_dates_is_named(tmp_path):
    said = hints(read(tmp_path, [f"2020-03-{i % 28 + 1:02}" if i else "pending" for i in range(N)]))
    assert "seems to hold dates ('2020-03-02', beside 'pending'), which are not read as dates" in said


def test_names_of_samples_that_look_like_ranges_are_told_how_to_be_ids(run, tmp_path):
    texts = [f"{i + 1}-{i + 50}" for i in range(N)]
    assert 'If it names the samples, pass --id "x"' in hints(read(tmp_path, texts, first=True))
    assert not hints(read_table(tmp_path / "data.csv", id="x"))


def test_several_columns_of_one_kind_are_one_hint(tmp_path):
    frame = pd.DataFrame({name: [f"{v} ± 1" for v in VALUES] for name in "abcd"}).assign(other=VALUES)
    frame.to_csv(tmp_path / "data.csv", index=False)
    said = hints(read_table(tmp_path / "data.csv"))
    assert "columns 'a', 'b', 'c' and 1 more seem to hold numbers with an uncertainty" in said
    assert 'or leave them out with --drop "a" --drop "b" --drop "c" ...' in said


@pytest.mark.parametrize(
    "form",
    ["{i}-A", "A{i}", "{w}+", "{i}R", "1.{i}.2", "{i}-0{w}", "{i} Main Street", "10.0.0.{i}", "{w}", "{i}-{w}", "v{i}",
     "{w} rooms", "{i}p{i}.1", "note {i}", "{i}_{w}"],
)  # fmt: skip
def test_codes_grades_and_names_get_no_hint_that_they_are_measurements(tmp_path, form):
    roads = ["Main Street", "High Road", "Lane"]
    texts = [form.format(i=i + 10, w=i % 3 + 1).replace("Main Street", roads[i % 3]) for i in range(N)]
    assert not hints(read(tmp_path, texts))


@pytest.mark.parametrize("last", ["{v:.1f} (0.3)", "{v:.1f} 3.5"])
def test_blanks_in_a_column_of_measurements_do_not_separate_columns(tmp_path, last):
    rows = "".join(f"{v},{v}1,{last.format(v=v)}\n" for v in VALUES)
    (tmp_path / "data.csv").write_text(f"a,b,x\n{rows}")
    table = read_table(tmp_path / "data.csv")
    assert list(table.frame) == ["a", "b", "x"]
    assert table.ids is None


@pytest.mark.parametrize("form", ["'{}'", "'{}", "' {} '"])
@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_numbers_in_single_quotes_are_numbers(tmp_path, form, suffix):
    table = read(tmp_path, [form.format(v) for v in VALUES], suffix=suffix)
    np.testing.assert_allclose(table.frame["x"], VALUES)
    assert f"is {VALUES[0]:g})" in " ".join(table.notes)


def test_names_and_codes_with_single_quotes_stay_texts(tmp_path):
    assert read(tmp_path, ["'A1'", "'A2'"] * 20).frame["x"].tolist() == ["'A1'", "'A2'"] * 20
    assert read(tmp_path, ["5'", "6'11"] * 20).frame["x"].tolist() == ["5'", "6'11"] * 20


def test_a_table_of_which_no_column_is_used_is_refused_with_the_reason_of_each(refused, tmp_path):
    frame = pd.DataFrame({"a": [f"'A{i}'" for i in range(N)], "b": [f"{v} ± 1" for v in VALUES], "c": 1.0})
    frame.to_csv(tmp_path / "data.csv", index=False)
    said = " ".join(refused("cluster", tmp_path / "data.csv", "-k", 2).split())
    assert "it has no column that tells samples apart" in said
    assert "'b': it seems to hold numbers with an uncertainty" in said
    assert "'c': it is constant" in said


@pytest.mark.parametrize(("form", "order"), [("{d:02}-{m:02}-{y}", "day"), ("{m}-{d}-{y}", "month")])
def test_dates_with_dashes_and_the_year_last_are_dates(tmp_path, form, order):
    days = pd.date_range("2020-01-01", periods=N, freq="9D")
    table = read(tmp_path, [form.format(d=d.day, m=d.month, y=d.year) for d in days])
    assert table.frame["x"].tolist() == days.tolist()
    assert f"column 'x' is read as dates with the {order} first" in " ".join(table.notes)


def test_dates_with_dashes_of_which_nothing_tells_days_from_months_get_a_hint(tmp_path):
    said = " ".join(read(tmp_path, [f"0{i % 9 + 1}-0{i % 7 + 1}-2020" for i in range(N)]).notes)
    assert "nothing tells days from months" in said
    assert "not read as" not in said


def test_codes_with_dashes_are_no_dates(tmp_path):
    texts = [f"{i % 40 + 1}-{i % 11}-{1000 + i * 97}" for i in range(N)]
    assert read(tmp_path, texts).frame["x"].tolist() == texts


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%d.%m.%Y"])
def test_dates_that_are_read_get_no_hint(run, tmp_path, form, suffix):
    days = pd.date_range("2021-01-01", periods=N, freq="9D")
    table = read(tmp_path, days.strftime(form), suffix=suffix)
    assert not any("not read as" in note for note in table.notes)
    code, out, err = run("inspect", tmp_path / f"data{suffix}")
    assert code == 0, err
    assert "not read as" not in out
    assert any(line.split()[:2] == ["x", "date"] for line in out.splitlines())
