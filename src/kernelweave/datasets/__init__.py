"""Data sets with one or several tables, checked against their published files, and functions to label a part of one."""

from kernelweave.datasets.load import load_dataset
from kernelweave.datasets.registry import DatasetInfo, dataset_info, list_datasets
from kernelweave.datasets.splits import label_split, mask_labels

__all__ = [
    "DatasetInfo",
    "dataset_info",
    "label_split",
    "list_datasets",
    "load_dataset",
    "mask_labels",
]
