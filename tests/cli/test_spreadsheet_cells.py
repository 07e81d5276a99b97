"""Cells that a spreadsheet would run as formulas are guarded in every CSV file that commands write."""

import csv as csvlib
import json

import pandas as pd
import pytest

NAMES = ["=1+1", "+cmd", "-x", "@sum", "\tx", "\rx", "'quoted", "''=twice", "-1.5", "plain"]
SAFE = ["'=1+1", "'+cmd", "'-x", "'@sum", "'\tx", "'\rx", "'quoted", "'''=twice", "-1.5", "plain"]


def cells(text):
    return list(csvlib.reader(text.splitlines(keepends=True)))


@pytest.fixture
def hostile(table, tmp_path):
    """A table whose first ids look like formulas, and the only class of whose red samples as well."""
    table.loc[: len(NAMES) - 1, "name"] = NAMES
    table["kind"] = table["kind"].replace("red", "=HYPERLINK(1)")
    path = tmp_path / "data.parquet"
    table.to_parquet(path)
    return path


def written(path):
    with path.open(newline="") as file:
        return list(csvlib.reader(file))


def test_ids_and_labels_that_look_like_formulas_are_guarded(run, hostile, tmp_path):
    code, _, err = run("classify", hostile, "--id", "name", "--labels", "kind")
    assert code == 0, err
    rows = written(tmp_path / "data-classes" / "labels.csv")
    assert [row[0] for row in rows[1 : len(SAFE) + 1]] == SAFE
    assert "'=HYPERLINK(1)" in {row[1] for row in rows}
    assert not [cell for row in rows for cell in row if cell[0] in "=+@\t\r"]


def test_guarded_ids_are_read_back(run, hostile, tmp_path):
    run("cluster", hostile, "--id", "name", "--drop", "kind", "-k", 3)
    code, _, err = run("report", "data-clusters", "--force")
    assert code == 0, err
    page = (tmp_path / "data-clusters" / "report.html").read_text()
    assert json.dumps(NAMES[:4])[1:-1].replace(", ", ",") in page
    assert '"\'=1+1"' not in page


def test_predictions_are_guarded_in_a_file_and_on_the_screen_but_not_in_json(run, hostile, tmp_path):
    run("cluster", hostile, "--id", "name", "--drop", "kind", "-k", 3)
    _, shown, _ = run("predict", "data-clusters", hostile, "--id", "name", "--quiet")
    assert [row[0] for row in cells(shown)[1:5]] == SAFE[:4]
    run("predict", "data-clusters", hostile, "--id", "name", "--out", "new.csv")
    assert [row[0] for row in written(tmp_path / "new.csv")[1 : len(SAFE) + 1]] == SAFE
    _, shown, _ = run("predict", "data-clusters", hostile, "--id", "name", "--quiet", "--json")
    assert [row["id"] for row in json.loads(shown)][: len(NAMES)] == NAMES


def test_views_that_look_like_formulas_are_guarded_in_the_weights(run, table, tmp_path):
    table[["name", "a", "b"]].to_csv("one.csv", index=False)
    table[["name", "c", "d"]].to_csv("two.csv", index=False)
    run("cluster", "--view", "@one=one.csv", "--view", "two=two.csv", "--id", "name", "-k", 3, "--out", "found")
    weights = pd.read_csv(tmp_path / "found" / "weights.csv")
    assert set(weights["view"]) == {"'@one", "two"}
    assert weights["kernel"].str.startswith("@").sum() == 0
