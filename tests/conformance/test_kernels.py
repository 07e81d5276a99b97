"""What every kernel must do: a new kernel joins `KERNELS` and gets all of these tests."""

import copy
import importlib
import pickle
import pkgutil
from dataclasses import FrozenInstanceError, dataclass, fields

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import kernelweave.kernels as public
from kernelweave.errors import InvalidInputError
from kernelweave.files.archive import read_archive, write_archive
from kernelweave.files.codec import decode, encode
from kernelweave.kernels import (
    Centered,
    Chi2,
    Cosine,
    CosineNormalized,
    DiameterNormalized,
    Gaussian,
    Kernel,
    KernelBank,
    Laplacian,
    Linear,
    MaxNormalized,
    Overlap,
    Pair,
    Pairwise,
    Polynomial,
    Product,
    RareOverlap,
    Scaled,
    SelfTuning,
    Sum,
    TraceNormalized,
)
from kernelweave.kernels.base import Products, row_sqnorms, with_itself


def bump(x, y):
    return float(np.exp(-np.abs(x - y).sum()))


@dataclass(frozen=True)
class Case:
    kernel: Kernel
    needs_fit: bool = True
    semidefinite: bool = True
    sparse: bool = True
    products: bool = True  # it needs only the products of samples
    saved: bool = True


KERNELS = {
    "gaussian": Case(Gaussian()),
    "narrow gaussian": Case(Gaussian(t=0.1)),
    "gaussian of given diameter": Case(Gaussian(t=0.5, diameter=2.0), needs_fit=False),
    "laplacian": Case(Laplacian(t=0.3), products=False),
    "chi2": Case(Chi2(t=0.3), sparse=False, products=False),
    "self-tuning": Case(SelfTuning(n_neighbors=3), semidefinite=False, products=False),
    "linear": Case(Linear(), needs_fit=False),
    "polynomial": Case(Polynomial(), needs_fit=False),
    "cubic": Case(Polynomial(degree=3), needs_fit=False),
    "quartic with offset": Case(Polynomial(degree=4, offset=1.0), needs_fit=False),
    "cosine": Case(Cosine(), needs_fit=False),
    "pairwise by name": Case(Pairwise("rbf", {"gamma": 0.5}), needs_fit=False, products=False),
    "pairwise chi2": Case(Pairwise("chi2"), needs_fit=False, sparse=False, products=False),
    "pairwise that is not a kernel": Case(Pairwise("sigmoid"), needs_fit=False, semidefinite=False, products=False),
    "pairwise callable": Case(Pairwise(bump), needs_fit=False, sparse=False, products=False, saved=False),
    "overlap": Case(Overlap(), needs_fit=False),
    "overlap to a power": Case(Overlap(power=3), needs_fit=False),
    "rare overlap": Case(RareOverlap(), products=False),
    "rare overlap to a power": Case(RareOverlap(power=2), products=False),
    "sum": Case(Sum((Gaussian(), Linear()))),
    "product": Case(Product((Laplacian(), Polynomial(offset=1.0))), products=False),
    "scaled": Case(Scaled(Cosine(), 2.5), needs_fit=False),
    "nested products": Case(CosineNormalized(2 * Gaussian() + Cosine() * Polynomial(offset=1.0))),
    "cosine normalised": Case(CosineNormalized(Polynomial(degree=4)), needs_fit=False),
    "centred": Case(Centered(Gaussian(t=0.5)), products=False),
    "trace normalised": Case(TraceNormalized(Polynomial(offset=1.0))),
    "maximum normalised": Case(MaxNormalized(Linear())),
    "diameter normalised": Case(DiameterNormalized(Gaussian(t=0.2))),
    "nested sum of products": Case(2 * (Gaussian() + Linear()) * Cosine() + Pairwise("laplacian"), products=False),
    "nested normalisation": Case(CosineNormalized(Centered(Gaussian() * Polynomial(offset=1.0))), products=False),
    "nested everything": Case(
        TraceNormalized(0.5 * SelfTuning(2) + MaxNormalized(CosineNormalized(Laplacian()) * Linear())),
        semidefinite=False,
        products=False,
    ),
}


def every(condition=lambda case: True):
    chosen = {name: case for name, case in KERNELS.items() if condition(case)}
    return pytest.mark.parametrize("kernel", [case.kernel for case in chosen.values()], ids=list(chosen))


every_kernel = every()
every_sparse_kernel = every(lambda case: case.sparse)


@pytest.fixture
def X():
    X = np.random.default_rng(0).random((23, 6))
    X[X < 0.25] = 0.0  # counts and histograms have zeros
    return X


@pytest.fixture
def Z():
    return np.random.default_rng(1).random((7, 6))


def scale(K):
    return np.abs(K).max()


def parts(kernel):
    yield kernel
    for f in fields(kernel):
        value = getattr(kernel, f.name)
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, Kernel):
                yield from parts(inner)


def test_every_public_kernel_is_in_the_list():
    listed = {type(part) for case in KERNELS.values() for part in parts(case.kernel)}
    exported = [getattr(public, name) for name in public.__all__]
    assert listed == {c for c in exported if isinstance(c, type) and issubclass(c, Kernel)} - {Kernel}


def test_every_kernel_of_the_package_is_public():
    modules = [
        importlib.import_module(f"{public.__name__}.{module.name}") for module in pkgutil.iter_modules(public.__path__)
    ]
    defined = {c for module in modules for c in vars(module).values() if isinstance(c, type) and issubclass(c, Kernel)}
    assert {c.__name__ for c in defined if not c.__name__.startswith("_")} <= set(public.__all__)


@every_kernel
def test_the_gram_matrix_is_finite_and_symmetric(kernel, X):
    K = kernel.fit(X).gram(X)
    assert K.shape == (23, 23)
    assert np.isfinite(K).all()
    assert_allclose(K, K.T, rtol=0, atol=1e-15 * scale(K))


@every(lambda case: case.semidefinite)
def test_the_gram_matrix_is_positive_semidefinite(kernel, X):
    values = np.linalg.eigvalsh(kernel.fit(X).gram(X))
    assert values[0] >= -1e-12 * values[-1]


@every_kernel
def test_diag_is_the_diagonal_of_the_gram_matrix(kernel, X, Z):
    kernel = kernel.fit(X)
    for A in (X, Z, Z[:1]):
        K = kernel.gram(A)
        assert_allclose(kernel.diag(A), np.diag(K), rtol=0, atol=1e-13 * scale(K))


@every_kernel
def test_new_samples_get_the_block_of_the_union_once_constants_are_fixed(kernel, X, Z):
    kernel = kernel.fit(X)
    union = kernel.gram(np.vstack([X, Z]))
    close = {"rtol": 0, "atol": 1e-13 * scale(union)}
    assert_allclose(kernel.gram(X), union[:23, :23], **close)
    assert_allclose(kernel.gram(Z, X), union[23:, :23], **close)
    assert_allclose(kernel.gram(X, Z), union[:23, 23:], **close)
    assert_allclose(kernel.gram(Z), union[23:, 23:], **close)


@every_kernel
def test_a_training_sample_alone_gets_its_row_of_the_gram_matrix(kernel, X):
    kernel = kernel.fit(X)
    K = kernel.gram(X)
    rows = np.vstack([kernel.gram(X[i : i + 1], X) for i in range(len(X))])
    assert_allclose(rows, K, rtol=0, atol=1e-13 * scale(K))
    assert_allclose(kernel.gram(X.copy(), X), K, rtol=0, atol=1e-13 * scale(K))


@every_kernel
def test_no_field_can_be_assigned(kernel, X):
    for k in (kernel, kernel.fit(X)):
        for f in fields(k):
            with pytest.raises(FrozenInstanceError, match=f.name):
                setattr(k, f.name, None)


@every_kernel
def test_fit_leaves_the_kernel_as_it_was(kernel, X, Z):
    before = {f.name: getattr(kernel, f.name) for f in fields(kernel)}
    first = kernel.fit(X)
    K = first.gram(X)
    kernel.fit(5 * np.vstack([X, Z]))  # another scale, another mean
    assert all(getattr(kernel, name) is value for name, value in before.items())
    assert_array_equal(first.gram(X), K)


@every(lambda case: case.needs_fit)
def test_a_kernel_of_the_data_must_be_fitted_first(kernel, X):
    with pytest.raises(InvalidInputError, match=r"call kernel\.fit\(X\)"):
        kernel.gram(X)
    assert kernel.fit(X) is not kernel


@every(lambda case: not case.needs_fit)
def test_a_kernel_without_constants_needs_no_fit(kernel, X):
    assert_array_equal(kernel.gram(X), kernel.fit(X).gram(X))


@every_kernel
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda kernel: pickle.loads(pickle.dumps(kernel))])
def test_a_pickled_or_copied_kernel_gives_the_same_matrix(kernel, X, Z, duplicate):
    fitted = kernel.fit(X)
    assert_array_equal(duplicate(fitted).gram(Z, X), fitted.gram(Z, X))
    assert_array_equal(duplicate(kernel).fit(X).gram(X), fitted.gram(X))
    assert duplicate(kernel) == kernel


def saved_and_loaded(value, path):
    arrays = []
    header = {"value": encode(value, arrays, "kernel")}
    write_archive(path, header, arrays)
    header, arrays = read_archive(path)
    return decode(header["value"], arrays)


@every(lambda case: case.saved)
def test_a_kernel_from_a_file_gives_the_same_matrix(kernel, X, Z, tmp_path):
    fitted = kernel.fit(X)
    again = saved_and_loaded(fitted, tmp_path / "fitted.kw")
    assert type(again) is type(fitted)
    assert_array_equal(again.gram(Z, X), fitted.gram(Z, X))
    assert_array_equal(again.gram(X), fitted.gram(X))
    assert_array_equal(again.diag(Z), fitted.diag(Z))
    assert saved_and_loaded(kernel, tmp_path / "given.kw") == kernel


@every(lambda case: case.saved and case.sparse)
def test_a_kernel_of_sparse_samples_from_a_file_gives_the_same_matrix(kernel, X, Z, tmp_path):
    fitted = kernel.fit(sparse.csr_array(X))
    again = saved_and_loaded(fitted, tmp_path / "fitted.kw")
    assert_array_equal(again.gram(Z, X), fitted.gram(Z, X))


@every(lambda case: not case.saved)
def test_a_kernel_that_is_python_code_is_not_saved(kernel):
    with pytest.raises(InvalidInputError, match=r"kernel\.metric holds <function bump .* cannot hold"):
        encode(kernel, [], "kernel")


def products_of_pairs(A, B):
    """Return the products of every row of A with every row of B in one long list, as solver="local" has them."""
    i, j = (index.ravel() for index in np.indices((len(A), len(B))))
    x, y = row_sqnorms(A), row_sqnorms(B)
    products = Products((A @ B.T).ravel(), np.square(A[i] - B[j]).sum(axis=1), x[i], y[j])
    for array in (products.inner, products.sqdist, products.x, products.y):
        array.flags.writeable = False
    return products


@every(lambda case: case.products)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_kernel_of_products_gives_the_matrix_and_its_diagonal(kernel, X, Z, dtype):
    X, Z = X.astype(dtype), Z.astype(dtype)
    Z[2] = 0.0
    kernel = kernel.fit(X)
    close = {"rtol": 0, "atol": 1000 * np.finfo(dtype).eps * scale(kernel.gram(X))}
    values = kernel.of_products(products_of_pairs(Z, X))
    assert values.dtype == dtype
    assert_allclose(values.reshape(7, 23), kernel.gram(Z, X), **close)
    assert_allclose(kernel.of_products(with_itself(row_sqnorms(Z))), kernel.diag(Z), **close)


@every(lambda case: not case.products)
def test_a_kernel_of_the_samples_says_that_products_are_not_enough(kernel, X, Z):
    assert kernel.fit(X).of_products(products_of_pairs(Z, X)) is None


@every_kernel
def test_a_copy_of_the_training_samples_is_recognised_as_them(kernel, X, Z):
    fitted = kernel.fit(X)
    assert_array_equal(fitted.gram(Z, X.copy()), fitted.gram(Z, X))
    assert_array_equal(fitted.diag(X.copy()), fitted.diag(X))


@every_kernel
def test_kernels_can_be_hashed_and_equal_kernels_hash_equally(kernel):
    assert hash(kernel) == hash(copy.copy(kernel))


@every_kernel
def test_the_name_is_one_short_line_that_fitting_does_not_change(kernel, X):
    name = str(kernel)
    assert 0 < len(name) < 100
    assert not set(name) & set("\n[]<>")
    assert str(kernel.fit(X)) == name


@every_kernel
def test_the_repr_shows_no_samples(kernel, X):
    assert type(kernel).__name__ in repr(kernel)
    assert repr(kernel.fit(X)) == repr(kernel)


@every_kernel
def test_float32_in_gives_float32_out_that_agrees_with_float64(kernel, X, Z):
    X, Z = X.astype(np.float32), Z.astype(np.float32)
    X64, Z64 = X.astype(np.float64), Z.astype(np.float64)
    single, double = kernel.fit(X), kernel.fit(X64)
    pairs = [
        (single.gram(X), double.gram(X64)),
        (single.gram(Z, X), double.gram(Z64, X64)),
        (single.diag(Z), double.diag(Z64)),
    ]
    for low, high in pairs:
        assert low.dtype == np.float32
        assert_allclose(low, high, rtol=0, atol=1e-5 * scale(pairs[0][1]))


@every_kernel
def test_mixed_precision_gives_the_higher_one(kernel, X, Z):
    kernel = kernel.fit(X)
    assert kernel.gram(Z.astype(np.float32), X).dtype == np.float64
    assert kernel.gram(X, Z.astype(np.float32)).dtype == np.float64


@every_kernel
def test_permuting_samples_permutes_the_gram_matrix(kernel, X):
    order = np.random.default_rng(2).permutation(len(X))
    K = kernel.fit(X).gram(X)
    assert_allclose(kernel.fit(X[order]).gram(X[order]), K[np.ix_(order, order)], rtol=0, atol=1e-13 * scale(K))


@every_kernel
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_, np.float16])
def test_whole_numbers_of_any_type_are_measured_as_float64(kernel, dtype):
    counts = np.random.default_rng(3).integers(0, 6, size=(15, 4)).astype(dtype)
    K = kernel.fit(counts).gram(counts)
    assert K.dtype == np.float64
    assert_array_equal(K, kernel.fit(counts.astype(np.float64)).gram(counts.astype(np.float64)))


@every_kernel
def test_lists_and_other_memory_layouts_give_the_same_matrix(kernel, X):
    K = kernel.fit(X).gram(X)
    strided = np.zeros((46, 12))
    strided[::2, ::2] = X
    for A in (X.tolist(), np.asfortranarray(X), strided[::2, ::2]):
        assert_allclose(kernel.fit(A).gram(A), K, rtol=0, atol=1e-13 * scale(K))


@every_kernel
def test_an_all_zero_sample_gives_no_nan(kernel, X, Z):
    X[4] = Z[2] = 0.0
    kernel = kernel.fit(X)
    for A in (kernel.gram(X), kernel.gram(Z, X), kernel.gram(Z[2:3], X), kernel.diag(X), kernel.diag(Z)):
        assert np.isfinite(A).all()
    assert_allclose(kernel.diag(X), np.diag(kernel.gram(X)), rtol=1e-12, atol=1e-14)


@every_kernel
def test_copies_of_a_sample_have_the_same_rows(kernel, X):
    X = np.vstack([X, X[3], X[3], X[3], X[3]])  # more copies than SelfTuning looks for neighbours
    K = kernel.fit(X).gram(X)
    assert np.isfinite(K).all()
    assert_allclose(K[23:], np.tile(K[3], (4, 1)), rtol=0, atol=1e-12 * scale(K))


@every_kernel
def test_a_read_only_table_is_enough_and_stays_as_it_was(kernel, X, Z):
    before = X.copy()
    X.flags.writeable = Z.flags.writeable = False
    kernel = kernel.fit(X)
    kernel.gram(X), kernel.gram(Z, X), kernel.diag(Z)
    assert_array_equal(X, before)


@every_kernel
def test_the_matrix_is_a_new_array_so_that_writing_into_it_spoils_nothing(kernel, X):
    kernel, pair = kernel.fit(X), Pair(X)
    first = kernel.evaluate(pair)
    kept = first.copy()
    first[...] = np.nan
    assert_array_equal(kernel.evaluate(pair), kept)


@every_kernel
def test_a_tile_of_a_pair_gives_the_tile_of_the_matrix(kernel, X, Z):
    kernel = kernel.fit(X)
    K, cross = kernel.gram(X), kernel.gram(Z, X)
    close = {"rtol": 0, "atol": 1e-13 * scale(K)}
    for rows, cols in ((slice(0, 9), slice(0, 9)), (slice(0, 9), slice(9, 23)), (slice(5, 6), slice(0, 23))):
        assert_allclose(kernel.evaluate(Pair(X).tile(rows, cols)), K[rows, cols], **close)
    assert_allclose(kernel.evaluate(Pair(Z, X).tile(slice(1, 4), slice(1, 4))), cross[1:4, 1:4], **close)


def guarded(original, width):
    def make_dense(self, *args, **kwargs):
        if width in self.shape:
            pytest.fail(f"a sparse matrix of shape {self.shape} was made dense")
        return original(self, *args, **kwargs)

    return make_dense


def forbid_dense(monkeypatch, width):
    """Make every sparse matrix of this width fail when it is made dense; their products stay free."""
    for cls in (getattr(sparse, f"{form}_{kind}") for form in ("csr", "csc", "coo") for kind in ("array", "matrix")):
        for method in ("toarray", "todense"):
            monkeypatch.setattr(cls, method, guarded(getattr(cls, method), width))


@every_sparse_kernel
def test_sparse_samples_give_the_matrix_of_dense_ones_and_are_never_made_dense(kernel, X, Z, monkeypatch):
    fitted = kernel.fit(X)
    K, cross, diag = fitted.gram(X), fitted.gram(Z, X), fitted.diag(Z)
    tables = [make(X) for make in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix)]
    forbid_dense(monkeypatch, X.shape[1])
    for A in tables:
        thin = kernel.fit(A)
        assert_allclose(thin.gram(A), K, rtol=0, atol=1e-13 * scale(K))
        assert_allclose(thin.gram(sparse.csr_array(Z), A), cross, rtol=0, atol=1e-13 * scale(K))
        assert_allclose(thin.diag(sparse.csr_array(Z)), diag, rtol=0, atol=1e-13 * scale(K))


@every_sparse_kernel
def test_sparse_samples_keep_float32(kernel, X):
    A = sparse.csr_array(X.astype(np.float32))
    kernel = kernel.fit(A)
    assert kernel.gram(A).dtype == kernel.diag(A).dtype == np.float32


@every_sparse_kernel
def test_sparse_and_dense_samples_can_be_compared_with_each_other(kernel, X, Z):
    cross = kernel.fit(X).gram(Z, X)
    close = {"rtol": 0, "atol": 1e-13 * scale(cross)}
    assert_allclose(kernel.fit(X).gram(sparse.csr_array(Z), X), cross, **close)
    assert_allclose(kernel.fit(sparse.csr_array(X)).gram(Z, sparse.csr_array(X)), cross, **close)


@every_sparse_kernel
def test_an_untidy_sparse_matrix_is_understood_and_left_as_it_was(kernel, X):
    A = sparse.csr_array(X)
    # every value in two halves, the columns of a row in descending order, and 64-bit indices
    order = np.concatenate(
        [np.arange(b - 1, a - 1, -1).repeat(2) for a, b in zip(A.indptr, A.indptr[1:], strict=False)]
    )
    untidy = sparse.csr_array(
        (A.data[order] / 2, A.indices[order].astype(np.int64), 2 * A.indptr.astype(np.int64)), shape=A.shape
    )
    before = [a.copy() for a in (untidy.data, untidy.indices, untidy.indptr)]
    K = kernel.fit(X).gram(X)
    assert_allclose(kernel.fit(untidy).gram(untidy), K, rtol=0, atol=1e-13 * scale(K))
    for old, new in zip(before, (untidy.data, untidy.indices, untidy.indptr), strict=True):
        assert_array_equal(new, old)


def test_a_sparse_matrix_too_wide_to_be_dense_goes_through_every_kernel_that_takes_it():
    rng = np.random.default_rng(4)
    n, d = 80, 2 * 10**7
    values, rows, columns = rng.random(800) + 0.5, np.arange(800) % n, rng.integers(0, d, size=800)
    columns[:160] = 7  # samples share a feature, or all of them would be orthogonal
    used, renumbered = np.unique(columns, return_inverse=True)
    X = sparse.csr_array((values, (rows, columns)), shape=(n, d))  # dense: 13 GB
    narrow = sparse.csr_array((values, (rows, renumbered)), shape=(n, len(used)))  # without the empty columns
    kernels = [Gaussian(0.5), Laplacian(), SelfTuning(3), Linear(), Polynomial(2, 1.0), Cosine()]
    bank = KernelBank([*kernels, CosineNormalized(Polynomial(4)), TraceNormalized(Gaussian() + Linear())])
    assert_allclose(bank.fit_grams(X), bank.unfitted().fit_grams(narrow), rtol=1e-12, atol=1e-14)
