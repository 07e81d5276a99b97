"""Models as files of JSON and arrays."""

from kernelweave.files.model_file import load, save_model

__all__ = ["load", "save_model"]
