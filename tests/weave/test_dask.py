"""The same labels on dask.distributed as in this process, also when a worker dies."""

import os
import signal
import threading

import numpy as np
import pandas as pd
import pytest

from kernelweave import Chunks, WeaveClustering
from kernelweave.errors import InvalidInputError
from kernelweave.weave import lazy_labels

from .conftest import make_groups

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, silence_logs=50) as cluster, distributed.Client(cluster) as client:
        yield client


def in_process(fit, X, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernelweave.weave.graph_model.active_client", lambda: None)
        return fit(X, **options)


def test_labels_are_identical_on_two_workers(groups, fit, client):
    X = da.from_array(groups[0], chunks=(200, 3))
    here, there = in_process(fit, X), fit(X)
    assert np.array_equal(here.labels_, there.labels_)
    assert np.array_equal(here._graph_model.coordinates, there._graph_model.coordinates)
    assert np.array_equal(there.predict(X), here.labels_)


def test_labels_can_stay_with_dask(groups, fit, client):
    X = da.from_array(groups[0], chunks=(200, 6))
    found = in_process(fit, X)
    lazy = lazy_labels(found, X)
    assert lazy.chunks == (X.chunks[0],)
    assert np.array_equal(lazy.compute(), found.labels_)
    assert np.array_equal(lazy_labels(found, X[X[:, 0] > -np.inf]).compute(), found.labels_)


def test_labels_that_stay_with_dask_are_those_of_predict(groups, fit, classify, client):
    X, y = groups
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=4)
    found = in_process(fit, X)
    assert np.array_equal(lazy_labels(found, frame).compute(), found.labels_)
    names = np.array(["a", "b", "c", "d"])[y]
    known = np.where(np.arange(len(y)) % 30 == 0, names, "-1")
    model = in_process(lambda X: classify(X, known), X)
    lazy = lazy_labels(model, da.from_array(X, chunks=(200, 6)))
    assert lazy.dtype == model.classes_.dtype
    assert np.array_equal(lazy.compute(), in_process(model.predict, X))


def test_labels_cannot_stay_with_dask_unless_model_and_samples_can_be_read_in_blocks(groups, fit):
    X, _ = groups
    found = in_process(fit, X)
    with pytest.raises(InvalidInputError, match="takes a dask array or dataframe; got ndarray"):
        lazy_labels(found, X)
    with pytest.raises(InvalidInputError, match="X has 5 features, but the model was fitted on samples of 6"):
        lazy_labels(found, da.from_array(X[:, :5]))
    with pytest.raises(InvalidInputError, match='takes a model with solver="landmark"'):
        lazy_labels(WeaveClustering(2, solver="local").fit(X[:50]), da.from_array(X))


def test_every_collection_and_table_runs_on_the_client(groups, fit, client):
    X, _ = groups
    expected = in_process(fit, X).labels_
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=4)
    unknown = da.from_array(X, chunks=(250, 6))
    unknown = unknown[unknown[:, 0] > -np.inf]
    for table in (X, frame, unknown, Chunks(np.array_split(X, 3))):
        assert np.array_equal(fit(table).labels_, expected)


def test_workers_find_columns_by_their_names(groups, fit, client):
    frame = pd.DataFrame(groups[0], columns=list("abcdef"))
    turned = dd.from_pandas(frame[list("fbdcea")], npartitions=4)
    found = fit(dd.from_pandas(frame, npartitions=4))
    assert np.array_equal(found.predict(turned), found.labels_)
    assert np.array_equal(lazy_labels(found, turned).compute(), found.labels_)


def test_large_blocks_are_read_in_pieces(groups, fit, client, monkeypatch):
    monkeypatch.setattr("kernelweave.samples.dask_chunks._PART_BYTES", 100 * 6 * 8)
    X, _ = groups
    assert np.array_equal(fit(da.from_array(X, chunks=(900, 6))).labels_, in_process(fit, X).labels_)


def test_a_bad_block_is_named(groups, fit, client):
    X = groups[0].copy()
    X[350, 4] = np.nan
    with pytest.raises(InvalidInputError, match=r"block 1 \(rows 200 to 399\) holds 1 NaN.*row 150, column 4"):
        fit(da.from_array(X, chunks=(200, 6)))


def test_an_empty_partition_is_named(groups, fit, client):
    frame = dd.from_pandas(pd.DataFrame(groups[0]).sort_values(0, ignore_index=True), npartitions=3)
    with pytest.raises(InvalidInputError, match="partition 0 is empty"):
        fit(frame[frame[0] > groups[0][:, 0].max() - 0.1])


def test_classes_are_identical_on_two_workers(groups, classify, client):
    X, y = groups
    codes = np.where(np.arange(len(y)) % 30 == 0, y, -1)
    X = da.from_array(X, chunks=(200, 6))
    here = in_process(lambda X: classify(X, codes), X)
    assert np.array_equal(classify(X, codes).embedding_, here.embedding_)


@pytest.mark.slow
def test_a_worker_killed_in_mid_fit_changes_no_label(fit, monkeypatch):
    X = da.from_array(make_groups(60_000)[0], chunks=(3000, 6))
    expected = in_process(fit, X).labels_
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, silence_logs=50) as cluster, distributed.Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        killed = threading.Event()

        def kill_in_the_pass(stage, done, total):
            if stage == "passing" and not killed.is_set():
                os.kill(victim, signal.SIGKILL)
                killed.set()

        monkeypatch.setattr("kernelweave.weave.landmark.landmark_solver.StageProgress", lambda say: kill_in_the_pass)
        assert np.array_equal(fit(X).labels_, expected)
        assert killed.is_set()
