"""Samples as a user may pass them, read once: tables of the same samples, chunks of one table, or kernel matrices."""

from kernelweave.samples.chunks import Chunks
from kernelweave.samples.digests import Seen
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.scaling import Scaling, Version
from kernelweave.samples.views import Views

__all__ = ["Chunks", "KernelStack", "Scaling", "Seen", "Version", "Views"]
