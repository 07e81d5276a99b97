"""Samples and kernels of an experiment on disk, computed once and memory-mapped by every worker."""

from __future__ import annotations

import os
import shutil
import socket
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
from kernelweave.kernels import recipe
from kernelweave.samples.scaling import fit_scaling

__all__ = ["SharedData", "open_kernels", "open_samples"]

_PREFIX = ".kernels-"


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
        _remove_stale(out)
        shared = cls(out / f"{_PREFIX}{socket.gethostname()}-{os.getpid()}")
        wanted: dict[tuple[str, Preprocessing], set[str]] = {}
        for task in tasks:
            recipes = wanted.setdefault((task.data.name, task.preprocessing), set())
            if task.method is not None and task.method.input != "features":
                recipes.add(task.method.kernels)
        try:
            shared.folder.mkdir()
            for (dataset, preprocessing), recipes in wanted.items():
                samples = load_samples(dataset, data_home)
                X = fit_scaling(samples.X, preprocessing).transform(samples.X)
                shared._write(dataset, preprocessing, recipes, LabelledSamples(X, samples.y))
        except OSError as error:
            if not error.filename or str(out) not in str(error.filename):
                raise  # the error of a missing data set has its own message
            msg = f"The kernels cannot be written to {shared.folder}: {error.strerror}. Give another folder with --out."
            raise ResultsError(msg) from error
        return shared

    def _write(self, dataset: str, preprocessing: Preprocessing, recipes: set[str], samples: LabelledSamples) -> None:
        joblib.dump(samples, self.samples(dataset, preprocessing))
        for name in sorted(recipes):
            with threadpool_limits(1):  # the last digits of a product depend on the number of threads
                np.save(self.kernels(dataset, name, preprocessing), recipe(name).fit_grams(samples.X))

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


def _remove_stale(out: Path) -> None:
    """Remove the kernels of killed runs on this machine."""
    host = socket.gethostname()
    for folder in out.glob(f"{_PREFIX}{host}-*"):
        if not _is_running(int(folder.name.rsplit("-", 1)[1])):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
