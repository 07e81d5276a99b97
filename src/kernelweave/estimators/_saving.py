"""The method `save`, and what the rooms below do not export yet of what a model holds."""

from __future__ import annotations

import os

from kernelweave.estimators._seen import Seen
from kernelweave.estimators._weave_solver import SolverChoice
from kernelweave.files import load, save_model
from kernelweave.files.codec import exported_classes
from kernelweave.samples.scaling import Scaling
from kernelweave.weave.landmark.landmark_model import LandmarkGraph, LandmarkModel
from kernelweave.weave.local.local_kernel import LocalKernel
from kernelweave.weave.local.local_weave import LocalWeave

__all__ = ["Savable", "load"]

# goes once samples and weave export these
exported_classes().update(
    {
        f"weave.{cls.__name__}": cls
        for cls in (Seen, SolverChoice, Scaling, LandmarkGraph, LandmarkModel, LocalKernel, LocalWeave)
    }
)


class Savable:
    """A model that can be written to a file."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file of JSON and arrays, which `kernelweave.load` reads back.

        Parameters
        ----------
        path : str or path
            Where to write; an existing file is replaced once the new one is complete.

        Notes
        -----
        The file holds no pickle: reading it runs no code. Python functions and kernel classes of your own can
        therefore not be saved; use pickle or joblib for them, and read such files only if you trust them.
        """
        save_model(self, path)
