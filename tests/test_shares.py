"""Shares in percent."""

import pytest

from kernelweave._shares import percent


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0.0, 0, "0%"),
        (0.003, 0, "< 1%"),
        (0.006, 0, "1%"),
        (0.42, 0, "42%"),
        (0.994, 0, "99%"),
        (0.997, 0, "> 99%"),
        (1.0, 0, "100%"),
        (1 - 1e-15, 0, "100%"),
        (0.0003, 1, "< 0.1%"),
        (0.9997, 1, "> 99.9%"),
        (1.0, 1, "100.0%"),
    ],
)
def test_only_shares_of_0_and_1_are_shown_as_0_and_100_percent(share, digits, text):
    assert percent(share, digits) == text
