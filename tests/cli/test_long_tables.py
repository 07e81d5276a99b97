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
