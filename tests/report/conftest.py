"""A fitted clusterer and a classifier whose samples have awkward names."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from kernelweave import SMKLClustering, WeaveClassifier, WeaveClustering

NASTY = '</script><img src=x onerror="document.title=1">'


@pytest.fixture(scope="session")
def blobs():
    return make_blobs(90, centers=3, cluster_std=1.5, n_features=4, random_state=0)


@pytest.fixture(scope="session")
def clusterer(blobs):
    return WeaveClustering(3, random_state=0).fit(blobs[0])


@pytest.fixture(scope="session")
def smkl(blobs):
    return SMKLClustering(3, random_state=0, kernels="released-7").fit(blobs[0])


@pytest.fixture(scope="session")
def labelled():
    return np.arange(90) % 10 == 0


@pytest.fixture(scope="session")
def classifier(blobs, labelled):
    X, y = blobs
    return WeaveClassifier().fit(X, np.where(labelled, y, -1))


@pytest.fixture(scope="session")
def ids():
    return [NASTY, *(f"sample {i}" for i in range(1, 90))]
