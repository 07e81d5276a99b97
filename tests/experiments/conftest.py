"""A small experiment on data that needs no download."""

import pytest

SPEC = """
name = "small"
title = "Small"
kind = "clustering"

[presets.quick]
datasets = ["wine", "iris"]

[presets.full]
datasets = ["iris"]

[[methods]]
name = "SC"
estimator = "KernelSpectralClustering"
input = "each-kernel"
kernels = "released-7"
repeats = 2
parameters = { n_init = 2 }

[[methods]]
name = "MKKM"
estimator = "MKKM"
repeats = 2
parameters = { n_init = 1 }

[[methods]]
name = "SMKL"
estimator = "SMKLClustering"
parameters = { n_init = 3 }

[[methods.grid]]
scheme = "released"
alpha = [1e-4, 1e-2]
beta = 100.0

[[methods.grid]]
path = true
alpha = [1e-2, 1e-5, 1e-4]
gamma = [0.1, 1.0]
"""

LABELS = """
kind = "classification"

[labels]
protocol = "per-class"
fractions = [0.1, 0.5]

[presets.quick]
datasets = ["iris"]
draws = 3

[[methods]]
name = "GFHF"
estimator = "GFHF"
input = "each-kernel"
batch = 2

[[methods]]
name = "Weave defaults"
estimator = "WeaveClassifier"
input = "features"
"""


@pytest.fixture
def labels_text():
    """The text of an experiment with labels."""
    return LABELS


@pytest.fixture
def write(tmp_path):
    """Write an experiment's file, with some text replaced, and return its path."""

    def _write(*replacements, text=SPEC):
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "small.toml"
        path.write_text(text)
        return path

    return _write
