"""The labels of `classify` are not features, and marks of a missing label are not a class."""

import json

import numpy as np
import pandas as pd
import pytest

import kernelweave
from kernelweave.cli._given_labels import label_texts
from kernelweave.tabular import read_table


@pytest.fixture
def by_chance(run):
    """Write 60 samples whose classes have nothing to do with their features, and every other label into a file."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(60, 3)).round(3), columns=list("abc"))
    frame.insert(0, "id", [f"s{i}" for i in range(60)])
    frame["grp"] = np.tile(["x", "y", "y", "x"], 15)
    frame.to_csv("data.csv", index=False)
    frame.loc[::2, ["id", "grp"]].to_csv("labels.csv", index=False)
    return frame


def accuracy(out):
    return json.loads(out)["accuracy"]["value"]


@pytest.mark.parametrize("named", [(), ("--labels", "grp")])
def test_a_column_called_like_the_labels_in_a_file_of_their_own_is_no_feature(run, by_chance, named):
    code, out, err = run("classify", "data.csv", *named, "--labels-file", "labels.csv", "--json", "--out", "found")
    assert code == 0, err
    assert accuracy(out) < 0.75
    assert "data.csv: the column 'grp' is left out of the features, since the labels are called so." in err
    model = kernelweave.load("found/model.kw")
    assert list(model.feature_names_in_) == list("abc")
    code, _, err = run("predict", "found", "data.csv")
    assert code == 0, err
    assert "grp" not in err


def test_codes_of_a_feature_need_no_such_column_in_a_file_of_labels(run, by_chance):
    by_chance["a"] = np.where(by_chance.index % 7 == 0, 999, by_chance["a"])
    by_chance.drop(columns="grp").to_csv("data.csv", index=False)
    given = ("--labels-file", "labels.csv", "--missing", "a=999")
    code, _, err = run("classify", "data.csv", *given, "--out", "found")
    assert code == 0, err
    assert "data.csv: missing values have the code '999': 9 cells are taken as missing (column 'a')" in err


def test_the_place_of_a_column_without_a_name_is_not_taken_for_its_name(run, by_chance):
    by_chance.drop(columns="grp").to_csv("data.csv", index=False, header=False)
    by_chance.loc[::2, ["id", "grp"]].to_csv("labels.csv", index=False, header=False)
    code, _, err = run("classify", "data.csv", "--no-header", "--labels-file", "labels.csv", "--out", "found")
    assert code == 0, err
    assert list(kernelweave.load("found/model.kw").feature_names_in_) == ["1", "2", "3"]


@pytest.mark.parametrize("given", [("--labels-file", "labels.csv"), ("--labels", "grp")])
def test_a_feature_that_equals_the_labels_is_refused(run, refused, by_chance, given):
    by_chance["Group"] = by_chance["grp"].str.upper()
    by_chance.loc[1::2, "grp"] = ""
    by_chance.to_csv("data.csv", index=False)
    said = refused("classify", "data.csv", *given)
    assert "data.csv: column 'Group' equals the given labels in all 30 labelled samples" in said
    assert "--drop Group" in said
    assert run("classify", "data.csv", *given, "--drop", "Group")[0] == 0


def test_a_feature_that_may_equal_few_labels_by_chance_is_kept_with_a_note(run, by_chance):
    by_chance["same"] = np.tile([0, 1], 30)
    by_chance["grp"] = [str(value) if i < 6 else "" for i, value in enumerate(by_chance["same"])]
    by_chance.to_csv("data.csv", index=False)
    code, _, err = run("classify", "data.csv", "--labels", "grp", "--out", "found")
    assert code == 0, err
    assert "column 'same' equals the given labels in all 6 labelled samples, and is a feature" in err
    assert "same" in kernelweave.load("found/model.kw").feature_names_in_


@pytest.mark.parametrize("other", ["--drop", "--metadata-columns", "--id"])
def test_a_column_of_labels_has_no_second_use(refused, by_chance, other):
    said = refused("classify", "data.csv", "--labels", "grp", other, "grp")
    assert f"--labels and {other} both name the column 'grp'" in said


def test_the_labels_of_two_tables_must_not_contradict_each_other(run, refused, by_chance):
    by_chance.to_csv("one.csv", index=False)
    by_chance.assign(grp="").to_csv("two.csv", index=False)
    assert run("classify", "one.csv", "two.csv", "--labels", "grp", "--out", "found")[0] == 0
    assert (pd.read_csv("found/labels.csv")["source"] == "given").all()
    by_chance.assign(grp="x").to_csv("two.csv", index=False)
    said = refused("classify", "one.csv", "two.csv", "--labels", "grp", "--out", "again")
    assert "two.csv: sample 's1' has the label 'x', but 'y' in another table" in said


@pytest.mark.parametrize("mark", ["?", "-", ".", "n.a.", "NA "])
def test_a_mark_for_a_missing_label_is_no_class(run, by_chance, mark):
    by_chance.loc[1::2, "grp"] = mark
    by_chance.to_csv("data.csv", index=False)
    code, out, err = run("classify", "data.csv", "--labels", "grp", "--json", "--out", "found")
    assert code == 0, err
    found = json.loads(out)
    assert found["n_labelled"] == 30
    assert set(found["classes"]) == {"x", "y"}
    assert (
        f"30 labels of 'grp' are taken as unlabelled ({mark.strip()!r}). If it is a class, give it another name." in err
    )


@pytest.mark.parametrize("word", ["unlabelled", "Unknown", "none"])
def test_a_class_called_like_no_label_is_named_with_the_option_that_settles_it(run, by_chance, word):
    by_chance.loc[1::2, "grp"] = word
    for given in (("--labels-file", "labels.csv"), ("--labels", "grp")):
        by_chance[["id", "a", "b", "c", *(["grp"] if given[0] == "--labels" else [])]].to_csv("data.csv", index=False)
        by_chance[["id", "grp"]].to_csv("labels.csv", index=False)
        code, out, err = run("classify", "data.csv", *given, "--json", "--out", "found", "--force")
        assert code == 0, err
        assert json.loads(out)["n_labelled"] == 60
        assert f"{word!r} is taken as a class (30 labels)" in err
        assert f'--missing "grp={word}"' in err
        settled = ("--missing", f"grp={word}")
        code, out, err = run("classify", "data.csv", *given, *settled, "--json", "--out", "found", "--force")
        assert code == 0, err
        assert json.loads(out)["n_labelled"] == 30
        assert set(json.loads(out)["classes"]) == {"x", "y"}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "classes", [["+", "-"], ["*", "**", "***"], ["1", "2"], ["1.0", "2.0"], ["1.5", "high"], ["1.0.1", "1.0.2"]]
)
def test_signs_that_are_classes_stay_classes(classes):
    column = pd.Series([*classes, "", "-1", None], name="kind", dtype=object)
    assert label_texts(column, "data.csv") == [*classes, None, None, None]


@pytest.mark.parametrize("mark", [".", ","])
def test_labels_that_are_numbers_with_decimals_get_a_note(run, by_chance, mark):
    by_chance["hue"] = [f"{i % 15}{mark}5" if i % 2 else "" for i in range(60)]
    by_chance[["id", "hue"]].to_csv("labels.csv", index=False)
    told = "the labels in 'hue' are numbers with decimals, of which 15 differ, and each is taken as the name of a"
    code, _, err = run("classify", "data.csv", "--labels-file", "labels.csv", "--drop", "grp", "--out", "found")
    assert code == 0, err
    assert f"labels.csv: {told} class. If they were measured, give a few ranges names" in err
    by_chance.drop(columns="grp").to_csv("data.csv", index=False)
    code, _, err = run("classify", "data.csv", "--labels", "hue", "--out", "again")
    assert code == 0, err
    assert f"data.csv: {told}" in err


def test_what_was_no_feature_is_not_said_to_be_left_out(run, by_chance):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    obs = by_chance.set_index("id")[["grp"]].astype(object)
    anndata.AnnData(by_chance[list("abc")].to_numpy(), obs, pd.DataFrame(index=list("abc"))).write_h5ad("data.h5ad")
    code, _, err = run("classify", "data.h5ad", "--labels-file", "labels.csv", "--out", "found")
    assert code == 0, err
    assert "grp" not in err


def test_a_feature_that_may_equal_the_labels_by_chance_is_not_refused(run):
    rng = np.random.default_rng(0)
    ids, y = [f"s{i}" for i in range(60)], np.tile([0, 1], 30)
    a = pd.DataFrame({"id": ids, "x": rng.normal(size=60).round(3), "y": np.where(np.arange(60) < 30, y, -1)})
    b = pd.DataFrame({"id": ids[27:50], "m": 1 - np.tile([0, 1], 12)[:23], "k": rng.normal(size=23).round(3)})
    b.loc[:2, "m"] = y[27:30]  # three of the labelled samples
    a.to_csv("a.csv", index=False)
    b.to_csv("b.csv", index=False)
    code, _, err = run("classify", "a.csv", "b.csv", "--labels", "y", "--out", "found")
    assert code == 0, err
    assert "b: column 'm' equals the given labels in all 3 labelled samples, and is a feature." in err


def test_many_columns_are_more_likely_to_hold_the_labels_by_chance(run, refused):
    rng, y = np.random.default_rng(0), np.r_[np.tile([0, 1], 7), np.full(16, -1)]
    table = pd.DataFrame(rng.integers(2, size=(30, 400)), columns=[f"g{i}" for i in range(400)])
    table["g7"] = np.where(y < 0, 1, y)
    table.assign(y=y).to_csv("data.csv", index=False)
    code, _, err = run("classify", "data.csv", "--labels", "y", "--out", "found")
    assert code == 0, err
    assert "column 'g7' equals the given labels in all 14 labelled samples" in err
    table[["g7", "g8", "g9"]].assign(y=y).to_csv("data.csv", index=False)
    assert "no accuracy would be meaningful" in refused("classify", "data.csv", "--labels", "y", "--out", "other")


def test_a_file_of_labels_whose_header_cannot_be_told_is_refused(by_chance, refused):
    names = by_chance["id"].str.translate(str.maketrans("0123456789", "abcdefghij"))  # nothing tells that sa is an id
    by_chance.assign(id=names).loc[::2, ["id", "grp"]].to_csv("labels.csv", index=False, header=False)
    said = refused("classify", "data.csv", "--labels-file", "labels.csv", "--out", "found")
    assert "labels.csv: its column of labels is called 'x', like one of the labels" in said


def test_a_file_of_labels_without_a_header_keeps_its_first_label(by_chance, run):
    by_chance.drop(columns="grp").to_csv("data.csv", index=False)
    by_chance.loc[::2, ["id", "grp"]].to_csv("labels.csv", index=False, header=False)
    code, _, err = run("classify", "data.csv", "--labels-file", "labels.csv", "--out", "found")
    assert code == 0, err
    assert "labels.csv: it has no header" in err
    assert (pd.read_csv("found/labels.csv")["source"] == "given").sum() == 30


def test_a_file_of_labels_that_is_given_as_their_column_is_told_its_option(by_chance, refused):
    by_chance.to_csv("data.csv", index=False)
    by_chance.loc[::2, ["id", "grp"]].to_csv("labels.csv", index=False)
    said = refused("classify", "data.csv", "--labels", "labels.csv", "--out", "found")
    assert "labels.csv is a file, but --labels names a column: pass it with --labels-file" in said


@pytest.mark.parametrize("word", ["None", "NA", "null", "N/A"])
@pytest.mark.parametrize("kind", ["csv", "xlsx", "labels-file"])
def test_words_for_missing_among_labels_are_counted_since_one_may_be_a_class(run, by_chance, word, kind):
    by_chance["grp"] = np.tile([word, "mild", "severe", "", "mild", "severe"], 10)
    file, given = "data.csv", ("--labels", "grp")
    if kind == "xlsx":
        file = "data.xlsx"
        by_chance.to_excel(file, index=False)
    elif kind == "labels-file":
        by_chance[["id", "grp"]].to_csv("labels.csv", index=False)
        given = ("--labels-file", "labels.csv")
    by_chance.to_csv("data.csv", index=False)
    code, _, err = run("classify", file, *given, "--folds", 0, "--out", "found")
    assert code == 0, err
    said = f"10 labels of 'grp' are taken as unlabelled ({word!r}). If it is a class, give it another name."
    assert said in err
    assert list(kernelweave.load("found/model.kw").classes_) == ["mild", "severe"]


def test_inspect_says_which_words_among_the_labels_are_no_class(run, by_chance):
    by_chance["grp"] = np.tile(["None", "mild", "severe"], 20)
    by_chance.to_csv("data.csv", index=False)
    _, out, _ = run("inspect", "data.csv", "--labels", "grp")
    assert "20 labels of 'grp' are taken as unlabelled ('None')" in out
    assert "2 different: 'mild', 'severe'" in out


def test_a_minus_one_beside_empty_labels_gets_a_note(run, by_chance):
    by_chance["grp"] = np.tile(["-1", "0", "1", ""], 15)
    by_chance.to_csv("data.csv", index=False)
    code, _, err = run("classify", "data.csv", "--labels", "grp", "--folds", 0, "--out", "found")
    assert code == 0, err
    assert "15 labels of 'grp' are -1, which is taken as unlabelled, as empty entries are." in err
    by_chance["grp"] = np.tile(["-1", "0", "1", "-1"], 15)
    by_chance.to_csv("data.csv", index=False)
    assert "which is taken" not in run("classify", "data.csv", "--labels", "grp", "--folds", 0, "--out", "again")[2]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["1.0", "", "2.0", "-1.0", "10"], ["1", None, "2", "-1", "10"]),
        (["01.0", "2,00", "", "3", "4"], ["01", "2", None, "3", "4"]),
        (["1.0", "1.1", "", "2.0", "2.1"], ["1.0", "1.1", None, "2.0", "2.1"]),
        (["1.0", "beta", "", "2.0", "2.0"], ["1.0", "beta", None, "2.0", "2.0"]),
        (["1.0.0", "1.0", "", "2.0", "10"], ["1.0.0", "1.0", None, "2.0", "10"]),
    ],
)
def test_labels_that_are_all_whole_numbers_have_no_fraction(tmp_path, given, read):
    rows = "".join(f'{i / 7};{i * i / 3};"{label}"\n' for i, label in enumerate(given))
    (tmp_path / "data.csv").write_text(f"a;b;kind\n{rows}")
    labels = read_table(tmp_path / "data.csv", labels="kind").frame["kind"]
    assert [None if label != label else label for label in labels] == read


def test_classes_that_are_whole_numbers_with_gaps_are_shown_as_whole_numbers(run, refused, by_chance):
    by_chance["grp"] = (by_chance["grp"] == "x").astype(float).where(by_chance.index % 2 == 0)
    by_chance.to_csv("data.csv", index=False)
    code, _, err = run("classify", "data.csv", "--labels", "grp", "--out", "found")
    assert code == 0, err
    assert set(pd.read_csv("found/labels.csv", dtype=str)["label"]) == {"0", "1"}
    by_chance.assign(copy=by_chance["grp"].fillna(0).astype(int)).to_csv("data.csv", index=False)
    assert "column 'copy' equals the given labels" in refused("classify", "data.csv", "--labels", "grp")


def test_a_code_for_all_columns_says_that_it_covers_labels_and_lists_the_columns(run, by_chance):
    by_chance["grp"] = by_chance["grp"].replace("y", "high")
    coded = {f"c{i}": by_chance["a"].astype(str).where(by_chance.index != i, "high") for i in range(5)}
    by_chance.assign(**coded).to_csv("data.csv", index=False)
    notes = read_table("data.csv", labels="grp", missing=["high"]).notes
    told = "35 cells are taken as missing (column 'grp', 'c0', 'c1', 'c2', 'c3', 'c4')"
    told += "; 30 of them are labels of 'grp', taken as unlabelled. If it is a class"
    assert any(f"the code 'high': {told}" in note for note in notes)
    named = read_table("data.csv", labels="grp", missing=[f"c{i}=high" for i in range(5)])
    assert named.frame["grp"].notna().all()
    assert not any("unlabelled" in note for note in named.notes)


@pytest.mark.parametrize("code", ["9", "9.0"])
def test_a_code_among_whole_labels_is_given_as_they_are_shown_or_written(tmp_path, code):
    rows = "".join(f"{i / 7},{i * i / 3},{label}\n" for i, label in enumerate(["1.0", "", "9.0", "90", "1.0"]))
    (tmp_path / "data.csv").write_text(f"a,b,kind\n{rows}")
    labels = read_table(tmp_path / "data.csv", labels="kind", missing=[f"kind={code}"]).frame["kind"]
    assert labels.dropna().tolist() == ["1", "90", "1"]
