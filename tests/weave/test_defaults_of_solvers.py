"""Defaults of what solvers keep, parts of model files that do not belong together, and graphs without structure."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kernelweave import Views, WeaveClustering
from kernelweave.kernels import recipe
from kernelweave.kernels.precomputed_bank import PrecomputedBank
from kernelweave.kernels.view_bank import ViewBank
from kernelweave.weave import dense
from kernelweave.weave.consensus_kernel import Consensus, VersionKernels, block_shares
from kernelweave.weave.dense_rows import DenseRows
from kernelweave.weave.landmark.learning import LandmarkRows
from kernelweave.weave.learned_rows import LearnedRows
from kernelweave.weave.local.local_graph import LocalRows

X = np.random.default_rng(0).normal(size=(40, 12)) + 4 * np.eye(12)[np.arange(40) % 3]


def test_only_landmarks_answer_for_samples_in_chunks():
    found = {cls: cls.chunked for cls in (DenseRows, LearnedRows, LocalRows, LandmarkRows)}
    assert found == {DenseRows: False, LearnedRows: False, LocalRows: False, LandmarkRows: True}


def test_new_rows_are_in_double_precision_unless_said_otherwise():
    assert DenseRows(None, 0.1, ()).single is False


def test_kernels_of_samples_come_with_samples_and_kernel_matrices_without():
    bank = ViewBank({"X": recipe("released-7")})
    with pytest.raises(TypeError, match="The ViewBank of a Consensus has no samples"):
        VersionKernels(bank, {}, np.ones(7)).check_loaded()
    VersionKernels(bank.fit(Views.of_table(X)), {}, np.ones(7)).check_loaded()
    VersionKernels(PrecomputedBank(("a",)), {}, np.ones(1)).check_loaded()
    Consensus((SimpleNamespace(),), X).check_loaded()
    with pytest.raises(TypeError, match="A Consensus has no kernels"):
        Consensus((), X).check_loaded()


def test_views_of_one_source_that_is_not_a_mixed_table_count_alike():
    samples = SimpleNamespace(readings={"X": None}, sources=("X", "X"), kinds=("table", "table"))
    assert_array_equal(block_shares(samples, np.array([0, 0, 1])), 1)


@pytest.mark.parametrize("n_neighbors", ["auto", 5])
def test_samples_without_structure_have_as_many_graphs_or_those_of_one_with_its_perturbed_ones(
    monkeypatch, n_neighbors
):
    kept = []

    class Stop(Exception):  # noqa: N818
        """Ends the fit."""

    def stop(several, *rest):
        kept.append(several)
        raise Stop

    monkeypatch.setattr(dense, "cluster_graphs", stop)
    with pytest.raises(Stop, match=r"^$"):
        WeaveClustering(3, n_neighbors=n_neighbors, scale="none", solver="dense", random_state=0).fit(X)
    (several,) = kept
    for kind in ("normal", "permuted"):
        graphs = several.null(np.random.RandomState(0), kind)
        assert len(graphs) == (3 if n_neighbors == 5 else len(several.graphs))
        assert {S.shape for S in graphs} == {(40, 40)}
    assert (len(several.graphs) == 1) is (n_neighbors == 5)
    assert several.priors.sum() == pytest.approx(1)
