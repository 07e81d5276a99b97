import numpy as np
from numpy.testing import assert_allclose

from kernelweave import WeaveClustering
from kernelweave.plots import plot_evidence
from kernelweave.select import ClusterEvidence


def test_the_lines_are_the_evidence_and_the_chosen_number_is_marked(fitted, ax):
    numbers = np.array([2, 3, 5])
    values = np.array([[1, 3, 1], [0.2, 0.9, -0.1], [0.1, 0.6, 0.5], [0, 0.5, 0], [0.1, 0.2, 0.3]])
    evidence = ClusterEvidence(numbers, *values, 2.5, 3, "gap")
    plot_evidence(fitted(cluster_evidence=evidence), ax=ax)
    lines = {line.get_label(): line for line in ax.get_lines()}
    for name in ("modularity", "agreement", "score", "chance"):
        label = "agreement by chance" if name == "chance" else name
        assert_allclose(lines[label].get_ydata(), getattr(evidence, name))
        assert_allclose(lines[label].get_xdata(), numbers)
    assert "3 clusters" in ax.get_title(loc="left")
    assert any(list(line.get_xdata()) == [3, 3] for line in ax.get_lines())


def test_without_samples_to_compare_with_there_is_no_line_of_chance(fitted, ax):
    evidence = ClusterEvidence(np.array([2, 3]), *np.ones((4, 2)), np.full(2, np.nan), 2.5, 2, "agreement")
    plot_evidence(fitted(cluster_evidence=evidence), ax=ax)
    assert "agreement by chance" not in {line.get_label() for line in ax.get_lines()}


def test_a_model_that_counted_its_clusters_can_be_drawn(ax):
    X = np.random.default_rng(1).normal(size=(60, 3))
    plot_evidence(WeaveClustering("auto", random_state=0).fit(X), ax=ax)
    assert len(ax.get_lines()) == 5
    assert "1 cluster" in ax.get_title(loc="left")  # noise
