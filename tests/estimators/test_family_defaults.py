"""What SMKL, KGL and PMKL do with raw tables and few labels: scaling, and the edges that are kept."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

import kernelweave
from kernelweave import (
    KGLClassifier,
    KGLClustering,
    PMKLClassifier,
    PMKLClustering,
    SMKLClassifier,
    SMKLClustering,
    smkl_path,
)
from kernelweave.errors import InvalidInputError
from kernelweave.samples.views import Views

X, Y = load_iris(return_X_y=True)
PARTIAL = np.where(np.arange(150) % 10 == 0, Y, -1)
CLUSTERERS = [model(3, random_state=0) for model in (SMKLClustering, KGLClustering, PMKLClustering)]
CLASSIFIERS = [model(random_state=0) for model in (SMKLClassifier, KGLClassifier, PMKLClassifier)]
EVERY = CLUSTERERS + CLASSIFIERS
FACTORS = [1e-100, 1e-6, 1e-3, 3.0, 1e6, 2.0**300]


def named(estimator):
    return type(estimator).__name__


def fit(estimator, given, y=PARTIAL, **parameters):
    model = clone(estimator).set_params(**parameters)
    return model.fit(given, y) if "Classifier" in named(model) else model.fit(given)


def scaling(model, view="X"):
    (version,) = model.scaling_
    return version.scalings[view]


def found(model):
    return model.transduction_ if "Classifier" in named(model) else model.labels_


@pytest.fixture(scope="module", params=EVERY, ids=named)
def ordinary(request):
    return fit(request.param, X)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("scale", ["auto", "unit", "zscore"])
def test_the_unit_of_the_samples_does_not_matter_where_they_are_scaled(ordinary, scale, factor):
    expected = ordinary if scale == "auto" else fit(ordinary, X, scale=scale)
    model = fit(ordinary, X * factor, scale=scale)
    assert_array_equal(found(model), found(expected))
    assert_array_equal(model.predict((X + 0.01) * factor), expected.predict(X + 0.01))


@pytest.mark.parametrize("scheme", ["released", "printed"])
@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_the_papers_own_schemes_neither_scale_nor_leave_out_edges(estimator, scheme):
    parameters = {"scheme": scheme, "max_iter": 200, "tol": 1e-3}
    paper = fit(estimator, X, **parameters)
    same = fit(estimator, X, scale="none", n_neighbors="all", **parameters)
    assert_array_equal(paper.graph_, same.graph_)
    assert_array_equal(paper.embedding_, same.embedding_)
    assert scaling(paper).method == "none"
    assert scaling(paper).reason == f'scheme="{scheme}" takes samples as they are, as the paper does'


@pytest.mark.parametrize("model", [PMKLClustering(3, random_state=0), PMKLClassifier(random_state=0)], ids=named)
def test_pmkl_has_a_smaller_ridge_by_default_but_not_with_the_papers_own_schemes(model):
    for scheme, gamma in (("safeguarded", 0.001), ("released", 0.1)):
        given = {"scheme": scheme, "max_iter": 200, "tol": 1e-3}
        default, same = fit(model, X, **given), fit(model, X, gamma=gamma, **given)
        assert_array_equal(default.graph_, same.graph_)
        assert_array_equal(default.predict_proba(X + 0.01), same.predict_proba(X + 0.01))


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_the_papers_own_schemes_scale_and_leave_out_edges_if_asked(estimator):
    model = fit(estimator, X, scheme="released", scale="unit", n_neighbors=5, max_iter=200, tol=1e-3)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    same = fit(estimator, rows, scheme="released", n_neighbors=5, max_iter=200, tol=1e-3)
    assert_allclose(model.consensus_kernel_, same.consensus_kernel_, atol=1e-12)
    assert scaling(model).reason == "it was asked for"
    assert np.median((model.graph_ > 0).sum(axis=1)) < 12


def test_the_graph_keeps_fifteen_entries_of_every_row(ordinary):
    whole = fit(ordinary, X, n_neighbors="all")
    edges = np.count_nonzero(np.triu(ordinary.graph_, 1))
    assert 150 * 15 / 2 <= edges <= 150 * 15 < np.count_nonzero(np.triu(whole.graph_, 1))
    assert_allclose(ordinary.consensus_kernel_, whole.consensus_kernel_, atol=1e-9)
    assert_array_equal(ordinary.graph_, ordinary.graph_.T)


def test_new_samples_have_fifteen_neighbours(ordinary):
    rows = ordinary._graph_model.rows(Views.of_table(X[:20] + 0.01))
    assert rows.shape == (20, 150)
    assert np.median(np.count_nonzero(rows, axis=1)) == 15


def test_a_saved_model_scales_new_samples_as_the_first_one_does(ordinary, tmp_path):
    model = fit(ordinary, X, scale="zscore")
    model.save(tmp_path / "model.kw")
    loaded = kernelweave.load(tmp_path / "model.kw")
    assert_array_equal(loaded.predict_proba(X + 0.01), model.predict_proba(X + 0.01))
    assert_array_equal(scaling(loaded).deviation, scaling(model).deviation)


@pytest.mark.parametrize("model", [SMKLClustering(3, random_state=0), PMKLClassifier()], ids=named)
def test_every_view_is_scaled_for_itself_and_gaps_stay_gaps(model):
    tables = {"sepals": X[:, :2], "petals": X[:, 2:] * 1e6}
    gaps = Views(tables, missing={"sepals": np.arange(140, 150), "petals": np.arange(5)})
    scale = {"sepals": "zscore", "petals": "unit"}
    fitted = fit(model, gaps, scale=scale)
    assert {name: one.method for name, one in fitted.scaling_[0].scalings.items()} == scale
    assert_allclose(scaling(fitted, "sepals").mean, X[:140, :2].mean(axis=0))
    assert fitted.predict(tables).shape == (150,)


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_precomputed_kernels_refuse_a_scaling(estimator):
    name = "kernel" if hasattr(estimator, "kernel") else "kernels"
    with pytest.raises(InvalidInputError, match="scale='unit' scales samples, but kernels are 'precomputed'"):
        fit(estimator, np.eye(150), **{name: "precomputed", "scale": "unit"})
    assert not hasattr(
        fit(estimator, np.exp(-((X[:, None] - X) ** 2).sum(axis=2)), **{name: "precomputed"}), "scaling_"
    )


def test_a_path_scales_the_samples_once_and_says_so():
    models = list(smkl_path(SMKLClustering(3, scale="unit", random_state=0), X, {"gamma": [0.1, 1]}))
    assert [scaling(model).method for model in models] == ["unit", "unit"]
    assert_array_equal(models[0].labels_, SMKLClustering(3, scale="unit", random_state=0).fit(X).labels_)


def test_verbose_says_how_the_samples_are_scaled(capsys):
    SMKLClustering(3, random_state=0, verbose=1).fit(X)
    assert (
        "[SMKLClustering] scale of X: none, since 4 columns are few, so that the lengths of the"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("model", CLASSIFIERS, ids=named)
@pytest.mark.parametrize("seed", [1, 3, 8, 13])
def test_few_labels_are_enough_on_clean_blobs(model, seed):
    blobs, y = make_blobs(150, centers=3, n_features=4, random_state=seed)
    known = np.arange(150) % 5 == 0
    fitted = fit(model, blobs, np.where(known, y, -1))
    assert adjusted_rand_score(y[~known], fitted.transduction_[~known]) > 0.95


def test_few_labels_spread_on_the_kept_edges_but_not_on_all_of_them():
    """On all edges every sample gets nearly the same scores, and chance decides."""
    digits, y = load_digits(return_X_y=True)
    digits, y = digits[:600], y[:600]
    known = np.zeros(600, dtype=bool)
    known[[i for c in range(10) for i in np.flatnonzero(y == c)[:3]]] = True
    sparse, dense = (SMKLClassifier(n_neighbors=k).fit(digits, np.where(known, y, -1)) for k in ("auto", "all"))
    right = [np.mean(model.transduction_[~known] == y[~known]) for model in (sparse, dense)]
    spread = [model.embedding_[~known].std(axis=0).mean() for model in (sparse, dense)]
    assert right[0] > 0.85
    assert right[0] > right[1] + 0.1
    assert spread[0] > 5 * spread[1]
