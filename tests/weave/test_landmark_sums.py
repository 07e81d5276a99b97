"""What the landmark solver adds up over the samples, and the scores of classes that it makes of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.weave.landmark.learning import class_sums, landmark_classes, sample_size

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
    scaled = graph.version.scalings["X"].transform(groups[0]).astype(graph.dtype)
    m = graph.m
    plain = class_sums(graph, (scaled, codes, (1.0, 1.0), N_GROUPS))
    found = class_sums(graph, (scaled, codes, (3.0, 5.0), N_GROUPS))
    assert plain.shape == (m, 2 * m + N_GROUPS)
    assert_array_equal(found, np.hstack([5 * plain[:, :m], 3 * plain[:, m:]]))
    J, B = graph.joined(scaled)
    dense = np.zeros((len(scaled), m))
    np.put_along_axis(dense, J.astype(np.intp), B, axis=1)
    known = codes >= 0
    assert_allclose(plain[:, :m], dense[~known].T @ dense[~known], atol=1e-4)
    assert_allclose(plain[:, m : 2 * m], dense[known].T @ dense[known], atol=1e-4)
    assert_allclose(plain[:, 2 * m :], dense[known].T @ np.eye(N_GROUPS)[codes[known]], atol=1e-4)


@pytest.mark.parametrize("method", ["harmonic", "lgc"])
def test_class_mass_gives_every_class_the_share_of_its_labels(graph, groups, codes, method):
    scaled = graph.version.scalings["X"].transform(groups[0]).astype(graph.dtype)
    few = np.where((codes == 1) & (np.arange(len(codes)) % 20 == 0), -1, codes)  # unequal numbers of labels
    sums = class_sums(graph, (scaled, few, (1.0, 1.0), N_GROUPS))
    plain, found = (landmark_classes(sums, N_GROUPS, method, class_mass) for class_mass in (False, True))
    mass = sums[:, : graph.m].sum(axis=1)
    assert_allclose(mass @ found, sums[:, 2 * graph.m :].sum(axis=0))
    assert not np.allclose(mass @ plain, mass @ found)
    assert_allclose(found / found.sum(axis=0), plain / plain.sum(axis=0))


def test_a_class_that_reaches_no_unlabelled_sample_has_no_score():
    BB_u, BB_l = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])  # the second landmark has labelled samples alone
    BY = np.array([[1.0, 0.0], [0.0, 1.0]])
    found = landmark_classes(np.hstack([BB_u, BB_l, BY]), 2, "lgc", True)
    assert np.isfinite(found).all()
    assert_array_equal(found[:, 1], 0)
