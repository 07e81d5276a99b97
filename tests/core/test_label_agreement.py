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
    codes = np.array([0, 0, 1])
    assert nearest_agreement(np.zeros((3, 3)), codes) == pytest.approx((0.5 + 0.5 + 0 + 1) / 5)
    order = [2, 0, 1]
    assert nearest_agreement(np.zeros((3, 3)), codes[order]) == pytest.approx(2 / 5)


@pytest.mark.parametrize("m", [0, 1])
def test_without_another_sample_nothing_is_right(m):
    assert nearest_agreement(np.zeros((m, m)), np.zeros(m, dtype=int)) == pytest.approx(1 / (m + 2))
