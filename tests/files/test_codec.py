"""What may stand in a file: data, and objects of exported classes."""

from dataclasses import dataclass, is_dataclass
from enum import Enum

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import kernelweave
from kernelweave import kernels, samples, solve
from kernelweave.errors import BadFileError, InvalidInputError
from kernelweave.files import codec
from kernelweave.files.codec import decode, encode, exported_classes
from kernelweave.kernels import Gaussian, Kernel, KernelBank, Linear, PrecomputedBank, SelfTuning, ViewBank
from kernelweave.solve import Outcome

X = np.random.default_rng(0).normal(size=(9, 3))


def again(value):
    arrays = []
    return decode(encode(value, arrays, "value"), arrays)


@pytest.mark.parametrize("package", [kernels, samples, solve])
def test_every_exported_dataclass_and_enumeration_may_stand_in_a_file(package):
    exported = [getattr(package, name) for name in package.__all__]
    classes = {c for c in exported if isinstance(c, type) and (is_dataclass(c) or issubclass(c, Enum))}
    assert classes <= set(exported_classes().values())


def test_every_exported_kernel_may_stand_in_a_file_under_the_name_of_its_package():
    exported = [name for name in kernels.__all__ if isinstance(getattr(kernels, name), type)]
    concrete = {name for name in exported if issubclass(getattr(kernels, name), Kernel)} - {"Kernel"}
    assert {f"kernels.{name}" for name in concrete} <= set(exported_classes())


def test_a_new_kernel_can_be_saved_once_it_is_exported(monkeypatch):
    @dataclass(frozen=True)
    class Shifted(Linear):
        by: float = 1.0

    with pytest.raises(InvalidInputError, match="a Shifted, which a model file cannot hold"):
        encode(Shifted(), [], "kernel")
    monkeypatch.setattr(kernels, "Shifted", Shifted, raising=False)
    monkeypatch.setattr(kernels, "__all__", [*kernels.__all__, "Shifted"])
    monkeypatch.setattr(codec, "exported_classes", exported_classes.__wrapped__)  # not what is cached
    assert again(Shifted(by=2.0)) == Shifted(by=2.0)


@pytest.mark.parametrize("fitted", [True, False])
def test_a_bank_comes_back_with_its_constants(fitted):
    bank = KernelBank({"near": Gaussian(0.1), "own": SelfTuning(3)})
    bank = bank.fit(X) if fitted else bank
    found = again(bank)
    assert repr(found) == repr(bank)
    assert found.kernels == bank.kernels
    if fitted:
        assert_array_equal(found.grams(X), bank.grams(X))


def test_a_bank_of_views_comes_back_with_its_training_samples():
    views = kernelweave.Views({"a": X, "b": X[:, :2]}, missing={"a": [2]})
    bank = ViewBank({"a": KernelBank([Gaussian()]), "b": KernelBank([Linear()])}).fit(views)
    found = again(bank)
    assert found.names == bank.names
    assert_array_equal(found.grams(views), bank.grams(views))
    assert again(PrecomputedBank(("a", "b"))) == PrecomputedBank(("a", "b"))


def test_an_array_that_is_used_twice_is_stored_once_and_shared_again():
    arrays = []
    found = decode(encode({"a": X, "b": [X]}, arrays, "value"), arrays)
    assert len(arrays) == 1
    assert found["a"] is found["b"][0]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -0.5,
        float("inf"),
        "text",
        (1, ("a", None)),
        [1, [2.0]],
        {"a": 1, 2: (3,)},
        slice(0, None, 2),
        np.float32,
        np.dtype("int64"),
        Outcome.CONVERGED,
        Gaussian(t=0.5) + 2 * Linear(),
    ],
    ids=repr,
)
def test_a_value_comes_back_equal_and_of_the_same_type(value):
    found = again(value)
    assert type(found) is type(value)
    assert found == value


@pytest.mark.parametrize(
    "value",
    [X, X.astype(np.float32).T, np.arange(3), np.array(["a", "bc"]), np.array(["a", "b"], dtype=object), X[:0]],
    ids=["double", "transposed", "integers", "texts", "objects", "empty"],
)
def test_an_array_comes_back_with_its_type(value):
    found = again(value)
    assert found.dtype == value.dtype
    assert_array_equal(found, value)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.csr_matrix])
def test_a_sparse_matrix_comes_back_in_its_format(make):
    found = again(make(X))
    assert type(found) is make
    assert (found != make(X)).nnz == 0


@pytest.mark.parametrize(
    "value", [{1, 2}, 1j, np.array([1j]), print, pytest.param(object(), id="object"), range(3)], ids=str
)
def test_other_values_are_refused(value):
    with pytest.raises(InvalidInputError, match=r"value holds .*, which a model file cannot"):
        encode(value, [], "value")


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"$object": "kernels.Kernel", "fields": {}}, "'kernels.Kernel', which this version"),
        ({"$object": "kernels.recipe", "fields": {}}, "'kernels.recipe', which this version"),
        ({"$object": "builtins.dict", "fields": {}}, "'builtins.dict', which this version"),
        ({"$object": "kernels.KernelBank", "fields": {"names": []}}, "KernelBank in it lacks the attribute '_fixed'"),
        ({"$enum": "kernels.Gaussian", "name": "t"}, "'kernels.Gaussian', which this version"),
        ({"$texts": [{"$array": 0}, {"$array": 0}], "shape": [1]}, "not made of bytes and the positions"),
        ({"$texts": [{"$array": 1}, {"$array": 2}], "shape": [1]}, "texts of an array end do not fit its bytes"),
        ({"$object": "kernels.Gaussian", "fields": {"t": None}}, "'t' of its Gaussian is null"),
        ({"$object": "kernels.Gaussian", "fields": {"t": [1]}}, "'t' of its Gaussian is of type list"),
        ({"$object": "kernels.Scaled", "fields": {"kernel": 1, "factor": 1.0}}, "'kernel' of its Scaled is of type"),
        ({"$object": "weave.GraphModel", "fields": {"joiner": 1}}, "'joiner' of its GraphModel is of type int"),
        ({}, "holds a ''"),
    ],
)
def test_what_no_model_holds_is_refused(tree, message):
    with pytest.raises(BadFileError, match=message):
        decode(tree, [np.zeros(3), np.zeros(3, dtype=np.uint8), np.array([4])])
