"""The page on the reproduction: computed from rows, plain about what is missing, and up to date."""

import json
from pathlib import Path

import pandas as pd
import pytest

from kernelweave.errors import ResultsError
from kernelweave.experiments import findings
from kernelweave.experiments.page import PARTS, add_run, main, write_page, write_pictures
from kernelweave.experiments.published import load_published
from kernelweave.experiments.rows import COLUMNS

ROOT = Path(__file__).parents[2]
RESULTS, PAGE = ROOT / "experiments" / "results", ROOT / "docs" / "reproduction.md"


def made(*rows):
    """Rows of an experiment, of which only what matters is said."""
    words = {column: "" for column, kind in COLUMNS.items() if kind == "string"}
    same = {"dataset": "yale", "method": "SMKL", "selection": "oracle", "parameters": "{}", "preset": "full", "seed": 0}
    frame = pd.DataFrame(
        [{**words, **same, "seconds": 36.0, "outcome": "CONVERGED", **row} for row in rows], columns=list(COLUMNS)
    )
    return frame.astype(COLUMNS)


def as_printed(name, **shift):
    """Rows that give the published figures of a table, shifted for some methods."""
    table = load_published(name)
    return made(
        *(
            {
                "dataset": f.dataset,
                "method": f.method,
                "fraction": None if f.labels is None else f.labels / 100,
                "acc": f.value / table.scale + shift.get(f.method, 0),
            }
            for f in table.figures
            if f.metric == "acc"
        )
    )


def kept(folder, name, rows):
    (folder / name).mkdir(parents=True)
    rows.assign(experiment=name).to_parquet(folder / name / "results.parquet", index=False)


def test_the_shipped_page_is_what_the_committed_rows_give():
    assert PAGE.read_text() == write_page(RESULTS)


def test_without_rows_the_page_says_so_for_every_experiment(tmp_path):
    page = write_page(tmp_path)
    for part in PARTS:
        assert f"no rows of `{part.name}`" in page


def test_the_same_rows_give_the_same_page_from_parquet_and_csv(tmp_path):
    rows = as_printed("table2")
    kept(tmp_path / "a", "table2", rows)
    (tmp_path / "b" / "table2").mkdir(parents=True)
    rows.assign(experiment="table2").to_csv(tmp_path / "b" / "table2" / "results.csv", index=False)
    assert write_page(tmp_path / "a") == write_page(tmp_path / "b")


def test_figures_as_printed_are_all_met():
    said = findings.clustering(as_printed("table2"))
    assert "48 published figures, of which 48 matched within 0.02, 0 exceeded, 0 not reached, 0 without" in said[0]


def test_what_is_higher_lower_and_missing_is_counted_and_named():
    rows = as_printed("table3", SMKL=-0.03, LGC=0.03)
    rows = rows[~((rows["dataset"] == "ba") & (rows["method"] == "SCAN"))]
    said = findings.classification(rows)
    assert "72 published figures, of which 45 matched within 0.02, 12 exceeded, 12 not reached, 0 without" in said[0]
    assert said[0].endswith("3 not computed.")
    (lower,) = [line for line in said if line.startswith("Not reached")]
    assert "SMKL: YALE 10 % −0.030" in lower
    assert "LGC" not in lower
    assert any("SCAN: BA 10 %, BA 30 %, BA 50 %" in line for line in said)


def test_whether_smkl_is_the_best_is_counted_and_not_claimed():
    said = " ".join(findings.clustering(as_printed("table2", SMKL=-0.2)))
    assert "best ACC in 6 of 6 cases in the paper, and in 0 of 6 cases here" in said
    partly = as_printed("table2")
    said = " ".join(findings.clustering(partly[partly["method"] == "SMKL"]))
    assert "It is not known yet" in said


def test_defaults_stand_beside_the_tuned_figures():
    defaults = made({"method": "SMKL defaults", "selection": "fixed", "acc": 0.59})
    said = " ".join(findings.clustering(pd.concat([as_printed("table2"), defaults])))
    assert "SMKL defaults (fixed): YALE 0.590" in said
    assert "SMKL in 1 of 1 case." in said


def test_sizes_that_differ_are_named():
    sizes = {"n_samples": 1404, "n_features": 320, "n_classes": 36}
    said = findings.sizes(made({"dataset": "ba", **sizes}))
    assert said[0] == "Published sizes that agree with the data: 0 of 1."
    assert "BA has 36 classes; the paper (Section 5.1) says 39." in said
    assert any("Not measured" in line and "YALE" in line for line in said)


def test_a_failed_setting_counts_as_far_from_the_best():
    grid = {(1, 1): 0.6, (1, 2): 0.58, (2, 1): 0.2, (2, 2): None}
    rows = made(
        *(
            {"parameters": json.dumps({"alpha": a, "gamma": g, "scheme": "x"}), "acc": acc}
            for (a, g), acc in grid.items()
        )
    )
    said = findings.sensitivity(rows)
    assert "Of 4 settings, 50% have less than half of the best ACC (0.6000) or failed" in said[0]
    assert next(line for line in said if line.startswith("alpha")).endswith("other parameters: 1.")
    assert not any(line.startswith("scheme") for line in said)


def test_the_leak_is_the_difference_between_two_orders_of_rows():
    same = {"split": "same-positions", "selection": "fixed"}
    arms = {"as released": (0.5, 0.9), "SMKL, rows aligned": (0.5, 0.8)}
    rows = made(
        *(
            {"method": method, "fraction": fraction, "acc": acc, **same}
            for method, both in arms.items()
            for fraction, acc in zip((0.1, 0.5), both, strict=True)
        )
    )
    said = findings.leak(rows)
    assert "+10.0 points on YALE with 50 % of the labels: from 0.800 to 0.900" in said[0]
    assert "published 82.44" in said[-1]


def test_a_run_is_added_small_and_with_its_tables(tmp_path):
    run = tmp_path / "run"
    kept(run, "table2", as_printed("table2").assign(key="k", seconds=1.23456))
    main([str(tmp_path / "results"), "--add", str(run / "table2"), "--out", str(tmp_path / "page.md")])
    folder = tmp_path / "results" / "table2"
    rows = pd.read_parquet(folder / "results.parquet")
    assert "key" not in rows
    assert set(rows["seconds"]) == {1.235}
    assert (folder / "table2.html").is_file()
    page = (tmp_path / "page.md").read_text()
    assert page == write_page(tmp_path / "results")
    assert "48 matched within 0.02" in page
    assert "| table2 | full | 48 | 0 | 0 |" in page


def test_an_added_run_replaces_the_rows_that_it_has_and_keeps_the_others(tmp_path):
    stored, again = as_printed("table2"), as_printed("table2", SMKL=0.1)
    kept(tmp_path / "results", "table2", stored.drop(columns=["key", "commit", "preprocessing", "moved"]))
    part = again[again["method"] == "SMKL"].assign(key="k", commit="abc", preprocessing="none")
    kept(tmp_path / "run", "table2", part)
    add_run(tmp_path / "run" / "table2", tmp_path / "results")
    rows = pd.read_parquet(tmp_path / "results" / "table2" / "results.parquet")
    assert rows[["dataset", "method"]].to_numpy().tolist() == stored[["dataset", "method"]].to_numpy().tolist()
    assert set(rows.loc[rows["method"] == "SMKL", "commit"]) == {"abc"}
    assert set(rows.loc[rows["method"] != "SMKL", "commit"]) == {""}
    assert "abc: 6 rows" in write_page(tmp_path / "results")


def test_the_page_explains_differences_and_answers_the_claim(tmp_path):
    kept(tmp_path, "table2", as_printed("table2", SMKL=-0.1))
    page = write_page(tmp_path)
    assert "Table 2: every difference of more than 0.02" in page
    assert "## What remains of the claim" in page
    assert "Mean ranks on 6 data sets" in page


def test_a_corrupt_file_and_an_empty_run_are_named(tmp_path):
    with pytest.raises(ResultsError, match=r"has no results\.parquet"):
        add_run(tmp_path, tmp_path)
    (tmp_path / "table2").mkdir()
    (tmp_path / "table2" / "results.parquet").write_bytes(b"nothing")
    with pytest.raises(ResultsError, match=r"results\.parquet cannot be read"):
        write_page(tmp_path)


def test_no_missing_figure_shows_as_a_number(tmp_path):
    kept(tmp_path, "table2", made({"acc": None, "outcome": "FAILED"}))
    page = write_page(tmp_path)
    assert "nan" not in page.split()
    assert "| table2 | full | 1 | 1 | 0 |" in page


def test_a_table_with_rows_has_a_picture_and_one_without_has_none(tmp_path):
    kept(tmp_path, "table2", as_printed("table2"))
    write_pictures(tmp_path)
    assert [path.name for path in tmp_path.rglob("*.png")] == ["table2_compared.png"]


def test_rows_of_a_smaller_preset_are_named_unless_the_protocol_is_complete(tmp_path):
    same = {"selection": "fixed", "preset": "part", "fraction": 0.1, "acc": 0.5}
    rows = made(*({**same, "dataset": name, "seed": seed} for name in ("yale", "jaffe") for seed in range(200)))
    kept(tmp_path / "whole", "draws", rows)
    assert "(Rows of the preset" not in write_page(tmp_path / "whole")
    kept(tmp_path / "short", "draws", rows[:-1])
    assert "(Rows of the preset part, a part of the protocol of the paper.)" in write_page(tmp_path / "short")
    kept(tmp_path / "one", "draws", rows[:200])
    assert "(Rows of the preset part, a part of the protocol of the paper.)" in write_page(tmp_path / "one")
