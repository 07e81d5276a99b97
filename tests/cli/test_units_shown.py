"""Units that a file says are shown again: in inspect, features.csv and the report."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernelweave.explain import explain_clusters
from kernelweave.tabular import TableError, read_table


@pytest.fixture
def people():
    """Two groups of people that differ in all columns."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 30)
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(60)],
            "weight": (60 + 30 * group + rng.normal(size=60)).round(1),
            "height [cm]": (160 + 20 * group + rng.normal(size=60)).round(1),
            "income": 1000 + 500 * group + rng.integers(0, 50, 60),
        }
    )


def test_a_table_knows_the_units_of_its_columns(people, tmp_path):
    units = {"weight": "kg", "height [cm]": "cm"}
    path = tmp_path / "data.csv"
    path.write_text(people.to_csv(index=False).replace("\n", "\n,[kg],,\n", 1), encoding="utf-8")
    assert read_table(path).units == units
    assert read_table(path, drop=["weight"]).units == {"height [cm]": "cm"}
    people.assign(income=[f"{value} EUR" for value in people["income"]]).to_csv(path, index=False)
    assert read_table(path).units == {"height [cm]": "cm", "income": "EUR"}


@pytest.mark.parametrize("codes", [["5A", "5B", "6A", "6B"], ["1A", "1B", "2A", "3"], ["12a", "3b", "7C", "1d"]])
def test_numbers_with_different_letters_behind_them_are_categories(codes, people, tmp_path):
    people.assign(group=codes * 15).to_csv(tmp_path / "data.csv", index=False)
    table = read_table(tmp_path / "data.csv")
    assert table.frame["group"].tolist() == codes * 15
    assert "group" not in table.units


@pytest.mark.parametrize(
    "cells",
    [
        ["30s", "2h", "5m"],
        ["500g", "2l", "250g"],
        ["5V", "3A", "12V"],
        ["5 A", "3 V", "2 A"],
        ["1.5A", "3B", "2A"],
        ["1kg", "2g", "3g"],
    ],
)
def test_numbers_in_several_units_are_refused(cells, people, tmp_path):
    people.assign(group=cells * 20).to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(TableError, match="column 'group' has numbers in several units"):
        read_table(tmp_path / "data.csv")


@pytest.mark.parametrize("letter", ["A", "B", "M", "U"])
def test_numbers_with_one_letter_behind_them_may_be_codes_and_a_note_says_so(letter, people, tmp_path):
    path = tmp_path / "data.csv"
    people.assign(code=[f"{900 + i / 4}{letter}" for i in range(len(people))]).to_csv(path, index=False)
    (said,) = [note for note in read_table(path).notes if "column 'code'" in note]
    assert said.endswith('If these are codes, leave them out with --drop "code".')


@pytest.mark.parametrize(("name", "unit"), [("time", "s"), ("code", " A"), ("current [A]", "A"), ("code", "mA")])
def test_numbers_with_other_units_are_no_codes(name, unit, people, tmp_path):
    people.assign(**{name: [f"{900 + i / 4}{unit}" for i in range(len(people))]}).to_csv(
        tmp_path / "a.csv", index=False
    )
    assert not any("codes" in note for note in read_table(tmp_path / "a.csv").notes)


@pytest.mark.parametrize(("form", "unit"), [("CHF {}", "CHF"), ("EUR{}", "EUR"), ("{} INR", "INR"), ("SEK -{}", "SEK")])
def test_codes_of_currencies_before_and_behind_numbers_are_units(form, unit, people, tmp_path):
    values = [(i + 0.5) * (-1 if "-" in form else 1) for i in range(len(people))]
    cells = [form.format(abs(value)) for value in values]
    people.assign(price=cells, kind=["EURO 5", "EURO 6"] * (len(people) // 2)).to_csv(tmp_path / "a.csv", index=False)
    table = read_table(tmp_path / "a.csv")
    assert table.frame["price"].tolist() == values
    assert table.units["price"] == unit
    assert table.frame["kind"].tolist()[:2] == ["EURO 5", "EURO 6"]


@pytest.mark.parametrize("name", ["group (old)", "weight [", "[kg]", "stage (II)", "a (b) c"])
def test_brackets_in_a_name_that_hold_no_unit_are_none(name, tmp_path):
    pd.DataFrame({"id": ["a", "b", "c"], name: [1.5, 2.5, 3.5]}).to_csv(tmp_path / "data.csv", index=False)
    assert read_table(tmp_path / "data.csv").units == {}


def test_a_letter_in_the_name_of_a_column_of_words_is_no_unit(tmp_path):
    frame = pd.DataFrame({"content [A]": ["yes", "no", "no"], "current [A]": [1.5, 2.5, 0.5]})
    frame.to_csv(tmp_path / "data.csv", index=False)
    assert read_table(tmp_path / "data.csv").units == {"current [A]": "A"}


def test_units_are_in_features_and_report(run, people, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(people.to_csv(index=False).replace("\n", "\n,kg,,EUR\n", 1), encoding="utf-8")
    code, _, err = run("cluster", "data.csv", "-k", 2)
    assert code == 0, err
    features = pd.read_csv("data-clusters/features.csv").drop_duplicates("feature").set_index("feature")
    assert features["unit"].to_dict() == {"weight": "kg", "height [cm]": "cm", "income": "EUR"}
    page = Path("data-clusters/report.html").read_text(encoding="utf-8")
    median = people["weight"][:30].median()
    assert f"{median:.1f}\u00a0kg" in page
    assert "cm] cm" not in page  # the name says it already
    assert f"<strong>{people['income'][:30].median():.0f}\u00a0EUR</strong>" in page  # grouped from 10,000 on
    assert run("report", "data-clusters", "--force")[0] == 0
    assert f"{median:.1f}\u00a0kg" in Path("data-clusters/report.html").read_text(encoding="utf-8")


def test_units_of_views_are_told_apart(run, people, tmp_path):
    for view, unit in (("early", "kg"), ("late", "lb")):
        text = people[["id", "weight"]].to_csv(index=False).replace("\n", f"\n,{unit}\n", 1)
        (tmp_path / f"{view}.csv").write_text(text, encoding="utf-8")
    code, _, err = run("cluster", "early.csv", "late.csv", "-k", 2)
    assert code == 0, err
    features = pd.read_csv("early-clusters/features.csv").drop_duplicates("view").set_index("view")
    assert features["unit"].to_dict() == {"early": "kg", "late": "lb"}


def test_inspect_shows_units(run, people, tmp_path):
    (tmp_path / "data.csv").write_text(people.to_csv(index=False).replace("\n", "\n,kg,,\n", 1), encoding="utf-8")
    _, out, _ = run("inspect", "data.csv")
    assert f"{people['weight'].min():g} to {people['weight'].max():g} kg" in out
    columns = json.loads(run("inspect", "data.csv", "--json")[1])["views"]["data"]["columns"]
    assert [column["unit"] for column in columns] == ["kg", "cm", None]


def test_in_python_units_are_given_by_name(people):
    groups = np.repeat([0, 1], 30)
    table = people.drop(columns="id").assign(site=np.tile(["n", "s"], 30))
    plain = explain_clusters(groups, table).features
    assert "unit" not in plain
    told = explain_clusters(groups, table, units={"weight": "kg"})
    assert told.features.set_index("feature")["unit"].groupby(level=0).first().to_dict() == {
        "weight": "kg", "height [cm]": "", "income": ""
    }  # fmt: skip
    assert told.features.drop(columns="unit").equals(plain)
    assert type(told).from_json(told.to_json()).rows == told.rows


def test_a_unit_of_the_labels_is_not_one_of_the_features(run, people, tmp_path):
    labelled = people.assign(**{"stage [cm]": np.repeat([1, 2], 30)})
    labelled.to_csv(tmp_path / "data.csv", index=False)
    assert read_table(tmp_path / "data.csv").units["stage [cm]"] == "cm"
    code, _, err = run("classify", "data.csv", "--labels", "stage [cm]", "--out", "out")
    assert code == 0, err
    features = pd.read_csv("out/features.csv").drop_duplicates("feature").set_index("feature")
    assert features.loc["height [cm]", "unit"] == "cm"
    assert "stage [cm]" not in features.index
