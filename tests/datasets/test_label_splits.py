import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.semi_supervised import LabelPropagation

from kernelweave.datasets import label_split, mask_labels
from kernelweave.errors import InvalidInputError

PROTOCOLS = ("per-class", "same-positions", "uniform")
every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)
UNEQUAL = np.repeat(["a", "b", "c"], [20, 7, 3])


def positions_by_class(y, labelled):
    return [np.flatnonzero(labelled[y == label]) for label in np.unique(y)]


@every_protocol
def test_the_split_is_a_mask_over_the_samples(protocol):
    labelled = label_split(UNEQUAL, 0.3, protocol, random_state=0)
    assert labelled.dtype == bool
    assert labelled.shape == (30,)


@every_protocol
def test_the_same_seed_draws_the_same_samples_and_another_seed_others(protocol):
    first, again, other = (label_split(UNEQUAL, 0.4, protocol, random_state=seed) for seed in (1, 1, 2))
    assert_array_equal(first, again)
    assert (first != other).any()


@every_protocol
def test_without_a_seed_draws_differ(protocol):
    y = np.repeat([0, 1], 50)
    assert (label_split(y, 0.5, protocol) != label_split(y, 0.5, protocol)).any()


@every_protocol
def test_renaming_classes_in_order_changes_nothing(protocol):
    codes = np.unique(UNEQUAL, return_inverse=True)[1]
    assert_array_equal(
        label_split(UNEQUAL, 0.3, protocol, random_state=3), label_split(codes * 10, 0.3, protocol, random_state=3)
    )


@every_protocol
def test_every_sample_can_be_drawn(protocol):
    y = np.repeat([0, 1, 2], 5)
    drawn = np.any([label_split(y, 0.2, protocol, random_state=seed) for seed in range(100)], axis=0)
    assert drawn.all()


@pytest.mark.parametrize(("fraction", "counts"), [(0.1, [2, 1, 1]), (0.3, [6, 2, 1]), (0.5, [10, 4, 2])])
def test_per_class_labels_the_fraction_of_every_class_and_at_least_one(fraction, counts):
    labelled = label_split(UNEQUAL, fraction, "per-class", random_state=0)
    assert [len(found) for found in positions_by_class(UNEQUAL, labelled)] == counts


def test_per_class_draws_every_class_on_its_own():
    y = np.repeat(np.arange(10), 20)
    first, *others = positions_by_class(y, label_split(y, 0.3, "per-class", random_state=0))
    assert any((first != other).any() for other in others)


def test_per_class_is_the_default():
    assert_array_equal(
        label_split(UNEQUAL, 0.3, random_state=0), label_split(UNEQUAL, 0.3, "per-class", random_state=0)
    )


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_same_positions_are_the_same_in_every_class(order):
    y = np.repeat(np.arange(4), 12)
    if order == "shuffled":
        y = np.random.default_rng(0).permutation(y)
    first, *others = positions_by_class(y, label_split(y, 0.25, "same-positions", random_state=0))
    assert len(first) == 3
    for other in others:
        assert_array_equal(other, first)


@pytest.mark.parametrize(("fraction", "count"), [(0.1, 1), (0.3, 3), (0.5, 5)])
def test_same_positions_labels_as_many_of_yale_as_the_released_program(fraction, count):
    y = np.repeat(np.arange(15), 11)
    labelled = label_split(y, fraction, "same-positions", random_state=0)
    assert labelled.sum() == 15 * count


def test_counts_do_not_suffer_from_binary_fractions():
    y = np.repeat([0, 1], 100)
    assert label_split(y, 0.29, "same-positions", random_state=0).sum() == 2 * 29
    assert label_split(y, 0.145, "per-class", random_state=0).sum() == 2 * 15


def test_same_positions_lie_below_the_size_of_the_smallest_class():
    for seed in range(20):
        found = positions_by_class(UNEQUAL, label_split(UNEQUAL, 0.7, "same-positions", random_state=seed))
        assert [len(positions) for positions in found] == [2, 2, 2]
        assert max(positions.max() for positions in found) < 3


@pytest.mark.parametrize(("fraction", "count"), [(0.01, 1), (0.3, 9), (0.5, 15), (0.95, 29)])
def test_uniform_labels_the_fraction_of_all_samples_and_at_least_one(fraction, count):
    assert label_split(UNEQUAL, fraction, "uniform", random_state=0).sum() == count


def test_uniform_may_leave_a_class_without_labels():
    splits = [label_split(UNEQUAL, 0.1, "uniform", random_state=seed) for seed in range(20)]
    assert any(not labelled[UNEQUAL == "c"].any() for labelled in splits)


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5, np.nan, "0.1", None, True])
def test_fractions_outside_zero_to_one_are_refused(fraction):
    with pytest.raises(InvalidInputError, match=r"fraction must be a number above 0 and below 1, got .*: 0\.1 labels"):
        label_split(UNEQUAL, fraction)


@pytest.mark.parametrize("protocol", ["per_class", "", None])
def test_unknown_protocols_are_refused_with_the_known_ones(protocol):
    with pytest.raises(InvalidInputError, match=r"no protocol .*: choose one of per-class, same-positions, uniform"):
        label_split(UNEQUAL, 0.1, protocol)


BAD_LABELS = {
    "empty": ([], r"y is empty"),
    "a table": (np.zeros((4, 2)), r"y must be one-dimensional, got shape \(4, 2\)"),
    "nan": ([0.0, np.nan], r"y has no label .* at 1 of 2 samples, first at sample 1"),
}


@pytest.mark.parametrize(("y", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_bad_labels_are_refused_with_the_reason(y, message):
    with pytest.raises(InvalidInputError, match=message):
        label_split(y, 0.5)
    with pytest.raises(InvalidInputError, match=message):
        mask_labels(y, [True, False])


@pytest.mark.parametrize(
    ("y", "unlabelled", "expected", "dtype"),
    [
        ([3, 4, 5], -1, [3, -1, 5], np.int64),
        (np.array([3, 4, 5], dtype=np.uint8), -1, [3, -1, 5], np.int64),
        ([True, False, True], -1, [1, -1, 1], np.int64),
        ([0.5, 1.5, 2.5], -1, [0.5, -1.0, 2.5], np.float64),
        (["a", "b", "c"], -1, ["a", -1, "c"], object),
        (["a", "b", "c"], "unlabelled", ["a", "unlabelled", "c"], object),
        ([3, 4, 5], None, [3, None, 5], object),
    ],
)
def test_unlabelled_samples_carry_the_marker(y, unlabelled, expected, dtype):
    partial = mask_labels(y, [True, False, True], unlabelled)
    assert partial.tolist() == expected
    assert partial.dtype == dtype


def test_the_labels_given_are_left_alone():
    y = np.array([3, 4, 5])
    mask_labels(y, np.zeros(3, dtype=bool))
    assert_array_equal(y, [3, 4, 5])


def test_partial_labels_suit_the_estimators_of_scikit_learn():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    y = np.array([0, 0, 0, 1, 1, 1])
    partial = mask_labels(y, label_split(y, 0.3, random_state=0))
    assert_array_equal(LabelPropagation().fit(X, partial).transduction_, y)


BAD_MASKS = {
    "positions": ([0, 2], r"boolean mask of shape \(3,\), got shape \(2,\) of type int64: it is True where"),
    "numbers": ([0, 1, 1], r"boolean mask of shape \(3,\), got shape \(3,\) of type int64"),
    "another length": ([True, False], r"boolean mask of shape \(3,\), got shape \(2,\) of type bool"),
}


@pytest.mark.parametrize(("labelled", "message"), BAD_MASKS.values(), ids=BAD_MASKS)
def test_masks_that_do_not_fit_are_refused(labelled, message):
    with pytest.raises(InvalidInputError, match=message):
        mask_labels([3, 4, 5], labelled)


@pytest.mark.parametrize(("y", "unlabelled"), [([-1, 0, 1], -1), (["a", "b", ""], "")])
def test_a_marker_that_is_a_class_is_refused(y, unlabelled):
    with pytest.raises(InvalidInputError, match=rf"marker {unlabelled!r} is one of the classes of y: choose another"):
        mask_labels(y, [True, False, True], unlabelled)
