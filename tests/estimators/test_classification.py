import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave import KGLClassifier, SMKLClassifier
from kernelweave.errors import UndecidedWarning
from kernelweave.kernels import Linear

NAMES = np.array(["setosa", "versicolor", "virginica"])


@pytest.fixture
def model(partly_labelled):
    return SMKLClassifier().fit(*partly_labelled)


def test_known_labels_are_kept_and_the_others_inferred(model, iris, partly_labelled):
    _, y = partly_labelled
    assert_array_equal(model.transduction_[y != -1], y[y != -1])
    assert np.mean(model.transduction_ == iris[1]) > 0.85
    assert_allclose(model.label_distributions_.sum(axis=1), 1)
    assert not model.undecided_.any()


@pytest.mark.parametrize(
    "unlabelled",
    [lambda y: np.where(y >= 0, NAMES[y], "-1"), lambda y: np.where(y >= 0, NAMES[y].astype(object), -1)],
    ids=["text", "objects"],
)
def test_string_labels_work(model, partly_labelled, unlabelled):
    X, y = partly_labelled
    named = SMKLClassifier().fit(X, unlabelled(y))
    assert_array_equal(named.classes_, NAMES)
    assert_array_equal(named.transduction_, NAMES[model.transduction_])


def test_shuffling_samples_shuffles_the_answer(model, partly_labelled):
    X, y = partly_labelled
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = SMKLClassifier().fit(X[order], y[order])
    assert_array_equal(shuffled.transduction_, model.transduction_[order])
    assert_allclose(shuffled.label_distributions_, model.label_distributions_[order], atol=1e-9)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_training_samples_are_predicted_in_any_order_and_number(model, partly_labelled, convert):
    X, y = partly_labelled
    model = SMKLClassifier().fit(convert(X), y)
    assert_array_equal(model.predict(convert(X)), model.transduction_)
    some = np.array([30, 5, 5, 149])
    assert_allclose(model.predict_proba(convert(X[some])), model.label_distributions_[some])


def test_copies_of_a_sample_keep_their_own_labels(partly_labelled):
    X, y = partly_labelled
    X, y = np.vstack([X, X[:1]]), np.append(y, 1)  # sample 0 is of class 0
    model = SMKLClassifier().fit(X, y)
    assert model.predict(X)[0] == 0
    assert model.predict(X)[-1] == 1


def test_samples_out_of_reach_are_marked_uniform_and_warned_of():
    K = np.kron(np.eye(3), np.full((3, 3), 0.5)) + 0.5 * np.eye(9)  # three parts; the last holds no label
    y = np.array([0, -1, -1, 1, -1, -1, -1, -1, -1])
    with pytest.warns(UndecidedWarning, match=r"3 of 9 samples .* hold no label \(first such sample: 6\)"):
        model = KGLClassifier(kernel="precomputed", alpha=0).fit(K, y)
    assert_array_equal(model.undecided_, [False] * 6 + [True] * 3)
    assert_allclose(model.label_distributions_[6:], 0.5)
    assert_array_equal(model.transduction_[:6], [0, 0, 0, 1, 1, 1])


def test_every_sample_may_be_labelled(iris):
    model = SMKLClassifier().fit(*iris)
    assert_array_equal(model.transduction_, iris[1])


def test_kgl_takes_any_kernel(partly_labelled):
    assert KGLClassifier(kernel=Linear()).fit(*partly_labelled).kernel_names_ == ("linear",)
    assert KGLClassifier(kernel="rbf").fit(*partly_labelled).kernel_names_ == ("rbf",)
