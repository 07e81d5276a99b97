"""Whatever a user passes is read once, into Views, Chunks or kernel matrices."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import zarr
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.datasets import make_blobs
from sklearn.utils import validation

from kernelweave import Chunks, Views, WeaveClassifier, WeaveClustering
from kernelweave.errors import ColumnsWarning, InvalidInputError
from kernelweave.samples import KernelStack, reader
from kernelweave.samples.partial_labels import labels_in_order
from kernelweave.samples.reader import read_like, read_samples
from kernelweave.samples.source import read as read_part
from kernelweave.samples.views import Views as PlainViews
from kernelweave.weave.choice import SOLVERS

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

X, Y = make_blobs(40, n_features=4, centers=3, random_state=0)
A, B = X[:, :3], X[:, 3:]
IDS = [f"s{i}" for i in range(40)]
PARTLY = np.where(np.arange(40) % 4 == 0, Y, -1)


class Model(BaseEstimator):
    """An estimator with the parameters that the reader honours."""

    def __init__(self, views=None, dtype=None):
        self.views = views
        self.dtype = dtype


def annotated(table, ids=IDS):
    """Return what looks like an AnnData."""
    return SimpleNamespace(X=table, obs_names=pd.Index(ids), var_names=pd.Index([f"g{j}" for j in range(len(table.T))]))


def frame(table, ids=IDS):
    return pd.DataFrame(table, index=ids, columns=[f"c{j}" for j in range(table.shape[1])])


def as_parquet(folder):
    pd.DataFrame(X, columns=list("abcd")).to_parquet(folder / "x.parquet")
    return folder / "x.parquet"


def as_zarr(folder):
    array = zarr.create_array(str(folder / "x.zarr"), shape=X.shape, chunks=(16, 4), dtype=X.dtype)
    array[:] = X
    return str(folder / "x.zarr")


ONE_TABLE = {
    "array": X,
    "list of lists": X.tolist(),
    "tuple of lists": tuple(map(list, X.tolist())),
    "list of rows": list(X),
    "csr": sparse.csr_array(X),
    "csc": sparse.csc_array(X),
    "dok": sparse.dok_array(X),
    "sparse matrix": sparse.csr_matrix(X),
    "pandas": pd.DataFrame(X, columns=list("abcd")),
    "pandas with an index": frame(X),
    "polars": pl.DataFrame(X, schema=list("abcd")),
    "integers": np.round(X).astype(int),
    "single precision": X.astype(np.float32),
    "memory order": np.asfortranarray(X),
}

SEVERAL_TABLES = {
    "dict": ({"a": A, "b": B}, ("a", "b")),
    "list": ([A, B], ("view 0", "view 1")),
    "tuple": ((A, B), ("view 0", "view 1")),
    "list of frames": ([frame(A), frame(B)], ("view 0", "view 1")),
    "list of polars": ([pl.DataFrame(A), pl.DataFrame(B)], ("view 0", "view 1")),
    "list of sparse": ([sparse.csr_array(A), sparse.csc_array(B)], ("view 0", "view 1")),
    "list of one table": ([X], ("view 0",)),
    "list with lists of lists": ([A, B.tolist()], ("view 0", "view 1")),
    "Views": (Views({"a": A, "b": B}), ("a", "b")),
    "AnnData": (annotated(X), ("X",)),
    "MuData": (
        SimpleNamespace(mod={"rna": annotated(A), "protein": annotated(B)}, obs_names=pd.Index(IDS)),
        ("rna", "protein"),
    ),
}

STREAMED = {
    "path to Parquet": as_parquet,
    "path to Parquet as text": lambda folder: str(as_parquet(folder)),
    "path to Zarr": as_zarr,
    "dask array": lambda folder: da.from_array(X, chunks=(16, 4)),
    "dask dataframe": lambda folder: dd.from_pandas(pd.DataFrame(X), npartitions=3),
    "iterator": lambda folder: iter(np.array_split(X, 3)),
    "generator": lambda folder: (part for part in np.array_split(X, 3)),
    "function": lambda folder: lambda: np.array_split(X, 3),
    "Chunks": lambda folder: Chunks(np.array_split(X, 3)),
}


def dense(table):
    return table.toarray() if sparse.issparse(table) else table


def read(given, precomputed=False, **parameters):
    model = Model(**parameters)
    return read_samples(model, given, precomputed=precomputed), model


def fitted_on(given, **parameters):
    """Return a model that knows what it was fitted on, as estimators keep it."""
    samples, model = read(given, **parameters)
    model.view_names_, model.view_widths_, model.readings_ = samples.names, samples.widths, samples.readings
    return model


# what every kind of input becomes


@pytest.mark.parametrize("name", ONE_TABLE)
def test_one_table_becomes_one_view(name):
    samples, model = read(ONE_TABLE[name])
    assert isinstance(samples, Views)
    assert samples.names == ("X",)
    assert samples.complete
    assert samples.dtype == (np.float32 if name == "single precision" else np.float64)
    expected = np.round(X) if name == "integers" else X
    assert_allclose(dense(samples.tables[0]), expected, rtol=1e-6)
    assert sparse.issparse(samples.tables[0]) == sparse.issparse(ONE_TABLE[name])
    assert samples.attributes["n_features_in_"] == model.n_features_in_ == 4


@pytest.mark.parametrize("name", SEVERAL_TABLES)
def test_several_tables_become_views(name):
    given, names = SEVERAL_TABLES[name]
    samples, model = read(given)
    assert isinstance(samples, Views)
    assert samples.names == names
    assert_allclose(np.hstack([dense(table) for table in samples.tables]), X)
    assert samples.attributes["view_names_"] == samples.names
    assert samples.attributes["view_widths_"] == samples.widths
    assert "feature_names_in_" not in samples.attributes
    assert set(vars(model)) == {"views", "dtype"}


@pytest.mark.parametrize("dtype", [None, "float64"])
def test_views_of_a_user_stay_as_they_are(dtype):
    given = Views({"a": X[:, :2], "b": X[:, 2:]})
    before = dict(vars(given))
    samples, _ = read(given, dtype=dtype)
    assert samples.attributes
    assert vars(given) == before


@pytest.mark.parametrize("name", STREAMED)
def test_what_comes_in_parts_becomes_chunks(name, tmp_path):
    samples, _ = read(STREAMED[name](tmp_path))
    assert isinstance(samples, Chunks)
    rows = [read_part(part, None) for part in samples.source.parts()]
    assert_array_equal(np.concatenate(rows), X)


@pytest.mark.parametrize(
    "given", [X @ X.T, [X @ X.T], np.stack([X @ X.T] * 2), {"a": X @ X.T}], ids=["matrix", "list", "stack", "dict"]
)
def test_kernel_matrices_become_a_stack(given):
    samples, model = read(given, precomputed=True)
    assert isinstance(samples, KernelStack)
    assert_array_equal(samples.matrices[0], X @ X.T)
    assert set(vars(model)) == {"views", "dtype"}


def test_objects_that_are_read_already_are_not_read_again():
    views, chunks = Views([A, B]), Chunks(X)
    assert read(views)[0].tables is views.tables
    assert read(chunks)[0] is chunks


def test_one_table_in_memory_is_not_copied():
    assert read(X)[0].tables[0] is X


@pytest.mark.parametrize("dtype", ["float32", np.float32])
def test_the_precision_asked_for_is_that_of_the_samples(dtype):
    for given in (X, [A, B], sparse.csr_array(X)):
        assert read(given, dtype=dtype)[0].dtype == np.float32
    assert read(X @ X.T, precomputed=True, dtype=dtype)[0].dtype == np.float32


def test_names_of_columns_are_kept_for_one_table_and_forgotten_for_others():
    table = pd.DataFrame(X, columns=list("abcd"))
    assert_array_equal(read(table)[0].attributes["feature_names_in_"], list("abcd"))
    assert_array_equal(read(table, dtype="float32")[0].attributes["feature_names_in_"], list("abcd"))
    for given, width in ((X, 4), ([A, B, A], 7), (Chunks(X), 4), (X @ X.T, 40)):
        model = WeaveClustering(3, random_state=0).fit(table)
        assert_array_equal(model.feature_names_in_, list("abcd"))
        model.set_params(kernels="precomputed" if width == 40 else "released-7").fit(given)
        assert not hasattr(model, "feature_names_in_")
        assert model.n_features_in_ == width


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "2D array"),
        ("nowhere.parquet", "There is no nowhere.parquet"),
        (None, "2D array|NoneType"),
        (X[0], "Expected 2D array, got 1D array"),
        (X[None], "Found array with dim 3"),
        (X[:1], r"Found array with 1 sample .* minimum of 2"),
        (X[:0], r"Found array with 0 samples"),
        (np.where(X[3, 1] == X, np.nan, X), "Input X contains NaN"),
        ([A[:1], B[:1]], "Found 1 sample in the views .* minimum of 2"),
        ([A, B[:5]], "'view 0' has 40, 'view 1' has 5"),
        ({}, "No view was given"),
        ([A, np.where(np.arange(40)[:, None] > 0, np.nan, B)], "'view 1' has 1 of 40 samples; at least 2"),
    ],
    ids=["number", "path", "nothing", "row", "cube", "one", "none", "nan", "one each", "lengths", "no view", "gaps"],
)
def test_what_holds_no_samples_is_refused(given, message):
    with pytest.raises((ValueError, OSError), match=message):
        read(given)


@pytest.mark.parametrize("given", [[A, B], Views([A, B]), {"a": A}], ids=["list", "Views", "dict"])
def test_columns_of_views_go_with_one_table_only(given):
    with pytest.raises(InvalidInputError, match="names columns of one table, but several tables were given"):
        read(given, views={"left": slice(0, 2)})


def test_columns_of_views_go_with_a_table_in_memory_only():
    with pytest.raises(InvalidInputError, match="names columns of one table in memory, but X is read in chunks"):
        read(Chunks(X), views={"left": slice(0, 2)})


@pytest.mark.parametrize("columns", [slice(0, 3), [0, 1, 2], np.array([True, True, True, False]), ["a", "b", "c"]])
def test_columns_of_views_are_given_by_slice_position_mask_or_name(columns):
    samples, _ = read(pd.DataFrame(X, columns=list("abcd")), views={"left": columns, "right": [3]})
    assert samples.names == ("left", "right")
    assert_allclose(samples.tables[0], A)
    assert_allclose(samples.tables[1], B)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([4], "asks for column 4, but X has 4 columns"),
        ([True, False], r"is a mask of shape \(2,\), but X has 4 columns"),
        (["z"], "names columns, but X has no texts as names of columns"),
        (slice(2, 2), "takes no column of X"),
        ([], "takes no column of X"),
        (slice("a", "b"), "takes no column of X"),
    ],
)
def test_columns_that_are_not_there_are_refused(columns, message):
    with pytest.raises(InvalidInputError, match=message):
        read(X, views={"left": columns})


@pytest.mark.parametrize("columns", [{"a", "b"}, {"a": 1}, {"a": 1}.keys(), [["a", "b"]], [[0, 1]], [[0, 1], [2]]])
def test_columns_that_are_no_list_are_refused(columns):
    with pytest.raises(InvalidInputError, match=r"views\['left'\] must be a slice, one column, a list of columns or a"):
        read(pd.DataFrame(X, columns=list("abcd")), views={"left": columns})


def test_views_whose_names_are_the_same_text_are_refused():
    with pytest.raises(InvalidInputError, match="The names of views must differ; got 1, '1'"):
        read(X, views={1: [0], "1": [1]})


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame])
def test_a_column_that_a_view_takes_twice_is_refused(form):
    frame = form(dict(zip("abcd", X.T, strict=True)))
    for columns in (["b", "b"], [1, 0, 1], [1, -3]):
        with pytest.raises(InvalidInputError, match=r"views\['left'\] takes the column 'b' more than once: name every"):
            read(frame, views={"left": columns})
    with pytest.raises(InvalidInputError, match=r"views\['left'\] takes the column 1 more than once"):
        read(X, views={"left": [1, 1]})
    assert_allclose(read(X, views={"left": [-1], "again": [3]})[0].tables[0], X[:, 3:])


# a list or tuple is always views


@pytest.mark.parametrize("make", [list, tuple])
@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
@pytest.mark.parametrize("estimator", [WeaveClustering(3), WeaveClassifier()], ids=lambda model: type(model).__name__)
def test_a_list_or_tuple_of_tables_is_views_for_every_solver(make, solver, estimator):
    model = type(estimator)(**(estimator.get_params() | {"solver": solver, "random_state": 0}))
    if "views" not in SOLVERS.get(solver, SOLVERS["dense"]).supports:
        with pytest.raises(InvalidInputError, match="does not take several views"):
            model.fit(make([A, B]), PARTLY)
        return
    model.fit(make([A, B]), PARTLY)
    assert model.view_names_ == ("view 0", "view 1")
    answers = model.labels_ if hasattr(model, "labels_") else model.transduction_
    assert answers.shape == (40,)
    assert model.predict(make([A, B])).shape == (40,)


def test_a_list_of_tables_of_unequal_length_is_never_taken_for_chunks():
    for solver in ("auto", *SOLVERS):
        with pytest.raises(InvalidInputError, match="All views must hold the same samples"):
            WeaveClustering(3, solver=solver).fit([X[:25], X[25:]])


# once per fit


@pytest.fixture
def validated(monkeypatch):
    """Record which of our estimators have their samples validated by scikit-learn, or read as views."""
    calls = []
    original = validation.validate_data

    def counting(estimator, *args, **options):
        if type(estimator).__module__.startswith("kernelweave"):
            calls.append(type(estimator).__name__)
        return original(estimator, *args, **options)

    def made(self, *args, **options):
        calls.append("Views")
        return init(self, *args, **options)

    init = PlainViews.__init__
    monkeypatch.setattr(validation, "validate_data", counting)
    monkeypatch.setattr(reader, "validate_data", counting)
    monkeypatch.setattr(PlainViews, "__init__", made)
    return calls


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("make", [lambda X: X, sparse.csr_array, pd.DataFrame], ids=["array", "sparse", "pandas"])
def test_a_table_is_validated_once_per_fit_and_once_per_question(solver, make, validated):
    clusterer = WeaveClustering(3, solver=solver, random_state=0, kernels="released-7").fit(make(X))
    assert validated == ["WeaveClustering"]
    for ask in (clusterer.predict, clusterer.predict_proba, clusterer.transform, clusterer.undecided):
        validated.clear()
        ask(make(X + 0.01))
        assert validated == ["WeaveClustering"]
    validated.clear()
    WeaveClassifier(solver=solver, random_state=0, kernels="released-7").fit(make(X), PARTLY)
    assert validated == ["WeaveClassifier"]


@pytest.mark.parametrize("solver", ["dense", "local"])
def test_several_tables_are_read_once_per_fit_and_once_per_question(solver, validated):
    model = WeaveClustering(3, solver=solver, random_state=0, kernels="released-7").fit([A, B])
    assert validated == ["Views"]
    validated.clear()
    model.predict([A + 0.01, B])
    assert validated == ["Views"]


# samples like those of fit


def test_one_table_is_read_again_against_the_columns_of_fit():
    model = fitted_on(X)
    again = read_like(model, X[:3], kernel_names=None)
    assert_allclose(again.tables[0], X[:3])
    assert read_like(model, X[:1], kernel_names=None).n_samples == 1
    with pytest.raises(ValueError, match="X has 3 features, but Model is expecting 4 features"):
        read_like(model, A, kernel_names=None)


def test_views_are_read_again_in_the_order_of_fit():
    model = fitted_on({"a": A, "b": B})
    again = read_like(model, {"b": B[:2], "a": A[:2]}, kernel_names=None)
    assert again.names == ("a", "b")
    assert_allclose(again.tables[0], A[:2])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": A, "c": B}, "fitted on the views a, b; got a, c"),
        ({"a": A, "b": B, "c": B}, "fitted on the views a, b; got a, b, c"),
        ([A, B], "fitted on the views a, b; got view 0, view 1"),
        ({"a": A, "b": A}, r"View 'b' has 3 features, but Model is expecting 1 feature\."),
    ],
)
def test_other_views_than_those_of_fit_are_refused(given, message):
    with pytest.raises(InvalidInputError, match=message):
        read_like(fitted_on({"a": A, "b": B}), given, kernel_names=None)


def test_a_view_that_is_absent_lacks_every_new_sample():
    again = read_like(fitted_on({"a": A, "b": B}), {"b": B[:3]}, kernel_names=None)
    assert again.names == ("a", "b")
    assert_array_equal(again.present, [[False] * 3, [True] * 3])
    assert again.widths == (3, 1)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_of_views_are_found_by_their_names(make):
    model = WeaveClustering(3, random_state=0).fit({"a": make(dict(zip("pqr", A.T, strict=True))), "b": B})
    turned = make(dict(zip("rqp", A.T[::-1], strict=True)))
    assert_array_equal(model.predict({"a": turned, "b": B}), model.labels_)
    assert_array_equal(model.predict(Views({"a": turned, "b": B})), model.labels_)
    with pytest.warns(ColumnsWarning, match="1 column of view 'a' not seen in fit, and not used: 'z'"):
        found = model.predict({"a": make(dict(zip("rzqp", A.T[[2, 0, 1, 0]], strict=True))), "b": B})
    assert_array_equal(found, model.labels_)
    with pytest.raises(InvalidInputError, match="View 'a' lacks 1 column that the model was fitted on: 'q'"):
        model.predict({"a": make(dict(zip("pr", A.T[::2], strict=True))), "b": B})


def test_chunks_are_read_again_as_chunks():
    model = fitted_on(X)
    assert isinstance(read_like(model, iter([X]), kernel_names=None), Chunks)


def test_chunks_of_one_table_are_not_taken_for_several_views():
    for given in (Chunks(X), iter([X])):
        with pytest.raises(InvalidInputError, match="fitted on the views a, b, but X is read in chunks of one table"):
            read_like(fitted_on({"a": A, "b": B}), given, kernel_names=None)


def test_chunks_are_not_taken_for_kernel_matrices():
    for given in (Chunks(X), iter([X])):
        with pytest.raises(InvalidInputError, match="kernels are 'precomputed', but X is read in chunks"):
            read(given, precomputed=True)
        with pytest.raises(InvalidInputError, match="kernels are 'precomputed', but X is read in chunks"):
            read_like(Model(), given, kernel_names=("a",))


def test_precomputed_kernels_of_new_samples_are_read_against_those_of_fit():
    _, model = read({"a": X @ X.T, "b": A @ A.T}, precomputed=True)
    model.n_features_in_, model.sample_names_ = 40, None
    new = read_like(model, {"b": A[:2] @ A.T, "a": X[:2] @ X.T}, kernel_names=("a", "b"))
    assert isinstance(new, KernelStack)
    assert_allclose(new.matrices[0], X[:2] @ X.T)


@pytest.mark.parametrize("solver", ["dense", "local"])
def test_a_model_in_memory_answers_for_chunks_of_its_table(solver):
    model = WeaveClustering(3, solver=solver, random_state=0).fit(X)
    assert_array_equal(model.predict(Chunks([X[:15], X[15:]])), model.labels_)
    assert_allclose(model.transform(iter([X[:15], X[15:]])), model.embedding_)
    with pytest.raises(InvalidInputError, match="fitted on the views view 0, view 1, but X is read in chunks"):
        WeaveClustering(3, solver=solver, random_state=0).fit([A, B]).predict(Chunks(X))


# labels


def test_labels_with_an_index_are_put_in_the_order_of_the_samples():
    y = pd.Series(Y, index=IDS)
    named = Views({"a": pd.DataFrame(A, index=IDS)})
    assert_array_equal(labels_in_order(y.iloc[::-1], named), Y)
    assert labels_in_order(Y, named) is Y
    assert labels_in_order(y, Views({"a": A})) is y


def test_labels_with_shuffled_row_numbers_are_refused_beside_rows_that_frames_count():
    y = pd.Series(Y).sample(frac=1, random_state=0)
    views = Views({"a": pd.DataFrame(A), "b": B})
    for counted in (views, views.astype(np.float32)):
        with pytest.raises(InvalidInputError, match=r"the same numbers in another order. Pass y.sort_index\(\)"):
            labels_in_order(y, counted)
    assert_array_equal(labels_in_order(y.sort_index(), views), Y)
    assert labels_in_order(y, Views({"a": A, "b": B})) is y  # arrays count nothing
    other = pd.Series(Y, index=y.index + 1)
    assert labels_in_order(other, Views({"a": pd.DataFrame(A)})) is other


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (pd.Series([0, 1], index=["s0", "s2"]), "The index of y lacks the sample 's1'"),
        (pd.Series([0, 1], index=[0, 1]), "The index of y lacks the sample 's0'"),
        (pd.Series([0, 1, 1], index=["s0", "s1", "s1"]), "holds a sample more than once"),
    ],
)
def test_labels_whose_index_does_not_name_every_sample_once_are_refused(y, message):
    with pytest.raises(InvalidInputError, match=message):
        labels_in_order(y, Views({"a": pd.DataFrame(A[:2], index=["s0", "s1"])}))


@pytest.mark.parametrize("names", [list("abc"), [2, 0, 1]], ids=["texts", "numbers"])
def test_frames_of_the_other_byte_order_may_have_their_columns_in_another_order(names):
    X = make_blobs(30, n_features=3, centers=2, random_state=0)[0]
    model = WeaveClustering(2, random_state=0).fit(pd.DataFrame(X, columns=names))
    swapped = pd.DataFrame(X[:5, ::-1].astype(">f8"), columns=names[::-1])
    assert_array_equal(model.predict(swapped), model.labels_[:5])


@pytest.mark.parametrize("form", [pd.DataFrame, np.asarray], ids=["frame", "array"])
def test_a_text_among_the_numbers_of_new_samples_is_named(form):
    model = WeaveClustering(3, random_state=0).fit(X)
    new = X[:5].astype(object)
    new[3, 1] = "n/a"
    with pytest.raises(InvalidInputError, match="X holds the text 'n/a', but the samples of fit were numbers"):
        model.predict(form(new))
