"""Rows that sum up others, in files that are read in parts: they are found as in a file that is read as a whole."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernelweave import WeaveClustering
from kernelweave.tabular import ReadOptions, read_table
from kernelweave.tabular.table_parts import table_parts

ROWS = [1, 2, 7, 20, 30, 31, 32, 1000]


@pytest.fixture
def samples():
    """30 samples with a name and two numbers."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(5, 1, 30).round(2), "b": rng.integers(1, 90, 30).astype(float)})
    frame.insert(0, "name", [f"s{i}" for i in range(30)])
    return frame


def ended(frame, *statistics):
    """Return a table with rows of statistics below it, each called what it is."""
    numbers = frame[["a", "b"]]
    rows = [[name, *getattr(numbers, name.lower())().round(3)] for name in statistics]
    return pd.concat([frame, pd.DataFrame(rows, columns=["name", "a", "b"])], ignore_index=True)


def sectioned(frame):
    """Return a table of three sections with a row of sums below each, and one below all of them."""
    parts = []
    for k in range(3):
        part = frame[10 * k : 10 * k + 10]
        parts += [part, pd.DataFrame({"name": [f"Subtotal {k}"], **part[["a", "b"]].sum().to_frame().T})]
    total = pd.DataFrame({"name": ["Grand Total"], **frame[["a", "b"]].sum().to_frame().T})
    return pd.concat([*parts, total], ignore_index=True)


def told(notes):
    """Return the notes about sums."""
    return [note for note in notes if " sum" in note]


def in_parts(table, rows, path="data.csv"):
    table.to_csv(path, index=False)
    return list(table_parts(Path(path), ReadOptions(), rows))


def check_alike(table, rows):
    """Compare a table in parts with the whole, and return the notes about sums of both."""
    parts = in_parts(table, rows)
    whole = read_table("data.csv")
    pd.testing.assert_frame_equal(pd.concat([part.frame for part in parts], ignore_index=True), whole.frame)
    assert [name for part in parts for name in part.ids or ()] == (whole.ids or [])
    assert [part.start for part in parts] == np.cumsum([0, *(len(part.frame) for part in parts)])[:-1].tolist()
    return told(whole.notes), told(note for part in parts for note in part.notes)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("ending", [("Sum",), ("Sum", "Mean", "Std", "Count"), ("Min", "Max", "SEM", "Var")])
def test_statistics_at_the_end_are_left_out_of_the_last_part(monkeypatch, tmp_path, samples, ending, rows):
    monkeypatch.chdir(tmp_path)
    whole, parts = check_alike(ended(samples, *ending), rows)
    assert parts == whole
    assert "at its end sum" in parts[0]


@pytest.mark.parametrize("rows", ROWS)
def test_subtotals_and_their_total_are_left_out_of_all_parts(monkeypatch, tmp_path, samples, rows):
    monkeypatch.chdir(tmp_path)
    table = sectioned(samples)
    _, parts = check_alike(table, rows)
    said = " ".join(parts)
    assert "left out" in said
    assert "called a sum, but" not in said


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", ["Total", "Mean", "n"])
def test_a_last_sample_that_is_only_called_a_statistic_stays_in_parts(monkeypatch, tmp_path, samples, name, rows):
    monkeypatch.chdir(tmp_path)
    samples.loc[29, "name"] = name
    whole, parts = check_alike(samples, rows)
    assert parts == whole
    assert len(whole) == (name == "Total")


@pytest.mark.parametrize("rows", ROWS)
def test_categories_that_are_words_for_statistics_stay_in_parts(monkeypatch, tmp_path, samples, rows):
    monkeypatch.chdir(tmp_path)
    table = samples.assign(name=["y", *["n"] * 29], a=2.0, b=3.0)
    assert check_alike(table, rows) == ([], [])


@pytest.mark.parametrize("rows", ROWS)
def test_a_last_row_of_sums_without_a_name_gets_the_hint_in_parts(monkeypatch, tmp_path, samples, rows):
    monkeypatch.chdir(tmp_path)
    table = ended(samples, "Sum").drop(columns="name")
    whole, parts = check_alike(table, rows)
    assert parts == whole
    assert "its last row holds the sums of the rows above it" in parts[0]


def test_a_part_that_is_not_the_last_is_not_taken_for_the_end(monkeypatch, tmp_path, samples):
    monkeypatch.chdir(tmp_path)
    table = pd.concat([ended(samples[:10], "Mean"), samples[10:]], ignore_index=True)
    assert check_alike(table, 11) == ([], [])


@pytest.mark.parametrize("table", ["median", "part sums"])
def test_rows_that_only_the_whole_file_tells_are_refused_in_parts(refused, tmp_path, samples, table):
    WeaveClustering(2, random_state=0).fit(samples[["a", "b"]]).save(tmp_path / "model.kw")
    new = ended(samples, "Median") if table == "median" else sectioned(samples)
    new["name"] = new["name"].str.replace(r"Subtotal (\d)", r"\1 Total", regex=True)
    new.to_csv(tmp_path / "new.csv", index=False)
    message = refused("predict", "model.kw", "new.csv", "--out", "found.csv", "--chunk-rows", 12, "--quiet")
    named = "Median" if table == "median" else "0 Total"
    assert f"new.csv: the row '{named}' may sum up other rows, which cannot be told while the file" in message
    assert "--chunk-rows 0" in message


def test_a_row_of_quartiles_is_refused_in_parts_and_left_out_of_a_whole_file(run, tmp_path, samples):
    WeaveClustering(2, random_state=0).fit(samples[["a", "b"]]).save(tmp_path / "model.kw")
    rows = samples[["a", "b"]].quantile([0.25, 0.75]).round(3).assign(name=["25%", "75%"])
    pd.concat([samples, rows]).to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run("predict", "model.kw", "new.csv", "--out", "found.csv", "--chunk-rows", 12)
    assert code == 2
    assert "the row '25%' may sum up other rows, which cannot be told while the file is read in parts." in err
    assert run("predict", "model.kw", "new.csv", "--out", "found.csv", "--chunk-rows", 0)[0] == 0
    assert len(pd.read_csv("found.csv")) == len(samples)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("rows", [7, 30, 1000])
def test_a_row_of_totals_is_not_predicted_from_a_file_in_parts(run, tmp_path, samples, kind, rows):
    WeaveClustering(2, random_state=0).fit(samples[["a", "b"]]).save(tmp_path / "model.kw")
    new = ended(samples, "Sum").replace("Sum", "Total")
    new.to_csv(tmp_path / "new.csv", index=False)
    new.to_parquet(tmp_path / "new.parquet")
    _, whole, _ = run("predict", "model.kw", f"new.{kind}", "--quiet")
    code, parts, err = run("predict", "model.kw", f"new.{kind}", "--chunk-rows", rows)
    assert code == 0, err
    assert parts == whole
    assert "Total" not in parts
    assert "'Total' at its end sums up the other rows, so it is left out" in err
