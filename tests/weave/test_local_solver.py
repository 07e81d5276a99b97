"""The solver "local", through the estimators."""

import pickle
from functools import partial as partial_of

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from kernelweave import Local, WeaveClassifier, WeaveClustering
from kernelweave.core.graphs import coordinates, large_spectrum
from kernelweave.core.graphs.propagation import LabelScores
from kernelweave.datasets import label_split, mask_labels
from kernelweave.kernels import Gaussian, Mixed
from kernelweave.metrics import clustering_accuracy
from kernelweave.select import CLEAR
from kernelweave.weave import classes
from kernelweave.weave.local import local_solver, locality, neighbours


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:500], y[:500]


@pytest.fixture(scope="module")
def far_blobs():
    return make_blobs([60, 60, 60], n_features=3, cluster_std=0.4, center_box=(-20, 20), random_state=3)


@pytest.fixture(scope="module")
def partial(digits):
    return mask_labels(digits[1], label_split(digits[1], 0.1, random_state=0))


@pytest.mark.parametrize(
    "options", [{}, {"graph": "knn"}, {"graph": "both"}, {"embedding": "unit"}, {"solver": Local(12)}]
)
def test_well_separated_groups_are_found(far_blobs, options):
    X, y = far_blobs
    model = WeaveClustering(3, random_state=0, **({"solver": "local"} | options)).fit(X)
    assert clustering_accuracy(y, model.labels_) == 1
    assert connected_components(model.graph_)[0] == 1
    assert_array_equal(model.predict(X + 0.01), model.labels_)


def test_with_everyone_as_candidate_the_local_graph_is_the_dense_one(digits):
    X = digits[0][:150]
    one_graph = {"n_neighbors": 10, "scale": "unit", "random_state": 0}
    dense = WeaveClustering(5, **one_graph).fit(X)
    local = WeaveClustering(5, solver=Local(149), **one_graph).fit(X)
    assert_allclose(local.kernel_shares_, dense.kernel_shares_, atol=1e-6)
    assert abs(local.graph_ - dense.graph_).max() < 1e-3
    assert adjusted_rand_score(local.labels_, dense.labels_) > 0.95


def test_classes_are_nearly_those_of_the_dense_solver(digits, partial):
    X, y = digits
    unknown = partial == -1
    dense = WeaveClassifier().fit(X, partial)
    local = WeaveClassifier(solver="local", random_state=0).fit(X, partial)
    right = [(m.transduction_ == y)[unknown].mean() for m in (dense, local)]
    assert right[1] > right[0] - 0.03
    assert_allclose(local.predict_proba(X).sum(axis=1), 1, rtol=1e-5)
    assert (local.predict(X + 0.01) == local.transduction_).mean() > 0.97


@pytest.mark.parametrize("propagation", ["harmonic", "lgc"])
@pytest.mark.parametrize("solver", ["dense", "local"])
def test_labels_spread_as_asked(digits, partial, propagation, solver):
    X, y = digits
    model = WeaveClassifier(solver=solver, propagation=propagation, random_state=0).fit(X, partial)
    assert (model.transduction_ == y)[partial == -1].mean() > 0.8
    known = partial != -1
    assert_array_equal(model.transduction_[known], partial[known])


def test_class_mass_moves_the_shares_of_classes_towards_those_of_labels(digits, partial):
    X = digits[0]
    known = partial != -1
    expected = np.bincount(partial[known], minlength=10) / known.sum()
    plain, moved = (
        WeaveClassifier(solver="local", class_mass=mass, random_state=0).fit(X, partial).label_distributions_[~known]
        for mass in (False, True)
    )
    assert np.abs(moved.mean(axis=0) - expected).sum() < np.abs(plain.mean(axis=0) - expected).sum()


def test_few_labels_spread_by_consistency_and_many_harmonically(far_blobs, capsys):
    X, y = far_blobs
    for step, word in ((60, "lgc"), (10, "harmonic")):
        partial = np.full(len(y), -1)
        partial[np.argsort(y, kind="stable")[::step]] = np.sort(y)[::step]
        WeaveClassifier(solver="local", random_state=0, verbose=1).fit(X, partial)
        assert f"labels: {word}" in capsys.readouterr().err


@pytest.mark.parametrize("model", [WeaveClustering(5, solver="local", random_state=0)])
def test_a_fit_is_repeatable_and_survives_pickling(digits, model):
    X = digits[0]
    labels = model.fit(X).labels_
    assert_array_equal(model.fit(X).labels_, labels)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X[:20] + 0.1), model.predict(X[:20] + 0.1))


def test_single_precision_and_sparse_samples_find_the_same_clusters(digits):
    X = digits[0]
    here = WeaveClustering(10, solver="local", scale="unit", random_state=0).fit(X)
    for other in (X.astype(np.float32), sparse.csr_array(X)):
        there = WeaveClustering(10, solver="local", scale="unit", random_state=0).fit(other)
        assert adjusted_rand_score(here.labels_, there.labels_) > 0.95


def test_several_views_are_woven_into_one_graph(digits):
    X, y = digits
    views = {"left": X[:, :32], "right": X[:, 32:]}
    model = WeaveClustering(10, solver="local", scale="unit", random_state=0).fit(views)
    dense = WeaveClustering(10, scale="unit", random_state=0).fit(views)
    assert_allclose(model.view_shares_, dense.view_shares_, atol=1e-4)
    assert clustering_accuracy(y, model.labels_) > clustering_accuracy(y, dense.labels_) - 0.1
    assert model.predict({"left": X[:3, :32] + 0.1, "right": X[:3, 32:]}).shape == (3,)


def test_the_number_of_clusters_can_be_chosen(far_blobs):
    model = WeaveClustering("auto", solver="local", random_state=0).fit(far_blobs[0])
    assert model.n_clusters_ == 3
    assert model.cluster_evidence_.chosen == 3


@pytest.mark.parametrize("many", [10_000, 50])
def test_valleys_are_measured_in_the_order_of_the_graph(far_blobs, monkeypatch, many):
    monkeypatch.setattr(local_solver, "_ORDERED_FROM", many)
    monkeypatch.setattr(locality, "_LEAF", 20)
    found = WeaveClustering("auto", solver="local", random_state=0).fit(far_blobs[0]).cluster_evidence_
    assert (found.chosen, found.found) == (3, "valleys")
    assert found.depth[1] == 10  # three groups without neighbours in each other


@pytest.fixture(scope="module")
def answers():
    """Return 900 answers to three questions of three choices each, 27 that differ, and the number of each."""
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=900)
    X = rng.binomial(2, np.array([0.1, 0.5, 0.9])[(group[:, None] + np.arange(3)) % 3]).astype(float)
    return X, np.unique(X, axis=0, return_inverse=True)[1]


@pytest.mark.parametrize("many", [50, 10_000], ids=["ordered", "as they are"])
def test_copies_of_a_sample_are_in_one_cluster(answers, monkeypatch, many):
    monkeypatch.setattr(local_solver, "_ORDERED_FROM", many)
    monkeypatch.setattr(locality, "_LEAF", 20)
    X, number = answers
    model = WeaveClustering(3, solver="local", random_state=0).fit(X)
    assert len(set(zip(number, model.labels_, strict=True))) == 27
    assert np.bincount(model.labels_).all()
    assert_array_equal(model.predict(X[::-1]), model.labels_[::-1])
    assert_array_equal(model.transform(X[::-1]), model.embedding_[::-1])
    assert model.graph_.shape == (900, 900)
    assert connected_components(model.graph_)[0] == 1


def test_unlabelled_copies_of_a_sample_have_one_class(answers):
    X, number = answers
    group = np.where(X[:, 0] > 0, (X[:, 1] > 0).astype(int), 2)
    y = np.where(np.random.default_rng(1).random(900) < 0.05, group, -1)
    model = WeaveClassifier(solver="local", random_state=0).fit(X, y)
    alone = y < 0
    for i in set(number[alone]):
        assert np.ptp(model.label_distributions_[alone & (number == i)], axis=0).max() == 0
    assert_array_equal(model.transduction_[~alone], y[~alone])
    assert_array_equal(model.predict(X), model.transduction_)
    assert model.graph_.shape == (900, 900)


def test_fewer_distinct_samples_than_clusters_are_warned_of():
    X = np.repeat([[0.0, 0.0, 1.0], [5.0, 1.0, 0.0]], 6, axis=0)
    with pytest.warns(ConvergenceWarning, match="only 2 distinct samples for n_clusters=3"):
        model = WeaveClustering(3, solver="local", random_state=0).fit(X)
    assert_array_equal(model.labels_, np.repeat([0, 1], 6))


def test_many_samples_go_the_way_of_many(far_blobs, monkeypatch):
    X, y = far_blobs
    monkeypatch.setattr(coordinates, "_FACTORISED_UP_TO", 100)
    model = WeaveClustering(3, solver="local", random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_) == 1
    assert_allclose(model.embedding_.T @ model.embedding_, np.eye(3), atol=1e-9)  # eigenvectors as they are


def test_eigenvectors_that_do_not_converge_are_warned_of(far_blobs, monkeypatch):
    monkeypatch.setattr(coordinates, "_FACTORISED_UP_TO", 100)
    monkeypatch.setattr(coordinates, "large_spectrum", partial_of(large_spectrum.large_spectrum, max_iter=1))
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 1 filter \(residual"):
        WeaveClustering(8, solver="local", random_state=0, kernels=[Gaussian(0.5)]).fit(far_blobs[0])


def test_scores_that_do_not_converge_are_warned_of(far_blobs, monkeypatch):
    X, y = far_blobs
    stuck = lambda S, Y, labelled: LabelScores(Y, converged=False, n_iter=7)  # noqa: E731
    monkeypatch.setattr(classes, "harmonic_scores", stuck)
    with pytest.warns(ConvergenceWarning, match="did not converge in 7 steps"):
        WeaveClassifier(solver="local", random_state=0).fit(X, y)


def test_approximate_neighbours_give_nearly_the_clusters_of_exact_ones_on_any_number_of_threads(monkeypatch):
    X = make_blobs(900, n_features=20, centers=5, cluster_std=3.0, random_state=0)[0]
    exact = WeaveClustering(5, solver="local", random_state=0).fit(X)
    monkeypatch.setattr(neighbours, "EXACT_UP_TO", 100)
    one, two = (WeaveClustering(5, solver="local", n_jobs=n_jobs, random_state=0).fit(X) for n_jobs in (1, 2))
    assert one.neighbor_recall_ > 0.95
    assert adjusted_rand_score(one.labels_, exact.labels_) > 0.9
    assert_array_equal(one.labels_, two.labels_)


def test_approximate_predictions_do_not_depend_on_how_many_samples_are_asked_about(digits, monkeypatch):
    X = load_digits().data[500:560]
    model = WeaveClustering(10, solver="local", random_state=0).fit(digits[0])
    exact = model.predict(X)
    monkeypatch.setattr(neighbours, "_NEW_EXACT_UP_TO", 100)
    again = pickle.loads(pickle.dumps(model))  # prepares its search anew
    together = again.predict(X)
    assert_array_equal(np.concatenate([again.predict(X[i : i + 7]) for i in range(0, 60, 7)]), together)
    assert np.mean(together == exact) > 0.95


def test_a_model_of_sparse_samples_predicts_dense_ones_alike(digits):
    X = digits[0].copy()
    X[X < 9] = 0
    model = WeaveClustering(3, solver="local", random_state=0).fit(sparse.csr_array(X[:300]))
    new = X[300:340]
    assert_allclose(model.predict_proba(new), model.predict_proba(sparse.csr_array(new)), rtol=1e-6)


@pytest.fixture(scope="module")
def faint_blobs():
    """Return groups that no gap between eigenvalues tells apart, in twelve columns, and noise."""
    rng = np.random.default_rng(3)
    y = np.arange(900) % 4
    return rng.normal(size=(900, 12)) + 0.9 * rng.normal(size=(4, 12))[y], rng.normal(size=(900, 12))


@pytest.mark.parametrize("most", [600, 2000])
def test_where_no_gap_decides_clusters_are_counted_in_some_samples_beside_noise(faint_blobs, monkeypatch, most):
    monkeypatch.setattr(local_solver, "COUNTED_ON", most)
    blobs, noise = (WeaveClustering("auto", solver="local", random_state=0).fit(X) for X in faint_blobs)
    assert (blobs.n_clusters_, noise.n_clusters_) == (4, 1)
    assert (blobs.cluster_evidence_.found, noise.cluster_evidence_.found) == ("agreement", "nothing")
    assert np.isfinite(blobs.cluster_evidence_.chance).all()  # samples without structure were compared
    assert blobs.labels_.shape == noise.labels_.shape == (900,)
    said = noise.cluster_evidence_.words
    assert said.startswith("no structure was found")
    assert said.endswith("(counted in 600 samples drawn at random)") == (most == 600)
    assert noise.cluster_evidence_.n_counted == (600 if most == 600 else None)


def test_where_a_gap_decides_all_samples_are_counted(far_blobs, monkeypatch):
    monkeypatch.setattr(local_solver, "_counted", None)
    wide = np.hstack([far_blobs[0], np.random.default_rng(0).normal(size=(len(far_blobs[0]), 10))])
    evidence = WeaveClustering("auto", solver="local", random_state=0).fit(wide).cluster_evidence_
    assert evidence.found == "gap"
    assert evidence.clear == 2 * CLEAR
    assert "few edges of the graphs join them" in evidence.words
    assert "samples without structure" not in evidence.words  # none were compared


def test_a_gap_does_not_decide_beside_categories(monkeypatch):
    """Categories may divide a graph into combinations, which samples without structure have too."""
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(300, 12)) + 3 * rng.normal(size=(3, 12))[np.arange(300) % 3]
    mixed = pd.DataFrame(groups).add_prefix("x").assign(city=rng.choice(["a", "b"], 300))
    counted = []
    count = local_solver._counted
    monkeypatch.setattr(local_solver, "_counted", lambda *given: counted.append(len(given)) or count(*given))
    kernels = Mixed(kinds={"city": "category"})  # it would be left out
    model = WeaveClustering("auto", kernels=kernels, solver="local", random_state=0).fit(mixed)
    assert len(counted) == 1
    assert model.n_clusters_ == 3
    assert np.isfinite(model.cluster_evidence_.chance).all()  # samples without structure were compared


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", ["none", "unit", "zscore", "auto"])
def test_neighbours_of_sparse_matrices_are_those_of_sparse_arrays(dtype, scale):
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((60, 9)) * (rng.random((60, 9)) < 0.4) * 9).astype(dtype))
    graphs = [
        WeaveClustering(3, solver=Local(9), scale=scale, n_neighbors=4, random_state=0).fit(form(X)).graph_
        for form in (sparse.csr_array, sparse.csr_matrix)
    ]
    assert_array_equal(graphs[0].toarray(), graphs[1].toarray())
