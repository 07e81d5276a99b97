"""A fit replaces the fit before as a whole, or not at all if it fails."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_blobs

from kernelweave import (
    KGLClassifier,
    KGLClustering,
    PMKLClassifier,
    PMKLClustering,
    SMKLClassifier,
    SMKLClustering,
    WeaveClassifier,
    WeaveClustering,
)
from kernelweave.baselines import GFHF, LGC, MKKM, S2LRR, S3R, SCAN, KernelKMeans, KernelSpectralClustering
from kernelweave.errors import InvalidInputError, NotFiniteError
from kernelweave.weave.choice import SOLVERS

X, Y = make_blobs(40, n_features=4, centers=2, random_state=0)
PARTLY = np.where(np.arange(40) % 4 == 0, Y, -1)
CLASSIFIERS = [
    *(WeaveClassifier(solver=solver, random_state=0) for solver in SOLVERS),
    *(model() for model in (SMKLClassifier, KGLClassifier, PMKLClassifier, GFHF, LGC, S2LRR, S3R, SCAN)),
]
CLUSTERERS = [
    *(WeaveClustering(2, solver=solver, random_state=0) for solver in SOLVERS),
    *(model(2, random_state=0) for model in (SMKLClustering, KGLClustering, PMKLClustering)),
    *(model(2, random_state=0) for model in (MKKM, KernelKMeans, KernelSpectralClustering)),
]
SINGULAR = np.diag(np.r_[-1.0, np.ones(21), np.zeros(18)])  # K + I is; the mean of the diagonal is 1/2


def _refusing(x, y):
    msg = "There is no kernel of these samples."
    raise ArithmeticError(msg)


def named(model):
    return f"{type(model).__name__}-{getattr(model, 'solver', '')}"


def state(model):
    return dict(vars(model))


def assert_untouched(model, before):
    after = state(model)
    assert set(after) == set(before)
    assert all(after[name] is before[name] for name in before)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(40, -1), "All 40 samples are unlabelled"),
        (PARTLY[:-1], "y has 39 labels for 40 samples"),
        (np.where(PARTLY == 0, np.inf, PARTLY), "Input y contains infinity"),
    ],
    ids=["unlabelled", "short", "infinity"],
)
@pytest.mark.parametrize("model", CLASSIFIERS, ids=named)
def test_labels_that_are_refused_leave_the_model_as_it_was(model, y, message):
    model = clone(model).fit(X, PARTLY)
    before, answer = state(model), model.predict(X)
    with pytest.raises(ValueError, match=message):
        model.fit(X[::-1, :3], y)
    assert_untouched(model, before)
    assert_array_equal(model.predict(X), answer)


@pytest.mark.parametrize("model", [*CLASSIFIERS, *CLUSTERERS], ids=named)
def test_samples_that_are_refused_leave_the_model_as_it_was(model):
    model = clone(model).fit(X, PARTLY)
    before = state(model)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.fit(np.where(X > 5, np.nan, X)[:, :3], PARTLY)
    assert_untouched(model, before)


@pytest.mark.parametrize(
    "model",
    [
        KGLClustering(2, kernel="precomputed", scheme="released"),
        KGLClustering(2, kernel="precomputed"),
        SMKLClustering(2, kernels="precomputed", scheme="released"),
        PMKLClustering(2, kernels="precomputed", gamma=1.0),
        KGLClassifier(kernel="precomputed", scheme="released"),
        SMKLClassifier(kernels="precomputed"),
        WeaveClustering(2, kernels="precomputed", gamma=2.0),
        WeaveClassifier(kernels="precomputed", gamma=2.0),
    ],
    ids=repr,
)
def test_a_system_that_is_singular_leaves_the_model_as_it_was(model):
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    model = clone(model).fit(K, PARTLY)
    before, answer = state(model), model.predict(K)
    with pytest.raises(NotFiniteError, match="gamma"):
        model.fit(SINGULAR, PARTLY)
    assert_untouched(model, before)
    assert_array_equal(model.predict(K), answer)


def test_chunks_that_cannot_be_read_to_the_end_leave_the_model_as_it_was():
    model = WeaveClustering(2, solver="landmark", random_state=0).fit(X)
    before, answer = state(model), model.predict(X)

    def chunks():
        yield X[:20]
        yield X[20:, :3]

    with pytest.raises(InvalidInputError, match="chunk 1 has 3 columns, but those before it have 4"):
        model.fit(chunks)
    assert_untouched(model, before)
    assert_array_equal(model.predict(X), answer)


@pytest.mark.parametrize("model", [WeaveClustering(2, random_state=0), SMKLClassifier()], ids=named)
def test_views_that_fail_leave_the_table_of_the_fit_before(model):
    model = clone(model).fit(X, PARTLY)
    before, answer = state(model), model.predict(X)
    with pytest.raises(InvalidInputError, match="View 'left': All 40 samples are identical"):
        model.fit({"left": np.ones((40, 3)), "right": X[:, :2]}, PARTLY)
    assert_untouched(model, before)
    assert model.view_names_ == ("X",)
    assert_array_equal(model.predict(X), answer)


@pytest.mark.parametrize("model", [*CLASSIFIERS, *CLUSTERERS], ids=named)
def test_samples_that_are_read_but_cannot_be_compared_leave_the_names_of_columns(model):
    table = pd.DataFrame(X, columns=list("abcd"))
    model = clone(model).fit(table, PARTLY)
    before = state(model)
    name = "kernel" if hasattr(model, "kernel") else "kernels"
    model.set_params(**{name: _refusing})
    with pytest.raises(ArithmeticError, match="no kernel of these"):
        model.fit(pd.DataFrame(X[:, :3], columns=list("efg")), PARTLY)
    assert_untouched(model.set_params(**{name: before[name]}), before)


@pytest.mark.parametrize("model", [*CLASSIFIERS, *CLUSTERERS], ids=named)
def test_a_second_fit_leaves_what_a_first_one_would(model):
    other = X[::-1, :3]
    again = clone(model).fit(X, PARTLY).fit(other, PARTLY[::-1])
    fresh = clone(model).fit(other, PARTLY[::-1])
    assert set(vars(again)) == set(vars(fresh))
    assert again.n_features_in_ == 3
    answer = "transduction_" if is_classifier(model) else "labels_"
    assert_array_equal(getattr(again, answer), getattr(fresh, answer))


def test_a_refit_forgets_what_only_the_first_fit_had():
    model = WeaveClustering("auto", random_state=0).fit(X)
    assert hasattr(model, "cluster_evidence_")
    assert hasattr(model, "consensus_kernel_")
    model.set_params(n_clusters=2, solver="local").fit(X)
    assert not hasattr(model, "cluster_evidence_")
    assert not hasattr(model, "consensus_kernel_")
