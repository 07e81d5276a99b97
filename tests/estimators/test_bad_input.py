"""Every kind of input that cannot be used, by the message that says so."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

from kernelweave import (
    KGLClassifier,
    KGLClustering,
    Landmark,
    PMKLClustering,
    SMKLClassifier,
    SMKLClustering,
    WeaveClassifier,
    WeaveClustering,
)
from kernelweave.baselines import KernelKMeans
from kernelweave.errors import InvalidInputError, NotFiniteError

X = np.random.default_rng(0).normal(size=(20, 3))
Y = np.where(np.arange(20) % 4 == 0, np.arange(20) % 8, -1)
EYE = np.eye(20)


def poked(value, where=(3, 1)):
    bad = X.copy()
    bad[where] = value
    return bad


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (poked(np.nan), "Input X contains NaN"),
        (np.ma.masked_array(X, X > 1), "Input X contains NaN"),
        (np.ma.masked_array(np.arange(60).reshape(20, 3), X > 1), "Input X contains NaN"),
        (np.ma.masked_array(X.astype(str), X > 1), "Input X contains NaN"),
        (np.full((20, 3), np.datetime64("NaT", "D")), r"array of dates \(datetime64\[D\]\), and .*: pass a data frame"),
        (np.arange(60).reshape(20, 3).astype("m8[s]"), r"array of durations \(timedelta64\[s\]\), and .* read as days"),
        (np.ones(20, dtype=[("a", "f8"), ("b", "i4")]), r"array with the fields a, b: pass pandas\.DataFrame\(X\)"),
        ([X.tolist(), X.tolist()], r"dim 3, shape \(2, 20, 3\), but .* Pass several views as a list or dict of arrays"),
        (poked(np.inf), "Input X contains infinity"),
        (np.empty((0, 3)), r"Found array with 0 samples"),
        (np.empty((5, 0)), r"0 feature\(s\)"),
        (X[:1], r"Found array with 1 sample .*minimum of 2"),
        (X[0], "Expected 2D array, got 1D array"),
        (np.ones((20, 3)), "All 20 samples are identical"),
        (np.full((20, 3), "a"), "X holds the text 'a', and an array must hold numbers: .* or pass a data frame"),
        (np.full((20, 3), "a", dtype=object), "X holds the text 'a', and an array must hold numbers"),
        (X + 1j, "Complex data not supported"),
        ([[1, 2], [3]], "inhomogeneous shape|setting an array element"),
    ],
)
@pytest.mark.parametrize("estimator", [SMKLClustering(2), SMKLClassifier(), KGLClustering(2)], ids=repr)
def test_samples_that_cannot_be_used_are_refused(estimator, data, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(data, Y[: len(data)])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (X, r"'kernel 0' must be a square \(n, n\) matrix; got shape \(20, 3\)"),
        (np.ones(4), r"must be a square"),
        ([EYE, EYE[:5, :5]], r"'kernel 0' has 20, 'kernel 1' has 5"),
        ({"a": EYE, "b": EYE + np.triu(np.ones((20, 20)), 1)}, r"'b' must be symmetric; \|K - K'\| is up to 1"),
        (np.where(EYE == 1, np.nan, 0.0), r"'kernel 0' holds 20 NaN or infinite values, the first at row 0"),
        (np.stack([EYE, np.full((20, 20), np.inf)]), "'kernel 1' holds"),
        ([], "No kernel matrix was given"),
        (np.ones((1, 1)), "1 sample"),
        (sparse.csr_array(EYE), "'kernel 0' is a sparse matrix"),
        (EYE.astype(complex), "must hold real numbers"),
        (EYE.astype(str), "must hold real numbers"),
    ],
)
@pytest.mark.parametrize("estimator", [SMKLClustering(2, kernels="precomputed"), SMKLClassifier(kernels="precomputed")])
def test_kernel_matrices_that_cannot_be_used_are_refused(estimator, data, message):
    with pytest.raises(InvalidInputError, match=message):
        estimator.fit(data, Y)


def test_kgl_refuses_several_kernel_matrices():
    with pytest.raises(InvalidInputError, match="KGLClustering learns from one kernel matrix; got 3"):
        KGLClustering(2, kernel="precomputed").fit(np.stack([EYE] * 3))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        (np.full(20, -1), r"All 20 samples are unlabelled \(-1\)"),
        (np.where(Y == -1, -1, 0), "all of one class"),
        (Y[:-1], "y has 19 labels for 20 samples"),
        (np.where(Y == 0, np.inf, Y), "Input y contains infinity"),
        (np.linspace(0, 1, 20), "Unknown label type: continuous"),
        (np.column_stack([Y, Y]), "y should be a 1d array"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        SMKLClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SMKLClustering(21), r"n_clusters=21 is more than the n_samples=20"),
        (SMKLClustering(2, beta=1, relative_beta=1), "say the same thing twice"),
        (WeaveClassifier(class_mass=True, propagation="lgc"), 'class_mass=True .* propagation is "lgc"'),
        (WeaveClassifier(graph="knn", gamma=0.1), 'gamma=0.1 sets the ridge, but graph="knn" has none'),
        (
            SMKLClustering(2, kernels="twelve"),
            "Unknown kernel recipe 'twelve': choose one of released-12.*, auto, .* 'mixed', .* 'precomputed', ",
        ),
        (SMKLClustering(2, kernels=[]), "at least one kernel"),
        (SMKLClustering(2, kernels=["rbf", 3]), "got 3"),
        (SMKLClustering(2, kernels=7), "kernels must be a recipe's name"),
        (KGLClustering(2, kernel="none such"), "Unknown kernel 'none such': scikit-learn has"),
        (SMKLClustering(2, kernels=[lambda x, y: np.nan]), "gave inf or NaN"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_parameters_that_contradict_the_data_or_each_other_are_refused(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y)


AT_LEAST_1 = r"an int in the range \[1, 2147483647\]"
BETA = r"a float in the range \[1e-100, 1e\+100\]"
WEIGHT = r"a float in the range \[0\.0, 1000000000000000\.0\]"
RIDGE = r"a float in the range \(0\.0, 1000000000000000\.0\]"
WORDS = "(?=.*'safeguarded')(?=.*'released')(?=.*'printed')(?=.*'exact')"  # a set: its order varies


@pytest.mark.parametrize(
    ("estimator", "name", "allowed"),
    [
        (SMKLClustering(0), "n_clusters", AT_LEAST_1),
        (SMKLClustering(2.5), "n_clusters", AT_LEAST_1),
        (SMKLClustering(2, alpha=-1), "alpha", WEIGHT),
        (SMKLClustering(2, alpha=np.nan), "alpha", WEIGHT),
        (SMKLClustering(2, alpha=None), "alpha", WEIGHT),
        (SMKLClustering(2, relative_beta=-1), "relative_beta", f"{BETA} or None"),
        (SMKLClustering(2, beta=0), "beta", f"{BETA} or None"),
        (SMKLClustering(2, gamma=np.inf), "gamma", RIDGE),
        (SMKLClustering(2, gamma="big"), "gamma", RIDGE),
        (SMKLClustering(2, max_iter=0), "max_iter", AT_LEAST_1),
        (SMKLClustering(2, tol=-1), "tol", WEIGHT),
        (SMKLClustering(2, n_init=0), "n_init", AT_LEAST_1),
        (SMKLClustering(2, dtype="half"), "dtype", "(?=.*'float32')(?=.*'float64').* or None"),
        (SMKLClustering(2, scheme="best"), "scheme", rf"{WORDS}a str among \{{.*\}}"),
        (PMKLClustering(2, random_state="seed"), "random_state", "an int in the range .*RandomState' or None"),
        (
            KGLClassifier(verbose=-1),
            "verbose",
            r"an int in the range \[0, 2147483647\] or an instance of 'bool' or an instance of "
            rf"'numpy\.{np.bool_.__name__}'",  # bool_ in numpy 1
        ),
    ],
    ids=lambda value: repr(value) if hasattr(value, "fit") else "",
)
def test_parameters_out_of_range_are_refused_by_name_with_what_is_allowed(estimator, name, allowed):
    got = re.escape(repr(getattr(estimator, name)))
    message = rf"^The '{name}' parameter of {type(estimator).__name__} must be {allowed}\. Got {got} instead\.$"
    with pytest.raises(InvalidParameterError, match=message) as refused:
        estimator.fit(X, Y)
    assert isinstance(refused.value, ValueError)
    assert isinstance(refused.value, TypeError)


def test_a_run_that_overflows_says_so_instead_of_returning_nonsense():
    # an indefinite kernel whose K + gamma*I is singular
    K = np.diag(np.r_[-1.0, np.ones(19)])
    with pytest.raises(NotFiniteError, match=r"KGL stopped in iteration 1\. .* raise gamma"):
        KGLClustering(2, kernel="precomputed", gamma=1.0, scheme="released").fit(K)
    with pytest.raises(NotFiniteError, match=r"KGL stopped in iteration 1\. .* raise gamma"):
        KGLClustering(2, kernel="precomputed", gamma=1.0).fit(K)
    with pytest.raises(NotFiniteError, match=r"KGL could not start\. .* raise gamma"):
        KGLClustering(2, kernel="precomputed", gamma=1.0, scheme="exact").fit(K)


def test_a_model_that_was_not_fitted_says_so():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        SMKLClassifier().predict(X)


def test_samples_of_another_width_are_refused():
    model = SMKLClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but SMKLClassifier is expecting 3 features"):
        model.predict(X[:, :2])


@pytest.mark.parametrize("model", [WeaveClustering(2), SMKLClustering(2), KernelKMeans(2)], ids=repr)
def test_missing_cells_are_refused_with_the_ways_to_read_them(model):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=list("abc"))
    frame.iloc[3, 1] = np.nan
    with pytest.raises(InvalidInputError, match="Input X contains NaN: impute the missing cells first") as refused:
        model.fit(frame)
    assert ("kernels='mixed'" in str(refused.value)) == hasattr(model, "kernels")
    if hasattr(model, "kernels"):
        assert model.set_params(kernels="mixed").fit(frame).labels_.shape == (20,)


@pytest.mark.parametrize("solver", ["auto", Landmark()])
def test_a_part_of_a_solver_cannot_be_set_and_what_to_set_is_said(solver):
    model = WeaveClustering(2, solver=solver)
    told = (
        r"'solver__n_landmarks' names .* replace solver as a whole, such as set_params\(solver=Landmark\(n_landmarks=50"
    )
    with pytest.raises(InvalidInputError, match=told):
        model.set_params(n_clusters=5, solver__n_landmarks=50)
    assert model.n_clusters == 2
    with pytest.raises(InvalidInputError, match=r"'kernels__t' names .* none to set: replace kernels as a whole\.$"):
        SMKLClustering(2).set_params(kernels__t=3)
    with pytest.raises(ValueError, match="Invalid parameter 'sover'"):
        model.set_params(sover__n_landmarks=50)
    assert model.set_params(solver=Landmark(n_landmarks=50)).solver.n_landmarks == 50
