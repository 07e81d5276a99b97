"""Tables in which it is known what sets the clusters apart."""

import numpy as np
import pandas as pd
import pytest

from kernelweave import WeaveClustering


@pytest.fixture(scope="session")
def planted():
    """90 samples in three clusters, each with two markers of its own, among noise, and a category."""
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1, 2], (40, 30, 20))
    table = pd.DataFrame(rng.normal(size=(90, 6)), columns=[f"noise {j}" for j in range(6)])
    for k in range(3):
        table[f"high {k}"] = 100 + 10 * (rng.normal(size=90) + 7 * (kind == k))
        table[f"low {k}"] = 0.1 * (rng.normal(size=90) - 7 * (kind == k))
    return table, kind


@pytest.fixture(scope="session")
def model(planted):
    return WeaveClustering(3, random_state=0).fit(planted[0])
