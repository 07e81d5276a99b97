"""The page and the tables: their figures are those of the rows; the page in a browser."""

import json
import re
import shutil
import sys

import pandas as pd
import pytest

from kernelweave.cli import main
from kernelweave.errors import ResultsError
from kernelweave.leaderboard import standings
from kernelweave.leaderboard.leaderboard_page import leaderboard_html
from kernelweave.leaderboard.leaderboard_tables import leaderboard_markdown, read_rows, write_leaderboard
from kernelweave.leaderboard.verdicts import protocol_words

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync")

SCORES = {"WeaveClustering": [0.9, 0.8, 0.5], "GMC": [0.7, 0.805, None], "</script><b>": [0.6, 0.7, 0.6]}


@pytest.fixture
def rows(made_up):
    gaps = made_up({"WeaveClustering": [0.4, 0.5], "KMeans": [0.6, 0.1]}, condition="gaps")
    labels = made_up({"WeaveClassifier": [0.9, 0.8], "LGC": [0.6, 0.9]}, condition="labels")
    return pd.concat([made_up(SCORES), gaps, labels], ignore_index=True)


def test_the_tables_hold_the_standings_and_every_score(rows):
    text = leaderboard_markdown(rows, held_out=["set2"], page="leaderboard.html")
    assert "| **WeaveClustering** | 1.50 | 0.850 | – | 2 of 2 | 2.50 | 10 |" in text
    assert "## The number of clusters is given, held-out data sets" in text
    assert "| GMC | – |" in text
    assert "| GMC | set2 | plain | stopped after 60 s of CPU time |" in text
    assert '<a href="leaderboard.html">page that can be sorted and filtered</a>' in text
    assert "A fit is stopped after 60 s of CPU time" in text
    assert "| set1 | 100 | 2 | 4 | 3 | text |" in text


def test_the_first_lines_tell_the_place_of_weave_and_where_it_loses(rows):
    first = leaderboard_markdown(rows).split("- ")[2]
    assert first.startswith("The number of clusters is given: WeaveClustering is number 1 of 3")
    assert "On 1 of them another method is better: set2 (0.500; </script><b> 0.600)" in first


def test_rows_of_two_protocols_are_not_compared(made_up):
    rows = pd.concat([made_up(SCORES), made_up(SCORES, protocol='{"max_seconds": 50}')])
    with pytest.raises(ResultsError, match="computed under 2 protocols, which cannot be compared"):
        protocol_words(rows)


def test_the_protocol_is_told_as_far_as_the_rows_need_it(made_up):
    plain = " ".join(protocol_words(made_up({"WeaveClustering": [0.9], "KMeans": [0.8]})))
    assert "cannot be told" not in plain
    assert "Under '" not in plain
    one = " ".join(protocol_words(made_up({"WeaveClustering": [0.9], "Leiden": [0.8]}, condition="gaps")))
    assert "Leiden cannot be told the number of clusters: it finds its own" in one
    assert one.endswith("Under 'gaps', 30% of the samples lack one view each.")
    both = protocol_words(made_up({"HDBSCAN": [0.9], "Leiden": [0.8]}, condition="labels"))
    assert "HDBSCAN and Leiden cannot be told the number of clusters: they find their own" in both[1]
    assert both[-1].startswith("Under 'labels', 5% of each class")


def test_samples_are_said_to_be_drawn_only_where_they_were(short_run, made_up):
    words = " ".join(protocol_words(short_run[0]))
    assert "At most 120 samples of a data set are used, drawn at random" in words
    assert "All samples of the data sets are used." in protocol_words(made_up({"WeaveClustering": [0.9]}))


def test_a_method_that_never_finished_has_no_time_and_no_memory(made_up):
    text = leaderboard_markdown(made_up({"WeaveClustering": [0.9, 0.8], "GMC": [None, None]}))
    assert "| GMC | 2.00 | – | 0, 0, 2 | 0 of 2 | – | – |" in text


def test_a_folder_without_rows_is_reported(tmp_path):
    with pytest.raises(ResultsError, match=r"has no results\.parquet: run `kernelweave benchmark --out"):
        read_rows(tmp_path)


def test_the_page_has_its_data_within_and_nothing_of_it_is_markup(rows):
    page = leaderboard_html(rows, held_out=["set1"])
    assert page.count("</script>") == 2
    assert not re.search(r'(src|href)="', page)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, flags=re.S)[1])
    assert data["tables"]["plain"]["acc"][0] == [0.9, 0.8, 0.5]
    assert {d["name"]: d["part"] for d in data["datasets"]}["set1"] == "held out"


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Run `kernelweave benchmark` in a folder of the test's own; return the exit code and what it said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["kernelweave", "benchmark", *arguments])
        with pytest.raises(SystemExit, match=r"^[02]$") as end:
            main()
        return end.value.code, *capsys.readouterr()

    return run


def test_the_command_writes_rows_tables_and_the_page(command, tmp_path):
    own = "from sklearn.cluster import MiniBatchKMeans\nclass MyOwn(MiniBatchKMeans): pass\n"
    (tmp_path / "my_folder_method.py").write_text(own)
    few = ("--methods", "KMeans,Ward", "--seeds", "1", "--max-samples", "80", "--out", "board")
    code, out, err = command("--datasets", "iris,wine", "--method", "my_folder_method:MyOwn", *few)
    assert code == 0, err
    assert out.startswith("6 rows in board")
    assert set(read_rows(tmp_path / "board")["method"]) == {"KMeans", "Ward", "MyOwn"}
    assert "| MyOwn |" in (tmp_path / "board" / "leaderboard.md").read_text()
    assert "MyOwn" in (tmp_path / "board" / "leaderboard.html").read_text()
    sys.modules.pop("my_folder_method")


def test_the_command_names_a_data_set_that_is_unknown(command):
    code, _, err = command("--datasets", "nobody")
    assert code == 2
    assert "There is no data set 'nobody'" in err


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if BROWSER is None:
        pytest.skip("no Chromium or Chrome is on the path: .ci/install-browser")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, rows, tmp_path):
    """Open the page; at the end no script may have failed or asked for anything."""
    path = write_leaderboard(rows, tmp_path, held_out=["set1"])[1]
    complaints, contexts = [], []

    def open_page(width=1280, scheme="light"):
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda r: None if r.url == path.as_uri() else complaints.append(r.url))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def cells(page, table="standings"):
    return [row.locator("td").all_inner_texts() for row in page.locator(f"#{table} tbody tr").all()]


def test_the_browser_computes_the_same_standings(visit, rows):
    page = visit()
    expected = standings(rows)
    for got, row in zip(cells(page), expected.rows, strict=True):
        assert got[:3] == [row.method, f"{row.rank:.2f}", f"{row.mean:.3f}"]
        assert list(map(int, got[3:7])) == [row.wins, row.ties, row.losses, row.finished]
        assert got[8] == ("–" if row.mib is None else f"{row.mib:.0f}")
    assert cells(page, "cells")[1][0] == expected.rows[1].method


def test_the_table_is_sorted_by_a_click_and_filtered_by_part_domain_and_name(visit):
    page = visit()
    page.get_by_role("button", name="method").click()
    assert [row[0] for row in cells(page)] == ["</script><b>", "GMC", "WeaveClustering"]
    page.select_option("#part", "held out")
    assert "3 methods on 1 data set;" in page.inner_text("#said")
    page.select_option("#part", "")
    page.select_option("#domain", "images")
    assert page.locator("#cells thead th").all_inner_texts() == ["method", "set0"]
    page.fill("#search", "gmc, weave")
    assert {row[0] for row in cells(page)} == {"GMC", "WeaveClustering"}


def test_every_condition_has_its_table_and_its_diagram(visit):
    page = visit()
    assert page.locator(".diagram:visible svg").count() == 1
    page.select_option("#condition", "labels")
    assert {row[0] for row in cells(page)} == {"WeaveClassifier", "LGC"}
    assert page.locator("#metric").is_disabled()
    assert "WeaveClassifier" in page.locator(".diagram:visible").inner_text()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_its_width_and_follows_the_colours_of_the_system(visit, width, scheme):
    page = visit(width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    brightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert (brightness[0] < brightness[1]) == (scheme == "light")
