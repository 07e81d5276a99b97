"""The paper's kernel sets against an independent construction from distances and inner products."""

import numpy as np
import pytest
import scipy.io
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from kernelweave.errors import InvalidInputError
from kernelweave.kernels import RECIPES, recipe

BANDWIDTHS = {12: (0.01, 0.05, 0.1, 1, 10, 50, 100), 7: (0.1, 1, 10, 100)}
POLYNOMIALS = {12: ((0, 2), (0, 4), (1, 2), (1, 4)), 7: ((0, 2), (1, 2))}
sizes = pytest.mark.parametrize("size", [12, 7])
every_recipe = pytest.mark.parametrize("name", RECIPES)


def released(A, B, X, size):
    """Return the kernels of A with B on the scale of X: Gaussians, linear, polynomials, by sqrt(K_ii K_jj)."""
    d_max = cdist(X, X).max()
    stack = [np.exp(-(cdist(A, B) ** 2) / (2 * t**2 * d_max**2)) for t in BANDWIDTHS[size]]
    for a, b in ((0, 1), *POLYNOMIALS[size]):
        d = [np.sqrt((a + (C * C).sum(axis=1)) ** b) for C in (A, B)]
        stack.append((a + A @ B.T) ** b / np.outer(*d))
    return np.stack(stack)


def printed(A, B, X, size):
    """Return the kernels of A with B on the scale of X as the paper's text has them."""
    d_max = cdist(X, X).max()
    stack = [np.exp(-(cdist(A, B) ** 2) / (t * d_max**2)) for t in BANDWIDTHS[size]]
    stack += [(a + A @ B.T) ** b for a, b in ((0, 1), *POLYNOMIALS[size])]
    return np.stack(stack) / d_max**2


@pytest.fixture(params=range(3))
def X(request):
    return np.random.default_rng(request.param).normal(size=(31, 4))


@pytest.fixture(scope="module")
def yale(shared_data):
    return scipy.io.loadmat(shared_data / "paper" / "YALE_165n_1024d_15c_zscore_uni.mat")["X"].astype(np.float64)


@sizes
@pytest.mark.parametrize(("name", "construction"), [("released", released), ("printed", printed)])
def test_a_recipe_is_what_its_formulas_say(name, construction, size, X):
    H = recipe(f"{name}-{size}").fit_grams(X)
    expected = construction(X, X, X, size)
    assert H.shape == (size, 31, 31)
    for K, formula in zip(H, expected, strict=True):
        assert_allclose(K, formula, rtol=0, atol=1e-12 * max(1, np.abs(formula).max()))


@sizes
@pytest.mark.parametrize(("name", "construction"), [("released", released), ("printed", printed)])
def test_a_recipe_measures_new_samples_on_the_scale_of_the_training_samples(name, construction, size, X):
    Z = 3 * np.random.default_rng(9).normal(size=(5, 4))  # wider than X: a diameter of their own would show
    bank = recipe(f"{name}-{size}").fit(X)
    assert_allclose(bank.grams(Z, X), construction(Z, X, X, size), rtol=1e-10, atol=1e-12)
    assert_allclose(bank.grams(Z), construction(Z, Z, X, size), rtol=1e-10, atol=1e-12)


@sizes
@pytest.mark.parametrize(("name", "construction"), [("released", released), ("printed", printed)])
def test_a_recipe_on_faces_is_what_its_formulas_say(name, construction, size, yale):
    H = recipe(f"{name}-{size}").fit_grams(yale)
    assert H.shape == (size, 165, 165)
    assert_allclose(H, construction(yale, yale, yale, size), rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [12, 7])
def test_released_kernels_have_unit_diagonals(size, X):
    H = recipe(f"released-{size}").fit_grams(X)
    assert_allclose(np.diagonal(H, axis1=1, axis2=2), 1, rtol=1e-13)


@pytest.mark.parametrize("size", [12, 7])
def test_released_kernels_do_not_depend_on_the_unit_of_the_data_where_they_are_homogeneous(size, X):
    homogeneous = [i for i, name in enumerate(recipe(f"released-{size}").names) if "a=1" not in name]
    H, scaled = recipe(f"released-{size}").fit_grams(X), recipe(f"released-{size}").fit_grams(1000 * X)
    assert_allclose(scaled[homogeneous], H[homogeneous], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["released", "printed"])
def test_kernels_come_in_the_documented_order(kind):
    assert recipe(f"{kind}-12").names == (
        "gaussian(t=0.01)",
        "gaussian(t=0.05)",
        "gaussian(t=0.1)",
        "gaussian(t=1)",
        "gaussian(t=10)",
        "gaussian(t=50)",
        "gaussian(t=100)",
        "linear",
        "polynomial(a=0, b=2)",
        "polynomial(a=0, b=4)",
        "polynomial(a=1, b=2)",
        "polynomial(a=1, b=4)",
    )
    assert recipe(f"{kind}-7").names == (
        "gaussian(t=0.1)",
        "gaussian(t=1)",
        "gaussian(t=10)",
        "gaussian(t=100)",
        "linear",
        "polynomial(a=0, b=2)",
        "polynomial(a=1, b=2)",
    )


@every_recipe
def test_the_number_in_the_name_is_the_number_of_kernels_and_their_names_are_unique(name):
    bank = recipe(name)
    assert len(bank) == len(set(bank.names)) == int(name.split("-")[1])


@every_recipe
def test_a_recipe_gives_a_fresh_bank_that_is_not_fitted(name, X):
    recipe(name).fit(X)
    with pytest.raises(InvalidInputError, match="not fitted"):
        recipe(name).grams(X)


@every_recipe
def test_a_recipe_takes_an_all_zero_sample(name, X):
    X[3] = 0
    assert np.isfinite(recipe(name).fit_grams(X)).all()


@pytest.mark.parametrize("name", ["released", "released-13", "", "linear"])
def test_an_unknown_recipe_is_refused_with_the_known_ones(name):
    with pytest.raises(InvalidInputError, match=rf"'{name}'.*released-12, released-7, printed-12, printed-7"):
        recipe(name)


@every_recipe
def test_identical_samples_have_no_diameter_and_are_refused(name):
    with pytest.raises(InvalidInputError, match="All 5 samples are identical"):
        recipe(name).fit(np.ones((5, 3)))
