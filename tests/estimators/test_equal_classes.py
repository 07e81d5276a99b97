"""Two classes with the same samples and the same labels: which one wins must not depend on rounding."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info

from kernelweave import KGLClassifier, PMKLClassifier, SMKLClassifier
from kernelweave.baselines import GFHF, LGC

SIZE, COPIED = 20, 4  # samples of a class; the class that has those of class 0, as the letter O those of the digit 0
MODELS = {
    "SMKL": SMKLClassifier(),
    "SMKL, all edges": SMKLClassifier(n_neighbors="all", scale="none"),
    "KGL": KGLClassifier(),
    "PMKL": PMKLClassifier(),
    "LGC": LGC(),
    "GFHF": GFHF(),
}


def table():
    """Return samples with features of 0 or 1, the classes of the first five samples of each class, and all classes."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.random((SIZE, 48)) < rng.choice([0.2, 0.8], size=48) for _ in range(COPIED)])
    X = np.concatenate([X, X[:SIZE]]).astype(float)
    y = np.repeat(np.arange(COPIED + 1), SIZE)
    return X, np.where(np.arange(len(y)) % SIZE < 5, y, -1), y


def fitted(name):
    X, known, _ = table()
    return MODELS[name].fit(X, known)


@pytest.mark.parametrize("name", MODELS)
def test_of_two_equal_classes_the_first_wins(name):
    model = fitted(name)
    unknown = table()[1] == -1
    found = model.transduction_[unknown]
    assert (found == 0).any()
    assert COPIED not in found
    P = model.label_distributions_[unknown]
    assert_array_equal(P[found == 0, COPIED], P[found == 0, 0])


@pytest.mark.parametrize("name", MODELS)
def test_classes_move_with_the_samples(name):
    X, known, _ = table()
    before = fitted(name).transduction_
    order = np.random.default_rng(1).permutation(len(X))
    assert_array_equal(MODELS[name].fit(X[order], known[order]).transduction_, before[order])


@pytest.mark.parametrize("name", ["SMKL", "KGL", "PMKL"])
def test_new_samples_get_the_first_of_two_equal_classes(name):
    X, _, y = table()
    near = X[y == COPIED].copy()
    near[:, 0] = 0.5  # a new sample
    found = fitted(name).predict(near)
    assert (found == 0).any()
    assert COPIED not in found


def labels_with(core):
    """Return the classes that every model finds with the kernels of OpenBLAS for a processor, and their names."""
    found = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(found.stdout)


@pytest.mark.skipif(
    not any(blas["internal_api"] == "openblas" for blas in threadpool_info()), reason="BLAS is not OpenBLAS"
)
def test_the_kernels_of_another_processor_give_the_same_classes():
    first, other = labels_with("Nehalem"), labels_with("Haswell")
    if first["processors"] == other["processors"]:
        pytest.skip(f"this OpenBLAS has kernels for {first['processors']} only")
    assert first["classes"] == other["classes"]


if __name__ == "__main__":
    processors = [blas["architecture"] for blas in threadpool_info() if blas["internal_api"] == "openblas"]
    classes = {name: fitted(name).transduction_.tolist() for name in MODELS}
    sys.stdout.write(json.dumps({"processors": processors, "classes": classes}))
