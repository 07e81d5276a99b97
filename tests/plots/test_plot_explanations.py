"""Pictures of what sets the clusters apart, and of what goes along with them."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

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


def test_unknown_metadata_are_named(associations):
    with pytest.raises(InvalidInputError, match="There is no column 'sex'; there are"):
        plot_metadata(associations, "sex")
