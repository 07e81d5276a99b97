"""BLAS has the same number of threads after computations that overlap as before them."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event

import numpy as np
import pytest
from scipy import linalg
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from kernelweave import WeaveClustering
from kernelweave.runtime import threads
from kernelweave.samples.source import in_process
from kernelweave.weave.clarity import Clarity


def counted():
    """Return the threads of every BLAS library; those of one that computes with OpenMP belong to each thread."""
    return [
        pool["num_threads"]
        for pool in threadpool_info()
        if pool["user_api"] == "blas" and pool.get("threading_layer") != "openmp"
    ]


def give(numbers):
    """Set the threads of every BLAS library, without a limit that keeps other threads from it."""
    libraries = [
        one
        for one in ThreadpoolController().lib_controllers
        if one.user_api == "blas" and getattr(one, "threading_layer", None) != "openmp"
    ]
    for library, n in zip(libraries, numbers, strict=True):
        library.set_num_threads(n)
    with threadpool_limits(None):
        pass


@pytest.fixture(autouse=True)
def two():
    np.eye(3) @ np.eye(3)  # BLAS is loaded
    linalg.inv(np.eye(3))  # that of scipy too
    before = counted()
    give([2] * len(before))
    yield
    give(before)


@pytest.fixture
def other():
    """A thread that holds a limit from `begin` to `end`."""

    class Other:
        def __init__(self):
            self.pool, self.begun, self.leave = ThreadPoolExecutor(1), Event(), Event()

        def begin(self, limit):
            def run():
                with limit:
                    self.begun.set()
                    assert self.leave.wait(60)

            self.done = self.pool.submit(run)
            assert self.begun.wait(60)

        def end(self):
            self.leave.set()
            self.done.result(60)

    found = Other()
    yield found
    found.leave.set()
    found.pool.shutdown()


@pytest.mark.parametrize(
    ("first", "second"),
    [(lambda: threads(1), lambda: threads(1)), (lambda: threads(2), lambda: threads(1)),
     (lambda: threads(1), lambda: in_process(1)), (lambda: in_process(1), lambda: threads(1))],
    ids=["fits", "fits with other n_jobs", "a pass in a fit", "a fit in a pass"],
)  # fmt: skip
def test_the_second_of_two_that_overlap_does_not_keep_the_limit_of_the_first(other, first, second):
    other.begin(first())
    with ExitStack() as stack:
        stack.enter_context(second())
        other.end()
    assert set(counted()) == {2}


def test_a_clarity_that_is_measured_beside_a_fit_does_not_leave_its_limit(other, monkeypatch):
    model = WeaveClustering(2, random_state=0).fit(np.random.default_rng(0).normal(size=(40, 12)))
    real = Clarity._measured
    ended = []

    def measured(*args):
        if not ended:
            ended.append(other.end())
        return real(*args)

    monkeypatch.setattr(Clarity, "_measured", measured)
    other.begin(threads(1))
    assert 0 <= model.clarity_ <= 1
    assert ended
    assert set(counted()) == {2}


def test_after_fits_that_overlapped_another_thread_can_limit_blas(other):
    other.begin(threads(1))
    with threads(1):
        other.end()

    def within():
        with threads(1):
            return counted()

    assert set(other.pool.submit(within).result(60)) == {1}
    assert set(counted()) == {2}
