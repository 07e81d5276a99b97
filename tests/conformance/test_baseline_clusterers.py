"""What every clusterer among the baselines must do: scikit-learn's checks, and ours."""

import inspect
import pickle
import warnings
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier, is_clusterer
from sklearn.datasets import make_blobs
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelweave import Views, baselines
from kernelweave.baselines import (
    AASC,
    GMC,
    LMVSC,
    MKKM,
    NEMO,
    RMKKM,
    SNF,
    SSR,
    FastMICE,
    KernelKMeans,
    KernelSpectralClustering,
    LateFusion,
    SimpleMKKM,
)
from kernelweave.errors import InvalidInputError
from kernelweave.estimators._estimator import KernelModel
from kernelweave.kernels import CosineNormalized, Gaussian, KernelBank, Linear, bank_of
from kernelweave.metrics import clustering_accuracy

# without the near-identity kernels, which AASC always chooses (see its notes)
WIDE = {"wide": Gaussian(t=0.15), "wider": Gaussian(t=0.2), "line": CosineNormalized(Linear())}
ONE = [
    KernelKMeans(3),
    KernelSpectralClustering(3, kernel=Gaussian(t=0.2)),
    KernelSpectralClustering(3, kernel=Gaussian(t=0.2), laplacian="njw"),
    KernelSpectralClustering(3, kernel=Gaussian(t=0.2), init="released"),
    SSR(3),
]
SEVERAL = [AASC(3, kernels=WIDE), AASC(3, kernels=WIDE, scheme="released"), MKKM(3), RMKKM(3)]
SEVERAL += [SimpleMKKM(3), LateFusion(3)]
BY_DISTANCE = [GMC(3), NEMO(3), NEMO(3, scheme="printed"), SNF(3), SNF(3, scheme="printed")]
TABLES = [LMVSC(3), FastMICE(3, n_anchors=20)]  # without kernels
EVERY = ONE + SEVERAL + BY_DISTANCE + TABLES


CHECKED = [ONE[0], ONE[2], ONE[4], AASC(3), MKKM(3), RMKKM(3, n_init=2), GMC(3), NEMO(3), SNF(3)]
CHECKED += [SimpleMKKM(3), LateFusion(3), LMVSC(3), FastMICE(3, n_anchors=20)]


def test_every_public_clusterer_is_in_both_lists():
    public = {getattr(baselines, name) for name in baselines.__all__}
    assert {type(estimator) for estimator in EVERY} == {model for model in public if is_clusterer(model())}
    assert {type(estimator) for estimator in CHECKED} == {type(estimator) for estimator in EVERY}


def test_every_baseline_of_the_package_is_public():
    modules = [import_module(f"{baselines.__name__}.{found.name}") for found in iter_modules(baselines.__path__)]
    classes = {thing for module in modules for thing in vars(module).values() if inspect.isclass(thing)}
    models = {cls for cls in classes if issubclass(cls, KernelModel) and cls.__module__.startswith(baselines.__name__)}
    bases = {base for cls in models for base in cls.__mro__[1:]}
    assert {cls.__name__ for cls in models - bases} == set(baselines.__all__)


def test_every_public_baseline_is_a_clusterer_or_a_classifier():
    for name in baselines.__all__:
        model = getattr(baselines, name)()
        assert is_clusterer(model) != is_classifier(model), name


@pytest.mark.filterwarnings("ignore:The graph of")  # of AASC, whose kernels are nearly the identity: see its notes
@parametrize_with_checks(CHECKED)
def test_scikit_learn_s_checks_pass(estimator, check):
    with warnings.catch_warnings():
        # the checks fit a handful of random or equal samples for a few iterations only, and skip what is not installed
        warnings.filterwarnings("ignore", message=".* stopped after .* iterations", module="kernelweave|sklearn")
        warnings.filterwarnings("ignore", message="Number of distinct clusters")
        check(estimator)


def named(estimator):
    words = [getattr(estimator, name, None) for name in ("laplacian", "init", "scheme")]
    return "-".join([type(estimator).__name__, *filter(None, words)])


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(60, n_features=5, centers=3, cluster_std=0.6, random_state=0)


def fit(estimator, X):
    return clone(estimator).set_params(random_state=0).fit(X)


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_well_separated_blobs_are_told_apart(estimator, blobs):
    assert clustering_accuracy(blobs[1], fit(estimator, blobs[0]).labels_) == 1


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_a_fit_is_repeatable_and_survives_pickling(estimator, blobs):
    first, second = (fit(clone(estimator).set_params(n_clusters=5), blobs[0]) for _ in range(2))
    assert_array_equal(first.labels_, second.labels_)
    assert_array_equal(pickle.loads(pickle.dumps(first)).labels_, first.labels_)


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_fitting_changes_neither_the_parameters_nor_the_data(estimator, blobs):
    X = blobs[0].copy()
    estimator = clone(estimator)
    before = {name: repr(value) for name, value in estimator.get_params().items()}
    estimator.fit(X)
    assert {name: repr(value) for name, value in estimator.get_params().items()} == before
    assert_array_equal(X, blobs[0])


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_the_order_of_samples_does_not_matter_for_clear_clusters(estimator, blobs):
    order = np.random.default_rng(0).permutation(60)
    assert clustering_accuracy(fit(estimator, blobs[0]).labels_[order], fit(estimator, blobs[0][order]).labels_) == 1


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_single_precision_and_sparse_samples_give_the_same_clusters(estimator, blobs):
    labels = fit(estimator, blobs[0]).labels_
    assert clustering_accuracy(labels, fit(estimator, blobs[0].astype(np.float32)).labels_) == 1
    assert clustering_accuracy(labels, fit(estimator, sparse.csr_array(blobs[0])).labels_) == 1


@pytest.mark.parametrize("estimator", EVERY, ids=named)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_learned_has_the_precision_of_the_samples(estimator, blobs, dtype):
    model = fit(estimator, blobs[0].astype(dtype))
    for name in {"graph_", "embedding_", "representation_"} & set(vars(model)):
        assert getattr(model, name).dtype == dtype, name


@pytest.mark.parametrize("estimator", SEVERAL, ids=named)
def test_several_kernels_leave_weights_shares_and_names(estimator, blobs):
    model = fit(estimator, blobs[0])
    r = len(model.kernel_names_)
    assert r > 1
    assert model.kernel_weights_.shape == model.kernel_shares_.shape == (r,)
    assert_allclose(model.kernel_shares_.sum(), 1)
    assert (model.kernel_shares_ >= 0).all()
    assert model.n_iter_ == len(model.objective_history_)
    assert model.objective_ == model.objective_history_[-1]


@pytest.mark.parametrize("estimator", SEVERAL, ids=named)
@pytest.mark.parametrize("form", ["array", "list", "dict"])
def test_precomputed_kernels_give_what_the_kernels_give(estimator, form, blobs):
    model = fit(clone(estimator).set_params(kernels=WIDE), blobs[0])
    H = bank_of(WIDE, Views.of_table(blobs[0])).fit_grams(Views.of_table(blobs[0]))
    given = {"array": H, "list": list(H), "dict": dict(zip(WIDE, H, strict=True))}[form]
    same = fit(clone(estimator).set_params(kernels="precomputed"), given)
    assert_array_equal(same.labels_, model.labels_)
    assert_allclose(same.kernel_weights_, model.kernel_weights_, atol=1e-8)
    assert (same.kernel_names_ == model.kernel_names_) == (form == "dict")


@pytest.mark.parametrize("estimator", ONE + BY_DISTANCE, ids=named)
@pytest.mark.parametrize("kernel", [Gaussian(t=0.2), "rbf", np.dot], ids=["kernel", "name", "function"])
def test_one_kernel_may_be_given_in_any_form(estimator, kernel, blobs):
    X = blobs[0] / 5
    model = fit(clone(estimator).set_params(kernel=kernel), X)
    (K,) = KernelBank([kernel]).fit(X).grams(X)
    same = fit(clone(estimator).set_params(kernel="precomputed"), K)
    assert_array_equal(same.labels_, model.labels_)


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_bad_parameters_are_refused_by_name(estimator, blobs):
    with pytest.raises(InvalidInputError, match="n_clusters=61 is more than the n_samples=60 given"):
        clone(estimator).set_params(n_clusters=61).fit(blobs[0])
    name = type(estimator).__name__
    wrong = rf"^The 'n_init' parameter of {name} must be an int in the range \[1, 2147483647\]. Got 0"
    with pytest.raises(InvalidParameterError, match=wrong):
        clone(estimator).set_params(n_init=0).fit(blobs[0])


@pytest.mark.parametrize("estimator", [e for e in EVERY if not isinstance(e, GMC)], ids=named)  # see its own tests
def test_as_many_clusters_as_samples_and_a_single_one_are_possible(estimator, blobs):
    X = blobs[0][::5]
    assert_array_equal(fit(clone(estimator).set_params(n_clusters=1), X).labels_, 0)
    assert len(fit(clone(estimator).set_params(n_clusters=len(X)), X).labels_) == len(X)


@pytest.mark.parametrize("model", sorted({type(e) for e in EVERY}, key=lambda m: m.__name__))
def test_every_parameter_and_nothing_else_is_documented(model):
    section = inspect.getdoc(model).split("Parameters\n----------\n")[1].split("\n\n")[0]
    documented = [line.split(" : ")[0] for line in section.splitlines() if not line.startswith(" ")]
    assert documented == list(inspect.signature(model).parameters)
