import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose

from kernelweave.errors import InvalidInputError
from kernelweave.plots import plot_embedding


def points(ax):
    """The samples of every group, group after group."""
    return [np.asarray(scatter.get_offsets()) for scatter in ax.collections]


def legend_names(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def distances(Z):
    return np.linalg.norm(Z[:, None] - Z, axis=2)


@pytest.fixture
def labels():
    return np.repeat([0, 1, 2], 20)


@pytest.fixture
def plane(labels):
    """Samples in a tilted plane of four dimensions, longer than wide."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(4, 2)))[0]
    return (rng.normal(size=(60, 2)) * [5, 1] + np.column_stack([labels, labels])) @ basis.T


def test_samples_in_a_plane_keep_their_distances(fitted, ax, plane, labels):
    plot_embedding(fitted(embedding=plane, labels=labels), ax=ax)
    Z = np.concatenate(points(ax))
    assert_allclose(distances(Z), distances(plane), atol=1e-10)
    assert np.ptp(Z[:, 0]) > np.ptp(Z[:, 1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("principal direction 1", "principal direction 2")


def test_turning_the_embedding_changes_nothing(fitted, plane, labels):
    Q = np.linalg.qr(np.random.default_rng(3).normal(size=(4, 4)))[0]
    pictures = [np.concatenate(points(plot_embedding(fitted(embedding=P, labels=labels)))) for P in (plane, plane @ Q)]
    assert_allclose(pictures[1], pictures[0], atol=1e-10)


def test_orthonormal_columns_are_drawn_as_they_come_without_the_constant_one(fitted, ax, labels):
    columns = np.column_stack([np.ones(60), np.random.default_rng(0).normal(size=(60, 4))])
    P = np.linalg.qr(columns)[0]
    plot_embedding(fitted(embedding=P, labels=labels), ax=ax)
    assert_allclose(np.concatenate(points(ax)), P[:, 1:3])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("embedding_[:, 1]", "embedding_[:, 2]")


def test_groups_are_the_models_or_the_given_ones(fitted, plane, labels):
    model = fitted(embedding=plane, labels=labels)
    assert legend_names(plot_embedding(model)) == ["0", "1", "2"]
    ax = plot_embedding(model, labels=np.where(labels == 1, "yes", "no"))
    assert legend_names(ax) == ["no", "yes"]
    assert [len(group) for group in points(ax)] == [40, 20]
    assert ax.get_legend().get_title().get_text() == "label"


def test_given_labels_need_no_groups_of_the_model(fitted, ax, plane, labels):
    plot_embedding(fitted(embedding=plane), labels=labels, ax=ax)
    assert len(points(ax)) == 3


@pytest.mark.parametrize(("count", "listed"), [(1, True), (12, True), (13, False)])
def test_up_to_twelve_groups_are_listed_and_more_are_noted(fitted, texts, count, listed):
    rng = np.random.default_rng(0)
    ax = plot_embedding(fitted(embedding=rng.normal(size=(52, 3)), labels=np.arange(52) % count))
    ax.figure.canvas.draw()
    assert (ax.get_legend() is not None) == listed
    assert texts(ax)[-1].endswith("too many for a legend") != listed


def test_thirty_five_groups_differ_in_colour_or_marker(fitted, ax):
    rng = np.random.default_rng(0)
    plot_embedding(fitted(embedding=rng.normal(size=(70, 3)), labels=np.arange(70) % 35), ax=ax)
    looks = {
        (to_rgb(scatter.get_facecolor()[0]), len(scatter.get_paths()[0]), scatter.get_paths()[0].vertices.tobytes())
        for scatter in ax.collections
    }
    assert len(looks) == 35


def test_a_single_column_puts_the_groups_one_above_the_other(fitted, ax, labels):
    x = labels + np.random.default_rng(0).normal(size=60)
    plot_embedding(fitted(embedding=x[:, None], labels=labels), ax=ax)
    Z = np.concatenate(points(ax))
    assert_allclose(Z[:, 1], labels)
    assert_allclose(abs(Z[:, 0]), abs(x - x.mean()))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["0", "1", "2"]
    assert ax.get_legend() is None


@pytest.mark.parametrize("name", ["embedding", "label_distributions"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 1), (2, 3), (3, 2), (4, 1)])
def test_few_samples_are_drawn(fitted, name, shape):
    P = np.ones(shape) + np.eye(*shape)
    ax = plot_embedding(fitted(**{name: P, "labels": np.arange(len(P))}))
    ax.figure.canvas.draw()
    assert np.isfinite(np.concatenate(points(ax))).all()


def test_a_constant_embedding_is_one_point_a_group(fitted, ax, labels):
    plot_embedding(fitted(embedding=np.full((60, 3), 0.1), labels=labels), ax=ax)
    assert_allclose(np.concatenate(points(ax)), np.column_stack([np.zeros(60), labels]))


def test_certain_samples_lie_at_the_rim_and_undecided_ones_at_the_centre(fitted, ax, texts):
    P = np.vstack([np.eye(4), np.full(4, 0.25), np.zeros(4), [0.5, 0, 0.5, 0]])
    plot_embedding(fitted(label_distributions=P, transduction=np.zeros(7), classes=np.array(list("abcd"))), ax=ax)
    Z = points(ax)[0]
    assert_allclose(Z[:4], [[0, 1], [1, 0], [0, -1], [-1, 0]], atol=1e-12)
    assert_allclose(Z[4:], 0, atol=1e-7)
    assert texts(ax)[:4] == list("abcd")
    assert ax.get_title(loc="left") == "Label distributions"


def test_a_sample_lies_towards_its_class_the_farther_the_more_certain(fitted, ax):
    certainty = np.array([0.4, 0.5, 0.7, 1.0])
    P = np.column_stack([certainty, (1 - certainty) / 2, (1 - certainty) / 2])
    plot_embedding(fitted(label_distributions=P, transduction=np.zeros(4)), ax=ax)
    Z = points(ax)[0]
    assert_allclose(Z[:, 0], 0, atol=1e-12)
    assert_allclose(Z[:, 1] ** 2, P @ [1, -0.5, -0.5])


def test_distributions_come_before_the_embedding_they_were_made_from(fitted, ax):
    plot_embedding(fitted(label_distributions=np.eye(3), embedding=np.eye(3), transduction=np.arange(3)), ax=ax)
    assert ax.get_title(loc="left") == "Label distributions"


def test_names_of_any_form_are_listed(fitted, labels, plane):
    names = np.array(["_hidden", "$x$ $", "a name that is far too long"])[labels]
    ax = plot_embedding(fitted(embedding=plane, transduction=names))
    ax.figure.canvas.draw()
    assert legend_names(ax) == [r"\$x\$ \$", "_hidden", "a name th…too long"]


def test_labels_must_be_one_per_sample(fitted, ax, plane, labels):
    with pytest.raises(InvalidInputError, match=r"has 60 samples, got 59 labels: pass one label per sample"):
        plot_embedding(fitted(embedding=plane, labels=labels), labels=labels[1:], ax=ax)


def test_labels_must_name_every_sample(fitted, ax, plane):
    with pytest.raises(InvalidInputError, match="labels has no label"):
        plot_embedding(fitted(embedding=plane), labels=[None] + [1] * 59, ax=ax)


def test_the_models_own_labels_must_be_one_per_sample_too(fitted, ax, plane, labels):
    with pytest.raises(InvalidInputError, match=r"has 60 samples, got 59 labels: pass one label per sample"):
        plot_embedding(fitted(embedding=plane, labels=labels[1:]), ax=ax)


def test_a_series_of_labels_colours_the_samples_that_it_names(fitted, plane, labels):
    model = fitted(embedding=plane, labels=labels)
    model.sample_names_ = np.array([f"s{i}" for i in range(60)], dtype=object)
    named = pd.Series(labels, index=model.sample_names_)
    expected = points(plot_embedding(model, labels=labels))
    for found, own in zip(points(plot_embedding(model, labels=named[::-1])), expected, strict=True):
        assert_allclose(found, own)
