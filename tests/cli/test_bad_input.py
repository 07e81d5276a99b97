"""What cannot be used is refused by one sentence that says what to do, with exit code 2, and nothing is written."""

import os
import pickle
import shlex
import zipfile

import numpy as np
import pytest


def write(frame, name="data.csv"):
    frame.to_csv(name, index=False)
    return name


def test_a_missing_value_that_the_kernels_cannot_take_is_named_by_column_and_row(refused, table):
    table.loc[4, "b"] = np.nan
    name = write(table.drop(columns="kind"))
    said = refused("cluster", name, "--id", "name", "-k", 3, "--kernels", "released-7")
    assert "column 'b' has no value in row 5" in said
    assert "--drop" in said


def test_infinity_is_named_by_column_and_row(refused, table):
    table.loc[4, "b"] = np.inf
    table.loc[6, "b"] = -np.inf
    said = refused("cluster", write(table.drop(columns="kind")), "--id", "name", "-k", 3)
    assert "column 'b' is infinite in row 5 and 1 other." in said
    assert "--missing b=-inf --missing b=inf (take them as missing) or --drop b (leave it out)" in said
    said = refused("cluster", "data.csv", "--id", "name", "-k", 3, "--kernels", "released-7")
    assert "--missing" not in said  # these kernels take no missing cell


def test_one_word_among_numbers_is_found(refused, table):
    table["b"] = table["b"].astype(object)
    table.loc[7, "b"] = "about 3"
    said = refused("cluster", write(table.drop(columns="kind")), "--id", "name", "-k", 3)
    assert "column 'b' holds 'about 3' in row 8" in said
    said = said.partition(" Pass ")[2]
    assert said.startswith(
        "--missing 'b=about 3' (take it as missing), --drop b (leave it out) or --id b (it names the"
    )
    said = refused("cluster", "data.csv", "--id", "name", "-k", 3, "--kernels", "released-7")
    assert "--missing" not in said
    assert "--drop b (leave it out) or --id b (it names the samples)" in said


def test_words_among_numbers_and_infinity_are_settled_by_the_command_that_is_printed(run, table):
    table["b"] = table["b"].astype(object)
    table.loc[[7, 9], "b"] = ["about 3", "see note"]
    table.loc[5, "c"] = np.inf
    _, _, err = run("cluster", write(table.drop(columns="kind")), "--id", "name", "-k", 3)
    command = shlex.split(err.strip().splitlines()[-1])
    assert command[-6:] == ["--missing", "b=about 3", "--missing", "b=see note", "--missing", "c=inf"]
    code, _, err = run(*command[1:])
    assert code == 0, err
    assert "3 cells without a value ('b' 2, 'c' 1), filled with the median of the column." in err


def test_numbers_with_fractions_are_not_suggested_as_names(refused, table):
    table["a"] = (np.arange(60) + 0.5).astype(object)
    table.loc[7, "a"] = "about 3"
    said = refused("cluster", write(table[["a", "b"]]), "-k", 3)
    assert "Pass --missing 'a=about 3' (take it as missing)" in said


def test_a_word_among_whole_numbers_that_differ_may_be_a_name(refused, table):
    table["a"] = np.arange(60).astype(object)
    table.loc[59, "a"] = "last"
    assert "Pass --id a (it names the samples) or --drop a" in refused("cluster", write(table[["a", "b"]]), "-k", 3)


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "is empty"), ("a,b\n", "holds no rows"), ("a,b\n1,2\n", "only 1 sample"), ("1,2\n3,4\n", "--no-header")],
    ids=["empty file", "header only", "one row", "no header"],
)
def test_files_without_samples(refused, tmp_path, content, said):
    (tmp_path / "data.csv").write_text(content)
    assert said in refused("cluster", "data.csv", "-k", 1)


def test_rows_that_are_all_the_same(refused, tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n" + "1,2\n" * 9)
    assert "all 9 rows are the same" in refused("cluster", "data.csv", "-k", 2)


def test_ids_that_are_not_unique_or_missing(refused, table):
    table.loc[5, "name"] = "002"
    assert "the id '002'" in refused("cluster", write(table.drop(columns="kind")), "--id", "name", "-k", 3)
    table.loc[5, "name"] = None
    assert "is missing in row 6" in refused("cluster", write(table.drop(columns="kind")), "--id", "name", "-k", 3)


@pytest.mark.parametrize("option", ["--id", "--drop"])
def test_a_column_that_is_not_there(refused, csv, option):
    said = refused("cluster", csv, "-k", 3, option, "nobody", *([] if option == "--id" else ["--id", "name"]))
    assert "no column 'nobody'" in said


def test_more_clusters_than_samples(refused, csv):
    assert "n_clusters=61 is more than the n_samples=60" in refused("cluster", csv, "--id", "name", "-k", 61)


@pytest.mark.parametrize("k", ["0", "-1", "two", "2.5"])
def test_a_number_of_clusters_that_is_none(refused, csv, k):
    assert "-k must be a positive whole number" in refused("cluster", csv, "--id", "name", f"-k{k}")


def test_words_that_are_no_method_or_recipe(refused, csv):
    assert "--method must be weave or smkl" in refused("cluster", csv, "--id", "name", "--method", "magic")
    said = refused("cluster", csv, "--id", "name", "-k", 3, "--solver", "magic")
    assert "--solver must be auto, dense, local or landmark; got 'magic'" in said
    said = refused("cluster", csv, "--id", "name", "-k", 3, "--method", "smkl", "--solver", "local")
    assert "--solver local needs --method weave" in said
    assert "needs the number of clusters" in refused("cluster", csv, "--id", "name", "--method", "smkl")
    assert "magic" in refused("cluster", csv, "--id", "name", "-k", 3, "--kernels", "magic")


def test_files_that_are_not_there_or_of_no_known_type(refused, tmp_path):
    assert "there is no such file" in refused("cluster", "gone.csv", "-k", 3)
    (tmp_path / "folder.csv").mkdir()
    assert "is a folder" in refused("cluster", "folder.csv", "-k", 3)
    (tmp_path / "data.docx").write_text("x")
    assert "files of type .docx are not read" in refused("cluster", "data.docx", "-k", 3)
    assert "No file was given" in refused("cluster", "-k", 3)


@pytest.mark.parametrize("kind", ["npz", "npy", "parquet", "mat", "xlsx"])
def test_files_that_are_not_what_their_name_says(refused, tmp_path, kind):
    (tmp_path / f"data.{kind}").write_bytes(b"PK\x03\x04 this is not a table" * 10)
    assert f"cannot be read as .{kind}" in refused("cluster", f"data.{kind}", "-k", 3)


class Bomb:
    """Whoever unpickles this writes a file."""

    def __reduce__(self):
        return open, ("exploded", "w")


def test_pickles_are_not_opened(refused, tmp_path):
    np.save("data.npy", np.array([Bomb(), Bomb()]), allow_pickle=True)
    assert "cannot be read as .npy" in refused("cluster", "data.npy", "-k", 2)
    np.savez("data.npz", X=np.array([[Bomb(), Bomb()]], dtype=object))
    assert "cannot be read as .npz" in refused("cluster", "data.npz", "-k", 2)
    assert not (tmp_path / "exploded").exists()


def test_archives_must_hold_matrices_of_the_same_samples(refused):
    np.savez("two.npz", a=np.eye(3), b=np.eye(4))
    assert "must hold one matrix" in refused("cluster", "two.npz", "-k", 2)
    np.save("cube.npy", np.ones((3, 3, 3)))
    assert "must hold one matrix" in refused("cluster", "cube.npy", "-k", 2)
    np.save("complex.npy", np.eye(3) * 1j)
    assert "not a number" in refused("cluster", "complex.npy", "-k", 2)


@pytest.mark.parametrize("content", [b"", b"nonsense", pickle.dumps(Bomb())], ids=["empty", "nonsense", "pickle"])
def test_a_file_that_is_not_a_model_is_refused(refused, csv, tmp_path, content):
    (tmp_path / "model.kw").write_bytes(content)
    assert "model.kw" in refused("predict", "model.kw", csv, "--id", "name")
    assert "model.kw" in refused("report", "model.kw")
    assert not (tmp_path / "exploded").exists()


def test_a_model_that_hides_a_pickle_in_an_archive(refused, csv, tmp_path):
    with zipfile.ZipFile(tmp_path / "model.kw", "w") as archive:
        archive.writestr("header.json", '{"format": "kernelweave model", "class": "os.system"}')
        archive.writestr("0.npy", pickle.dumps(Bomb()))
    assert "model.kw" in refused("predict", "model.kw", csv, "--id", "name")
    assert not (tmp_path / "exploded").exists()


def test_places_that_cannot_be_written_to(refused, csv, tmp_path):
    (tmp_path / "file").write_text("x")
    assert "is a file" in refused("cluster", csv, "--id", "name", "-k", 3, "--out", "file")
    assert "cannot be made" in refused("cluster", csv, "--id", "name", "-k", 3, "--out", "file/below")


def test_a_result_that_is_not_there(refused, csv):
    assert "no such model" in refused("report", "gone")
    assert "no such model" in refused("predict", "gone", csv)


def test_views_must_have_names_and_rows_that_match(refused, table):
    write(table[["name", "a"]], "one.csv")
    write(table.loc[:30, ["name", "b"]], "two.csv")
    assert "must be name=FILE" in refused("cluster", "--view", "one.csv", "-k", 3)
    assert "Two views are called 'one'" in refused(
        "cluster", "one.csv", "--view", "one=two.csv", "--id", "name", "-k", 3
    )
    said = refused("cluster", "one.csv", "two.csv", "--drop", "name", "-k", 3)
    assert "different numbers of rows (one has 60, two has 31)" in said


def test_labels_that_say_nothing(refused, table):
    table["kind"] = ""
    assert "unlabelled" in refused("classify", write(table), "--id", "name", "--labels", "kind")
    table.loc[::5, "kind"] = "red"
    assert "all of one class" in refused("classify", write(table), "--id", "name", "--labels", "kind")
    assert "no column 'class'" in refused(
        "classify", write(table), "--id", "name", "--labels", "class", "--drop", "kind"
    )


def test_an_unknown_option_is_a_wrong_use(refused, csv):
    assert "No such option" in refused("cluster", csv, "--clusterz", 3)


def test_the_columns_of_a_file_are_named_once_each(refused, csv):
    said = refused("cluster", csv, "-k", 3, "--drop", "a,b")
    assert "data.csv has no column 'a,b'; it has 'name', 'a', 'b', 'c', 'd'." in said


def test_of_many_columns_the_first_are_named(refused):
    np.savetxt(
        "wide.csv",
        np.random.default_rng(0).normal(size=(9, 20)),
        delimiter=",",
        header=",".join("abcdefghijklmnopqrst"),
        comments="",
    )
    said = refused("cluster", "wide.csv", "-k", 3, "--drop", "z")
    assert said.endswith("'k', 'l' and 8 more.")


def test_standard_input_and_pipes_are_named_as_such(refused, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for source in ("-", "pipe.csv"):
        assert f"{source}: a table is read several times, so not from standard input or a pipe" in refused(
            "inspect", source
        )
