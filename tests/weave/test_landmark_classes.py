"""Classes from a few labels through landmarks."""

import numpy as np
import pytest

from kernelweave import Chunks, Views
from kernelweave.errors import InvalidInputError, UndecidedWarning

from .conftest import N_GROUPS


@pytest.fixture(scope="module")
def labelled(groups):
    X, y = groups
    codes = np.full(len(y), -1)
    for c in range(N_GROUPS):
        codes[np.flatnonzero(y == c)[:3]] = c
    return X, y, codes


@pytest.mark.parametrize(("method", "class_mass"), [("lgc", False), ("harmonic", False), ("harmonic", True)])
def test_few_labels_suffice_for_groups(labelled, classify, method, class_mass):
    X, y, codes = labelled
    found = classify(X, codes, propagation=method, class_mass=class_mass)
    assert (found.embedding_.argmax(axis=1) == y).mean() > 0.97
    assert not found.undecided_.any()


def test_given_labels_stay(labelled, classify):
    X, _, codes = labelled
    known = codes >= 0
    assert np.array_equal(classify(X, codes).embedding_[known], np.eye(N_GROUPS)[codes[known]])


def test_scores_of_new_samples_are_those_of_the_same_unlabelled_ones(labelled, classify):
    X, _, codes = labelled
    found = classify(X, codes)
    unknown = codes < 0
    scores = found._graph_model.scores(Views.of_table(X[unknown]))
    assert np.array_equal(scores.astype(np.float32), found.embedding_[unknown])
    np.testing.assert_allclose(found.predict_proba(X[unknown]), found.label_distributions_[unknown], rtol=1e-6)


def test_no_chunking_changes_scores(labelled, classify):
    X, _, codes = labelled
    whole, chunks = classify(X, codes), classify(Chunks(np.array_split(X, 9)), codes)
    np.testing.assert_allclose(chunks.embedding_, whole.embedding_, atol=1e-6)


def test_harmonic_scores_sum_to_one(labelled, classify):
    X, _, codes = labelled
    found = classify(X, codes, propagation="harmonic")
    np.testing.assert_allclose(found.embedding_.sum(axis=1), 1, atol=1e-5)


def test_groups_without_a_label_are_undecided(labelled, classify):
    X, y, codes = labelled
    far = X + 1000 * (y == 3)[:, None]
    with pytest.warns(UndecidedWarning, match="hold no label"):
        found = classify(far, np.where(codes == 3, -1, codes), scale="none")
    assert np.array_equal(found.undecided_, y == 3)


def test_as_many_labels_as_samples_are_asked_for(labelled, classify):
    X, _, codes = labelled
    with pytest.raises(InvalidInputError, match="y has 899 labels for 900 samples"):
        classify(X, codes[1:])
    with pytest.raises(InvalidInputError, match="y has 899 labels for 900 samples"):
        classify(Chunks(X), codes[1:])


def test_an_unknown_way_to_spread_labels_is_refused(labelled, classify):
    X, _, codes = labelled
    with pytest.raises(ValueError, match=r"The 'propagation' parameter of WeaveClassifier must be .* Got 'magic'"):
        classify(X, codes, propagation="magic")
