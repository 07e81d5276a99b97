"""Distances and graphs are views beside tables."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances

import kernelweave
from kernelweave import SMKLClustering, Views, WeaveClassifier, WeaveClustering
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Gaussian
from kernelweave.samples import Distances, Graph

X, Y = make_blobs(60, n_features=3, centers=3, cluster_std=1.5, random_state=0)
D = pairwise_distances(X)
NEW = X[:9] + 0.05
TO_FIT = pairwise_distances(NEW, X)


def planted(n=90, inside=0.3, outside=0.03, seed=0):
    rng = np.random.default_rng(seed)
    z = np.arange(n) % 3
    A = np.triu(rng.random((n, n)) < np.where(z[:, None] == z, inside, outside), 1)
    return sparse.csr_array((A | A.T).astype(float)), z


A, Z = planted()


def coordinates(views):
    return views.tables[views.names.index("d")]


def test_euclidean_distances_give_back_the_points():
    views = Views({"d": Distances(D)})
    assert views.widths == (3,)
    assert views.kinds == ("distances",)
    assert_allclose(pairwise_distances(coordinates(views)), D, atol=1e-9)
    assert views.readings["d"].left_out < 1e-9


def test_new_samples_lie_at_their_distances_to_the_samples_of_fit():
    views = Views({"d": Distances(D)})
    new = Views({"d": Distances(TO_FIT)}, readings=views.readings)
    assert_allclose(pairwise_distances(coordinates(new), coordinates(views)), TO_FIT, atol=1e-8)


def test_samples_of_fit_are_placed_to_the_last_digit():
    for thing, kind in ((D, Distances), (A, Graph)):
        views = Views({"d": kind(thing)})
        rows = np.array([5, 2, 11])
        again = Views({"d": kind(thing[rows])}, readings=views.readings)
        assert_array_equal(again.digests(), views.digests()[rows])


def test_distances_that_are_not_euclidean_leave_out_what_is_not():
    chebyshev = pairwise_distances(np.random.default_rng(0).normal(size=(40, 6)), metric="chebyshev")
    views = Views({"d": Distances(chebyshev)})
    assert 0 < views.readings["d"].left_out < 0.5
    found = pairwise_distances(coordinates(views))
    assert np.corrcoef(found.ravel(), chebyshev.ravel())[0, 1] > 0.9


def test_a_model_of_distances_is_that_of_the_points():
    kernels = [Gaussian(t) for t in (0.1, 1.0)]
    points = WeaveClustering(3, kernels=kernels, scale="none", random_state=0).fit(X)
    distances = WeaveClustering(3, kernels=kernels, scale="none", random_state=0).fit(Distances(D))
    assert_allclose(distances.consensus_kernel_, points.consensus_kernel_, atol=1e-8)
    assert_array_equal(distances.predict(Distances(TO_FIT)), points.predict(NEW))
    assert_array_equal(distances.predict(Distances(D)), distances.labels_)


def test_distances_stand_beside_tables_and_may_be_saved(tmp_path):
    model = WeaveClustering(3, random_state=0).fit({"x": X[:, :2], "d": Distances(D), "g": A[:60, :60]})
    assert model.scaling_[0].scalings["d"].reason == "distances are used as they are given"
    model.save(tmp_path / "model.kw")
    again = kernelweave.load(tmp_path / "model.kw")
    new = {"x": NEW[:, :2], "d": Distances(TO_FIT), "g": A[:9, :60]}
    assert_array_equal(again.predict(new), model.predict(new))
    assert_array_equal(model.predict(new), model.labels_[:9])
    assert_array_equal(model.predict({"d": new["d"]}), model.labels_[:9])  # without the other views


def test_distances_with_names_are_aligned_by_them():
    names = [f"s{i}" for i in range(60)]
    frame = pd.DataFrame(D, index=names, columns=names)
    turned = frame.iloc[::-1, np.random.default_rng(0).permutation(60)]
    table = pd.DataFrame(X, index=names)
    views = Views({"x": table, "d": Distances(turned)})
    assert_allclose(pairwise_distances(coordinates(views)), D, atol=1e-9)
    some = Views({"x": table, "d": Distances(frame.iloc[:50, :50])})
    assert_array_equal(some.present.sum(axis=1), [60, 50])
    new = Distances(pd.DataFrame(TO_FIT, columns=names)[names[::-1]])
    placed = Views({"d": new}, readings=views.readings)
    assert_allclose(pairwise_distances(coordinates(placed), coordinates(views)), TO_FIT, atol=1e-8)


def test_a_sample_whose_distances_are_unknown_lacks_the_view():
    gappy = D.copy()
    gappy[4] = gappy[:, 4] = np.nan
    views = Views({"x": X, "d": Distances(gappy)})
    assert_array_equal(np.flatnonzero(~views.present[1]), [4])
    new = Views({"x": X, "d": Distances(gappy)}, readings=views.readings)
    assert_array_equal(new.digests(), views.digests())


def test_a_planted_partition_is_found_in_a_graph():
    model = WeaveClustering(3, random_state=0).fit({"g": Graph(A)})
    assert adjusted_rand_score(Z, model.labels_) > 0.9
    assert model.scaling_[0].scalings["g"].method == "none"
    learned = SMKLClustering(3, random_state=0).fit(
        {"g": Graph(A), "noise": np.random.default_rng(0).normal(size=(90, 2))}
    )
    assert learned.view_names_ == ("g", "noise")


def test_new_nodes_get_the_cluster_of_their_neighbours():
    bigger, z = planted(120, seed=1)
    known = np.where(np.arange(90) % 5 == 0, z[:90], -1)
    model = WeaveClassifier(random_state=0).fit({"g": Graph(bigger[:90, :90])}, known)
    found = model.predict({"g": Graph(bigger[90:, :90])})
    assert (found == z[90:]).mean() > 0.9
    assert_array_equal(model.predict({"g": Graph(bigger[:90, :90])}), model.transduction_)


def test_a_node_without_edges_lacks_the_view():
    cut = A.tolil()
    cut[3] = 0
    cut[:, 3] = 0
    views = Views({"g": Graph(cut), "x": np.arange(90.0)[:, None]})
    assert_array_equal(np.flatnonzero(~views.present[0]), [3])


def test_the_diagonal_of_a_graph_is_ignored():
    plain, looped = Views({"g": Graph(A)}), Views({"g": Graph(A + 5 * sparse.eye_array(90))})
    assert_allclose(plain.tables[0].toarray(), looped.tables[0].toarray())


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (Distances(D[:, :5]), r"The distances of view 'd' must be a square matrix .* got \(60, 5\)"),
        (Distances(np.triu(D)), "The distances of view 'd' must be symmetric"),
        (Distances(D + 1), "distance of a sample to itself must be 0"),
        (Distances(-D), "must be finite and not negative"),
        (Distances(np.zeros((5, 5))), "are all 0"),
        (Graph(-A), "The edges of view 'd' must be finite and not negative"),
        (Graph(sparse.triu(A)), "The edges of view 'd' must be symmetric"),
    ],
)
def test_what_compares_no_samples_is_refused(thing, message):
    with pytest.raises(InvalidInputError, match=message):
        Views({"d": thing})


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (
            Distances(D[:3, :5]),
            r"needs the distances of every new sample to the 60 samples of fit.* got shape \(3, 5\)",
        ),
        (D[:3], r"'X' was fitted on Distances\(matrix\): pass Distances\(matrix\) for new samples too; got ndarray"),
    ],
)
def test_new_samples_need_distances_to_those_of_fit(new, message):
    model = WeaveClustering(3, random_state=0).fit(Distances(D))
    with pytest.raises(InvalidInputError, match=message):
        model.predict({"X": new})


def test_views_of_other_distances_are_refused():
    model = WeaveClustering(3, random_state=0).fit(Views({"d": Distances(D), "x": X}))
    with pytest.raises(InvalidInputError, match="in another form than that of fit"):
        model.predict(Views({"d": Distances(D[:9, :9]), "x": X[:9]}))
    new = Views({"d": Distances(TO_FIT), "x": NEW}, readings=model.readings_)
    assert_array_equal(model.predict(new), model.labels_[:9])


def test_edges_near_the_smallest_numbers_make_the_same_shares_as_others():
    A = np.kron(np.eye(4), np.ones((3, 3)) - np.eye(3)) + 0.1
    usual, tiny = (Views({"edges": Graph(factor * A)}).tables[0].toarray() for factor in (1.0, 1e-309))
    assert np.isfinite(tiny).all()
    assert_allclose(tiny, usual, rtol=1e-3)
