"""The verdict: paired over data sets, undecided where the interval holds 0, and no figure where there is none."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kernelweave.experiments.pictures import draw_comparison
from kernelweave.experiments.published import load_published
from kernelweave.experiments.rows import COLUMNS
from kernelweave.experiments.selection import select_cells
from kernelweave.experiments.verdict import _NEMENYI, against_rivals, paired_interval, parts_of_smkl, ranks, unfinished


def made(*rows):
    same = {"selection": "oracle", "parameters": "{}", "kernel": "", "split": "", "preprocessing": "none", "seed": 0}
    frame = pd.DataFrame(
        [{**same, "seconds": 1.0, "outcome": "CONVERGED", **row} for row in rows], columns=list(COLUMNS)
    )
    return frame.astype(COLUMNS)


def scored(**methods):
    """One row per method and data set; a method is given by its accuracies."""
    names = "yale", "jaffe", "tr11", "tr41"
    return made(
        *(
            {"method": m, "dataset": d, "acc": a}
            for m, scores in methods.items()
            for d, a in zip(names, scores, strict=False)
        )
    )


def test_the_interval_is_that_of_a_paired_t_test():
    first, second = {"a": 0.9, "b": 0.7, "c": 0.8}, {"a": 0.8, "b": 0.75, "c": 0.5, "d": 1.0}
    paired = paired_interval(first, second)
    expected = stats.ttest_rel([0.9, 0.7, 0.8], [0.8, 0.75, 0.5]).confidence_interval(0.95)
    assert np.allclose(paired.interval, expected)
    assert (paired.n, paired.higher) == (3, 2)
    assert paired.verdict == "undecided"


def test_searches_that_are_not_finished_are_named_with_their_least_share():
    rows = scored(SMKL=(0.5, 0.6), KGL=(0.4, 0.5))
    planned = {("yale", "KGL"): 3, ("jaffe", "KGL"): 2, ("yale", "SMKL"): 1}
    (said,) = unfinished(rows, planned)
    assert "KGL 1 of 3" in said
    assert "SMKL" not in said
    assert unfinished(rows, {}) == []


def test_one_data_set_has_no_interval_and_none_no_difference():
    assert paired_interval({"a": 0.9}, {"a": 0.5}).interval is None
    assert paired_interval({"a": 0.9}, {"a": 0.5}).verdict == "undecided"
    assert paired_interval({"a": 0.9}, {"b": 0.5}) is None


def test_better_worse_and_undecided_are_told_apart():
    rows = scored(SMKL=(0.8, 0.7, 0.6), A=(0.5, 0.41, 0.3), B=(0.9, 0.81, 0.7), C=(0.9, 0.5, 0.7))
    better, worse, undecided, _ = against_rivals(rows, ["A", "B", "C", "SMKL"])
    assert better.startswith("SMKL is better than: A +0.297")
    assert worse.startswith("SMKL is worse than: B −0.103")
    assert undecided.startswith("The data do not decide between SMKL and: C")
    assert "higher on 1 of 3" in undecided


def test_a_data_set_without_a_converged_setting_does_not_count():
    rows = scored(SMKL=(0.8, 0.7, 0.6), A=(0.5, 0.4, 0.3))
    rows.loc[(rows["method"] == "A") & (rows["dataset"] == "yale"), "outcome"] = "MAX_ITER"
    (said,) = against_rivals(rows, ["A", "SMKL"])
    assert "higher on 2 of 2" in said


def test_ranks_come_with_the_critical_difference_of_nemenyi():
    scores = {name: {f"d{i}": value for i in range(10)} for name, value in (("A", 0.9), ("B", 0.8), ("C", 0.7))}
    (said,) = ranks(scores)
    assert "A 1.0, B 2.0, C 3.0" in said
    assert "less than 1.0," in said  # 2.344 * sqrt(3 * 4 / (6 * 10)) = 1.05
    assert ranks({"A": {"d": 0.5}, "B": {"d": 0.4}, "C": {}}) == []


@pytest.mark.parametrize("k", [3, 8])
def test_the_constants_of_nemenyi_are_those_of_the_studentized_range(k):
    assert stats.studentized_range.cdf(_NEMENYI[k] * np.sqrt(2), k, np.inf) == pytest.approx(0.95, abs=1e-4)


def test_the_parts_are_compared_over_the_same_settings():
    rows = scored(**{"SMKL": (0.8, 0.7), "first iterate": (0.7, 0.61), "equal weights": (0.8, 0.7)})
    loop, weights = parts_of_smkl(rows)
    assert "first iterate: ACC +0.095" in loop
    assert "equal weights: ACC +0.000" in weights
    assert parts_of_smkl(rows[rows["method"] == "SMKL"]) == []


@pytest.mark.parametrize("name", ["table2", "table3"])
def test_a_picture_is_drawn_and_the_same_rows_give_the_same_bytes(name):
    published = load_published(name)
    labels = {"fraction": 0.1, "split": "same-positions"} if name == "table3" else {}
    cells = select_cells(made({"method": "SMKL", "dataset": "yale", "acc": 0.5, **labels}))
    picture = draw_comparison(cells, published)
    assert picture.startswith(b"\x89PNG")
    assert draw_comparison(cells, published) == picture
