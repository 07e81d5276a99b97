"""Reasons for differences at their limits: what lies exactly on a bound, and rows of other cells that do not count."""

import json
import math

import pandas as pd
import pytest

from kernelweave.experiments.cells import NEAR
from kernelweave.experiments.differences import Evidence, differences_table, explain_differences
from kernelweave.experiments.leak_figures import leak_table
from kernelweave.experiments.published import Figure, Published
from kernelweave.experiments.rows import COLUMNS


def table(*figures, unit="share"):
    return Published("Made up.", "Table 9", "A caption", unit, figures)


HALF = table(Figure("acc", 0.5, dataset="iris", method="SMKL"))
BOTH = table(Figure("acc", 0.5, dataset="iris", method="SMKL"), Figure("nmi", 0.5, dataset="iris", method="SMKL"))
LABELLED = table(Figure("acc", 50.0, 2.0, dataset="iris", method="SMKL", labels=10), unit="percent")
DRAWN = {"fraction": 0.1, "split": "random"}


def made(*rows):
    same = {"dataset": "iris", "method": "SMKL", "selection": "oracle", "parameters": "{}", "kernel": "", "split": ""}
    more = {"seed": 0, "seconds": 1.0, "outcome": "CONVERGED", "preprocessing": "none"}
    return pd.DataFrame([{**same, **more, **row} for row in rows], columns=list(COLUMNS)).astype(COLUMNS)


def run(alpha, acc, seed=0, **more):
    return {"parameters": json.dumps({"alpha": alpha, "n_init": 9}), "acc": acc, "seed": seed, **more}


def draws(accs, alpha=1, **more):
    return [run(alpha, acc, seed, **(DRAWN | more)) for seed, acc in enumerate(accs)]


def reasons(rows, published=HALF, **evidence):
    (found,) = explain_differences(made(*rows), published, Evidence(**evidence))
    return list(found.reasons)


def test_a_difference_of_exactly_the_tolerance_is_none():
    nothing = table(Figure("acc", 0.0, dataset="iris", method="SMKL"))
    assert explain_differences(made(run(1, NEAR)), nothing, Evidence()) == []
    (found,) = explain_differences(made(run(1, math.nextafter(NEAR, 1))), nothing, Evidence())
    assert found.apart == math.nextafter(NEAR, 1)
    assert (found.cell.dataset, found.metric) == ("iris", "acc")


def test_cells_and_metrics_that_the_paper_lacks_have_no_difference():
    rows = made(run(1, 0.1, nmi=0.9), run(1, 0.1, method="other"), run(1, 0.1, dataset="wine"))
    assert [(d.cell.dataset, d.cell.method, d.metric) for d in explain_differences(rows, HALF, Evidence())] == [
        ("iris", "SMKL", "acc")
    ]
    missing = made(run(1, 0.1))  # no NMI: a clustering without it has no difference in it
    assert [d.metric for d in explain_differences(missing, BOTH, Evidence())] == ["acc"]


@pytest.mark.parametrize(
    ("accs", "said"),
    [
        ((0.1, 0.5), "one setting, whose 2 runs give 0.1000 to 0.5000: the published figure is within them"),
        ((0.1, 0.4), "one setting, whose 2 runs give 0.1000 to 0.4000: the published figure is not"),
        ((0.5, 0.9), "one setting, whose 2 runs give 0.5000 to 0.9000: the published figure is within them"),
        ((0.6, 0.9), "one setting, whose 2 runs give 0.6000 to 0.9000: the published figure is not"),
        ((0.9,), "one setting, whose 1 run give 0.9000 to 0.9000: the published figure is not"),
    ],
)
def test_the_range_of_one_setting_includes_its_ends(accs, said):
    start = "not reached" if sum(accs) < 0.5 * len(accs) else "no search"
    rows = [run(1, acc, seed) for seed, acc in enumerate(accs)]
    assert reasons(rows) == [f"{start}: {said}"]


def test_settings_above_the_published_figure_are_those_above_the_tolerance():
    said = "search: settings above the published figure by more than 0.02: {} of 3; the paper does not give its search"
    assert reasons([run(1, 0.7), run(2, 0.5 + NEAR), run(3, 0.3)]) == [said.format(1)]
    assert reasons([run(1, 0.7), run(2, math.nextafter(0.5 + NEAR, 1)), run(3, 0.3)]) == [said.format(2)]


def test_a_figure_of_runs_that_did_not_converge_is_said_to_be_one():
    stopped = "no setting converged: the figure depends on where the solver was stopped"
    assert reasons([run(1, 0.1, outcome="MAX_ITER")]) == [stopped]
    assert reasons([run(1, 0.9, outcome="MAX_ITER")]) == [
        stopped,
        "no search: one setting, whose 1 run give 0.9000 to 0.9000: the published figure is not",
    ]


@pytest.mark.parametrize(
    ("loose", "said"),
    [
        (0.2, None),
        (0.3, "comes nearer to"),
        (math.nextafter(0.5 - NEAR, 0), "comes nearer to"),
        (0.5 - NEAR, "reaches"),
    ],
)
def test_runs_that_did_not_converge_come_nearer_or_reach_the_figure(loose, said):
    found = reasons([run(1, 0.2), run(2, loose, outcome="MAX_ITER"), run(3, 0.1, outcome="MAX_ITER")])
    expected = f"convergence: a run that did not converge {said} it ({loose:.4f}) and does not count"
    assert found == ["not reached: the best of 3 settings" if said is None else expected]


def test_a_setting_that_did_not_converge_counts_with_as_many_runs_as_the_chosen_one():
    loose = run(2, 0.49, 0, outcome="MAX_ITER"), run(2, 0.49, 1, outcome="MAX_ITER")
    (said,) = reasons([run(1, 0.2), run(1, 0.2, 1), *loose])
    assert said.startswith("convergence")
    assert reasons([run(1, 0.2), run(1, 0.2, 1), loose[0]]) == ["not reached: the best of 2 settings"]


LEAKS = [
    (0.5 - NEAR, "leak: with its rows misaligned the released program gives 48.00"),
    (math.nextafter(0.5 - NEAR, 0), "leak: misaligned rows explain a part, the released program gives 48.00"),
    (math.nextafter(0.25 + NEAR, 1), "leak: misaligned rows explain a part, the released program gives 27.00"),
    (0.25 + NEAR, "the leak does not explain it: with misaligned rows 27.00"),
]


@pytest.mark.parametrize(("acc", "said"), LEAKS)
def test_the_leak_explains_what_it_reaches_within_the_tolerance(acc, said):
    leak = made(*draws([acc], method="as released"), *draws([0.9], method="SMKL, rows aligned"))
    assert reasons(draws([0.25]), LABELLED, leak=leak) == [said, "draws: 1 here, 20 in the paper"]


def test_the_leak_says_nothing_of_other_methods_data_shares_of_labels_or_failed_runs():
    ours = draws([0.25])
    plain = ["draws: 1 here, 20 in the paper"]
    for other in ({"dataset": "wine"}, {"fraction": 0.3}, {"acc": None}):
        leak = made(*({**row, **other} for row in draws([0.9], method="as released")))
        assert reasons(ours, LABELLED, leak=leak) == plain
    leak = made(*draws([0.9], method="as released"))
    kgl = table(Figure("acc", 50.0, dataset="iris", method="KGL", labels=10), unit="percent")
    assert reasons(draws([0.25], method="KGL"), kgl, leak=leak) == plain
    assert reasons([run(1, 0.25)], leak=made(run(1, 0.9, method="as released", selection="fixed"))) == [
        "not reached: one setting, whose 1 run give 0.2500 to 0.2500: the published figure is not"
    ]


def test_the_error_of_a_difference_is_that_of_two_means():
    accs = [0.3, 0.4, 0.5, 0.6]
    spread = pd.Series(accs).std(ddof=1)
    error = math.hypot(spread / 2, 0.02 / math.sqrt(20))
    assert 2 * error > 0.05
    assert reasons(draws(accs), LABELLED) == [
        f"draws: within two standard errors of the difference ({100 * error:.2f} each)",
        "draws: 4 here, 20 in the paper",
    ]


def test_a_difference_of_more_than_two_errors_is_not_put_down_to_the_draws():
    def said(apart):
        return [s for s in reasons(draws([0.5 + apart - 0.1, 0.5 + apart + 0.1] * 10), LABELLED) if "error" in s]

    spread = 0.1 * math.sqrt(20 / 19)
    two = 2 * math.hypot(spread / math.sqrt(20), 0.02 / math.sqrt(20))
    assert said(1.01 * two) == said(-1.01 * two) == []
    assert (
        said(0.99 * two)
        == said(-0.99 * two)
        == [f"draws: within two standard errors of the difference ({50 * two:.2f} each)"]
    )


def test_without_a_deviation_on_either_side_there_is_no_error():
    bare = table(Figure("acc", 50.0, dataset="iris", method="SMKL", labels=10), unit="percent")
    assert reasons(draws([0.2, 0.7]), bare) == ["draws: 2 here, 20 in the paper"]
    assert reasons(draws([0.45]), LABELLED) == ["draws: 1 here, 20 in the paper"]
    unlabelled = table(Figure("acc", 0.5, 0.5, dataset="iris", method="SMKL"))
    assert reasons([run(1, 0.2), run(1, 0.7, 1)], unlabelled) == [
        "not reached: one setting, whose 2 runs give 0.2000 to 0.7000: the published figure is within them"
    ]


def test_as_many_draws_as_in_the_paper_need_no_word():
    assert reasons(draws([0.1] * 20), LABELLED) == [
        "not reached: one setting, whose 20 runs give 10.00 to 10.00: the published figure is not"
    ]
    assert reasons(draws([0.1] * 19), LABELLED) == ["draws: 19 here, 20 in the paper"]


@pytest.mark.parametrize("other", [{"dataset": "wine"}, {"method": "KGL"}, {"fraction": 0.3}, {"alpha": 2}])
def test_only_draws_of_the_same_cell_and_setting_form_sets(other):
    more = [0.1] * 20 + [0.3] * 20 + [0.9] * 5
    rows = made(*draws(more), *draws([0.8] * 45, **other))
    assert reasons(draws([0.1] * 20), LABELLED, draws=rows) == [
        f"draws: 2 sets of 20 draws of this setting give 10.00 to 30.00, all 45 draws {100 * sum(more) / 45:.2f}"
    ]
    alone = made(*draws([0.8] * 45, **other))
    assert reasons(draws([0.1] * 20), LABELLED, draws=alone) == [
        "not reached: one setting, whose 20 runs give 10.00 to 10.00: the published figure is not"
    ]


@pytest.mark.parametrize("other", [{"dataset": "wine"}, {"method": "KGL"}, {"alpha": 2}])
@pytest.mark.parametrize(
    ("ends", "word"),
    [((0.1, 0.5), "k-means luck"), ((0.5, 0.6), "k-means luck"), ((0.1, 0.4), "not k-means luck")],
)
def test_only_single_starts_of_the_same_cell_and_setting_tell_luck(ends, word, other):
    def starts(accs, alpha=1, **more):
        text = json.dumps({"alpha": alpha, "n_init": 1})
        return [{"parameters": text, "acc": acc, "seed": i, **more} for i, acc in enumerate(accs)]

    rows = made(*starts([*ends, None]), *starts([0.0, 1.0], **other))
    assert reasons([run(1, 0.2)], restarts=rows) == [
        f"{word}: 2 single starts of this setting give {ends[0]:.4f} to {ends[1]:.4f}"
    ]
    assert reasons([run(1, 0.2)], restarts=made(*starts([0.0, 1.0], **other))) == [
        "not reached: one setting, whose 1 run give 0.2000 to 0.2000: the published figure is not"
    ]


def test_single_starts_are_those_of_the_same_kernel_and_say_nothing_of_labelled_samples():
    def start(acc, kernel, **more):
        return {"parameters": json.dumps({"n_init": 1}), "acc": acc, "kernel": kernel, **more}

    def ours(**more):
        return {"parameters": json.dumps({"n_init": 9}), "acc": 0.2, "kernel": "linear", **more}

    restarts = made(start(0.4, "linear"), start(0.9, "cosine"))
    assert reasons([ours()], restarts=restarts) == [
        "not k-means luck: 1 single starts of this setting give 0.4000 to 0.4000"
    ]
    labelled = made(start(0.4, "linear", **DRAWN))
    assert reasons([ours(**DRAWN)], LABELLED, restarts=labelled) == ["draws: 1 here, 20 in the paper"]


@pytest.mark.parametrize(
    ("nmi", "outcome", "named"),
    [
        (0.5 - NEAR, "CONVERGED", True),
        (math.nextafter(0.5 - NEAR, 0), "CONVERGED", False),
        (0.6, "MAX_ITER", False),
    ],
)
def test_another_setting_that_converged_may_have_the_published_nmi(nmi, outcome, named):
    rows = [run(1, 0.5, nmi=0.2), run(2, 0.4, nmi=nmi, outcome=outcome)]
    said = f"selection: the setting is chosen by ACC, and another one of the search has {nmi:.4f}"
    assert (said in reasons(rows, BOTH)) is named
    assert not any("chosen by ACC" in one for one in reasons([run(1, 0.2, nmi=0.5), run(2, 0.1, nmi=0.5)], BOTH))


def test_ways_of_input_are_compared_where_the_best_differ_by_more_than_the_tolerance():
    rows = [run(1, 0.25), run(2, 0.125), run(1, 0.0, preprocessing="unit"), run(2, 0.125, preprocessing="zscore")]
    assert reasons(rows) == ["preprocessing: best as stored 0.2500, unit rows 0.0000, standardised 0.1250"]
    loose = [run(1, 0.25), run(1, 0.24, preprocessing="unit"), run(2, 0.0, preprocessing="zscore", outcome="MAX_ITER")]
    assert reasons(loose) == ["not reached: the best of 3 settings"]
    at = [run(1, NEAR), run(1, 0.0, preprocessing="unit")]
    assert reasons(at) == ["not reached: the best of 2 settings"]
    assert reasons([run(1, 0.3, kernel="mine"), run(1, 0.1, kernel="yours")]) == ["not reached: the best of 2 settings"]


def test_a_search_is_finished_with_the_planned_settings():
    rows = [run(1, 0.1), run(2, 0.1)]
    plain = ["not reached: the best of 2 settings"]
    for planned in ({("iris", "SMKL"): 2}, {("iris", "KGL"): 9}, {("wine", "SMKL"): 9}, {}):
        assert reasons(rows, planned=planned) == plain
    assert reasons(rows, planned={("iris", "SMKL"): 3}) == ["search budget: 2 of 3 settings were run", *plain]


def test_the_table_of_differences_has_labels_where_a_cell_has_them():
    both = table(
        Figure("acc", 50.0, dataset="iris", method="SMKL", labels=10),
        Figure("acc", 50.0, dataset="iris", method="KGL"),
        unit="percent",
    )
    rows = made(*draws([0.25]), run(1, 0.75, method="KGL"))
    found = differences_table(explain_differences(rows, both, Evidence()), both)
    assert found.title == "Table 9: every difference of more than 0.02"
    assert found.header == ["Data", "Labels", "Method", "Metric", "ours", "published", "Δ", "from the rows"]
    assert [[entry.text for entry in row[:7]] for row in found.rows] == [
        ["IRIS", "10 %", "SMKL", "ACC", "25.00", "50.00", "−25.00"],
        ["IRIS", "–", "KGL", "ACC", "75.00", "50.00", "+25.00"],
    ]
    assert found.rows[0][7].text == "draws: 1 here, 20 in the paper"
    assert (found.words, found.last_words) == (4, 1)
    plain = differences_table(explain_differences(made(run(1, 0.25)), HALF, Evidence()), HALF)
    assert plain.header == ["Data", "Method", "Metric", "ours", "published", "Δ", "from the rows"]
    assert [entry.text for entry in plain.rows[0][:6]] == ["IRIS", "SMKL", "ACC", "0.2500", "0.5000", "−0.2500"]
    assert (plain.words, plain.last_words) == (3, 1)


def test_reasons_of_one_difference_are_joined_and_a_metric_alone_may_differ():
    rows = [run(1, 0.2, nmi=0.49), run(1, 0.1, nmi=0.1, preprocessing="unit")]
    (acc,) = explain_differences(made(*rows), BOTH, Evidence(planned={("iris", "SMKL"): 3}))
    assert acc.metric == "acc"
    text = differences_table([acc], BOTH).rows[0][-1].text
    assert text == "preprocessing: best as stored 0.2000, unit rows 0.1000; search budget: 2 of 3 settings were run"


def test_the_table_of_the_leak_has_the_cells_that_the_paper_has():
    leak = made(
        *draws([0.75, 0.25], method="as released"),
        *draws([0.9], method="SMKL, rows aligned"),
        *draws([0.9], method="as released", dataset="wine"),
        *draws([None], method="as released", fraction=0.3),
    )
    figures = table(*(Figure("acc", 62.5, dataset="iris", method="SMKL", labels=n) for n in (10, 30)), unit="percent")
    rows = made(*draws([0.3], method="KGL"), *draws([0.25]), *draws([None], fraction=0.3))
    found = leak_table(rows, leak, figures)
    assert [[entry.text for entry in row] for row in found.rows] == [
        ["IRIS", "10 %", "25.00", "50.00", "62.50", "−12.50", "1", "2"]
    ]
    assert found.header == [
        "Data", "Labels", "SMKL", "with the leak", "published", "leak − published", "settings of the leak",
        "draws of the leak",
    ]  # fmt: skip
    assert (found.words, found.last_words, len(found.notes)) == (2, 0, 1)
