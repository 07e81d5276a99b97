"""HDF5 files with a damaged heap are refused before the library reads them; it would not come back."""

import struct

import numpy as np
import pytest

from kernelweave.errors import InvalidInputError
from kernelweave.files.hdf5_structure import check_heaps
from kernelweave.tabular import read_table

h5py = pytest.importorskip("h5py", reason="needs h5py, an extra")


def written(path, **options):
    with h5py.File(path, "w", **options) as file:
        file["x"] = np.arange(6.0).reshape(3, 2)
        for i in range(5):
            file["x"].attrs[f"text {i}"] = "abcdefghij" * (i + 1)  # of any length, so in a heap
    return path


def free_space(data, start):
    """Return where the free space of a heap begins: the first object of index 0."""
    at = start + 16
    while struct.unpack_from("<H", data, at)[0]:
        at += 16 + -(-struct.unpack_from("<Q", data, at + 8)[0] // 8) * 8
    return at


def damaged(path, size):
    data = bytearray(path.read_bytes())
    at = free_space(data, data.index(b"GCOL"))
    struct.pack_into("<Q", data, at + 8, size)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("options", [{}, {"userblock_size": 512}, {"libver": "latest"}])
def test_a_heap_whose_free_space_has_no_size_is_refused(tmp_path, options):
    path = written(tmp_path / "x.h5", **options)
    check_heaps(path)
    start = path.read_bytes().index(b"GCOL")
    with pytest.raises(InvalidInputError, match=f"x.h5 is damaged: at byte {start} it has a heap whose free space"):
        check_heaps(damaged(path, 0))


def test_free_space_may_end_the_heap_or_reach_beyond_it(tmp_path):
    for size in (2**12, 2**63):
        check_heaps(damaged(written(tmp_path / "x.h5"), size))


def test_the_second_of_two_heaps_is_looked_at_too(tmp_path):
    path = written(tmp_path / "x.h5")
    data = path.read_bytes()
    start = data.index(b"GCOL")
    heap = bytearray(data[start : free_space(data, start) + 16])
    heap[-8:] = bytes(8)
    struct.pack_into("<Q", heap, 8, len(heap))
    path.write_bytes(data + heap)
    with pytest.raises(InvalidInputError, match=f"at byte {len(data)} it has a heap"):
        check_heaps(path)


@pytest.mark.parametrize("content", [b"", b"GCOL\x01\x00\x00\x00" + bytes(40), b"\x89HDF\r\n\x1a\n"])
def test_other_files_are_left_to_their_readers(tmp_path, content):
    path = tmp_path / "x.h5"
    path.write_bytes(content)
    check_heaps(path)


def test_annotated_data_with_such_a_heap_is_refused_by_name(tmp_path):
    anndata = pytest.importorskip("anndata", reason="needs anndata, an extra")
    path = tmp_path / "cells.h5ad"
    anndata.AnnData(np.arange(6.0).reshape(3, 2)).write_h5ad(path)
    assert len(read_table(path).frame) == 3
    with pytest.raises(InvalidInputError, match=r"cells\.h5ad is damaged: at byte \d+ it has a heap"):
        read_table(damaged(path, 0))
