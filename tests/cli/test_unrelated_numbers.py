"""Numbers with few values to which nothing is related, such as a year: inspect, cluster and the report name them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

SAID = "no other column of the table is related to"


@pytest.fixture
def people():
    """Three groups that differ in eight columns, and a year that has nothing to do with them."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 40)
    frame = pd.DataFrame((rng.normal(size=(120, 8)) + 3 * group[:, None]).round(2), columns=list("abcdefgh"))
    return frame.assign(year=rng.choice([2018, 2019, 2020, 2021], 120), stage=group + rng.integers(0, 2, 120))


def test_inspect_names_numbers_with_few_values_that_are_related_to_nothing(run, people, tmp_path):
    people.to_csv(tmp_path / "data.csv", index=False)
    code, out, _ = run("inspect", "data.csv", "--json")
    assert code == 0
    (said,) = [note for note in json.loads(out)["views"]["data"]["notes"] if SAID in note]
    assert "column 'year' holds few different numbers" in said
    assert said.endswith('pass --drop "year".')
    assert SAID not in run("inspect", "data.csv", "--drop", "year")[1]


def test_cluster_and_its_report_name_them_and_the_clusters_stay_the_same(run, people, tmp_path):
    people.to_csv(tmp_path / "data.csv", index=False)
    code, _, err = run("cluster", "data.csv", "-k", 3)
    assert code == 0
    assert f"column 'year' holds few different numbers, and {SAID} it" in err
    assert "few different numbers" in Path("data-clusters/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.head(49),
        lambda frame: frame.drop(columns="year"),
        lambda frame: frame.assign(year=frame["year"] + frame["stage"]),
        lambda frame: frame.assign(year=np.random.default_rng(1).normal(size=120)),
        lambda frame: pd.DataFrame(np.random.default_rng(1).integers(0, 4, (120, 9)), columns=list("abcdefghi")),
    ],
    ids=["few samples", "none", "related", "measured", "all unrelated"],
)
def test_other_tables_get_no_such_note(run, people, tmp_path, change):
    change(people).to_csv(tmp_path / "data.csv", index=False)
    assert SAID not in run("inspect", "data.csv")[1]


def test_dates_categories_and_gaps_may_be_what_a_number_is_related_to(run, people, tmp_path):
    rng = np.random.default_rng(2)
    level = rng.integers(0, 4, 120)
    frame = people.assign(
        year=np.where(rng.random(120) < 0.1, np.nan, level),
        seen=pd.Timestamp("2020-01-01") + pd.to_timedelta(90 * level + rng.integers(0, 20, 120), unit="D"),
        kind=np.array(list("wxyz"))[level],
    )
    frame.to_parquet(tmp_path / "data.parquet")
    assert SAID not in run("inspect", "data.parquet")[1]
    frame.drop(columns=["seen", "kind"]).to_parquet(tmp_path / "data.parquet")
    assert SAID in run("inspect", "data.parquet")[1]
    frame.drop(columns="seen").to_parquet(tmp_path / "data.parquet")
    assert SAID not in run("inspect", "data.parquet")[1]
