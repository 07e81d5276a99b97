"""The decimal mark of a file: found where its numbers agree, and never against what they show."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.tabular import ReadOptions, TableError, read_table
from kernelweave.tabular.table_parts import table_parts

RNG = np.random.default_rng(0)
N = 60
WHOLE = RNG.integers(1, 99, N)
CLEAR = [f"{value:.2f}" for value in RNG.uniform(1, 9, N)]
THREE = [f"{value:.3f}" for value in RNG.uniform(0.1, 0.9, N)]
TENTHS = [f"{i % 7},{i % 9 + 1}" for i in range(N)]
PEOPLE = [f"{value:,}" for value in 10 * RNG.integers(200, 9000, N)]
MONEY = [f"{value:,.2f}" for value in RNG.uniform(1000, 9000, N)]


def read(tmp_path, columns, sep=",", **options):
    pd.DataFrame({"n": WHOLE, **columns}).to_csv(tmp_path / "data.csv", index=False, sep=sep)
    return read_table(tmp_path / "data.csv", **options)


def edited(texts, text, at=30):
    return [*texts[:at], text, *texts[at + 1 :]]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"c": THREE, "d": TENTHS}, rf"point .* in column 'c' \('{THREE[0]}' is {THREE[0]}\), but a comma .* 'd'"),
        ({"c": CLEAR, "d": TENTHS}, r"point .* in column 'c' .*, but a comma in column 'd' \('0,1' is 0\.1\)"),
        ({"c": edited(PEOPLE, "3,5")}, r"in column 'c' \('\d+,\d\d0' is \d+\), but a comma .* 'c' \('3,5'"),
        ({"c": MONEY, "d": TENTHS}, r"point seems to be its .* in column 'c' \('\d,\d{3}\.\d\d' is \d+\.\d\d\)"),
        ({"c": edited(CLEAR, "3,5")}, r"in column 'c' .*, but a comma in column 'c' \('3,5' is 3\.5\)"),
        ({"c": edited([t.replace(".", ",") for t in CLEAR], "3.5")}, r"in column 'c' \('3\.5' is 3\.5\), but a comma"),
        ({"c": CLEAR, "d": [f"1.{i + 100}.{i + 200}" for i in range(N)]}, r"'d' \('1\.100\.200' is 1100200\)"),
        ({"c": ["1.5e-3", "2.25e+4"] * 30, "d": ["1,123e5", "7,3"] * 30}, r"'d' \('1,123e5' is 1\.123e5\)"),
    ],
)  # fmt: skip
def test_numbers_with_different_decimal_marks_are_refused(tmp_path, columns, said):
    with pytest.raises(TableError, match=said):
        read(tmp_path, columns)
    with pytest.raises(TableError, match=said):
        read(tmp_path, columns, sep=";")


def test_the_mark_that_is_chosen_is_taken_and_the_other_numbers_stay_texts(tmp_path):
    columns = {"c": MONEY, "d": TENTHS}
    with pytest.raises(TableError, match="or say which it is") as error:
        read(tmp_path, columns)
    point, comma = error.value.problems[0].ways
    assert (point.options, comma.options) == ({"decimal": ".", "thousands": ","}, {"decimal": ","})
    frame = read(tmp_path, columns, **point.options).frame
    np.testing.assert_allclose(frame["c"], [float(text.replace(",", "")) for text in MONEY])
    assert frame["d"].tolist() == TENTHS
    frame = read(tmp_path, columns, **comma.options).frame
    assert frame["c"].tolist() == MONEY
    np.testing.assert_allclose(frame["d"], [float(text.replace(",", ".")) for text in TENTHS])


def test_no_thousands_begin_with_zero(tmp_path):
    frame = read(tmp_path, {"c": THREE, "d": TENTHS}, decimal=",", thousands=".").frame
    assert frame["c"].tolist() == THREE


def test_few_numbers_in_another_style_are_named(tmp_path):
    columns = {"c": edited(PEOPLE, "3,5")}
    with pytest.raises(
        TableError, match=r"'c' holds '3,5' in row 31, which is not a number if '\.' is the decimal mark"
    ) as e:
        read(tmp_path, columns, thousands=",")
    assert [way.options for way in e.value.problems[0].ways] == [{"missing": ("c=3,5",)}, {"drop": "c"}]
    assert read(tmp_path, columns, thousands=",", missing=["c=3,5"]).frame["c"].isna().sum() == 1
    assert read(tmp_path, columns, decimal=",").frame["c"][30] == 3.5


ADDRESSES = [f"192.168.101.{i + 100}" for i in range(N)]
VERSIONS = [f"1.{i + 100}.{i % 3 + 200}" for i in range(N)]
ANSWERS = ["1,2", "2,3", "1", "3", "1,4", "2,4"] * 10
MORE = ["1,2", "1,2,3", "2", "1,3", "2,3", "3"] * 10


@pytest.mark.parametrize(
    ("name", "texts"),
    [("host", ADDRESSES), ("version", VERSIONS), ("answers", ANSWERS), ("answers", MORE), ("day", ["31.12.2020"] * N)],
)
def test_columns_that_are_no_numbers_do_not_tell_the_mark(tmp_path, name, texts):
    frame = read(tmp_path, {"c": CLEAR, name: texts}).frame
    np.testing.assert_allclose(frame["c"], np.asarray(CLEAR, float))
    assert frame[name].dtype.kind not in "biuf"
    frame = read(tmp_path, {"c": [t.replace(".", ",") for t in CLEAR], name: texts}, sep=";").frame
    np.testing.assert_allclose(frame["c"], np.asarray(CLEAR, float))
    if texts is not ANSWERS:  # with a decimal comma, 1,2 is a number
        assert frame[name].dtype.kind not in "biuf"


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["5,040", "14,87", "148,7", "2,130"], [5.04, 14.87, 148.7, 2.13]),  # four digits each
        (["5,040", "0,512", "14,870", "1234,567"], [5.04, 0.512, 14.87, 1234.567]),  # three decimals each
        (["5,041", "3,5", "14,87", "2,2"], [5.041, 3.5, 14.87, 2.2]),  # no zeros at the end
        (["1.234,5", "12.500", "7", "1.000.000"], [1234.5, 12500, 7, 1000000]),
        (["1'234,5", "12 500", "7", "1 000 000,25"], [1234.5, 12500, 7, 1000000.25]),
        (["1,5e-3", "2,25e4", "3", "4,0"], [0.0015, 22500, 3, 4]),
    ],
)
def test_decimal_commas_are_still_read(tmp_path, texts, values):
    pd.DataFrame({"id": list("wxyz"), "c": texts}).to_csv(tmp_path / "data.csv", index=False, sep=";")
    np.testing.assert_allclose(read_table(tmp_path / "data.csv").frame["c"], values)


def test_a_rank_with_a_point_does_not_speak_against_decimal_commas(tmp_path):
    frame = read(tmp_path, {"c": TENTHS, "rank": [f"{i % 5}." for i in range(N)]}, sep=";").frame
    assert frame["c"].dtype.kind == "f"


def test_different_marks_are_refused_in_parts_too(tmp_path):
    pd.DataFrame({"c": CLEAR, "d": TENTHS}).to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(TableError, match="point seems to be its decimal mark in column 'c'"):
        list(table_parts(tmp_path / "data.csv", ReadOptions(), 20))


def test_fractions_of_another_column_tell_that_what_seem_thousands_are_fractions(tmp_path):
    dose = ["1,250", "2,500", "0,5", "1,375", "10,250", "2,125"] * 10
    found = read(tmp_path, {"a": [f"{5 + i},69" for i in range(60)], "dose": dose}, sep=";").frame
    assert found["dose"].tolist()[:3] == [1.25, 2.5, 0.5]
    assert found["a"].tolist()[:2] == [5.69, 6.69]


@pytest.mark.parametrize("codes", [["1.0", "1.1", "2.0"], ["8.30", "9.15", "12.45"], ["01.2021", "02.2021", "03.2022"]])
def test_codes_with_points_beside_decimal_commas_can_be_settled(run, codes):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(42, 2)).round(2), columns=["a", "b"]).astype(str)
    table = table.apply(lambda column: column.str.replace(".", ","))
    table.assign(release=codes * 14).to_csv("data.csv", sep=";", index=False)
    code, _, err = run("cluster", "data.csv", "-k", 2, "--decimal", ",", "--out", "found")
    assert code == 0, err
    assert "Column 'release' holds numbers with a decimal point" in err


def test_the_refusal_of_two_marks_offers_that_of_more_columns_first_and_it_settles_the_file(run, refused):
    fractions = [f"{i % 7},{i % 10}" for i in range(N)]
    pd.DataFrame({"a": fractions, "b": fractions[::-1], "v": ["1.0", "2.5"] * (N // 2)}).to_csv(
        "data.csv", sep=";", index=False
    )
    message = refused("cluster", "data.csv", "-k", 2)
    comma = "--decimal , (a comma is the decimal mark, as in 'a', 'b')"
    assert comma in message
    assert "--decimal . (a point is the decimal mark, as in 'v')" in message
    assert message.index(comma) < message.index("--decimal .")
    code, _, err = run("cluster", "data.csv", "-k", 2, "--decimal", ",")
    assert code == 0, err
    assert "Column 'v' holds numbers with a decimal point ('1.0')" in err


def test_points_that_may_be_of_thousands_are_no_fractions_beside_decimal_commas(run, refused):
    table = pd.DataFrame({"a": [f"{i % 7},{i % 10}" for i in range(N)], "v": [f"{i % 9 + 1}.000" for i in range(N)]})
    table.to_csv("data.csv", sep=";", index=False)
    message = refused("cluster", "data.csv", "-k", 2, "--decimal", ",")
    assert "column 'v' holds '1.000', which may be 1000: --decimal , does not say what the point is." in message
    assert "kernelweave cluster data.csv -k 2 --decimal , --thousands ." in message
    for given in ((), ("--decimal", ",", "--thousands", ".")):
        code, out, _ = run("inspect", "data.csv", *given)
        assert code == 0
        assert "1000 to 9000" in out
        assert "'.' separates thousands ('1.000')" in out


@pytest.mark.parametrize("sep", [",", ";"])
def test_thousands_as_in_india_are_thousands(tmp_path, sep):
    values = RNG.integers(10, 10**7, N).tolist()
    written = []
    for value in values:
        head, last = divmod(value, 1000)
        pairs = [f"{head // 100**i % 100:02}" for i in range(len(str(head)))][: (len(str(head)) + 1) // 2][::-1]
        written.append(f"{','.join(pairs).lstrip('0')},{last:03}.50" if head else f"{last}.50")
    table = read(tmp_path, {"c": written}, sep=sep)
    np.testing.assert_allclose(table.frame["c"], np.array(values) + 0.5)
