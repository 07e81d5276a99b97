"""What the results folder keeps, so that the report can be written again; versions."""

from html import unescape

import numpy as np
import pandas as pd
import pytest

from kernelweave import __version__


def section(page):
    text = unescape(page.read_text())
    return text[text.index('id="groups"') : text.index('id="map"')]


@pytest.mark.parametrize("command", ["cluster", "classify"])
def test_the_report_written_again_shows_what_sets_the_groups_apart(run, table, tmp_path, command):
    few = table.assign(kind=table["kind"].where(np.arange(60) % 6 == 0))
    (few if command == "classify" else few.drop(columns="kind")).to_csv("data.csv", index=False)
    options = ("--labels", "kind") if command == "classify" else ("-k", 3)
    assert run(command, "data.csv", "--id", "name", "--out", "found", *options)[0] == 0
    page = tmp_path / "found" / "report.html"
    first = section(page)
    assert any(f"</span> {name}: <strong>" in first for name in "abcd")
    code, _, err = run("report", "found", "--force")
    assert code == 0, err
    assert section(page) == first
    assert f"kernelweave {command}" in page.read_text()
    assert ("from 10 labels" in page.read_text()) == (command == "classify")


def test_a_report_of_a_model_alone_goes_without_the_features(run, csv, tmp_path):
    run("cluster", csv, "--id", "name", "-k", 3, "--out", "found")
    (tmp_path / "found" / "report.json").unlink()
    assert run("report", "found", "--force")[0] == 0
    page = (tmp_path / "found" / "report.html").read_text()
    assert 'id="groups"' in page
    assert 'id="features"' not in page
    assert 'class="told-by"' not in page


@pytest.mark.parametrize("content", ["", "[]", '{"features": 3}', '{"features": [], "labelled": null}'])
def test_a_damaged_file_beside_the_model_is_refused(run, refused, csv, tmp_path, content):
    run("cluster", csv, "--id", "name", "-k", 3, "--out", "found")
    (tmp_path / "found" / "report.json").write_text(content)
    said = refused("report", "found", "--force")
    assert "report.json" in said
    assert "Remove it" in said


def test_the_version_is_printed(run):
    assert run("--version") == (0, f"{__version__}\n", "")


def test_the_weights_of_views_stand_below_those_of_their_kernels(run, table, tmp_path):
    table[["name", "a", "b"]].to_csv("one.csv", index=False)
    table[["name", "c", "d"]].to_csv("two.csv", index=False)
    run("cluster", "one.csv", "two.csv", "--id", "name", "-k", 3, "--out", "found")
    weights = pd.read_csv(tmp_path / "found" / "weights.csv")
    total = weights["kernel"] == "all"
    assert weights["view"][total].tolist() == ["one", "two"]
    assert total.tolist() == sorted(total)
    of_kernels = weights[~total].groupby("view")["share"].sum()
    assert weights[total].set_index("view")["share"].to_dict() == pytest.approx(of_kernels.to_dict(), abs=1e-4)
