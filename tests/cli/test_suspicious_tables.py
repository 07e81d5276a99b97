"""Notes about columns and rows that are most likely neither features nor samples."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.tabular import read_table


def notes_of(frame, path, **options):
    frame.to_parquet(path, index=False) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return " ".join(read_table(path, **options).notes)


@pytest.fixture
def numbered():
    """Return 30 samples with numbers from 1000001, in random order, beside two features."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"Kunden-Nr": 1000001 + rng.permutation(30), "a": rng.normal(size=30), "b": rng.normal(size=30)}
    )


@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
def test_a_column_that_numbers_the_rows_gets_a_hint(tmp_path, numbered, name):
    said = notes_of(numbered, tmp_path / name)
    assert "column 'Kunden-Nr' holds the numbers 1000001 to 1000030, each once." in said
    assert 'pass --id "Kunden-Nr" (id="Kunden-Nr" in Python)' in said
    assert "each once" not in notes_of(numbered, tmp_path / name, id="Kunden-Nr")
    assert "each once" not in notes_of(numbered, tmp_path / name, drop=["Kunden-Nr"])


def test_beside_names_of_the_samples_a_column_of_row_numbers_is_to_be_dropped(tmp_path, numbered):
    numbered.insert(0, "name", [f"s{i}" for i in range(30)])
    assert 'pass --drop "Kunden-Nr" (drop=["Kunden-Nr"] in Python)' in notes_of(numbered, tmp_path / "data.csv")


@pytest.mark.parametrize("change", ["gap", "twice", "fraction", "missing", "few"])
def test_other_columns_of_numbers_get_no_hint_as_row_numbers(tmp_path, numbered, change):
    column = numbered["Kunden-Nr"].sort_values().reset_index(drop=True).astype(float)
    column[4] = {
        "gap": column[29] + 1,
        "twice": column[3],
        "fraction": column[3] + 0.5,
        "missing": np.nan,
        "few": column[4],
    }[change]
    table = numbered.assign(**{"Kunden-Nr": column})[: 9 if change == "few" else 30]
    assert "each once" not in notes_of(table, tmp_path / "data.csv")


@pytest.fixture
def summed():
    """Return 20 samples and their sums below them."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(5, 1, 20).round(2), "b": rng.integers(1, 9, 20)})
    return pd.concat([table, table.sum().to_frame().T], ignore_index=True)


def test_a_last_row_of_sums_without_a_name_gets_a_hint(tmp_path, summed):
    told = "its last row holds the sums of the rows above it. If it is not a sample, remove it from the file."
    assert told in notes_of(summed, tmp_path / "data.csv")
    named = summed.assign(name=[*(f"s{i}" for i in range(20)), None])
    assert told in notes_of(named, tmp_path / "data.csv")
    assert len(read_table(tmp_path / "data.csv").frame) == 21


def test_a_last_row_of_sums_with_a_german_name_is_left_out(tmp_path, summed):
    summed.insert(0, "name", [*(f"s{i}" for i in range(20)), "Gesamtsumme"])
    assert "'Gesamtsumme' at its end sums up the other rows, so it is left out." in notes_of(
        summed, tmp_path / "data.csv"
    )


def sectioned(style, n=6):
    """Return three groups of samples, with a row of sums below each and below all of them."""
    rng = np.random.default_rng(0)
    parts, total = [], 0
    for group in "ABC":
        part = pd.DataFrame({"a": rng.normal(5, 1, n).round(2), "b": rng.integers(1, 9, n)})
        part.insert(0, "name", [f"{group}{i}" for i in range(n)])
        sums = part[["a", "b"]].sum()
        parts += [part, pd.DataFrame({"name": [style.format(group)], **sums.to_frame().T})]
        total = total + sums
    return pd.concat([*parts, pd.DataFrame({"name": ["Grand Total"], **total.to_frame().T})], ignore_index=True)


@pytest.mark.parametrize("style", ["Subtotal {}", "{} Total", "Sub-total: {}", "Zwischensumme {}", "Subtotal"])
def test_subtotals_in_the_middle_and_their_total_are_left_out(tmp_path, style):
    table = sectioned(style)
    assert "and 1 more are sums of rows above them, so they are left out." in notes_of(table, tmp_path / "data.csv")
    frame = read_table(tmp_path / "data.csv").frame
    assert len(frame) == 18
    mean = frame[["a", "b"]].mean().round(3)
    mean["name"] = "Mean"
    table.loc[len(table)] = mean
    assert "'Mean' at its end sums up the other rows" in notes_of(table, tmp_path / "data.csv")
    pd.testing.assert_frame_equal(read_table(tmp_path / "data.csv").frame, frame)


def test_rows_that_are_called_totals_but_sum_up_nothing_stay_with_a_note(tmp_path):
    table = sectioned("Subtotal {}")
    table.loc[6, "a"] += 1
    said = notes_of(table, tmp_path / "data.csv")
    assert "'Subtotal A' is called a sum, but is not the sum of the rows above it. If it is not a sample" in said
    assert len(read_table(tmp_path / "data.csv").frame) >= 19


def test_one_row_that_may_be_named_after_a_total_stays(tmp_path):
    table = pd.DataFrame({"name": ["direct", "indirect", "total iron", "zinc"], "a": [1, 2, 3, 9], "b": [4, 5, 9, 1]})
    assert "sum" not in notes_of(table, tmp_path / "data.csv")
    assert len(read_table(tmp_path / "data.csv").frame) == 4


def test_a_last_mean_below_categories_is_left_out(tmp_path, summed):
    table = summed[:20].assign(group=["x", "y"] * 10)[["group", "a", "b"]]
    table.loc[20] = ["Mean", *table[["a", "b"]].mean().round(3)]
    assert "'Mean' at its end sums up the other rows, so it is left out." in notes_of(table, tmp_path / "data.csv")
    assert len(read_table(tmp_path / "data.csv").frame) == 20


def test_a_last_sample_whose_category_is_a_word_for_a_statistic_stays(tmp_path):
    table = pd.DataFrame({"smoker": ["y", "n"] * 10, "score": [1, 2, 3, 1] * 5})
    assert "left out" not in notes_of(table, tmp_path / "data.csv")
    assert len(read_table(tmp_path / "data.csv").frame) == 20


@pytest.mark.parametrize("change", ["other number", "zero", "one column", "few rows"])
def test_other_last_rows_get_no_hint(tmp_path, summed, change):
    if change == "other number":
        summed.loc[20, "a"] += 0.1
    elif change == "zero":
        summed["a"] = 0.0
    elif change == "one column":
        summed = summed[["a"]]
    else:
        summed = pd.DataFrame({"a": [1, 2, 3, 6], "b": [2, 2, 4, 8]})
    assert "sums of the rows" not in notes_of(summed, tmp_path / "data.csv")


def test_infinite_and_huge_numbers_are_looked_at_without_a_warning(tmp_path):
    ends = np.tile([-np.inf, np.inf], 10)
    table = pd.DataFrame(
        {"a": ends, "b": np.full(20, np.inf), "c": np.full(20, 1e308), "d": np.tile([-1e308, 1e308], 10)}
    )
    assert notes_of(table, tmp_path / "data.csv") == ""


@pytest.mark.parametrize("name", ["species", "true_label", "Class", "target"])
@pytest.mark.parametrize("numbers", [False, True])
def test_a_feature_that_is_called_like_classes_gets_a_note(run, table, name, numbers):
    kind = table["kind"].factorize()[0] if numbers else table["kind"]
    table.drop(columns="kind").assign(**{name: kind}).to_csv("data.csv", index=False)
    code, _, err = run("cluster", "data.csv", "-k", 3)
    assert code == 0, err
    assert f"The name of column {name!r} suggests known classes. It is a feature" in err
    for option in ("--drop", "--metadata-columns"):
        code, _, err = run("cluster", "data.csv", "-k", 3, option, name, "--force")
        assert code == 0, err
        assert "known classes" not in err


def test_measurements_and_other_names_get_no_note_about_classes(run, table):
    table.rename(columns={"a": "target", "kind": "colour"}).to_csv("data.csv", index=False)
    _, _, err = run("cluster", "data.csv", "-k", 3)
    assert "known classes" not in err


@pytest.mark.parametrize("name", ["batch", "Plate", "run_id", "Site", "centre", "SeqRun", "flow cell", "instrument"])
@pytest.mark.parametrize("numbers", [False, True])
def test_a_feature_that_is_called_like_a_batch_gets_a_note(run, table, name, numbers):
    kind = table["kind"].factorize()[0] if numbers else table["kind"]
    table.drop(columns="kind").assign(**{name: kind}).to_csv("data.csv", index=False)
    code, _, err = run("cluster", "data.csv", "-k", 3)
    assert code == 0, err
    assert f"The name of column {name!r} suggests batches" in err
    for option in ("--drop", "--metadata-columns"):
        assert f'{option} "{name}"' in err
        code, _, said = run("cluster", "data.csv", "-k", 3, option, name, "--force")
        assert code == 0, said
        assert "suggests batches" not in said


@pytest.mark.parametrize("name", ["run", "center", "chip", "runtime", "primary_site", "platelets"])
def test_measurements_and_other_names_get_no_note_about_batches(run, table, name):
    measured = name in ("run", "center", "chip")
    table.rename(columns={"a" if measured else "kind": name}).to_csv("data.csv", index=False)
    code, _, err = run("cluster", "data.csv", "-k", 3)
    assert code == 0, err
    assert "suggests batches" not in err


def test_rows_that_are_only_named_like_totals_stay(tmp_path):
    names = ["Direct bilirubin", "Indirect bilirubin", "Total bilirubin", "Albumin", "Globulin", "Total protein", "Na"]
    rows = np.random.default_rng(0).uniform(1, 9, size=(7, 6)).round(2)
    rows[2], rows[5] = rows[0] + rows[1], rows[3] + rows[4]
    table = pd.DataFrame(rows, columns=[f"p{i}" for i in range(6)])
    table.insert(0, "analyte", names)
    notes_of(table, tmp_path / "data.csv")
    assert read_table(tmp_path / "data.csv").ids == names


def test_rows_of_zeros_are_no_sums(tmp_path):
    rows = [
        ["S1", 0, 0],
        ["S2", 0, 0],
        ["Subtotal", 0, 0],
        ["S4", 1, 2],
        ["S5", 4, 1],
        ["Subtotal B", 5, 3],
        ["S7", 9, 9],
    ]
    notes_of(pd.DataFrame(rows, columns=["name", "a", "b"]), tmp_path / "data.csv")
    assert read_table(tmp_path / "data.csv").ids == ["S1", "S2", "Subtotal", "S4", "S5", "S7"]


def test_means_near_zero_and_other_statistics_at_the_end_are_left_out(tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
    table = ((table - table.mean()) / table.std()).round(3)
    table.insert(0, "name", [f"s{i}" for i in range(40)])
    numbers = table[["a", "b"]]
    for name in ("mean", "std", "sem"):
        table.loc[len(table)] = [name.upper(), *getattr(numbers, name)().round(2)]
    assert "'MEAN', 'STD', 'SEM' at its end sum up the other rows" in notes_of(table, tmp_path / "data.csv")
    assert len(read_table(tmp_path / "data.csv").frame) == 40


def test_the_statistics_that_pandas_describes_a_table_with_are_left_out(tmp_path, summed):
    table = summed[:20].set_index(pd.Index([f"s{i}" for i in range(20)], name="name"))
    described = pd.concat([table, table.describe().round(4).rename(index={"75%": "75th percentile"})])
    described.rename_axis("name").reset_index().to_csv(tmp_path / "data.csv", index=False)
    read = read_table(tmp_path / "data.csv")
    assert read.ids == list(table.index)
    told = "'count', 'mean', 'std', 'min', '25%', '50%', '75th percentile', 'max' at its end sum up the other rows"
    assert any(told in note for note in read.notes)


@pytest.mark.parametrize(
    "statistics",
    [
        {"Mittelwert": "mean", "Stabw": "std", "Anzahl": "count"},
        {"Mean": "mean", "Std. Dev.:": "std", "%CV": lambda column: 100 * column.std() / column.mean()},
        {"Moyenne": "mean", "Écart-type": lambda column: column.std(ddof=0), "Médiane": "median"},
    ],
)
def test_statistics_as_spreadsheets_call_them_are_left_out(tmp_path, summed, statistics):
    table = summed[:20].assign(name=[f"s{i}" for i in range(20)])[["name", "a", "b"]]
    for name, how in statistics.items():
        table.loc[len(table)] = [name, *summed[:20].agg(how).round(3)]
    assert "at its end sum up the other rows, so they are left out." in notes_of(table, tmp_path / "data.csv")
    assert len(read_table(tmp_path / "data.csv").frame) == 20


@pytest.mark.parametrize(("names", "said"), [(["Mean", "Stabw"], True), (["Mean"], True), (["Max"], False)])
def test_last_rows_that_are_called_statistics_but_are_none_stay_with_a_note(tmp_path, summed, names, said):
    table = summed[:20].assign(name=[f"s{i}" for i in range(20)])[["name", "a", "b"]]
    for name in names:
        table.loc[len(table)] = [name, 77.7, 55.5]
    told = notes_of(table, tmp_path / "data.csv")
    assert ("at its end" in told and "remove" in told) is said
    assert len(read_table(tmp_path / "data.csv").frame) == 20 + len(names)


@pytest.mark.parametrize("names", [["Q1", "Q2", "Q3"], ["mean", "range", "se"]])
def test_samples_that_are_named_like_statistics_stay(tmp_path, summed, names):
    table = summed[:20].assign(name=[f"s{i}" for i in range(20)])[["name", "a", "b"]]
    table.loc[17:, "name"] = names
    notes_of(table, tmp_path / "data.csv")
    assert len(read_table(tmp_path / "data.csv").frame) == 20


def test_durations_are_read_beside_numbers(tmp_path):
    table = pd.DataFrame({"a": np.arange(40.0), "t": pd.to_timedelta(np.arange(40), unit="h")})
    notes_of(table, tmp_path / "data.parquet")
    assert read_table(tmp_path / "data.parquet").frame["t"].dtype.kind == "m"


@pytest.mark.parametrize("dates", [["1-Mar", "2-Sep"], ["01. Dez"], ["Mar-03"], ["2024-03-01 00:00:00", "2024-09-02"]])
def test_names_of_genes_that_a_spreadsheet_made_dates_get_a_hint(tmp_path, dates):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 4)), columns=list("abcd"))
    names = [*dates, *(f"GENE{i}" for i in range(200 - len(dates)))]
    said = notes_of(frame.assign(gene=names)[["gene", *"abcd"]], tmp_path / "data.csv")
    assert f"({', '.join(map(repr, dates))}), and the others are not. If these are genes" in said


def test_samples_that_are_named_by_dates_get_no_hint_about_genes(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 4)), columns=list("abcd"))
    days = pd.date_range("2024-01-01", periods=200).strftime("%Y-%m-%d")
    assert "genes" not in notes_of(frame.assign(id=days)[["id", *"abcd"]], tmp_path / "data.csv")


def test_names_of_columns_that_occur_twice_in_a_workbook_are_told(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [["id", "a", None, "id", "b"], *([f"s{i}", i / 7, None, f"s{i}", i % 5] for i in range(12))]:
        book.active.append(row)
    book.save(tmp_path / "data.xlsx")
    said = "several columns have the same name, so a number is added: 'id'"
    assert any(said in note for note in read_table(tmp_path / "data.xlsx").notes)
