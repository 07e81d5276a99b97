"""One self-contained page from a fitted model."""

import base64
import copy
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from kernelweave import WeaveClustering
from kernelweave.errors import InvalidInputError
from kernelweave.explain import associate, check_labels, compare_clusterings, explain_clusters
from kernelweave.kernels import Cosine, Gaussian
from kernelweave.report import model_report, write_report
from kernelweave.report._facts import read_facts
from kernelweave.report._words import snippet


class Page(HTMLParser):
    """The elements of a page, and which were left open."""

    VOID = frozenset({"meta", "img", "input", "br", "path", "circle", "rect"})

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, flags=re.S)[1])


@pytest.fixture(scope="module")
def page(clusterer, blobs, ids):
    return model_report(clusterer, X=blobs[0], ids=ids, y=blobs[1], title="<i>Blobs</i> & co")


def test_every_element_is_closed(page):
    assert Page(page).open == []


def test_names_are_kept_for_this_result_alone(clusterer, ids):
    first = data_of(model_report(clusterer, ids=ids))["page"]
    assert data_of(model_report(clusterer, ids=ids))["page"] == first
    assert data_of(model_report(clusterer))["page"] != first
    assert data_of(model_report(clusterer, ids=ids, names={"1": "late"}))["page"] != first


def test_a_comparison_is_shown_in_the_order_of_the_page(clusterer, blobs):
    sizes = np.bincount(clusterer.labels_)
    compared = compare_clusterings(clusterer, blobs[1], names=("clusters", "<true> blobs"))
    page = model_report(clusterer, comparison=compared)
    part = page[page.index('id="comparison"') :]
    assert "Compared with &lt;true&gt; blobs" in part
    rows = re.findall(r'<th scope="row">(\d)</th>((?:<td class="number">\d+</td>)+)', part)[:3]
    assert [name for name, _ in rows] == ["1", "2", "3"]
    assert [sum(map(int, re.findall(r">(\d+)<", cells))) for _, cells in rows] == sorted(sizes, reverse=True)
    with pytest.raises(InvalidInputError, match="comparison has the cluster 'a', which the model does not have"):
        model_report(clusterer, comparison=compare_clusterings(["a"] * 90, blobs[1]))


def test_a_spread_keeps_neighbours_together_and_needs_something_to_spread(clusterer):
    (spread, *_) = data_of(model_report(clusterer, spread=True))["maps"]
    places = np.array(spread["places"]).T
    distances = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(90) * 9
    assert (clusterer.labels_[distances.argmin(axis=1)] == clusterer.labels_).mean() > 0.95
    bare = copy.copy(clusterer)
    del bare.graph_, bare.embedding_
    with pytest.raises(InvalidInputError, match="A spread needs graph_ or embedding_, and WeaveClustering has neither"):
        model_report(bare, spread=True)


def test_nothing_is_loaded_from_elsewhere(page):
    for tag, attrs in Page(page).elements:
        for name in ("src", "href", "action", "data"):
            address = attrs.get(name, "")
            assert address.startswith(("data:", "#")) or not address, (tag, address)
    assert "default-src 'none'" in page


def test_names_of_samples_and_titles_are_text_whatever_they_hold(page, ids):
    assert "<title>&lt;i&gt;Blobs&lt;/i&gt; &amp; co</title>" in page
    assert data_of(page)["ids"] == ids
    assert not [attrs for attrs in Page(page).all("img") if "onerror" in attrs]


def test_every_picture_has_a_text_alternative(page):
    pictures = Page(page).all("img")
    assert len(pictures) >= 3
    assert all(len(attrs["alt"]) > 30 for attrs in pictures)


def test_ids_of_elements_are_unique_and_references_lead_somewhere(page):
    elements = Page(page).elements
    names = [attrs["id"] for _, attrs in elements if "id" in attrs]
    assert len(set(names)) == len(names)
    for _, attrs in elements:
        for target in (attrs.get("aria-labelledby", "") + " " + attrs.get("aria-describedby", "")).split():
            assert target in names
        if attrs.get("href", "").startswith("#"):
            assert attrs["href"][1:] in names


def test_the_page_says_what_was_done_with_how_many_samples(page):
    text = " ".join(Page(page).text)
    assert "90 samples with 4 features were compared by 4 kernels" in text
    assert "WeaveClustering" in text


def test_the_code_of_the_page_fits_the_same_model_again(clusterer, blobs):
    code = re.search(r"<pre.*?<code>(.*?)</code>", model_report(clusterer), flags=re.S)[1].replace("&#39;", "'")
    namespace = {"X": blobs[0]}
    exec(code, namespace)
    np.testing.assert_array_equal(namespace["model"].labels_, clusterer.labels_)


def test_clusters_are_numbered_by_size_and_told_by_their_features(clusterer, blobs):
    sizes = np.bincount(clusterer.labels_)
    order = np.argsort(-sizes, kind="stable")
    table = pd.DataFrame(blobs[0]).assign(mark=100.0 * (clusterer.labels_ == order[0]))
    page = model_report(clusterer, X=table)
    first = page[page.index('<li class="group" id="group-1"') : page.index('<li class="group" id="group-2"')]
    text = " ".join(Page(first).text)
    assert f"{sizes[order[0]]} samples" in text
    assert re.search(r"higher\s+mark:\s+100\s+\(others 0\)", text)
    data = data_of(page)
    assert data["names"] == ["1", "2", "3"]
    assert data["labels"] == [str(k) for k in order]
    assert data["sizes"] == sizes[order].tolist()
    codes = np.array(data["codes"])
    np.testing.assert_array_equal(order[codes], clusterer.labels_)


def test_labels_are_those_in_the_files_only_where_a_command_wrote_files(clusterer):
    first = f"label {np.bincount(clusterer.labels_).argmax()}"
    of_python, of_command = model_report(clusterer), model_report(clusterer, command="kernelweave cluster blobs.csv")
    assert f'<span class="size">{first}</span>' in of_python
    assert "in the files" not in of_python
    assert f'<span class="size">{first} in the files</span>' in of_command


def test_pictures_and_wheel_have_the_numbers_of_the_page(clusterer):
    (wheel,) = [each["wheel"] for each in data_of(model_report(clusterer))["maps"] if each["wheel"]]
    assert [name for name, *_ in wheel] == ["1", "2", "3"]


def test_the_model_itself_keeps_its_labels(clusterer, blobs):
    before = clusterer.labels_.copy()
    model_report(clusterer, X=blobs[0])
    np.testing.assert_array_equal(clusterer.labels_, before)


def test_tested_features_are_shown_with_their_q_values(clusterer, blobs):
    page = model_report(clusterer, features=explain_clusters(clusterer, blobs[0], test=True))
    assert ">q</th>" in page
    assert "tested with every feature held out once" in page
    assert "they were not tested" in model_report(clusterer, X=blobs[0])


def test_metadata_are_compared_and_drawn(clusterer, blobs):
    beside = pd.DataFrame({"kind": np.array(["a", "b", "c"])[blobs[1]], "one": 1.0})
    page = model_report(clusterer, metadata=associate(clusterer, beside))
    assert 'id="metadata"' in page
    assert "does not vary" in page
    assert 'alt="Counts of the categories of kind in every cluster' in page
    assert data_of(page)["tables"]["metadata"]["rows"][0][:3] == ["kind", "category", "Cramér's V"]


def test_columns_that_cannot_be_compared_say_why(clusterer, blobs):
    beside = pd.DataFrame(
        {"one": 1.0, "name": [f"s{i}" for i in range(90)], "empty": np.nan, "same": "x", "kind": blobs[1].astype(str)}
    )
    page = model_report(clusterer, metadata=associate(clusterer, beside))
    for column, why in (
        ("one", "does not vary"),
        ("name", "every entry differs"),
        ("empty", "no entries"),
        ("same", "does not vary"),
    ):
        assert re.search(rf">{column}</th><td>[^<]+</td><td class=\"number\" colspan=\"3\">{why}</td>", page), column
    single = WeaveClustering(1, random_state=0).fit(blobs[0])
    page = model_report(single, metadata=associate(single, beside[["kind"]]))
    assert 'colspan="3">in one group only</td>' in page


def test_a_small_p_value_is_not_zero(clusterer, blobs):
    found = associate(clusterer, pd.DataFrame({"kind": blobs[1].astype(str)}), n_permutations=9999)
    page = model_report(clusterer, metadata=found)
    assert found.columns[0].p_value == 1e-4
    assert '<td class="number">&lt; 0.001</td>' in page
    assert "0.000" not in page[page.index('id="metadata"') :][:3000]


def test_numbers_and_dates_of_metadata_have_a_dot_at_the_median(clusterer, blobs):
    age = np.random.default_rng(0).lognormal(sigma=2, size=len(blobs[1]))
    seen = pd.Timestamp("2020-03-01") + pd.to_timedelta(np.round(age), unit="D")
    found = associate(clusterer, pd.DataFrame({"age": age, "seen": seen}))
    page = Page(model_report(clusterer, metadata=found))
    assert "Dot: the median. Line: the middle half of the samples." in " ".join(page.text)
    for column in ("age", "seen"):
        (image,) = [
            each for each in page.all("img") if each["alt"].startswith(f"Medians and middle halves of {column}")
        ]
        drawn = ElementTree.fromstring(base64.b64decode(image["src"].split(",")[1]))
        dots = [float(dot.get("cx")) for dot in drawn.iter("{http://www.w3.org/2000/svg}circle")]
        lines = [path.get("d") for path in drawn.iter("{http://www.w3.org/2000/svg}path")][-2 * len(dots) :: 2]
        quartiles = found.of(column)[["25 %", "median", "75 %"]].to_numpy()
        quartiles = quartiles[np.argsort(-np.bincount(clusterer.labels_), kind="stable")]
        places = np.array([[*map(float, re.findall(r"[ML]([\d.]+)", line))] for line in lines])
        places = np.column_stack([places[:, 0], dots, places[:, 1]])
        slope, start = np.polyfit(quartiles.ravel(), places.ravel(), 1)
        np.testing.assert_allclose(start + slope * quartiles, places, atol=0.2)
        words = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
        assert any(text.startswith("2020-03-") for text in words) == (column == "seen")


def test_given_labels_are_checked(classifier, blobs, labelled):
    check = check_labels(classifier, blobs[0], np.where(np.arange(90) % 3 == 0, blobs[1], -1))
    page = model_report(classifier, labelled=labelled, check=check)
    assert f"<strong>{100 * check.accuracy:.1f}%</strong> of 30 given labels" in page
    assert 'class="confusion"' in page


def test_features_of_another_model_are_refused(clusterer):
    other = explain_clusters([0, 1], np.eye(2))
    with pytest.raises(InvalidInputError, match=r"the model's 3 clusters \(0, 1, 2\); got 2 clusters \(0, 1\)\."):
        model_report(clusterer, features=other)
    with pytest.raises(InvalidInputError, match="Both X and features were given"):
        model_report(clusterer, X=np.eye(90), features=other)


def test_the_source_is_in_the_title(clusterer):
    assert "<title>data.csv: 3 clusters in 90 samples</title>" in model_report(clusterer, source="data.csv")


def test_two_clusters_are_spread_over_a_plane(blobs):
    model = WeaveClustering(2, random_state=0).fit(blobs[0])
    (found,) = data_of(model_report(model))["maps"]
    assert found["wheel"] is None
    assert found["axes"][1] == "next direction of the graph"
    assert len(set(found["places"][1])) > 45


def test_samples_without_a_graph_are_kept_apart_at_random_and_the_axis_says_so():
    X = np.r_[np.zeros((20, 2)), np.full((20, 2), 9.0)] + np.random.default_rng(0).normal(size=(40, 2))
    model = WeaveClustering(2, solver="landmark", random_state=0).fit(X)
    model.embedding_ = model.embedding_[:, :1] * 1.0
    (found,) = data_of(model_report(model))["maps"]
    assert found["axes"][1] == "at random, to keep samples apart"


def test_views_that_lack_samples_are_counted():
    rng = np.random.default_rng(0)
    index = [f"s{i}" for i in range(40)]
    kind = np.arange(40) % 2
    one = pd.DataFrame(rng.normal(size=(40, 2)) + 5 * kind[:, None], index=index)
    two = pd.DataFrame(rng.normal(size=(30, 2)), index=index[:30])
    page = model_report(WeaveClustering(2, random_state=0).fit({"one": one, "two": two}))
    text = re.sub(r"\s+", " ", " ".join(Page(page).text))
    assert "Samples in every view" in text
    assert '<th scope="row">two</th><td class="number">30</td><td class="number">10 (25%)</td>' in page


def test_samples_have_the_names_of_the_model_and_true_classes_are_aligned_by_them():
    rng = np.random.default_rng(0)
    kind = np.arange(40) % 2
    table = pd.DataFrame(rng.normal(size=(40, 3)) + 5 * kind[:, None], index=[f"s{i}" for i in range(40)])
    model = WeaveClustering(2, random_state=0).fit(table)
    truth = pd.Series(kind, index=table.index)
    page = model_report(model, y=truth)
    assert data_of(page)["ids"] == table.index.tolist()
    again = model_report(model, y=truth.sample(frac=1, random_state=0))
    assert data_of(again)["truth"] == data_of(page)["truth"] == list(map(str, kind))
    with pytest.raises(InvalidInputError, match="The index of y lacks the sample 's3'"):
        model_report(model, y=truth.rename(index={"s3": "t3"}))


def test_weights_are_folded_to_the_largest(blobs):
    page = model_report(WeaveClustering(3, kernels="released-12", random_state=0).fit(blobs[0]))
    assert "The kernels with the largest shares in the consensus" in page
    assert "<summary>All 12 kernels</summary>" in page


def test_the_labels_that_were_given_are_refused_for_clusters(clusterer):
    with pytest.raises(InvalidInputError, match="labelled says which labels a classifier was given; WeaveClustering"):
        model_report(clusterer, labelled=np.ones(90, dtype=bool))


def test_refuses_a_table_of_other_samples(clusterer):
    with pytest.raises(InvalidInputError, match="X must hold the model's 90 samples; got 3 rows"):
        model_report(clusterer, X=np.eye(3))


def test_a_classifier_is_judged_by_the_samples_whose_label_it_was_not_given(classifier, blobs, labelled):
    y = blobs[1].copy()
    y[labelled] = 3 - y[labelled]  # wrong where the labels were given: that must not count
    right = np.mean(classifier.transduction_[~labelled] == y[~labelled])
    page = model_report(classifier, y=y, labelled=labelled)
    assert f"the {(~labelled).sum()} unlabelled samples" in page
    assert f"<dd>{right:.1%}</dd>" in page


def test_a_solver_with_a_history_shows_how_it_converged(smkl):
    page = model_report(smkl)
    assert "Convergence" in page
    assert smkl.outcome_.value in page


def test_of_many_samples_some_are_drawn_and_listed_and_the_page_says_so(monkeypatch, clusterer):
    from kernelweave.report import _maps, write

    for module in (_maps, write):
        monkeypatch.setattr(module, "POINTS", 20)
        monkeypatch.setattr(module, "LISTED", 30)
    page = model_report(clusterer)
    data = data_of(page)
    assert len(data["drawn"]) == 20
    assert len(data["listed"]) == 30
    assert "20 of the 90 samples are drawn" in page
    assert "The 15 most and the 15 least certain of the 90 samples are listed" in re.sub(r"\s+", " ", page)
    sure = np.sort(np.array(data["confidence"])[data["listed"]])
    np.testing.assert_allclose(sure, np.sort(clusterer.confidence_)[[*range(15), *range(-15, 0)]], atol=1e-4)


def test_writes_the_page_and_leaves_no_other_file(clusterer, tmp_path):
    path = write_report(clusterer, tmp_path / "report.html")
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [path]


def test_replaces_a_file_only_if_asked(clusterer, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(InvalidInputError, match="exists already: pass force=True"):
        write_report(clusterer, path)
    assert path.read_text() == "mine"
    write_report(clusterer, path, force=True)
    assert path.read_text() != "mine"


def test_a_failure_leaves_nothing_behind(clusterer, tmp_path):
    with pytest.raises(InvalidInputError, match="ids must hold one entry for each of the model's 90 samples; got 1"):
        write_report(clusterer, tmp_path / "report.html", ids=["a"])
    assert list(tmp_path.iterdir()) == []


def test_refuses_a_folder_that_is_not_there(clusterer, tmp_path):
    with pytest.raises(InvalidInputError, match="There is no folder"):
        write_report(clusterer, tmp_path / "no" / "report.html")


def test_true_classes_must_be_one_column(clusterer):
    with pytest.raises(InvalidInputError, match=r"y must be one-dimensional, got shape \(90, 1\): pass one entry per"):
        model_report(clusterer, y=np.zeros((90, 1)))


def test_the_code_of_the_page_imports_the_kernels_that_were_given(blobs):
    kernels = [Cosine(), 2 * Gaussian(t=0.5)]
    model = WeaveClustering(3, kernels=kernels, random_state=0).fit(blobs[0])
    namespace = {"X": blobs[0]}
    exec(snippet(model, read_facts(model)), namespace)
    np.testing.assert_array_equal(namespace["model"].labels_, model.labels_)


@pytest.mark.parametrize(
    ("name", "unit", "said"), [("weight", "g", False), ("weight_g", "g", True), ("x [%]", "%", True)]
)
def test_a_unit_is_shown_unless_the_name_says_it(name, unit, said, clusterer, blobs):
    table = pd.DataFrame(blobs[0], columns=["a", "b", "c", name])
    page = model_report(clusterer, features=explain_clusters(clusterer, table, units={name: unit}))
    assert bool(re.search(rf"\d\u00a0{unit}</strong>", page)) != said


def test_a_page_without_features_does_not_speak_of_them(blobs):
    one = WeaveClustering(1, random_state=0).fit(blobs[0])
    assert "The features below" not in model_report(one, X=blobs[0])
