"""A fitted model keeps samples of its own: what becomes of the arrays that it was fitted on does not matter."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_blobs

from kernelweave import (
    KGLClassifier,
    KGLClustering,
    PMKLClustering,
    SMKLClassifier,
    SMKLClustering,
    WeaveClassifier,
    WeaveClustering,
)

X, Y = make_blobs(45, n_features=4, centers=3, random_state=1)
PARTLY = np.where(np.arange(45) % 4 == 0, Y, -1)
NEW = X[:7] + 0.3
MODELS = [
    WeaveClassifier(),
    SMKLClassifier(),
    KGLClassifier(),
    WeaveClustering(3, random_state=0),
    SMKLClustering(3, random_state=0),
    KGLClustering(3, random_state=0),
    PMKLClustering(3, random_state=0),
]


def fitted(model, samples):
    return model.fit(samples, PARTLY) if is_classifier(model) else model.fit(samples)


@pytest.mark.parametrize("scale", ["none", "unit", "zscore"])
@pytest.mark.parametrize("form", [np.copy, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_samples_that_change_after_a_fit_change_no_prediction(model, form, scale):
    samples = form(X)
    model = fitted(clone(model).set_params(scale=scale), samples)
    expected = fitted(clone(model), form(X)).predict_proba(NEW)
    (samples.data if sparse.issparse(samples) else samples)[:] = 1
    assert_array_equal(model.predict_proba(NEW), expected)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[3]], ids=lambda model: type(model).__name__)
def test_kernel_matrices_that_change_after_a_fit_change_no_prediction(model):
    K, new = X @ X.T, NEW @ X.T
    model = fitted(clone(model).set_params(kernels="precomputed"), K)
    expected = fitted(clone(model), X @ X.T).predict_proba(new)
    K[:] = 1
    assert_array_equal(model.predict_proba(new), expected)
