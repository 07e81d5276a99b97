import dataclasses
import re

import pytest

from kernelweave.datasets import dataset_info, list_datasets
from kernelweave.datasets.contents import FORMS
from kernelweave.datasets.readers import READERS
from kernelweave.datasets.registry import DATASETS, DOMAINS
from kernelweave.errors import InvalidInputError

every_dataset = pytest.mark.parametrize("name", list_datasets())


def test_the_eight_data_sets_of_the_paper_are_listed_first():
    assert list_datasets()[:8] == ["yale", "jaffe", "yeast", "tr11", "tr41", "tr45", "ba", "coil20"]


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
    assert info.sha256 is None or re.fullmatch("[0-9a-f]{64}", info.sha256)
    assert info.git_blob is None or re.fullmatch("[0-9a-f]{40}", info.git_blob)
    assert info.url.startswith("https://")
    assert info.format in READERS
    assert info.domain in DOMAINS
    assert info.licence
    assert not info.views or (sum(info.views) == info.n_features and len(info.views) > 1)
    assert len(info.view_names) in (0, len(info.views))
    assert info.layout.form in FORMS
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


@pytest.mark.parametrize("name", ["nobody", "", None, 3, ["yale"]])
def test_unknown_names_are_refused_with_the_known_ones(name):
    with pytest.raises(
        InvalidInputError, match=rf"no data set {re.escape(repr(name))}: choose one of yale, jaffe, .*coil20"
    ):
        dataset_info(name)


def test_there_are_forty_data_sets_of_several_views_or_kernels_or_one_table():
    assert len(list_datasets()) >= 40
    assert len(list_datasets(views=(2, None))) >= 35


def test_files_of_different_data_sets_have_different_names_on_every_system():
    names = [info.filename.casefold() for info in DATASETS if not info.bundled]
    names += [info.copy.filename.casefold() for info in DATASETS if info.copy]
    assert len(names) == len(set(names))


def test_a_file_without_any_checksum_is_the_exception():
    unchecked = [info.name for info in DATASETS if not (info.bundled or info.sha256 or info.git_blob)]
    assert unchecked == ["letter"]


def test_data_sets_are_filtered_by_views_samples_and_domain():
    found = [dataset_info(name) for name in list_datasets(views=(2, 3), samples=(150, 600), domain="text")]
    assert {info.name for info in found} >= {"3sources", "bbcsport", "20news500"}
    assert all(2 <= info.n_views <= 3 and 150 <= info.n_samples <= 600 and info.domain == "text" for info in found)


def test_an_unknown_domain_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInputError, match="no domain 'food': choose one of images, text, omics"):
        list_datasets(domain="food")
