"""The way of a fit: how many functions and files it goes through, and how often it changes from room to room.

A room is a package, or a module of its own, right below `kernelweave`. A way that grows longer is no error, but it
should be noticed: make it straighter where that is possible, and raise the number here where it is not.
"""

import os
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import kernelweave
from kernelweave import SMKLClassifier, SMKLClustering, WeaveClassifier, WeaveClustering

SOURCE = Path(kernelweave.__file__).parent
X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]
PARTLY = np.where(np.arange(len(Y)) % 2, Y, -1)
VIEWS = {"sepal": X[:, :2], "petal": X[:, 2:]}
NEW = {"sepal": X[:4, :2] + 0.01, "petal": X[:4, 2:]}

JOBS = {
    "weave": lambda: WeaveClustering(3, random_state=0).fit(X),
    "local": lambda: WeaveClustering(3, random_state=0, solver="local").fit(X),
    "landmark": lambda: WeaveClustering(3, random_state=0, solver="landmark").fit(X),
    "predict": lambda: WeaveClassifier().fit(X, PARTLY).predict(X[:4] + 0.01),
    "smkl": lambda: SMKLClustering(3, random_state=0).fit(X),
    "classify": lambda: SMKLClassifier().fit(VIEWS, PARTLY).predict(NEW),
}
MOST = {  # functions, files, changes of room
    "weave": (132, 26, 14),
    "local": (143, 32, 19),
    "landmark": (109, 23, 18),
    "predict": (145, 28, 21),
    "smkl": (125, 25, 18),
    "classify": (159, 30, 28),
}


def walk(job):
    """Return the files of the functions of kernelweave in the order of their first calls."""
    found = {}

    def look(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(f"{SOURCE}{os.sep}") and not code.co_name.startswith("<"):
            found.setdefault(code, Path(code.co_filename).relative_to(SOURCE))

    job()  # imports and caches first
    before = sys.getprofile()
    sys.setprofile(look)
    try:
        job()
    finally:
        sys.setprofile(before)
    return list(found.values())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", JOBS)
def test_the_way_of_a_fit_is_not_longer_than_it_was(name, monkeypatch):
    monkeypatch.delitem(sys.modules, "distributed", raising=False)  # a fit with landmarks would look for its workers
    files = walk(JOBS[name])
    changes = sum(one.parts[0] != other.parts[0] for one, other in pairwise(files))
    found = len(files), len(set(files)), changes
    assert all(number <= most for number, most in zip(found, MOST[name], strict=True)), f"{found}, at most {MOST[name]}"
