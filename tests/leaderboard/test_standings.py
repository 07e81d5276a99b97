import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave.errors import ResultsError
from kernelweave.leaderboard import standings
from kernelweave.leaderboard.rank_diagram import cliques, draw_ranks
from kernelweave.leaderboard.standings import critical_distance
from kernelweave.leaderboard.verdicts import better_elsewhere, place_words, summary, unfinished

# ranks: Weave 1 2 2, GMC 2 1 3, KMeans 3 3 1
SCORES = {"KMeans": [0.6, 0.7, 0.6], "GMC": [0.7, 0.805, None], "WeaveClustering": [0.9, 0.8, 0.5]}


def test_methods_stand_in_the_order_of_their_mean_ranks_and_who_did_not_finish_is_last(made_up):
    found = standings(made_up(SCORES))
    assert [row.method for row in found.rows] == ["WeaveClustering", "GMC", "KMeans"]
    assert_allclose([row.rank for row in found.rows], [5 / 3, 2, 7 / 3])
    assert [row.finished for row in found.rows] == [3, 2, 3]
    assert_allclose(found.rows[1].mean, (0.7 + 0.805) / 2)
    assert np.isnan(found.scores[1, 2])


def test_wins_ties_and_losses_are_counted_against_the_reference(made_up):
    weave, gmc, kmeans = standings(made_up(SCORES)).rows
    assert (weave.wins, weave.ties, weave.losses) == (0, 3, 0)
    assert (gmc.wins, gmc.ties, gmc.losses) == (0, 1, 2)
    assert (kmeans.wins, kmeans.ties, kmeans.losses) == (1, 0, 2)


def test_equal_scores_share_a_rank(made_up):
    found = standings(made_up({"A": [0.5, 0.5], "B": [0.5, 0.5], "C": [0.1, 0.2]}))
    assert_allclose([row.rank for row in found.rows], [1.5, 1.5, 3])


def test_means_are_over_seeds_and_time_is_the_median_over_data_sets(made_up):
    import pandas as pd

    rows = pd.concat([made_up({"A": [0.4, 0.2, 0.3]}), made_up({"A": [0.6, 0.4, 0.3]}, seed=1)])
    found = standings(rows, reference="A")
    assert_allclose(found.scores, [[0.5, 0.3, 0.3]])
    assert found.rows[0].seconds == 3.0
    assert found.seeds == (2, 2)


def test_a_data_set_that_not_all_methods_were_tried_on_is_left_out_and_named(made_up):
    rows = made_up({"A": [0.4, 0.2], "B": [0.6, 0.4]})
    found = standings(rows[~((rows["method"] == "B") & (rows["dataset"] == "set1"))])
    assert (found.datasets, found.partial) == (("set0",), ("set1",))
    with pytest.raises(ResultsError, match="No data set has rows of all methods under the condition 'plain'"):
        standings(rows[(rows["method"] == "A") ^ (rows["dataset"] == "set1")])


def test_a_method_that_refuses_such_samples_is_named_and_not_ranked(made_up):
    import pandas as pd

    refusing = made_up({"GMC": [None, None]}, condition="gaps").assign(outcome="REFUSED")
    found = standings(pd.concat([made_up({"A": [0.4, 0.2]}, condition="gaps"), refusing]), "gaps")
    assert ([row.method for row in found.rows], found.refused) == (["A"], ("GMC",))


def test_the_critical_distance_is_that_of_demsar():
    # Demsar (2006), section 3.2.3: four classifiers on 14 data sets, q = 2.569
    assert_allclose(critical_distance(4, 14), 2.569 * np.sqrt(4 * 5 / (6 * 14)), rtol=1e-3)


def test_the_losses_of_the_reference_name_the_data_set_and_the_better_method(made_up):
    found = standings(made_up(SCORES))
    assert found.losses() == [("set2", 0.5, "KMeans", 0.6)]
    assert place_words(found) == (
        "WeaveClustering is number 1 of 3 by mean rank of ACC (1.67) on 3 data sets, with mean ACC 0.733. "
        "On 1 of them another method is better: set2 (0.500; KMeans 0.600)."
    )


def test_a_reference_that_did_not_finish_loses_there(made_up):
    found = standings(made_up({"WeaveClustering": [None, 0.8], "A": [0.1, 0.8]}))
    assert found.losses()[0][0] == "set0"
    assert "set0 (not finished; A 0.100)" in place_words(found)


def test_the_summary_tells_held_out_data_sets_apart(made_up):
    first, second = summary(made_up(SCORES), held_out=["set2"])
    assert "on 2 data sets" in first
    assert second.startswith("The number of clusters is given (held-out data sets): WeaveClustering is number 2 of 3")


def test_trials_that_did_not_finish_are_listed_with_their_reason(made_up):
    assert unfinished(made_up(SCORES)) == [
        {"method": "GMC", "dataset": "set2", "condition": "plain", "reason": "stopped after 60 s of CPU time"}
    ]


def test_bars_join_the_longest_runs_of_methods_that_do_not_differ():
    assert cliques([1.0, 2.0, 3.5, 6.0], 2.0) == [(0, 1), (1, 2)]
    assert cliques([1.0, 1.5, 2.0], 5.0) == [(0, 2)]
    assert cliques([1.0, 4.0], 1.0) == []


def test_the_diagram_names_every_method_once_with_its_rank(made_up):
    svg = draw_ranks(standings(made_up(SCORES | {"<b>": [0.1, 0.1, 0.1]})))
    for text in ("WeaveClustering 1.67", "KMeans 2.33", "2.33 GMC", "3.67 &lt;b&gt;", ">critical distance 2.71"):
        assert svg.count(text) == 1


def test_rows_of_one_number_of_samples_are_compared_that_of_most_methods(made_up):
    import pandas as pd

    small = made_up({"A": [0.4], "B": [0.3]}, n_samples=50)
    large = made_up({"A": [0.8]}, n_samples=100)
    assert_allclose(standings(pd.concat([small, large])).scores, [[0.4], [0.3]])
    large = made_up({"A": [0.8], "B": [0.9]}, n_samples=100)
    assert_allclose(standings(pd.concat([small, large])).scores, [[0.9], [0.8]])


def test_every_method_that_is_better_somewhere_is_named_with_where(made_up):
    rows = made_up({"WeaveClustering": [0.5, 0.5], "A": [0.7, 0.505], "B": [0.1, 0.6]})
    assert better_elsewhere(standings(rows)) == ["A: set0 (0.700 against 0.500)", "B: set1 (0.600 against 0.500)"]


def test_a_difference_of_one_in_a_hundred_samples_is_a_tie_whatever_the_rounding(made_up):
    rows = made_up({"WeaveClustering": [112 / 300, 126 / 300, 0.25], "A": [115 / 300, 129 / 300, 0.26]})
    found = standings(rows)
    assert {(row.wins, row.ties, row.losses) for row in found.rows} == {(0, 3, 0)}
    assert (found.losses(), better_elsewhere(found)) == ([], [])
