"""What the report says of models with one view or several, one group or several, and any solver."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from kernelweave.report import model_report
from kernelweave.report._facts import read_facts
from kernelweave.report._words import story
from kernelweave.samples.scaling import Scaling, Version


class Model(BaseEstimator):
    """An estimator whose fitted attributes are given."""

    def __init__(self, kernels="released-12"):
        self.kernels = kernels

    def fit(self, X, y=None):
        return self


@pytest.fixture
def made():
    """Make a fitted model of one view, with these attributes in addition."""

    def make(labels, **attributes):
        model = Model()
        given = {
            "labels": np.array(labels),
            "kernel_names": ("a",),
            "kernel_shares": np.ones(1),
            "view_names": ("X",),
            "view_shares": np.ones(1),
            "scaling": (Version("given", {"X": Scaling("none", "it was asked for")}),),
            "n_features_in": 2,
        }
        for name, value in (given | attributes).items():
            setattr(model, f"{name}_", value)
        return model

    return make


def told(model, **given):
    return " ".join(story(model, read_facts(model, **given)))


def test_one_of_everything_is_singular(made):
    model = made([0], n_features_in=1)
    assert "1 sample with 1 feature was compared by 1 kernel." in told(model)
    assert "1 cluster of 1 sample was found." in told(model)
    page = model_report(model)
    assert "<h1>1 cluster in 1 sample</h1>" in page
    for noun in ("sample", "feature", "kernel", "cluster"):
        assert f"<dt>{noun}</dt><dd>1</dd>" in page
        assert f"1 {noun}s" not in page


def test_several_of_everything_are_plural(made):
    sentences = told(made([0, 0, 1, 1, 2, 2]))
    assert "6 samples with 2 features were compared by 1 kernel." in sentences
    assert "3 clusters of 2 samples each were found." in sentences


def test_groups_of_different_size_are_given_as_a_range(made):
    assert "2 clusters of 1 to 3 samples were found." in told(made([0, 0, 0, 1]))


def test_one_label_is_singular(made):
    model = made([0, 1])
    model.transduction_ = model.labels_
    del model.labels_
    assert "2 classes of 1 sample each were found, from 1 label." in told(model, labelled=[True, False])


def test_large_numbers_have_commas(made):
    assert "1,200 samples with 2 features" in told(made(np.arange(1200) % 2))


def test_one_view_is_not_mentioned(made):
    model = made([0, 1])
    assert "view" not in told(model)
    assert "Share of every view" not in model_report(model)


def test_the_scaling_of_one_view_is_told_without_its_name(made):
    sentences = told(made([0, 1], scaling=(Version("given", {"X": Scaling("unit", "it was asked for")}),)))
    assert "The samples were scaled to unit length, since it was asked for." in sentences


def test_versions_are_told_with_their_shares(made):
    unit, zscore, none = (Scaling(method, "nobody knows") for method in ("unit", "zscore", "none"))
    versions = Version("direction", {"X": unit}, 0.3), Version("zscore", {"X": zscore}, 0.7)
    expected = (
        "The samples were compared in 2 versions: scaled to unit length (30% of the weight) and standardised column "
        "by column (70% of the weight)."
    )
    assert expected in told(made([0, 1], scaling=versions))
    versions = (
        Version("direction", {"a": unit, "b": none}, 0.25),
        Version("zscore", {"a": zscore, "b": zscore}, 0.75),
    )
    expected = (
        "in 2 versions: view 'a' scaled to unit length, view 'b' not scaled (25% of the weight) and standardised "
        "column by column (75% of the weight)."
    )
    assert expected in told(made([0, 1], scaling=versions))


def test_samples_that_were_not_scaled_are_not_mentioned(made):
    model = made([0, 1])
    del model.scaling_
    assert "scaled" not in told(model)


def test_why_the_number_of_clusters_was_chosen_is_told(made):
    model = made([0, 1], cluster_evidence=SimpleNamespace(words="2 clusters stand out"))
    story_of_it = " ".join(story(model, read_facts(model)))
    assert "were found. The number was chosen from the data; 2 clusters stand out." in story_of_it


def test_every_view_has_its_own_scaling(made):
    model = made(
        [0, 1],
        view_names=("words", "links"),
        view_shares=np.array([0.7, 0.3]),
        kernel_names=("words: a", "links: a"),
        kernel_shares=np.array([0.7, 0.3]),
        kernel_views=("words", "links"),
        scaling=(
            Version("given", {"words": Scaling("unit", "it is text"), "links": Scaling("zscore", "the ranges differ")}),
        ),
    )
    sentences = told(model)
    assert "2 samples with 2 features in 2 views were compared by 2 kernels." in sentences
    assert "The samples of view 'words' were scaled to unit length, since it is text." in sentences
    assert "The samples of view 'links' were standardised column by column, since the ranges differ." in sentences
    assert "The view with the largest weight is words, with 70.0%." in sentences
    assert "Share of every view" in model_report(model)


def test_kernels_that_were_computed_before_have_no_features(made):
    model = made([0, 1]).set_params(kernels="precomputed")
    assert "2 samples were compared by 1 kernel." in told(model)
    assert "<dt>features</dt>" not in model_report(model)


@pytest.fixture
def landmark(made):
    """Make a landmark model: all that a clusterer has, except for a graph and a consensus kernel."""
    rng = np.random.default_rng(0)
    labels = np.arange(30) % 3
    membership = 0.8 * np.eye(3)[labels] + 0.2 / 3
    return made(
        labels,
        membership=membership,
        confidence=membership.max(axis=1),
        margin=np.full(30, 0.8),
        embedding=np.eye(3)[labels] + 0.1 * rng.normal(size=(30, 3)),
        eigenvalues=np.array([0, 0.1, 0.2, 0.5]),
        landmarks=rng.normal(size=(5, 2)),
        solver=SimpleNamespace(name="landmark", reason="the samples are read in chunks"),
    )


def test_the_solver_and_its_reason_are_told(landmark):
    assert "The solver was 'landmark' (the samples are read in chunks)." in told(landmark)


def test_a_model_without_a_graph_has_all_other_parts_of_the_report(landmark):
    page = model_report(landmark)
    for part in ("map", "h-spectrum", "h-confidence"):
        assert f'id="{part}"' in page
    assert 'id="h-graph"' not in page
    assert "learned graph" not in page
