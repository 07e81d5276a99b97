"""The consensus kernel within groups: both precisions, samples near the origin and far from it, copies and bounds."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave.core.graphs.affinity import GraphRule
from kernelweave.core.graphs.edges import join_pieces, median_edges, strays
from kernelweave.kernels import Cosine, Gaussian, Kernel, Laplacian, Linear, Polynomial
from kernelweave.kernels.bank import weighted_diagonal
from kernelweave.weave.local import local_graph, local_kernel
from kernelweave.weave.local.local_graph import weave_local
from kernelweave.weave.local.local_kernel import (
    LocalConsensus,
    LocalKernel,
    affinities,
    candidate_sqdist,
    gathered,
    group_bytes,
    ridge_rows,
)
from kernelweave.weave.local.neighbours import ExactSearch, nearest_outside


@dataclasses.dataclass(frozen=True)
class Distance(Kernel):
    """The squared distance itself, to look at it."""

    def of_products(self, products):
        return products.sqdist.copy()

    def diag(self, X):
        return np.zeros(X.shape[0], dtype=X.dtype)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(30, 4))


KERNELS = (Linear(), Polynomial(2, 1.0), Cosine(), Gaussian(0.5), Laplacian())
SHARES = np.array([0.1, 0.2, 0.3, 0.25, 0.15])


def consensus(X):
    fixed = tuple(kernel.fit(X) for kernel in KERNELS)
    return fixed, sum(share * kernel.gram(X) for share, kernel in zip(SHARES, fixed, strict=True))


@pytest.mark.parametrize("offset", [0.0, 10.0])
def test_within_between_diagonal_and_distances_are_those_of_the_whole_kernel(X, offset):
    X = X + offset
    fixed, K = consensus(X)
    local = LocalKernel.fixed_on(X, fixed, SHARES)
    assert (local.origin is None) == (offset == 0)
    groups = np.array([[0, 5, 9], [3, 4, 3], [7, 8, 0]])
    assert_allclose(local.within(X[groups]), [K[np.ix_(g, g)] for g in groups], rtol=1e-9)
    assert_allclose(local.between(X[[1, 2, 7]], X[groups]), K[np.array([[1], [2], [7]]), groups], rtol=1e-9)
    assert_allclose(weighted_diagonal(fixed, SHARES, X), np.diag(K), rtol=1e-9)
    D = np.diag(K)[:, None] + np.diag(K) - 2 * K
    index = np.array([[5, 9], [4, 3], [8, 0]])
    found = candidate_sqdist((X,), index.astype(np.int32), LocalConsensus((local,)), (X[[0, 3, 7]],), None)
    assert_allclose(found, [D[i, g] for i, g in zip([0, 3, 7], index, strict=True)], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("share", "moved"), [(0.85, False), (0.95, True)])
def test_samples_are_moved_if_nine_tenths_of_their_squares_are_those_of_the_mean(share, moved):
    spread = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])  # a mean square of 1 around the mean
    X = spread + np.array([np.sqrt(share / (1 - share)), 0.0])
    origin = LocalKernel.fixed_on(X, (Linear(),), np.ones(1)).origin
    assert (origin is not None) == moved
    if moved:
        assert_allclose(origin, X.mean(axis=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("apart", "kept"), [(4, False), (6, False), (8, True)])
@pytest.mark.parametrize("length", [1.0, 2.0])
def test_distances_within_rounding_are_0_and_larger_ones_are_kept(dtype, apart, kept, length):
    """Of samples of four columns six units in the last place of their squared length count as rounding."""
    step = apart * np.finfo(dtype).eps * length**2
    group = np.array([[[length, 0, 0, 0], [length, np.sqrt(step), 0, 0]]], dtype=dtype)
    local = LocalKernel((Distance(),), np.ones(1))
    expected = step if kept else 0
    assert_allclose(local.within(group)[0, 0], [0, expected], rtol=1e-3)
    assert_allclose(local.between(group[:, 0], group)[0], [0, expected], rtol=1e-3)


def test_distances_of_samples_far_away_are_taken_around_the_origin():
    far = 2.0**27  # its square has no room for the squares of the differences
    X = np.array([[far, 0], [far + 0.5, 1], [far + 1.5, 3]])
    local = LocalKernel((Distance(),), np.ones(1), np.array([far, 0]))
    assert_array_equal(local.within(X[None])[0], [[0, 1.25, 11.25], [1.25, 0, 5], [11.25, 5, 0]])
    assert_array_equal(local.between(X[:1], X[None])[0], [0, 1.25, 11.25])
    assert_array_equal(local.between(X[1:2], X[None])[0], [1.25, 0, 5])


def test_sparse_groups_leave_out_their_empty_columns():
    X = np.array([[0, 1, 0, 2], [0, 0, 0, 3], [0, 0, 0, 0], [5, 0, 0, 0.0]])
    thin = sparse.csr_array(X)
    rows = np.array([[0, 1], [1, 2]])
    assert_array_equal(gathered(thin, rows), X[rows][:, :, [1, 3]])
    assert_array_equal(gathered(X, rows), X[rows])
    assert_array_equal(gathered(thin, np.array([[2, 2]])), np.zeros((1, 2, 1)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ridge_rows_are_rows_of_the_inverse_and_leave_the_kernel_as_it_is(X, dtype):
    K = (X[:6] @ X[:6].T + np.eye(6)).astype(dtype)[None]
    before = K.copy()
    found = ridge_rows(K, 0.3)
    expected = -0.3 * np.linalg.inv(K[0].astype(float) + 0.3 * np.eye(6))[0, 1:]
    assert found.dtype == dtype
    assert_allclose(found[0], expected, rtol=1e-4, atol=1e-6)
    assert_array_equal(K, before)


def near_of(X, k):
    return ExactSearch(X).nearest(X, k + 1)[:, 1:]


@pytest.mark.parametrize("graph", ["ridge", "knn", "both"])
@pytest.mark.parametrize("chunk", [1, 5000, 2**25])
def test_affinities_do_not_depend_on_the_size_of_chunks_and_tell_how_far_they_are(X, monkeypatch, graph, chunk):
    X = X.astype(np.float32)
    local = LocalKernel((Gaussian(0.5).fit(X),), np.ones(1))
    index = near_of(X, 8)
    whole = affinities((X,), index, LocalConsensus((local,)), GraphRule(graph), g=0.1)
    monkeypatch.setattr(local_kernel, "_CHUNK", chunk)
    told = []
    found = affinities(
        (X,), index, LocalConsensus((local,)), GraphRule(graph), g=0.1, progress=lambda *words: told.append(words)
    )
    assert list(found.parts) == {"ridge": ["ridge"], "knn": ["tuned"], "both": ["ridge", "tuned"]}[graph]
    for kind, part in found.parts.items():
        assert_allclose(part.values, whole.parts[kind].values, rtol=1e-5, atol=1e-6)
        assert_array_equal(part.columns, index)
    assert (found.scale is None) == (graph == "ridge")
    if graph != "ridge":
        assert_allclose(found.scale, whole.scale, rtol=1e-5, atol=1e-6)
    size = max(1, min(30, chunk // group_bytes((X,), 8)))
    assert told == [("affinities", min(i + size, 30), 30) for i in range(0, 30, size)]


@pytest.mark.parametrize("graph", ["knn", "both"])
def test_distances_to_candidates_are_those_in_the_kernel_and_the_scale_is_that_of_the_seventh(X, graph):
    fixed, K = consensus(X)
    local = LocalKernel.fixed_on(X, fixed, SHARES)
    index = near_of(X, 9)
    found = affinities((X,), index, LocalConsensus((local,)), GraphRule(graph), g=0.1)
    D = np.take_along_axis(np.diag(K)[:, None] + np.diag(K) - 2 * K, index, axis=1)
    sqdist = candidate_sqdist((X,), index, LocalConsensus((local,)), None, None)
    assert_allclose(sqdist, D, rtol=1e-5, atol=1e-6)
    assert (sqdist >= 0).all()
    scale = np.sort(D, axis=1)[:, 6]
    assert_allclose(found.scale, scale, rtol=1e-5, atol=1e-6)
    expected = np.exp(-D / np.sqrt(scale[:, None] * scale[index]))
    assert_allclose(found.parts["tuned"].values, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("graph", ["ridge", "knn", "both"])
def test_new_samples_have_the_affinities_of_training_samples_at_their_place(X, monkeypatch, as_given, graph):
    thin = np.where(np.abs(X) > 0.5, X, 0).astype(np.float32)
    local = LocalKernel((Gaussian(0.5).fit(thin), Linear()), np.array([0.5, 0.5]))
    index = near_of(thin, 8)
    monkeypatch.setattr(local_kernel, "_CHUNK", 3000)  # several chunks
    own = affinities((as_given(thin),), index, LocalConsensus((local,)), GraphRule(graph), g=0.1)
    given = {"g": 0.1, "new": (as_given(thin),)}
    new = affinities((as_given(thin),), index, LocalConsensus((local,)), GraphRule(graph), **given, scales=own.scale)
    for kind, part in own.parts.items():
        assert_allclose(new.parts[kind].values, part.values, rtol=1e-4, atol=1e-5)
    if graph == "ridge":
        assert new.scale is None
        return
    assert_allclose(new.scale, own.scale, rtol=1e-4, atol=1e-5)
    scales = np.arange(1.0, 31.0)
    other = affinities(
        (as_given(thin),), index, LocalConsensus((local,)), GraphRule(graph), **given, scales=scales
    ).parts["tuned"]
    expected = new.parts["tuned"].values ** np.sqrt(own.scale / scales)[index]
    assert_allclose(other.values, expected, rtol=1e-3, atol=1e-5)
    with pytest.raises(TypeError, match="need the scales of the others"):
        affinities((as_given(thin),), index, LocalConsensus((local,)), GraphRule(graph), **given)


def test_self_tuned_similarities_are_scaled_by_both_samples(X):
    local = LocalKernel((Gaussian(0.5).fit(X),), np.ones(1))
    index = near_of(X, 8)
    found = affinities((X,), index, LocalConsensus((local,)), GraphRule("knn"), g=0.1)
    D = candidate_sqdist((X,), index, LocalConsensus((local,)), None, None)
    expected = np.exp(-D / np.sqrt(found.scale[:, None] * found.scale[index]))
    assert_allclose(found.parts["tuned"].values, expected, rtol=1e-5)
    assert_array_equal(found.parts["tuned"].columns, index)


def test_the_memory_of_a_group_is_that_of_its_columns_and_kernels(X):
    thin = sparse.csr_array(np.eye(30, 500))
    assert group_bytes((X,), 5) == 6 * 4 * 4 + 36 * 40
    assert group_bytes((X, np.ones((30, 7))), 5) == 6 * 7 * 4 + 36 * 40
    assert group_bytes((thin,), 5) == 6 * 64 * 4 + 36 * 40  # one entry per row: 64 columns at most
    assert group_bytes((sparse.csr_array(np.ones((30, 3))),), 5) == 6 * 3 * 4 + 36 * 40
    assert group_bytes((sparse.csr_array((30, 500)),), 5) == 6 * 64 * 4 + 36 * 40


@pytest.mark.parametrize("k", [1, 3, 20])
def test_the_nearest_outside_a_piece_are_those_of_all_others(X, k):
    piece = np.array([0] * 5 + [1] * 9 + [2] * 16)
    rows = np.array([0, 4, 6, 20])
    found = nearest_outside(X, rows, piece, k)
    least = min(k, 30 - 16)
    for row, near in zip(rows, found, strict=True):
        others = np.flatnonzero(piece != piece[row])
        order = np.argsort(((X[others] - X[row]) ** 2).sum(axis=1))
        assert_array_equal(near, others[order][:least])


def test_all_samples_outside_a_piece_may_be_asked_for(X):
    piece = np.array([0] * 5 + [1] * 9 + [2] * 16)
    found = nearest_outside(X, np.array([6]), piece, 99)[0]
    others = np.flatnonzero(piece != 1)
    assert_array_equal(found, others[np.argsort(((X[others] - X[6]) ** 2).sum(axis=1))])


def test_strays_are_the_samples_of_small_pieces_but_not_of_the_largest():
    piece = np.repeat([0, 1, 2], [2, 4, 3])
    assert_array_equal(strays(piece, 3), [0, 1])
    assert_array_equal(strays(piece, 4), [0, 1, 6, 7, 8])
    assert_array_equal(strays(piece, 99), [0, 1, 6, 7, 8])
    assert_array_equal(strays(piece, 0), [])


class Given:
    """Edges of the median weight between given samples."""

    def __init__(self, rows, to):
        self.rows, self.to, self.pieces = np.array(rows, dtype=np.intp), np.array(to, dtype=np.int32), []

    def edges_out(self, S, piece):
        self.pieces.append(piece.tolist())
        return median_edges(S, self.rows, self.to)


def test_new_edges_have_the_median_weight_go_both_ways_and_leave_larger_ones():
    S = sparse.csr_array(np.array([[0, 5, 0, 0], [5, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0.0]]))
    given = Given([0, 3], [[1, 2], [0, 2]])
    found = join_pieces(S, given)
    assert_array_equal(found.toarray(), [[0, 5, 3, 3], [5, 0, 0, 0], [3, 0, 0, 3], [3, 0, 3, 0]])
    assert found.has_sorted_indices
    assert given.pieces == [[0, 0, 1, 1]]


def test_a_graph_stays_in_pieces_if_no_more_edges_are_given():
    S = sparse.csr_array(np.kron(np.eye(2), [[0, 4.0], [4, 0]]))
    assert_array_equal(join_pieces(S, Given([], np.empty((0, 3)))).toarray(), S.toarray())


def test_a_graph_in_one_piece_is_asked_for_no_edges():
    given = Given([0], [[1]])
    join_pieces(sparse.csr_array(np.ones((3, 3))), given)
    assert given.pieces == []


def test_candidates_of_several_tables_are_the_nearest_in_the_sum_of_their_kernels():
    rng = np.random.default_rng(0)
    tables = tuple(rng.normal(size=(20, 3)).astype(np.float32) for _ in range(2))
    kernels = tuple(LocalKernel((Gaussian(0.5).fit(X),), np.full(1, 0.5)) for X in tables)
    _, index = weave_local(
        tables, LocalConsensus(kernels), GraphRule("knn", 0.1, 2), n_candidates=3, join=False, seed=0
    )
    K = sum(0.5 * kernel.kernels[0].gram(X) for X, kernel in zip(tables, kernels, strict=True))
    for i in range(20):
        union = np.unique(np.concatenate([near_of(X, 3)[i] for X in tables]))
        best = union[np.argsort(-K[i, union], kind="stable")[:3]]
        assert set(index[i]) == set(best)
        assert len(set(index[i])) == 3


def test_the_ridge_is_relative_to_the_mean_of_the_diagonal_of_all_tables():
    X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    kernels = (LocalKernel((Linear(),), np.array([0.5])), LocalKernel((Linear(),), np.array([2.0])))
    for join in (False, True):
        woven, _ = weave_local(
            (X, 3 * X), LocalConsensus(kernels), GraphRule("ridge", 0.25, 4), n_candidates=9, join=join, seed=7
        )
        assert woven.g == pytest.approx(0.25 * (0.5 + 18) * (X**2).sum(axis=1).mean(), rel=1e-5)
    assert (woven.n_candidates, woven.recall, woven.seed, woven.scale) == (9, 1.0, 7, None)


def test_classes_that_hold_arrays_are_compared_by_identity():
    for cls in (local_kernel.CandidateAffinities, local_graph.LocalWeave, ExactSearch):
        assert not dataclasses.fields(cls)[0].type.startswith("int")
        assert cls.__eq__ is object.__eq__
