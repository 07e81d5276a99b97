import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils._param_validation import InvalidParameterError

from kernelweave import KGLClustering, SMKLClassifier, SMKLClustering, WeaveClustering, smkl_path
from kernelweave.errors import InvalidInputError, NotFiniteError

GRID = {"alpha": [1e-5, 1e-4, 1e-3], "relative_beta": [1, 10, 100], "gamma": [0.1, 1]}


@pytest.fixture
def path(iris):
    model = SMKLClustering(3, n_neighbors="all", random_state=0)  # so that graphs can be compared entry by entry
    return list(smkl_path(model, iris[0], GRID))


def test_every_setting_is_there_once(path):
    settings = {(m.alpha, m.relative_beta, m.gamma) for m in path}
    assert len(path) == len(settings) == 18


def test_a_path_finds_what_cold_fits_find(path, iris):
    agreement = []
    for model in path:
        cold = clone(model).fit(iris[0])
        assert_allclose(model.kernel_shares_, cold.kernel_shares_, atol=1e-3)
        agreement.append(adjusted_rand_score(model.labels_, cold.labels_))
        assert_allclose(model.graph_, cold.graph_, atol=1e-3)
    assert np.mean(agreement) > 0.99
    assert min(agreement) > 0.97  # k-means may put one sample of 150 on either side of a border


@pytest.mark.parametrize("scheme", ["safeguarded", "released"])
def test_warm_starts_take_fewer_iterations_than_cold_ones(iris, scheme):
    model = SMKLClustering(3, scheme=scheme, random_state=0)
    grid = {"alpha": [1e-6, 1e-5, 1e-4], "beta": [1000, 500], "gamma": [1]}
    path = list(smkl_path(model, iris[0], grid))
    cold = [clone(model).fit(iris[0]) for model in path]
    assert sum(m.n_iter_ for m in path) < 0.75 * sum(m.n_iter_ for m in cold)


def test_a_path_of_a_classifier_classifies(partly_labelled):
    X, y = partly_labelled
    path = smkl_path(SMKLClassifier(), X, {"gamma": [1, 10]}, y=y)
    for model in path:
        assert_array_equal(model.predict(X), model.transduction_)
        assert_array_equal(model.transduction_[y >= 0], y[y >= 0])


def test_a_warm_start_that_fails_is_repeated_cold(iris, monkeypatch):
    learn = SMKLClustering._learn
    starts = []

    def fail_when_warm(self, given, start=None):
        starts.append(start is not None)
        if start is not None:
            raise NotFiniteError
        return learn(self, given)

    monkeypatch.setattr(SMKLClustering, "_learn", fail_when_warm)
    path = list(smkl_path(SMKLClustering(3, random_state=0), iris[0][::3], {"alpha": [1e-5, 1e-4]}))
    assert starts == [False, True, False]
    assert all(hasattr(model, "labels_") for model in path)


def test_the_model_given_is_not_changed(iris):
    model = KGLClustering(3, gamma=5)
    next(smkl_path(model, iris[0], {"gamma": [1.0]}))
    assert model.gamma == 5
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize("grid", [{}, {"alpha": []}, {"tol": [1]}, 3, {"alpha": 3}, {"alpha": "ab"}, {"alpha": [None]}])
def test_a_grid_of_other_things_is_refused(iris, grid):
    message = "A path of SMKLClustering runs over lists of values of gamma, beta, relative_beta, alpha; got"
    with pytest.raises(InvalidInputError, match=message):
        next(smkl_path(SMKLClustering(3), iris[0], grid))


def test_an_impossible_value_is_refused(iris):
    message = (
        r"The 'gamma' parameter of SMKLClustering must be a float in the range \(0\.0, 1000000000000000\.0\]\. "
        r"Got .*-1\.0.* instead"
    )
    with pytest.raises(InvalidParameterError, match=message):
        list(smkl_path(SMKLClustering(3), iris[0], {"gamma": np.array([1.0, -1.0])}))


def test_a_model_without_warm_starts_is_refused(iris):
    with pytest.raises(InvalidInputError, match=r"A path is one of SMKL, KGL or PMKL, .*; got WeaveClustering\("):
        next(smkl_path(WeaveClustering(3), iris[0], {"gamma": [1.0]}))


def test_warm_starts_do_not_depend_on_which_edges_of_the_last_graph_are_kept(iris, path):
    cut = list(smkl_path(SMKLClustering(3, random_state=0), iris[0], GRID))
    assert [model.n_iter_ for model in cut] == [model.n_iter_ for model in path]
    for kept, whole in zip(cut, path, strict=True):
        assert_array_equal(kept.consensus_kernel_, whole.consensus_kernel_)
