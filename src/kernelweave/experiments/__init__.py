"""Experiments defined by TOML files: their rows survive a crash, and their tables include the published figures."""

from kernelweave.experiments.runner import run_experiment
from kernelweave.experiments.spec import Spec, available_specs, load_spec

__all__ = ["Spec", "available_specs", "load_spec", "run_experiment"]
