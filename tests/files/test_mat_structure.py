"""Damaged sparse matrices of MATLAB files are refused before scipy reads them."""

import struct
import zlib

import numpy as np
import pytest
from scipy import io, sparse

from kernelweave.errors import InvalidInputError
from kernelweave.files.mat_structure import check_sparse_variables

S = sparse.csc_matrix(np.arange(12.0).reshape(4, 3))
ROWS, STARTS = (array.astype(np.int32) for array in (S.indices, S.indptr))


@pytest.fixture(params=[False, True], ids=["plain", "compressed"])
def saved(tmp_path, request):
    """Return a function that saves S with other bytes in place of its row positions or column starts."""

    def save(rows=ROWS, starts=STARTS):
        path = tmp_path / "x.mat"
        io.savemat(path, {"S": S})
        data = path.read_bytes()
        for old, new in ((ROWS, rows), (STARTS, starts)):
            assert data.count(old.tobytes()) == 1
            data = data.replace(old.tobytes(), np.asarray(new, dtype=np.int32).tobytes())
        if request.param:
            packed = zlib.compress(data[128:])
            data = data[:128] + struct.pack("<II", 15, len(packed)) + packed
        path.write_bytes(data)
        return path

    return save


def test_a_sparse_matrix_as_it_was_saved_passes(saved):
    path = saved()
    check_sparse_variables(path)
    assert (io.loadmat(path)["S"].toarray() == S.toarray()).all()


@pytest.mark.parametrize(
    "changed",
    [
        {"rows": [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 99]},
        {"rows": [0, 1, -2, 3, 0, 1, 2, 3, 0, 1, 2]},
        {"starts": [0, 3, 2, 11]},
        {"starts": [1, 3, 7, 11]},
        {"starts": [0, 3, 10**6, 11]},
    ],
)
def test_positions_outside_the_matrix_are_refused(saved, changed):
    with pytest.raises(InvalidInputError, match="is damaged: it holds a sparse matrix whose positions"):
        check_sparse_variables(saved(**changed))


def test_a_part_that_claims_more_bytes_than_there_are_is_refused(tmp_path):
    path = tmp_path / "x.mat"
    io.savemat(path, {"S": sparse.csc_matrix(np.eye(9))})
    data = bytearray(path.read_bytes())
    rows = data.index(struct.pack("<II", 5, 36), 128 + 48)  # the tag of nine row positions of four bytes
    data[rows + 4 : rows + 8] = struct.pack("<I", 10**6)
    path.write_bytes(data)
    with pytest.raises(InvalidInputError, match="is damaged"):
        check_sparse_variables(path)
