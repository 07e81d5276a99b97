"""The types of the values in an experiment's file, and the words that may be used."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

__all__ = [
    "INPUTS", "KINDS", "PREPROCESSINGS", "SELECTIONS", "SPLITS", "Input", "Kind", "Parameters", "Preprocessing",
    "Selection", "Split",
]  # fmt: skip

Kind: TypeAlias = Literal["data", "clustering", "classification", "surface", "leak"]
Selection: TypeAlias = Literal["oracle", "fixed", "unsupervised"]
Input: TypeAlias = Literal["kernels", "each-kernel", "mean-kernel", "features"]
Split: TypeAlias = Literal["per-class", "same-positions", "uniform"]
Preprocessing: TypeAlias = Literal["none", "unit", "zscore"]  # methods of samples.scaling
Parameters: TypeAlias = dict[str, Any]  # of an estimator, by name

KINDS: tuple[Kind, ...] = get_args(Kind)
SELECTIONS: tuple[Selection, ...] = get_args(Selection)
INPUTS: tuple[Input, ...] = get_args(Input)
SPLITS: tuple[Split, ...] = get_args(Split)
PREPROCESSINGS: tuple[Preprocessing, ...] = get_args(Preprocessing)
