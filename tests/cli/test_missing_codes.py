"""Zeros and negative codes that most likely stand for missing cells: a hint, and never a change."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.tabular import read_table


def hints(frame, path):
    frame.to_csv(path, index=False)
    return [note for note in read_table(path).notes if "stands for missing" in note]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def with_zeros(values, rng, share=0.2):
    return np.where(rng.random(len(values)) < share, 0, values)


def intensities(n, rng):
    return rng.lognormal(18, 1, n).round()


def log_intensities(n, rng):
    return rng.normal(25, 2, n).round(3)


def blood_pressures(n, rng):
    return rng.integers(60, 120, n)


@pytest.mark.parametrize("measured", [intensities, log_intensities, blood_pressures])
def test_zeros_far_from_all_other_numbers_get_a_hint_and_are_not_changed(tmp_path, rng, measured):
    values = with_zeros(measured(80, rng), rng)
    n = int((values == 0).sum())
    (hint,) = hints(pd.DataFrame({"a": values, "b": rng.normal(size=80)}), tmp_path / "data.csv")
    assert f"column 'a' holds 0 in {n} cells, and no other number near 0" in hint
    assert 'pass --missing "a=0"' in hint
    assert (read_table(tmp_path / "data.csv").frame["a"] == 0).sum() == n
    assert read_table(tmp_path / "data.csv", missing=["a=0"]).frame["a"].isna().sum() == n


def test_zeros_in_many_columns_are_one_hint_that_takes_none_of_the_others(tmp_path, rng):
    frame = {f"LFQ intensity {i}": with_zeros(intensities(60, rng), rng) for i in range(6)}
    (hint,) = hints(pd.DataFrame({**frame, "Missed cleavages": rng.integers(0, 3, 60)}), tmp_path / "data.csv")
    assert "columns 'LFQ intensity 0', 'LFQ intensity 1', 'LFQ intensity 2' and 3 more hold 0 in" in hint
    assert '--missing "NAME=0" for each, or --missing 0 if it does so everywhere' in hint


ORDINARY = {
    "counts": lambda rng: rng.negative_binomial(2, 0.05, 200),
    "large counts": lambda rng: rng.negative_binomial(1, 0.002, 200),
    "amounts": lambda rng: with_zeros(rng.exponential(size=200), rng),
    "shares": lambda rng: with_zeros(rng.uniform(size=200), rng),
    "yes and no": lambda rng: rng.integers(0, 2, 200),
    "grades": lambda rng: with_zeros(rng.integers(4, 9, 200), rng),
    "both signs": lambda rng: with_zeros(rng.normal(size=200) * 1e6, rng),
    "one zero": lambda rng: np.append(rng.normal(120, 9, 199), 0),
    "mostly zeros": lambda rng: with_zeros(rng.normal(120, 9, 200), rng, 0.7),
}


@pytest.mark.parametrize("kind", ORDINARY)
def test_ordinary_zeros_get_no_hint(tmp_path, rng, kind):
    assert hints(pd.DataFrame({"a": ORDINARY[kind](rng), "b": rng.normal(size=200)}), tmp_path / "data.csv") == []


def test_a_few_of_many_columns_with_zeros_get_no_hint(tmp_path, rng):
    frame = {f"word {i}": with_zeros(rng.exponential(size=90), rng) for i in range(60)}
    frame["word 7"] = with_zeros(log_intensities(90, rng), rng)
    assert hints(pd.DataFrame(frame), tmp_path / "data.csv") == []


@pytest.mark.parametrize("code", [-9, -99, -8])
def test_the_only_negative_number_gets_a_hint_if_it_is_a_usual_code(tmp_path, rng, code):
    age = np.where(np.arange(60) % 7 == 0, code, rng.integers(18, 90, 60))
    (hint,) = hints(pd.DataFrame({"age": age, "x": rng.normal(size=60)}), tmp_path / "data.csv")
    assert f"column 'age' holds {code} in 9 rows, far from its other values" in hint


def test_one_of_several_negative_numbers_gets_no_hint(tmp_path, rng):
    frame = pd.DataFrame({"change": np.append(rng.integers(-8, 30, 58), [-9, -9])})
    assert hints(frame.assign(x=rng.normal(size=60)), tmp_path / "data.csv") == []
