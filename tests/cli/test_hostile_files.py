"""Files that cannot be read as they are: one message lists all that is wrong, with commands that can be copied."""

import builtins
import gzip
import json
import lzma
import shlex
import struct
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import io as matlab
from scipy import sparse

from kernelweave.errors import InvalidInputError, MissingPackageError, NotEnoughMemoryError
from kernelweave.tabular import TableError, read_table

REFUSED = {
    "one field too many": ("data.csv", "a,b\n1,2\n3,4,5\n6,7\n", ["row 2 has 3 entries, but the header has 2"]),
    "several rows are wrong": (
        "data.csv",
        "a,b,c\n1,2,3\n4,5,6\n4,5\n1,2,3\n1,2,3,4\n7,8,9\n" + "1,2,3\n" * 9,
        ["row 3 has 2 entries, row 5 has 4 entries, but the header has 3"],
    ),
    "a file that was cut off": (
        "data.csv",
        "id,b,c\ns1,2,3\ns2,5,7\ns3\n",
        ["row 3 has 1 entry, but the header has 3"],
    ),
    "ids that repeat": (
        "data.csv",
        "id,a\nx,1\ny,2\nx,3\n",
        ["the column 'id' has the name of an id column, but holds 'x' again in row 3", "--drop id"],
    ),
    "numbered ids that repeat later": (
        "data.csv",
        "id,a\n" + "".join(f"{i},{i / 7}\n" for i in range(200)) + "7,1.5\n",
        ["the column 'id' has the name of an id column, but holds '7' again in row 201", "--drop id"],
    ),
    "an empty file": ("data.csv", "", ["data.csv is empty"]),
    "blank lines": ("data.csv", "\n\n  \n", ["data.csv is empty"]),
    "only a header": ("data.csv", "a,b\n", ["data.csv holds no rows"]),
    "only comments": ("data.csv", "# nothing\n# here\n", ["data.csv holds only comments"]),
    "several units": (
        "data.csv",
        "id,w\na,12 kg\nb,340 g\nc,5 kg\n",
        ["column 'w' has numbers in several units: kg in row 1 and g in row 2", "--drop w"],
    ),
    "a unit in some cells": ("data.csv", "w,v\n12 kg,1\n34,2\n", ["kg in row 1 and no unit in row 2"]),
    "one number among limits": (
        "data.csv",
        "id,c,d\na,<0.5,1\nb,<0.5,2\nc,2,4\n",
        ["column 'c' holds '<0.5' in row 1", "--drop c"],
    ),
    "numbers or a header": (
        "data.csv",
        "3,7\n1,2\n5,6\n",
        ["may be a header or a sample", "cluster data.csv -k 2 --no-header", "cluster data.csv -k 2 --header"],
    ),
    "fractions or thousands": (
        "data.tsv",
        "a\tb\n1,234\t5\n2,500\t6\n",
        ["'1,234' may be 1.234 or 1234", "data.tsv -k 2 --decimal ,", "data.tsv -k 2 --thousands ,"],
    ),
    "points of thousands": (
        "data.csv",
        "a;b\n1.234;5\n2.500;6\n",
        ["'1.234' may be 1.234 or 1234", "data.csv -k 2 --decimal .", "data.csv -k 2 --thousands ."],
    ),
    "two separators": (
        "data.csv",
        "p|q;r\nx|y;z\nu|v;w\n",
        ["may be separated by", "--sep ';'", "--sep '|'"],
    ),
    "a workbook called csv": ("data.csv", b"PK\x03\x04" + bytes(99), ["is not text but a zip or Excel file"]),
    "lines in quotes": (
        "data.csv",
        "".join(f'"{line}"\n' for line in ["id,a,b", "p1,1,2", 'p2,""3"",4', "p3,5,6"]),
        ["it has the column 'id,a,b' only", "Its lines are in quotes as a whole: remove the quotes around them"],
    ),
    "a web page called csv": (
        "data.csv",
        "\ufeff\n<!DOCTYPE html>\n<html><body>Sign in, please</body></html>\n",
        ["data.csv is not text but a web page: download the file that it shows."],
    ),
    "a pointer to a file": (
        "data.csv",
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
        ["is not text but a pointer of Git LFS: fetch the file itself with git lfs pull."],
    ),
    "quantities of a program": (
        "quant.sf",
        "Name\tTPM\na\t1\n",
        ["type .sf are not read: if it is a text table, call it"],
    ),
    "an old workbook": ("data.xls", b"\xd0\xcf\x11\xe0", ["type .xls are not read: save it as .xlsx or .csv in a"]),
    "text called xlsx": ("data.xlsx", b"id,a\nx,1\ny,2\n", ["is not an Excel file of type .xlsx. It seems to be text"]),
    "an old workbook called xlsx": ("data.xlsx", b"\xd0\xcf\x11\xe0" + bytes(99), ["an old or a protected Excel file"]),
    "a web page called xlsx": ("data.xlsx", b"\n<html><table></table></html>", ["It is a web page or XML: open it in"]),
    "zeros called xlsx": (
        "data.xlsx",
        bytes(99),
        ["data.xlsx is not an Excel file of type .xlsx. It is no text either."],
    ),
    "records called csv": (
        "data.csv",
        '[{"a": 1, "b": 2}, {"a": 2, "b": 3}]',
        ["data.csv holds JSON", "call it .json"],
    ),
    "lines of records called csv": ("data.csv", '{"a": 1, "b": 2}\n{"a": 2, "b": 3}\n', [".jsonl if every line is a"]),
    "packed by xz": ("data.csv.xz", lzma.compress(b"a,b\n1,2\n"), ["type .xz are not read: unpack it first."]),
    "packed by xz, called csv": ("data.csv", lzma.compress(b"a,b\n1,2\n"), ["is not text but packed by xz: unpack it"]),
    "counts of cells": ("matrix.mtx", "%%MatrixMarket", ["type .mtx are not read: write it as .h5ad with scanpy."]),
    "bytes called csv": ("data.csv", bytes(range(256)) * 9, ["data.csv is not text"]),
    "a truncated gzip": ("data.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99)[:-20], ["cannot be read as .csv"]),
    "no zip": ("data.zip", b"nothing", ["data.zip cannot be read as .zip"]),
    "a compressed matrix": ("x.npy.gz", gzip.compress(b"x"), ["only text tables may be compressed"]),
}


@pytest.mark.parametrize(("name", "content", "said"), REFUSED.values(), ids=REFUSED)
def test_a_file_is_refused_with_what_is_wrong(refused, tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    message = refused("cluster", name, "-k", 2)
    for words in said:
        assert words in message


def commands(err):
    return [shlex.split(line.strip().partition("   (")[0])[1:] for line in err.splitlines() if line.startswith("  ")]


@pytest.mark.parametrize("name", ["numbers or a header", "fractions or thousands", "points of thousands"])
def test_each_of_the_commands_that_are_offered_works(run, tmp_path, name):
    file, content, _ = REFUSED[name]
    (tmp_path / file).write_text(content)
    offered = commands(run("inspect", file)[1])
    assert len(offered) == 2
    frames = []
    for command in offered:
        code, out, err = run(*command, "--json")
        assert code == 0, err
        frames.append(json.loads(out)["views"]["data"]["columns"])
    assert frames[0] != frames[1]


def test_all_problems_of_all_files_are_listed_with_one_command_that_works(run, refused, table, tmp_path):
    table.loc[3, "b"] = np.nan
    table.loc[[5, 7], "c"] = np.nan
    table[["name", "a", "b"]].assign(e=[*("x" if i == 8 else i for i in range(60))]).to_csv("one.csv", index=False)
    table[["name", "c", "d"]].to_csv("two.csv", index=False)
    given = ("cluster", "one.csv", "two.csv", "-k", "3", "--kernels", "released-7")  # which take no missing cells
    said = refused(*given)
    assert "one.csv: column 'e' holds 'x' in row 9, which is not a number." in said
    assert "one.csv: column 'b' has no value in row 4. Pass --drop b (leave it out)." in said
    assert "two.csv: column 'c' has no value in row 6 and 1 other. Pass --drop c (leave it out)." in said
    assert "This command solves all of it:" in said
    (command,) = commands(run(*given)[2])
    assert command == [*given, "--drop", "e", "--drop", "b", "--drop", "c"]
    assert run(*command)[0] == 0


def test_texts_that_all_differ_are_left_out_and_named(run, table):
    table.assign(note=[f"note {i}" for i in range(60)]).to_csv("data.csv", index=False)
    code, _, said = run("cluster", "data.csv", "-k", 3)
    assert code == 0
    assert "1 column of the table is left out ('note': " in said


def test_in_python_the_ways_out_are_arguments(tmp_path):
    path = tmp_path / "data.tsv"
    path.write_text("a\tb\n1,234\t5\n2,500\t6\n")
    with pytest.raises(TableError, match=r"Pass decimal=',' \(1,234 is 1.234\) or thousands=',' \(1,234 is 1234\)"):
        read_table(path)
    assert read_table(path, decimal=",").frame["a"].tolist() == [1.234, 2.5]
    assert read_table(path, thousands=",").frame["a"].tolist() == [1234, 2500]


def test_options_that_make_no_sense_are_refused(refused, csv):
    assert "sep must be one character" in refused("cluster", csv, "--sep", "::")
    assert "decimal must be '.' or ','" in refused("cluster", csv, "--decimal", "x")
    assert "they must differ" in refused("cluster", csv, "--decimal", ",", "--thousands", ",")
    assert "There is no encoding 'klingon'" in refused("cluster", csv, "--encoding", "klingon")
    assert "--scale must be auto, unit, zscore or none" in refused("cluster", csv, "--scale", "big")
    assert "--scale must be auto" in refused("cluster", csv, "-k3", "--method", "smkl", "--scale", "big")


def test_an_encoding_that_does_not_fit_is_refused(tmp_path):
    (tmp_path / "data.csv").write_bytes("name,a\nKöln,1\nUlm,2\n".encode("latin-1"))
    with pytest.raises(InvalidInputError, match="is not encoded as utf-8"):
        read_table(tmp_path / "data.csv", encoding="utf-8")


def header(shape):
    """Return the beginning of a .npy file of such a shape."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text + b"\n"


def test_arrays_that_claim_terabytes_are_refused_unread(refused, tmp_path, monkeypatch):
    (tmp_path / "x.npy").write_bytes(header((10**7, 10**6)) + bytes(80))
    assert "x.npy is damaged: it claims an array of shape (10000000, 1000000)" in refused("cluster", "x.npy", "-k", 2)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("X.npy", header((10**7, 10**6)) + bytes(80))
    assert "x.npz is damaged" in refused("cluster", "x.npz", "-k", 2)
    sparse.save_npz("s.npz", sparse.coo_array(([1.0], ([0], [0])), shape=(10**7, 10**6)).tocsr())
    monkeypatch.setattr(sparse.csr_array, "toarray", None)
    assert "s.npz: its matrix of shape (10000000, 1000000) needs about" in refused("cluster", "s.npz", "-k", 2)


def test_a_matlab_file_that_claims_terabytes_is_refused_unread(refused, monkeypatch):
    matlab.savemat("x.mat", {"X": sparse.csc_array(([1.0], ([0], [0])), shape=(10**6, 10**6))})
    monkeypatch.setattr(matlab, "loadmat", None)
    assert "x.mat: its matrix of shape (1000000, 1000000) needs about" in refused("cluster", "x.mat", "-k", 2)


@pytest.mark.parametrize("name", ["wrong.mat", "wrong.npz"])
def test_sparse_matrices_with_positions_outside_them_are_refused(refused, tmp_path, name):
    thing = sparse.csc_matrix(np.eye(9))
    thing.indices[4] = 10**8
    if name == "wrong.npz":
        sparse.save_npz(tmp_path / name, thing)
    else:
        matlab.savemat(tmp_path / name, {"X": thing})
    reason = "positions do not fit its shape" if name == "wrong.mat" else "indices must be < 9"
    assert reason in refused("cluster", name, "-k", 2)


def test_a_table_that_claims_more_than_the_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "data.feather"
    pd.DataFrame({"a": [1.0, 2.0]}).to_feather(path)

    def fails(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr(pd, "read_feather", fails)
    monkeypatch.setattr("pyarrow.feather.read_table", fails)
    with pytest.raises(NotEnoughMemoryError, match=r"cannot be read as \.feather: it needs more memory"):
        read_table(path)


def test_a_file_that_unpacks_to_more_than_the_memory_is_refused(tmp_path, monkeypatch):
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 10**6))
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "4e6")
    with pytest.raises(NotEnoughMemoryError, match=r"bomb\.csv\.gz needs about"):
        read_table(tmp_path / "bomb.csv.gz")


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("x.csv", "pandas", "cli"),
        ("x.parquet", "pyarrow", "cli"),
        ("x.feather", "pyarrow", "cli"),
        ("x.xlsx", "openpyxl", "excel"),
        ("x.h5ad", "anndata", "anndata"),
        ("x.h5mu", "mudata", "anndata"),
    ],
)
def test_on_a_plain_install_the_extra_is_named(tmp_path, monkeypatch, name, package, extra):
    plain = builtins.__import__

    def missing(wanted, *rest):
        if wanted.split(".")[0] == package:
            raise ImportError(wanted)
        return plain(wanted, *rest)

    monkeypatch.setattr("kernelweave.tabular.packages.import_module", lambda wanted: missing(wanted))
    (tmp_path / name).write_text("a,b\n1,2\n3,5\n")
    with pytest.raises(MissingPackageError, match=rf'pip install "kernelweave\[{extra}\]"'):
        read_table(tmp_path / name)


def test_a_table_of_texts_is_handed_over_as_it_is(tmp_path):
    people = pd.DataFrame({"Name": ["Ann B", "Cy D", "Ed F"], "sex": ["f", "m", "m"], "age": [22, None, 31.5]})
    people.to_csv(tmp_path / "people.csv", index=False)
    table = read_table(tmp_path / "people.csv")
    assert table.ids == ["Ann B", "Cy D", "Ed F"]
    assert table.frame["sex"].tolist() == ["f", "m", "m"]
    assert table.frame["age"].isna().tolist() == [False, True, False]
