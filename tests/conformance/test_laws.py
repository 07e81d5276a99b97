"""Laws for every estimator: what must change nothing changes nothing, on groups that lie apart."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import kernelweave
from kernelweave import WeaveClassifier, WeaveClustering, baselines
from kernelweave.baselines import AASC, S2LRR, S3R, SSR
from kernelweave.kernels import Cosine, CosineNormalized, Gaussian, Linear

X, Y = make_blobs(45, n_features=4, centers=3, cluster_std=0.6, random_state=0)
X = X.round(2)
LABELLED = np.concatenate([np.flatnonzero(k == Y)[:3] for k in range(3)])  # three of every class
PART = np.where(np.isin(np.arange(45), LABELLED), Y, -1)
ORDER = np.random.default_rng(0).permutation(45)
SCALED = 1e-100, 1e100, 2.0**-50, 2.0**50
# without the near-identity kernels, which AASC always chooses (see its notes)
WIDE = {"wide": Gaussian(t=0.15), "wider": Gaussian(t=0.2), "line": CosineNormalized(Linear())}
GIVEN = {AASC: {"kernels": WIDE}, S2LRR: {"kernel": Cosine()}, S3R: {"kernel": Cosine()}}

PUBLIC = [
    thing
    for package in (kernelweave, baselines)
    for name in package.__all__
    if inspect.isclass(thing := getattr(package, name)) and issubclass(thing, BaseEstimator)
]


def made(cls, **options):
    given = {**GIVEN.get(cls, {}), **options}
    names = inspect.signature(cls).parameters
    if "n_clusters" in names:
        given["n_clusters"] = 3
    if "random_state" in names:
        given["random_state"] = 0
    return cls(**given)


MODELS = [made(cls) for cls in PUBLIC] + [
    made(cls, solver=solver) for cls in (WeaveClustering, WeaveClassifier) for solver in ("local", "landmark")
]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def name(model):
    return "-".join(filter(None, [type(model).__name__, getattr(model, "solver", None)]))


def fit(model, X=X, y=PART, **options):
    model = clone(model).set_params(**options)
    return model.fit(X, y) if is_classifier(model) else model.fit(X)


def labels(model):
    return model.transduction_ if is_classifier(model) else model.labels_


@pytest.fixture(scope="module")
def usual():
    """Return the labels of a model in the ordinary case."""
    known = {}

    def of(model):
        if name(model) not in known:
            known[name(model)] = labels(fit(model))
        return known[name(model)]

    return of


def same(found, expected):
    """Return whether two clusterings are one up to the names of the clusters."""
    return adjusted_rand_score(found, expected) == 1


every = pytest.mark.parametrize("model", MODELS, ids=name)


@every
def test_the_groups_are_found(model, usual):
    assert same(usual(model), Y)


@every
def test_the_order_of_the_samples_changes_no_cluster(model, usual):
    assert same(labels(fit(model, X[ORDER], PART[ORDER])), usual(model)[ORDER])


FORMS = {
    "Fortran": np.asfortranarray(X),
    "gaps": np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "big endian": X.astype(">f8"),
    "objects": X.astype(object),
    "pandas": pd.DataFrame(X),
    "polars": pl.DataFrame(X, schema=["a", "b", "c", "d"]),
    "csr": sparse.csr_array(X),
    "single": X.astype(np.float32),
}


@pytest.mark.parametrize("form", FORMS)
@every
def test_the_form_of_the_samples_changes_no_cluster(model, form, usual):
    found = labels(fit(model, FORMS[form]))
    if form in ("csr", "single"):  # other sums, in another order
        assert same(found, usual(model))
    else:
        assert_array_equal(found, usual(model))


@pytest.mark.parametrize("factor", SCALED)
@pytest.mark.parametrize("model", [model for model in MODELS if hasattr(model, "scale")], ids=name)
def test_the_unit_of_the_samples_changes_no_label_where_they_are_scaled(model, factor, usual):
    assert_array_equal(labels(fit(model, X * factor)), usual(model))


@pytest.mark.parametrize("factor", [1e-6, 1e6, 2.0**30])
@pytest.mark.parametrize("model", [model for model in MODELS if not hasattr(model, "scale")], ids=name)
def test_the_unit_of_the_samples_changes_no_cluster_of_models_that_measure_relative_to_it(model, factor, usual):
    assert same(labels(fit(model, X * factor)), usual(model))


# a sample with a copy is expressed by the copy alone, so that graphs of codes fall apart: see their notes
BY_CODES = (S2LRR, S3R, SSR)


@pytest.mark.parametrize("model", [model for model in MODELS if not isinstance(model, BY_CODES)], ids=name)
def test_copies_of_all_samples_are_with_their_originals(model, usual):
    found = labels(fit(model, np.repeat(X, 2, axis=0), np.repeat(PART, 2)))
    assert_array_equal(found[::2], found[1::2])
    assert same(found[::2], usual(model))


def test_a_sample_with_a_copy_is_expressed_by_the_copy_alone():
    W = SSR(3, random_state=0).fit(np.repeat(X, 2, axis=0)).graph_
    copies = W[np.arange(0, 90, 2), np.arange(1, 90, 2)]
    assert_allclose(copies, W.sum(axis=1)[::2], rtol=1e-3)


@pytest.mark.parametrize("model", [model for model in MODELS if is_classifier(model)], ids=name)
def test_the_names_of_the_classes_change_no_class(model, usual):
    words = np.array(["", "ash", "beech", "cedar"])
    found = fit(model, y=words[PART + 1])
    assert_array_equal(found.classes_, words[1:])
    assert_array_equal(found.transduction_, words[usual(model) + 1])


@every
def test_the_number_of_threads_changes_no_label(model, usual):
    assert_array_equal(labels(fit(model, n_jobs=2)), usual(model))


@every
def test_a_second_fit_on_the_same_samples_gives_the_same_labels(model, usual):
    again = fit(model)
    again = again.fit(X[::-1], PART[::-1]) if is_classifier(again) else again.fit(X[::-1])
    again = again.fit(X, PART) if is_classifier(again) else again.fit(X)
    assert_array_equal(labels(again), usual(model))


@every
def test_a_model_that_was_saved_and_loaded_is_the_same(model, tmp_path):
    fitted = fit(model)
    fitted.save(tmp_path / "model.kw")
    again = kernelweave.load(tmp_path / "model.kw")
    assert_array_equal(labels(again), labels(fitted))
    if hasattr(fitted, "predict_proba"):
        assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("model", [model for model in MODELS if hasattr(model, "predict")], ids=name)
def test_rows_alone_are_answered_as_in_a_batch(model):
    fitted = fit(model)
    whole = fitted.predict_proba(X)
    assert_array_equal(fitted.predict(X)[ORDER[:9]], fitted.predict(X[ORDER[:9]]))
    for i in ORDER[:3]:
        assert_allclose(fitted.predict_proba(X[i : i + 1])[0], whole[i], atol=1e-6)


SEVERAL = [model for model in MODELS if "kernels" in model.get_params()]


@pytest.mark.parametrize("model", SEVERAL, ids=name)
def test_the_order_of_the_kernels_changes_no_cluster(model):
    there = fit(model, kernels=WIDE)
    back = fit(model, kernels=dict(reversed(WIDE.items())))
    assert same(labels(back), labels(there))
    shares = dict(zip(back.kernel_names_, back.kernel_shares_, strict=True))
    assert_allclose([shares[kernel] for kernel in there.kernel_names_], there.kernel_shares_, atol=1e-4)


@pytest.mark.parametrize("model", [m for m in SEVERAL if getattr(m, "solver", "") != "landmark"], ids=name)
def test_the_order_of_the_views_changes_no_cluster(model):
    views = {"left": X[:, :3], "right": X[:, 1:]}
    there, back = fit(model, views), fit(model, dict(reversed(views.items())))
    assert back.view_names_ == ("right", "left")
    assert same(labels(back), labels(there))


def test_aasc_gives_all_weight_to_a_kernel_that_is_nearly_the_identity():
    # then its eigenvectors are noise, and so are clusters: see its notes
    model = AASC(3, random_state=0).fit(X)
    narrow = [kernel for kernel in model.kernel_names_ if kernel in ("gaussian(t=0.01)", "gaussian(t=0.05)")]
    shares = dict(zip(model.kernel_names_, model.kernel_shares_, strict=True))
    assert sum(shares[kernel] for kernel in narrow) > 0.99


@pytest.mark.parametrize("factor", [2.0**-4, 2.0**5])
def test_s2lrr_depends_on_lambda_in_units_of_the_squared_length(factor):
    # a power of two, so that no digit changes
    first = S2LRR(lam=5.0).fit(X, PART)
    second = S2LRR(lam=5.0 / factor**2).fit(X * factor, PART)
    assert_array_equal(first.transduction_, second.transduction_)
    assert_allclose(first.codes_, second.codes_, atol=1e-9)
