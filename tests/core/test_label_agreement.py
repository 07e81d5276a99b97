"""How well the nearest samples predict labels."""

import numpy as np
import pytest

from kernelweave.core.consensus.label_agreement import nearest_agreement

POINTS = np.array([0.0, 1, 4, 6, 20])
D = np.abs(POINTS[:, None] - POINTS)


def test_a_sample_counts_if_the_nearest_other_has_its_label():
    assert nearest_agreement(D, np.array([0, 0, 1, 1, 1])) == pytest.approx((5 + 1) / 7)
    assert nearest_agreement(D, np.array([0, 1, 0, 1, 0])) == pytest.approx((0 + 1) / 7)
    assert D.trace() == 0  # the distances stay as they are


def test_of_samples_that_are_equally_near_the_share_with_its_label_counts():
    codes = np.array([0, 0, 1, 1, 1])
    found = nearest_agreement(np.zeros((5, 5)), codes)
    assert found == pytest.approx((2 * 1 / 4 + 3 * 2 / 4 + 1) / 7)
    assert nearest_agreement(np.zeros((5, 5)), codes[[2, 0, 4, 1, 3]]) == pytest.approx(found)


def test_samples_without_another_of_their_label_do_not_count():
    assert nearest_agreement(D, np.array([0, 0, 1, 2, 3])) == pytest.approx((2 + 1) / 4)
    assert nearest_agreement(D, np.arange(5)) == 0.5
    assert nearest_agreement(D[:1, :1], np.zeros(1, dtype=int)) == 0.5
    assert nearest_agreement(np.empty((0, 0)), np.zeros(0, dtype=int)) == 0.5
