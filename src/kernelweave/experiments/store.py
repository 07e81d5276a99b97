"""Samples and kernels of an experiment on disk, computed once and memory-mapped by every worker."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from kernelweave._types import Matrix
from kernelweave.errors import ResultsError
from kernelweave.experiments.choices import Preprocessing
from kernelweave.experiments.data import LabelledSamples, load_samples
from kernelweave.experiments.tasks import Task
from kernelweave.files.temporary import temporary_path
from kernelweave.kernels import recipe
from kernelweave.samples.scaling import fit_scaling

__all__ = ["SharedData", "open_kernels", "open_samples"]


class SharedData(NamedTuple):
    """The folder that holds the samples and kernels of a run."""

    folder: Path

    def samples(self, dataset: str, preprocessing: Preprocessing = "none") -> Path:
        """Return the file of a data set's samples, preprocessed, and classes."""
        return self.folder / f"{dataset}-{preprocessing}.joblib"

    def kernels(self, dataset: str, name: str, preprocessing: Preprocessing = "none") -> Path:
        """Return the file of a data set's kernel matrices under a recipe."""
        return self.folder / f"{dataset}-{preprocessing}-{name}.npy"

    @classmethod
    def build(cls, out: Path, tasks: Iterable[Task], data_home: str | os.PathLike[str] | None) -> SharedData:
        """Write the samples and kernels of the tasks to a folder of this process."""
        shared = cls(temporary_path(out))
        wanted: dict[tuple[str, Preprocessing], set[str]] = {}
        for task in tasks:
            recipes = wanted.setdefault((task.data.name, task.preprocessing), set())
            if task.method is not None and task.method.input != "features":
                recipes.add(task.method.kernels)
        try:
            for (dataset, preprocessing), recipes in wanted.items():
                samples = load_samples(dataset, data_home)
                X = fit_scaling(samples.X, preprocessing).transform(samples.X)
                shared._write(dataset, preprocessing, recipes, LabelledSamples(X, samples.y))
        except BaseException:
            shared.remove()
            raise
        return shared

    def _write(self, dataset: str, preprocessing: Preprocessing, recipes: set[str], samples: LabelledSamples) -> None:
        try:
            self.folder.mkdir(exist_ok=True)
            joblib.dump(samples, self.samples(dataset, preprocessing))
            for name in sorted(recipes):
                with threadpool_limits(1):  # the last digits of a product depend on the number of threads
                    np.save(self.kernels(dataset, name, preprocessing), recipe(name).fit_grams(samples.X))
        except OSError as error:
            reason = error.strerror or error
            msg = f"The kernels cannot be written to {self.folder.parent}: {reason}. Give another folder with --out."
            raise ResultsError(msg) from error

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


@lru_cache(maxsize=4)
def open_samples(path: Path) -> LabelledSamples:
    """Return the samples of a data set."""
    samples: LabelledSamples = joblib.load(path)
    return samples


@lru_cache(maxsize=4)
def open_kernels(path: Path) -> Matrix:
    """Return the kernels (r, n, n) of a data set as a read-only memory map."""
    kernels: Matrix = np.load(path, mmap_mode="r")
    return kernels
