"""Files made to harm: bounded in time and memory, and nothing loads that fails later."""

import hashlib
import io
import json
import os
import re
import zipfile

import numpy as np
import pytest
from sklearn.datasets import load_iris

import kernelweave
from kernelweave import SMKLClassifier, SMKLClustering, WeaveClassifier, WeaveClustering, baselines
from kernelweave.baselines import GFHF
from kernelweave.errors import BadFileError, KernelweaveError, NotEnoughMemoryError

X, Y = load_iris(return_X_y=True)
PARTIAL = np.where(np.arange(150) % 10 == 0, Y, -1)
MODELS = {
    "smkl": SMKLClustering(3, random_state=0),
    "classes": SMKLClassifier(),
    "weave": WeaveClustering(3, random_state=0),
    "local": WeaveClustering(3, solver="local", random_state=0),
    "landmark": WeaveClustering(3, solver="landmark", random_state=0),
    "views": WeaveClassifier(views={"sepal": slice(0, 2), "petal": [2, 3]}),
    "baseline": GFHF(),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return the bytes of a fitted model's file by its name above."""
    folder, known = tmp_path_factory.mktemp("saved"), {}

    def bytes_of(name):
        if name not in known:
            MODELS[name].fit(X, PARTIAL).save(folder / name)
            known[name] = (folder / name).read_bytes()
        return known[name]

    return bytes_of


def header_of(data):
    return json.loads(zipfile.ZipFile(io.BytesIO(data)).read("model.json"))


def with_header(data, text):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, text if name == "model.json" else old.read(name))
    return out.getvalue()


def load_bytes(data, folder):
    path = folder / "model.kw"
    path.write_bytes(data)
    return kernelweave.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" + b"[]," * (90 << 20) + b"[]]", "header has 283115524 bytes; at most 16777216 are read"),
        (b"[" + b"[]," * (5 << 20) + b"[]]", "about 10485762 values; at most 1048576 are read"),
        (b"[" * 501 + b"]" * 501, "nested 501 levels deep; at most 500"),
        (b'["' + b'\\"' * (7 << 20), "damaged"),
        (b'"' * (15 << 20) + b"\\", "damaged"),
    ],
    ids=["long", "many", "deep", "unfinished", "quotes"],
)
def test_a_header_is_measured_before_it_is_parsed(saved, text, message, tmp_path):
    with pytest.raises(BadFileError, match=message):
        load_bytes(with_header(saved("weave"), text), tmp_path)


def test_brackets_and_commas_in_texts_do_not_count(tmp_path):
    names = {"[" * 2000 + '"' + "," * 3_000_000: slice(0, 2), "b": [2, 3]}
    WeaveClustering(3, views=names).save(tmp_path / "model.kw")
    assert kernelweave.load(tmp_path / "model.kw").views == names


def test_a_model_that_could_not_be_loaded_again_is_not_saved(tmp_path):
    model = WeaveClassifier(weights=[1.0] * (1 << 20))
    with pytest.raises(kernelweave.errors.InvalidInputError, match=r"too large to be loaded again: .* values"):
        model.save(tmp_path / "model.kw")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dtype", ["|S0", "<U0"])
def test_entries_without_width_are_refused(saved, dtype, tmp_path):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": dtype, "fortran_order": False, "shape": (2 * 10**10,)})
    data, tree = saved("weave"), header_of(saved("weave"))
    content = buffer.getvalue()
    tree["arrays"][0].update(size=len(content), sha256=hashlib.sha256(content).hexdigest())
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, {"model.json": json.dumps(tree), "arrays/00000.npy": content}.get(name, old.read(name)))
    with pytest.raises(BadFileError, match=r"claims shape \(20000000000,\)"):
        load_bytes(out.getvalue(), tmp_path)


def places(tree, at=()):
    """Return the way to every value of a tree of JSON, as deep as objects of objects go."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield (*at, key)
        if len(at) < 7:
            yield from places(value, (*at, key))


def with_value(data, at, value):
    tree = header_of(data)
    inner = tree
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    return with_header(data, json.dumps(tree))


def use(model):
    """Call what a model answers; errors of ours are answers too."""
    for method in ("predict", "predict_proba", "transform"):
        if hasattr(model, method):
            try:
                getattr(model, method)(X[:9] + 0.01)
            except KernelweaveError:
                continue


@pytest.mark.parametrize("value", [None, [], "text", {"$array": 0}], ids=["null", "list", "text", "array"])
@pytest.mark.parametrize("name", MODELS)
def test_an_attribute_of_another_type_is_refused_or_does_no_harm(saved, name, value, tmp_path):
    data = saved(name)
    tops = header_of(data)["attributes"]
    ways = [("attributes", *at) for at in places(tops)] if value is None else [("attributes", top) for top in tops]
    refused = 0
    for at in ways:
        try:
            model = load_bytes(with_value(data, at, value), tmp_path)
        except BadFileError:
            refused += 1
        else:
            use(model)
    assert refused >= len(ways) // 2


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("_graph_model", "'_graph_model' of its WeaveClustering is null"),
        ("labels_", "'labels_' of its WeaveClustering is null"),
        ("kernel_names_", "'kernel_names_' of its WeaveClustering is null"),
        ("graph_", "'graph_' of its WeaveClustering is null"),
        ("scaling_", "'scaling_' of its WeaveClustering is null"),
        ("unheard_", "'unheard_' is not an attribute of a WeaveClustering"),
    ],
)
def test_an_attribute_that_is_null_is_named(saved, attribute, message, tmp_path):
    with pytest.raises(BadFileError, match=message):
        load_bytes(with_value(saved("weave"), ("attributes", attribute), None), tmp_path)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_without_what_every_fit_sets_is_refused(saved, name, tmp_path):
    tree = header_of(saved(name))
    for lacking in ("view_widths_", "readings_", "n_features_in_"):
        attributes = {key: value for key, value in tree["attributes"].items() if key != lacking}
        changed = with_header(saved(name), json.dumps(tree | {"attributes": attributes}))
        with pytest.raises(BadFileError, match=f"lacks '{lacking}', which every fitted one has"):
            load_bytes(changed, tmp_path)


def test_an_array_of_other_dimensions_is_named(saved, tmp_path):
    data = saved("weave")
    labels = header_of(data)["attributes"]["labels_"]
    with pytest.raises(
        BadFileError, match=r"'_membership' of its WeaveClustering is an array of int32 and shape \(150,"
    ):
        load_bytes(with_value(data, ("attributes", "_membership"), labels), tmp_path)


def test_an_attribute_that_a_model_computes_is_not_read_from_a_file(saved, tmp_path):
    data = saved("weave")
    assert not {"membership_", "confidence_", "margin_", "clarity_"} & set(header_of(data)["attributes"])
    labels = header_of(data)["attributes"]["labels_"]
    with pytest.raises(BadFileError, match="'confidence_' is not an attribute of a fitted WeaveClustering"):
        load_bytes(with_value(data, ("attributes", "confidence_"), labels), tmp_path)


@pytest.mark.parametrize("name", ["weave", "smkl"])
def test_a_consensus_without_its_samples_is_refused(saved, name, tmp_path):
    at = ("attributes", "_graph_model", "fields", "joiner", "fields")
    at += ("consensus", "fields", "versions", "$tuple", 0, "fields", "bank", "fields", "training")
    with pytest.raises(BadFileError, match="The ViewBank of a Consensus has no samples"):
        load_bytes(with_value(saved(name), at, None), tmp_path)


def test_a_parameter_that_no_fit_accepts_is_refused(saved, tmp_path):
    with pytest.raises(BadFileError, match="'n_jobs' parameter"):
        load_bytes(with_value(saved("weave"), ("params", "n_jobs"), "2"), tmp_path)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", [getattr(baselines, name) for name in baselines.__all__ if name[0].isupper()])
def test_every_fitted_attribute_of_a_comparison_method_is_of_its_declared_type(cls, tmp_path):
    model = cls()
    if "n_clusters" in model.get_params():
        model.set_params(n_clusters=3, random_state=0)
    model.fit(X, PARTIAL).save(tmp_path / "model.kw")
    assert vars(kernelweave.load(tmp_path / "model.kw")).keys() == vars(model).keys()


def test_bytes_inserted_anywhere_are_refused_or_make_no_difference(saved, tmp_path):
    data, rng = saved("weave"), np.random.default_rng(0)
    expected = load_bytes(data, tmp_path).labels_
    for i in [0, len(data) - 22, len(data), *rng.integers(0, len(data), 60)]:
        for piece in (b"\0", b"PK\x05\x06" + b"\xff" * 18, rng.bytes(40)):
            try:
                model = load_bytes(data[:i] + piece + data[i:], tmp_path)
            except BadFileError:
                continue
            np.testing.assert_array_equal(model.labels_, expected)


def test_devices_pipes_and_folders_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe", tmp_path):
        with pytest.raises(BadFileError, match="is not a regular file, so it holds no model"):
            kernelweave.load(path)


def test_a_file_larger_than_the_memory_is_refused(saved, tmp_path, monkeypatch):
    data = saved("weave")  # fitted here if this test is the first to ask for it
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1000")
    with pytest.raises(NotEnoughMemoryError, match=r"Loading model\.kw needs about"):
        load_bytes(data, tmp_path)


def test_names_and_widths_of_views_must_be_as_many(saved, tmp_path):
    with pytest.raises(BadFileError, match="the names of 1 view and the widths of 0"):
        load_bytes(with_value(saved("weave"), ("attributes", "view_widths_"), {"$tuple": []}), tmp_path)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"sep": "::"}, "the separator of its files is '::', which is not one character"),
        ({"decimal": ",", "thousands": ","}, "are both ','"),
        ({"decimal": "x"}, "'decimal' of its FileReading is of type str, which is not allowed"),
        ({"types": ".csv"}, "'types' of its FileReading is of type str, which is not allowed"),
        ({"drop": {"$tuple": [1]}}, "'drop' of its FileReading is of type tuple, which is not allowed"),
        ({"transpose": "yes"}, "'transpose' of its FileReading is of type str, which is not allowed"),
        ({"limits": "any"}, "'limits' of its FileReading is of type str, which is not allowed"),
        ({"path": "/etc/passwd"}, "'path' is not an attribute of a FileReading"),
    ],
)
def test_how_files_are_read_is_checked(saved, tmp_path, fields, said):
    header = header_of(saved("weave"))
    header["attributes"]["file_reading_"] = {"$object": "samples.FileReading", "fields": fields}
    with pytest.raises(BadFileError, match=re.escape(said)):
        load_bytes(with_header(saved("weave"), json.dumps(header)), tmp_path)


def test_another_thing_in_the_place_of_how_files_are_read_is_refused(saved, tmp_path):
    header = header_of(saved("weave"))
    header["attributes"]["file_reading_"] = "everything"
    with pytest.raises(BadFileError, match="'file_reading_' of its WeaveClustering is of type str"):
        load_bytes(with_header(saved("weave"), json.dumps(header)), tmp_path)


def test_rows_that_are_cut_by_nothing_are_refused(saved, tmp_path):
    at = ("attributes", "_graph_model", "fields", "joiner", "fields", "factors")
    with pytest.raises(BadFileError, match="lack the factors by which these are compared"):
        load_bytes(with_value(saved("smkl"), at, None), tmp_path)


@pytest.mark.parametrize("power", [0.0, -1.0, {"$float": "nan"}, {"$float": "inf"}])
def test_a_power_of_scores_that_gives_no_probabilities_is_refused(saved, tmp_path, power):
    with pytest.raises(BadFileError, match="The power of the scores of a GraphModel is"):
        load_bytes(with_value(saved("weave"), ("attributes", "_graph_model", "fields", "power"), power), tmp_path)
