"""Models of the zoo's data sets by the default, each fitted once."""

from functools import cache

import pytest

from benchmarks.zoo import NOISE, ZOO, n_classes
from kernelweave import Views, WeaveClustering


@pytest.fixture(scope="session")
def fitted():
    """Return a function: the model, the samples and the classes of a data set, by its name."""

    @cache
    def of(name, n_clusters=None):
        X, y = (ZOO | NOISE)[name].build(0)
        samples = Views(X) if isinstance(X, list) else X
        return WeaveClustering(n_clusters or n_classes(y), random_state=0).fit(samples), X, y

    return of
