"""Models as files of JSON and arrays."""

from kernelweave.files.model_file import read_model, save_model

__all__ = ["read_model", "save_model"]
