import numpy as np
import pytest

from kernelweave.errors import InvalidInputError, KernelweaveError
from kernelweave.kernels import Chi2, Gaussian, Laplacian, Pairwise, Polynomial, SelfTuning

NOT_POSITIVE = [0, -1.0, float("nan"), float("inf"), "1", None, 1j]
NOT_A_COUNT = [0, -2, 1.5, float("nan"), float("inf"), "2", None]
of_diameter = pytest.mark.parametrize("cls", [Gaussian, Laplacian, Chi2])


@of_diameter
@pytest.mark.parametrize("t", NOT_POSITIVE)
def test_a_bandwidth_is_positive_and_finite(cls, t):
    with pytest.raises(InvalidInputError, match=f"{cls.__name__} needs a positive, finite t; got"):
        cls(t=t)


@of_diameter
@pytest.mark.parametrize("diameter", [value for value in NOT_POSITIVE if value is not None])
def test_a_given_diameter_is_positive_and_finite(cls, diameter):
    with pytest.raises(InvalidInputError, match=f"{cls.__name__} needs a positive, finite diameter; got"):
        cls(diameter=diameter)


@pytest.mark.parametrize("degree", NOT_A_COUNT)
def test_a_degree_is_a_whole_number_of_at_least_one(degree):
    with pytest.raises(
        InvalidInputError, match="degree of a polynomial kernel must be a whole number of at least 1; got"
    ):
        Polynomial(degree=degree)


@pytest.mark.parametrize("offset", [-1e-9, float("nan"), float("inf"), "0", None])
def test_an_offset_is_finite_and_not_negative(offset):
    with pytest.raises(InvalidInputError, match="offset of a polynomial kernel must be finite and not negative; got"):
        Polynomial(offset=offset)


@pytest.mark.parametrize("n_neighbors", NOT_A_COUNT)
def test_a_number_of_neighbours_is_a_whole_number_of_at_least_one(n_neighbors):
    with pytest.raises(InvalidInputError, match="whole number of neighbours, at least 1; got"):
        SelfTuning(n_neighbors=n_neighbors)


def test_self_tuning_needs_more_samples_than_neighbours():
    X = np.random.default_rng(0).normal(size=(5, 2))
    SelfTuning(4).fit(X)
    with pytest.raises(InvalidInputError, match=r"looks for 5 neighbours .* only 5 samples\. Lower n_neighbors"):
        SelfTuning(5).fit(X)


@of_diameter
def test_identical_samples_have_no_diameter(cls):
    with pytest.raises(InvalidInputError, match=f"All 4 samples are identical, so {cls.__name__} has no scale"):
        cls().fit(np.full((4, 3), 0.1))


@of_diameter
def test_identical_samples_are_all_alike_once_the_diameter_is_given(cls):
    X = np.full((4, 3), 0.1)
    assert (cls(diameter=1.0).fit(X).gram(X) == 1).all()


@of_diameter
def test_a_given_diameter_is_kept_by_fit(cls):
    kernel = cls(diameter=3.0)
    assert kernel.fit(np.random.default_rng(0).random((5, 2))) is kernel


@pytest.mark.parametrize(
    ("kernel", "plain"),
    [
        (Gaussian(t=np.float64(0.5)), Gaussian(t=0.5)),
        (Laplacian(t=np.float32(0.5)), Laplacian(t=0.5)),
        (Polynomial(degree=np.int64(2), offset=np.float64(1)), Polynomial(degree=2, offset=1.0)),
        (Polynomial(degree=2.0, offset=1), Polynomial(degree=2, offset=1.0)),
        (SelfTuning(n_neighbors=np.int64(3)), SelfTuning(n_neighbors=3)),
        (SelfTuning(n_neighbors=3.0), SelfTuning(n_neighbors=3)),
    ],
)
def test_numpy_scalars_do_as_parameters_and_do_not_change_the_precision(kernel, plain):
    X = np.random.default_rng(0).random((8, 3)).astype(np.float32)
    assert str(kernel) == str(plain)
    for one, other in ((kernel.fit(X).gram(X), plain.fit(X).gram(X)), (kernel.fit(X).diag(X), plain.fit(X).diag(X))):
        assert one.dtype == np.float32
        np.testing.assert_array_equal(one, other)


def test_the_parameters_of_a_metric_are_copied():
    params = {"gamma": 0.5}
    kernel = Pairwise("rbf", params)
    params["gamma"] = 5
    assert kernel == Pairwise("rbf", {"gamma": 0.5})


def test_every_refusal_can_be_caught_as_the_error_of_the_library_and_as_a_value_error():
    assert issubclass(InvalidInputError, KernelweaveError)
    assert issubclass(InvalidInputError, ValueError)
