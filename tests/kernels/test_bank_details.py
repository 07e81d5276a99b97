"""Banks: weighted sums, gaps in views, sizes that are refused, plugins, and what a user may pass as kernels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave import Views
from kernelweave.errors import InvalidInputError, PluginError
from kernelweave.kernels import (
    RECIPES,
    CosineNormalized,
    DiameterNormalized,
    Gaussian,
    Kernel,
    KernelBank,
    Linear,
    Mixed,
    Overlap,
    Pair,
    Pairwise,
    Polynomial,
    PrecomputedBank,
    RareOverlap,
    ViewBank,
    as_kernel,
    bank_of,
    plugin_kernels,
    recipe,
)
from kernelweave.kernels.bank import check_stack, weighted_products, weighted_stack
from kernelweave.kernels.gaps import knowledge, spread
from kernelweave.kernels.recipes import as_bank, is_mixed_recipe, is_recipe
from kernelweave.samples import KernelStack

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(8, 3)), RNG.normal(size=(5, 3))
KERNELS = [Linear(), Polynomial(2, 1.0), Pairwise("rbf")]


# weighted sums


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [[0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [-1.0, 0.5, 2.0]])
def test_weighted_sums_are_those_of_the_stack_whichever_way(p, dtype):
    p, bank = np.array(p), KernelBank(KERNELS).fit(X.astype(dtype))
    pair = Pair(Z.astype(dtype), X.astype(dtype))
    H = bank.stack(pair)
    expected = sum(pi * Hi.astype(float) for pi, Hi in zip(p, H, strict=True))
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-10, "atol": 1e-12}
    assert_allclose(bank.weighted(pair, p), expected, **close)
    assert_allclose(weighted_stack(H, p), expected, **close)
    asked = []
    found = weighted_products(bank.kernels, p, pair, lambda kernel: asked.append(kernel) or kernel.evaluate(pair))
    assert_allclose(found, expected, **close)
    assert found.dtype == dtype
    assert asked == ([bank.kernels[2]] if p[2] else [])
    assert_array_equal(bank.stack(pair), H)


def test_a_sum_that_is_not_finite_is_refused_and_a_kernel_without_weight_is_not_computed():
    def never(kernel):
        raise AssertionError

    big = Pair(np.full((2, 1), 1e60), np.full((2, 1), 1e60))
    with pytest.raises(InvalidInputError, match=r"polynomial\(degree=4, offset=0\) gave inf or NaN"):
        weighted_products([Polynomial(4)], np.ones(1), big, never)
    wide = weighted_products([Linear(), Polynomial(4)], np.array([1.0, 0.0]), big, never)
    assert_allclose(wide, 1e120)
    edge = Pair(np.full((2, 1), 1e154))
    assert np.isfinite(weighted_products([Linear()], np.ones(1), edge, never)).all()  # though the sum of all is not


def test_the_values_of_a_stack_are_neither_too_large_nor_too_small():
    ok = np.array([[[1.0, -1e99], [0.0, 2.0]], [[1e-99, 0], [0, -1e-99]]])
    check_stack(ok, ("a", "b"), training=True)
    for dtype, limit in ((np.float64, 1e100), (np.float32, 1e15)):
        for factor, bad in ((2.0, True), (0.5, False)):
            H = np.ones((2, 3, 3), dtype=dtype)
            H[1, 2, 0] = -limit * factor
            if bad:
                with pytest.raises(InvalidInputError, match="Kernel 'b' has absolute values up to 2e"):
                    check_stack(H, ("a", "b"), training=False)
            else:
                check_stack(H, ("a", "b"), training=False)
        small = np.full((1, 2, 2), 0.5 / limit, dtype=dtype)
        check_stack(small, ("a",), training=False)
        with pytest.raises(InvalidInputError, match="Kernel 'a' has absolute values up to 5e"):
            check_stack(small, ("a",), training=True)
    check_stack(np.zeros((1, 2, 2)), ("a",), training=True)
    check_stack(np.empty((1, 0, 2)), ("a",), training=False)


# samples that lack views


def features(views, v):
    """Return the tables of a view with a sample that lacks it at the mean, and others farther from it."""
    present = views.present[v]
    known = views.tables[v].toarray() if sparse.issparse(views.tables[v]) else views.tables[v]
    phi = np.zeros((len(present), known.shape[1]))
    phi[present] = known
    return phi, present


def weights_of(present):
    share = present.mean(axis=0)
    return present / np.sqrt(share)


def test_knowledge_makes_up_for_the_views_that_are_missing():
    present = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]], dtype=bool)
    assert_allclose(knowledge(present), weights_of(present))
    assert_allclose((knowledge(present) ** 2).sum(axis=0), 3)


def test_values_are_spread_as_inner_products_of_moved_features():
    rng = np.random.default_rng(1)
    mu = rng.normal(size=3)
    phi, psi = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    t, u = np.array([1.0, 0.0, 1.2, 0.7]), np.array([0.0, 1.0, 1.0, 0.5, 0.0])
    x, y = np.flatnonzero(t), np.flatnonzero(u)
    H = (phi[x] @ psi[y].T)[None]
    means = (phi[x] @ mu)[None], (psi[y] @ mu)[None], np.array([mu @ mu])
    expected = (mu + t[:, None] * (phi - mu)) @ (mu + u[:, None] * (psi - mu)).T
    assert_allclose(spread(H, t, u, means)[0], expected)
    both = spread(np.concatenate([H, 2 * H]), t, u, tuple(np.concatenate([m, 2 * m]) for m in means))
    assert_allclose(both, [expected, 2 * expected])
    assert spread(H, t, u, means, np.float32).dtype == np.float32
    assert spread(H.astype(np.float32), t, u, means).dtype == np.float32
    full = rng.random((1, 4, 5))
    assert_allclose(spread(full, np.ones(4), np.ones(5), (rng.random((1, 4)), rng.random((1, 5)), np.ones(1))), full)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_linear_kernels_of_views_with_gaps_are_inner_products_of_moved_samples(form, dtype):
    A, B = RNG.normal(size=(9, 3)).astype(dtype), RNG.normal(size=(9, 2)).astype(dtype)
    training = Views({"a": form(A), "b": form(B)}, missing={"a": [0, 4], "b": [1, 8]})
    new = Views({"a": form(A[:4] + 1), "b": form(B[:4] - 1)}, missing={"a": [2], "b": [0]})
    bank = ViewBank({"a": KernelBank([Linear()]), "b": KernelBank([Linear(), Polynomial(1, 2.0)])})
    H = bank.fit_grams(training)
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-11}
    expected, crossed, own = [], [], []
    for v in range(2):
        phi, present = features(training, v)
        psi, _ = features(new, v)
        mu = phi[present].mean(axis=0)
        t, u = weights_of(training.present)[v][:, None], weights_of(new.present)[v][:, None]
        moved, other = mu + t * (phi - mu), mu + u * (psi - mu)
        for offset in (0.0,) if v == 0 else (0.0, 2.0):
            expected.append(moved @ moved.T + offset)
            crossed.append(other @ moved.T + offset)
            own.append(other @ other.T + offset)
    p = np.array([0.5, 0.3, -0.2])
    tile = bank.unfitted().fit_tiles(training)
    fresh = bank.unfitted()
    fresh.fit(training)
    assert bank.training is fresh.training is training
    assert bank.unfitted().training is None
    for fitted in (bank, fresh):
        assert_allclose(fitted.grams(training), expected, **close)
        assert_allclose(fitted.grams(new, training), crossed, **close)
        assert_allclose(fitted.grams(new), own, **close)
        assert_allclose(fitted.weighted(new, p), np.tensordot(p, crossed, axes=1), **close)
    assert_allclose(H, expected, **close)
    assert H.dtype == dtype
    for rows in (slice(0, 1), slice(1, 2), slice(0, 5), slice(4, 9), slice(8, 9)):
        for cols in (slice(0, 9), slice(4, 5), slice(2, 4)):
            assert_allclose(tile(rows, cols), np.array(expected)[:, rows, cols], **close)
            assert_allclose(tile(rows, cols, None, p), np.tensordot(p, expected, axes=1)[rows, cols], **close)


def test_a_view_that_no_new_sample_has_gives_its_means():
    A, B = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 2))
    training = Views({"a": A, "b": B})
    new = Views({"a": A[:2], "b": B[:2]}, missing={"b": [0, 1]})
    bank = ViewBank({"a": KernelBank([Linear()]), "b": KernelBank([Linear()])}).fit(training)
    H = bank.grams(new, training)
    assert_allclose(H[1], np.tile(B.mean(axis=0) @ B.T, (2, 1)))
    assert_allclose(bank.weighted(new, np.array([0.0, 2.0])), 2 * H[1])
    assert_allclose(bank.grams(new)[1], B.mean(axis=0) @ B.mean(axis=0))


def test_views_are_refused_by_name_and_by_type_and_need_two_samples():
    bank = ViewBank({"a": KernelBank([Linear()]), "b": KernelBank([Linear()])})
    with pytest.raises(InvalidInputError, match="kernels for the views a, b; got b, a"):
        bank.fit(Views({"b": X, "a": X}))
    with pytest.raises(InvalidInputError, match="kernels for the views a, b; got ndarray"):
        bank.fit(X)
    with pytest.raises(InvalidInputError, match=r"not fitted: call bank\.fit"):
        bank.grams(Views({"a": X, "b": X}))
    assert repr(bank) == "ViewBank(a: 1 kernel, b: 1 kernel)"
    assert len(bank) == 2
    with pytest.raises(InvalidInputError, match="view"):
        bank.fit(Views({"a": X, "b": X}, missing={"b": list(range(1, 8))}))
    bank.fit(Views({"a": X, "b": X}, missing={"b": list(range(2, 8))}))


# precomputed


def test_matrices_of_single_precision_must_fit_in_it():
    H = np.stack([np.eye(4), 1e20 * np.eye(4)])
    stack = KernelStack(H, ("a", "b"))
    bank = PrecomputedBank(("a", "b"))
    tile = bank.fit_tiles(stack)
    assert_array_equal(tile(slice(0, 2), slice(1, 3)), H[:, :2, 1:3])
    assert_array_equal(tile(slice(0, 2), slice(1, 3), np.float64, np.array([2.0, 0.0])), 2 * H[0, :2, 1:3])
    with pytest.raises(InvalidInputError, match="'b' has absolute values up to 1e"):
        tile(slice(0, 4), slice(0, 4), np.float32)
    assert tile(slice(0, 1), slice(1, 3), np.float32).dtype == np.float32
    single = PrecomputedBank(("a", "b")).fit_tiles(KernelStack(H.astype(np.float32), ("a", "b")))
    assert single(slice(0, 4), slice(0, 4), np.float32).shape == (2, 4, 4)
    assert bank.views == ("kernels", "kernels")
    assert len(bank) == 2
    assert bank.fit(stack) is bank.unfitted() is bank.astype(np.float32) is bank
    assert bank.training is None
    assert bank.fit_grams(stack) is stack.matrices
    assert bank.grams(stack) is stack.matrices
    assert_array_equal(bank.weighted(stack, np.array([1.0, 0.5])), np.diag([1 + 5e19] * 4))


# recipes


def test_recipes_are_made_of_these_kernels():
    wide, few = [0.01, 0.05, 0.1, 1, 10, 50, 100], [0.1, 1, 10, 100]
    for size, ts, polynomials in ((12, wide, [(0, 2), (0, 4), (1, 2), (1, 4)]), (7, few, [(0, 2), (1, 2)])):
        products = [Linear(), *(Polynomial(b, float(a)) for a, b in polynomials)]
        names = [f"gaussian(t={t:g})" for t in ts] + ["linear"] + [f"polynomial(a={a}, b={b})" for a, b in polynomials]
        released = [Gaussian(t) for t in ts] + [CosineNormalized(k) for k in products]
        printed = [DiameterNormalized(k) for k in [*(Gaussian((t / 2) ** 0.5) for t in ts), *products]]
        for kind, kernels in (("released", released), ("printed", printed)):
            bank = recipe(f"{kind}-{size}")
            assert list(bank.names) == names
            assert list(bank.kernels) == kernels


def test_categories_have_eight_kernels_of_their_own():
    kernels = [
        *(Overlap(p) for p in (1, 2, 4)),
        *(RareOverlap(p) for p in (1, 2)),
        *(Gaussian(t) for t in (0.3, 1, 10)),
    ]
    assert list(Mixed().bank("categories").kernels) == kernels
    assert list(as_bank("released-7", "categories").kernels) == kernels
    assert list(as_bank("mixed", "categories").kernels) == kernels
    assert as_bank("mixed", "numbers", 20).names == recipe("released-12").names
    assert as_bank("mixed", n_columns=20).names == recipe("released-12").names
    own = Mixed(numbers="released-7", categories=[Linear()])
    assert own.bank("categories").names == ("linear",)
    assert own.bank("numbers").names == recipe("released-7").names
    assert as_bank(own, "categories").names == ("linear",)
    assert (Mixed().standardize, Mixed().gaps) == (True, True)
    assert Mixed(standardize=False).choices != Mixed().choices != Mixed(gaps=False).choices
    with pytest.raises(InvalidInputError, match="Unknown kernel recipe 'nothing'"):
        as_bank("nothing", "categories")


def test_names_tell_recipes_and_the_mixed_recipe():
    assert [is_recipe(name) for name in (*RECIPES, "auto", "mixed", "linear")] == [True] * 6 + [False] * 2
    assert [is_mixed_recipe(one) for one in ("mixed", Mixed(), "released-7", None)] == [True, True, False, False]


def test_a_bank_is_made_of_whatever_gives_kernels():
    fitted = KernelBank([Gaussian()]).fit(X)
    for given, names in (
        (Linear(), ("linear",)),
        ([Linear(), "rbf"], ("linear", "rbf")),
        ((Linear(),), ("linear",)),
        ({"one": Linear()}, ("one",)),
        (fitted, ("gaussian(t=1)",)),
        (lambda x, y: 1.0, ("<lambda>",)),
    ):
        bank = as_bank(given)
        assert bank.names == names
        assert "not fitted" in repr(bank)
    with pytest.raises(InvalidInputError, match="kernels must be a recipe's name"):
        as_bank(3)


# views and their kernels


TWO = Views({"a": X, "b": X[:, :2]})
ONE = Views({"a": X})


@pytest.mark.parametrize(
    ("views", "kernels", "names"),
    [
        (TWO, {"a": [Linear()], "b": [Gaussian()]}, ("a: linear", "b: gaussian(t=1)")),
        (TWO, {"a": Linear(), "b": Gaussian()}, ("a: linear", "b: gaussian(t=1)")),
        (TWO, {"k": Linear()}, ("a: k", "b: k")),
        (TWO, Linear(), ("a: linear", "b: linear")),
        (ONE, {"a": Linear()}, ("a",)),
        (ONE, {"a": [Linear()]}, ("linear",)),
        (ONE, {"k": Linear(), "l": Gaussian()}, ("k", "l")),
        (ONE, {"a": KernelBank([Linear()])}, ("linear",)),
        (ONE, {"a": {"k": Linear()}}, ("k",)),
        (ONE, {"a": (Linear(),)}, ("linear",)),
    ],
)
def test_a_dict_gives_kernels_to_views_or_names_to_kernels(views, kernels, names):
    assert bank_of(kernels, views).names == names


def test_a_view_may_have_a_recipe_by_name():
    assert len(bank_of({"a": "released-7"}, ONE)) == 7
    assert len(bank_of({"a": "released-7", "b": "mixed"}, TWO)) == 7 + 4  # of two columns
    assert len(bank_of({"a": "mixed"}, ONE)) == 4
    assert bank_of({"a": "rbf"}, ONE).names == ("a",)


@pytest.mark.parametrize("kernels", [{"a": [Linear()]}, {"a": Linear(), "c": Linear()}, {"k": [Linear()]}])
def test_a_dict_that_names_some_views_is_refused(kernels):
    with pytest.raises(InvalidInputError, match="kernels must name every view once, or none"):
        bank_of(kernels, TWO)


# plugins


class Local(Kernel):
    """A kernel of another package."""

    def of_products(self, products):
        return products.inner.copy()

    def diag(self, X):
        return np.ones(len(X))


class Demanding(Local):
    def __init__(self, must):
        self.must = must


FOUND = {
    "local": Local,
    "pair": {"one": Linear(), "two": Gaussian()},
    "demanding": Demanding,
    "empty": {},
    "wrong": {"one": 1},
    "text": "linear",
    "class": int,
    "object": Local(),
}


@pytest.fixture
def plugins(monkeypatch):
    monkeypatch.setattr(plugin_kernels, "plugin_names", lambda group: tuple(FOUND) if group == "kernels" else ())
    monkeypatch.setattr(plugin_kernels, "load_plugin", lambda group, name: FOUND[name] if group == "kernels" else None)


@pytest.mark.usefixtures("plugins")
def test_plugins_add_kernels_and_recipes():
    assert isinstance(plugin_kernels.plugin_kernel("local"), Local)
    assert plugin_kernels.plugin_recipe("local") is None
    assert plugin_kernels.plugin_kernel("pair") is None
    assert plugin_kernels.plugin_recipe("pair") == FOUND["pair"]
    assert plugin_kernels.plugin_kernel("unknown") is plugin_kernels.plugin_recipe("unknown") is None
    assert isinstance(as_kernel("local"), Local)
    assert as_kernel("rbf") == Pairwise("rbf")
    assert recipe("pair").names == ("one", "two")
    assert recipe("local").names == ("local",)
    assert is_recipe("pair")
    assert not is_recipe("local")


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize("name", ["empty", "wrong", "text", "class", "object"])
def test_plugins_that_are_no_kernels_are_refused(name):
    with pytest.raises(PluginError, match="must be a class derived from"):
        plugin_kernels.plugin_kernel(name)


@pytest.mark.usefixtures("plugins")
def test_a_plugin_that_needs_parameters_is_refused():
    with pytest.raises(PluginError, match=r"Demanding\(\) fails"):
        plugin_kernels.plugin_recipe("demanding")
