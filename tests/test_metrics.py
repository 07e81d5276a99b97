import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import normalized_mutual_info_score

from kernelweave.errors import InvalidInputError
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information, purity

METRICS = (clustering_accuracy, normalized_mutual_information, purity)
every_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)


def random_labels(seed, *, n=40, n_classes=4, n_clusters=4):
    rng = np.random.default_rng(seed)
    return rng.integers(n_classes, size=n), rng.integers(n_clusters, size=n)


def accuracy_over_all_matches(y_true, y_pred):
    classes, clusters = np.unique(y_true), np.unique(y_pred)
    names = [*classes, *[-1 - i for i in range(len(clusters))]]  # a cluster may also go without a class
    matches = (dict(zip(clusters, chosen, strict=True)) for chosen in itertools.permutations(names, len(clusters)))
    return max(np.mean([match[p] == t for t, p in zip(y_true, y_pred, strict=True)]) for match in matches)


@every_metric
def test_a_perfect_clustering_under_other_names_scores_one(metric):
    assert metric(["a", "b", "b", "c"], [7, 2, 2, 5]) == 1.0


@every_metric
@pytest.mark.parametrize("seed", range(5))
def test_renaming_classes_and_clusters_changes_nothing(metric, seed):
    y_true, y_pred = random_labels(seed)
    names = np.array(["pear", "apple", "fig", "kiwi"])
    assert_allclose(metric(names[y_true], 10 - y_pred), metric(y_true, y_pred), rtol=1e-12)


@every_metric
@pytest.mark.parametrize("seed", range(5))
def test_permuting_samples_changes_nothing(metric, seed):
    y_true, y_pred = random_labels(seed)
    order = np.random.default_rng(seed).permutation(len(y_true))
    assert_allclose(metric(y_true[order], y_pred[order]), metric(y_true, y_pred), rtol=1e-12)


@every_metric
@pytest.mark.parametrize("seed", range(50))
def test_scores_lie_between_zero_and_one(metric, seed):
    y_true, y_pred = random_labels(seed, n=12, n_classes=3, n_clusters=5)
    assert 0.0 <= metric(y_true, y_pred) <= 1.0
    assert 0.0 <= metric(y_true, -y_true) <= 1.0


@every_metric
def test_a_single_sample_scores_one(metric):
    assert metric([3], ["x"]) == 1.0


@every_metric
def test_lists_arrays_and_objects_score_the_same(metric):
    y_true, y_pred = ["a", "b", "a", "b", "b"], [True, False, True, True, False]
    expected = metric(np.array(y_true), np.array(y_pred, dtype=float))
    assert metric(y_true, y_pred) == metric(np.array(y_true, dtype=object), tuple(y_pred)) == expected


@every_metric
def test_scores_are_plain_floats(metric):
    assert type(metric([0, 1, 1], [0, 0, 1])) is float


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("seed", range(6))
def test_accuracy_is_the_best_over_all_one_to_one_matches(seed, n_clusters):
    y_true, y_pred = random_labels(seed, n=15, n_classes=3, n_clusters=n_clusters)
    assert_allclose(clustering_accuracy(y_true, y_pred), accuracy_over_all_matches(y_true, y_pred), rtol=1e-12)


def test_accuracy_counts_clusters_without_a_class_as_wrong():
    assert clustering_accuracy([0, 0, 0, 0], [0, 1, 2, 3]) == 0.25


def test_accuracy_counts_classes_without_a_cluster_as_wrong():
    assert clustering_accuracy([0, 1, 2, 3], [0, 0, 0, 0]) == 0.25


@pytest.mark.parametrize("metric", [clustering_accuracy, normalized_mutual_information])
@pytest.mark.parametrize("seed", range(5))
def test_accuracy_and_nmi_are_symmetric(metric, seed):
    y_true, y_pred = random_labels(seed, n_clusters=6)
    assert_allclose(metric(y_true, y_pred), metric(y_pred, y_true), rtol=1e-12)


def test_nmi_divides_by_the_larger_entropy():
    assert_allclose(normalized_mutual_information([0, 0, 1, 1], [0, 1, 2, 3]), np.log(2) / np.log(4))


@pytest.mark.parametrize("seed", range(5))
def test_nmi_never_exceeds_the_one_that_divides_by_the_mean_entropy(seed):
    y_true, y_pred = random_labels(seed, n_clusters=7)
    mean = normalized_mutual_info_score(y_true, y_pred, average_method="arithmetic")
    assert normalized_mutual_information(y_true, y_pred) <= mean


def test_nmi_of_independent_labels_is_zero():
    assert_allclose(normalized_mutual_information([0, 0, 1, 1], [0, 1, 0, 1]), 0.0, atol=1e-12)


def test_purity_is_not_symmetric():
    assert purity([0, 0, 1, 1], [0, 1, 2, 3]) == 1.0
    assert purity([0, 1, 2, 3], [0, 0, 1, 1]) == 0.5


def test_purity_lets_two_clusters_share_a_class_and_accuracy_does_not():
    y_true, y_pred = [0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2]
    assert purity(y_true, y_pred) == 1.0
    assert_allclose(clustering_accuracy(y_true, y_pred), 4 / 6)


@pytest.mark.parametrize("seed", range(20))
def test_purity_is_never_below_accuracy(seed):
    y_true, y_pred = random_labels(seed, n_clusters=6)
    assert purity(y_true, y_pred) >= clustering_accuracy(y_true, y_pred)


def test_splitting_a_cluster_never_lowers_purity():
    y_true, y_pred = random_labels(0)
    split = np.where(np.arange(len(y_pred)) % 2, y_pred, y_pred + 10)
    assert purity(y_true, split) >= purity(y_true, y_pred)


BAD_INPUTS = {
    "unequal lengths": ([0, 1, 1], [0, 1], r"same samples, got 3 and 2 labels: pass both"),
    "empty classes": ([], [], r"y_true is empty: at least one label"),
    "empty clusters": ([0], [], r"y_pred is empty: at least one label"),
    "nan": (
        [0, 1, 1],
        [0, np.nan, np.nan],
        r"y_pred has no label .* at 2 of 3 samples, first at sample 1: drop",
    ),
    "nan among text": (["a", np.nan], [0, 1], r"y_true has no label .* at 1 of 2 samples, first at sample 1"),
    "none": ([None, "a"], [0, 1], r"y_true has no label .* at 1 of 2 samples, first at sample 0"),
    "not a time": (np.array(["NaT", "2020"], dtype="M8[D]"), [0, 1], r"y_true has no label .* at 1 of 2"),
    "a column": (
        [0, 1],
        [[0], [1]],
        r"y_pred must be one-dimensional, got shape \(2, 1\): pass one label per sample \(ravel",
    ),
    "a table": (
        np.zeros((3, 2)),
        [0, 1],
        r"y_true must be one-dimensional, got shape \(3, 2\): pass one label",
    ),
    "a scalar": (3, [0], r"y_true must be one-dimensional, got shape \(\)"),
    "ragged": (
        [[0, 1], [1]],
        [0, 1],
        r"y_true must be a flat sequence, got rows of unequal length",
    ),
    "mixed types": (
        [0, 1],
        ["a", 1],
        r"y_pred mixes labels that cannot be compared \(int, str\): use one type",
    ),
}


@every_metric
@pytest.mark.parametrize(("y_true", "y_pred", "message"), BAD_INPUTS.values(), ids=BAD_INPUTS)
def test_bad_labels_are_refused_with_the_reason(metric, y_true, y_pred, message):
    with pytest.raises(InvalidInputError, match=message):
        metric(y_true, y_pred)


@every_metric
def test_a_label_without_a_truth_value_counts_as_missing(metric):
    class NotAvailable:  # behaves like pandas.NA
        def __ne__(self, other):
            return self

        __hash__ = None

        def __bool__(self):
            raise TypeError

    with pytest.raises(InvalidInputError, match=r"y_true has no label .* first at sample 1"):
        metric(np.array(["a", NotAvailable()], dtype=object), [0, 1])
