"""Fixtures for every test: the shared folder beside the checkout, where there is one."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"


def _folder(path):
    if not path.is_dir():
        pytest.skip("the shared data folder is not beside this checkout")
    return path


@pytest.fixture(scope="session")
def shared_data():
    """Folder with the data sets as published (``paper``) and further real data (``extra``)."""
    return _folder(SHARED / "data")


@pytest.fixture(scope="session")
def shared_golden():
    """Folder with the values of the released program."""
    return _folder(SHARED / "golden")
