"""The pictures of the page: SVG that every browser reads, whatever the names and values in it."""

import base64
import io
import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from kernelweave.explain import Explanation, Profile
from kernelweave.plots._style import GREY, all_shortened, columns, shortened
from kernelweave.report._curves import convergence_picture, evidence_picture, spectrum_picture
from kernelweave.report._shaded import counts_picture, feature_picture, graph_picture, histogram_picture, rows_picture
from kernelweave.report._svg import Drawing, Scale, png, shades
from kernelweave.select import ClusterEvidence
from kernelweave.solve import History, Record

NS = "{http://www.w3.org/2000/svg}"


def elements(image, tag):
    kind, text = image.address.split(",", 1)
    assert kind == "data:image/svg+xml;base64"
    return list(ElementTree.fromstring(base64.b64decode(text)).iter(f"{NS}{tag}"))


def texts(image):
    return [each.text for each in elements(image, "text")]


@pytest.mark.parametrize("name", ["<b>&\"'", "a\x00b\x1f", "lone \ud800", "🙂 long " * 9])
def test_a_picture_is_valid_whatever_a_name_holds(name):
    image = counts_picture(np.array([[3, 0], [1, 2]]), [name, "b"], ["x", name], name, "cluster")
    assert {"3", "1", "2"} <= set(texts(image))
    assert "0" not in texts(image)


class Fitted(BaseEstimator):
    """An estimator whose fitted attributes are given."""

    def fit(self, X, y=None):
        return self


def contrast(one, other):
    """Return the contrast of two colours as WCAG defines it."""
    bright = []
    for colour in (one, other):
        parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        bright.append(linear @ [0.2126, 0.7152, 0.0722])
    return (max(bright) + 0.05) / (min(bright) + 0.05)


def test_numbers_in_cells_can_be_read_on_every_shade():
    names = [f"f{j}" for j in range(17)]
    means = np.linspace(-2, 2, 17)
    profile = Profile((*names,), means[None], np.full((1, 17, 5), np.nan))
    for image in (
        feature_picture(Explanation("cluster", ("0",), (1,), (), profile)),
        counts_picture(np.array([[k, 16 - k] for k in range(17)]), names, ["x", "y"], "beneath", "beside"),
    ):
        cells = [each.get("fill") for each in elements(image, "rect")]
        inks = [each.get("fill") for each in elements(image, "text") if each.get("font-size") == "7.5"]
        assert len(inks) >= 17
        shown = cells if len(cells) == len(inks) else [cells[j] for j in range(34) if j not in (0, 33)]
        assert min(contrast(cell, ink) for cell, ink in zip(shown, inks, strict=True)) >= 4.5


@pytest.mark.parametrize("name", ["a", "class of long name" * 3, "鸢尾花" * 9])
def test_everything_is_inside_the_picture_of_a_graph(name):
    model = Fitted()
    model.graph_, model.labels_ = np.ones((60, 60)), np.array([name, "b"])[np.arange(60) % 2]
    image = graph_picture(model, "class")
    graph, bar = elements(image, "image")
    assert graph.get("image-rendering") == "pixelated"
    assert float(graph.get("x")) + float(graph.get("width")) < float(bar.get("x"))
    (label,) = [each for each in elements(image, "text") if each.text == shortened(name)]
    wide = sum(1 if each.isascii() else 2 for each in label.text)
    assert float(label.get("x")) - 0.6 * 9 * wide > 12  # right of the name of the axis
    (named,) = [each for each in elements(image, "text") if each.text == "weight of the edge"]
    assert float(bar.get("x")) + 30 < float(named.get("x")) < 72 * image.width


@pytest.mark.parametrize("rows", [1, 2, 30])
def test_the_scale_of_a_heat_map_has_its_whole_name(rows):
    profile = Profile(tuple("f" * rows), np.ones((2, rows)), np.full((2, rows, 5), np.nan))
    explanation = Explanation("class", ("of a long name",) * 2, (1, 1), (), profile)
    drawn = elements(feature_picture(explanation), "text")
    (named,) = [each for each in drawn if each.text == "standard deviations"]
    assert float(named.get("y")) > 0.6 * 9 * len(named.text) / 2


def test_names_are_shortened_in_the_middle_by_their_width():
    assert shortened("a" * 18) == "a" * 18
    assert shortened("a" * 19) == "a" * 9 + "…" + "a" * 8
    assert shortened("鸢尾花" * 3) == "鸢尾花" * 3
    assert shortened("鸢尾花" * 4) == "鸢尾花鸢…花鸢尾花"


@pytest.mark.parametrize(
    "names",
    [
        [f"expression of the gene in the blood of patients, day {day}" for day in (1, 2, 12)],
        ["m" * 30 + "first" + "m" * 30, "m" * 30 + "second" + "m" * 30, "m" * 30 + "third" + "m" * 30],
        ["m" * 60, "m" * 61, "m" * 62],
        [f"{'m' * 30}{a}{'n' * 30}{b}{'o' * 30}" for a in "pq" for b in "rs"],
        ["鸢尾花" * 9 + each + "鸢尾花" * 9 for each in "ab"],
        ["short", "m" * 60, "m" * 60],
    ],
)
@pytest.mark.parametrize("length", [14, 18, 24, 36])
def test_different_names_stay_different_when_they_are_shortened(names, length):
    found = all_shortened(names, length)
    assert len(set(found)) == len(set(names))
    assert max(map(columns, found)) <= length


def test_features_with_the_same_beginning_are_told_apart_in_a_heat_map():
    names = tuple("concentration of the protein in the blood of patients at " + day for day in ("day 1", "day 2"))
    profile = Profile(names, np.ones((2, 2)), np.full((2, 2, 5), np.nan))
    drawn = elements(feature_picture(Explanation("cluster", ("0", "1"), (1, 1), (), profile)), "text")
    assert {"day 1", "day 2"} <= {each.text[-5:] for each in drawn}


def test_a_scale_places_its_ends_and_ticks_at_round_values_between_them():
    scale = Scale(0, 0.97, 10, 107)
    np.testing.assert_allclose(scale([0, 0.97]), [10, 107])
    assert [text for _, text in scale.ticks()] == ["0", "0.2", "0.4", "0.6", "0.8"]
    assert [place for place, _ in scale.ticks()] == pytest.approx([10, 30, 50, 70, 90])


def test_a_logarithmic_scale_has_powers_of_ten_and_no_place_for_zero():
    scale = Scale(0.005, 2000, 0, 100, log=True)
    assert [text for _, text in scale.ticks()] == ["0.01", "0.1", "1", "10", "100", "1000"]
    assert np.isnan(scale([0.0, -1.0])).all()
    assert np.diff(scale([0.01, 0.1, 1])) == pytest.approx(100 / np.log10(400000))


@pytest.mark.parametrize("limits", [(3.0, 3.0), (0.0, 0.0), (-1e-12, 1e-12), (0, 3e9)])
def test_a_scale_of_any_limits_has_few_ticks_with_finite_places(limits):
    ticks = Scale(*limits, 0, 100).ticks()
    assert len(ticks) <= 8
    assert all(np.isfinite(place) for place, _ in ticks)


def test_whole_numbers_have_whole_ticks():
    assert [text for _, text in Scale(0.4, 3.6, 0, 100).ticks(whole=True)] == ["1", "2", "3"]


def test_shades_run_from_the_first_stop_to_the_last_and_leave_out_what_is_missing():
    stops = ("#ffffff", "#0072b2", "#000000")
    assert shades(np.array([0, 0.5, 1, 2, np.nan]), stops) == ["#ffffff", "#0072b2", "#000000", "#000000", "none"]


def test_an_image_is_read_back_with_the_colours_of_its_values():
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    values = np.array([[0, 1.0, np.nan], [0.5, 7.0, 0]])
    pixels = np.asarray(image.open(io.BytesIO(png(values, ("#ffffff", "#000000")))).convert("L"))
    np.testing.assert_array_equal(pixels, [[255, 0, 255], [127, 0, 255]])


def test_a_line_is_broken_where_a_value_is_missing():
    drawing = Drawing(1, 1)
    drawing.line([0, 1, 2, 3], [0, 1, np.nan, 3], "#000000")
    (path,) = elements(drawing.finished(), "path")
    assert path.get("d") == "M0.0 0.0L1.0 1.0M3.0 3.0"


def test_every_group_has_a_row_with_its_median():
    quantiles = np.array([[0, 0.2, 0.5, 0.8, 1], [0.1, 0.1, 0.1, 0.1, 0.1]])
    image = rows_picture(quantiles, ["first", "second"], "confidence", "cluster", (0, 1))
    assert [text for text in texts(image) if text in ("first", "second")] == ["first", "second"]
    assert len(elements(image, "circle")) == 2


def test_the_bars_of_a_histogram_have_heights_in_the_ratio_of_their_counts():
    image = histogram_picture(np.repeat([0.12, 0.87], [10, 30]), "confidence")
    heights = sorted(float(bar.get("height")) for bar in elements(image, "rect"))
    assert heights[:-2] == [0] * 18
    assert heights[-1] == pytest.approx(3 * heights[-2], abs=0.2)


def test_the_spectrum_marks_the_gap_after_the_number_of_groups():
    image = spectrum_picture(np.array([0, 0.01, 0.5, 0.6]), 2)
    assert "gap 0.49" in texts(image)
    assert [dot.get("fill") for dot in elements(image, "circle")].count("#FFFFFF") == 2


@pytest.mark.parametrize("chance", [np.nan, 0.2])
def test_the_evidence_names_its_lines(chance):
    shape = np.ones(3)
    evidence = ClusterEvidence(
        n_clusters=np.array([2, 3, 4]),
        gap=0.1 * shape,
        agreement=0.9 * shape,
        chance=chance * shape,
        modularity=shape,
        score=shape,
        chosen=3,
        found="agreement",
        clear=0.2,
    )
    named = {"agreement", "without structure", "gap"} & set(texts(evidence_picture(evidence)))
    assert ("without structure" in named) == np.isfinite(chance)
    by_valleys = replace(evidence, found="valleys", depth=0.3 * shape, peak_depth=np.array([1.2, 10.0, np.nan]))
    named = set(texts(evidence_picture(by_valleys)))
    assert {"valleys", "valleys between peaks", "depth of valleys"} <= named
    assert "gap" not in named
    for chosen in (1, 3):
        drawn = elements(evidence_picture(replace(evidence, chosen=chosen)), "path")
        upright = [path.get("d") for path in drawn if path.get("stroke-dasharray") and path.get("stroke") == GREY]
        (line,) = [[float(place) for place in re.findall(r"[ML]([\d.]+)", each)] for each in upright]
        across = [[float(place) for place in re.findall(r"[ML]([\d.]+)", path.get("d"))] for path in drawn]
        assert min(min(places) for places in across) < line[0] == line[1]  # between the axes


@pytest.mark.parametrize("terms", [{"fit": 900.0, "graph": 1.5}, {"fit": -3.0, "graph": 0.0}])
@pytest.mark.parametrize("change", [0.0, 0.5])
def test_the_convergence_names_every_term_with_its_last_value(terms, change):
    first = {name: value + 1 for name, value in terms.items()}
    records = [Record(first, 1.0, np.ones(2), 0.0), Record(terms, change, np.ones(2), 0.1)]
    image = convergence_picture(History(tuple(records)))
    assert {f"{name} {value:.3g}" for name, value in terms.items()} <= set(texts(image))
    assert not [path for path in elements(image, "path") if "nan" in path.get("d")]


def test_a_page_is_written_without_matplotlib(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import numpy as np\n"
        "from kernelweave import WeaveClustering\n"
        "from kernelweave.report import write_report\n"
        "X = np.random.RandomState(0).randn(40, 3) + 9 * (np.arange(40) % 2)[:, None]\n"
        f"write_report(WeaveClustering(2, random_state=0).fit(X), {str(tmp_path / 'page.html')!r}, X=X)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("data:image/svg+xml") >= 3
