"""What the report says of models with one view or several, one group or several, and any solver."""

import copy
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from kernelweave import WeaveClustering
from kernelweave._plural import sentence
from kernelweave.errors import ColumnsWarning
from kernelweave.report import model_report
from kernelweave.report._cards import shown_number
from kernelweave.report._facts import read_facts
from kernelweave.report._words import story
from kernelweave.samples.scaling import Scaling, Version
from kernelweave.select import ClusterEvidence


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


@pytest.mark.parametrize(
    ("unsure", "n", "said"),
    [
        (0, 9, "0 of 9 samples have"),
        (1, 9, "1 of 9 samples (11%) has"),
        (2, 9, "2 of 9 samples (22%) have"),
        (1, 900, "1 of 900 samples has"),
        (1, 1, "1 of 1 sample (100%) has"),
    ],
)
def test_samples_of_low_confidence_are_counted(unsure, n, said, made):
    model = made(np.arange(n) % 2, confidence=np.where(np.arange(n) < unsure, 0.3, 0.9))
    assert f"<li>{said} a confidence below 0.6.</li>" in model_report(model)


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


def test_several_versions_are_told_with_their_weight(made):
    direction = Version("direction", {"a": Scaling("unit", ""), "b": Scaling("none", "")}, 0.6)
    z = Version("zscore", {"a": Scaling("zscore", ""), "b": Scaling("zscore", "")}, 0.4)
    sentences = told(made([0, 1], scaling=(direction, z)))
    first, second = "a scaled to unit length, b not scaled", "standardised column by column"
    expected = f"{first} (60% of the weight) and {second} (40% of the weight)"
    assert f"The samples were compared in 2 versions: {expected}." in sentences


def test_the_reason_for_the_number_of_clusters_is_told(made):
    numbers = np.array([2, 3])
    evidence = ClusterEvidence(numbers, np.array([1, 4]), *np.ones((4, 2)), 2.5, 3, "gap")
    assert f"The number was chosen. {sentence(evidence.words)}" in told(made([0, 1, 2], cluster_evidence=evidence))


def test_a_report_says_that_no_structure_was_found():
    X = np.random.default_rng(0).normal(size=(100, 20))
    page = model_report(WeaveClustering("auto", random_state=0).fit(X), X=X)
    assert "<h1>1 cluster in 100 samples</h1>" in page
    assert "The number was chosen. No structure was found: " in page


def test_every_view_has_its_own_scaling(made):
    model = made(
        [0, 1],
        view_names=("words", "links"),
        view_shares=np.array([0.7, 0.3]),
        kernel_names=("words: a", "links: a"),
        kernel_shares=np.array([0.7, 0.3]),
        kernel_views=("words", "links"),
        scaling=(Version("given", {"words": Scaling("unit", "it is text"), "links": Scaling("zscore", "why")}),),
    )
    sentences = told(model)
    assert "2 samples with 2 features in 2 views were compared by 2 kernels." in sentences
    assert "The samples of view 'words' were scaled to unit length, since it is text." in sentences
    assert "The samples of view 'links' were standardised column by column, since why." in sentences
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


def test_a_report_shows_the_valleys_that_decided():
    X = np.concatenate([np.random.default_rng(seed).normal(size=(40, 2)) + 20 * seed for seed in range(2)])
    page = model_report(WeaveClustering("auto", random_state=0).fit(X), X=X)
    assert "The number was chosen. 2 clusters lie apart" in page
    assert "There is structure if valleys between peaks of the density are 0.65 deep or more." in page
    assert ">between peaks<" in page


def test_a_column_of_categories_is_one_feature():
    group = np.arange(60) % 3
    table = pd.DataFrame({"size": 9.0 * group + np.arange(60) % 7, "colour": np.array(["red", "green", "blue"])[group]})
    model = WeaveClustering(3, kernels="mixed", random_state=0)
    assert "60 samples with 2 features in 2 views were compared" in told(model.fit(table))
    coins = {f"coin {j}": np.random.default_rng(j).choice(["h", "t", "rim"], 60) for j in range(10)}
    with pytest.warns(ColumnsWarning, match="related to no other"):
        model.fit(table.assign(**coins))
    assert "60 samples with 12 features in 2 views were compared" in told(model)
    views = {"one": table, "two": np.column_stack([group, -group, np.arange(60)]).astype(float)}
    assert "60 samples with 5 features in 3 views were compared" in told(model.fit(views))


def test_columns_that_were_left_out_are_named_with_the_reason():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 2)) + 9 * (np.arange(60) % 2)[:, None], columns=["a", "b"])
    noise = {f"coin {j}": rng.choice(["h", "t"], 60) for j in range(10)}
    with pytest.warns(ColumnsWarning):
        model = WeaveClustering(2, random_state=0).fit(table.assign(**noise, ship="Titanic"))
    said = told(model)
    assert "1 column was left out, since it is constant: 'ship'." in said
    assert "10 columns were left out, each since it is related to no other column: 'coin 0', 'coin 1'," in said
    assert "'coin 7' and 2 more." in said
    views = {"one": table.assign(ship="Titanic", sex=np.tile(["f", "m"], 30)), "two": table}
    with pytest.warns(ColumnsWarning):
        model = WeaveClustering(2, random_state=0).fit(views)
    assert "1 column of 'one' was left out, since it is constant: 'ship'." in told(model)


@pytest.mark.parametrize(
    ("value", "text"), [(2012, "2012"), (1066.0, "1066"), (2012.5, "2012"), (-500, "-500"), (12345.6, "12,346")]
)
def test_thousands_are_separated_in_numbers_of_five_digits_but_not_in_years(value, text):
    assert shown_number(value) == text


def test_a_reason_becomes_a_sentence_of_its_own():
    assert sentence("no structure was found: few samples") == "No structure was found: few samples."


def test_a_single_cluster_has_no_confidence_on_the_page(blobs):
    page = model_report(WeaveClustering(1, random_state=0).fit(blobs[0]), X=blobs[0])
    assert "median confidence" not in page
    assert "certain</caption>" not in page
    assert "confidence below" not in page


def test_samples_that_are_all_as_certain_are_not_listed_by_certainty(clusterer, blobs):
    model = copy.copy(clusterer)
    model.confidence_ = np.full(len(clusterer.labels_), 0.9)
    assert "certain</caption>" not in model_report(model)
    model.confidence_ = np.r_[0.8, model.confidence_[1:]]
    assert "Least certain</caption>" in model_report(model)


def test_every_section_has_a_link(blobs):
    X = pd.DataFrame(blobs[0], index=[f"s{i}" for i in range(90)]).rename(columns=str)
    views = {"a": X, "b": X.drop(index="s3")}
    model = WeaveClustering(3, random_state=0).fit(views)
    page = model_report(model, X=views)
    sections, links = (re.findall(pattern, page) for pattern in (r'<section id="(\w+)"', r'<a href="#(\w+)"'))
    assert {"features", "gaps"} <= set(sections)
    assert [link for link in links if link in sections] == sections
