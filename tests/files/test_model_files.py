"""Models in files: they come back as they were, and nothing but a whole model comes back."""

import io
import json
import pickle
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris

import kernelweave
from kernelweave import (
    KGLClassifier,
    KGLClustering,
    PMKLClassifier,
    PMKLClustering,
    SMKLClassifier,
    SMKLClustering,
    WeaveClassifier,
    WeaveClustering,
)
from kernelweave.baselines import GFHF, MKKM
from kernelweave.errors import BadFileError, InvalidInputError
from kernelweave.kernels import Centered, Cosine, Gaussian, KernelBank, Linear, Pairwise, SelfTuning

X, Y = load_iris(return_X_y=True)
PARTIAL = np.where(np.arange(150) % 10 == 0, Y, -1)
NEW = X + 0.05

MODELS = [
    SMKLClustering(3, random_state=0),
    KGLClustering(3, kernel=Gaussian(t=0.3), random_state=0),
    PMKLClustering(3, random_state=0),
    SMKLClassifier(),
    KGLClassifier(kernel=2 * Gaussian(t=1) + Cosine()),
    PMKLClassifier(kernels="released-7"),
    WeaveClustering(3, random_state=0),
    WeaveClustering("auto", random_state=0, dtype=np.float32),
    WeaveClustering(3, n_neighbors=10, scale="zscore", random_state=0),
    WeaveClustering(3, solver="local", random_state=0),
    WeaveClustering(3, solver="landmark", random_state=0),
    WeaveClustering(3, views={"sepal": slice(0, 2), "petal": [2, 3]}, random_state=0),
    WeaveClassifier(class_mass=True, weights=np.arange(1.0, 5)),
    WeaveClassifier(kernels=KernelBank([Centered(Linear()), SelfTuning(5), Pairwise("rbf", {"gamma": 1})])),
]


@pytest.fixture(scope="module")
def fitted():
    return {repr(model): clone(model).fit(X, PARTIAL) for model in MODELS}


def same(a, b):
    if isinstance(a, np.ndarray):
        assert type(a) is type(b)
        assert a.dtype == b.dtype
        assert_array_equal(a, b)
    elif sparse.issparse(a):
        assert type(a) is type(b)
        assert (a != b).nnz == 0


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_model_comes_back_as_it_was(model, fitted, tmp_path):
    model = fitted[repr(model)]
    model.save(tmp_path / "model.kw")
    again = kernelweave.load(tmp_path / "model.kw")
    assert type(again) is type(model)
    assert vars(again).keys() == vars(model).keys()
    assert repr(again.get_params()) == repr(model.get_params())
    for name, value in vars(model).items():
        same(value, getattr(again, name))
    assert_array_equal(again.predict(NEW), model.predict(NEW))
    assert_array_equal(again.predict(X), model.predict(X))
    if getattr(model, "solver_", None) is None or model.solver_.name != "landmark":
        assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    if is_classifier(model):
        assert_array_equal(clone(again).fit(X, PARTIAL).predict(NEW), again.predict(NEW))


@pytest.mark.parametrize(("model", "answer"), [(GFHF(), "transduction_"), (MKKM(3, random_state=0), "labels_")])
def test_comparison_methods_can_be_saved_too(model, answer, tmp_path):
    model.fit(X, PARTIAL)
    model.save(tmp_path / "model.kw")
    same(getattr(model, answer), getattr(kernelweave.load(tmp_path / "model.kw"), answer))


def test_a_model_that_is_not_fitted_keeps_its_parameters(tmp_path):
    KGLClustering(4, gamma=2.0).save(tmp_path / "model.kw")
    assert kernelweave.load(tmp_path / "model.kw").get_params()["gamma"] == 2.0


def test_a_source_of_randomness_comes_back_where_it_stood(tmp_path):
    source = np.random.RandomState(5)
    source.normal(size=3)
    KGLClustering(4, random_state=source).save(tmp_path / "model.kw")
    assert kernelweave.load(tmp_path / "model.kw").random_state.normal() == source.normal()


def test_names_of_features_and_classes_come_back(tmp_path):
    pd = pytest.importorskip("pandas")
    names = np.array(["ash", "beech", "cedar", "-1"])
    model = SMKLClassifier().fit(pd.DataFrame(X, columns=list("abcd")), names[PARTIAL])
    model.save(tmp_path / "model.kw")
    again = kernelweave.load(tmp_path / "model.kw")
    assert_array_equal(again.feature_names_in_, list("abcd"))
    frame = pd.DataFrame(NEW, columns=list("abcd"))
    assert_array_equal(again.predict(frame), model.predict(frame))


def test_the_same_model_makes_the_same_file_and_replaces_the_old_one(fitted, tmp_path):
    model = fitted[repr(MODELS[6])]
    model.save(tmp_path / "a.kw")
    (tmp_path / "b.kw").write_text("something else")
    model.save(str(tmp_path / "b.kw"))
    assert (tmp_path / "a.kw").read_bytes() == (tmp_path / "b.kw").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.kw", "b.kw"]


def test_python_code_cannot_be_saved_and_the_old_file_stays(tmp_path):
    path = tmp_path / "model.kw"
    path.write_text("old")
    model = KGLClustering(3, kernel=lambda x, y: float(x @ y), random_state=0).fit(X)
    with pytest.raises(InvalidInputError, match=r"kernel holds <function .* cannot hold.*pickle or joblib"):
        model.save(path)
    assert path.read_text() == "old"

    class Mine(Linear):
        pass

    with pytest.raises(InvalidInputError, match="a Mine, which a model file cannot hold"):
        KGLClustering(3, kernel=Mine()).save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.kw"]


@pytest.mark.parametrize(
    ("parameter", "value", "words"),
    [
        ("views", {"a": range(2), "b": [2, 3]}, r"views\['a'\] holds a range"),
        ("views", {"a": pd.Index([0, 1]), "b": [2, 3]}, r"views\['a'\] holds a Index"),
        ("weights", pd.Series([0.5, 0.2, 0.2, 0.1]), "weights holds a Series"),
    ],
)
def test_what_only_python_can_hold_is_to_be_replaced_by_a_list(parameter, value, words, tmp_path):
    model = WeaveClustering(3, random_state=0, **{parameter: value}).fit(X)
    with pytest.raises(InvalidInputError, match=f"^{words}, which a model file cannot hold: replace it by a list"):
        model.save(tmp_path / "model.kw")
    plain = {name: list(part) for name, part in value.items()} if parameter == "views" else list(value)
    model.set_params(**{parameter: plain}).save(tmp_path / "model.kw")
    assert_array_equal(kernelweave.load(tmp_path / "model.kw").predict(NEW), model.predict(NEW))


def test_a_model_class_of_ones_own_cannot_be_saved(tmp_path):
    class Mine(KGLClustering):
        pass

    with pytest.raises(InvalidInputError, match="Mine is not a class of kernelweave"):
        Mine().save(tmp_path / "model.kw")


def test_a_missing_file_is_reported_as_such(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.kw"):
        kernelweave.load(tmp_path / "none.kw")


@pytest.fixture(scope="module")
def archive(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.kw"
    fitted[repr(MODELS[6])].save(path)
    return path.read_bytes()


def loaded(data, tmp_path):
    path = tmp_path / "model.kw"
    path.write_bytes(data)
    return kernelweave.load(path)


def test_a_file_cut_anywhere_is_refused(archive, tmp_path):
    rng = np.random.default_rng(0)
    for end in [0, 1, 22, len(archive) - 1, *rng.integers(0, len(archive), 60)]:
        with pytest.raises(BadFileError, match=r"model\.kw"):
            loaded(archive[:end], tmp_path)


def test_a_changed_byte_is_refused_or_makes_no_difference(archive, fitted, tmp_path):
    model = fitted[repr(MODELS[6])]
    expected = model.predict(NEW)
    rng = np.random.default_rng(1)
    tail = archive.index(b"model.json")
    refused = 0
    for i in [*rng.integers(0, len(archive), 150), *rng.integers(tail, len(archive), 150)]:
        data = bytearray(archive)
        data[i] ^= 1 << int(rng.integers(8))
        try:
            again = loaded(bytes(data), tmp_path)
        except BadFileError:
            refused += 1
        else:  # a byte of the archive that says nothing, such as a date
            assert_array_equal(again.predict(NEW), expected)
    assert refused > 200


def rewritten(data, header=None, members=None, compression=zipfile.ZIP_STORED, drop=(), add=None):
    """Return the archive with its header changed by a function, and members replaced."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", compression) as new:
        content = {name: old.read(name) for name in old.namelist() if name not in drop}
        if header is not None:
            tree = json.loads(content["model.json"])
            header(tree)
            content["model.json"] = json.dumps(tree).encode()
        for name, value in {**content, **(members or {}), **(add or {})}.items():
            new.writestr(name, value)
    return out.getvalue()


def npy(array, allow_pickle=False):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def with_array(data, content, **changes):
    """Return the archive with its first array replaced, and the header's account of it made to fit."""
    import hashlib

    def account(tree):
        entry = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest(), **changes}
        tree["arrays"][0].update(entry)

    return rewritten(data, account, members={"arrays/00000.npy": content})


HUGE = npy(np.zeros(3)).replace(b"(3,)", b"(9" + b"9" * 11 + b",)", 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"", "not a model file, or it is damaged"),
        (lambda data: b"not a zip at all" * 10, "not a model file, or it is damaged"),
        (lambda data: pickle.dumps({"a": 1}), "not a model file, or it is damaged"),
        (lambda data: rewritten(data, lambda t: t.update(format="other")), "not a kernelweave model"),
        (lambda data: rewritten(data, lambda t: t.update(format_version=2)), "reads formats up to 1. Update"),
        (lambda data: rewritten(data, lambda t: t.update(format_version="1")), "reads formats up to 1"),
        (lambda data: rewritten(data, lambda t: t.update({"class": "os.system"})), "'os.system', which this version"),
        (lambda data: rewritten(data, lambda t: t.update({"class": "kernelweave.estimators.load"})), "does not know"),
        (lambda data: rewritten(data, lambda t: t.update({"class": None})), "does not know"),
        (lambda data: rewritten(data, lambda t: t.pop("params")), "no params"),
        (lambda data: rewritten(data, lambda t: t["params"].update(best=1)), "not those of a model"),
        (lambda data: rewritten(data, lambda t: t["attributes"].update(predict=1)), "'predict' is not an attribute"),
        (lambda data: rewritten(data, lambda t: t["attributes"].update(gamma=1)), "'gamma' is not an attribute"),
        (
            lambda data: rewritten(data, lambda t: t["attributes"].update(__class__=1)),
            "'__class__' is not an attribute",
        ),
        (lambda data: rewritten(data, lambda t: t["attributes"].update(x_={"$pickle": "x"})), "'\\$pickle'"),
        (lambda data: rewritten(data, lambda t: t["attributes"].update(x_={"$array": 10**6})), "not those of a model"),
        (lambda data: rewritten(data, lambda t: t["attributes"].update(x_={"$array": -1})), "referred to by -1"),
        (
            lambda data: rewritten(data, lambda t: t["attributes"].update(x_={"$object": "os.Path", "fields": {}})),
            "'os.Path', which this version",
        ),
        (
            lambda data: rewritten(
                data,
                lambda t: t["attributes"].update(x_={"$object": "kernels.Gaussian", "fields": {"t": -1}}),
            ),
            "not those of a model .*positive",
        ),
        (lambda data: rewritten(data, members={"model.json": b"{"}), "damaged"),
        (lambda data: rewritten(data, members={"model.json": b"[]"}), "not that of a model"),
        (lambda data: rewritten(data, members={"model.json": b"[" * 100_000}), "nested 100000 levels deep"),
        (lambda data: rewritten(data, members={"model.json": b"\xff\xfe"}), "damaged"),
        (lambda data: rewritten(data, drop=["model.json"]), "no 'model.json'"),
        (lambda data: rewritten(data, drop=["arrays/00001.npy"]), "header and its members disagree"),
        (lambda data: rewritten(data, add={"arrays/99999.npy": b""}), "header and its members disagree"),
        (lambda data: rewritten(data, add={"../evil.npy": b""}), r"holds '\.\./evil\.npy'"),
        (lambda data: rewritten(data, add={"/etc/passwd": b""}), "which is not part of a model file"),
        (lambda data: rewritten(data, compression=zipfile.ZIP_DEFLATED), "compressed or encrypted"),
        (lambda data: rewritten(data, members={"arrays/00000.npy": npy(np.zeros(3))}), "checksum differs"),
        (lambda data: with_array(data, npy(np.array([{}], dtype=object), allow_pickle=True)), "not plain numbers"),
        (lambda data: with_array(data, npy(np.zeros(2, dtype=[("a", float)]))), "not plain numbers"),
        (lambda data: with_array(data, npy(np.zeros(3))[:-1]), "claims shape"),
        (lambda data: with_array(data, HUGE), "damaged|claims shape"),
        (lambda data: with_array(data, b"\x93NUMPY\x07\x00"), "version of the .npy format|damaged"),
        (lambda data: with_array(data, b"garbage"), "damaged"),
    ],
)
def test_a_hostile_file_is_refused_with_what_is_wrong(archive, change, message, tmp_path):
    with pytest.raises(BadFileError, match=message):
        loaded(change(archive), tmp_path)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[6], MODELS[12]], ids=repr)
def test_pickle_and_joblib_keep_the_answers(model, fitted, tmp_path):
    model = fitted[repr(model)]
    expected = model.predict_proba(NEW)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(NEW), expected)
    joblib.dump(model, tmp_path / "model.joblib")
    assert_array_equal(joblib.load(tmp_path / "model.joblib").predict_proba(NEW), expected)


def test_loading_factors_no_matrix(tmp_path):
    WeaveClustering(3, random_state=0).fit(X).save(tmp_path / "model.kw")
    loaded = kernelweave.load(tmp_path / "model.kw")
    assert "_border" not in vars(loaded._graph_model.joiner)
    loaded.predict(X[:2] + 0.01)
    assert "_border" in vars(loaded._graph_model.joiner)


def test_what_prediction_computed_is_not_in_the_pickle(fitted):
    model = clone(MODELS[6]).fit(X)
    before = len(pickle.dumps(model))
    model.predict(NEW)
    assert len(pickle.dumps(model)) == before


@pytest.mark.parametrize("model", [MODELS[0], MODELS[6], MODELS[12]], ids=repr)
def test_skops_keeps_the_answers_once_its_types_are_trusted(model, fitted):
    skops = pytest.importorskip("skops.io")
    model = fitted[repr(model)]
    data = skops.dumps(model)
    trusted = skops.get_untrusted_types(data=data)
    assert all(name.startswith(("kernelweave.", "numpy.", "scipy.")) for name in trusted)
    assert_array_equal(skops.loads(data, trusted=trusted).predict_proba(NEW), model.predict_proba(NEW))
