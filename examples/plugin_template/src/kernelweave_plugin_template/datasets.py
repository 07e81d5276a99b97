"""A data set that comes with the package.

The record tells the file, its checksum and its shape, all of which are checked when it is loaded. A data set that is
downloaded has an address as `url` and no `folder`.
"""

from pathlib import Path

import numpy as np

from kernelweave.datasets import DatasetInfo
from kernelweave.datasets.readers import LabelledTable

__all__ = ["TRIPLET"]


def _read(path):
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return LabelledTable(table[:, :-1], table[:, -1].astype(np.int64), None)


TRIPLET = DatasetInfo(
    name="triplet",
    filename="triplet.csv",
    folder=Path(__file__).parent / "data",
    url="https://example.org/triplet.csv",
    sha256="771777558a66648c4a415c9764a0600d0ca9f33d8245f8e9233cb887e1587b74",
    n_samples=60,
    n_features=2,
    n_classes=3,
    source="made by numpy.random.default_rng(0)",
    citation="None: replace the data set by your own.",
    preprocessing="None.",
    description="Three round groups of 20 points in the plane.",
    format=_read,
)
