"""Sentences on a made-up paper, word for word: what is counted, what is named, and what lies exactly on a bound."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from kernelweave.experiments import findings, verdict
from kernelweave.experiments.cells import NEAR
from kernelweave.experiments.published import Figure, Published
from kernelweave.experiments.reading import grid_shares, means_of_sets, setting_text
from kernelweave.experiments.rows import COLUMNS


def made(*rows):
    same = {"dataset": "iris", "method": "SMKL", "selection": "oracle", "parameters": "{}", "kernel": "", "split": ""}
    words = {column: "" for column, kind in COLUMNS.items() if kind == "string"}
    more = {"seed": 0, "seconds": 1.0, "outcome": "CONVERGED", "preprocessing": "none"}
    return pd.DataFrame([{**words, **same, **more, **row} for row in rows], columns=list(COLUMNS)).astype(COLUMNS)


def scored(dataset, method, acc, **more):
    return {"dataset": dataset, "method": method, "acc": acc, **more}


@pytest.fixture
def paper(monkeypatch):
    """Put a made-up table in place of the published ones."""

    def put(*figures, unit="share"):
        table = Published("Made up.", "Table 9", "A caption", unit, figures)
        monkeypatch.setattr(findings, "load_published", lambda name: table)

    return put


def test_every_figure_is_matched_exceeded_not_reached_loose_or_missing(paper):
    paper(
        Figure("acc", 0.0, dataset="iris", method="SC"),
        Figure("acc", NEAR, dataset="wine", method="SC"),
        Figure("acc", 0.0, dataset="wine", method="SMKL"),
        Figure("acc", 0.5, dataset="iris", method="KGL"),
        Figure("acc", 0.75, dataset="wine", method="KGL"),
        Figure("acc", 0.5, dataset="iris", method="SMKL"),
        Figure("acc", 0.5, dataset="yale", method="SC"),
        Figure("acc", 0.5, dataset="yale", method="KGL"),
        Figure("nmi", 0.5, dataset="iris", method="SMKL"),
    )
    rows = made(
        scored("iris", "SC", NEAR, nmi=0.9),
        scored("iris", "SC", 0.9, selection="fixed"),  # the rule of the paper comes first
        scored("wine", "SC", 0.0, selection="fixed"),
        scored("wine", "SMKL", math.nextafter(NEAR, 1)),
        scored("iris", "KGL", 0.375),
        scored("wine", "KGL", 0.5),
        scored("iris", "SMKL", 0.5, outcome="MAX_ITER", nmi=0.5),
        scored("yale", "KGL", None, outcome="FAILED"),
    )
    assert findings.classification(rows) == [
        "ACC: 8 published figures, of which 2 matched within 0.02, 1 exceeded, 2 not reached, 1 without a setting "
        "that converged, 2 not computed.",
        "Matched within 0.02 (ACC): SC: IRIS +0.020, WINE −0.020.",
        "Exceeded (ACC): SMKL: WINE +0.020.",
        "Not reached (ACC): KGL: WINE −0.250, IRIS −0.125.",
        "Without a setting that converged in all its runs (ACC): SMKL: IRIS.",
        "Not computed (ACC): SC: YALE; KGL: YALE.",
        "SMKL has the best ACC in 0 of 1 case in the paper, and in 0 of 1 case here. The best in the others: KGL: "
        "WINE.",
    ]


def test_of_a_second_metric_the_count_and_what_is_not_reached_are_given(paper):
    paper(
        Figure("acc", 0.5, dataset="iris", method="SMKL"),
        Figure("acc", 0.5, dataset="wine", method="SMKL"),
        Figure("nmi", 0.5, dataset="iris", method="SMKL"),
        Figure("nmi", 0.5, dataset="wine", method="SMKL"),
    )
    rows = made(scored("iris", "SMKL", 0.5, nmi=0.5), scored("wine", "SMKL", 0.5, nmi=0.25))
    assert findings.clustering(rows) == [
        "ACC: 2 published figures, of which 2 matched within 0.02, 0 exceeded, 0 not reached, 0 without a setting that "
        "converged, 0 not computed.",
        "Matched within 0.02 (ACC): SMKL: IRIS +0.000, WINE +0.000.",
        "NMI: 2 published figures, of which 1 matched within 0.02, 0 exceeded, 1 not reached, 0 without a setting that "
        "converged, 0 not computed.",
        "Not reached (NMI): SMKL: WINE −0.250.",
        "SMKL has the best ACC in 2 of 2 cases in the paper, and in 2 of 2 cases here.",
    ]


def test_the_best_method_is_counted_where_all_have_a_converged_score(paper):
    names = ("iris", "wine", "yale")
    figures = [Figure("acc", 0.5 + (m == "SMKL") / 4, dataset=d, method=m) for d in names for m in ("KGL", "SMKL")]
    paper(*figures)
    first = [scored("iris", "KGL", 0.8), scored("iris", "SMKL", 0.75), scored("wine", "KGL", 0.5)]
    rows = made(*first, scored("wine", "SMKL", 0.75), scored("yale", "KGL", 0.5))
    said = "SMKL has the best ACC in 2 of 2 cases in the paper, and in 1 of 2 cases here. The best in the others: "
    assert findings.classification(rows)[-1] == f"{said}KGL: IRIS."
    loose = made(*first, scored("wine", "SMKL", 0.75, outcome="MAX_ITER"))
    assert "in 1 of 1 case in the paper, and in 0 of 1 case here" in findings.classification(loose)[-1]
    assert findings.classification(made(*first[:1]))[-1] == (
        "It is not known yet whether SMKL is the best: no data set has rows of all 2 methods."
    )
    even = made(scored("iris", "KGL", 0.75), scored("iris", "SMKL", 0.75))  # a tie is the first in the alphabet
    assert findings.classification(even)[-1].endswith("0 of 1 case here. The best in the others: KGL: IRIS.")


def test_methods_without_tuning_are_compared_with_the_tuned_figure_of_smkl(paper):
    paper(*(Figure("acc", 50.0, dataset=d, method="SMKL", labels=10) for d in ("iris", "wine", "yale")), unit="percent")
    drawn = {"fraction": 0.1, "split": "random", "selection": "fixed"}
    accs = {"iris": 0.5 - NEAR, "wine": math.nextafter(0.5 - NEAR, 0), "yale": 0.75, "jaffe": 0.9}
    rows = [scored(name, "Weave", acc, **drawn) for name, acc in accs.items()]
    other = [
        scored("iris", "Weave", 0.25, **(drawn | {"selection": "unsupervised"})),
        scored("iris", "X", None, **drawn),
    ]
    said = findings.classification(made(*rows, *other, scored("iris", "Y", 0.9, fraction=0.1)))[-2:]
    assert said == [
        "Without tuning on labels, Weave (fixed): IRIS 10 % 0.480, WINE 10 % 0.480, YALE 10 % 0.750, JAFFE 10 % 0.900. "
        "At most 0.02 below the published, tuned SMKL in 2 of 3 cases.",
        "Without tuning on labels, Weave (unsupervised): IRIS 10 % 0.250. At most 0.02 below the published, tuned SMKL "
        "in 0 of 1 case.",
    ]
    ours = findings.classification(made(scored("iris", "SMKL", 0.5, **drawn)))
    assert not any("Without tuning" in line for line in ours)


def test_sizes_are_compared_figure_by_figure(paper):
    paper(
        Figure("instances", 150, dataset="iris"),
        Figure("classes", 2, dataset="iris", where="Section 5"),
        Figure("features", 5, dataset="iris"),
        Figure("instances", 178, dataset="wine"),
        Figure("instances", 165, dataset="yale"),
    )
    rows = made({"n_samples": 150, "n_features": 4, "n_classes": 3})
    assert findings.sizes(rows) == [
        "Published sizes that agree with the data: 1 of 3.",
        "IRIS has 3 classes; the paper (Section 5) says 2.",
        "IRIS has 4 features; the paper (Table 9) says 5.",
        "Not measured: WINE, YALE.",
    ]
    paper(Figure("instances", 150, dataset="iris"))
    assert findings.sizes(rows) == ["Published sizes that agree with the data: 1 of 1."]


def grid(accs):
    text = ({"alpha": a, "beta": b, "c": 1.0} for a, b in accs)
    return made(*({"parameters": json.dumps(p), "acc": acc} for p, acc in zip(text, accs.values(), strict=True)))


def test_the_shares_of_a_search_hold_their_bounds():
    rows = grid({(0.1, 1): 0.5, (1e-5, 1): 0.45, (0.1, 2): 0.25, (1e-5, 2): math.nextafter(0.25, 0), (3.0, 2): None})
    shares = grid_shares(rows)
    assert (shares.n_settings, shares.best) == (5, 0.5)
    assert (shares.below_half, shares.near) == (pytest.approx(0.4), pytest.approx(0.4))
    assert shares.region == {"alpha": ["1e-05", "0.1"], "beta": ["1"]}
    assert grid_shares(rows, near=0.04).near == pytest.approx(0.2)
    assert grid_shares(rows, near=0.25).region["beta"] == ["1", "2"]
    assert findings.sensitivity(rows) == [
        "Of 5 settings, 40% have less than half of the best ACC (0.5000) or failed, and 40% are within 0.05 of it. The "
        "paper calls the result “not so sensitive”.",
        "alpha: within 0.05 of the best ACC, for some values of the other parameters: 1e-05, 0.1.",
        "beta: within 0.05 of the best ACC, for some values of the other parameters: 1.",
    ]


def test_the_leak_is_given_for_every_place_and_its_largest_effect_first(paper):
    paper(Figure("acc", 62.5, dataset="iris", method="SMKL", labels=10), unit="percent")
    drawn = {"split": "random", "selection": "fixed"}

    def pair(dataset, fraction, released, aligned, seeds=1):
        arms = (("as released", released), ("SMKL, rows aligned", aligned))
        return [
            scored(dataset, m, acc, fraction=fraction, seed=seed, **drawn) for m, acc in arms for seed in range(seeds)
        ]

    alone = scored("yale", "as released", 0.5, fraction=0.1, **drawn), scored("yale", "x", None, fraction=0.1, **drawn)
    rows = [*pair("iris", 0.1, 0.5, 0.75, 2), *pair("iris", 0.5, 0.75, 0.25), *pair("wine", 0.1, 0.5, 0.5), *alone]
    assert findings.leak(made(*rows)) == [
        "The order of the rows alone changes ACC by +50.0 points on IRIS with 50 % of the labels: from 0.250 to 0.750, "
        "with the same data, draws and parameters.",
        "IRIS with 10 % of the labels, 2 draws, ACC in %: as released 50.00; SMKL, rows aligned 75.00; published "
        "62.50.",
        "IRIS with 50 % of the labels, 1 draw, ACC in %: as released 75.00; SMKL, rows aligned 25.00.",
        "WINE with 10 % of the labels, 1 draw, ACC in %: as released 50.00; SMKL, rows aligned 50.00.",
        "YALE with 10 % of the labels, 1 draw, ACC in %: as released 50.00.",
    ]
    assert len(findings.leak(made(*alone))) == 1
    fewer = findings.leak(made(*pair("iris", 0.5, 0.75, 0.25, 2)[:3]))[1]
    assert fewer.endswith("2 draws, ACC in %: as released 75.00; SMKL, rows aligned 25.00 (1 draw).")
    assert "by −25.0 points" in findings.leak(made(*pair("iris", 0.1, 0.5, 0.75)))[0]


def test_single_starts_are_grouped_by_setting():
    rows = made(
        *(scored("iris", "SC", acc, seed=i, kernel="a") for i, acc in enumerate((0.25, 0.5))),
        *(scored("iris", "SC", acc, seed=i, kernel="b") for i, acc in enumerate((0.75, 0.75))),
        *(scored("iris", "KGL", acc, seed=i) for i, acc in enumerate((0.125, None, 0.875))),
    )
    spread = np.mean([0.25 / math.sqrt(2), 0, 0.75 / math.sqrt(2)])
    assert findings.restarts(rows) == [
        f"Over 3 single starts of k-means at the settings of Table 2, ACC deviates by {spread:.3f} on average, and by "
        "at most 0.750 between the best and the worst start."
    ]


def test_sets_of_draws_are_taken_in_the_order_of_their_seeds_and_a_rest_is_left_out():
    runs = pd.DataFrame({"seed": [3, 2, 1, 0, 4], "acc": [0.75, 0.25, 0.5, 1.0, 0.1]})
    assert means_of_sets(runs, "acc", 2) == [0.75, 0.5]
    assert means_of_sets(runs, "acc", 5) == [pytest.approx(0.52)]
    assert means_of_sets(runs, "acc", 6) == []
    drawn = [scored("wine", "SMKL", 0.25, seed=i, fraction=0.1) for i in range(20)]
    drawn += [scored("wine", "SMKL", 0.75, seed=i, fraction=0.1) for i in range(20, 40)]
    drawn += [scored("iris", "SMKL", 0.5, seed=i, fraction=0.3) for i in range(21)]
    assert findings.more_draws(made(*drawn, scored("iris", "SMKL", None, seed=21, fraction=0.3))) == [
        "SMKL on WINE with 10 % of the labels: means of 20 draws each, in %: 25.00, 75.00; mean of all 40: 50.00. "
        "Table 3 has the first 20.",
        "SMKL on IRIS with 30 % of the labels: means of 20 draws each, in %: 50.00; mean of all 21: 50.00. Table 3 has "
        "the first 20.",
    ]


def test_the_provenance_counts_rows_failures_and_hours():
    versions = {"kernelweave": "1", "scipy": "3", "sklearn": "4", "python": "5"}
    rows = made(
        {"outcome": "FAILED", "preset": "quick", "numpy": "2", "commit": "abc", "seconds": 3600.0, **versions},
        {"outcome": "FAILED", "preset": "full", "numpy": "1", "commit": "abc", "seconds": 1800.0, **versions},
        {"outcome": "MAX_ITER", "preset": "full", "numpy": "2", "commit": "", "seconds": 0.0, **versions},
        {"preset": "full", "numpy": "2", "commit": "abc", "seconds": 0.0, **versions},
    )
    said = "kernelweave 1, numpy 1 and 2, scipy 3, sklearn 4, python 5", "abc: 3 rows; not stored: 1 row"
    assert findings.provenance(rows) == ("full and quick", "4", "2", "1", "1.50", *said)


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        (('{"alpha": 1e-05, "scheme": "x", "n": 3}', "", "none"), "alpha=1e-05, scheme=x, n=3"),
        (("{}", "linear", "unit"), "linear; unit rows"),
        (("{}", "", "zscore"), "standardised"),
        (("{}", "", "none"), "defaults"),
    ],
)
def test_a_setting_as_text_has_what_is_set(setting, text):
    assert setting_text(*setting) == text


def apart(*differences):
    names = "abcdefgh"[: len(differences)]
    return verdict.paired_interval(
        {n: 0.5 + d for n, d in zip(names, differences, strict=True)}, dict.fromkeys(names, 0.5)
    )


def test_an_interval_that_touches_0_is_undecided_and_ties_are_not_higher():
    even = apart(0.0, 0.0, 0.0)
    assert (even.mean, even.interval, even.n, even.higher) == (0, (0, 0), 3, 0)
    assert even.verdict == "undecided"
    assert apart(0.25, 0.25).verdict == "better"
    assert apart(-0.25, -0.25).verdict == "worse"
    assert apart(0.25, 0.25, 0.0, -0.25).higher == 2


def test_a_difference_in_words_has_its_interval_or_its_one_data_set():
    assert apart(-0.25).words() == "−0.250 on one data set"
    assert apart(-0.25, -0.25).words() == "−0.250 (95 % interval −0.250 to −0.250; higher on 0 of 2)"
    half = stats.t.ppf(0.975, 1) * 0.125  # the deviation of (0, 0.25) over the root of 2
    found = apart(0.0, 0.25)
    assert found.interval == (pytest.approx(0.125 - half), pytest.approx(0.125 + half))
    assert found.words() == f"+0.125 (95 % interval −{half - 0.125:.3f} to +{half + 0.125:.3f}; higher on 1 of 2)"


def test_the_least_share_of_an_unfinished_search_is_named_wherever_it_stands():
    rows = made(scored("iris", "KGL", 0.5), scored("wine", "KGL", 0.5), scored("yale", "KGL", 0.5))
    planned = {("iris", "KGL"): 2, ("wine", "KGL"): 5, ("yale", "KGL"): 3}
    assert verdict.unfinished(rows, planned) == [
        "Searches that are not finished, with the settings run where fewest were: KGL 1 of 5. More can only gain."
    ]


def test_shares_of_labels_are_averaged_and_a_data_set_with_a_loose_one_is_left_out():
    def drawn(dataset, method, acc, fraction, **more):
        return scored(dataset, method, acc, fraction=fraction, split="random", **more)

    def both(dataset, method, low, high, **more):
        return [drawn(dataset, method, low, 0.1), drawn(dataset, method, high, 0.5, **more)]

    rows = made(
        *both("iris", "SMKL", 0.25, 0.75), *both("wine", "SMKL", 0.5, 0.5), *both("yale", "SMKL", 0.5, 0.5),
        *both("iris", "KGL", 0.0, 0.5), *both("wine", "KGL", 0.25, 0.25, outcome="MAX_ITER"),
        *both("yale", "KGL", 0.25, None), *both("iris", "SC", 0.5, 0.5, outcome="MAX_ITER"),
    )  # fmt: skip
    (said,) = verdict.against_rivals(rows, ["KGL", "SC", "SMKL"])
    assert said == "SMKL is better than: KGL +0.250 (95 % interval +0.250 to +0.250; higher on 2 of 2)."


def test_mean_ranks_need_two_data_sets_and_three_methods():
    scores = {"A": {"a": 0.5, "b": 0.5}, "B": {"a": 0.5, "b": 0.75, "c": 0.1}, "C": {"b": 0.25, "a": 0.75}, "D": {}}
    critical = 2.344 * math.sqrt(3 * 4 / (6 * 2))
    assert verdict.ranks(scores) == [
        "Mean ranks on 2 data sets (1 is best): B 1.8, C 2.0, A 2.2. Ranks that differ by less than "
        f"{critical:.1f}, the critical difference of Nemenyi at the level 0.05, are not distinguished."
    ]
    assert verdict.ranks({name: scores[name] for name in "AB"}) == []
    assert verdict.ranks({**scores, "D": {"a": 0.5}}) == []
    assert verdict.ranks({}) == []
    ten = {name: {f"d{i}": 0.5 for i in range(9)} for name in "ABCDEFGHIJ"}
    assert f"less than {3.164 * math.sqrt(10 * 11 / (6 * 9)):.1f}," in verdict.ranks(ten)[0]


def test_the_constants_of_nemenyi_are_quantiles_of_the_range_of_normal_variables():
    z = np.linspace(-9, 9, 4001)
    assert list(verdict._NEMENYI) == list(range(3, 11))
    for k, constant in verdict._NEMENYI.items():
        within = stats.norm.cdf(z + constant * math.sqrt(2)) - stats.norm.cdf(z)
        assert integrate.trapezoid(k * stats.norm.pdf(z) * within ** (k - 1), z) == pytest.approx(0.95, abs=1e-4)


def test_the_parts_of_smkl_count_a_failed_run_as_0():
    ours = [scored("iris", "SMKL", 0.5), scored("iris", "SMKL", 0.75, seed=1), scored("wine", "SMKL", 0.5)]
    first = [scored("iris", "first iterate", None), scored("iris", "first iterate", 0.5, seed=1)]
    first += [scored("wine", "first iterate", 0.125)]
    weights = [scored("iris", "equal weights", 0.625), scored("wine", "equal weights", 0.5)]
    assert verdict.parts_of_smkl(made(*ours, *first, *weights)) == [
        "The loop against its first iterate: ACC +0.375 (95 % interval +0.375 to +0.375; higher on 2 of 2), over the "
        "same settings; the first is better.",
        "Learned weights against equal weights: ACC +0.000 (95 % interval +0.000 to +0.000; higher on 0 of 2), over "
        "the same settings; the data do not decide.",
    ]
