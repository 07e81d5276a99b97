"""No option is ignored, and what does not belong to the results or the fit is named."""

import numpy as np
import pandas as pd
import pytest

import kernelweave
from kernelweave.cli._report_content import ResultContext


@pytest.fixture
def fitted(run, csv, table):
    """Fit classes to the table, of which every third has a label; return the table."""
    few = table.assign(kind=table["kind"].where(np.arange(60) % 3 == 0, ""))
    few.to_csv("few.csv", index=False)
    assert run("classify", "few.csv", "--labels", "kind", "--folds", 0, "--out", "found")[0] == 0
    return table


def test_ids_of_labels_that_no_sample_has_are_counted(run, csv, table):
    known = table.loc[::3, ["name", "kind"]]
    known.loc[30:, "name"] = "x" + known["name"]
    known.to_csv("known.csv", index=False)
    code, _, err = run("classify", csv, "--labels-file", "known.csv", "--id", "name", "--out", "found")
    assert code == 0, err
    assert "known.csv: 10 of its 20 ids are no id of the samples, and not used ('x030', 'x033'" in err


def test_samples_that_the_metadata_lack_are_counted(run, csv, table):
    table.loc[:9, ["name", "kind"]].to_csv("meta.csv", index=False)
    code, _, err = run("cluster", csv, "--id", "name", "-k", 3, "--metadata", "meta.csv", "--out", "found")
    assert code == 0, err
    assert "meta.csv has no row for 50 of 60 samples." in err


def test_a_file_of_labels_that_repeats_an_id_is_told_so(refused, csv, table):
    table.loc[[*range(20), 0], ["name", "kind"]].replace({"name": "^"}, {"name": "s"}, regex=True).to_csv(
        "known.csv", index=False
    )
    said = refused("classify", csv, "--labels-file", "known.csv")
    assert "the column 'name' has the name of an id column, but holds 's000' again in row 21" in said


def test_metadata_of_the_same_name_are_refused_before_the_fit(refused, csv, table):
    table.to_csv("meta.csv", index=False)
    said = refused("cluster", csv, "--id", "name", "--metadata", "meta.csv", "--metadata-columns", "a")
    assert "--metadata-columns names 'a', but meta.csv has a column of that name too: rename one of them." in said


def test_another_clustering_is_read_before_the_fit(refused, csv, monkeypatch):
    monkeypatch.setattr(kernelweave.WeaveClustering, "fit", lambda *_: pytest.fail("it was fitted first"))
    assert "nothere: there is no such file" in refused("cluster", csv, "--id", "name", "--compare", "nothere")


def test_files_of_an_earlier_run_that_stay_are_named(run, csv, table):
    table[["name", "kind"]].to_csv("meta.csv", index=False)
    first = ("cluster", csv, "--id", "name", "-k", 3, "--out", "found")
    assert run(*first, "--metadata", "meta.csv")[0] == 0
    code, _, err = run(*first, "--force")
    assert code == 0
    assert "found/metadata.csv was there before, and is not of these results: remove it, or move it elsewhere." in err
    assert "was there before" not in run(*first, "--force", "--metadata", "meta.csv")[2]


@pytest.mark.parametrize("command", [("predict", "found", "few.csv"), ("report", "found")])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_folder_is_no_file_to_write(refused, fitted, command, force):
    said = refused(*command, "--out", "found", *force)
    assert "--out names a file to write, but found is a folder: name a file in it, or another path." in said


def test_predictions_are_not_printed_and_written_at_once(refused, fitted):
    assert "--json prints the answers, and --out writes them" in refused(
        "predict", "found", "few.csv", "--json", "--out", "new.csv"
    )


@pytest.mark.parametrize("rows", [0, 7])
def test_numbers_far_outside_those_of_the_fit_get_one_note(run, fitted, rows):
    assert "far outside" not in run("predict", "found", "few.csv", "--chunk-rows", rows)[2]
    fitted.assign(b=fitted["b"] * 1000).to_csv("new.csv", index=False)
    code, _, err = run("predict", "found", "new.csv", "--chunk-rows", rows)
    assert code == 0, err
    low, high = fitted["b"].min(), fitted["b"].max()
    assert err.count("Some numbers lie far outside those of the fit") == 1
    assert f"The ranges of the fit: 'b' ({low:.6g} to {high:.6g})." in err


def test_the_ranges_of_views_are_those_of_their_columns(run, table):
    for view, columns in {"one": ["a", "b"], "two": ["c", "d"]}.items():
        table[["name", *columns]].to_csv(f"{view}.csv", index=False)
    assert run("cluster", "one.csv", "two.csv", "--id", "name", "-k", 3, "--out", "found")[0] == 0
    ranges = kernelweave.load("found/model.kw").file_reading_.ranges
    assert ranges["two: c"] == (table["c"].min(), table["c"].max())
    table[["name", "c", "d"]].assign(c=1e6).to_csv("two.csv", index=False)
    assert "The ranges of the fit: 'two: c'" in run("predict", "found", "one.csv", "two.csv")[2]


def test_the_column_of_ids_is_named_once_for_all_parts(run, fitted):
    err = run("predict", "found", "few.csv", "--chunk-rows", 7)[2]
    assert err.count("the column 'name' holds the ids") == 1


def test_a_column_of_ids_that_repeats_itself_in_new_samples_is_named(run, fitted):
    fitted.assign(name=["s", *fitted["name"][:-1]]).replace({"name": {"001": "000"}}).to_csv("new.csv", index=False)
    code, out, err = run("predict", "found", "new.csv")
    assert code == 0, err
    assert out.splitlines()[1].startswith("1,")
    assert "the column 'name' held the ids before, but holds '000' again in row 3" in err


def test_samples_that_no_label_reaches_are_not_called_predicted():
    context = ResultContext("data.csv", labels=["a", None, None])
    columns = context.columns(np.array(["a", "a", "b"]), np.array([1, 0.5, 0.9]), np.array([False, True, False]))
    assert columns["source"] == ["given", "undecided", "predicted"]


def test_the_parts_of_the_labels_are_told(run, fitted):
    _, out, _ = run("classify", "few.csv", "--labels", "kind", "--folds", 50, "--out", "again")
    assert f", in {pd.read_csv('few.csv')['kind'].value_counts().min()} parts" in out


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused_as_an_option(run, csv, seed):
    code, _, err = run("cluster", csv, "--seed", seed)
    assert code == 2
    assert "--seed" in err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("benchmark", "--methods", ""), "--methods names nothing; got ''."),
        (("benchmark", "--datasets", ", "), "--datasets names nothing; got ', '."),
        (("benchmark", "--datasets", "iris", "--held-out", "nonsense"), "There is no data set 'nonsense'"),
        (("reproduce", "table2", "--datasets", ""), "--datasets names nothing; got ''."),
        (("datasets", "list", "--views", "5-2"), "--views takes a range from its smaller to its larger number"),
    ],
)
def test_lists_and_ranges_of_nothing_are_refused(refused, command, said):
    assert said in refused(*command)


@pytest.mark.parametrize(
    ("command", "words"),
    [("predict", ["50,000", "64 MiB"]), ("reproduce", ["restarts", "draws", "ablation"])],
)
def test_help_tells_all_defaults_and_names(run, command, words):
    _, out, _ = run(command, "--help")
    assert all(word in out for word in words)
