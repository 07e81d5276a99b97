"""What a user may pass as samples, read once: several tables of the same samples, or chunks of one table."""

from kernelweave.samples.views import Views

__all__ = ["Views"]
