"""The recipe "auto": four Gaussians for few columns, the paper's twelve kernels for more."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from kernelweave import WeaveClassifier, WeaveClustering
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Mixed, recipe
from kernelweave.kernels.recipes import as_bank
from kernelweave.kernels.view_bank import bank_of
from kernelweave.samples.views import Views

FEW, MANY = recipe("gaussian-4").names, recipe("released-12").names


def table(width, n=30):
    return np.random.default_rng(width).normal(size=(n, width))


@pytest.mark.parametrize(("width", "names"), [(1, FEW), (9, FEW), (10, MANY), (500, MANY)])
def test_the_number_of_columns_decides(width, names):
    assert recipe("auto", width).names == names
    assert as_bank("auto", n_columns=width).names == names
    assert as_bank(Mixed(), n_columns=width).names == names
    assert bank_of("auto", Views({"a": table(width)})).names == names


def test_gaussian_4_has_the_narrow_released_gaussians_and_one_that_is_wide():
    assert tuple(f"gaussian(t={t})" for t in ("0.01", "0.05", "0.1", "1")) == FEW
    assert set(FEW) < set(MANY)


def test_auto_without_a_number_of_columns_is_refused():
    with pytest.raises(InvalidInputError, match="'auto' depends on the number of columns: give n_columns"):
        recipe("auto")


def test_other_recipes_do_not_depend_on_the_number_of_columns():
    assert recipe("released-12", 2).names == MANY
    assert recipe("gaussian-4", 50).names == FEW


def test_all_views_have_the_kernels_of_the_widest():
    views = Views({"a": table(2), "b": table(9)})
    assert len(bank_of("auto", views).names) == 2 * len(FEW)
    views = Views({"a": table(2), "b": table(10)})
    assert len(bank_of("auto", views).names) == 2 * len(MANY)


def test_a_view_that_is_given_auto_has_the_kernels_of_its_own_columns():
    views = Views({"a": table(2), "b": table(10)})
    bank = bank_of({"a": "auto", "b": "auto"}, views)
    assert (bank.views.count("a"), bank.views.count("b")) == (len(FEW), len(MANY))


def test_beside_categories_numbers_have_the_kernels_of_many_columns():
    words = pd.DataFrame(table(3), columns=list("xyz")).assign(
        word=[f"word {i % 10}" for i in range(30)], other=[f"other {i % 9}" for i in range(30)]
    )
    model = WeaveClustering(2, kernels="mixed", random_state=0).fit(words)
    assert model.view_names_ == ("numbers", "categories")
    names = [n for n, view in zip(model.kernel_names_, model.kernel_views_, strict=True) if view == "numbers"]
    assert [name.removeprefix("numbers: ") for name in names] == list(MANY)


@pytest.mark.parametrize("solver", ["dense", "local", "landmark"])
@pytest.mark.parametrize("width", [9, 10])
def test_every_solver_takes_the_kernels_for_its_columns(solver, width):
    X = table(width, n=200)
    expected = FEW if width == 9 else MANY
    model = WeaveClustering(2, random_state=0, solver=solver).fit(X)
    assert model.kernel_names_ == expected
    y = np.where(np.arange(200) < 20, np.arange(200) % 2, -1)
    assert WeaveClassifier(random_state=0, solver=solver).fit(X, y).kernel_names_ == expected


@pytest.mark.parametrize(("n", "noise"), [(200, 0.05), (300, 0.05), (500, 0.08)])
def test_half_moons_are_told_apart_from_few_samples(n, noise):
    for seed in range(3):
        X, y = make_moons(n, noise=noise, random_state=seed)
        found = WeaveClustering(2, random_state=0).fit(X).labels_
        assert adjusted_rand_score(y, found) > 0.85
