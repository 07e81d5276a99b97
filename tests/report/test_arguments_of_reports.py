"""Arguments of a report that do not fit the model, or are of another type, are refused by name."""

import numpy as np
import pytest

from kernelweave.errors import InvalidInputError
from kernelweave.explain import explain_clusters
from kernelweave.report import model_report


@pytest.mark.parametrize("names", [["late"], "late", {"1": None}, {"1": 3}])
def test_names_of_groups_are_texts(clusterer, names):
    with pytest.raises(InvalidInputError, match="names must be a dict of labels and texts"):
        model_report(clusterer, names=names)


@pytest.mark.parametrize("label", [1, np.int32(1), "1"])
def test_names_of_groups_are_given_by_their_labels(clusterer, label):
    assert "late" in model_report(clusterer, names={label: "late"})


def test_a_name_of_another_group_is_refused(clusterer):
    with pytest.raises(InvalidInputError, match="names has the label '9', which the model does not have: 0, 1, 2"):
        model_report(clusterer, names={9: "late"})


def test_one_note_is_not_taken_for_many(clusterer):
    with pytest.raises(InvalidInputError, match=r"notes must be a list of sentences; got the text 'Read\.': pass"):
        model_report(clusterer, notes="Read.")


def test_features_of_groups_of_other_names_are_refused(clusterer, blobs):
    other = explain_clusters(np.array(list("abc"))[clusterer.labels_], blobs[0])
    with pytest.raises(InvalidInputError, match=r"the model's 3 clusters \(0, 1, 2\); got 3 clusters \(a, b, c\)\."):
        model_report(clusterer, features=other)
