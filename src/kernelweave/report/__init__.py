"""A self-contained HTML page about a fitted model: what was done, what was found, and with what confidence."""

from kernelweave.report.write import group_features, model_report, write_report

__all__ = ["group_features", "model_report", "write_report"]
