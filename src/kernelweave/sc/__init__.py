"""Single-cell data: cluster or classify the cells of an AnnData or MuData object, with the result written into it."""

from kernelweave.sc.annotated import AnnotatedData
from kernelweave.sc.cell_tools import classify, weave

__all__ = ["AnnotatedData", "classify", "weave"]
