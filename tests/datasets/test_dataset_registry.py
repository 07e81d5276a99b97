import dataclasses
import re

import pytest

from kernelweave.datasets import dataset_info, list_datasets
from kernelweave.datasets.readers import READERS
from kernelweave.errors import InvalidInputError

every_dataset = pytest.mark.parametrize("name", list_datasets())


def test_the_eight_data_sets_of_the_paper_are_listed():
    assert list_datasets() == ["yale", "jaffe", "yeast", "tr11", "tr41", "tr45", "ba", "coil20"]


def test_changing_the_list_of_names_changes_nothing_for_others():
    list_datasets().clear()
    assert "yale" in list_datasets()


@every_dataset
def test_names_are_found_in_capitals_too(name):
    assert dataset_info(name.upper()) is dataset_info(name)


@every_dataset
def test_every_record_is_complete(name):
    info = dataset_info(name)
    assert info.name == name
    assert re.fullmatch("[0-9a-f]{64}", info.sha256)
    assert info.url.startswith("https://")
    assert info.url.endswith("/" + info.filename)
    assert info.format in READERS
    assert min(info.n_samples, info.n_features, info.n_classes) > 1
    assert all(getattr(info, text).endswith(".") for text in ("citation", "preprocessing", "description"))


@every_dataset
def test_file_names_that_tell_sizes_tell_those_of_the_record(name):
    info = dataset_info(name)
    told = re.search(r"_(\d+)n_(\d+)d_(\d+)c", info.filename)
    if told is not None:
        assert tuple(map(int, told.groups())) == (info.n_samples, info.n_features, info.n_classes)


def test_records_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'sha256'"):
        dataset_info("yale").sha256 = "0" * 64


def test_facts_in_which_the_paper_errs_are_told():
    assert "36 classes of 39 images (the paper says 39 classes)" in dataset_info("ba").description
    assert "columns 8 to 1469 are the 1462 sequence names" in dataset_info("yeast").description


@pytest.mark.parametrize("name", ["iris", "", None, 3, ["yale"]])
def test_unknown_names_are_refused_with_the_known_ones(name):
    with pytest.raises(
        InvalidInputError, match=rf"no data set {re.escape(repr(name))}: choose one of yale, jaffe, .*coil20"
    ):
        dataset_info(name)
