"""How many threads of BLAS a fit takes."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from kernelweave.estimators import _estimator
from kernelweave.estimators._estimator import threads


def counted():
    return {pool["num_threads"] for pool in threadpool_info()}


@pytest.fixture(autouse=True)
def two():
    np.eye(3) @ np.eye(3)  # BLAS is loaded
    with threadpool_limits(2):
        yield


def test_few_samples_take_one_thread_unless_more_are_asked_for():
    with threads(None, 100):
        assert counted() == {1}
    with threads(2, 100):
        assert counted() == {2}
    assert counted() == {2}


def test_many_samples_and_an_unknown_number_leave_the_threads_as_they_are():
    with threads(None, _estimator._ONE_THREAD_BELOW):
        assert counted() == {2}
    with threads(None):
        assert counted() == {2}
