"""Which setting a table shows: the rule decides, failures do not help, and the count is of all that was searched."""

import json

import pandas as pd
import pytest

from kernelweave.errors import InvalidInputError
from kernelweave.experiments.rows import COLUMNS
from kernelweave.experiments.selection import select_cells


def made(*rows):
    """Rows of an experiment, of which only what matters is said."""
    same = {"dataset": "iris", "method": "A", "selection": "oracle", "parameters": "{}", "kernel": "", "split": ""}
    frame = pd.DataFrame(
        [{**same, "seed": 0, "seconds": 1.0, "outcome": "CONVERGED", **row} for row in rows], columns=list(COLUMNS)
    )
    return frame.astype(COLUMNS)


def run(alpha, seed, acc, **more):
    return {"parameters": json.dumps({"alpha": alpha}), "seed": seed, "acc": acc, **more}


def only(rows):
    (cell,) = select_cells(rows)
    return cell


def test_oracle_takes_the_best_mean_not_the_best_run():
    cell = only(made(run(1, 0, 0.9), run(1, 1, 0.1), run(2, 0, 0.6), run(2, 1, 0.7)))
    assert cell.setting == "alpha=2"
    assert cell.scores["acc"].mean == pytest.approx(0.65)
    assert (cell.n_settings, cell.n_failed, cell.n_runs) == (2, 0, 2)


def test_deviation_is_that_of_a_sample_and_none_for_one_run():
    two = only(made(run(1, 0, 0.5), run(1, 1, 0.7)))
    assert two.scores["acc"].std == pytest.approx(0.2 / 2**0.5)
    assert only(made(run(1, 0, 0.5))).scores["acc"].std is None


def test_other_metrics_are_those_of_the_chosen_setting():
    cell = only(made(run(1, 0, 0.6, nmi=0.1, purity=0.7), run(2, 0, 0.5, nmi=0.9, purity=0.9)))
    assert cell.scores["nmi"].mean == pytest.approx(0.1)
    assert cell.scores["purity"].mean == pytest.approx(0.7)


def test_equal_accuracies_are_told_apart_by_nmi_then_by_iterations_then_by_order():
    assert only(made(run(1, 0, 0.6, n_iter=81), run(2, 0, 0.6, n_iter=2))).setting == "alpha=2"
    assert only(made(run(1, 0, 0.6, nmi=0.2, n_iter=81), run(2, 0, 0.6, nmi=0.1, n_iter=2))).setting == "alpha=1"
    assert only(made(run(1, 0, 0.6, nmi=0.1), run(2, 0, 0.6, nmi=0.2))).setting == "alpha=2"
    assert only(made(run(1, 0, 0.6), run(2, 0, 0.6))).setting == "alpha=1"


def test_one_setting_needs_nothing_to_choose_by():
    assert only(made(run(1, 0, 0.5, selection="unsupervised"))).setting == "alpha=1"


def test_a_setting_that_failed_in_a_draw_is_passed_over_and_counted():
    cell = only(made(run(1, 0, 0.99), run(1, 1, None), run(2, 0, 0.5), run(2, 1, 0.5)))
    assert cell.setting == "alpha=2"
    assert (cell.n_settings, cell.n_failed) == (2, 1)


def test_a_cell_in_which_all_failed_has_no_score():
    cell = only(made(run(1, 0, None), run(2, 0, None)))
    assert cell.scores == {}
    assert (cell.n_settings, cell.n_failed, cell.n_runs) == (2, 2, 0)


def test_a_kernel_is_part_of_the_setting():
    cell = only(made({"kernel": "linear", "acc": 0.3}, {"kernel": "cosine", "acc": 0.4}))
    assert cell.setting == "cosine"
    assert cell.n_settings == 2


def test_every_rate_of_labels_has_its_own_choice():
    split = {"split": "same-positions"}
    rows = made(
        run(1, 0, 0.5, fraction=0.1, **split),
        run(2, 0, 0.4, fraction=0.1, **split),
        run(1, 0, 0.6, fraction=0.29, **split),
        run(2, 0, 0.7, fraction=0.29, **split),
    )
    cells = select_cells(rows)
    assert [(cell.labels, cell.setting, cell.protocol) for cell in cells] == [
        (10, "alpha=1", "same-positions"),
        (29, "alpha=2", "same-positions"),
    ]


def test_without_labels_the_evidence_decides_and_not_the_accuracy():
    rows = made(run(1, 0, 0.9, evidence=0.1), run(2, 0, 0.3, evidence=0.2)).assign(selection="unsupervised")
    cell = only(rows)
    assert cell.setting == "alpha=2"
    assert not cell.tuned


def test_without_labels_and_evidence_there_is_no_choice():
    rows = made(run(1, 0, 0.9), run(2, 0, 0.3)).assign(selection="unsupervised")
    with pytest.raises(InvalidInputError, match="no evidence to choose by under the rule 'unsupervised'"):
        select_cells(rows)


def test_fixed_refuses_to_choose():
    rows = made(run(1, 0, 0.9), run(2, 0, 0.3)).assign(selection="fixed")
    with pytest.raises(InvalidInputError, match="2 settings under the rule 'fixed', which chooses nothing"):
        select_cells(rows)


def test_only_a_choice_by_labels_counts_as_tuned():
    assert only(made(run(1, 0, 0.9), run(2, 0, 0.3))).tuned
    assert not only(made(run(1, 0, 0.9))).tuned
    assert not only(made(run(1, 0, 0.9)).assign(selection="fixed")).tuned


def test_methods_and_rules_do_not_mix():
    rows = made(run(1, 0, 0.9), {"method": "B", "acc": 0.2}, {"method": "A", "selection": "fixed", "acc": 0.1})
    assert [(c.method, c.rule) for c in select_cells(rows)] == [("A", "oracle"), ("B", "oracle"), ("A", "fixed")]


def test_names_the_columns_that_are_missing():
    with pytest.raises(InvalidInputError, match="no column kernel, acc"):
        select_cells(made(run(1, 0, 0.9)).drop(columns=["kernel", "acc"]))


def test_a_setting_that_did_not_converge_is_not_chosen_and_counted():
    cell = only(made(run(1, 0, 0.9, outcome="MAX_ITER"), run(2, 0, 0.5), run(3, 0, 0.4, outcome="LEVEL")))
    assert cell.setting == "alpha=2"
    assert cell.settled
    assert (cell.n_settings, cell.n_failed, cell.n_unsettled) == (3, 0, 1)


def test_one_draw_that_did_not_converge_is_enough_to_refuse_a_setting():
    rows = made(run(1, 0, 0.9), run(1, 1, 0.9, outcome="MAX_ITER"), run(2, 0, 0.5), run(2, 1, 0.5))
    assert only(rows).setting == "alpha=2"


def test_labels_that_stay_with_more_iterations_count_as_converged():
    rows = made(run(1, 0, 0.9, outcome="MAX_ITER", moved=0.0), run(2, 0, 0.95, outcome="MAX_ITER", moved=0.1))
    cell = only(rows)
    assert cell.setting == "alpha=1"
    assert cell.settled
    assert cell.n_unsettled == 1


def test_a_cell_without_a_converged_setting_is_marked():
    cell = only(made(run(1, 0, 0.9, outcome="MAX_ITER"), run(2, 0, 0.5, outcome="MAX_ITER")))
    assert cell.setting == "alpha=1"
    assert not cell.settled


def test_a_setting_with_all_draws_comes_before_one_of_the_coarse_stage():
    rows = made(run(1, 0, 0.9), run(2, 0, 0.5), run(2, 1, 0.6))
    cell = only(rows)
    assert (cell.setting, cell.n_runs, cell.n_failed) == ("alpha=2", 2, 0)


def test_preprocessing_is_part_of_the_setting():
    cell = only(made(run(1, 0, 0.5), run(1, 0, 0.6, preprocessing="unit"), run(1, 0, 0.4, preprocessing="zscore")))
    assert cell.setting == "alpha=1; unit rows"
    assert cell.n_settings == 3
