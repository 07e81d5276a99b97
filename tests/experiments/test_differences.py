"""Reasons for differences: each comes from rows, and a reason without rows is not given."""

import json

import pandas as pd
import pytest

from kernelweave.experiments.differences import Evidence, differences_table, explain_differences
from kernelweave.experiments.published import load_published
from kernelweave.experiments.render import to_markdown
from kernelweave.experiments.rows import COLUMNS

TABLE2, TABLE3 = load_published("table2"), load_published("table3")


def made(*rows):
    """Rows of SMKL on YALE, of which only what matters is said; the published ACC is 0.6000."""
    same = {"dataset": "yale", "method": "SMKL", "selection": "oracle", "parameters": "{}", "kernel": "", "split": ""}
    more = {"seed": 0, "seconds": 1.0, "outcome": "CONVERGED", "preprocessing": "none"}
    return pd.DataFrame([{**same, **more, **row} for row in rows], columns=list(COLUMNS)).astype(COLUMNS)


def run(alpha, acc, **more):
    return {"parameters": json.dumps({"alpha": alpha, "n_init": 100}), "acc": acc, **more}


def reasons(rows, table=TABLE2, **evidence):
    (found,) = explain_differences(rows, table, Evidence(**evidence))
    return "; ".join(found.reasons)


def test_figures_that_match_need_no_reason():
    assert explain_differences(made(run(1, 0.59), run(2, 0.3)), TABLE2, Evidence()) == []


def test_a_figure_that_no_setting_reaches_is_not_reached():
    assert reasons(made(run(1, 0.5), run(2, 0.3))) == "not reached: the best of 2 settings"


def test_one_setting_alone_is_given_with_the_range_of_its_runs():
    rows = made(run(1, 0.7, seed=0), run(1, 0.72, seed=1)).assign(selection="fixed")
    assert reasons(rows) == "no search: one setting, whose 2 runs give 0.7000 to 0.7200: the published figure is not"


def test_a_run_that_did_not_converge_is_named_but_does_not_count():
    rows = made(run(1, 0.5), run(2, 0.61, outcome="MAX_ITER"))
    assert reasons(rows) == "convergence: a run that did not converge reaches it (0.6100) and does not count"
    assert "no setting converged" in reasons(made(run(1, 0.5, outcome="MAX_ITER")))


def test_a_search_that_is_not_finished_is_named():
    assert "search budget: 1 of 40 settings were run" in reasons(made(run(1, 0.5)), planned={("yale", "SMKL"): 40})


def test_a_higher_figure_says_how_many_settings_are_higher():
    said = reasons(made(run(1, 0.7), run(2, 0.65), run(3, 0.3)))
    assert said.startswith("search: settings above the published figure by more than 0.02: 2 of 3")


def test_preprocessing_is_named_where_it_makes_a_difference():
    rows = made(run(1, 0.5), run(1, 0.4, preprocessing="unit"))
    assert "preprocessing: best as stored 0.5000, unit rows 0.4000" in reasons(rows)
    assert "preprocessing" not in reasons(made(run(1, 0.5), run(1, 0.49, preprocessing="unit")))


def test_kernels_are_named_where_they_make_a_difference():
    rows = made(run(1, 0.5, kernel="released-7"), run(1, 0.4, kernel="printed-7"))
    assert "kernels: best as released 0.5000, as printed 0.4000" in reasons(rows)
    assert "kernels" not in reasons(made(run(1, 0.5, kernel="released-7"), run(1, 0.49, kernel="printed-7")))


def test_settings_are_compared_on_the_draws_that_all_of_them_have():
    chosen = [run(1, acc, seed=seed) for seed, acc in enumerate((0.7, 0.3, 0.3))]
    said = reasons(made(*chosen, run(1, 0.65, preprocessing="unit"), run(2, 0.66, outcome="MAX_ITER")))
    assert "preprocessing: best as stored 0.7000, unit rows 0.6500" in said
    assert "convergence" not in said  # one draw of a loose run says nothing about the mean of three


def test_the_full_graph_is_named_where_a_part_of_the_graph_is_chosen():
    def kept(n, acc):
        return {"parameters": json.dumps({"alpha": acc, "n_neighbors": n}), "acc": acc}

    said = reasons(made(kept("all", 0.4), kept("all", 0.45), kept(15, 0.5)))
    assert "graph: 15 entries of every row kept, which is ours; the paper's full graph 0.4500" in said
    assert "graph:" not in reasons(made(kept("all", 0.5), kept(15, 0.4)))
    assert "graph:" not in reasons(made(kept(15, 0.5)))  # nothing to compare with


@pytest.mark.parametrize(("best", "word"), [(0.61, "k-means luck"), (0.55, "not k-means luck")])
def test_restarts_of_the_same_setting_tell_luck(best, word):
    single = [
        {"parameters": json.dumps({"alpha": 1, "n_init": 1}), "seed": i, "acc": a} for i, a in enumerate((0.4, best))
    ]
    said = reasons(made(run(1, 0.5)), restarts=made(*single))
    assert said.startswith(f"{word}: 2 single starts of this setting give 0.4000 to {best:.4f}")
    other = [{**row, "parameters": json.dumps({"alpha": 2, "n_init": 1})} for row in single]
    assert "k-means" not in reasons(made(run(1, 0.5)), restarts=made(*other))


def test_another_setting_with_the_published_nmi_is_named():
    rows = made(run(1, 0.59, nmi=0.4), run(2, 0.5, nmi=0.61))
    assert reasons(rows) == "selection: the setting is chosen by ACC, and another one of the search has 0.6100"


@pytest.mark.parametrize(
    ("leaking", "said"),
    [
        (0.83, "leak: with its rows misaligned the released program gives 83.00"),
        (0.75, "leak: misaligned rows explain a part, the released program gives 75.00"),
        (0.6, "the leak does not explain it: with misaligned rows 60.00"),
    ],
)
def test_the_leak_explains_all_a_part_or_nothing(leaking, said):
    labels = {"fraction": 0.5, "split": "same-positions"}
    leak = made({"method": "as released", "selection": "fixed", "acc": leaking, **labels})
    assert said in reasons(made(run(1, 0.6, **labels)), TABLE3, leak=leak)


def test_a_difference_within_the_errors_of_the_draws_is_named():
    labels = {"fraction": 0.1, "split": "same-positions"}
    rows = made(*(run(1, acc, seed=i, **labels) for i, acc in enumerate((0.3, 0.5, 0.6, 0.7))))
    said = reasons(rows, TABLE3)
    assert "draws: within two standard errors" in said
    assert "draws: 4 here, 20 in the paper" in said


def test_more_draws_of_the_same_setting_tell_how_far_the_draw_moves_a_figure():
    labels = {"fraction": 0.1, "split": "same-positions"}
    rows = made(*(run(1, 0.3, seed=i, **labels) for i in range(20)))
    draws = [run(1, 0.3 if i < 20 else 0.5, seed=i, **labels) for i in range(40)]
    said = reasons(rows, TABLE3, draws=made(*draws))
    assert "draws: 2 sets of 20 draws of this setting give 30.00 to 50.00, all 40 draws 40.00" in said
    assert "sets of 20" not in reasons(rows, TABLE3, draws=made(*draws[:20]))
    other = made(*(run(2, 0.5, seed=i, **labels) for i in range(40)))
    assert "sets of 20" not in reasons(rows, TABLE3, draws=other)


def test_the_table_has_a_line_for_every_difference():
    rows = made(run(1, 0.5, nmi=0.3))
    table = differences_table(explain_differences(rows, TABLE2, Evidence()), TABLE2)
    assert [[entry.text for entry in row[:6]] for row in table.rows] == [
        ["YALE", "SMKL", "ACC", "0.5000", "0.6000", "−0.1000"],
        ["YALE", "SMKL", "NMI", "0.3000", "0.6029", "−0.3029"],
    ]
    assert "nan" not in to_markdown([table])
