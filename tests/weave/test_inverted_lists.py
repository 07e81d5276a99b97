"""Inverted lists with an index that is made up: what is asked of it, with how much effort, and what it is used for."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave.weave.local import inverted_lists
from kernelweave.weave.local.inverted_lists import RECALL, InvertedLists, build_lists, true_distances, without_itself
from kernelweave.weave.local.neighbours import ExactSearch

faiss = pytest.importorskip("faiss")
N, K = 60, 3


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(N, 4))


def true_near(X, queries, k):
    return np.argsort(((queries[:, None] - X) ** 2).sum(axis=2), axis=1, kind="stable")[:, :k].astype(np.int32)


class Index:
    """Answers with the true neighbours, of which the last are missing until enough lists are probed."""

    def __init__(self, X, nlist, enough, reverse=False):
        self.X, self.nlist, self.enough, self.reverse = X, nlist, enough, reverse
        self.asked = []
        self.quantizer = SimpleNamespace(search=lambda rows, k: (None, (np.abs(rows[:, :1]) * 10).astype(int)))

    def search(self, rows, k, params):
        self.asked.append((params.nprobe, k))
        near = true_near(self.X, rows, k).astype(np.int64)
        if params.nprobe < self.enough:
            near[:, 1:] = -1
        return None, near[:, ::-1] if self.reverse else near


def lists(X, nlist=40, enough=1, reverse=False, **more):
    exact = ExactSearch(X).nearest
    return InvertedLists(X, exact, lambda rows: rows, Index(X, nlist, enough, reverse), 1, **more)


@pytest.mark.parametrize("factor", [2, 4])
def test_candidates_are_ranked_by_their_true_distances(X, factor):
    made = lists(X, reverse=True, probes=5, factor=factor)
    assert_array_equal(made.nearest(X[:10], K), true_near(X, X[:10], K))
    assert made.index.asked == [(5, factor * K)]


def test_one_candidate_per_neighbour_is_taken_as_it_is(X):
    found = lists(X, reverse=True, factor=1).nearest(X[:10], K)
    assert_array_equal(found, true_near(X, X[:10], K)[:, ::-1])
    assert found.dtype == np.int32


def test_no_more_candidates_are_asked_for_than_there_are_samples(X):
    made = lists(X, factor=8)
    assert made.candidates(X[:2], 50).shape == (2, N)
    assert made.index.asked == [(4, N)]


@pytest.mark.parametrize("factor", [1, 4])
def test_queries_with_too_few_candidates_are_searched_exactly(X, factor):
    made = lists(X, enough=99, factor=factor)
    assert_array_equal(made.nearest(X[:10], K), true_near(X, X[:10], K))


def test_a_query_with_just_enough_candidates_keeps_them(X):
    class Few(Index):
        def search(self, rows, k, params):
            _, near = super().search(rows, k, params)
            near[:, K:] = -1
            near[0, 1] = -1
            return None, near

    asked = []

    def exact(queries, k):
        asked.append(len(queries))
        return ExactSearch(X).nearest(queries, k)

    made = InvertedLists(X, exact, lambda rows: rows, Few(X, 40, 1), 1, factor=4)
    assert_array_equal(made.nearest(X[:10], K), true_near(X, X[:10], K))
    assert asked == [1]


@pytest.mark.parametrize(("block", "done"), [(4, [4, 8, 10]), (5, [5, 10]), (10, [10]), (20, [10])])
def test_blocks_of_queries_give_the_same_and_tell_how_far_they_are(X, monkeypatch, block, done):
    monkeypatch.setattr(inverted_lists, "_BLOCK", block)
    told = []
    found = lists(X).nearest(X[:10], K, lambda *words: told.append(words))
    assert_array_equal(found, true_near(X, X[:10], K))
    assert told == [("neighbours", part, 10) for part in done]


def test_queries_of_the_same_list_stand_in_one_block(X, monkeypatch):
    monkeypatch.setattr(inverted_lists, "_BLOCK", 5)
    seen = []

    class Kept(Index):
        def search(self, rows, k, params):
            seen.append(rows)
            return super().search(rows, k, params)

    InvertedLists(X, ExactSearch(X).nearest, lambda rows: rows, Kept(X, 40, 1), 1).nearest(X[:20], K)
    place = (np.abs(np.vstack(seen)[:, 0]) * 10).astype(int)
    assert len(seen) == 4
    assert_array_equal(place, np.sort(place))


def efforts(last):
    found = [4]
    while found[-1] < last:
        found.append(min(int(np.ceil(1.1 * found[-1])), last))
    return found


@pytest.mark.parametrize(("enough", "expected"), [(1, 4), (4, 4), (5, 5), (11, 11), (12, 13), (25, 27), (99, 30)])
def test_lists_are_added_by_tenths_until_the_candidates_hold_enough(X, enough, expected):
    sample = np.arange(20)
    made = lists(X, nlist=30, enough=enough)
    tuned = made.tuned(sample, true_near(X, X[sample], K + 1)[:, 1:])
    assert tuned.probes == expected
    assert [probes for probes, _ in made.index.asked] == [probes for probes in efforts(30) if probes <= expected]
    assert {k for _, k in made.index.asked} == {min(32 * (K + 1), N)}
    assert tuned.recall == (1.0 if enough <= 30 else 0.0)
    assert made.probes == 4  # the lists themselves are as they were


@pytest.mark.parametrize(("missing", "factor"), [(0, 1), (1, 2), (4, 2), (5, 3), (8, 3), (12, 4), (13, 6), (41, 12)])
def test_the_fewest_candidates_that_hold_enough_are_kept(X, missing, factor):
    """The true neighbours stand behind some candidates that are none."""

    class Behind(Index):
        def search(self, rows, k, params):
            near = true_near(self.X, rows, k).astype(np.int64)
            return None, np.hstack([near[:, :1], np.full((len(rows), missing), -1), near[:, 1:]])[:, :k]

    made = InvertedLists(X, ExactSearch(X).nearest, lambda rows: rows, Behind(X, 4, 1), 1)
    tuned = made.tuned(np.arange(20), true_near(X, X[:20], K + 1)[:, 1:])
    assert (tuned.factor, tuned.recall) == (factor, 1.0)


@pytest.mark.parametrize(("kept", "factor"), [(0.96, 1), (0.95, 2)])
def test_the_recall_asked_for_is_enough(X, kept, factor):
    class Some(Index):
        def search(self, rows, k, params):
            near = true_near(self.X, rows, k).astype(np.int64)
            lost = near[:, 1].copy()
            late = np.arange(len(rows)) >= round(kept * len(rows))
            near[late, 1] = -1
            near[late, 5] = lost[late]
            return None, near

    X = np.random.default_rng(1).normal(size=(200, 4))
    made = InvertedLists(X, ExactSearch(X).nearest, lambda rows: rows, Some(X, 4, 1), 1)
    tuned = made.tuned(np.arange(100), true_near(X, X[:100], 2)[:, 1:], least=0.96)
    assert tuned.factor == (factor if factor == 1 else 3)  # the sixth candidate, two per neighbour
    assert tuned.recall == (pytest.approx(0.96) if factor == 1 else 1)
    assert RECALL == 0.96


def test_the_start_is_four_lists_and_all_candidates(X):
    made = lists(X)
    assert (made.probes, made.factor, made.recall) == (4, 32, 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ranked", [1, 200, 2**20])
def test_true_distances_do_not_depend_on_the_size_of_blocks(X, monkeypatch, ranked, dtype):
    monkeypatch.setattr(inverted_lists, "_RANKED", ranked)
    table = X.astype(dtype)
    candidates = np.random.default_rng(1).integers(0, N, (7, 3))
    expected = ((table[:7, None] - table[candidates]) ** 2).sum(axis=2)
    found = true_distances(table, table[:7], candidates)
    assert found.dtype == dtype
    assert_allclose(found, expected, rtol=1e-5)
    assert_allclose(
        true_distances(sparse.csr_array(table), sparse.csr_array(table[:7]), candidates), expected, rtol=1e-5
    )


def test_only_the_sample_itself_is_dropped():
    near = np.array([[0, 1, 2], [0, 1, 2], [1, 0, 3]], dtype=np.int32)
    assert_array_equal(without_itself(near, np.array([0, 2, 3])), [[1, 2], [0, 1], [1, 0]])


@pytest.mark.parametrize(("d", "width", "coded"), [(3, 3, False), (15, 15, False), (16, 16, True), (257, 258, True)])
def test_dense_samples_are_centred_and_padded_to_equally_many_columns_per_code(d, width, coded):
    X = np.random.default_rng(0).normal(size=(150, d)).astype(np.float32) + 10
    made = build_lists(X, 2, ExactSearch(X).nearest, seed=0, n_jobs=1)
    rows = made.sketch(X)
    assert (rows.shape, rows.dtype) == ((150, width), np.float32)
    assert_allclose(rows[:, :d], X - X.mean(axis=0), atol=1e-5)
    assert_array_equal(rows[:, d:], 0)
    assert made.index.nlist == 12  # the root of 150
    assert made.index.ntotal == 150
    assert (made.index.cp.niter, made.index.cp.seed) == (8, 0)
    if not coded:
        assert type(made.index) is faiss.IndexIVFFlat
    assert made.recall >= RECALL


@pytest.mark.parametrize("d", [200, 1500])
def test_sparse_samples_keep_their_distances_on_average(d):
    rng = np.random.default_rng(0)
    X = sparse.random_array((120, d), density=0.1, rng=rng, dtype=np.float32).tocsr()
    made = build_lists(X, 2, ExactSearch(X).nearest, seed=0, n_jobs=1, least=0.0)
    rows = made.sketch(X)
    assert rows.shape == (120, min(d, 256))
    assert rows.dtype == np.float32
    whole = X.toarray()
    if d <= 256:
        assert_array_equal(rows, whole)
    else:
        ratio = ((rows[:60] - rows[60:]) ** 2).sum(axis=1) / ((whole[:60] - whole[60:]) ** 2).sum(axis=1)
        assert 0.9 < ratio.mean() < 1.1


def test_lists_that_find_too_few_are_not_used():
    noise = sparse.random_array((80, 2000), density=0.01, rng=np.random.default_rng(0), dtype=np.float32).tocsr()
    assert build_lists(noise, 3, ExactSearch(noise).nearest, seed=0, n_jobs=1, least=1.1) is None
    assert build_lists(noise, 3, ExactSearch(noise).nearest, seed=0, n_jobs=1, least=0.0).factor == 1


@pytest.mark.parametrize(("found", "probes"), [(193, 4), (192, 5)])
def test_candidates_hold_enough_with_the_recall_asked_for_and_a_little_more(found, probes):
    """Of 200 neighbours 193 are the share 0.96 + 0.005."""
    X = np.random.default_rng(2).normal(size=(200, 4))

    class Some(Index):
        def search(self, rows, k, params):
            near = true_near(self.X, rows, 2).astype(np.int64)
            if params.nprobe < 5:
                near[found:, 1] = -1
            return None, near

    made = InvertedLists(X, ExactSearch(X).nearest, lambda rows: rows, Some(X, 9, 1), 1)
    assert made.tuned(np.arange(200), true_near(X, X, 2)[:, 1:], least=0.96).probes == probes


def test_the_samples_that_are_checked_are_different_ones(X):
    checked = []

    def exact(queries, k):
        checked.append((queries, k))
        return ExactSearch(X).nearest(queries, k)

    build_lists(X, 2, exact, seed=0, n_jobs=1)
    queries, k = checked[0]
    assert len(np.unique(queries, axis=0)) == N
    assert k == 3  # two neighbours and the sample itself


@pytest.mark.parametrize(("most", "coded"), [(0, False), (1, False), (2, True), (32, True)])
def test_codes_that_need_many_candidates_per_neighbour_are_not_used(monkeypatch, most, coded):
    monkeypatch.setattr(inverted_lists, "_TOO_COARSE", most)
    X = np.random.default_rng(0).normal(size=(150, 16)).astype(np.float32)
    plain = build_lists(X, 2, ExactSearch(X).nearest, seed=0, n_jobs=1)
    assert (type(plain.index) is not faiss.IndexIVFFlat) is coded
    assert (plain.factor > 1) is coded
    assert plain.factor <= max(most, 1)
