"""Memory is asked for before it is taken."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from kernelweave import (
    Chunks,
    Dense,
    KGLClustering,
    Landmark,
    Local,
    SMKLClassifier,
    SMKLClustering,
    Views,
    WeaveClassifier,
    WeaveClustering,
)
from kernelweave.baselines import LaplaceLearning, PoissonLearning
from kernelweave.errors import KernelweaveError, NotEnoughMemoryError
from kernelweave.kernels import Gaussian
from kernelweave.metrics import normalized_mutual_information
from kernelweave.runtime import available_memory, check_memory, gib

X = np.random.default_rng(0).normal(size=(100, 3))


def views(n, d=0):
    return Views.of_table(np.broadcast_to(0.0, (n, d)))


@pytest.mark.parametrize(
    ("solver", "power"),
    [(Dense(), 2), (Local(), 1), (Local(15), 1)],
)
def test_dense_estimates_grow_with_the_square_of_n_and_local_ones_with_n(solver, power):
    few, many = (solver.memory(views(n), 10, 3) for n in (1000, 2000))
    assert many == 2**power * few


def test_the_estimate_of_the_landmark_solver_grows_less_than_one_of_all_pairs():
    few, many = (Landmark().memory(views(n, 5), 10, 3) for n in (10**5, 10**6))
    assert few < many < 10 * few


def test_the_dense_solver_takes_memory_for_six_matrices_of_all_pairs():
    assert Dense().memory(views(1000), 10, 3) == 6 * 8 * 1000**2


def test_the_local_solver_takes_memory_for_candidates_and_a_copy_of_the_samples():
    assert Local(16).memory(views(1000), 10, 3) > Local(15).memory(views(1000), 10, 3)
    wide, narrow = (Local(15).memory(views(1000, d), 10, 3) for d in (7, 5))
    assert wide - narrow == 1000 * 2 * 2 * 4


@pytest.mark.parametrize("solver", [Local(), Landmark(100)], ids=lambda one: one.name)
def test_of_a_sparse_table_only_what_it_stores_takes_memory(solver):
    text = sparse.random_array((2000, 50_000), density=1e-3, rng=np.random.default_rng(0), format="csr")
    stored, full = (solver.memory(Views.of_table(X), 10, 3) for X in (text, np.broadcast_to(0.0, text.shape)))
    assert stored < full / 4
    half = Views.of_table(text[:, :25_000])
    assert solver.memory(half, 10, 3) < stored


def test_a_table_of_words_is_not_refused_as_if_it_were_dense(monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e9")
    topic = np.repeat([0, 1], 3000)
    words = 400 * np.random.default_rng(0).integers(0, 200, (6000, 20)) + topic[:, None]
    text = sparse.csr_array((np.ones(120_000), words.ravel(), np.arange(0, 120_001, 20)), shape=(6000, 80_000))
    model = WeaveClustering(2, random_state=0).fit(text)
    assert model.solver_.name == "local"
    assert normalized_mutual_information(topic, model.labels_) > 0.9


CHUNKED = {
    "list": lambda X: Chunks([X[:2000], X[2000:]]),
    "function": lambda X: lambda: iter([X[:2000], X[2000:]]),
    "iterator": lambda X: iter([X[:2000], X[2000:]]),
    "table": Chunks,
}


@pytest.mark.parametrize("form", CHUNKED)
def test_chunks_that_do_not_fit_are_refused_once_their_rows_are_counted(form, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(3000, 4))
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e8")
    words = (
        r"^The landmark graph of 3000 samples needs about .* of memory, more than the 95\.4 MiB available: take fewer "
    )
    with pytest.raises(
        NotEnoughMemoryError, match=rf"{words}than 750 landmarks by solver=Landmark\(n_landmarks=\.\.\."
    ):
        WeaveClustering(2, random_state=0).fit(CHUNKED[form](rows))
    with pytest.raises(NotEnoughMemoryError, match=words):
        WeaveClassifier().fit(CHUNKED[form](rows), np.where(np.arange(3000) % 9, -1, np.arange(3000) % 2))
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e9")
    assert WeaveClustering(2, random_state=0).fit(CHUNKED[form](rows)).solver_.name == "landmark"


@pytest.mark.parametrize("form", CHUNKED)
def test_sparse_chunks_take_memory_for_what_they_store(form, monkeypatch):
    rows = sparse.random_array((4000, 20_000), density=1e-3, rng=np.random.default_rng(0), format="csr")
    needs = []
    monkeypatch.setattr(
        "kernelweave.weave.landmark.landmark_solver.check_memory", lambda need, **words: needs.append(need)
    )
    monkeypatch.setattr("kernelweave.weave.landmark.landmark_solver.sample_of", lambda *given, **names: 1 / 0)
    with pytest.raises(ZeroDivisionError, match="division"):
        WeaveClustering(2, solver=Landmark(50), random_state=0).fit(CHUNKED[form](rows))
    assert needs == [Landmark(50).memory(Views.of_table(rows), 10, 2)]


def test_single_precision_takes_half_of_the_dense_memory():
    single = views(1000).astype(np.float32)
    assert 2 * Dense().memory(single, 10, 3) == Dense().memory(views(1000), 10, 3)


def test_the_smkl_family_keeps_every_kernel(monkeypatch):
    needs = []
    monkeypatch.setattr("kernelweave.estimators._estimator.check_memory", lambda need, **words: needs.append(need))
    n = 1000
    for n_kernels in (12, 13):
        SMKLClustering(2)._check_memory(views(n), n_kernels)
    assert needs[1] - needs[0] == 8 * n**2


@pytest.mark.parametrize("model", [WeaveClustering, WeaveClassifier])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weave_estimates_the_memory_of_its_dense_solver(model, dtype):
    samples = views(1000).astype(dtype)
    assert model.estimate_memory(1000, itemsize=samples.dtype.itemsize) == Dense().memory(samples, 10, 3)
    assert model.estimate_memory(1000, n_kernels=1) == model.estimate_memory(1000)


def test_the_machine_has_some_memory():
    assert available_memory() > 2**20


def test_a_small_fit_is_not_refused_where_the_machine_reports_hardly_any_memory(monkeypatch):
    monkeypatch.delenv("KERNELWEAVE_MEMORY", raising=False)
    monkeypatch.setattr("kernelweave.runtime._left", lambda: iter([10**9, -5]))
    assert available_memory() == 2**28
    assert (
        WeaveClustering(2, random_state=0).fit(X).solver_.reason.endswith("few enough to compare each with all others")
    )
    assert check_memory(2**28, what="A kernel", advice="relax") is None
    with pytest.raises(NotEnoughMemoryError, match=r"more than the 0\.25 GiB available: relax"):
        check_memory(2**28 + 1, what="A kernel", advice="relax")
    monkeypatch.setattr("kernelweave.runtime._left", lambda: iter([]))
    assert available_memory() is None


def test_the_limit_can_be_given(monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e6")
    assert available_memory() == 1_000_000


def test_what_fits_is_not_refused():
    assert check_memory(1, what="A byte", advice="relax") is None


def test_the_error_names_the_need_what_there_is_and_the_way_on(monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", str(2**30))
    with pytest.raises(
        NotEnoughMemoryError, match=r"Four needs about 4 GiB of memory, more than the 1 GiB available: buy more"
    ):
        check_memory(4 * 2**30, what="Four", advice="buy more")


@pytest.mark.parametrize(("size", "words"), [(2**20, "1 MiB"), (3 * 2**26, "0.188 GiB"), (5 * 2**30, "5 GiB")])
def test_sizes_are_told_in_words(size, words):
    assert gib(size) == words


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
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "4.75e5")
    with pytest.raises(NotEnoughMemoryError, match='use solver="local", or dtype="float32"'):
        WeaveClustering(2, solver="dense").fit(X)


def test_local_weave_refuses_what_does_not_fit(monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e4")
    with pytest.raises(NotEnoughMemoryError, match=r"available: take fewer samples\.$"):
        WeaveClustering(2, solver="local").fit(X)


@pytest.mark.parametrize("model", [LaplaceLearning(), PoissonLearning()], ids=repr)
def test_graphs_of_neighbours_advise_to_leave_out_a_kernel_only_if_there_is_one(model, monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e3")
    for kernel, advice in ((None, "fewer samples, or fewer"), (Gaussian(), "fewer samples, kernel=None, or fewer")):
        with pytest.raises(NotEnoughMemoryError, match=f"use {advice} neighbours"):
            clone(model).set_params(kernel=kernel).fit(X, np.arange(100) % 2)
