"""Files of arrays: MATLAB in both formats, .npz, R data and CSV; sizes are checked first, and nothing is run."""

import gzip
import io
import struct
import zipfile
import zlib

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from kernelweave.datasets.contents import Layout
from kernelweave.datasets.mat_files import read_mat_content
from kernelweave.datasets.npz_files import read_npz_content, read_npz_copy
from kernelweave.datasets.r_files import read_r_content
from kernelweave.datasets.readers import read_csv, read_mat, read_npz, read_r
from kernelweave.errors import InvalidInputError, NotEnoughMemoryError

LITTLE_MEMORY = "100000"


# MATLAB 7.3


@pytest.fixture
def hdf5(tmp_path):
    """Write a file as MATLAB 7.3 does: a header before an HDF5 file, columns first, cells as references."""

    def write(fill):
        path = tmp_path / "new.mat"
        with h5py.File(path, "w", userblock_size=512) as file:
            fill(file)
        with path.open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116) + b"\0" * 8 + b"\0\2IM")
        return path

    return write


def cell(file, name, arrays):
    references = [file.create_dataset(f"#refs#/{name}{i}", data=np.asarray(a).T).ref for i, a in enumerate(arrays)]
    file.create_dataset(name, data=np.array([references], dtype=h5py.ref_dtype))


def test_a_file_of_matlab_7_3_has_its_views_in_a_cell_array(hdf5):
    views = [np.arange(8.0).reshape(4, 2), np.arange(12).reshape(4, 3)]
    path = hdf5(lambda file: (cell(file, "X", views), file.create_dataset("Y", data=[[1.0, 1.0, 2.0, 2.0]])))
    found = read_mat(path, Layout(("X/*",), "Y"))
    assert_array_equal(found.tables[0], views[0])
    assert_array_equal(found.tables[1], views[1])
    assert found.target.tolist() == [0, 0, 1, 1]


def test_a_sparse_matrix_of_matlab_7_3_stays_sparse(hdf5):
    X = sp.random_array((5, 7), density=0.3, format="csc", rng=np.random.default_rng(0))

    def fill(file):
        group = file.create_group("X")
        group.attrs["MATLAB_sparse"] = np.uint64(5)
        for name, part in (("data", X.data), ("ir", X.indices), ("jc", X.indptr)):
            group.create_dataset(name, data=part)

    found = read_mat_content(hdf5(fill), ["X"])["X"]
    assert (found != X).nnz == 0


def test_a_link_of_matlab_7_3_to_another_file_is_refused(hdf5):
    path = hdf5(lambda file: file.__setitem__("X", h5py.ExternalLink("/etc/passwd", "/X")))
    with pytest.raises(InvalidInputError, match=r"refers to another file \(/etc/passwd\), which is not read"):
        read_mat_content(path, ["X"])


def test_a_huge_array_of_matlab_7_3_is_refused_before_it_is_read(hdf5, monkeypatch):
    path = hdf5(lambda file: file.create_dataset("X", (1_000_000, 1_000_000), chunks=(100, 100), dtype="f8"))
    monkeypatch.setenv("KERNELWEAVE_MEMORY", LITTLE_MEMORY)
    with pytest.raises(NotEnoughMemoryError, match=r"/X of shape \(1000000, 1000000\) needs about"):
        read_mat_content(path, ["X"])


# MATLAB 5


def test_an_array_of_matlab_7_3_that_lies_in_another_file_is_refused(hdf5, tmp_path):
    (tmp_path / "raw").write_bytes(bytes(64))
    path = hdf5(lambda file: file.create_dataset("X", (2, 4), "f8", external=[(str(tmp_path / "raw"), 0, 64)]))
    with pytest.raises(InvalidInputError, match="keeps /X in another file, which is not read"):
        read_mat_content(path, ["X"])


def test_texts_structures_and_empty_sparse_matrices_of_matlab_7_3_are_read(hdf5):
    def fill(file):
        word = file.create_dataset("word", data=np.array([[104], [105]], dtype=np.uint16))
        word.attrs["MATLAB_class"] = np.bytes_("char")
        file.create_dataset("s/inner", data=[[1.0, 2.0]])
        file.create_dataset("empty/jc", data=np.zeros(4, dtype=np.uint64))
        file["empty"].attrs["MATLAB_sparse"] = np.uint64(5)

    found = read_mat_content(hdf5(fill), ["word", "s", "empty"])
    assert found["word"] == "hi"
    assert found["s"]["inner"].ravel().tolist() == [1, 2]
    assert (found["empty"].shape, found["empty"].nnz) == ((5, 3), 0)


def test_cells_of_matlab_7_3_that_hold_themselves_are_refused(hdf5):
    def fill(file):
        loop = file.create_dataset("X", (1, 1), h5py.ref_dtype)
        loop[0, 0] = loop.ref

    with pytest.raises(InvalidInputError, match="nested deeper than"):
        read_mat_content(hdf5(fill), ["X"])


def test_structures_of_matlab_are_read(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"s": {"X": np.eye(3), "y": [1.0, 2.0, 2.0]}})
    assert_array_equal(read_mat_content(tmp_path / "a.mat", ["s"])["s"]["X"], np.eye(3))


def test_cells_transposed_tables_and_several_parts_are_put_together(tmp_path):
    data = np.empty((1, 2), dtype=object)
    data[0, 0], data[0, 1] = np.arange(6.0).reshape(2, 3), np.arange(9).reshape(3, 3)
    truth = np.empty((1, 2), dtype=object)
    truth[0, 0] = truth[0, 1] = np.array([[2, 1, 2]])
    scipy.io.savemat(
        tmp_path / "a.mat", {"data": data, "truelabel": truth, "a": np.ones((2, 2)), "b": np.zeros((1, 2))}
    )
    found = read_mat(tmp_path / "a.mat", Layout(("data/*",), "truelabel/0", "columns"))
    assert_array_equal(found.tables[0], data[0, 0].T)
    assert found.target.tolist() == [1, 0, 1]
    stacked = read_mat(tmp_path / "a.mat", Layout(("a + b",), "truelabel/1"))
    assert_array_equal(stacked.tables[0], [[1, 1], [1, 1], [0, 0]])


def test_triplets_become_a_sparse_table(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"T": [[1.0, 1, 5], [3, 4, 2]], "y": [[1, 1, 2]]})
    (table,) = read_mat(tmp_path / "a.mat", Layout(("T",), "y", "triplets")).tables
    assert_array_equal(table.toarray(), [[5, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 2]])
    scipy.io.savemat(tmp_path / "a.mat", {"T": [[4.0, 1, 5]], "y": [[1, 1, 2]]})
    with pytest.raises(InvalidInputError, match=r"A triplet of .* is outside the 3 samples"):
        read_mat(tmp_path / "a.mat", Layout(("T",), "y", "triplets"))


def test_a_compressed_matlab_file_is_measured_before_it_is_read(tmp_path, monkeypatch):
    scipy.io.savemat(tmp_path / "a.mat", {"X": np.zeros((400, 400)), "y": np.zeros(400)}, do_compression=True)
    assert (tmp_path / "a.mat").stat().st_size < 10_000
    monkeypatch.setenv("KERNELWEAVE_MEMORY", LITTLE_MEMORY)
    monkeypatch.setattr(scipy.io, "loadmat", lambda *a, **k: pytest.fail("the file was read"))
    with pytest.raises(NotEnoughMemoryError, match="its content needs about"):
        read_mat(tmp_path / "a.mat")


# .npz


def test_dense_and_sparse_views_and_class_names_of_a_copy_are_read(tmp_path):
    X = sp.random_array((4, 6), density=0.4, format="csr", rng=np.random.default_rng(1))
    parts = {"X1_data": X.data, "X1_indices": X.indices, "X1_indptr": X.indptr, "X1_shape": X.shape}
    np.savez(
        tmp_path / "a.npz", X0=np.ones((4, 2), np.uint8), y=[0, 1, 1, 0], class_names=np.array([b"no", b"yes"]), **parts
    )
    found = read_npz_copy(tmp_path / "a.npz")
    assert found.tables[0].dtype == np.float64
    assert (found.tables[1] != X).nnz == 0
    assert found.target_names.tolist() == ["no", "yes"]


def test_images_of_an_npz_file_are_put_into_rows(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.ones((2, 3, 3)), b=np.zeros((1, 3, 3)), c=[5, 6], d=[5])
    found = read_npz(tmp_path / "a.npz", Layout(("a + b",), "c + d", "images"))
    assert found.tables[0].shape == (3, 9)
    assert found.target.tolist() == [0, 1, 0]


class Explodes:
    def __reduce__(self):
        return pytest.fail, ("a pickle was executed",)


def test_objects_in_an_npz_file_are_refused_and_not_unpickled(tmp_path):
    objects = np.empty(1, dtype=object)
    objects[0] = Explodes()
    np.savez(tmp_path / "a.npz", X=np.ones((2, 2)), y=objects)
    with pytest.raises(InvalidInputError, match=r"y\.npy claims Python objects"):
        read_npz_content(tmp_path / "a.npz")


def test_an_array_that_claims_more_than_its_file_has_is_refused(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**9)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", header.getvalue())
    with pytest.raises(InvalidInputError, match=r"X\.npy claims an array of shape \(1000000000, 1000000000\)"):
        read_npz_content(tmp_path / "a.npz")


def test_indices_of_a_sparse_matrix_outside_its_shape_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X_data=[1.0], X_indices=[7], X_indptr=[0, 1], X_shape=[1, 3], y=[0])
    with pytest.raises(InvalidInputError, match=r"cannot be read as a \.npz file"):
        read_npz_content(tmp_path / "a.npz")


# R


def text(value):
    return struct.pack(">ii", 0x00040009, len(value)) + value.encode()


def symbol(name):
    return struct.pack(">i", 1) + text(name)


def reals(values, attributes=b""):
    flags = 14 | (0x200 if attributes else 0)
    return struct.pack(">ii", flags, len(values)) + struct.pack(f">{len(values)}d", *values) + attributes


def integers(values, attributes=b""):
    flags = 13 | (0x200 if attributes else 0)
    return struct.pack(">ii", flags, len(values)) + struct.pack(f">{len(values)}i", *values) + attributes


def texts(values):
    return struct.pack(">ii", 16, len(values)) + b"".join(map(text, values))


def pairs(**items):
    return b"".join(struct.pack(">i", 0x402) + symbol(k) + v for k, v in items.items()) + struct.pack(">i", 254)


def named_list(**items):
    return struct.pack(">ii", 0x213, len(items)) + b"".join(items.values()) + pairs(names=texts(list(items)))


def r_file(path, compress=gzip.compress, version=2, **objects):
    head = b"RDX%d\nX\n" % version + struct.pack(">iii", version, 0x40000, 0x20300)
    head += struct.pack(">i", 5) + b"UTF-8" if version == 3 else b""
    path.write_bytes(compress(head + pairs(**objects)))
    return path


@pytest.mark.parametrize("version", [2, 3])
def test_matrices_factors_lists_and_data_frames_of_r_are_read(tmp_path, version):
    matrix = reals([1, 2, 3, 4, 5, 6], pairs(dim=integers([3, 2])))
    frame = named_list(a=reals([1, 2, 3]), b=integers([4, 5, 6]))
    factor = integers([2, 1, 2], pairs(levels=texts(["lo", "hi"])))
    path = r_file(tmp_path / "a.rda", version=version, d=named_list(x=matrix, f=frame, y=factor))
    found = read_r(path, Layout(("d/x", "d/f"), "d/y"))
    assert_array_equal(found.tables[0], [[1, 4], [2, 5], [3, 6]])
    assert_array_equal(found.tables[1], [[1, 4], [2, 5], [3, 6]])
    assert found.target_names[found.target].tolist() == ["hi", "lo", "hi"]


def test_a_sequence_in_the_compact_form_of_r_is_read(tmp_path):
    about = pairs(a=symbol("compact_intseq"))
    compact = struct.pack(">i", 238) + about + reals([4, 3, 1]) + struct.pack(">i", 254)
    assert read_r_content(r_file(tmp_path / "a.rda", x=compact))["x"].tolist() == [3, 4, 5, 6]


def test_a_wrapped_vector_of_r_is_read(tmp_path):
    about = pairs(a=symbol("wrap_real"))
    state = struct.pack(">ii", 19, 2) + reals([1.5, 2.5]) + integers([0, 0])
    wrapped = struct.pack(">i", 238) + about + state + struct.pack(">i", 254)
    assert read_r_content(r_file(tmp_path / "a.rda", x=wrapped))["x"].tolist() == [1.5, 2.5]


def test_another_compact_form_of_r_is_refused(tmp_path):
    other = struct.pack(">i", 238) + pairs(a=symbol("mmap_real")) + reals([4]) + struct.pack(">i", 254)
    with pytest.raises(InvalidInputError, match="the compact form mmap_real, which is not read"):
        read_r_content(r_file(tmp_path / "a.rda", x=other))


def test_factors_of_r_may_have_missing_entries_but_no_unknown_codes(tmp_path):
    missing = integers([2, -(2**31), 1], pairs(levels=texts(["lo", "hi"])))
    assert read_r_content(r_file(tmp_path / "a.rda", y=missing))["y"].tolist() == ["hi", "", "lo"]
    unknown = integers([3, 1], pairs(levels=texts(["lo", "hi"])))
    with pytest.raises(InvalidInputError, match="a factor has a code without a level"):
        read_r_content(r_file(tmp_path / "a.rda", y=unknown))


def test_one_nameless_object_of_r_is_refused(tmp_path):
    head = b"RDX2\nX\n" + struct.pack(">iii", 2, 0x40000, 0x20300)
    (tmp_path / "a.rda").write_bytes(gzip.compress(head + reals([1.0])))
    with pytest.raises(InvalidInputError, match="one nameless object, not the named objects of save"):
        read_r_content(tmp_path / "a.rda")


@pytest.mark.parametrize(("kind", "name"), [(3, "closure"), (4, "environment"), (6, "call"), (5, "promise")])
def test_code_in_an_r_file_is_refused(tmp_path, kind, name):
    path = r_file(tmp_path / "a.rda", f=struct.pack(">i", kind))
    with pytest.raises(InvalidInputError, match=rf"an object of R's type {kind}, which is not data"):
        read_r_content(path)


@pytest.mark.parametrize(
    "vector", [struct.pack(">ii", 14, 2**30), struct.pack(">ii", 19, 2**30)], ids=["reals", "list"]
)
def test_a_vector_of_r_that_claims_more_than_its_file_has_is_refused(tmp_path, vector):
    with pytest.raises(InvalidInputError, match="it claims"):
        read_r_content(r_file(tmp_path / "a.rda", x=vector))


def test_an_r_file_that_inflates_beyond_the_memory_is_refused(tmp_path, monkeypatch):
    path = r_file(tmp_path / "a.rda", x=reals([0.0] * 50_000))
    assert path.stat().st_size < 5_000
    monkeypatch.setenv("KERNELWEAVE_MEMORY", LITTLE_MEMORY)
    with pytest.raises(NotEnoughMemoryError, match="its content needs about"):
        read_r_content(path)


def test_lists_of_r_that_are_nested_without_end_are_refused(tmp_path):
    nested = struct.pack(">ii", 19, 1) * 500 + integers([1])
    with pytest.raises(InvalidInputError, match="nested deeper than 100"):
        read_r_content(r_file(tmp_path / "a.rda", x=nested))


@pytest.mark.parametrize(
    "content", [b"", b"PK\3\4", b"\x1f\x8bdamaged", gzip.compress(b"RDA2\nA\n", mtime=0), zlib.compress(b"R")]
)
def test_other_files_are_not_data_files_of_r(tmp_path, content):
    (tmp_path / "a.rda").write_bytes(content)
    with pytest.raises(InvalidInputError, match="data file of R"):
        read_r_content(tmp_path / "a.rda")


# CSV


def test_a_csv_file_has_its_classes_in_one_field(tmp_path):
    (tmp_path / "a.csv").write_text("T,2,8\nI,5,12\nT,4,1.5\n")
    found = read_csv(tmp_path / "a.csv", Layout(target="0"))
    assert_array_equal(found.tables[0], [[2, 8], [5, 12], [4, 1.5]])
    assert found.target_names[found.target].tolist() == ["T", "I", "T"]


def test_a_csv_file_with_a_word_for_a_number_is_refused_with_the_line(tmp_path):
    (tmp_path / "a.csv").write_text("T,2,8\nI,five,12\n")
    with pytest.raises(InvalidInputError, match=r"Line 2 of .* numbers and a class in field 1, but .*'five'"):
        read_csv(tmp_path / "a.csv", Layout(target="0"))
