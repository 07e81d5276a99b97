"""The score of classifiers: samples without a label do not count, and labels belong to the samples of their index."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_score

from kernelweave import Chunks, SMKLClassifier, WeaveClassifier
from kernelweave.baselines import GFHF
from kernelweave.errors import InvalidInputError

X, CLASS = load_iris(return_X_y=True, as_frame=True)
X = X.set_axis([f"flower {i}" for i in range(150)])
CLASS = CLASS.set_axis(X.index)
FEW = CLASS.where(np.arange(150) % 5 == 0, -1)
MODELS = [WeaveClassifier(), SMKLClassifier(), GFHF()]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_only_samples_with_a_label_count(model):
    found = model.fit(X, FEW).predict(X)
    rows = np.arange(150) % 2 == 0
    weight = np.linspace(1, 2, 150)
    expected = accuracy_score(CLASS[rows], found[rows], sample_weight=weight[rows])
    assert expected < 1
    texts = pd.Series(np.array(["a", "b", "c"])[CLASS], index=X.index).where(rows)
    assert model.score(X, CLASS.where(rows, -1), weight) == pytest.approx(expected)
    assert model.score(X, CLASS.where(rows).to_numpy(), weight) == pytest.approx(expected)
    assert model.score(X, CLASS) == accuracy_score(CLASS, found)
    assert model.fit(X, texts).score(X, texts) == pytest.approx(1)


def test_labels_that_are_all_missing_or_too_few_have_no_score():
    model = WeaveClassifier().fit(X, FEW)
    with pytest.raises(InvalidInputError, match="All 150 labels in y are missing"):
        model.score(X, np.full(150, -1))
    with pytest.raises(InvalidInputError, match="The only label in y is missing"):
        model.score(X[:1], [-1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(X, CLASS[:9])


def test_a_cross_validation_of_few_labels_counts_those_only():
    splits = StratifiedKFold(3, shuffle=True, random_state=0)
    assert cross_val_score(WeaveClassifier(), X, FEW, cv=splits).mean() > 0.8


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_labels_beside_one_table_must_have_its_order(model):
    for call in (model.fit, model.fit(X, FEW).score):
        with pytest.raises(InvalidInputError, match=r"in another order: pass y.loc\[X.index\]"):
            call(X, FEW[::-1])
    np.testing.assert_array_equal(model.fit(X, FEW[::-1].loc[X.index]).predict(X), model.fit(X, FEW).predict(X))
    model.fit(X, FEW.reset_index(drop=True))
    model.fit(X.reset_index(drop=True), FEW[::-1])


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_shuffled_row_numbers_are_refused_beside_rows_that_are_counted(model):
    counted, few = X.reset_index(drop=True), FEW.reset_index(drop=True)
    shuffled = few.sample(frac=1, random_state=0)
    for call in (model.fit, model.fit(counted, few).score):
        for table, labels in ((counted, shuffled), (counted.loc[shuffled.index], few)):
            with pytest.raises(
                InvalidInputError, match=r"in another order(: pass y.loc\[X.index\]|. Pass y.sort_index)"
            ):
                call(table, labels)


def test_row_numbers_of_other_rows_or_of_parts_are_no_names_beside_rows_that_are_counted():
    counted, few = X.reset_index(drop=True), FEW.reset_index(drop=True)
    expected = WeaveClassifier().fit(counted, few).transduction_
    parts = pd.concat([few[:75], few[75:].reset_index(drop=True)])  # both count from 0
    for labels in (parts, few.set_axis(few.index[::-1] + 7), few.to_numpy()):
        np.testing.assert_array_equal(WeaveClassifier().fit(counted, labels).transduction_, expected)
    cross_val_score(WeaveClassifier(), counted, few, cv=StratifiedKFold(3, shuffle=True, random_state=0))


def test_labels_of_several_tables_are_scored_by_their_names():
    views = {"one": X.iloc[:, :2], "two": X.iloc[::-1, 2:]}
    model = WeaveClassifier().fit(views, FEW[::-1])
    expected = accuracy_score(CLASS, model.predict(views))
    assert model.score(views, CLASS) == model.score(views, CLASS[::-1]) == expected > 0.8


def test_labels_beside_chunks_of_data_frames_must_have_their_order():
    chunks, model = Chunks([X[:75], X[75:]]), WeaveClassifier(random_state=0)
    for call in (model.fit, model.fit(chunks, FEW).score):
        with pytest.raises(InvalidInputError, match=r"in another order: pass y.loc\[X.index\]"):
            call(chunks, FEW[::-1])
    again = WeaveClassifier(random_state=0).fit(chunks, FEW[::-1].loc[chunks.index])
    np.testing.assert_array_equal(again.transduction_, model.transduction_)
    unnamed = Chunks([X[:75].to_numpy(), X[75:].to_numpy()])
    assert unnamed.index is None
    np.testing.assert_array_equal(model.fit(unnamed, FEW).transduction_, again.transduction_)
