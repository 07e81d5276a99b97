"""The number of clusters: what several graphs say, beside samples without structure."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave.select import candidate_numbers, cluster_evidence

NUMBERS = range(2, 9)


def spectrum(k, gap, n=10):
    """Return eigenvalues, each 1.1 times the one before, but for a gap after number k."""
    steps = np.full(n, 1.1)
    steps[0] = 0.01
    steps[k] = gap
    return np.cumprod(steps)


def weighed(agreement, eigenvalues, without=None, by_chance=(), modularity=None, **options):
    within = modularity or dict.fromkeys(agreement, 0.5)
    return cluster_evidence(agreement, within, eigenvalues, without, by_chance, **options)


def flat(value):
    return dict.fromkeys(NUMBERS, value)


def test_a_clear_gap_decides_whatever_graphs_agree_on():
    agreement = flat(0.4) | {6: 0.9}
    found = weighed(agreement, [spectrum(3, 5.0)] * 4, [spectrum(0, 0.01)] * 4, [flat(0.9)])
    assert (found.chosen, found.found) == (3, "gap")
    assert found.gap[1] == pytest.approx(5 / 1.1)
    assert_allclose(np.delete(found.gap, 1), 1)
    assert found.words.startswith("3 clusters stand out (the gap between eigenvalues is 4.5 times that of samples")


def test_a_gap_that_samples_without_structure_have_too_does_not_count():
    same = [spectrum(3, 5.0)] * 4
    assert weighed(flat(0.4) | {6: 0.9}, same, same).chosen == 6
    assert weighed(flat(0.4) | {6: 0.9}, same).chosen == 3  # nothing to compare with


def test_a_gap_is_not_said_to_be_compared_where_there_is_nothing_to_compare_with():
    found = weighed(flat(0.4), [spectrum(3, 5.0)] * 4)
    few = "few edges of the graphs join them (the gap between eigenvalues is 5.0)"
    assert found.words == f"3 clusters stand out: {few}"


def test_samples_without_structure_never_raise_a_gap():
    falling = [np.array([0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01])] * 2
    found = weighed(flat(0.4), [spectrum(3, 2.0)] * 2, falling)
    assert found.gap[1] == pytest.approx(2)


def test_a_gap_that_a_fifth_of_the_graphs_see_counts():
    graphs = [spectrum(3, 4.0)] * 3 + [spectrum(0, 0.01)] * 7
    assert weighed(flat(0.4), graphs).found == "gap"
    assert weighed(flat(0.4), graphs[2:] + graphs[-3:]).found != "gap"


def test_in_few_columns_a_gap_counts_more_than_the_score():
    agreement, without = flat(0.4) | {6: 0.9}, [spectrum(0, 0.01)] * 2
    graphs = [spectrum(3, 1.7)] * 2
    assert weighed(agreement, graphs, without, [flat(0.3)]).chosen == 6
    assert weighed(agreement, graphs, without, [flat(0.3)], few_columns=True).chosen == 3
    assert weighed(agreement, graphs, without, [flat(0.85)], few_columns=True).chosen == 1


def test_without_a_clear_gap_the_number_that_graphs_agree_on_is_chosen():
    found = weighed(flat(0.4) | {5: 0.85}, [spectrum(3, 1.5)] * 3, None, [flat(0.3)])
    assert (found.chosen, found.found) == (5, "agreement")
    assert_allclose(found.score, (found.agreement - 0.3) * found.modularity)
    assert_allclose(found.chance, 0.3)
    assert "agree well on 5 clusters (adjusted Rand index 0.85), but no number stands out" in found.words


@pytest.mark.parametrize(("agreement", "word"), [(0.85, "well"), (0.7, "fairly well"), (0.5, "weakly")])
def test_how_far_graphs_agree_is_told(agreement, word):
    assert f"agree {word} on 4 clusters" in weighed(flat(0.2) | {4: agreement}, [spectrum(3, 1.1)]).words


def test_agreement_on_clusters_of_a_poor_modularity_counts_less():
    agreement = flat(0.1) | {2: 0.9, 5: 0.8}
    within = flat(0.6) | {2: 0.2}
    assert weighed(agreement, [spectrum(3, 1.1)], modularity=within).chosen == 5


def test_of_numbers_that_score_alike_the_smaller_is_chosen():
    assert weighed(flat(0.4) | {4: 0.78, 7: 0.8}, [spectrum(3, 1.1)]).chosen == 4
    assert weighed(flat(0.4) | {4: 0.75, 7: 0.8}, [spectrum(3, 1.1)]).chosen == 7


def test_agreement_that_samples_without_structure_reach_too_is_no_structure():
    chance = flat(0.3) | {5: 0.8}
    found = weighed(flat(0.4) | {5: 0.85}, [spectrum(3, 1.5)], None, [flat(0.1), chance])
    assert (found.chosen, found.found) == (1, "nothing")
    assert found.words.startswith("no structure was found")
    for agreed, chosen in ((0.89, 1), (0.91, 5)):
        found = weighed(flat(0.4) | {5: agreed}, [spectrum(3, 1.5)], None, [flat(0.1), flat(0.3) | {5: 0.7}])
        assert found.chosen == chosen


def test_a_number_on_which_samples_without_structure_agree_too_counts_less_than_another():
    agreement, chance = flat(0.3) | {3: 0.75, 7: 0.8}, flat(0.3) | {6: 0.6, 7: 0.6, 8: 0.6}
    found = weighed(agreement, [spectrum(3, 1.1)], None, [chance])
    assert (found.chosen, found.found) == (3, "agreement")
    assert weighed(agreement, [spectrum(3, 1.1)]).chosen == 7  # nothing to compare with


def test_chance_is_the_largest_at_a_number_and_those_beside_it():
    tried = {2: 0.1, 4: 0.6, 8: 0.2}
    found = weighed(flat(0.4), [spectrum(3, 1.1)], None, [tried, {2: 0.3}])
    # the nearest to 2 is 2 itself, with 4 beside it; the nearest to 7 and 8 is 8, with 4 beside it
    assert_allclose(found.chance, [0.6] * 7)
    wide = weighed(flat(0.4), [spectrum(3, 1.1)], None, [{2: 0.5, 3: 0.1, 4: 0.1, 5: 0.1, 6: 0.1, 7: 0.2, 8: 0.1}])
    assert_allclose(wide.chance, [0.5, 0.5, 0.1, 0.1, 0.2, 0.2, 0.2])


def test_without_samples_to_compare_with_chance_is_unknown_and_something_is_found():
    found = weighed(flat(0.05), [spectrum(3, 1.1)])
    assert np.isnan(found.chance).all()
    assert (found.chosen, found.found) == (2, "agreement")


def test_runners_up_by_gap_are_other_gaps_at_least_half_as_clear():
    values = spectrum(3, 5.0)
    values[6:] *= 2  # a second gap after number 6
    values[8:] *= 1.3
    found = weighed(flat(0.4), [values], [spectrum(0, 0.01)])
    assert found.runners_up == (6,)
    assert found.words.endswith("; 6 is worth a look too")


def test_runners_up_by_agreement_are_other_peaks_near_the_best():
    agreement = flat(0.4) | {3: 0.74, 5: 0.8, 8: 0.77}
    found = weighed(agreement, [spectrum(3, 1.1)])
    assert found.chosen == 5
    assert found.runners_up == (8, 3)
    assert found.words.endswith("; 8 or 3 would be nearly as good")


def test_partitions_that_agree_less_than_by_chance_have_no_score():
    found = weighed(flat(-0.1), [spectrum(3, 1.1)])
    assert_allclose(found.score, 0)
    assert np.isfinite(found.score).all()


def test_numbers_without_an_eigenvalue_after_them_have_no_gap():
    found = weighed(flat(0.4), [spectrum(3, 1.1)[:5]])
    assert_allclose(found.gap[3:], 1)


def test_pieces_that_are_not_connected_give_a_finite_gap():
    found = weighed(flat(0.4), [np.r_[np.zeros(4), np.ones(6)]])
    assert (found.chosen, found.found) == (4, "gap")
    assert np.isfinite(found.gap).all()


@pytest.mark.parametrize(("n", "last"), [(2, 2), (20, 2), (80, 10), (213, 26), (10_000, 50)])
def test_numbers_are_tried_as_far_as_clusters_would_have_eight_members(n, last):
    numbers = candidate_numbers(n)
    assert numbers[0] == 2
    assert numbers[-1] == last
    assert numbers == sorted(set(numbers))


def test_partitions_without_modularity_have_no_score_rather_than_a_negative_one():
    found = weighed(flat(0.4), [spectrum(3, 1.1)], modularity=flat(-0.2))
    assert_allclose(found.score, 0)


def by_valleys(depths, peak_depths, shared_shapes=None):
    """Return evidence from the depth of valleys in ten graphs, the same in all, between peaks, and of a mixture."""
    every = {k: [depths.get(k, -0.5)] * 10 for k in NUMBERS}
    given = {"depths": every, "peak_depths": peak_depths, "shared_shapes": shared_shapes}
    return weighed(flat(0.9), [spectrum(3, 5.0)] * 2, **given)


def test_in_few_columns_the_largest_number_with_valleys_is_chosen():
    found = by_valleys({2: 0.9, 3: 0.5, 5: 0.12}, {2: 1.2, 3: 0.8})
    assert (found.chosen, found.found) == (5, "valleys")
    assert found.runners_up == (3, 2)
    assert found.words.startswith("5 clusters stand out: samples are 1.1 times denser within them")
    assert found.words.endswith("; 3 and 2 are worth a look too")


def test_valleys_in_graphs_show_no_structure_without_peaks_that_stand_out():
    for peaks in ({2: 0.6}, {}):
        found = by_valleys({2: 0.9, 3: 0.5}, peaks)
        assert (found.chosen, found.found) == (1, "nothing")
        assert found.runners_up == ()
        assert found.words.startswith("no structure was found: samples are about as dense between clusters")


def test_so_few_distinct_samples_that_nothing_can_be_found_are_said_to_be_too_few():
    told = "no structure was found: 15 distinct samples are too few to tell clusters apart"
    for given in ({"depths": {k: [0.0] for k in NUMBERS}}, {"by_chance": [flat(0.9)]}):
        few = weighed(flat(0.9), [spectrum(3, 1.1)], n_distinct=15, **given)
        assert (few.chosen, few.found, few.words) == (1, "too few", told)
        assert weighed(flat(0.9), [spectrum(3, 1.1)], n_distinct=16, **given).found == "nothing"
    depths = {k: [0.0] for k in NUMBERS}
    assert weighed(flat(0.9), [spectrum(3, 9.0)], n_distinct=15, depths=depths).found == "too few"
    assert weighed(flat(0.9), [spectrum(3, 9.0)], n_distinct=16, depths=depths).found == "gap"


def test_clusters_that_stand_out_among_few_samples_are_not_said_to_be_too_few():
    assert weighed(flat(0.9), [spectrum(3, 5.0)], n_distinct=12).found == "gap"


def test_peaks_with_the_deepest_valleys_count_where_no_graph_shows_them():
    found = by_valleys({}, {2: 0.9, 3: 1.4, 4: 0.8})
    assert found.chosen == 3
    assert "4.1 times denser" in found.words


def by_gap(gap, peak_depths=None, even=None):
    """Return evidence of a gap after 3 in ten graphs without valleys but between peaks."""
    depths = {k: [-0.5] for k in NUMBERS}
    return weighed(flat(0.9), [spectrum(3, gap)] * 10, depths=depths, peak_depths=peak_depths, even=even)


def test_a_wide_gap_shows_clusters_that_have_no_valleys_in_few_columns():
    found = by_gap(8.0)
    assert (found.chosen, found.found, found.clear) == (3, "gap", 6.0)
    assert found.words == (
        "3 clusters stand out: few edges of the graphs join them (the gap between eigenvalues is 8.0)"
    )
    assert found.measured == "gap"
    ((name, values, enough),) = found.curves
    assert (name, values.max(), enough) == ("gap", pytest.approx(8), 6)
    assert by_gap(6.01).chosen == 3
    assert by_gap(5.99).found == "nothing"


def test_a_wide_gap_counts_where_its_number_is_larger_than_that_of_valleys():
    assert (by_gap(8.0, {2: 1.0}).chosen, by_gap(8.0, {2: 1.0}).found) == (3, "gap")
    assert (by_gap(8.0, {4: 1.0}).chosen, by_gap(8.0, {4: 1.0}).found) == (4, "valleys")


def test_a_gap_counts_in_graphs_without_small_clusters_alone():
    every, none, some = ({k: [k != 3] * (10 - few) + [True] * few for k in NUMBERS} for few in (10, 0, 3))
    assert by_gap(8.0, even=every).chosen == by_gap(8.0, even=some).chosen == 3
    assert by_gap(8.0, even=none).found == "nothing"
    wide = [spectrum(3, 5.0)] * 10
    assert weighed(flat(0.4), wide, even=every).found == "gap"
    assert weighed(flat(0.4), wide, even=none).gap.max() == pytest.approx(1.1)


def test_clusters_that_do_not_touch_lie_apart():
    found = by_valleys({2: 10.0}, {2: 10.0})
    assert found.words == "2 clusters lie apart: no sample has a neighbour in another cluster"


def test_valleys_that_a_fifth_of_the_graphs_have_count():
    some = {k: [-0.5] * 10 for k in NUMBERS}
    enough = weighed(flat(0.9), [spectrum(3, 1.1)], depths=some | {6: [0.3] * 3 + [-0.5] * 7}, peak_depths={2: 1.0})
    too_few = weighed(flat(0.9), [spectrum(3, 1.1)], depths=some | {6: [0.3] + [-0.5] * 9}, peak_depths={2: 1.0})
    assert (enough.chosen, too_few.chosen) == (6, 2)


def test_what_decides_can_be_drawn():
    assert [name for name, *_ in weighed(flat(0.4), [spectrum(3, 1.1)]).curves] == ["gap"]
    (_, graphs, _), (_, peaks, enough) = by_valleys({2: 10.0}, {2: 10.0}).curves
    assert_allclose(graphs, [3, *[-0.5] * 6])
    assert_allclose(peaks, [3, *[np.nan] * 6])
    assert enough == 0.65


def test_clusters_of_one_shape_count_where_they_describe_the_samples_best():
    found = by_valleys({2: 0.9}, {2: 0.9}, {1: -80.0, 2: -30.0, 4: 6.0, 5: 20.2, 6: 16.0})
    assert (found.chosen, found.found) == (5, "mixture")
    assert found.runners_up == (6,)
    assert found.words == (
        "5 clusters stand out: Gaussian ones of one shape describe the samples better than any of different shapes "
        "(log odds 20); 6 would be nearly as good"
    )
    assert_allclose(found.shared_shape, [-30, np.nan, 6, 20.2, 16, np.nan, np.nan])


def test_a_mixture_with_the_number_that_valleys_show_leaves_the_decision_to_them():
    found = by_valleys({2: 10.0}, {2: 10.0}, {2: 30.0, 3: 5.0})
    assert (found.chosen, found.found) == (2, "valleys")


@pytest.mark.parametrize(
    "shapes", [None, {}, {1: 0.0, 4: -3.0}, {1: 7.0, 4: 5.0}], ids=["none", "empty", "worse", "one is better"]
)
def test_clusters_of_one_shape_that_describe_the_samples_worse_do_not_count(shapes):
    assert by_valleys({2: 0.9}, {2: 0.9}, shapes).chosen == 2
    assert by_valleys({}, {2: 0.5}, shapes).chosen == 1


def test_a_mixture_shows_structure_only_beside_valleys():
    shapes = {1: -20.0, 4: 9.0}
    assert by_valleys({}, {2: 0.45}, shapes).chosen == 4
    assert by_valleys({}, {2: 0.35}, shapes).chosen == 1
    assert by_valleys({}, {}, shapes).chosen == 1


def test_the_factors_of_a_mixture_are_drawn_if_it_decided():
    found = by_valleys({2: 0.9}, {2: 0.9}, {2: -300.0, 4: 6.0, 5: 20.0})
    ((name, values, enough),) = found.curves
    assert (name, enough, found.measured) == ("clusters of one shape", 0, "log odds")
    assert_allclose(values, [-20, np.nan, 6, 20, np.nan, np.nan, np.nan])
    assert by_valleys({2: 0.9}, {2: 0.9}).measured == "depth of valleys"
    assert weighed(flat(0.4), [spectrum(3, 1.1)]).measured == "gap"
