"""Classes that are nearly the same text get a note; others do not."""

import warnings

import numpy as np
import pytest

from kernelweave.cli._given_labels import say_alike

ALIKE = [
    ("setosa", "Setosa"),
    ("type 1", "type_1"),
    ("non responder", "nonresponder"),
    ("virginica", "virgnica"),
    ("versicolor", "versiclor"),
    ("control", "contorl"),
    ("tumour", "Tumor"),
    ("sample", "samples"),
]
DIFFERENT = [
    ("type1", "type2"),
    ("class A", "class B"),
    ("stage I", "stage II"),
    ("normal", "abnormal"),
    ("typical", "atypical"),
    ("cat", "cart"),
    ("ER+", "ER-"),
    ("+", "-"),
    ("1.0", "10"),
    ("v1.1", "v11"),
    ("<5", "5"),
    ("CD4", "CD8"),
    ("male", "female"),
    ("1", "11"),
    ("control", "central"),
    ("Germany", "German state"),
]


@pytest.mark.parametrize("pair", ALIKE, ids="/".join)
def test_classes_that_are_nearly_the_same_text_get_a_note(pair):
    for one, other in (pair, pair[::-1]):
        with pytest.warns(UserWarning, match="are nearly the same text. If they are one class, write them alike"):
            say_alike([one, other, None, one])


@pytest.mark.parametrize("pair", DIFFERENT, ids="/".join)
def test_classes_with_different_names_get_none(pair):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        say_alike([*pair, None])


def test_classify_names_alike_classes_and_their_labels(run, table):
    kind = table["kind"].where(np.arange(60) % 3 == 0)
    kind[0] = "Red"
    table.assign(kind=kind).to_csv("data.csv", index=False)
    code, _, err = run("classify", "data.csv", "--labels", "kind", "--id", "name")
    assert code == 0, err
    n = int((kind == "red").sum())
    assert f"The classes 'Red' (1 label) and 'red' ({n} labels) are nearly the same text." in err
