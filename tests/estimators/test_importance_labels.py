"""The importance of views with labels that are missing, however these are marked."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs

from kernelweave import WeaveClassifier, WeaveClustering, view_importance
from kernelweave.errors import InvalidInputError

X, Y = make_blobs(60, n_features=4, centers=3, random_state=1)
TABLES = {"a": X[:, :2], "b": X[:, 2:]}
KNOWN = np.arange(60) % 4 == 0
MARKED = {
    "minus one": np.where(KNOWN, Y, -1),
    "None": np.where(KNOWN, Y, None),
    "NaN": np.where(KNOWN, Y, np.nan),
    "empty text": np.where(KNOWN, Y.astype(str), ""),
    "NA": pd.Series(np.where(KNOWN, Y, None), dtype="Int64"),
}


@pytest.mark.parametrize("y", MARKED.values(), ids=list(MARKED))
def test_parts_of_the_samples_differ_in_those_without_a_label(y):
    found = view_importance(WeaveClassifier(), TABLES, y, n_resamples=2, random_state=0)
    expected = view_importance(WeaveClassifier(), TABLES, MARKED["minus one"], n_resamples=2, random_state=0)
    assert (found.deviations > 1e-6).all()
    assert_array_equal(found.resampled, expected.resampled)


@pytest.mark.parametrize("y", MARKED.values(), ids=list(MARKED))
def test_samples_without_a_label_do_not_count_in_the_score_of_clusters(y):
    found = view_importance(WeaveClustering(3, random_state=0), TABLES, y, n_resamples=0)
    assert found.score == pytest.approx(1)
    assert found.score_without.shape == (2,)


def test_a_classifier_needs_labels():
    with pytest.raises(InvalidInputError, match=r"WeaveClassifier is a classifier, .*: pass its labels y"):
        view_importance(WeaveClassifier(), TABLES)
