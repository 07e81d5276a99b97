import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from kernelweave import WeaveClustering
from kernelweave.weave.local import local_solver, locality
from kernelweave.weave.local.locality import near_order


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_an_order_holds_every_sample_once_and_groups_stay_together(make, monkeypatch):
    monkeypatch.setattr(locality, "_LEAF", 40)
    X, y = make_blobs(400, n_features=3, centers=4, cluster_std=0.1, center_box=(-100, 100), random_state=0)
    order = near_order(make(X.astype(np.float32)))
    assert_array_equal(np.sort(order), np.arange(400))
    assert np.count_nonzero(np.diff(y[order])) < 12  # 3 if no group were divided, about 300 at random


def test_samples_that_are_all_alike_are_ordered_too(monkeypatch):
    monkeypatch.setattr(locality, "_LEAF", 5)
    assert_array_equal(np.sort(near_order(np.ones((33, 2)))), np.arange(33))


def test_the_order_of_a_fit_in_memory_shows_in_no_result(monkeypatch):
    X, y = make_blobs(700, n_features=5, centers=4, cluster_std=3.0, random_state=1)  # one piece: no edge is added
    plain = WeaveClustering(4, solver="local", random_state=0).fit(X)
    monkeypatch.setattr(local_solver, "_ORDERED_FROM", 100)
    monkeypatch.setattr(locality, "_LEAF", 50)
    ordered = WeaveClustering(4, solver="local", random_state=0).fit(X)
    assert adjusted_rand_score(plain.labels_, ordered.labels_) == 1
    assert adjusted_rand_score(y, ordered.labels_) > 0.9
    assert abs(plain.graph_ - ordered.graph_).max() < 1e-5
    assert_array_equal(ordered.predict(X), ordered.labels_)
    assert_array_equal(ordered.predict(X + 1e-9), ordered.labels_)
