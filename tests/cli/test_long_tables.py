"""Long tables in which a measurement occurs twice."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.tabular import TableError, read_table


@pytest.fixture
def measurements():
    """Return 12 samples with 10 genes each as a long table, whose row 58 repeats the pair of row 4."""
    frame = pd.DataFrame(
        {"sample": np.repeat([f"s{i}" for i in range(12)], 10), "gene": [f"g{i}" for i in range(10)] * 12}
    )
    frame["count"] = np.random.default_rng(0).integers(0, 500, 120)
    frame.loc[57, ["sample", "gene"]] = ["s0", "g3"]
    return frame


def test_a_long_table_with_a_repeated_pair_is_refused_without_being_asked(tmp_path, measurements):
    measurements.to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(TableError, match=r"as a long table it has 's0' and 'g3' again in row 58: .* wide=True"):
        read_table(tmp_path / "data.csv")
    assert len(read_table(tmp_path / "data.csv", wide=True).frame) == 120


def test_a_hint_at_a_long_table_names_the_pair_that_is_repeated(tmp_path, measurements):
    told = "--long 'who' 'what' 'much' (long= in Python). It has 's0' and 'g3' again in row 58: keep one row then"
    measurements.set_axis(["who", "what", "much"], axis=1).to_csv(tmp_path / "data.csv", index=False)
    assert any(told in note for note in read_table(tmp_path / "data.csv").notes)


def test_a_table_that_repeats_many_pairs_gets_a_hint_only_if_its_names_say_that_it_is_long(tmp_path, measurements):
    twice = pd.concat([measurements, measurements.assign(count=1)])
    twice.to_csv(tmp_path / "data.csv", index=False)
    table = read_table(tmp_path / "data.csv")
    assert len(table.frame) == 240
    assert any("it looks like a long table" in note for note in table.notes)
    twice.set_axis(["site", "treatment", "yield"], axis=1).to_csv(tmp_path / "data.csv", index=False)
    assert not any("long table" in note for note in read_table(tmp_path / "data.csv").notes)


@pytest.fixture
def laboratory():
    """Return 24 samples with 3 analytes each as a long table with units, and groups of the samples."""
    analytes, units = ["Glucose", "Natrium", "CRP"], ["mmol/L", "mmol/L", "mg/L"]
    frame = pd.DataFrame({"Probe": np.repeat([f"P{i}" for i in range(24)], 3), "Analyt": analytes * 24})
    frame["Wert"] = np.random.default_rng(0).uniform(1, 9, 72).round(1)
    return frame.assign(Einheit=units * 24, Arm=np.repeat(["a", "b"] * 12, 3))


@pytest.mark.parametrize("columns", [["Einheit"], ["Arm"], ["Einheit", "Arm"]])
def test_a_long_table_with_units_or_groups_gets_a_hint(tmp_path, laboratory, columns):
    path = tmp_path / "data.csv"
    laboratory[["Probe", "Analyt", "Wert", *columns]].to_csv(path, index=False)
    assert any("pass --long 'Probe' 'Analyt' 'Wert' (long= in Python)" in note for note in read_table(path).notes)
    table = read_table(path, long=("Probe", "Analyt", "Wert"))
    assert table.frame.shape == (24, 3)
    assert any("its other columns are left out: " in note for note in table.notes)


def test_a_long_table_in_which_a_variable_has_several_units_is_refused(tmp_path, laboratory):
    path = tmp_path / "data.csv"
    laboratory.loc[3, "Einheit"] = "mg/dL"
    laboratory.to_csv(path, index=False)
    assert any("pass --long 'Probe' 'Analyt' 'Wert'" in note for note in read_table(path).notes)
    with pytest.raises(TableError, match=r"'Glucose' has several units in the column 'Einheit' \('mmol/L', 'mg/dL'\)"):
        read_table(path, long=("Probe", "Analyt", "Wert"))


def test_a_table_of_categories_beside_a_number_gets_no_hint_that_it_is_long(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.choice(list(letters), 60) for name, letters in (("a", "mf"), ("b", "wxyz"))})
    frame.assign(x=rng.normal(size=60), c=rng.choice(list("uvw"), 60)).to_csv(tmp_path / "data.csv", index=False)
    assert not any("long table" in note for note in read_table(tmp_path / "data.csv").notes)
