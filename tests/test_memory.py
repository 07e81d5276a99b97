"""Memory is asked for before it is taken."""

import numpy as np
import pytest

from kernelweave import KGLClustering, SMKLClassifier, SMKLClustering, WeaveClustering
from kernelweave.errors import KernelweaveError, NotEnoughMemoryError
from kernelweave.memory import available_memory, check_memory, estimate_memory

X = np.random.default_rng(0).normal(size=(100, 3))


def test_dense_estimates_grow_with_the_square_of_n_and_local_ones_with_n():
    for model, power in {"weave": 2, "weave-consensus": 2, "smkl": 2, "kernels": 2, "local": 1}.items():
        assert estimate_memory(model, 2000) == 2**power * estimate_memory(model, 1000)


def test_the_smkl_family_keeps_every_kernel():
    n = 1000
    more = estimate_memory("smkl", n, n_kernels=13) - estimate_memory("smkl", n, n_kernels=12)
    assert more == 8 * n**2


def test_the_machine_has_some_memory():
    assert available_memory() > 2**20


def test_the_limit_can_be_given(monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e6")
    assert available_memory() == 1_000_000


def test_what_fits_is_not_refused():
    assert check_memory(1, what="A byte", advice="relax") is None


def test_the_error_names_the_need_what_there_is_and_the_way_on(monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", str(2**30))
    with pytest.raises(
        NotEnoughMemoryError, match=r"Four needs about 4 GiB of memory, and 1 GiB are available: buy more"
    ):
        check_memory(4 * 2**30, what="Four", advice="buy more")


def test_the_error_is_a_memory_error_too():
    assert issubclass(NotEnoughMemoryError, MemoryError)
    assert issubclass(NotEnoughMemoryError, KernelweaveError)


@pytest.mark.parametrize("model", [SMKLClustering(2), KGLClustering(2)])
def test_the_smkl_family_refuses_what_does_not_fit_and_names_weave(model, monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e5")
    with pytest.raises(NotEnoughMemoryError, match="use WeaveClustering or WeaveClassifier"):
        model.fit(X)


def test_smkl_classification_refuses_what_does_not_fit(monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e5")
    with pytest.raises(NotEnoughMemoryError, match="SMKLClassifier of 100 samples and 7 kernels"):
        SMKLClassifier(kernels="released-7").fit(X, np.arange(100) % 2)


def test_dense_weave_refuses_what_does_not_fit_and_names_the_other_solvers(monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e5")
    with pytest.raises(NotEnoughMemoryError, match='use solver="local" or "landmark"'):
        WeaveClustering(2, solver="dense").fit(X)


def test_local_weave_refuses_what_does_not_fit(monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e4")
    with pytest.raises(NotEnoughMemoryError, match='use solver="landmark"'):
        WeaveClustering(2, solver="local").fit(X)
