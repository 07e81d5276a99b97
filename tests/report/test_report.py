"""One self-contained page from a fitted model."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from kernelweave import Views, WeaveClustering
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Cosine, Gaussian
from kernelweave.report import model_report, write_report
from kernelweave.report._facts import read_facts
from kernelweave.report._profiles import profiles
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
    assert "90 samples with 4 features were compared by 12 kernels" in text
    assert "WeaveClustering" in text


def test_the_code_of_the_page_fits_the_same_model_again(clusterer, blobs):
    code = re.search(r"<pre.*?<code>(.*?)</code>", model_report(clusterer), flags=re.S)[1].replace("&#39;", "'")
    namespace = {"X": blobs[0]}
    exec(code, namespace)
    np.testing.assert_array_equal(namespace["model"].labels_, clusterer.labels_)


def test_the_features_that_set_a_cluster_apart_come_first(blobs, clusterer):
    X = np.column_stack([np.random.default_rng(0).normal(size=90), np.ones(90), 5.0 * (clusterer.labels_ == 1)])
    facts = read_facts(clusterer)
    telling = profiles(pd.DataFrame(X, columns=["noise", "constant", "mark"]), facts)[1]
    share = np.mean(clusterer.labels_ == 1)
    name, distance = telling[0]
    assert name == "mark"
    assert distance == pytest.approx(np.sqrt((1 - share) / share))
    assert "constant" not in dict(telling)


def test_features_of_views_are_told_with_their_views_and_without_missing_samples(clusterer):
    index = [f"s{i:02}" for i in range(90)]
    one = pd.DataFrame({"a": 1.0 * (clusterer.labels_ == 0)}, index=index)
    two = pd.DataFrame({"b": 1.0 * (clusterer.labels_ == 2)}, index=index).iloc[:60]
    first, _, last = profiles({"one": one, "two": two}, read_facts(clusterer))
    assert first[0][0] == "one: a"
    assert last[0][0] == "two: b"


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
    from kernelweave.report import _points, write

    for module in (_points, write):
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


@pytest.mark.parametrize("form", [list, tuple, Views, lambda tables: Views(dict(enumerate(tables)))])
def test_features_of_views_are_named_in_every_form_that_fit_takes(form, clusterer):
    marks = [1.0 * (clusterer.labels_ == k)[:, None] for k in range(3)]
    assert [found[0][0].split(": ")[1] for found in profiles(form(marks), read_facts(clusterer))] == ["0", "0", "0"]
    assert len({found[0][0] for found in profiles(form(marks), read_facts(clusterer))}) == 3


def test_a_list_of_frames_keeps_the_names_of_their_columns(clusterer):
    frames = [pd.DataFrame({f"mark {k}": 1.0 * (clusterer.labels_ == k)}) for k in range(3)]
    found = profiles(frames, read_facts(clusterer))
    assert [features[0][0] for features in found] == ["view 0: mark 0", "view 1: mark 1", "view 2: mark 2"]


def test_features_of_one_view_are_named_without_it(clusterer):
    table = pd.DataFrame({"mark": 1.0 * (clusterer.labels_ == 0)})
    assert profiles({"only": table}, read_facts(clusterer))[0][0][0] == "mark"
    assert profiles(Views([table]), read_facts(clusterer))[0][0][0] == "0"


def test_rows_of_a_nested_list_are_samples_not_views(clusterer):
    rows = np.column_stack([clusterer.labels_ == 0, clusterer.labels_ == 1]).astype(float)
    assert profiles(rows.tolist(), read_facts(clusterer)) == profiles(rows, read_facts(clusterer))


def test_refuses_samples_that_are_not_in_memory(clusterer):
    with pytest.raises(InvalidInputError, match="X must be a table of numbers in memory; got function"):
        profiles(lambda: iter([]), read_facts(clusterer))


def test_true_classes_must_be_one_column(clusterer):
    with pytest.raises(InvalidInputError, match=r"y must be one-dimensional, got shape \(90, 1\): pass one entry per"):
        model_report(clusterer, y=np.zeros((90, 1)))


def test_the_code_of_the_page_imports_the_kernels_that_were_given(blobs):
    kernels = [Cosine(), 2 * Gaussian(t=0.5)]
    model = WeaveClustering(3, kernels=kernels, random_state=0).fit(blobs[0])
    namespace = {"X": blobs[0]}
    exec(snippet(model, read_facts(model)), namespace)
    np.testing.assert_array_equal(namespace["model"].labels_, model.labels_)
