"""First rows that are samples: files without a header, whatever the numbers look like, with gaps or categories."""

import numpy as np
import pytest

from kernelweave.tabular import TableError, read_table

RNG = np.random.default_rng(3)
NUMBERS = RNG.uniform(10, 90, (24, 3)).round(1)


def written(path, rows, sep=","):
    path.write_text("".join(f"{sep.join(row)}\n" for row in rows), encoding="utf-8")
    return path


def rows_of(form, ids=True):
    return [[f"s{i}"] * ids + [form(x) for x in row] for i, row in enumerate(NUMBERS)]


FORMS = {
    "german": lambda x: f"{x}".replace(".", ","),
    "percent": lambda x: f"{x} %",
    "unit": lambda x: f"{x}kg",
    "currency": lambda x: f"${x}",
    "text": lambda x: f"'{x}'",
}


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_a_first_row_of_numbers_in_another_writing_is_a_sample(tmp_path, form, ids):
    table = read_table(written(tmp_path / "data.csv", rows_of(FORMS[form], ids), ";"))
    np.testing.assert_allclose(table.frame, NUMBERS)
    assert table.ids == ([f"s{i}" for i in range(24)] if ids else None)
    assert any("it has no header" in note for note in table.notes)


@pytest.mark.parametrize("gap", ["", "NA", "?", "-"])
@pytest.mark.parametrize("places", [(1,), (1, 2), (1, 2, 3)])
def test_a_first_row_with_missing_cells_is_a_sample(tmp_path, gap, places):
    rows = rows_of(str)
    for j in places:
        rows[0][j] = gap
    table = read_table(written(tmp_path / "data.csv", rows))
    assert table.ids == [f"s{i}" for i in range(24)]
    assert table.frame.isna().sum().sum() == len(places)
    np.testing.assert_allclose(table.frame[1:], NUMBERS[1:])


def test_a_first_row_of_a_workbook_with_missing_cells_is_a_sample(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for i, row in enumerate(NUMBERS.tolist()):
        book.active.append([f"s{i}", *([None] if i == 0 else row[:1]), *row[1:]])
    book.save(tmp_path / "data.xlsx")
    table = read_table(tmp_path / "data.xlsx")
    assert table.ids == [f"s{i}" for i in range(24)]
    assert table.frame.isna().sum().sum() == 1


@pytest.mark.parametrize("ids", [True, False])
def test_a_first_row_of_categories_that_occur_again_is_a_sample(tmp_path, ids):
    rows = [[f"s{i}"] * ids + ["mf"[i % 2], "xyz"[i % 3], "red"] for i in range(24)]
    table = read_table(written(tmp_path / "data.csv", rows))
    assert len(table.frame) == 24
    assert not any("repeat the header" in note for note in table.notes)


def test_a_header_whose_names_are_the_answers_below_it_is_a_header(tmp_path):
    ticked = [[name if (i >> j) % 2 else "" for j, name in enumerate(("tea", "milk", "water"))] for i in range(1, 24)]
    table = read_table(written(tmp_path / "data.csv", [["tea", "milk", "water"], *ticked]))
    assert list(table.frame) == ["tea", "milk", "water"]


NAMES = {
    "other units": (["1 mg", "2 mg", "5 mg"], str),
    "a unit above numbers with another": (["1 d", "2 d", "7 d"], lambda x: f"{x} kg"),
    "dates": (["01.03.2024", "02.03.2024", "03.03.2024"], str),
    "sodium": (["Na", "K", "Ca"], str),
    "sodium and gaps": (["Na", "", "Ca"], str),
}


@pytest.mark.parametrize("case", NAMES)
def test_names_that_are_not_written_like_the_numbers_below_are_a_header(tmp_path, case):
    names, form = NAMES[case]
    table = read_table(written(tmp_path / "data.csv", [["name", *names], *rows_of(form)]))
    assert len(table.frame) == 24
    assert [name for name in names if name] == [name for name in table.frame if "Unnamed" not in name]


@pytest.mark.parametrize("first", [[], ["sample"], [""]])
def test_names_that_all_go_up_or_down_are_a_header(tmp_path, first):
    lengths = [f"{400 + 2.5 * j}" for j in range(9)]
    rows = [[f"{i}" for _ in first] + [f"{x:.3f}" for x in RNG.normal(1, 0.2, 9)] for i in range(24)]
    table = read_table(written(tmp_path / "spectra.csv", [[*first, *lengths], *rows]))
    assert [name for name in table.frame if name != "sample"] == lengths
    assert len(table.frame) == 24


def test_curves_that_all_go_up_have_no_header(tmp_path):
    rows = [[f"{x:.3f}" for x in np.cumsum(RNG.uniform(0.1, 1, 9))] for _ in range(24)]
    assert len(read_table(written(tmp_path / "curves.csv", rows)).frame) == 24


def test_fractions_below_no_name_may_be_a_header_or_a_sample(tmp_path):
    rows = [["", "0.5", "1.5"], *([f"{i}", f"{i}.5", "2"] for i in range(24))]
    with pytest.raises(TableError, match=r"it may be a header or a sample.*header=False.*header=True"):
        read_table(written(tmp_path / "data.csv", rows))


def test_a_few_names_in_equal_steps_are_a_header(tmp_path):
    rows = [[f"{x:.3f}" for x in RNG.normal(1, 0.2, 5)] for _ in range(24)]
    table = read_table(written(tmp_path / "times.csv", [["0.0", "0.5", "1.0", "1.5", "2.0"], *rows]))
    assert list(table.frame) == ["0.0", "0.5", "1.0", "1.5", "2.0"]
    assert len(read_table(written(tmp_path / "data.csv", [["0.0", "0.5", "1.1", "1.5", "2.0"], *rows])).frame) == 25


def test_names_that_are_chosen_in_all_columns_may_be_a_header_or_a_sample(tmp_path):
    rows = [["A", "B", "C"], *([RNG.choice(list("ABC")) for _ in range(3)] for _ in range(24))]
    with pytest.raises(TableError, match=r"texts that occur again below it \('A', 'B', 'C'\), .*header=False.*=True"):
        read_table(written(tmp_path / "data.csv", rows))
