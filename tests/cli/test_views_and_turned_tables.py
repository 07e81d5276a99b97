"""Files with several tables, tables with samples as columns, scaling, and what `kernelweave inspect` prints."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import io as matlab

import kernelweave
from kernelweave.errors import InvalidInputError
from kernelweave.tabular import read_table

GENES = [f"{stem}{i}" for stem in ("TP", "BRCA", "EGF", "KRAS", "MYC") for i in range(1, 31)]


def views(folder):
    return set(pd.read_csv(folder / "weights.csv")["view"])


def test_several_matrices_of_an_archive_are_views(run, table, tmp_path):
    X = table[list("abcd")].to_numpy()
    ids = table["name"].to_numpy(str)
    np.savez("both.npz", left=X[:, :2], right=X[:, 2:], ids=ids, y=np.arange(60)[:, None])
    code, _, err = run("cluster", "both.npz", "-k", 3)
    assert code == 0, err
    assert "Note: both.npz: its 2 matrices are views: left, right." in err
    assert views(tmp_path / "both-clusters") == {"left", "right"}
    labels = pd.read_csv(tmp_path / "both-clusters" / "labels.csv", dtype=str)
    assert labels["id"].tolist() == table["name"].tolist()
    with pytest.raises(InvalidInputError, match=r"holds the tables left, right: pass one of them as table; got None"):
        read_table(tmp_path / "both.npz")
    np.testing.assert_array_equal(read_table(tmp_path / "both.npz", table="right").frame, X[:, 2:])


def test_the_matrices_in_a_cell_array_of_matlab_are_views(run, table):
    X = table[list("abcd")].to_numpy()
    cells = np.empty((1, 2), dtype=object)
    cells[0, :] = [X[:, :2], X[:, 2:]]
    matlab.savemat("x.mat", {"data": cells, "truelabel": np.arange(60)[:, None]})
    code, out, err = run("inspect", "x.mat", "--json")
    assert code == 0, err
    found = json.loads(out)["views"]
    assert {name: len(view["columns"]) for name, view in found.items()} == {"data[0]": 2, "data[1]": 2}


def test_the_modalities_of_mudata_are_views(run, table, tmp_path):
    anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    names = pd.Index([f"cell-{i}" for i in range(60)], dtype=object)
    with mudata.set_options(pull_on_update=False):
        parts = {
            name: anndata.AnnData(
                table[columns].to_numpy(), pd.DataFrame(index=names), pd.DataFrame(index=np.array(columns, object))
            )
            for name, columns in {"rna": ["a", "b"], "atac": ["c", "d"]}.items()
        }
        data = mudata.MuData(parts)
        data.obs["kind"] = table["kind"].to_numpy(object)
        data.write_h5mu(tmp_path / "cells.h5mu")
    code, _, err = run("classify", "cells.h5mu", "--labels", "kind")
    assert code == 0, err
    assert "Note: cells.h5mu: its 2 modalities are views: rna, atac." in err
    assert views(tmp_path / "cells-classes") == {"rna", "atac"}


@pytest.fixture
def expression(tmp_path):
    """150 genes by 12 samples in two groups, as gene expression is stored."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(150, 12)).round(4) + 5 * (np.arange(12) % 2)
    frame = pd.DataFrame(values, index=GENES, columns=[f"patient_{i}" for i in range(12)])
    frame.rename_axis("gene").to_csv(tmp_path / "genes.csv")
    return frame


def test_rows_that_look_like_genes_are_hinted_at_and_left_as_they_are(run, expression):
    code, out, err = run("inspect", "genes.csv", "--json")
    assert code == 0, err
    (view,) = json.loads(out)["views"].values()
    assert view["n_samples"] == 150
    assert any("its 150 rows are taken as samples" in note and "--transpose" in note for note in view["notes"])


NAMES = {
    "groups of proteins": lambda i: ";".join(
        f"{'POQ'[(i + k) % 3]}{i % 10}{'AVGKLS'[i * 7 % 6]}{i // 10 % 10}{'HXR'[i % 3]}{k}" for k in range(1 + i % 3)
    ),
    "proteins of a database": lambda i: f"sp|P{i:05}|AL{i}_HUMAN",
    "peaks": lambda i: f"chr{i % 22 + 1}:{1000 * i}-{1000 * i + 500}",
    "bacteria": lambda i: f"k__Bacteria;p__Firmicutes;g__genus {i}",
}


@pytest.mark.parametrize("kind", NAMES)
def test_rows_that_look_like_proteins_peaks_or_bacteria_are_hinted_at(tmp_path, expression, kind):
    expression.columns = [f"LFQ intensity {j}" for j in range(expression.shape[1])]
    expression.index = pd.Index([NAMES[kind](i) for i in range(150)], name="name")
    expression.to_csv(tmp_path / "data.txt", sep="\t")
    assert any("its 150 rows are taken as samples" in note for note in read_table(tmp_path / "data.txt").notes)


@pytest.mark.parametrize("name", [lambda i: f"P{i:03};visit {i % 2}", lambda i: f"chrono-{i}", lambda i: f"kid__{i}"])
def test_rows_that_are_named_otherwise_get_no_hint(tmp_path, expression, name):
    expression.columns = [f"LFQ intensity {j}" for j in range(expression.shape[1])]
    expression.index = [name(i) for i in range(150)]
    expression.to_csv(tmp_path / "data.csv")
    assert not any("--transpose" in note for note in read_table(tmp_path / "data.csv").notes)


def test_columns_that_look_like_samples_are_hinted_at_whatever_the_rows_are_called(tmp_path, expression):
    expression.index = [f"metabolite {i}" for i in range(150)]
    expression.to_csv(tmp_path / "data.csv")
    (note,) = [note for note in read_table(tmp_path / "data.csv").notes if "--transpose" in note]
    assert (
        "150 rows are taken as samples, but its columns are named like samples ('patient_0', 'patient_1' ...)" in note
    )
    expression.index = [f"patient {i}" for i in range(150)]
    expression.to_csv(tmp_path / "data.csv")
    assert not any("--transpose" in note for note in read_table(tmp_path / "data.csv").notes)


@pytest.mark.parametrize("title", ["gene", "symbol", "Feature"])
@pytest.mark.parametrize(("name", "told"), [("ENSG00000000003", "'ENSG00000000003' again"), (None, "no entry")])
def test_genes_that_are_repeated_or_missing_are_hinted_at_too(tmp_path, expression, title, name, told):
    names = [f"ENSG{i:011}" for i in range(150)]
    names[140] = name
    expression.set_axis(names).rename_axis(title).to_csv(tmp_path / "data.csv")
    (note,) = [note for note in read_table(tmp_path / "data.csv").notes if "--transpose" in note]
    assert "its 150 rows are taken as samples, but they are named like genes" in note
    assert f"give every row in the column {title!r} a name of its own (it has {told} in row 141), and pass" in note


@pytest.mark.parametrize("beside", [{}, {"chromosome": ["1", "X"] * 75}])
def test_columns_that_look_like_samples_are_hinted_at_without_names_of_the_rows(tmp_path, expression, beside):
    expression.columns = [f"GSM{1000 + i}" for i in range(12)]
    expression.assign(**beside).to_csv(tmp_path / "data.csv", index=False)
    (note,) = [note for note in read_table(tmp_path / "data.csv").notes if "--transpose" in note]
    assert "its columns are named like samples ('GSM1000', 'GSM1001' ...). If its 12 columns are the samples" in note


def test_columns_are_the_samples_when_asked(run, expression, tmp_path):
    code, _, err = run("cluster", "genes.csv", "--transpose", "-k", 2)
    assert code == 0, err
    assert "--transpose" not in err
    labels = pd.read_csv(tmp_path / "genes-clusters" / "labels.csv")
    assert labels["id"].tolist() == list(expression)
    assert kernelweave.load(tmp_path / "genes-clusters" / "model.kw").feature_names_in_.tolist() == GENES
    groups = labels["label"].to_numpy()
    assert len(set(groups[::2])) == len(set(groups[1::2])) == 1
    assert groups[0] != groups[1]


def test_a_column_of_words_can_be_left_out_before_a_table_is_turned(run, expression, tmp_path):
    path = tmp_path / "genes.csv"
    pd.read_csv(path).assign(description="a gene").to_csv(path, index=False)
    code, out, _ = run("inspect", "genes.csv", "--transpose", "--json")
    assert code == 2
    assert "column 'description' has others" in json.loads(out)["problems"][0]
    assert run("inspect", "genes.csv", "--transpose", "--drop", "description", "--json")[0] == 0


@pytest.mark.parametrize("name", ["s{}", "patient {}", "L{:03}"])
def test_rows_that_are_samples_need_no_hint(tmp_path, name):
    ids = [name.format(i) for i in range(300)]
    pd.DataFrame({"id": ids, "a": np.arange(300.0), "b": 1.5}).to_csv(tmp_path / "long.csv", index=False)
    assert not any("transpose" in note for note in read_table(tmp_path / "long.csv").notes)


def test_the_scaling_is_an_option_of_fits(run, table, csv, tmp_path):
    assert run("cluster", csv, "-k", 3, "--scale", "unit")[0] == 0
    assert kernelweave.load(tmp_path / "data-clusters" / "model.kw").scaling_[0].scalings["X"].method == "unit"
    assert run("cluster", csv, "-k", 3, "--method", "smkl", "--scale", "none", "--force")[0] == 0
    assert kernelweave.load(tmp_path / "data-clusters" / "model.kw").scaling_[0].scalings["X"].method == "none"
    table.to_csv("few.csv", index=False)
    assert run("classify", "few.csv", "--labels", "kind", "--scale", "none")[0] == 0
    assert kernelweave.load(tmp_path / "few-classes" / "model.kw").scaling_[0].scalings["X"].method == "none"


def test_the_first_sheet_that_is_not_empty_is_read_and_the_others_are_named(tmp_path, table):
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        pd.DataFrame().to_excel(book, sheet_name="cover", index=False)
        table[["name", "a", "b"]].to_excel(book, sheet_name="data", index=False)
        table[["name", "c"]].to_excel(book, sheet_name="old", index=False)
    read = read_table(tmp_path / "book.xlsx")
    assert read.ids == table["name"].tolist()
    assert list(read.frame) == ["a", "b"]
    assert any("the sheet 'data' is read; those left out: 'old'" in note for note in read.notes)


def test_words_for_missing_values_are_missing_among_numbers_and_texts_among_texts(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("age,mood\n31,?\n?,good\n-,unknown\n45,?\n28,good\n")
    table = read_table(path)
    assert table.frame["age"].isna().tolist() == [False, True, True, False, False]
    assert table.frame["mood"].tolist() == ["?", "good", "unknown", "?", "good"]
    assert any("2 cells of column 'age' are taken as missing ('-', '?')" in note for note in table.notes)


def test_inspect_shows_every_column_and_what_would_be_done(run, table, tmp_path):
    table.loc[2, "b"] = np.nan
    table["c"] = table["c"].astype(object)
    table.loc[4, "c"] = "about 3"
    table.assign(n=range(60), late=table["a"] > 0).to_csv("data.csv", index=False)
    code, out, err = run("inspect", "data.csv")
    assert code == 2
    assert err == ""
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == "data.csv: 60 rows, 7 columns"
    assert "ids ('name'): '000', '001', '002' ..." in lines
    assert "the column 'name' holds the ids ('000', '001' ...)." in lines
    assert "column kind missing holds use" in lines
    assert f"a number 0 {table['a'].min():g} to {table['a'].max():g} feature" in lines
    assert any(line.startswith("b number 1 ") and line.endswith("feature") for line in lines)
    assert any(line.startswith("c ") and line.endswith("to be settled") for line in lines)
    assert any(line.startswith("kind category 0 3 different: ") and line.endswith("feature") for line in lines)
    assert any(line.startswith("n whole number 0 0 to 59") for line in lines)
    assert any(line.startswith("late boolean 0 ") for line in lines)
    assert "kernelweave inspect data.csv --missing 'c=about 3'" in lines
    assert list(tmp_path.iterdir()) == [tmp_path / "data.csv"]


def test_inspect_marks_what_it_cuts_off(run):
    pd.DataFrame({"a": [f"{'word' * 5} {i % 4}" for i in range(30)], "b": range(0, 60, 2)}).to_csv("d.csv", index=False)
    _, out, _ = run("inspect", "d.csv")
    line = next(line for line in out.splitlines() if line.startswith("  a "))
    assert re.search(r"4 different: 'wordwordwordwordword 0', 'wordwordwordwordw\.\.\.  feature$", line)


@pytest.mark.parametrize("sep", [",", ";"])
def test_inspect_counts_what_is_true_whatever_the_decimal_mark(run, sep):
    mark = "." if sep == "," else ","
    rows = "".join(f"{i}{mark}5{sep}{i % 4 == 0}\n" for i in range(20))
    Path("d.csv").write_text(f"a{sep}b\n{rows}")
    _, out, _ = run("inspect", "d.csv")
    assert re.search(r"b +boolean +0 +5 times True +feature", out)


def test_inspect_ends_well_if_nothing_is_in_the_way(run, csv):
    code, out, _ = run("inspect", csv)
    assert code == 0
    assert "cannot be used" not in out


@pytest.mark.parametrize(
    ("texts", "first", "note"),
    [
        (["31.12.2020", "1.2.2021", ""], "2020-12-31", "read as dates with the day first ('31.12.2020')"),
        (["31/12/2020", "01/02/2021", ""], "2020-12-31", "read as dates with the day first ('31/12/2020')"),
        (["12/31/2020", "2/1/2021", ""], "2020-12-31", "read as dates with the month first ('12/31/2020')"),
    ],
)
def test_dates_are_read_as_people_write_them(tmp_path, texts, first, note):
    lines = [f"s{i};{i},5;{text}" for i, text in enumerate(texts * 5)]
    (tmp_path / "x.csv").write_text("\n".join(["id;a;seen", *lines]))
    table = read_table(tmp_path / "x.csv")
    assert table.frame["seen"].dtype.kind == "M"
    assert table.frame["seen"].iloc[0] == pd.Timestamp(first)
    assert table.frame["seen"].iloc[1] == pd.Timestamp("2021-02-01")
    assert table.frame["seen"].isna().tolist() == [False, False, True] * 5
    assert any(note in said for said in table.notes)


@pytest.mark.parametrize("text", ["31.02.2020", "1.2.3", "13/13/2020", "192.168.0.1"])
def test_what_is_no_date_stays_a_text(tmp_path, text):
    lines = [f"s{i},{i}.5,{cell}" for i, cell in enumerate([text, "x"] * 5 if text == "1.2.3" else [text] * 10)]
    (tmp_path / "x.csv").write_text("\n".join(["id,a,seen", *lines]))
    assert text in read_table(tmp_path / "x.csv").frame["seen"].tolist()


def test_days_and_months_that_cannot_be_told_apart_are_not_guessed(tmp_path):
    (tmp_path / "x.csv").write_text("id,a,seen\n" + "".join(f"s{i},{i}.5,{i + 1}/{12 - i}/2020\n" for i in range(10)))
    table = read_table(tmp_path / "x.csv")
    assert table.frame["seen"].iloc[0] == "1/12/2020"
    assert any("seems to hold dates ('1/12/2020'), but nothing tells days from months" in note for note in table.notes)


@pytest.fixture
def counts(tmp_path):
    """Counts of genes by samples as featureCounts writes them, and as htseq-count does."""
    rng = np.random.default_rng(0)
    values = rng.poisson(20, size=(120, 30))
    values[:40, ::2] += 50
    frame = pd.DataFrame(values, columns=[f"s{i}.bam" for i in range(30)])
    names = [f"ENSG{i:011}" for i in range(120)]
    places = {"Geneid": names, "Chr": "chr1;chr1", "Start": "1;9", "Strand": "+;+", "Length": np.arange(120) + 300}
    text = pd.concat([pd.DataFrame(places), frame], axis=1).to_csv(sep="\t", index=False)
    (tmp_path / "counts.txt").write_text(f"# Program:featureCounts v2.0.1\n{text}")
    frame.insert(0, "gene", names)
    last = pd.DataFrame([["__no_feature", *[999] * 30], ["__ambiguous", *[99] * 30]], columns=list(frame))
    pd.concat([frame, last]).to_csv(tmp_path / "htseq.tsv", sep="\t", index=False)


def test_columns_that_describe_genes_are_named_with_the_command_that_drops_them(run, refused, counts):
    message = refused("cluster", "counts.txt", "--transpose", "-k", 2)
    assert (
        "counts.txt: a table can be transposed if its cells are numbers; columns 'Chr', 'Start', 'Strand' have"
        in message
    )
    dropped = ["--drop", "Chr", "--drop", "Start", "--drop", "Strand"]
    assert f"kernelweave cluster counts.txt --transpose -k 2 {' '.join(dropped)}" in message
    code, out, err = run("cluster", "counts.txt", "--transpose", "-k", 2, *dropped)
    assert code == 0, err
    assert "'Length' is a sample since the table was transposed, but the name suggests a description of genes" in err
    code, out, err = run("cluster", "counts.txt", "--transpose", "-k", 2, *dropped, "--drop", "Length", "--force")
    assert code == 0, err
    assert "30 samples" in out
    assert "describes genes" not in err


def test_columns_that_describe_proteins_get_a_note_when_they_become_samples(run, tmp_path):
    intensities = np.random.default_rng(0).lognormal(20, 1, (120, 30))
    frame = pd.DataFrame(intensities, columns=[f"LFQ intensity S{i}" for i in range(30)])
    frame.insert(0, "Protein IDs", [f"sp|P{i:05}|AL{i}_HUMAN" for i in range(120)])
    frame.assign(Score=1.5, id=range(120)).to_csv(tmp_path / "data.txt", sep="\t", index=False)
    code, _, err = run("cluster", "data.txt", "--transpose", "-k", 2)
    assert code == 0, err
    told = "'Score', 'id' are samples since the table was transposed, but the names suggest a description of genes or "
    told += "proteins"
    assert told in " ".join(err.split())
    code, _, err = run("cluster", "data.txt", "--transpose", "-k", 2, "--drop", "Score", "--drop", "id", "--force")
    assert code == 0, err
    assert "describes" not in err


def test_a_table_of_texts_is_not_offered_to_be_transposed_without_them(refused, tmp_path):
    genotypes = {f"S{i}": ["0/0", "0/1", "1/1"] * 20 for i in range(20)}
    pd.DataFrame({"ID": [f"rs{i}" for i in range(60)], **genotypes}).to_csv(tmp_path / "data.csv", index=False)
    message = refused("cluster", "data.csv", "--transpose", "-k", 2)
    assert "have others. Write numbers in place of them, such as 0, 1 and 2 for genotypes." in message
    assert "--drop" not in message


def test_rows_that_count_reads_without_a_gene_get_a_note(run, counts):
    _, out, _ = run("inspect", "htseq.tsv")
    assert "the rows '__no_feature', '__ambiguous' count reads that belong to no gene." in out
    _, out, _ = run("inspect", "counts.txt")
    assert "count reads" not in out


def test_a_series_matrix_of_geo_is_read_without_its_last_line(tmp_path):
    head = '!Series_title\t"Study"\n!series_matrix_table_begin\n"ID_REF"\t"GSM1"\t"GSM2"\t"GSM3"\n'
    rows = "".join(f'"{1000 + i}_at"\t{i}.5\t{i}.25\t{i}.75\n' for i in range(200))
    (tmp_path / "GSE1_series_matrix.txt").write_text(f"{head}{rows}!series_matrix_table_end\n")
    table = read_table(tmp_path / "GSE1_series_matrix.txt", transpose=True)
    assert table.ids == ["GSM1", "GSM2", "GSM3"]
    assert table.frame.shape == (3, 200)
    assert any("so it is left out ('!series_matrix_table_end')" in note for note in table.notes)
