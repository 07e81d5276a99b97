"""What `cluster` and `classify` share: their options, the checks before a fit, and how samples are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelweave.cli import _arguments as option
from kernelweave.cli._option_groups import OptionGroup

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.base import BaseEstimator

    from kernelweave.cli._inputs import Inputs
    from kernelweave.tabular import ReadOptions

__all__ = ["FitOptions", "prepare", "read_samples"]


@dataclass(frozen=True, slots=True)
class FitOptions(OptionGroup):
    """The values of the options that both commands have."""

    kernels: option.Kernels = None
    method: option.Method = "weave"
    solver: option.Solver = "auto"
    scale: option.Scale = "auto"
    metadata: option.MetadataFile = None
    metadata_columns: option.MetadataColumns = None
    test_features: option.TestFeatures = False
    force: option.Force = False
    json: option.Json = False
    quiet: option.Quiet = False
    seed: option.Seed = 0

    @property
    def columns(self) -> list[str]:
        """The columns of the tables that are metadata."""
        return self.metadata_columns or []

    @property
    def given(self) -> dict[str, str | None]:
        """The options of the model that are not left at their default; None where they are."""
        return {"kernels": self.kernels or None, "scale": None if self.scale == "auto" else self.scale}

    @property
    def has_metadata(self) -> bool:
        """Whether metadata are compared with the result."""
        return self.metadata is not None or bool(self.columns)


def prepare(model: BaseEstimator, options: FitOptions, folder: Path, files: Sequence[str]) -> None:
    """Refuse what can be refused before anything is read, and give the model its kernels."""
    from kernelweave.cli._results import check_target

    if options.kernels:
        model.set_params(kernels=options.kernels)
    check_target(folder, files, force=options.force)


def read_samples(
    model: BaseEstimator, options: FitOptions, files: Sequence[Path], views: Sequence[str], read_options: ReadOptions
) -> tuple[Inputs, pd.DataFrame | None]:
    """Return the samples, for which the model is given its kernels, and their metadata, None if there are none."""
    from kernelweave.cli._inputs import inputs_of, read_files
    from kernelweave.cli._other_tables import read_metadata

    mixed, fill = options.kernels == "mixed", options.kernels is None and options.method in option.METHODS
    inputs = inputs_of(*read_files(files, views, read_options), read_options, mixed=mixed, fill=fill)
    if inputs.kernels is not None:
        model.set_params(kernels=inputs.kernels)
    paths = option.paths_of(files, views)
    return inputs, read_metadata(inputs.ids, options.metadata, options.columns, paths, read_options)
