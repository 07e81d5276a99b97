"""Samples as a user may pass them, read once: tables of the same samples, chunks of one table, or kernel matrices."""

from kernelweave.samples.chunks import Chunks
from kernelweave.samples.column_kinds import Column
from kernelweave.samples.comparisons import Distances, Graph, Neighbourhoods, Placement
from kernelweave.samples.digests import Seen
from kernelweave.samples.file_reading import FileReading
from kernelweave.samples.mixed_table import ColumnChoices, MixedTable
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.scaling import Scaling, Version
from kernelweave.samples.table import NamedColumns
from kernelweave.samples.views import Views

__all__ = [
    "Chunks",
    "Column",
    "ColumnChoices",
    "Distances",
    "FileReading",
    "Graph",
    "KernelStack",
    "MixedTable",
    "NamedColumns",
    "Neighbourhoods",
    "Placement",
    "Scaling",
    "Seen",
    "Version",
    "Views",
]
