"""One self-contained HTML page from a fitted model: what was done, what was found, and how sure it is."""

from kernelweave.report.write import model_report, write_report

__all__ = ["model_report", "write_report"]
