"""Every kind of input that cannot be used, by the message that says so."""

import numpy as np
import pytest
from scipy import sparse

from kernelweave import KGLClassifier, KGLClustering, PMKLClustering, SMKLClassifier, SMKLClustering
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
        (poked(np.inf), "Input X contains infinity"),
        (np.empty((0, 3)), r"Found array with 0 sample\(s\)"),
        (np.empty((5, 0)), r"0 feature\(s\)"),
        (X[:1], r"Found array with 1 sample\(s\).*minimum of 2"),
        (X[0], "Expected 2D array, got 1D array"),
        (np.ones((20, 3)), "All 20 samples are identical"),
        (np.full((20, 3), "a"), "could not convert string to float"),
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
        (np.where(EYE == 1, np.nan, 0.0), r"'kernel 0' holds 20 NaN or infinite value\(s\), the first at row 0"),
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
        (np.where(Y == 0, np.nan, Y), "Input y contains NaN"),
        (np.linspace(0, 1, 20), "Unknown label type: continuous"),
        (np.column_stack([Y, Y]), "y should be a 1d array"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        SMKLClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (SMKLClustering(21), ValueError, r"n_clusters=21 is more than the n_samples=20"),
        (SMKLClustering(0), ValueError, "n_clusters == 0, must be >= 1"),
        (SMKLClustering(2.5), TypeError, "n_clusters must be an instance of int"),
        (SMKLClustering(2, alpha=-1), ValueError, "alpha == -1, must be >= 0"),
        (SMKLClustering(2, alpha=np.nan), ValueError, "alpha must be finite; got nan"),
        (SMKLClustering(2, beta=1, relative_beta=1), ValueError, "say the same thing twice"),
        (SMKLClustering(2, relative_beta=-1), ValueError, "relative_beta == -1, must be > 0"),
        (SMKLClustering(2, alpha=None), TypeError, "alpha must be an instance of float"),
        (SMKLClustering(2, dtype="half"), ValueError, "dtype must be None, 'float32' or 'float64'; got 'half'"),
        (SMKLClustering(2, beta=0), ValueError, "beta == 0, must be > 0"),
        (SMKLClustering(2, gamma=np.inf), ValueError, "gamma must be finite; got inf"),
        (SMKLClustering(2, gamma="big"), TypeError, "gamma must be an instance of float"),
        (SMKLClustering(2, max_iter=0), ValueError, "max_iter == 0, must be >= 1"),
        (SMKLClustering(2, tol=-1), ValueError, "tol == -1, must be >= 0"),
        (SMKLClustering(2, n_init=0), ValueError, "n_init == 0, must be >= 1"),
        (SMKLClustering(2, scheme="best"), ValueError, "Unknown scheme 'best': choose one of printed, released"),
        (SMKLClustering(2, kernels="twelve"), ValueError, "Unknown kernel recipe 'twelve': choose one of released-12"),
        (SMKLClustering(2, kernels=[]), ValueError, "at least one kernel"),
        (SMKLClustering(2, kernels=["rbf", 3]), ValueError, "got 3"),
        (SMKLClustering(2, kernels=7), ValueError, "kernels must be a recipe's name"),
        (KGLClustering(2, kernel="none such"), ValueError, "Unknown kernel 'none such': scikit-learn has"),
        (PMKLClustering(2, random_state="seed"), ValueError, "cannot be used to seed"),
        (KGLClassifier(verbose=-1), ValueError, "verbose == -1, must be >= 0"),
        (SMKLClustering(2, kernels=[lambda x, y: np.nan]), ValueError, "gave inf or NaN"),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", type(value).__name__),
)
def test_parameters_out_of_range_are_refused(estimator, error, message):
    with pytest.raises(error, match=message):
        estimator.fit(X, Y)


def test_a_run_that_overflows_says_so_instead_of_returning_nonsense():
    # an indefinite kernel whose K + gamma*I is singular
    K = np.diag(np.r_[-1.0, np.ones(19)])
    with pytest.raises(NotFiniteError, match=r"KGL stopped in iteration 1\. .* raise gamma"):
        KGLClustering(2, kernel="precomputed", gamma=1.0, scheme="released").fit(K)
    with pytest.raises(NotFiniteError, match=r"KGL could not start\. .* raise gamma"):
        KGLClustering(2, kernel="precomputed", gamma=1.0, scheme="safeguarded").fit(K)


def test_a_model_that_was_not_fitted_says_so():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="not fitted yet"):
        SMKLClassifier().predict(X)


def test_samples_of_another_width_are_refused():
    model = SMKLClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but SMKLClassifier is expecting 3 features"):
        model.predict(X[:, :2])
