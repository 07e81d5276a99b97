"""Classes from a few labels through landmarks."""

import numpy as np
import pytest

from kernelweave.errors import InvalidInputError
from kernelweave.weave.landmark import landmark_scores

from .conftest import N_GROUPS


@pytest.fixture(scope="module")
def labelled(groups):
    X, y = groups
    codes = np.full(len(y), -1)
    for c in range(N_GROUPS):
        codes[np.flatnonzero(y == c)[:3]] = c
    return X, y, codes


@pytest.mark.parametrize("method", ["lgc", "harmonic"])
@pytest.mark.parametrize("class_mass", [False, True])
def test_few_labels_suffice_for_groups(labelled, classify, method, class_mass):
    X, y, codes = labelled
    found = classify(X, codes, method=method, class_mass=class_mass)
    assert (found.scores.argmax(axis=1) == y).mean() > 0.97
    assert not found.undecided.any()


def test_given_labels_stay(labelled, classify):
    X, _, codes = labelled
    known = codes >= 0
    assert np.array_equal(classify(X, codes).scores[known], np.eye(N_GROUPS)[codes[known]])


def test_scores_of_new_samples_are_those_of_the_same_unlabelled_ones(labelled, classify):
    X, _, codes = labelled
    found = classify(X, codes)
    unknown = codes < 0
    assert np.array_equal(landmark_scores(found.model, X[unknown]), found.scores[unknown])


def test_no_chunking_changes_scores(labelled, classify):
    X, _, codes = labelled
    whole, chunks = classify(X, codes), classify(np.array_split(X, 9), codes)
    np.testing.assert_allclose(chunks.scores, whole.scores, atol=1e-6)


def test_harmonic_scores_sum_to_one(labelled, classify):
    X, _, codes = labelled
    np.testing.assert_allclose(classify(X, codes, method="harmonic").scores.sum(axis=1), 1, atol=1e-5)


def test_groups_without_a_label_are_undecided(labelled, classify):
    X, y, codes = labelled
    far = X + 1000 * (y == 3)[:, None]
    found = classify(far, np.where(codes == 3, -1, codes), n_classes=3, scale="none")
    assert np.array_equal(found.undecided, y == 3)


def test_as_many_labels_as_samples_are_asked_for(labelled, classify):
    X, _, codes = labelled
    with pytest.raises(InvalidInputError, match="y has 899 labels for 900 samples"):
        classify(X, codes[1:])


def test_an_unknown_method_is_refused(labelled, classify):
    X, _, codes = labelled
    with pytest.raises(InvalidInputError, match="method must be 'harmonic' or 'lgc'; got 'magic'"):
        classify(X, codes, method="magic")
