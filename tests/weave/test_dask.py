"""The same labels on dask.distributed as in this process, also when a worker dies."""

import os
import signal
import threading

import numpy as np
import pandas as pd
import pytest

from kernelweave.errors import InvalidInputError
from kernelweave.weave.landmark import is_streamed, landmark_predict, lazy_labels, n_rows

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
        patch.setattr("kernelweave.landmark.fit.active_client", lambda: None)
        return fit(X, **options)


def test_a_dask_array_is_streamed_and_its_rows_are_counted(groups):
    X = da.from_array(groups[0], chunks=(200, 2))
    assert is_streamed(X)
    assert n_rows(X) == 900
    assert n_rows(X[X[:, 0] > 0]) is None


def test_labels_are_identical_on_two_workers(groups, fit, client):
    X = da.from_array(groups[0], chunks=(200, 3))
    here, there = in_process(fit, X), fit(X)
    assert np.array_equal(here.labels, there.labels)
    assert np.array_equal(here.model.values, there.model.values)
    assert np.array_equal(landmark_predict(there.model, X), here.labels)


def test_labels_can_stay_with_dask(groups, fit, client):
    X = da.from_array(groups[0], chunks=(200, 6))
    found = in_process(fit, X)
    lazy = lazy_labels(found.model, X)
    assert lazy.chunks == (X.chunks[0],)
    assert np.array_equal(lazy.compute(), found.labels)
    assert np.array_equal(lazy_labels(found.model, X[X[:, 0] > -np.inf]).compute(), found.labels)


def test_every_collection_and_table_runs_on_the_client(groups, fit, client):
    X, _ = groups
    expected = in_process(fit, X).labels
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=4)
    unknown = da.from_array(X, chunks=(250, 6))
    unknown = unknown[unknown[:, 0] > -np.inf]
    for table in (X, frame, unknown, np.array_split(X, 3)):
        assert np.array_equal(fit(table).labels, expected)


def test_large_blocks_are_read_in_pieces(groups, fit, client, monkeypatch):
    monkeypatch.setattr("kernelweave.landmark.dask._PART_BYTES", 100 * 6 * 8)
    X, _ = groups
    assert np.array_equal(fit(da.from_array(X, chunks=(900, 6))).labels, in_process(fit, X).labels)


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
    assert np.array_equal(classify(X, codes).scores, here.scores)


@pytest.mark.slow
def test_a_worker_killed_in_mid_fit_changes_no_label(fit):
    X = da.from_array(make_groups(60_000)[0], chunks=(3000, 6))
    expected = in_process(fit, X).labels
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, silence_logs=50) as cluster, distributed.Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        killed = threading.Event()

        def kill_in_the_pass(stage, done, total):
            if stage == "passing" and not killed.is_set():
                os.kill(victim, signal.SIGKILL)
                killed.set()

        assert np.array_equal(fit(X, progress=kill_in_the_pass).labels, expected)
        assert killed.is_set()
