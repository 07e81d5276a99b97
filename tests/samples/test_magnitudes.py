"""Numbers that are too large or too small to be computed with are refused by name, without a warning of numpy."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.utils._param_validation import InvalidParameterError

from kernelweave import (
    Chunks,
    KGLClustering,
    PMKLClustering,
    SMKLClassifier,
    SMKLClustering,
    WeaveClassifier,
    WeaveClustering,
)
from kernelweave.baselines import (
    GFHF,
    LGC,
    MKKM,
    RMKKM,
    SCAN,
    SNF,
    SSR,
    FastMICE,
    KernelKMeans,
    LaplaceLearning,
    PoissonLearning,
)
from kernelweave.errors import InvalidInputError, NotFiniteError
from kernelweave.kernels import Linear, Polynomial
from kernelweave.samples import Distances

X = np.random.default_rng(0).normal(size=(24, 3)) + np.repeat([[0.0], [9.0]], 12, axis=0)
K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 20)
Y = np.where(np.arange(24) % 3 == 0, np.arange(24) // 12, -1)
PRECOMPUTED = [
    SMKLClustering(2, kernels="precomputed"),
    KGLClustering(2, kernel="precomputed"),
    WeaveClustering(2, kernels="precomputed"),
    KernelKMeans(2, kernel="precomputed"),
    MKKM(2, kernels="precomputed"),
    LGC("precomputed"),
]


@pytest.mark.parametrize("factor", [1e101, 1e300, 1e-101, 1e-300])
@pytest.mark.parametrize("model", PRECOMPUTED, ids=repr)
def test_kernels_out_of_range_are_refused_by_name(model, factor):
    with pytest.raises(InvalidInputError, match=r"'kernel 0' has absolute values up to .*: divide it by its largest"):
        model.fit(K * factor, Y)


def test_kernels_that_single_precision_cannot_square_are_refused_where_it_is_used():
    with pytest.raises(InvalidInputError, match=r"'kernel 0' has absolute values up to 1e\+20.* in float32"):
        WeaveClustering(2, kernels="precomputed").fit(K * 1e20)
    with pytest.raises(InvalidInputError, match=r"'kernel 0' has absolute values up to 1e\+20.* in float32"):
        MKKM(2, kernels="precomputed").fit((K * 1e20).astype(np.float32))
    assert MKKM(2, kernels="precomputed", random_state=0).fit(K * 1e20).labels_.shape == (24,)


@pytest.mark.parametrize("model", PRECOMPUTED[:2], ids=repr)
def test_kernels_that_are_all_zero_are_refused(model):
    with pytest.raises(InvalidInputError, match="All values of the kernels kernel 0 are 0"):
        model.fit(np.zeros((24, 24)), Y)


@pytest.mark.parametrize("factor", [1e76, 1e160, 1e305, 1e-77, 1e-160, 1e-305])
@pytest.mark.parametrize(
    "model", [KernelKMeans(2), SSR(2), SNF(2), FastMICE(2), SCAN(), LaplaceLearning(), GFHF()], ids=repr
)
def test_samples_out_of_range_are_refused_where_nothing_scales_them(model, factor):
    with pytest.raises(InvalidInputError, match=r"X has absolute values up to .*: divide the table by its largest"):
        model.fit(X * factor, Y)


def test_a_kernel_of_samples_that_is_out_of_range_is_refused_by_name():
    with pytest.raises(InvalidInputError, match=r"Kernel 'linear' has absolute values up to .*: scale the samples"):
        KernelKMeans(2, kernel=Linear()).fit(X * 1e60)
    for model in (LaplaceLearning(kernel=Linear()), SNF(2, kernel=Linear())):
        with pytest.raises(InvalidInputError, match=r"The kernel has absolute values up to .*: scale the samples"):
            model.fit(X * 1e60, Y)
    with pytest.raises(InvalidInputError, match=r"All values of the kernels polynomial.* are 0"):
        SMKLClustering(2, kernels=[Polynomial(degree=4)]).fit(np.zeros((24, 3)))


def test_new_samples_that_are_far_too_large_are_refused_by_polynomials():
    model = WeaveClustering(2, kernels="released-12", random_state=0).fit(X)
    with pytest.raises(InvalidInputError, match="gave inf or NaN"):
        model.predict(X * 1e300)


def test_gaussians_are_unsure_of_new_samples_that_are_far_too_large():
    model = WeaveClustering(2, random_state=0).fit(X)
    assert model.confidence_.mean() > 0.9
    found = model.predict_proba(X * 1e300)
    assert np.isfinite(found).all()
    assert found.max() < 0.8


@pytest.mark.parametrize("data", [X, sparse.csr_array(X)], ids=["dense", "sparse"])
def test_values_too_large_for_single_precision_are_refused(data):
    with pytest.raises(InvalidInputError, match="X has values that are too large for float32"):
        SMKLClustering(2, dtype="float32").fit(data * 1e60)


@pytest.mark.parametrize(
    ("column", "message"),
    [([1e300, -1e300] * 12, "too large or too small"), ([1e-300, 2e-300] * 12, "too large or too")],
)
def test_a_column_of_a_mixed_table_that_cannot_be_squared_is_refused_by_name(column, message):
    frame = pd.DataFrame({"size": column, "colour": ["red", "blue", "red"] * 8})
    with pytest.raises(InvalidInputError, match=f"Column 'size' has values that are {message}"):
        WeaveClustering(2).fit(frame)


@pytest.mark.parametrize(
    "model",
    [
        WeaveClustering(2, kernels="precomputed"),
        WeaveClassifier(kernels="precomputed"),
        SMKLClustering(2, kernels="precomputed"),
        SMKLClassifier(kernels="precomputed"),
        KGLClustering(2, kernel="precomputed"),
        PMKLClustering(2, kernels="precomputed"),
        LaplaceLearning(kernel="precomputed"),
        PoissonLearning(kernel="precomputed"),
        LaplaceLearning(kernel=lambda x, y: -float(x @ y)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_kernels_with_a_negative_diagonal_are_refused(model):
    samples = X if callable(getattr(model, "kernel", None)) else -K
    with pytest.raises(InvalidInputError, match=r"trace -\d.*, but k\(x, x\) is positive: pass kernels with"):
        model.fit(samples, Y)


def test_kernels_that_are_not_definite_give_finite_weights():
    model = RMKKM(2, kernels="precomputed", random_state=0).fit([K - 0.5, K - 0.9 * np.eye(24)])
    assert np.isfinite(model.kernel_shares_).all()
    assert np.isfinite(model.objective_history_).all()


@pytest.mark.filterwarnings("error")
def test_an_inverse_that_is_mostly_rounding_is_refused():
    values = np.r_[-1.0 + 1e-17, np.ones(19), np.full(4, 2.0)]
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(24, 24)))[0]
    nearly = (Q * values) @ Q.T
    with pytest.raises(NotFiniteError, match="gamma"):
        KGLClustering(2, kernel="precomputed", gamma=1.0, scheme="released").fit((nearly + nearly.T) / 2)


# tables that are not what they seem


@pytest.mark.parametrize(
    "twice",
    [pd.DataFrame(X, columns=["a", "a", "b"]), pa.Table.from_arrays(list(X.T), names=["a", "b", "a"])],
    ids=["pandas", "pyarrow"],
)
def test_columns_of_one_name_are_refused(twice):
    with pytest.raises(InvalidInputError, match="View 'one' has several columns of one name"):
        WeaveClustering(2).fit({"one": twice, "two": X})
    with pytest.raises(InvalidInputError, match=r"X has several columns of one name \('a'\)"):
        WeaveClustering(2).fit(twice)
    with pytest.raises(InvalidInputError, match=r"X has several columns of one name \('a'\)"):
        WeaveClustering(2, random_state=0).fit(X).predict(twice)


@pytest.mark.parametrize("frame", [pd.DataFrame(index=range(3)), pl.DataFrame()], ids=["pandas", "polars"])
def test_a_data_frame_without_columns_is_refused(frame):
    with pytest.raises(InvalidInputError, match="X has no columns"):
        WeaveClustering(2).fit(frame)


def test_columns_named_by_numbers_may_be_part_of_a_mixed_table():
    frame = pd.DataFrame(X)
    model = WeaveClustering(2, kernels="mixed", random_state=0).fit(frame)
    assert model.labels_.shape == (24,)


def test_lazy_frames_are_refused_with_the_cure():
    lazy = pl.DataFrame(X).lazy()
    with pytest.raises(InvalidInputError, match=r"X is a LazyFrame, which is not in memory: pass X\.collect\(\)"):
        WeaveClustering(2).fit(lazy)
    with pytest.raises(InvalidInputError, match=r"View 'a' must be an array, .*; got LazyFrame"):
        WeaveClustering(2).fit({"a": lazy, "b": X})
    with pytest.raises(InvalidInputError, match=r"Kernel matrices must be arrays, or a list or dict.*; got LazyFrame"):
        WeaveClustering(2, kernels="precomputed").fit(lazy)


def test_columns_of_complex_numbers_are_refused():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    model = GFHF().fit(frame, Y)
    with pytest.raises(InvalidInputError, match="X has a column of complex numbers"):
        model.predict(frame.assign(b=X[:, 1] + 1j))


def test_distances_of_no_sample_are_refused():
    with pytest.raises(InvalidInputError, match="The distances of view 'd' are all NaN"):
        WeaveClustering(2).fit({"d": Distances(np.full((24, 24), np.nan)), "x": X})


def test_distances_that_cannot_be_squared_are_refused():
    D = np.abs(X[:, :1] - X[:, 0]) * 1e100
    with pytest.raises(InvalidInputError, match=r"The distances of view 'd' are larger than 1e\+75: divide them"):
        WeaveClustering(2).fit({"d": Distances(D), "x": X})


def test_a_function_that_returns_no_chunks_is_refused():
    with pytest.raises(
        InvalidInputError, match="X is a function, which must return an iterable of chunks; got NoneType"
    ):
        WeaveClustering(2).fit(Chunks(lambda: None))


def test_infinite_values_of_both_signs_are_refused_without_a_warning():
    bad = X.copy()
    bad[0, 0], bad[1, 0] = np.inf, -np.inf
    with pytest.raises(ValueError, match="Input X contains infinity"):
        WeaveClustering(2).fit(bad)


@pytest.mark.parametrize("value", [np.uint64(2), 10**30, np.int8(-1)])
def test_integers_that_numpy_cannot_compute_with_are_refused(value):
    with pytest.raises(InvalidParameterError, match="The 'n_clusters' parameter of KGLClustering must be"):
        KGLClustering(value).fit(X)


def test_half_precision_is_no_precision_for_a_parameter():
    with pytest.raises(InvalidParameterError, match="The 'tol' parameter of KGLClustering must be"):
        KGLClustering(2, tol=np.float16(0.1)).fit(X)


@pytest.mark.filterwarnings("ignore::kernelweave.errors.UndecidedWarning")
def test_answers_that_are_not_finite_are_refused():
    tiny = np.where(np.eye(24) > 0, 1.0, 1e-300)
    model = WeaveClassifier(kernels="precomputed", gamma=1e-5).fit(tiny, Y)
    with pytest.raises(NotFiniteError, match="The predictions for these samples are not finite"):
        model.predict_proba(tiny[:3] * 1000)


def test_small_integers_of_numpy_do_not_overflow():
    model = LaplaceLearning(n_neighbors=np.int8(5), n_jobs=np.int8(1)).fit(X, Y)
    assert np.isfinite(model.label_distributions_).all()
