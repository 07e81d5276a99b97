"""Every kernel against its formula, pair by pair: dense and sparse, in both precisions, and from products alone."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import additive_chi2_kernel

from kernelweave.errors import InvalidInputError
from kernelweave.kernels import (
    Centered,
    Chi2,
    Cosine,
    CosineNormalized,
    DiameterNormalized,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    MaxNormalized,
    Overlap,
    Pair,
    Pairwise,
    Polynomial,
    RareOverlap,
    Scaled,
    SelfTuning,
    TraceNormalized,
)
from kernelweave.kernels.base import (
    Products,
    as_operand,
    inverse_roots,
    is_count,
    is_positive,
    ones_like_rows,
    read_pair,
    row_sqnorms,
    with_itself,
)
from kernelweave.samples.directions import directions

RNG = np.random.default_rng(0)
X = np.round(np.abs(RNG.normal(size=(9, 4))), 2)
X[RNG.random((9, 4)) < 0.3] = 0
X[4] = 0
Z = np.round(np.abs(RNG.normal(size=(5, 4))), 2)
D2 = ((X[:, None] - X) ** 2).sum(axis=2)
L1 = np.abs(X[:, None] - X).sum(axis=2)
CHI = -additive_chi2_kernel(X)
SHARES = np.clip(np.minimum(X, 1).mean(axis=0), 1 / 18, 1)


def norm(x):
    return np.sqrt(x @ x)


def tuned_scale(x, k):
    d = np.sort([norm(x - y) for y in X])
    return d[k] if d[0] == 0 else d[k - 1]


def chi2(x, y):
    return sum((a - b) ** 2 / (a + b) for a, b in zip(x, y, strict=True) if a + b > 0)


def rare(x, y):
    w = -np.log(SHARES)
    size = np.sqrt((w * x * x).sum() * (w * y * y).sum())
    return (w * x * y).sum() / size if size > 0 else 0


def cosine(x, y, a=0.0):
    size = (a + x @ x) * (a + y @ y)
    return (a + x @ y) / np.sqrt(size) if size > 0 else 0


def centred(x, y):
    def k(x, y):
        return (1 + x @ y) ** 2

    means = np.mean([k(x, z) for z in X]), np.mean([k(z, y) for z in X])
    return k(x, y) - sum(means) + ((1 + X @ X.T) ** 2).mean()


FORMULAS = {
    "linear": (Linear(), lambda x, y: x @ y),
    "polynomial": (Polynomial(3, 0.5), lambda x, y: (0.5 + x @ y) ** 3),
    "quartic": (Polynomial(4, 1.0), lambda x, y: (1 + x @ y) ** 4),
    "default polynomial": (Polynomial(), lambda x, y: (x @ y) ** 2),
    "sextic": (Polynomial(6), lambda x, y: (x @ y) ** 6),
    "cosine": (Cosine(), cosine),
    "cosine of a cubic": (CosineNormalized(Polynomial(3, 0.5)), lambda x, y: cosine(x, y, 0.5) ** 3),
    "cosine of a line": (CosineNormalized(Linear()), cosine),
    "cosine of a multiple": (CosineNormalized(Scaled(Linear(), 3.0)), cosine),
    "cosine of a pairwise": (CosineNormalized(Pairwise("linear")), cosine),
    "gaussian": (Gaussian(0.7), lambda x, y: np.exp(-((x - y) @ (x - y)) / (2 * 0.49 * D2.max()))),
    "default gaussian": (Gaussian(), lambda x, y: np.exp(-((x - y) @ (x - y)) / (2 * D2.max()))),
    "given gaussian": (Gaussian(2.0, 3.0), lambda x, y: np.exp(-((x - y) @ (x - y)) / 72)),
    "laplacian": (Laplacian(0.5), lambda x, y: np.exp(-np.abs(x - y).sum() / (0.5 * L1.max()))),
    "chi2": (Chi2(2.0), lambda x, y: np.exp(-chi2(x, y) / (2 * CHI.max()))),
    "self tuning": (SelfTuning(2), lambda x, y: np.exp(-(norm(x - y) ** 2) / (tuned_scale(x, 2) * tuned_scale(y, 2)))),
    "nearest": (SelfTuning(1), lambda x, y: np.exp(-(norm(x - y) ** 2) / (tuned_scale(x, 1) * tuned_scale(y, 1)))),
    "overlap": (Overlap(), cosine),
    "overlap cubed": (Overlap(3), lambda x, y: cosine(x, y) ** 3),
    "rare overlap": (RareOverlap(), rare),
    "rare overlap squared": (RareOverlap(2), lambda x, y: rare(x, y) ** 2),
    "sum": (Linear() + Polynomial() + Cosine(), lambda x, y: x @ y + (x @ y) ** 2 + cosine(x, y)),
    "product": (Linear() * Polynomial() * Cosine(), lambda x, y: (x @ y) ** 3 * cosine(x, y)),
    "sum with samples": (Linear() + Pairwise("linear") + Linear(), lambda x, y: 3 * (x @ y)),
    "product with samples": (Linear() * Pairwise("linear") * Linear(), lambda x, y: (x @ y) ** 3),
    "multiple": (2.5 * Cosine(), lambda x, y: 2.5 * cosine(x, y)),
    "multiple with samples": (2.5 * Pairwise("cosine"), lambda x, y: 2.5 * cosine(x, y)),
    "centered": (Centered(Polynomial(2, 1.0)), centred),
    "trace": (TraceNormalized(Linear()), lambda x, y: x @ y / np.mean([z @ z for z in X])),
    "max": (MaxNormalized(Linear()), lambda x, y: x @ y / (X @ X.T).max()),
    "diameter": (DiameterNormalized(Linear()), lambda x, y: x @ y / D2.max()),
    "rescaled with samples": (MaxNormalized(Pairwise("linear")), lambda x, y: x @ y / (X @ X.T).max()),
}
KERNELS = pytest.mark.parametrize("name", FORMULAS)


def close(dtype):
    return {"rtol": 2e-4, "atol": 2e-5} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-10}


@cache
def expected_of(name):
    """Return the formula for all pairs of the samples X and Z, one after the other."""
    both = np.concatenate([X, Z])
    return np.array([[FORMULAS[name][1](x, y) for y in both] for x in both])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@KERNELS
def test_a_kernel_is_its_formula(name, form, dtype):
    if form is not np.asarray and name == "chi2":
        with pytest.raises(InvalidInputError, match="Chi2 takes dense samples"):
            Chi2().fit(form(X))
        return
    kernel, values = FORMULAS[name][0], expected_of(name)
    A, B = form(X.astype(dtype)), form(Z.astype(dtype))
    first, last = slice(0, 9), slice(9, 14)
    fixed = kernel.fit(A)
    for left, right, rows, cols in (
        (A, None, first, first),
        (B, A, last, first),
        (B, None, last, last),
        (A, B, first, last),
    ):
        expected = values[rows, cols]
        found = fixed.gram(left, right)
        assert found.dtype == dtype
        assert_allclose(found, expected, **close(dtype))
        pair = read_pair(left, right)
        from_products = fixed.of_products(pair)
        if from_products is not None:
            assert_allclose(from_products, expected, **close(dtype))
            assert from_products.dtype == dtype
    for table, rows in ((A, first), (B, last)):
        d = fixed.diag(table)
        assert_allclose(d, values.diagonal()[rows], **close(dtype))
        assert d.dtype == dtype


@pytest.mark.parametrize("name", [name for name in FORMULAS if "samples" not in name])
def test_products_of_single_pairs_give_the_kernel_of_these_pairs(name):
    kernel, formula = FORMULAS[name]
    fixed = kernel.fit(X)
    i, j = np.array([0, 4, 2, 7]), np.array([1, 4, 3, 0])
    given = Products(
        (X[i] * Z[j]).sum(axis=1), ((X[i] - Z[j]) ** 2).sum(axis=1), (X[i] ** 2).sum(axis=1), (Z[j] ** 2).sum(axis=1)
    )
    before = given.inner.copy(), given.sqdist.copy()
    found = fixed.of_products(given)
    needs_samples = isinstance(kernel, SelfTuning | Laplacian | Chi2 | RareOverlap | Centered) or "pairwise" in name
    assert (found is None) == needs_samples
    if found is not None:
        assert_allclose(found, [formula(X[a], Z[b]) for a, b in zip(i, j, strict=True)], rtol=1e-9, atol=1e-12)
        assert_array_equal(given.inner, before[0])
        assert_array_equal(given.sqdist, before[1])


def test_wholes_that_need_samples_say_so_by_none():
    pair = Pair(X)
    for kernel in (Linear() + Pairwise("linear"), Linear() * Pairwise("linear"), 2 * Pairwise("linear")):
        assert kernel.of_products(pair) is None
        assert_allclose(kernel.evaluate(pair).shape, (9, 9))
    fixed = TraceNormalized(Pairwise("linear")).fit(X)
    assert fixed.of_products(pair) is None


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(), Laplacian(), Chi2(), SelfTuning(2), RareOverlap(), Centered(Linear()), TraceNormalized(Linear())],
    ids=str,
)
def test_a_kernel_that_was_not_fitted_says_so(kernel):
    with pytest.raises(InvalidInputError, match=r"call kernel\.fit\(X\)"):
        kernel.gram(X)


def test_a_kernel_defines_evaluate_or_of_products():
    class Nothing(Kernel):
        def diag(self, X):
            return np.zeros(len(X))

    with pytest.raises(NotImplementedError, match=r"must define evaluate\(pair\) or of_products"):
        Nothing().gram(X)


@pytest.mark.parametrize(
    ("value", "positive", "count"),
    [
        *((value, True, True) for value in (1, 3.0, np.float32(2))),
        *((value, True, False) for value in (2.5, 0.5)),
        *((value, False, False) for value in (0, -1, np.inf, np.nan, "1", None)),
    ],
)
def test_parameters_are_positive_numbers_or_counts(value, positive, count):
    assert (bool(is_positive(value)), bool(is_count(value))) == (positive, count)


def test_names_show_what_was_set():
    assert str(Gaussian(0.5)) == "gaussian(t=0.5)"
    assert str(Linear()) == "linear"
    assert str(RareOverlap()) == "rare overlap"
    assert str(RareOverlap(2)) == "rare overlap(power=2)"
    assert as_operand(Linear() + Cosine()) == "(linear + cosine)"
    assert as_operand(Linear() * Cosine()) == "linear * cosine"
    assert str(Centered(Linear())) == "centered(linear)"


def test_samples_of_distances_beyond_the_precision_are_refused():
    huge = np.array([[1e19], [-1e19]], dtype=np.float32)  # their squares are numbers, their distance is not
    with pytest.raises(InvalidInputError, match="larger than any number of float32"):
        Gaussian().fit(huge)
    with pytest.raises(InvalidInputError, match="All 2 samples are identical"):
        Gaussian().fit(np.ones((2, 3)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_samples_that_differ_by_rounding_only_are_identical(dtype):
    rows = np.outer(np.linspace(0.1, 9.1, 40), np.linspace(1, 2, 15)).astype(dtype)
    with pytest.raises(InvalidInputError, match="All 40 samples are identical"):
        Gaussian().fit(directions(rows))
    rows[0] *= 1 + 1e-5 * np.arange(15, dtype=dtype)  # which is more than rounding
    first, second, *_ = directions(rows)
    assert Gaussian().fit(directions(rows)).diameter == pytest.approx(np.linalg.norm(first - second), rel=0.02)


def test_weights_and_diameters_that_are_given_stay():
    kernel = RareOverlap(1, np.array([1.0, 0.0, 0.0, 4.0]))
    assert kernel.fit(X) is kernel
    x, y = Z[0], Z[1]
    expected = (x[0] * y[0] + 4 * x[3] * y[3]) / np.sqrt((x[0] ** 2 + 4 * x[3] ** 2) * (y[0] ** 2 + 4 * y[3] ** 2))
    assert kernel.gram(Z)[0, 1] == pytest.approx(expected)
    assert Gaussian(1.0, 2.0).fit(X) == Gaussian(1.0, 2.0)
    with pytest.raises(InvalidInputError, match="the smallest value is -1"):
        RareOverlap().fit(-np.eye(3))
    assert_array_equal(RareOverlap().fit(np.eye(3)).diag(np.zeros((2, 3))), 0)


def test_the_mean_of_centred_samples_is_exactly_the_origin():
    line = np.array([[-1.0], [0.0], [1.0]])
    for table in (line, line + 1000, (line + 3).astype(np.float32)):
        kernel = Centered(Linear()).fit(table)
        assert kernel.diag(table)[1] == 0
        assert_allclose(kernel.diag(table)[[0, 2]], 1, rtol=1e-3)
    near = np.array([[-1.0], [1e-6], [1.0 - 1e-6]])
    assert Centered(Linear()).fit(near).diag(near)[1] == pytest.approx(1e-12, rel=1e-2)


# products of samples


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_a_pair_are_those_of_its_samples(form, dtype):
    A, B = form(X.astype(dtype)), form(Z.astype(dtype))
    for pair, rows, cols in ((Pair(A), X, X), (Pair(A, B), X, Z)):
        assert pair.same == (cols is X)
        assert pair.shape == (9, len(cols))
        assert pair.dtype == dtype
        assert_allclose(pair.inner, rows @ cols.T, **close(dtype))
        assert_allclose(pair.sqdist, ((rows[:, None] - cols) ** 2).sum(axis=2), **close(dtype))
        assert_allclose(pair.x[:, 0], (rows**2).sum(axis=1), rtol=1e-5)
        assert_allclose(pair.y[0], (cols**2).sum(axis=1), rtol=1e-5)
        assert Gaussian().largest(pair) == pytest.approx(
            np.sqrt(((rows[:, None] - cols) ** 2).sum(axis=2)).max(), rel=1e-5
        )
        assert not pair.sqdist.flags.writeable
        assert not pair.inner.flags.writeable
        tile = pair.tile(slice(2, 6), slice(1, 4), np.float32)
        assert (tile.shape, tile.dtype, tile.same) == ((4, 3), np.float32, False)
        assert_allclose(tile.sqdist, pair.sqdist[2:6, 1:4], rtol=1e-5)
        assert_allclose(tile.inner, pair.inner[2:6, 1:4], rtol=1e-5)
        assert_allclose(tile.x, pair.x[2:6], rtol=1e-5)
        assert_allclose(tile.y, pair.y[:, 1:4], rtol=1e-5)
        square = pair.tile(slice(2, 5), slice(2, 5))
        assert square.same == pair.same
        assert square.dtype == dtype
        assert (square.Y is square.X) == pair.same
        for found, table in ((tile.X, rows[2:6]), (tile.Y, cols[1:4])):
            assert_allclose(found.toarray() if sparse.issparse(found) else found, table, rtol=1e-6)


def test_copies_of_a_sample_are_at_distance_zero_and_samples_nearly_equal_are_not():
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        for offset in (0.0, 100.0):
            table = (rng.normal(size=(6, 50)) + offset).astype(dtype)
            table[3] = table[1]
            for form in (np.asarray, sparse.csr_array):
                D = Pair(form(table)).sqdist
                assert D[1, 3] == D[3, 1] == 0
                assert_array_equal(D.diagonal(), 0)
                off = ~np.eye(6, dtype=bool)
                off[1, 3] = off[3, 1] = False
                assert D[off].min() > 0
                crossed = Pair(form(table[:2]), form(table[3:])).sqdist
                assert crossed[1, 0] == 0
                assert np.count_nonzero(crossed == 0) == 1
    eps = np.finfo(float).eps
    one, other = np.array([[1.0, 0.0]]), [-5.0, 3.0]
    for units, equal in ((2, True), (8, False)):  # 2 (1 + √2) units of two squares in two orders are rounding
        near = np.array([[1.0, np.sqrt(units * eps)], other])
        assert (Pair(one, near).sqdist[0, 0] == 0) == equal
        assert Pair(one, near).sqdist[0, 1] == 45


def test_distances_far_from_the_origin_keep_their_digits():
    rng = np.random.default_rng(0)
    near = rng.normal(size=(7, 3))
    expected = ((near[:, None] - near) ** 2).sum(axis=2)
    for offset in (1e3, 1e6):
        assert_allclose(Pair(near + offset).sqdist, expected, rtol=1e-6)
        assert_allclose(Pair(near[:4] + offset, near + offset).sqdist, expected[:4], rtol=1e-6)


def test_products_of_samples_with_themselves_have_no_distance():
    found = with_itself(np.array([1.0, 4.0]))
    assert_array_equal(found.sqdist, 0)
    for part in (found.inner, found.x, found.y):
        assert_array_equal(part, [1, 4])
    assert_array_equal(inverse_roots(np.array([4.0, 0.0, 0.25])), [0.5, 0, 2])
    assert_array_equal(row_sqnorms(np.array([[3.0, 4.0], [0.0, 0.0]])), [25, 0])
    ones = ones_like_rows(np.zeros((3, 2), dtype=np.float32))
    assert_array_equal(ones, 1)
    assert ones.dtype == np.float32


def test_tables_of_different_width_are_refused():
    with pytest.raises(InvalidInputError, match="X has 4 features but Y has 3"):
        read_pair(X, Z[:, :3])
    assert read_pair(X, X).same
