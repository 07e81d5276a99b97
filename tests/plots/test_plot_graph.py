import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave.errors import InvalidInputError
from kernelweave.plots import plot_graph


def random_graph(n, *, density=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, n)) < density, rng.random((n, n)), 0)


def image(ax):
    return ax.images[0].get_array().filled(np.nan)


def off_diagonal(A):
    return np.where(np.eye(len(A), dtype=bool), np.nan, A)


def colour_bar(ax):
    return ax.child_axes[0]


@pytest.mark.parametrize("groups", ["labels", "transduction"])
def test_image_is_the_graph_sorted_by_group_without_its_diagonal(fitted, ax, groups):
    S, labels = random_graph(30), np.random.default_rng(1).integers(3, size=30)
    plot_graph(fitted(graph=S, **{groups: labels}), ax=ax)
    order = np.argsort(labels, kind="stable")
    assert_array_equal(image(ax), off_diagonal(S[np.ix_(order, order)]))


def test_the_direction_of_edges_is_kept(fitted, ax):
    S = np.zeros((4, 4))
    S[0, 3] = 1  # from group b to group a
    plot_graph(fitted(graph=S, labels=np.array(["b", "a", "a", "a"])), ax=ax)
    assert image(ax)[3, 2] == 1
    assert np.nansum(image(ax)) == 1


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
@pytest.mark.parametrize("n", [30, 1600])
def test_a_sparse_graph_gives_the_image_of_the_dense_one(fitted, form, n):
    S, labels = random_graph(n, density=0.1), np.arange(n) % 3
    drawn = [image(plot_graph(fitted(graph=graph, labels=labels))) for graph in (S, form(S))]
    assert_allclose(drawn[1], drawn[0], rtol=1e-12)


def test_a_large_sparse_graph_is_never_dense(fitted, ax, monkeypatch):
    n = 20_000  # 3.2 GB if dense
    dense = sparse.csr_array.toarray
    shapes = []
    monkeypatch.setattr(sparse.csr_array, "toarray", lambda self, *args: shapes.append(self.shape) or dense(self))
    plot_graph(fitted(graph=sparse.eye_array(n, k=1, format="csr"), labels=np.arange(n) % 7), ax=ax)
    assert shapes == [(1000, 1000)]


def test_cells_of_a_large_graph_are_means_over_pairs_of_samples(fitted, ax):
    n, block = 2501, 3  # the last cell holds 2 samples
    S, labels = random_graph(n), np.zeros(n, dtype=int)
    plot_graph(fitted(graph=S, labels=labels), ax=ax)
    cells = image(ax)
    assert cells.shape == (834, 834)
    assert_allclose(cells[4, 7], S[4 * block : 5 * block, 7 * block : 8 * block].mean(), rtol=1e-12)
    assert_allclose(cells[2, -1], S[2 * block : 3 * block, -2:].mean(), rtol=1e-12)
    assert_allclose(cells[5, 5], np.nanmean(off_diagonal(S)[15:18, 15:18]), rtol=1e-12)
    assert ax.get_xlabel() == "samples, sorted by cluster (each cell: the mean of 3 × 3)"
    assert ax.get_xlim() == (-0.5, n - 0.5)


def test_a_last_cell_of_one_sample_has_no_edge_to_itself(fitted, ax):
    plot_graph(fitted(graph=sparse.eye_array(1501, format="csr"), labels=np.zeros(1501, dtype=int)), ax=ax)
    assert np.isnan(image(ax)[-1, -1])
    assert np.nansum(image(ax)) == 0


def test_1500_samples_are_drawn_one_by_one(fitted, ax):
    plot_graph(fitted(graph=sparse.eye_array(1500, k=1, format="csr"), labels=np.zeros(1500, dtype=int)), ax=ax)
    assert image(ax).shape == (1500, 1500)
    assert ax.get_xlabel() == "samples, sorted by cluster"


def test_lines_stand_between_the_groups_whose_names_stand_beside_them(fitted, ax, texts):
    labels = np.repeat(["a", "b", "c"], [10, 20, 30])
    plot_graph(fitted(graph=random_graph(60), transduction=labels), ax=ax)
    assert sorted({float(x) for line in ax.lines for x in line.get_xdata()} - {0.0, 1.0}) == [9.5, 29.5]
    assert sorted({float(y) for line in ax.lines for y in line.get_ydata()} - {0.0, 1.0}) == [9.5, 29.5]
    assert_allclose(ax.get_yticks(), [4.5, 19.5, 44.5])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b", "c"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("class", "samples, sorted by class")
    assert texts(ax) == ["60 samples, 3 classes"]


def test_groups_too_small_for_a_line_of_text_go_unnamed(fitted, ax):
    labels = np.repeat([0, 1, 2], [100, 1, 99])
    plot_graph(fitted(graph=random_graph(200), labels=labels), ax=ax)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["0", "2"]


def test_a_few_heavy_edges_do_not_fade_the_others(fitted, ax):
    S = random_graph(50)
    S[3, 4] = 1e6
    plot_graph(fitted(graph=S, labels=np.zeros(50, dtype=int)), ax=ax)
    low, high = ax.images[0].get_clim()
    assert low == 0
    assert 0.9 < high < 1
    assert ax.images[0].colorbar.extend == "max"


def test_zeros_do_not_lower_the_scale(fitted, ax):
    S = np.zeros((50, 50))
    S[:5, 5:10] = 0.7
    plot_graph(fitted(graph=S, labels=np.zeros(50, dtype=int)), ax=ax)
    assert ax.images[0].get_clim() == (0, 0.7)
    assert ax.images[0].colorbar.extend == "neither"


@pytest.mark.parametrize("S", [np.ones((1, 1)), np.zeros((5, 5)), np.eye(5)], ids=["one sample", "empty", "diagonal"])
def test_a_graph_without_edges_is_drawn(fitted, S):
    ax = plot_graph(fitted(graph=S, labels=np.zeros(len(S), dtype=int)))
    ax.figure.canvas.draw()
    assert not np.nansum(image(ax))


def test_the_colour_bar_says_what_it_shows(fitted):
    for n, label in ((20, "weight of the edge"), (1600, "mean weight of the edges")):
        graph = sparse.eye_array(n, k=1, format="csr")
        ax = plot_graph(fitted(graph=graph, labels=np.zeros(n, dtype=int)))
        assert colour_bar(ax).get_ylabel() == label
        plt.close(ax.figure)


def test_a_graph_to_other_samples_cannot_be_sorted(fitted, ax):
    with pytest.raises(InvalidInputError, match=r"graph_ must join the model's 6 samples, got shape \(6, 2\)"):
        plot_graph(fitted(graph=np.ones((6, 2)), labels=np.zeros(6, dtype=int)), ax=ax)
