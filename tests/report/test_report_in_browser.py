"""The page in a real browser: no errors, and hover, filter, sort, zoom and colours work."""

import copy
import csv
import shutil

import numpy as np
import pandas as pd
import pytest

from kernelweave import WeaveClassifier, WeaveClustering
from kernelweave.errors import UndecidedWarning
from kernelweave.report import write_report

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome is on the path: .ci/install-browser")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory, clusterer, blobs, ids):
    path = tmp_path_factory.mktemp("page") / "report.html"
    return write_report(clusterer, path, X=blobs[0], ids=ids, y=blobs[1]).as_uri()


@pytest.fixture
def visit(browser):
    """Open a page; at the end no script may have failed or asked for anything."""
    complaints, contexts = [], []

    def open_page(address, width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: None if request.url.startswith(("data:", address)) else complaints.append(request.url),
        )
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def page(visit, address):
    return visit(address)


def column(page, k):
    return page.locator(f"#table tbody tr > :nth-child({k})").all_inner_texts()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_its_window_and_is_not_blank(visit, address, width, scheme):
    page = visit(address, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("main section").count() >= 6
    assert page.locator(".group").count() == 3
    pixels = "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v)"
    assert page.locator("#scatter").evaluate(pixels)


def test_all_pictures_but_wide_ones_are_whole_on_a_phone(visit, address):
    page = visit(address, 390)
    cut = "pictures => pictures.map(one => one.parentElement.scrollWidth > one.parentElement.clientWidth)"
    assert page.locator(".drawing.small").count() >= 3
    assert not any(page.locator(".drawing.small").evaluate_all(cut))


def test_long_names_of_classes_stay_on_the_page(visit, blobs, tmp_path):
    X, y = blobs
    names = np.array(["a", "b", "x" * 100])
    model = WeaveClassifier().fit(X, np.where(np.arange(90) % 5 == 0, names[y], ""))
    page = visit(write_report(model, tmp_path / "long.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    spilled = "e => [...e.querySelectorAll('table')].some(t => t.scrollWidth > t.parentElement.clientWidth)"
    assert not page.locator(".extremes").evaluate(spilled)


@pytest.mark.parametrize("width", [1280, 390])
def test_the_boxes_of_names_show_usual_names_whole(width, visit, blobs, tmp_path):
    X, y = blobs
    names = np.array(["Iris setosa", "Iris versicolor, wild", "x" * 100])
    model = WeaveClassifier().fit(X, np.where(np.arange(90) % 5 == 0, names[y], ""))
    table = pd.DataFrame(1e5 * X, columns=[f"measurement{j}" for j in range(X.shape[1])])
    page = visit(write_report(model, tmp_path / "names.html", X=table, y=names[y]).as_uri(), width)
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cut = "boxes => boxes.map(box => box.scrollWidth > box.clientWidth)"
    assert page.locator("[id^=name-]").evaluate_all(cut) == [False, False, True]
    page.locator("#name-0").fill("Iris setosa, of the garden")
    assert page.locator("[id^=name-]").evaluate_all(cut) == [False, False, True]


def test_hovering_a_sample_shows_its_name_and_cluster(page):
    canvas = page.locator("#scatter")
    canvas.scroll_into_view_if_needed()
    where = """c => { const chart = Chart.getChart(c), set = chart.data.datasets.findIndex(s => s.data.length);
        const { x, y } = chart.getDatasetMeta(set).data[0]; return { x, y, i: chart.data.datasets[set].data[0].i }; }"""
    spot = canvas.evaluate(where)
    canvas.hover(position={"x": spot["x"], "y": spot["y"]})
    page.wait_for_function("Chart.getChart('scatter').tooltip.opacity > 0")
    told = canvas.evaluate(
        "c => { const t = Chart.getChart(c).tooltip; return [t.title, t.body.map(b => b.lines)].flat(3); }"
    )
    assert any("cluster" in line for line in told)
    assert any("confidence" in line for line in told)
    names = page.evaluate("JSON.parse(document.getElementById('data').textContent).ids")
    assert set(told) & set(names)


def test_a_head_sorts_up_and_then_down(page):
    head = page.locator("#table thead th", has_text="confidence")
    assert head.get_attribute("aria-sort") == "ascending"  # the least certain come first
    values = [float(text) for text in column(page, 3)]
    assert values == sorted(values)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    values = [float(text) for text in column(page, 3)]
    assert values == sorted(values, reverse=True)


def test_names_sort_by_their_numbers(page):
    page.locator("#table thead th").first.get_by_role("button").click()
    names = [name for name in column(page, 1) if name.startswith("sample ")]
    assert names == [f"sample {i}" for i in range(1, len(names) + 1)]


def test_finding_and_choosing_a_cluster_leave_only_these_rows(page):
    page.locator("#find").fill("sample 8")
    assert set(column(page, 1)) == {"sample 8", *(f"sample 8{i}" for i in range(10))}
    page.locator("#find").fill("")
    page.locator("#group").select_option(index=2)
    assert {text.strip() for text in column(page, 2)} == {"2"}


def test_unticking_a_cluster_hides_it_in_the_map_and_in_the_table(page):
    page.locator("input[name=group]").first.uncheck()
    assert page.evaluate("Chart.getChart('scatter').isDatasetVisible(0)") is False
    assert "1" not in {text.strip() for text in column(page, 2)}
    page.get_by_role("button", name="None", exact=True).click()
    assert column(page, 1) == []
    page.get_by_role("button", name="All", exact=True).click()
    assert page.evaluate("Chart.getChart('scatter').isDatasetVisible(0)") is True


def test_pages_of_the_table_hold_all_samples_once(page, ids):
    seen = column(page, 1)
    while page.locator("#next").is_enabled():
        page.locator("#next").click()
        seen += column(page, 1)
    assert sorted(seen) == sorted(ids)


def test_keys_zoom_and_step_from_sample_to_sample(page):
    width = "(() => { const { min, max } = Chart.getChart('scatter').scales.x; return max - min; })()"
    page.locator("#scatter").focus()
    before = page.evaluate(width)
    page.keyboard.press("+")
    assert page.evaluate(width) == pytest.approx(0.7 * before)
    page.keyboard.press("0")
    assert page.evaluate(width) == pytest.approx(before)
    page.keyboard.press("n")
    first = page.locator("#told").inner_text()
    page.keyboard.press("n")
    assert "confidence" in first
    assert page.locator("#told").inner_text() != first


def test_the_map_changes_between_memberships_and_embedding(page):
    shown = "Chart.getChart('scatter').data.datasets[0].data.map(point => [point.x, point.y])"
    before = page.evaluate(shown)
    page.locator("#kind").select_option("Memberships")
    assert page.evaluate(shown) != before
    assert page.locator("[data-map='1']").is_visible()
    assert page.locator("[data-map='0']").is_hidden()
    assert page.locator("#directions").is_hidden()  # a wheel has none
    page.locator("#kind").select_option("Embedding")
    assert page.evaluate(shown) == before


def saved(page, button):
    with page.expect_download() as wait:
        page.get_by_role("button", name=button, exact=True).click()
    with open(wait.value.path(), newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_a_new_name_is_shown_everywhere_and_saved(page, ids):
    page.get_by_label("Name of cluster 2").fill("=late <b>ones</b>")
    assert page.locator(".choices label", has_text="=late <b>ones</b>").count() == 1
    page.locator("#group").select_option(label="=late <b>ones</b>")
    assert {text.strip() for text in column(page, 2)} == {"=late <b>ones</b>"}
    head, *rows = saved(page, "Save samples as CSV")
    assert head == ["id", "cluster", "label", "name", "confidence", "truth"]
    assert [row[0] for row in rows] == [ids[0], *ids[1:]]
    assert {row[3] for row in rows if row[1] == "2"} == {"'=late <b>ones</b>"}  # not a formula
    assert {row[3] for row in rows if row[1] != "2"} == {"1", "3"}
    page.get_by_label("Name of cluster 2").fill("")
    assert {text.strip() for text in column(page, 2)} == {"2"}


def test_names_are_kept_when_the_page_is_opened_again(visit, address):
    page = visit(address)
    page.get_by_label("Name of cluster 3").fill("late")
    page.reload()
    assert page.get_by_label("Name of cluster 3").input_value() == "late"
    assert page.locator(".choices label", has_text="late").count() == 1
    assert page.locator("[data-number='2']").is_visible()
    assert sorted(saved(page, "Save names as CSV"))[-1] == ["label", "name"]
    assert sorted(name for _, name in saved(page, "Save names as CSV")[1:]) == ["", "", "late"]
    page.get_by_label("Name of cluster 3").fill("")
    page.reload()
    assert page.get_by_label("Name of cluster 3").input_value() == "3"
    assert page.locator("[data-number='2']").is_hidden()


def test_names_in_the_page_are_shown_on_the_map_and_a_spread_comes_first(visit, tmp_path, clusterer):
    path = write_report(clusterer, tmp_path / "named.html", names={"0": "early"}, spread=True)
    page = visit(path.as_uri())
    assert page.locator("#kind option").all_inner_texts() == ["Spread", "Embedding", "Memberships"]
    assert "early" in page.evaluate("Chart.getChart('scatter').data.datasets.map(set => set.label)")
    assert page.locator("[data-map='0']").inner_text().startswith("Spread by t-SNE")


def test_tables_are_saved_as_csv(page, clusterer):
    head, *rows = saved(page, "Save clusters as CSV")
    assert head == ["cluster", "label", "name", "samples", "share", "confidence"]
    assert sum(int(row[3]) for row in rows) == 90
    assert sorted(row[1] for row in rows) == sorted(map(str, set(clusterer.labels_.tolist())))
    head, *rows = saved(page, "Save features as CSV")
    assert {"cluster", "rank", "feature", "separation", "median_in", "name"} <= set(head)
    assert {row[0] for row in rows} == {"1", "2", "3"}
    assert len(saved(page, "Save as CSV")) == 1 + 4  # kernels


def test_many_clusters_are_folded_and_printed(visit, tmp_path):
    X = np.repeat(np.arange(14.0), 6)[:, None] * 10 + np.random.default_rng(0).normal(size=(84, 2))
    model = WeaveClustering(14, random_state=0).fit(X)
    page = visit(write_report(model, tmp_path / "many.html", X=X).as_uri(), 390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".group").count() == 14
    assert page.locator(".group >> visible=true").count() == 12
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".group >> visible=true").count() == 14
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator(".group >> visible=true").count() == 12


def test_choosing_a_row_shows_its_sample_on_the_map(page):
    row = page.locator("#table tbody tr").first
    name = row.locator("th").inner_text()
    row.get_by_role("button").click()
    assert page.locator("#told").inner_text().startswith(name)
    assert len(page.evaluate("Chart.getChart('scatter').getActiveElements()")) == 1


def test_the_button_changes_the_colours_and_back(page):
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.locator("#theme").click()
    assert page.evaluate(paper) != light
    page.locator("#theme").click()
    assert page.evaluate(paper) == light


def test_a_name_that_looks_like_markup_stays_text(page, ids):
    assert page.locator("img[src=x]").count() == 0
    assert page.title() != "1"
    page.locator("#find").fill("onerror")
    assert column(page, 1) == [ids[0]]


def test_the_report_of_a_classifier_works_as_well(visit, tmp_path, classifier, blobs, labelled):
    page = visit(write_report(classifier, tmp_path / "c.html", y=blobs[1], labelled=labelled).as_uri())
    assert page.evaluate("Chart.getChart('scatter').data.datasets.length") == 3
    page.locator("#table thead th", has_text="label").get_by_role("button").click()
    assert set(column(page, 5)) == {"predicted"}


def test_both_tables_of_samples_have_the_same_numbers(visit, tmp_path, classifier):
    model = copy.copy(classifier)
    model.label_distributions_ = np.column_stack([np.linspace(0.91048, 0.91052, 90), np.zeros(90), np.zeros(90)])
    page = visit(write_report(model, tmp_path / "c.html").as_uri())
    least = page.locator(".extremes tbody").first.locator("td.number").all_inner_texts()
    most = page.locator(".extremes tbody").last.locator("td.number").all_inner_texts()
    assert (set(least), set(most)) == ({"0.910"}, {"0.911"})
    page.locator("#table thead th", has_text="confidence").get_by_role("button").click()
    assert set(column(page, 3)) == {"0.911"}
    head, *rows = saved(page, "Save samples as CSV")
    assert {row[head.index("confidence")] for row in rows} == {"0.9105"}


def test_samples_that_no_label_reaches_are_undecided(visit, tmp_path, blobs):
    X, y = blobs
    labelled = (np.arange(90) % 5 == 0) & (y < 2)
    with pytest.warns(UndecidedWarning):
        model = WeaveClassifier(n_neighbors=5).fit(X + 1e3 * (y == 2)[:, None], np.where(labelled, y, -1))
    assert model.undecided_.sum() == (y == 2).sum() == 30
    page = visit(write_report(model, tmp_path / "c.html", labelled=labelled).as_uri())
    said = "No label reaches 30 samples: they are undecided, and listed as 0, the first class."
    assert said in page.locator(".doubts").first.inner_text()
    page.locator("#table thead th", has_text="label").get_by_role("button").click()
    assert set(column(page, 4)) == {"undecided"}
    page.locator("#table tbody tr").first.click()
    assert page.locator("#told").inner_text().endswith("undecided")
    head, *rows = saved(page, "Save samples as CSV")
    assert sum(row[head.index("undecided")] == "true" for row in rows) == 30


def test_the_page_can_be_printed(page):
    assert page.pdf()[:4] == b"%PDF"
