from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave import WeaveClustering
from kernelweave.plots import plot_evidence
from kernelweave.select import DEEP, VALLEY, ClusterEvidence

NUMBERS = np.array([2, 3, 5])


def evidence(chosen=3, found="gap", chance=(0.3, 0.2, 0.1)):
    gap, agreement, within = np.array([1.1, 3.0, 1.2]), np.array([0.2, 0.9, -0.1]), np.array([0.1, 0.6, 0.5])
    return ClusterEvidence(NUMBERS, gap, agreement, within, agreement * within, np.array(chance), 2.5, chosen, found)


def drawn(ax):
    """Return the lines of both axes by their labels."""
    return {line.get_label(): line for one in ax.figure.axes for line in one.get_lines()}


def test_the_lines_are_the_evidence_and_the_chosen_number_is_marked(fitted, ax):
    made = evidence()
    plot_evidence(fitted(cluster_evidence=made), ax=ax)
    lines = drawn(ax)
    for label, values in (("agreement", made.agreement), ("without structure", made.chance), ("gap", made.gap)):
        assert_allclose(lines[label].get_ydata(), values)
        assert_allclose(lines[label].get_xdata(), NUMBERS)
    assert "3 clusters" in ax.get_title(loc="left")
    assert any(list(line.get_xdata()) == [3, 3] for line in ax.get_lines())
    (other,) = (one for one in ax.figure.axes if one is not ax)
    assert any(list(line.get_ydata()) == [2.5, 2.5] for line in other.get_lines())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["agreement", "without structure", "gap"]


def test_why_the_number_was_chosen_is_told(fitted, ax, texts):
    plot_evidence(fitted(cluster_evidence=evidence()), ax=ax)
    assert "3 clusters stand out" in " ".join(texts(ax)).replace("\n", " ")


def test_no_structure_is_one_cluster(fitted, ax, texts):
    plot_evidence(fitted(cluster_evidence=evidence(1, "nothing")), ax=ax)
    assert "1 cluster" in ax.get_title(loc="left")
    assert "No structure was found" in " ".join(texts(ax)).replace("\n", " ")


def test_without_samples_to_compare_with_there_is_no_line_for_them(fitted, ax):
    plot_evidence(fitted(cluster_evidence=evidence(chance=[np.nan] * 3)), ax=ax)
    assert "without structure" not in drawn(ax)
    assert ax.get_ylim()[0] == pytest.approx(-0.1)


def test_a_model_that_counted_its_clusters_can_be_drawn(ax):
    X = np.random.default_rng(0).normal(size=(60, 12))
    plot_evidence(WeaveClustering("auto", kernels="released-7", random_state=0).fit(X), ax=ax)
    assert {"agreement", "without structure", "gap"} <= drawn(ax).keys()


def test_valleys_are_drawn_where_they_decide(fitted, ax):
    depth, between_peaks = np.array([0.9, 0.2, -0.3]), np.array([10.0, np.nan, -0.1])
    made = replace(evidence(found="valleys", chance=[np.nan] * 3), depth=depth, peak_depth=between_peaks)
    plot_evidence(fitted(cluster_evidence=made), ax=ax)
    lines = drawn(ax)
    assert_allclose(lines["valleys"].get_ydata(), depth)
    assert_allclose(lines["valleys between peaks"].get_ydata(), [3, np.nan, -0.1])
    assert "gap" not in lines
    (other,) = (one for one in ax.figure.axes if one is not ax)
    assert other.get_ylabel() == "depth of valleys"
    limits = [line.get_ydata()[0] for line in other.get_lines() if len(set(line.get_ydata())) == 1]
    assert limits == [VALLEY, DEEP]


def test_only_whole_numbers_of_clusters_have_a_tick(fitted, ax):
    plot_evidence(fitted(cluster_evidence=evidence()), ax=ax)
    ticks = ax.get_xticks()
    assert len(ticks) > 1
    assert all(float(tick).is_integer() for tick in ticks)
    assert {one.get_ylabel() for one in ax.figure.axes} == {"agreement", "gap"}
