"""A self-contained HTML page about a fitted model: what was done, what was found, and with what confidence."""

from kernelweave.report.write import model_report, write_report

__all__ = ["model_report", "write_report"]
