"""Pictures of what sets the clusters apart, and of what goes along with them."""

from dataclasses import replace
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from kernelweave.errors import InvalidInputError
from kernelweave.explain import associate, compare_clusterings, explain_clusters
from kernelweave.plots import plot_contingency, plot_feature, plot_features, plot_metadata

KIND = np.repeat(np.arange(4), 10)


@pytest.fixture
def explanation():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"f$_{k}": 3.0 * (k == KIND) + rng.normal(size=40) for k in range(4)})
    return explain_clusters(KIND, table.assign(site=np.array(["n", "s"])[KIND % 2]))


@pytest.fixture
def associations():
    rng = np.random.default_rng(0)
    return associate(KIND, pd.DataFrame({"age": KIND + rng.normal(size=40), "site": np.array(["n", "s"])[KIND % 2]}))


def test_the_heat_map_shows_the_means_of_the_profile(explanation):
    ax = plot_features(explanation)
    np.testing.assert_allclose(ax.images[0].get_array(), explanation.profile.means.T)
    assert len(ax.get_yticklabels()) == len(explanation.profile.features)


def test_numbers_in_cells_can_be_read_and_have_no_negative_zero(explanation):
    profile = replace(explanation.profile, means=np.array([[-2, -1.2, -0.6, -0.04, 0.04, 0.8, 1.2, 1.6]]).T)
    names = tuple(f"cluster {k}" for k in range(8))
    drawn = plot_features(replace(explanation, names=names, profile=replace(profile, features=("f",))))
    comparison = compare_clusterings(np.repeat(np.arange(9), 8), np.concatenate([np.arange(8) < k for k in range(9)]))
    for ax in (drawn, plot_contingency(comparison)):
        image = ax.images[0]
        cells = [text for text in ax.texts if text.get_transform() == ax.transData]
        for text in cells:
            column, row = text.get_position()
            bright = [luminance(image.to_rgba(image.get_array()[row, column])), luminance(to_rgb(text.get_color()))]
            assert (max(bright) + 0.05) / (min(bright) + 0.05) >= 4.5
    assert [text.get_text() for text in drawn.texts][3:5] == ["+0.0", "+0.0"]


def luminance(colour):
    parts = np.array(colour[:3])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def test_boxes_are_in_original_units(explanation):
    feature = explanation.profile.features[0]
    ax = plot_feature(explanation, feature)
    medians = explanation.profile.quantiles[:, 0, 2]
    np.testing.assert_allclose(ax.lines[0].get_xdata(), medians)


def test_a_category_has_no_boxes(explanation):
    (category,) = [name for name in explanation.profile.features if " = " in name]
    with pytest.raises(InvalidInputError, match="is not among the telling numbers: choose one of"):
        plot_feature(explanation, category)


def test_the_contingency_shows_counts(explanation):
    ax = plot_contingency(compare_clusterings(KIND, KIND // 2))
    assert {text.get_text() for text in ax.texts} >= {"10"}


def test_metadata_are_drawn_as_counts_or_quartiles(associations):
    counts = plot_metadata(associations, "site")
    assert counts.images
    quartiles = plot_metadata(associations, "age")
    assert not quartiles.images
    np.testing.assert_allclose(quartiles.lines[0].get_xdata(), associations.of("age")["median"])


def test_dates_and_units_are_on_the_axis():
    seen = pd.Timestamp("2020-03-01") + pd.to_timedelta(30 * KIND + np.arange(40) % 10, unit="D")
    table = pd.DataFrame({"seen": seen, "weight": 10.0 * KIND + np.arange(40) % 7})
    explanation = explain_clusters(KIND, table, units={"weight": "kg"})
    for ax in (plot_feature(explanation, "seen"), plot_metadata(associate(KIND, table), "seen")):
        ax.figure.canvas.draw()
        assert "Apr" in [text.get_text() for text in ax.get_xticklabels()]
        assert ax.xaxis.get_offset_text().get_text().startswith("2020")
    assert plot_feature(explanation, "weight").get_xlabel() == "kg"


@pytest.mark.parametrize("size", [(2, 2), (12, 3)])
def test_draw_on_given_axes_of_any_size(size, explanation, associations):
    comparison = compare_clusterings(KIND, KIND)
    for draw in (
        lambda ax: plot_features(explanation, ax=ax),
        lambda ax: plot_feature(explanation, explanation.profile.features[0], ax=ax),
        lambda ax: plot_metadata(associations, "age", ax=ax),
        lambda ax: plot_contingency(comparison, ax=ax),
    ):
        figure, ax = plt.subplots(figsize=size, layout="constrained")
        assert draw(ax) is ax
        figure.canvas.draw()
        assert ax.get_title(loc="left")


@pytest.mark.parametrize(
    ("plot", "arguments"),
    [(plot_features, ()), (plot_feature, ("a",)), (plot_contingency, ()), (plot_metadata, ("a",))],
)
def test_what_is_not_a_result_is_refused(plot, arguments):
    with pytest.raises(InvalidInputError, match=r"draws a result of .*; got ndarray"):
        plot(KIND, *arguments)


@pytest.mark.parametrize("names", [("setosa", "versicolor", "virginica"), ("x" * 30, "y" * 30), tuple("abcdef")])
def test_names_below_a_heat_map_do_not_overlap(names):
    rng = np.random.default_rng(0)
    codes = np.arange(60) % len(names)
    groups = np.array(names)[codes]
    table = pd.DataFrame({"a feature of a long name, in milligrams": codes + 0.1 * rng.normal(size=60)})
    for ax in (
        plot_features(explain_clusters(groups, table)),
        plot_contingency(compare_clusterings(codes, groups)),
        plot_metadata(associate(codes, pd.DataFrame({"name": groups})), "name"),
    ):
        ax.figure.canvas.draw()
        boxes = [text.get_window_extent() for text in ax.get_xticklabels()]
        assert len(boxes) == len(names)
        assert all(one.x1 < other.x0 for one, other in pairwise(boxes))
        assert ax.bbox.height / ax.figure.dpi > 0.2


def test_unknown_metadata_are_named(associations):
    with pytest.raises(InvalidInputError, match="There is no column 'sex'; there are"):
        plot_metadata(associations, "sex")
