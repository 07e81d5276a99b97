"""The data sets of the quality tables: the paper's, and others with one or several views."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits

from kernelweave import Views
from kernelweave.datasets import load_dataset
from kernelweave.kernels import recipe
from kernelweave.kernels.base import row_sqnorms
from kernelweave.samples.scaling import fit_by_view

PAPER = ("yale", "jaffe", "yeast", "tr11", "tr41", "tr45")
OTHERS = ("mfeat", "msrcv1", "bbcsport", "3sources", "breast_tcga", "sc_buettner", "webkb", "orl", "digits")
MORE = ("ba", "coil20")
HELD_OUT = ("webkb", "orl", "breast_tcga")  # not looked at while the defaults of SMKL, KGL and PMKL were chosen
SEMI_SUPERVISED = ("yale", "jaffe", "tr11", "coil20", "ba", "digits", "mfeat")

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("KERNELWEAVE_DATA", ROOT.parent / "shared" / "data"))


@dataclass
class DataSet:
    """Samples of one or several views, and their classes."""

    name: str
    views: list[Any]
    y: np.ndarray
    _stacks: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def c(self) -> int:
        """The number of classes."""
        return len(np.unique(self.y))

    @property
    def dtype(self) -> type[np.float32] | None:
        """Single precision where the kernels of all views would be large, else that of the samples."""
        return np.float32 if len(self.views) * len(self.y) ** 2 > 1e7 else None

    @cached_property
    def scaled(self) -> list[Any]:
        """The views on the scale that the library chooses for each where it takes one only."""
        return [usual_scale(X) for X in self.views]

    @cached_property
    def joined(self) -> Any:
        """All scaled views side by side, each with mean squared length 1, for methods that take one table."""
        views = self.scaled if len(self.views) == 1 else [X / np.sqrt(row_sqnorms(X).mean()) for X in self.scaled]
        if any(sparse.issparse(X) for X in views):
            return sparse.csr_array(sparse.hstack(views))
        return np.hstack(views)

    def kernels(self, name: str = "released-12") -> np.ndarray:
        """Return the kernels of every view as one stack; in single precision where it would be large."""
        if name not in self._stacks:
            dtype = self.dtype or np.float64
            self._stacks[name] = np.concatenate([recipe(name).fit_grams(X).astype(dtype) for X in self.scaled])
        return self._stacks[name]

    def for_weave(self) -> tuple[Any, dict[str, Any]]:
        """Return what WeaveClustering and WeaveClassifier are given: the samples as they are, and options."""
        return (self.views[0] if len(self.views) == 1 else Views(self.views)), {}


def usual_scale(X: Any) -> Any:
    """Return a table on the scale that estimators of one version of the samples choose."""
    return fit_by_view(Views.of_table(X), "auto").scalings["X"].transform(X)


def load(name: str) -> DataSet:
    """Return a data set by its name."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return DataSet(name, [X], y)
    if name in PAPER + MORE:
        bunch = load_dataset(name, data_home=DATA / "paper")
        return DataSet(name, [bunch.data], bunch.target)
    with np.load(DATA / "extra" / f"{name}.npz") as file:
        stems = ["X"] if "X" in file else sorted({key.split("_")[0] for key in file if key.startswith("X")})
        return DataSet(name, [_view(file, stem) for stem in stems], file["y"])


def _view(file: Any, stem: str) -> Any:
    if stem in file:
        return file[stem].astype(np.float64)
    parts = (file[f"{stem}_{part}"] for part in ("data", "indices", "indptr"))
    data, indices, indptr = parts
    return sparse.csr_array((data.astype(np.float64), indices, indptr), shape=tuple(file[f"{stem}_shape"]))
