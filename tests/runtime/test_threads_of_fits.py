"""How many threads of BLAS a fit takes."""

import sys

import numpy as np
import pytest
from scipy import linalg
from threadpoolctl import threadpool_info, threadpool_limits

from kernelweave import WeaveClustering, runtime
from kernelweave.runtime import threads
from kernelweave.weave.graph_model import GraphModel

FILES = {
    "wheels": (["site-packages/scipy.libs/libopenblas.so", "site-packages/numpy.libs/libopenblas64.so"], [1]),
    "wheels, numpy first": (
        ["site-packages/numpy.libs/libopenblas64.so", "site-packages/scipy.libs/libopenblas.so"],
        [0],
    ),
    "a Mac": (
        ["site-packages/numpy/.dylibs/libopenblas64.dylib", "site-packages/scipy/.dylibs/libopenblas.dylib"],
        [0],
    ),
    "one for both": (["/usr/lib/libopenblas.so.0"], []),
    "two that nobody knows": (["/usr/lib/libmkl.so", "/usr/lib/libblis.so"], [1]),
    "none": ([], []),
    "one that shares the threads of OpenMP": (["faiss_cpu.libs/libopenblas.so", "scipy.libs/libopenblas.so"], []),
}


def counted():
    """Return the threads of every library, by its kind: "openmp" also for a BLAS that computes with it."""
    found = {}
    for pool in threadpool_info():
        kind = "openmp" if pool.get("threading_layer") == "openmp" else pool["user_api"]
        found.setdefault(kind, []).append(pool["num_threads"])
    return {kind: sorted(numbers) for kind, numbers in found.items()}


def most(n):
    """Return the threads of every library where n are allowed: those of BLAS in one library only."""
    return {k: [1] * (len(v) - 1) + [n] if k == "blas" else [n] * len(v) for k, v in counted().items()}


@pytest.fixture(autouse=True)
def two():
    np.eye(3) @ np.eye(3)  # BLAS is loaded
    linalg.inv(np.eye(3))  # that of scipy too
    with threadpool_limits(2):
        yield


def test_few_samples_take_one_thread_unless_more_are_asked_for():
    with threads(None, 100):
        assert counted() == most(1)
    with threads(2, 100):
        assert counted() == most(2)
    assert all(set(numbers) == {2} for numbers in counted().values())


def test_many_samples_and_an_unknown_number_leave_the_threads_of_one_blas_library_as_they_are():
    with threads(None, runtime._ONE_THREAD_BELOW):
        assert counted() == most(2)
    with threads(None):
        assert counted() == most(2)


def test_libraries_are_looked_for_once_until_a_module_is_imported(monkeypatch):
    looked, find = [], runtime.ThreadpoolController
    monkeypatch.setattr(runtime, "ThreadpoolController", lambda: looked.append(1) or find())
    runtime._pools.cache_clear()
    for expected in (1, 1, 2):
        if expected == 2:
            monkeypatch.setitem(sys.modules, "a module with threads of its own", sys)
        with threads(1):
            assert counted() == most(1)
        assert len(looked) == expected


@pytest.mark.parametrize("name", FILES)
def test_the_blas_of_scipy_keeps_its_threads_and_the_others_have_one(name):
    files, others = FILES[name]
    layers = {"faiss_cpu.libs/libopenblas.so": "openmp"}
    pools = [{"filepath": f, "user_api": "blas", "threading_layer": layers.get(f, "pthreads")} for f in files]
    for pool in pools[: len(files) == 1]:
        del pool["threading_layer"]  # not every library tells
    pools.append({"filepath": "site-packages/scikit_learn.libs/libgomp.so", "user_api": "openmp"})
    assert runtime._other_blas(pools) == [files[i] for i in others]


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, 1), (2, 2)])
def test_new_samples_are_answered_by_one_thread_unless_more_are_asked_for(n_jobs, expected, monkeypatch):
    X = np.random.default_rng(0).normal(size=(40, 12))
    model = WeaveClustering(2, random_state=0, n_jobs=n_jobs).fit(X)
    seen = []
    for method in ("answers", "transform"):
        real = getattr(GraphModel, method)
        monkeypatch.setattr(GraphModel, method, lambda *args, real=real: [seen.append(counted()), real(*args)][1])
    model.predict(X + 1)
    model.transform(X + 1)
    assert seen == [most(expected)] * 2
