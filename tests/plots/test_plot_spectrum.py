"""The eigenvalues of the graph, with their gap."""

import numpy as np
import pytest

from kernelweave.errors import InvalidInputError
from kernelweave.plots import plot_spectrum


def dots(ax):
    return [line.get_ydata().tolist() for line in ax.lines]


def test_the_first_as_many_as_there_are_groups_are_filled(fitted, ax):
    plot_spectrum(fitted(eigenvalues=np.array([0, 0.1, 0.5, 0.6]), labels=np.array([0, 1, 1])), ax=ax)
    assert dots(ax) == [[0, 0.1], [0.5, 0.6]]


def test_the_band_spans_the_gap_after_the_number_of_groups(fitted, ax, texts):
    plot_spectrum(fitted(eigenvalues=np.array([0, 0.1, 0.5, 0.6]), labels=np.array([0, 1, 1])), ax=ax)
    (band,) = ax.patches
    assert band.get_y() == pytest.approx(0.1)
    assert band.get_height() == pytest.approx(0.4)
    assert "gap 0.4" in texts(ax)


def test_there_is_no_gap_where_no_eigenvalue_follows(fitted, ax):
    plot_spectrum(fitted(eigenvalues=np.array([0, 0.1]), labels=np.array([0, 1, 1])), ax=ax)
    assert not ax.patches


def test_eigenvalues_that_are_all_zero_are_drawn(fitted, ax):
    plot_spectrum(fitted(eigenvalues=np.zeros(3), labels=np.array([0, 1])), ax=ax)
    assert ax.get_ylim()[1] > 0


def test_refuses_a_spectrum_without_eigenvalues(fitted, ax):
    with pytest.raises(InvalidInputError, match="eigenvalues_ of Model is empty"):
        plot_spectrum(fitted(eigenvalues=np.array([]), labels=np.array([0, 1])), ax=ax)
