"""Experiments as data: a TOML file becomes rows that survive a crash, and tables beside published figures."""

from kernelweave.experiments.runner import run_experiment
from kernelweave.experiments.spec import Spec, available_specs, load_spec

__all__ = ["Spec", "available_specs", "load_spec", "run_experiment"]
