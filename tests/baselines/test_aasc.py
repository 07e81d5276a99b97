import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from kernelweave.baselines import AASC, KernelSpectralClustering
from kernelweave.baselines.aasc import _RULES, aggregate, degree_and_smoothness, positive_weights, released_weights
from kernelweave.errors import InvalidInputError, NotFiniteError
from kernelweave.kernels import Gaussian, KernelBank, Linear
from kernelweave.metrics import clustering_accuracy

WIDE = [Gaussian(t=0.15), Gaussian(t=0.2), Gaussian(t=1)]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.floats(-30, 0))
def test_positive_weights_are_feasible_and_stationary_where_a_root_exists(seed, r, exponent):
    rng = np.random.default_rng(seed)
    v = rng.random(r)
    v /= v.sum()
    alpha = rng.uniform(0.5, 3, r)
    alpha /= v**2 @ alpha  # some weights are feasible, as they are when F is normalised
    gamma = rng.random(r) * 10.0**exponent
    w = positive_weights(alpha, gamma)
    assert (w >= 0).all()
    assert_allclose(w.sum(), 1)
    best = gamma.argmin()
    if alpha[best] <= 1:
        assert_array_equal(w, np.arange(r) == best)
    else:
        assert_allclose(w**2 @ alpha, 1, rtol=1e-6)
        assert (w**2 * alpha) @ gamma <= (v**2 * alpha) @ gamma * (1 + 1e-9)


def test_positive_weights_beat_every_other_pair_of_weights():
    alpha, gamma = np.array([1.4, 2.0, 1.7]), np.array([0.1, 0.4, 0.2])
    w = positive_weights(alpha, gamma)
    a, b = np.meshgrid(np.linspace(0, 1, 2001), np.linspace(0, 1, 2001))
    v = np.stack([a, b, 1 - a - b])[:, a + b <= 1]
    feasible = v[:, np.abs(alpha @ v**2 - 1) < 1e-3]
    assert feasible.shape[1] > 100
    assert (alpha * gamma) @ w**2 <= ((alpha * gamma) @ feasible**2).min() + 1e-3


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1, 1e30])
def test_the_root_is_found_at_every_scale_of_smoothness(scale):
    # forming γ - x, with x just below the least γ, would lose all digits
    alpha, gamma = np.array([1.000001, 2.0, 1.7]), np.array([0.1, 0.4, 0.2])
    w = positive_weights(alpha, scale * gamma)
    assert np.isfinite(w).all()
    assert_allclose(w, positive_weights(alpha, gamma), rtol=1e-6)
    assert_allclose(w**2 @ alpha, 1, rtol=1e-9)


def test_equally_smooth_affinities_are_told_apart_by_their_degrees_alone():
    assert_allclose(positive_weights(np.array([1.0, 2, 4]), np.full(3, 0.3)), np.array([4, 2, 1]) / 7)


def test_released_weights_solve_the_equation_and_may_be_negative():
    alpha, gamma = np.array([2.7, 1.4, 0.6]), np.array([0.0, 0.8, 0.9])
    v = released_weights(alpha, gamma)
    assert_allclose(v.sum(), 1)
    assert (v < 0).any()
    assert_allclose(v**2 @ alpha, 1, rtol=1e-6)


def test_degree_and_smoothness_are_the_traces(iris):
    W = np.stack([k.fit(iris[0]).gram(iris[0]) for k in WIDE])
    F = np.random.default_rng(0).normal(size=(150, 3))
    alpha, beta = degree_and_smoothness(W, F)
    for k in range(3):
        D = np.diag(W[k].sum(axis=1))
        assert_allclose(alpha[k], np.trace(F.T @ D @ F) / 3)
        assert_allclose(beta[k], np.trace(F.T @ (D - W[k]) @ F) / 3)


def test_the_coordinates_are_generalised_eigenvectors_of_the_aggregate(iris):
    model = AASC(3, kernels=WIDE, random_state=0).fit(iris[0])
    D = np.diag(model.graph_.sum(axis=1))
    values, F = linalg.eigh(D - model.graph_, D, subset_by_index=(0, 2))
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    assert_allclose(model.embedding_ @ model.embedding_.T, F @ F.T, atol=1e-7)
    assert_allclose(model.objective_, values.sum(), atol=1e-10)
    assert_allclose(model.graph_, np.tensordot(model.kernel_weights_**2, KernelBank(WIDE).fit_grams(iris[0]), axes=1))


@pytest.mark.parametrize("scheme", ["positive", "released"])
def test_weights_sum_to_one_and_shares_are_their_squares(iris, scheme):
    model = AASC(3, kernels=WIDE, scheme=scheme, random_state=0).fit(iris[0])
    assert_allclose(model.kernel_weights_.sum(), 1)
    assert_allclose(model.kernel_shares_, model.kernel_weights_**2 / (model.kernel_weights_**2).sum())
    assert len(model.objective_history_) == model.n_iter_


def test_only_the_released_scheme_has_negative_weights(iris):
    X = iris[0] - iris[0].mean(axis=0)
    positive, released = (
        AASC(3, kernels="released-7", scheme=s, random_state=0).fit(X) for s in ("positive", "released")
    )
    assert (positive.kernel_weights_ >= 0).all()
    assert (released.kernel_weights_ < 0).any()


def test_one_affinity_gives_spectral_clustering(iris):
    several = AASC(3, kernels=[Gaussian(t=0.2)], random_state=0).fit(iris[0])
    one = KernelSpectralClustering(3, kernel=Gaussian(t=0.2), laplacian="njw", random_state=0).fit(iris[0])
    assert_array_equal(several.kernel_weights_, [1.0])
    assert clustering_accuracy(one.labels_, several.labels_) > 0.95  # they differ in the diagonal


def test_an_affinity_that_is_nearly_the_identity_wins_all_weight_without_nan(iris):
    with pytest.warns(ConvergenceWarning, match="The graph of AASC falls into more pieces than the 3 columns") as told:
        model = AASC(3, kernels=[Gaussian(t=1e-4), *WIDE], random_state=0).fit(iris[0][::2])
    assert told[0].filename == __file__
    assert_allclose(model.kernel_weights_, [1, 0, 0, 0], atol=1e-6)
    assert np.isfinite(model.embedding_).all()


def test_negative_similarities_count_as_none_in_the_positive_scheme(iris):
    model = AASC(3, kernels=[Linear(), Gaussian(t=0.2)], random_state=0).fit(iris[0] - iris[0].mean(axis=0))
    assert (model.graph_ >= 0).all()
    assert np.isfinite(model.embedding_).all()


def test_a_matrix_without_similarities_is_refused_by_name(iris):
    with pytest.raises(InvalidInputError, match="'nothing' has no positive degree: AASC needs affinities"):
        AASC(3, kernels="precomputed").fit({"all": np.ones((9, 9)), "nothing": np.zeros((9, 9))})


def test_an_unknown_scheme_is_refused(iris):
    words = "(?=.*'positive')(?=.*'released')"  # in any order
    with pytest.raises(ValueError, match=f"'scheme' parameter of AASC must be a str among {words}.*Got 'printed'"):
        AASC(3, scheme="printed").fit(iris[0])


def test_a_run_cut_short_warns_with_what_to_do(iris):
    with pytest.warns(ConvergenceWarning, match="AASC stopped after 1 iteration, with weights still changing"):
        AASC(3, kernels=WIDE, max_iter=1, random_state=0).fit(iris[0])


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scheme", ["positive", "released"])
def test_affinities_without_any_degree_are_refused_with_a_reason(scheme):
    with pytest.raises(NotFiniteError, match="AASC cannot weigh these kernels"):
        aggregate(np.zeros((2, 6, 6)), 2, _RULES[scheme], max_iter=2, tol=0)
