import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.core.algebra.simplex import project_simplex

matrices = arrays(np.float64, st.tuples(st.integers(1, 7), st.integers(1, 4)), elements=st.floats(-100, 100))


@given(matrices)
def test_columns_are_points_of_the_simplex(V):
    P = project_simplex(V)
    assert (P >= 0).all()
    assert_allclose(P.sum(axis=0), 1, atol=1e-12)


@given(matrices)
def test_no_point_of_the_simplex_is_nearer(V):
    # the projection P of v is the point with (v - P)'(u - P) <= 0 for every u, so for every vertex u
    P = project_simplex(V)
    E = V - P
    assert (E - np.einsum("ij,ij->j", E, P) <= 1e-9).all()


@given(matrices)
def test_a_point_of_the_simplex_stays(V):
    P = project_simplex(V)
    assert_allclose(project_simplex(P), P, atol=1e-12)


@given(matrices, st.floats(-1e6, 1e6))
def test_a_common_offset_changes_nothing(V, offset):
    assert_allclose(project_simplex(V + offset), project_simplex(V), atol=1e-8)


def test_entries_that_are_not_free_are_held_at_zero_and_the_others_projected_without_them(rng):
    V = rng.normal(size=(6, 6))
    P = project_simplex(V, free=~np.eye(6, dtype=bool))
    for i in range(6):
        others = np.arange(6) != i
        assert P[i, i] == 0
        assert_allclose(P[others, i], project_simplex(V[others, i : i + 1])[:, 0], atol=1e-15)


def test_the_only_free_entry_gets_everything():
    free = np.array([[False], [True], [False]])
    assert_array_equal(project_simplex(np.array([[9.0], [-1e3], [2.0]]), free=free), [[0], [1], [0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept_and_far_off_columns_still_sum_to_one(rng, dtype):
    P = project_simplex((rng.normal(size=(500, 3)) + 1e4).astype(dtype))
    assert P.dtype == dtype
    assert_allclose(P.sum(axis=0), 1, rtol=50 * np.finfo(dtype).eps)
