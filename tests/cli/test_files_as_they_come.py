"""Files as people have them, read without any option: what a look at the file tells is found, and said."""

import codecs
import gzip
import io
import json
import zipfile
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
from scipy import io as matlab
from scipy import sparse

from kernelweave.tabular import ReadOptions, TableError, read_table
from kernelweave.tabular.table_parts import table_parts

HEIGHT = np.array([1.62, 1.75, 1.8, 1.58, 1.91, 1.7])
WEIGHT = np.array([55.5, 70.25, 82.0, 49.9, 101.3, 66.6])
IDS = ["s1", "s2", "s3", "s4", "s5", "s6"]
PEOPLE = pd.DataFrame({"id": IDS, "height": HEIGHT, "weight": WEIGHT})
NUMBERS = PEOPLE[["height", "weight"]]


@dataclass(frozen=True)
class Kind:
    """A kind of file: its name, how to write it, and what a person reads in it; None stands for anything."""

    name: str
    write: object  # text, bytes, or a function of the path
    columns: list[str] | None = None
    ids: list[str] | None = field(default=None)
    first: list[float] | None = None  # the first row
    said: tuple[str, ...] = ()
    n: int = 6


def text(frame=PEOPLE, **options):
    return frame.to_csv(index=False, **options)


def rows(head, values, sep=","):
    return "\n".join([head, *(sep.join(map(str, row)) for row in values)]) + "\n"


def packed(name, content, *more):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for other in (name, *more):
            archive.writestr(other, content)
    return target.getvalue()


BOTH = ["height", "weight"]
FIRST = [1.62, 55.5]
GERMAN = text(sep=";", decimal=",")
CITIES = PEOPLE.rename(columns={"id": "Städte"}).assign(Städte=["Köln", "Bonn", "Ulm", "Gera", "Hof", "Aue"])
CITY = CITIES["Städte"].tolist()

UNITS = text().replace("\n", "\n,m,kg\n", 1)


def excel_units(path):
    pytest.importorskip("openpyxl")
    pd.DataFrame([["id", "height", "weight"], ["", "m", "kg"], *PEOPLE.to_numpy().tolist()]).to_excel(
        path, index=False, header=False
    )


KINDS = [
    Kind("plain.csv", text(), BOTH, IDS, FIRST, ("the column 'id' holds the ids ('s1', 's2' ...)",)),
    Kind("numbers.csv", text(NUMBERS), BOTH, None, FIRST),
    Kind("bom.csv", text().encode("utf-8-sig"), BOTH, IDS, FIRST),
    Kind("excel16.csv", text(sep="\t").encode("utf-16"), BOTH, IDS, FIRST, ("encoded as UTF-16", "separated by tabs")),
    Kind("mark32.csv", text().encode("utf-32"), BOTH, IDS, FIRST, ("encoded as UTF-32",)),
    Kind("be32.csv", codecs.BOM_UTF32_BE + text().encode("utf-32-be"), BOTH, IDS, FIRST, ("encoded as UTF-32",)),
    Kind(
        "below32.csv",
        codecs.BOM_UTF32_BE + (text() + "Source: WHO 2020\n").encode("utf-32-be"),
        BOTH,
        IDS,
        FIRST,
        ("so it is left out ('Source: WHO 2020')",),
    ),
    Kind("le16.csv", text().encode("utf-16-le"), BOTH, IDS, FIRST, ("encoded as UTF-16-LE",)),
    Kind("latin.csv", text(CITIES).encode("latin-1"), BOTH, CITY, FIRST, ("read as latin-1: 'Städte'",)),
    Kind(
        "windows.csv",
        text(CITIES.assign(Städte=["“Köln”", *CITY[1:]])).encode("cp1252"),
        BOTH,
        ["“Köln”", *CITY[1:]],
        FIRST,
        ("read as cp1252",),
    ),
    Kind(  # neither UTF-8 nor Windows-1252, in which 0x81 is no character
        "neither.csv",
        text(CITIES).encode("cp1252").replace(b"K", b"\x81\x93K"),
        BOTH,
        [name.replace("K", "\x81\x93K") for name in CITY],
        FIRST,
        ("read as latin-1",),
    ),
    Kind("umlauts.csv", text(CITIES), BOTH, CITY, FIRST, ("the column 'Städte' holds the ids",)),
    Kind("german.csv", GERMAN, BOTH, IDS, FIRST, ("separated by semicolons", "a comma is the decimal mark ('1,62')")),
    Kind(
        "german-units.csv",
        rows("height;weight", [(f"{h}m", f"{w}kg") for h, w in NUMBERS.to_numpy()], ";").replace(".", ","),
        BOTH,
        None,
        FIRST,
        ("separated by semicolons", "column 'weight' is read as numbers in kg"),
    ),
    Kind(
        "german-exponents.csv",
        rows("height;weight", [(f"{h:.2e}", w) for h, w in NUMBERS.to_numpy()], ";").replace(".", ","),
        BOTH,
        None,
        FIRST,
        ("separated by semicolons", "a comma is the decimal mark"),
    ),
    Kind("german.txt", text(sep="\t", decimal=","), BOTH, IDS, FIRST, ("tabs", "a comma is the decimal mark")),
    Kind(
        "french.csv",
        text(NUMBERS * 1000, sep=";", decimal=",").replace("55500,0", "55 500,0").replace("1620,0", "1 620,0"),
        BOTH,
        None,
        [1620, 55500],
    ),
    Kind("tabs.tsv", text(sep="\t"), BOTH, IDS, FIRST),
    Kind("tabs.csv", text(sep="\t"), BOTH, IDS, FIRST, ("separated by tabs",)),
    Kind("pipes.txt", text(sep="|"), BOTH, IDS, FIRST, ("separated by pipes",)),
    Kind("spaces.txt", text(sep=" "), BOTH, IDS, FIRST, ("separated by spaces",)),
    Kind("aligned.txt", PEOPLE.to_string(index=False), BOTH, IDS, FIRST, ("separated by spaces",)),
    Kind("commas.txt", text(), BOTH, IDS, FIRST),
    Kind("hint.csv", "sep=;\n" + text(sep=";"), BOTH, IDS, FIRST, ("separated by semicolons",)),
    Kind("blanks.csv", text().replace(",", ", "), BOTH, IDS, FIRST),
    Kind("carriage.csv", text(lineterminator="\r\n"), BOTH, IDS, FIRST),
    Kind("packed.csv.gz", gzip.compress(text().encode()), BOTH, IDS, FIRST),
    Kind("packed.tsv.gz", gzip.compress(text(sep="\t").encode()), BOTH, IDS, FIRST),
    Kind("packed.csv.zip", packed("people.csv", text()), BOTH, IDS, FIRST),
    Kind("mac.zip", packed("people.tsv", text(sep="\t"), "__MACOSX/._people.tsv"), BOTH, IDS, FIRST),
    Kind("pandas.csv", NUMBERS.to_csv(), BOTH, list("012345"), FIRST, ("its first column has no name",)),
    Kind(
        "r.csv",
        rows('"height","weight"', zip(IDS, HEIGHT, WEIGHT, strict=True)),
        BOTH,
        IDS,
        FIRST,
        ("first column has no name",),
    ),
    Kind(
        "r.txt",
        rows('"height" "weight"', zip(IDS, HEIGHT, WEIGHT, strict=True), " "),
        BOTH,
        IDS,
        FIRST,
        ("spaces", "first column has no name"),
    ),
    Kind("bare.csv", text(NUMBERS, header=False), ["0", "1"], None, FIRST, ("it has no header",)),
    Kind(
        "bare-ids.csv", text(header=False), ["1", "2"], IDS, FIRST, ("it has no header", "the column '0' holds the ids")
    ),
    Kind(
        "counted.csv",
        text(pd.DataFrame(np.arange(24.0).reshape(6, 4) + 0.5)),
        list("0123"),
        None,
        [0.5, 1.5, 2.5, 3.5],
        ("with numbers as names",),
    ),
    Kind(
        "comments.csv",
        "# made by us\n# in 2024\n" + text(),
        BOTH,
        IDS,
        FIRST,
        ("2 lines before the table are left out",),
    ),
    Kind(
        "between.csv",
        text().replace("s3", "# a remark\ns3"),
        BOTH,
        IDS,
        FIRST,
        ("lines that begin with # are comments",),
    ),
    Kind(
        "hash-ids.csv",
        text(PEOPLE.assign(id=[f"#{i}" for i in IDS])).replace("#s3", "# a remark\n#s3"),
        BOTH,
        [f"#{i}" for i in IDS],
        FIRST,
        ("lines that begin with # and have not 3 entries are comments, so they are left out: 1 line.",),
    ),
    Kind("vcf.tsv", "##source=us\n#" + text(sep="\t"), BOTH, IDS, FIRST, ("its header begins with a comment mark",)),
    Kind("titled.csv", "Our measurements\n\n" + text(), BOTH, IDS, FIRST, ("2 lines before the table are left out",)),
    Kind("trailing.csv", "".join(line + ",\n" for line in text().splitlines()), BOTH, IDS, FIRST),
    Kind(
        "ragged-end.csv",
        "id,height,weight\n" + "".join(line + ",\n" for line in text().splitlines()[1:]),
        BOTH,
        IDS,
        FIRST,
    ),
    Kind("empty-rows.csv", text() + ",,\n,,\n", BOTH, IDS, FIRST, ("2 empty rows are left out",)),
    Kind(
        "empty-column.csv",
        text(PEOPLE.assign(note=None)),
        BOTH,
        IDS,
        FIRST,
        ("1 column without any entry left out: 'note'",),
    ),
    Kind("quoted-lines.csv", text(PEOPLE.assign(id=["two\nlines", *IDS[1:]])), BOTH, ["two\nlines", *IDS[1:]], FIRST),
    Kind(
        "quoted-commas.csv", text(PEOPLE.assign(id=[f"Doe, {i}" for i in IDS])), BOTH, [f"Doe, {i}" for i in IDS], FIRST
    ),
    Kind("zeros.csv", text(PEOPLE.assign(id=[f"00{i}" for i in range(6)])), BOTH, [f"00{i}" for i in range(6)], FIRST),
    Kind(
        "odd-ids.csv",
        text(PEOPLE.assign(id=["NA", "None", "-1", "null", "a", "b"])),
        BOTH,
        ["NA", "None", "-1", "null", "a", "b"],
        FIRST,
    ),
    Kind(
        "passengers.csv",
        text(PEOPLE.rename(columns={"id": "PassengerId"}).assign(PassengerId=range(11, 17))),
        BOTH,
        [str(i) for i in range(11, 17)],
        FIRST,
        ("the column 'PassengerId' holds the ids",),
    ),
    Kind(
        "later-id.csv",
        text(PEOPLE[["height", "weight", "id"]].rename(columns={"id": "sample_id"})),
        BOTH,
        IDS,
        FIRST,
        ("'sample_id' holds the ids",),
    ),
    Kind(
        "twice.csv",
        text().replace("height,weight", "size,size"),
        ["size", "size.1"],
        IDS,
        FIRST,
        ("several columns have the same name, so a number is added: 'size'",),
    ),
    Kind(
        "units.csv",
        text(PEOPLE.assign(weight=[f"{w} kg" for w in WEIGHT])),
        BOTH,
        IDS,
        FIRST,
        ("column 'weight' is read as numbers in kg ('55.5 kg' is 55.5)",),
    ),
    Kind(
        "unit_row.csv",
        UNITS,
        BOTH,
        IDS,
        FIRST,
        ("its second row holds units ('m', 'kg'), so it is not a sample", "the column 'id' holds the ids"),
    ),
    Kind("unit_row.tsv", UNITS.replace(",", "\t"), BOTH, IDS, FIRST, ("holds units ('m', 'kg')",)),
    Kind(
        "unit_row_german.csv", GERMAN.replace("\n", "\n-;[m];[kg]\n", 1), BOTH, IDS, FIRST, ("units ('[m]', '[kg]')",)
    ),
    Kind("unit_row_title.csv", "Study 12\n\n" + UNITS, BOTH, IDS, FIRST, ("holds units", "2 lines before the table")),
    Kind("unit_row_marked.csv", "#" + UNITS, BOTH, IDS, FIRST, ("holds units", "begins with a comment mark")),
    Kind("unit_row.xlsx", excel_units, BOTH, IDS, FIRST, ("holds units ('m', 'kg')",)),
    Kind(
        "totals.csv",
        text() + f"Total,{HEIGHT.sum():.2f},{WEIGHT.sum():.2f}\nMean,{HEIGHT.mean():.2f},{WEIGHT.mean():.2f}\n",
        BOTH,
        IDS,
        FIRST,
        ("'Total', 'Mean' at its end sum up the other rows, so they are left out",),
    ),
    Kind("percent.csv", text(PEOPLE.assign(weight=[f"{w}%" for w in WEIGHT])), BOTH, IDS, FIRST, ("numbers in %",)),
    Kind("money.csv", text(PEOPLE.assign(weight=[f"${w}" for w in WEIGHT])), BOTH, IDS, FIRST, ("numbers in $",)),
    Kind(
        "thousands.csv",
        text(PEOPLE.assign(weight=[f"{w * 1000:,.1f}" for w in WEIGHT])),
        BOTH,
        IDS,
        [1.62, 55500],
        ("',' separates thousands ('55,500.0')",),
    ),
    Kind("millions.csv", text(PEOPLE.assign(weight=[f"{int(w * 1e5):,}" for w in WEIGHT])), BOTH, IDS, [1.62, 5550000]),
    Kind(
        "swiss.csv",
        text(PEOPLE.assign(weight=[f"{int(w * 1e5):,}".replace(",", "'") for w in WEIGHT])),
        BOTH,
        IDS,
        [1.62, 5550000],
    ),
    Kind(
        "german-thousands.csv",
        rows("a;b", [("1.234.567", "3,5"), ("2.500.000", "4,25"), ("1.000", "0,5")], ";"),
        ["a", "b"],
        None,
        [1234567, 3.5],
        ("a comma is the decimal mark",),
        3,
    ),
    Kind(
        "german-points.csv",
        rows("a;b", [("1.234", "3,5"), ("2.500", "4,25"), ("7.000", "0,5")], ";"),
        ["a", "b"],
        None,
        [1234, 3.5],
        (),
        3,
    ),
    Kind("minus.csv", text(PEOPLE.assign(weight=[f"−{w}" for w in WEIGHT])), BOTH, IDS, [1.62, -55.5]),
    Kind("exponents.csv", text(PEOPLE.assign(weight=[f"{w:.4e}" for w in WEIGHT])), BOTH, IDS, FIRST),
    Kind("booleans.csv", text(PEOPLE.assign(weight=WEIGHT > 60)), BOTH, IDS),
    Kind("one-column.csv", text(NUMBERS[["height"]]), ["height"], None, [1.62]),
    Kind("x.parquet", lambda path: PEOPLE.to_parquet(path), BOTH, IDS, FIRST, ("the column 'id' holds the ids",)),
    Kind("index.parquet", lambda path: PEOPLE.set_index("id").to_parquet(path), BOTH, IDS, FIRST),
    Kind("x.feather", lambda path: PEOPLE.to_feather(path), BOTH, IDS, FIRST),
    Kind("x.xlsx", lambda path: PEOPLE.to_excel(path, index=False), BOTH, IDS, FIRST),
    Kind(
        "index.xlsx", lambda path: NUMBERS.set_axis(IDS).to_excel(path), BOTH, IDS, FIRST, ("first column has no name",)
    ),
    Kind("x.npy", lambda path: np.save(path, NUMBERS.to_numpy()), ["x[0]", "x[1]"], None, FIRST),
    Kind("x.npz", lambda path: np.savez(path, X=NUMBERS.to_numpy(), y=np.arange(6)), ["X[0]", "X[1]"], None, FIRST),
    Kind(
        "named.npz",
        lambda path: np.savez(path, X=NUMBERS.to_numpy(), ids=np.array(IDS), columns=np.array(BOTH)),
        BOTH,
        IDS,
        FIRST,
        ("the array 'ids' holds the ids",),
    ),
    Kind("sparse.npz", lambda path: sparse.save_npz(path, sparse.csr_array(NUMBERS.to_numpy())), None, None, FIRST),
    Kind(
        "x.mat",
        lambda path: matlab.savemat(path, {"fea": NUMBERS.to_numpy(), "gnd": np.arange(6)[:, None]}),
        ["fea[0]", "fea[1]"],
        None,
        FIRST,
    ),
]


def write(path, content):
    if callable(content):
        content(path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def test_there_are_more_than_forty_kinds_of_files():
    assert len({kind.name for kind in KINDS}) == len(KINDS) > 40


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_file_is_read_as_a_person_reads_it(tmp_path, kind):
    write(tmp_path / kind.name, kind.write)
    table = read_table(tmp_path / kind.name)
    assert len(table.frame) == kind.n
    assert table.ids == kind.ids
    assert kind.columns is None or list(table.frame) == kind.columns
    for words in kind.said:
        assert any(words in note for note in table.notes), table.notes
    assert all(column.dtype.kind in "biuf" for _, column in table.frame.items())
    assert not table.frame.isna().any(axis=None)
    if kind.first is not None:
        np.testing.assert_allclose(table.frame.iloc[0].to_numpy(float), kind.first, rtol=1e-12)


def test_the_command_line_reads_all_of_them_without_an_option(run, tmp_path):
    for kind in KINDS:
        write(tmp_path / kind.name, kind.write)
    for kind in KINDS:
        code, out, err = run("inspect", f"--view={kind.name}={kind.name}", "--json")
        assert code == 0, err
        view = json.loads(out)["views"][kind.name]
        assert (view["n_samples"], view["ids"]) == (kind.n, kind.ids)
        assert kind.columns is None or [column["name"] for column in view["columns"]] == kind.columns
        assert all(column["use"] == "feature" for column in view["columns"])
        assert all(any(words in note for note in view["notes"]) for words in kind.said)


@pytest.mark.parametrize(
    "units", ["cm,kg", "(cm),(kg/m2)", "years,mg/dL", "°C,10^9/L", ",mmHg", "count,beats/min", "log2,-", "%,foo"]
)
def test_a_row_of_units_below_the_header_is_no_sample(units, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(text(NUMBERS).replace("\n", f"\n{units}\n", 1), encoding="utf-8")
    found = read_table(path)
    assert len(found.frame) == 6
    assert found.frame.dtypes.astype(str).tolist() == ["float64", "float64"]
    assert any("its second row holds units" in note for note in found.notes)


@pytest.mark.parametrize("first", ["1.9,kg", "ND,ND", "?,?", "red,red", "s7,m"])
def test_a_first_row_that_is_no_row_of_units_stays(first, tmp_path):
    path = tmp_path / "data.csv"
    frame = PEOPLE[["id", "height"]] if first == "s7,m" else NUMBERS
    path.write_text(text(frame).replace("\n", f"\n{first}\n", 1), encoding="utf-8")
    found = read_table(path)
    assert len(found.frame) == 7
    assert not any("units" in note for note in found.notes)


def test_a_row_of_units_is_left_out_when_a_file_is_read_in_parts(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(UNITS, encoding="utf-8")
    parts = [table.frame["height"].tolist() for table in table_parts(path, ReadOptions(), 4)]
    assert parts == [HEIGHT[:4].tolist(), HEIGHT[4:].tolist()]


@pytest.mark.parametrize("last", ["Total,2.2,77.7", "MAX,2.5,30.1", "s7,10.36,425.55"])
def test_a_last_row_that_does_not_sum_up_the_others_is_a_sample(last, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(text() + last + "\n", encoding="utf-8")
    assert len(read_table(path).frame) == 7


def test_a_column_of_ids_with_a_repeated_entry_is_named(tmp_path):
    frame = pd.DataFrame({"patient": [f"p{i}" for i in range(20)], "height": np.arange(20.0)})
    frame.loc[7, "patient"] = "p3"
    path = tmp_path / "data.csv"
    path.write_text(text(frame), encoding="utf-8")
    found = read_table(path)
    assert found.ids is None
    assert any("'patient' has the name of an id column, but holds 'p3' again in row 8" in note for note in found.notes)


def test_a_short_row_within_the_table_is_refused(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(text().replace("s3,1.8,82.0", "s3"), encoding="utf-8")
    with pytest.raises(TableError, match="row 3 has 1 entry, but the header has 3"):
        read_table(path)


def test_dates_with_times_are_dates(tmp_path):
    path = tmp_path / "data.csv"
    stamps = [f"2024-01-0{i}T08:30:00Z" for i in range(1, 7)]
    path.write_text(text(PEOPLE.assign(seen=stamps)), encoding="utf-8")
    found = read_table(path)
    assert found.frame["seen"].tolist() == [pd.Timestamp(stamp).tz_localize(None) for stamp in stamps]
    assert any("column 'seen' is read as dates with times" in note for note in found.notes)
