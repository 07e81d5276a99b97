"""What the landmark solver adds up over the samples, and the scores of classes that it makes of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.core.graphs.bipartite import class_sums
from kernelweave.samples.views import Views
from kernelweave.weave.landmark.learning import landmark_classes, sample_size

from .conftest import N_GROUPS


@pytest.fixture(scope="module")
def graph(groups, fit):
    return fit(groups[0], scale="unit")._graph_model.joiner


@pytest.fixture(scope="module")
def codes(groups):
    return np.where(np.arange(len(groups[1])) % 10 == 0, groups[1], -1)


def test_landmarks_of_samples_of_unit_length_have_unit_length(graph):
    assert_allclose(np.linalg.norm(graph.landmarks, axis=1), 1, rtol=1e-6)


def test_the_sample_has_twenty_rows_per_landmark_and_at_least_ten_thousand():
    assert [sample_size(m) for m in (1, 500, 501, 1000)] == [10_000, 10_000, 10_020, 20_000]


def test_sums_of_labelled_and_unlabelled_rows_are_scaled_to_the_rows_that_they_represent(graph, groups, codes):
    m, B = graph.m, graph.rows(Views.of_table(groups[0]))
    plain = class_sums([(B, codes)], N_GROUPS, (1.0, 1.0))
    found = class_sums([(B, codes)], N_GROUPS, (3.0, 5.0))
    assert plain.shape == (m, 2 * m + N_GROUPS)
    assert_array_equal(found, np.hstack([5 * plain[:, :m], 3 * plain[:, m:]]))
    dense, known = B.toarray(), codes >= 0
    assert_allclose(plain[:, :m], dense[~known].T @ dense[~known], atol=1e-4)
    assert_allclose(plain[:, m : 2 * m], dense[known].T @ dense[known], atol=1e-4)
    assert_allclose(plain[:, 2 * m :], dense[known].T @ np.eye(N_GROUPS)[codes[known]], atol=1e-4)


@pytest.mark.parametrize("method", ["harmonic", "lgc"])
def test_class_mass_gives_every_class_the_share_of_its_labels(graph, groups, codes, method):
    few = np.where((codes == 1) & (np.arange(len(codes)) % 20 == 0), -1, codes)  # unequal numbers of labels
    sums = class_sums([(graph.rows(Views.of_table(groups[0])), few)], N_GROUPS, (1.0, 1.0))
    plain, found = (landmark_classes(sums, harmonic=method == "harmonic", class_mass=mass) for mass in (False, True))
    mass = sums[:, : graph.m].sum(axis=1)
    assert_allclose(mass @ found, sums[:, 2 * graph.m :].sum(axis=0))
    assert not np.allclose(mass @ plain, mass @ found)
    assert_allclose(found / found.sum(axis=0), plain / plain.sum(axis=0))


def test_no_class_of_landmarks_has_more_of_the_consistent_scores_for_having_more_labels(graph, groups, codes):
    few = np.where((codes == 1) & (np.arange(len(codes)) % 20 == 0), -1, codes)
    sums = class_sums([(graph.rows(Views.of_table(groups[0])), few)], N_GROUPS, (1.0, 1.0))
    e = sums[:, : 2 * graph.m].sum(axis=1)
    labels = sums[:, 2 * graph.m :].sum(axis=0)
    mass = e @ landmark_classes(sums, harmonic=False, class_mass=False)
    assert np.ptp(labels) > 0
    assert_allclose(mass, 100 * labels.mean(), rtol=1e-4)  # 1'(diag(e) - aBB) = (1 - a) e'


def test_a_class_that_reaches_no_unlabelled_sample_has_no_score():
    BB_u, BB_l = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])  # the second landmark has labelled samples alone
    BY = np.array([[1.0, 0.0], [0.0, 1.0]])
    found = landmark_classes(np.hstack([BB_u, BB_l, BY]), harmonic=False, class_mass=True)
    assert np.isfinite(found).all()
    assert_array_equal(found[:, 1], 0)
