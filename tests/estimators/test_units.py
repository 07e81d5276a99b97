"""The unit of the samples does not matter where a scaling is in force."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris

import kernelweave
from kernelweave import WeaveClassifier, WeaveClustering
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Linear, Polynomial

X, Y = load_iris(return_X_y=True)
PARTIAL = np.where(np.arange(150) % 10 == 0, Y, -1)
FACTORS = [1e-150, 1e-100, 1e-6, 1e6, 1e100, 1e150, 2.0**-300, 0.25, 2.0**40, 2.0**500]


@pytest.fixture(scope="module")
def ordinary():
    """Return the model of iris in its own unit, by solver and scale."""
    found = {}

    def of(solver, scale):
        if (solver, scale) not in found:
            found[solver, scale] = WeaveClustering(3, solver=solver, scale=scale, random_state=0).fit(X)
        return found[solver, scale]

    return of


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("scale", ["auto", "unit", "zscore"])
@pytest.mark.parametrize("solver", ["dense", "local", "landmark"])
def test_clusters_do_not_depend_on_the_unit(ordinary, solver, scale, factor):
    expected = ordinary(solver, scale)
    model = WeaveClustering(3, solver=solver, scale=scale, random_state=0).fit(X * factor)
    assert_array_equal(model.labels_, expected.labels_)
    assert_array_equal(model.predict((X + 0.01) * factor), expected.predict(X + 0.01))


@pytest.mark.parametrize("factor", FACTORS)
def test_classes_do_not_depend_on_the_unit(factor):
    expected, found = WeaveClassifier().fit(X, PARTIAL), WeaveClassifier().fit(X * factor, PARTIAL)
    assert_array_equal(found.transduction_, expected.transduction_)
    assert_array_equal(found.predict((X + 0.01) * factor), expected.predict(X + 0.01))


def test_powers_of_two_change_no_digit():
    first, second = (WeaveClustering(3, random_state=0).fit(Z) for Z in (X, X * 2.0**100))
    assert_array_equal(first.membership_, second.membership_)
    assert_array_equal(first.graph_.toarray(), second.graph_.toarray())


def test_a_sparse_table_in_another_unit_has_the_same_clusters():
    thin = sparse.csr_array(X)
    first, second = (WeaveClustering(3, random_state=0).fit(Z) for Z in (thin, thin * 1e6))
    assert [version.scalings["X"].method for version in first.scaling_] == ["none", "zscore"]
    assert_array_equal(first.labels_, second.labels_)


def test_the_unit_is_saved_with_the_model(tmp_path):
    model = WeaveClustering(3, random_state=0).fit(X * 1e6)
    model.save(tmp_path / "model.kw")
    new = (X + 0.01) * 1e6
    assert_array_equal(kernelweave.load(tmp_path / "model.kw").predict_proba(new), model.predict_proba(new))


def test_without_scaling_an_overflow_names_the_kernel():
    kernels = {"line": Linear(), "quartic": Polynomial(degree=4)}
    with pytest.raises(InvalidInputError, match=r"Kernel 'quartic' gave inf or NaN .* scale of X"):
        WeaveClustering(3, kernels=kernels, scale="none", random_state=0).fit(X * 1e6)
