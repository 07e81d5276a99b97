"""How sure the model is, group by group."""

import numpy as np
import pytest

from kernelweave.errors import InvalidInputError
from kernelweave.plots import plot_confidence


def test_the_dots_are_medians_and_the_surest_group_is_on_top(fitted, ax):
    model = fitted(confidence=np.array([0.2, 0.4, 0.3, 0.9, 0.8, 1.0]), labels=np.array(["a", "a", "a", "b", "b", "b"]))
    plot_confidence(model, ax=ax)
    (dots,) = ax.lines
    assert dots.get_xdata().tolist() == pytest.approx([0.9, 0.3])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["b", "a"]


def test_without_confidence_it_is_the_largest_probability(fitted, ax):
    P = np.array([[0.6, 0.4], [0.1, 0.9]])
    plot_confidence(fitted(label_distributions=P, transduction=np.array([0, 1])), ax=ax)
    assert sorted(ax.lines[0].get_xdata()) == pytest.approx([0.6, 0.9])


def test_many_groups_share_a_histogram_of_all_samples(fitted, ax):
    plot_confidence(fitted(confidence=np.linspace(0, 1, 100), labels=np.arange(100)), ax=ax)
    assert sum(bar.get_height() for bar in ax.patches) == 100


def test_refuses_a_confidence_that_is_not_of_these_samples(fitted, ax):
    with pytest.raises(InvalidInputError, match=r"one number for each of the 2 samples, got shape \(3,\)"):
        plot_confidence(fitted(confidence=np.ones(3), labels=np.array([0, 1])), ax=ax)
