"""New files are compared with those of the fit: units that differ are refused, columns without use are named."""

import numpy as np
import pandas as pd
import pytest

import kernelweave
from kernelweave import WeaveClustering
from kernelweave.cli._against_fit import same_unit


@pytest.fixture
def people(run):
    """Write a table of two groups of people, and cluster it; return the table as numbers."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 30)
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(60)]})
    frame["weight"] = (60 + 30 * group + rng.normal(size=60)).round(1)
    frame["height"] = (1.6 + 0.2 * group + 0.01 * rng.normal(size=60)).round(2)
    frame["age (y)"] = 20 + 30 * group + rng.integers(0, 5, 60)
    in_units(frame, weight="kg", height="m").to_csv("data.csv", index=False)
    code, _, err = run("cluster", "data.csv", "-k", 2, "--out", "found")
    assert code == 0, err
    return frame


def in_units(frame, **units):
    return frame.assign(**{name: [f"{value} {unit}" for value in frame[name]] for name, unit in units.items()})


def test_a_model_knows_the_units_of_its_files(people):
    assert kernelweave.load("found/model.kw").file_reading_.units == {"weight": "kg", "height": "m", "age (y)": "y"}


def test_new_files_in_other_units_are_refused(people, refused):
    new = people.assign(weight=(people["weight"] * 2.205).round(1), height=(people["height"] * 100).round())
    in_units(new, weight="lb", height="cm").to_csv("new.csv", index=False)
    said = refused("predict", "found", "new.csv")
    assert "new.csv: column 'weight' is in lb, but the model was fitted on kg. Convert its numbers to kg." in said
    assert "new.csv: column 'height' is in cm, but the model was fitted on m." in said


def test_the_units_of_mixed_tables_are_compared_too(people, run, refused):
    mixed = people.assign(sex=np.tile(["f", "m"], 30))
    in_units(mixed, weight="kg").to_csv("data.csv", index=False)
    assert run("cluster", "data.csv", "-k", 2, "--out", "mixed")[0] == 0
    in_units(mixed, weight="lb").to_csv("new.csv", index=False)
    assert "column 'weight' is in lb, but the model was fitted on kg" in refused("predict", "mixed", "new.csv")


def test_a_file_without_any_column_of_a_mixed_model_is_refused_as_such(people, run, refused):
    people.assign(sex=np.tile(["f", "m"], 30)).to_csv("data.csv", index=False)
    assert run("cluster", "data.csv", "-k", 2, "--out", "mixed")[0] == 0
    people.assign(sex=np.tile(["f", "m"], 30)).to_csv("new.csv", index=False, header=False)
    said = refused("predict", "mixed", "new.csv", "--no-header")
    assert "new.csv: it has none of the columns that the model was fitted on ('weight', 'height', 'age (y)'" in said
    assert "its columns are '1', '2', '3' and 1 more." in said


def test_the_only_table_is_not_called_x_in_notes(people, run):
    people.assign(sex=np.tile(["f", "m"], 30)).to_csv("data.csv", index=False)
    assert run("cluster", "data.csv", "-k", 2, "--out", "mixed")[0] == 0
    people.assign(sex="f", extra=1.5).to_csv("new.csv", index=False)
    err = run("predict", "mixed", "new.csv")[2]
    assert "Note: The table: 1 column not seen in fit, and not used: 'extra'." in err


def test_the_units_of_every_view_are_its_own(people, run, refused):
    in_units(people, weight="kg").to_csv("one.csv", index=False)
    in_units(people, weight="lb").to_csv("two.csv", index=False)
    assert run("cluster", "one.csv", "two.csv", "-k", 2, "--out", "both")[0] == 0
    code, _, err = run("predict", "both", "one.csv", "two.csv")
    assert code == 0, err
    said = refused("predict", "both", "--view", "one=one.csv", "--view", "two=one.csv")
    assert "column 'weight' is in kg, but the model was fitted on lb" in said


def test_a_unit_that_only_one_of_the_files_says_is_named(people, run):
    people.to_csv("new.csv", index=False)
    code, _, err = run("predict", "found", "new.csv")
    assert code == 0, err
    assert "no unit was found for column 'weight': its numbers are taken as kg, as in the fit." in err
    assert "age" not in err
    WeaveClustering(2, random_state=0).fit(people.drop(columns="id")).save("python.kw")
    code, _, err = run("predict", "python.kw", "data.csv")
    assert code == 0, err
    assert "column 'weight' is in kg. No unit is known of the fit: it must be the same." in err
    assert "age" not in err


def test_the_same_unit_in_another_spelling_is_the_same(people, run):
    in_units(people, weight="KG", height="m").to_csv("new.csv", index=False)
    code, _, err = run("predict", "found", "new.csv")
    assert code == 0, err
    for one, other in (("lb", "lbs"), ("µg", "ug"), ("m2", "m²"), ("hours", "h"), ("years", "yrs")):
        assert same_unit(one, other)
    for one, other in (("m", "ms"), ("kg", "g"), ("m", "cm"), ("min", "mi")):
        assert not same_unit(one, other)


def test_columns_that_the_model_does_not_know_are_named(people, run):
    in_units(people.assign(mood=1, shoe=2), weight="kg", height="m").to_csv("new.csv", index=False)
    code, _, err = run("predict", "found", "new.csv")
    assert code == 0, err
    assert "new.csv: 2 columns that the model was not fitted on are not used: 'mood', 'shoe'." in err
    code, _, err = run("predict", "found", "data.csv")
    assert "not used" not in err


def test_units_are_compared_in_files_that_are_read_in_parts_too(people, run, refused):
    code, _, err = run("predict", "found", "data.csv", "--chunk-rows", 20)
    assert code == 0, err
    assert "unit" not in err
    in_units(people, weight="lb", height="m").to_csv("new.csv", index=False)
    said = refused("predict", "found", "new.csv", "--chunk-rows", 20)
    assert "column 'weight' is in lb, but the model was fitted on kg." in said


def test_files_that_no_view_of_the_model_is_called_like_are_refused_with_the_option(run, refused, table):
    for name, columns in (("one", ["name", "a", "b"]), ("two", ["name", "c", "d"])):
        table[columns].to_csv(f"{name}.csv", index=False)
        table[columns].to_csv(f"new_{name}.csv", index=False)
    assert run("cluster", "one.csv", "two.csv", "--id", "name", "-k", 3, "--out", "found")[0] == 0
    said = refused("predict", "found", "new_one.csv", "new_two.csv")
    assert "fitted on the views one, two, but the files hold new_one, new_two" in said
    assert "such as --view one=FILE" in said
    named = ("--view", "one=new_one.csv", "--view", "two=new_two.csv")
    assert run("predict", "found", *named, "--out", "labels.csv")[0] == 0
