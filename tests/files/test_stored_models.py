"""Model files of every released version load, and predict as they did when they were written (`make model-fixture`)."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import kernelweave

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("*/*.kw"))


def test_models_of_version_0_1_are_stored():
    assert {"weave_clustering.kw", "weave_classifier.kw", "smkl_clustering.kw", "smkl_classifier.kw"} <= {
        path.name for path in FILES if path.parent.name == "0.1.0"
    }


@pytest.mark.parametrize("version", sorted(DATA.iterdir()), ids=lambda path: path.name)
def test_every_stored_model_has_its_answers(version):
    answers = json.loads((version / "answers.json").read_text())
    assert sorted(answers["models"]) == sorted(path.stem for path in version.glob("*.kw"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_stored_model_loads_and_predicts_as_it_did(path):
    answers = json.loads((path.parent / "answers.json").read_text())
    new, expected = np.array(answers["new"]), answers["models"][path.stem]
    model = kernelweave.load(path)
    assert type(model).__name__ == expected["class"]
    assert_array_equal(model.labels_ if hasattr(model, "labels_") else model.transduction_, expected["fitted"])
    assert_array_equal(model.predict(new), expected["predicted"])
    assert_allclose(model.predict_proba(new), expected["probabilities"], atol=2e-6)
