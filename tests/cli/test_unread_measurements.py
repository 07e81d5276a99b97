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
    columns = {name: column, "other": VALUES} if first else {"other": VALUES, name: column}
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
    assert f"column 'x' is read as numbers with a power of ten {first}" in " ".join(table.notes)


def test_powers_of_ten_may_stand_beside_other_numbers_and_have_a_decimal_comma(tmp_path):
    texts = [f"{v:.2f}".replace(".", ",") + "x10^3" * (i % 2) for i, v in enumerate(VALUES)]
    expected = [v * 1000 if i % 2 else v for i, v in enumerate(VALUES)]
    (tmp_path / "data.csv").write_text("x;y\n" + "".join(f"{t};{t}\n" for t in texts), encoding="utf-8")
    np.testing.assert_allclose(read_table(tmp_path / "data.csv").frame["x"], expected)


@pytest.mark.parametrize("form", ["{}D{}", "{}D-{}", "{}x{}", "{}x10", "{}d"])
def test_codes_that_look_like_powers_of_ten_stay_texts(tmp_path, form):
    texts = [form.format(i + 1, i % 7) for i in range(N)]
    assert not any("power of ten" in note for note in read(tmp_path, texts).notes)
