"""What a notebook shows of a model."""

from types import SimpleNamespace

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from kernelweave import KGLClustering, SMKLClustering, WeaveClassifier
from kernelweave.estimators._repr import summary_html


@pytest.fixture(scope="module")
def model():
    return SMKLClustering(3, random_state=0).fit(load_iris().data)


def test_an_unfitted_model_looks_as_scikit_learn_shows_it():
    model = SMKLClustering(3)
    assert "samples in" not in model._repr_html_()
    assert "SMKLClustering" in model._repr_html_()


def test_a_fitted_model_adds_sizes_weights_and_outcome_to_the_diagram(model):
    html = model._repr_html_()
    assert "sk-container" in html
    assert "150 samples in 3 clusters" in html
    assert model.kernel_names_[model.kernel_shares_.argmax()] in html
    assert f"{model.kernel_shares_.max():.1%}" in html
    assert model.outcome_.value in html
    assert "4 more kernels" in html


def test_one_more_kernel_is_singular():
    names = tuple(f"kernel {i}" for i in range(9))
    model = SimpleNamespace(labels_=[0, 1], kernel_shares_=np.full(9, 1 / 9), kernel_names_=names)
    assert "<td colspan=3>1 more kernel: 11.1%</td>" in summary_html(model)


def test_the_mime_bundle_holds_the_same(model):
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == repr(model)
    assert bundle["text/html"].count("150 samples in 3 clusters") == 1


def test_scikit_learn_s_setting_for_plain_text_is_kept(model):
    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")


def test_one_kernel_has_no_bars():
    model = KGLClustering(3, random_state=0).fit(load_iris().data)
    assert "Share of every kernel" not in model._repr_html_()


def test_names_of_classes_are_text_whatever_they_hold():
    X, y = load_iris(return_X_y=True)
    names = np.array(["<script>alert(1)</script>", "b", "c"])[y]
    html = WeaveClassifier().fit(X, names)._repr_html_()
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_a_pipeline_shows_its_own_diagram(model):
    assert isinstance(make_pipeline(model), BaseEstimator)
    assert "SMKLClustering" in make_pipeline(model)._repr_html_()
