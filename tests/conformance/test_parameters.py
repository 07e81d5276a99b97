"""Parameters that no model can use are refused by name, before X is looked at."""

import re
from numbers import Integral
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

import kernelweave
from kernelweave import Landmark, Local, SMKLClustering, WeaveClustering, baselines, smkl_path
from kernelweave.errors import InvalidInputError

ESTIMATORS = [
    cls
    for package in (kernelweave, baselines)
    for name in package.__all__
    if isinstance(cls := getattr(package, name), type) and issubclass(cls, BaseEstimator)
]
BAD_NUMBERS = [True, np.True_, 10**30, -(10**30), 10**400, "2", [2], (1,), np.array([1, 2]), float("nan"), float("inf")]
NOT_WHOLE = [1.5, 2.0, np.float64(2)]
BAD_WORDS = [["auto"], {"auto"}, ("auto",), np.array(["auto", "auto"]), "Auto", b"auto", None, object()]


def constrained(cls, kind):
    """Return the parameters that may be numbers ("Interval") or words ("StrOptions"), with their constraints."""
    constraints = cls._parameter_constraints
    return {
        name: constraints[name]
        for name in cls().get_params()
        if any(isinstance(one, kind) for one in constraints.get(name, ()))
    }


def refused(model, name):
    y = {} if not hasattr(model, "classes_") and "n_clusters" in model.get_params() else {"y": None}
    with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
        model.fit(None, **y)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_numbers_that_are_not_numbers_are_refused_by_name(cls):
    for name, allowed in constrained(cls, Interval).items():
        whole = any(isinstance(one, Interval) and one.type is Integral for one in allowed)
        for value in [*BAD_NUMBERS, *(NOT_WHOLE if whole else ())]:
            if isinstance(value, bool | np.bool_) and name == "verbose":
                continue
            refused(cls(**{name: value}), name)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_words_that_are_not_words_are_refused_by_name(cls):
    for name, allowed in constrained(cls, StrOptions).items():
        for value in BAD_WORDS:
            array_like = "array-like" in allowed and not isinstance(value, str | bytes | None)
            if array_like or (value is None and None in allowed):
                continue
            refused(cls(**{name: value}), name)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_switches_that_are_not_booleans_are_refused_by_name(cls):
    for name, allowed in cls._parameter_constraints.items():
        if "boolean" in allowed and name in cls().get_params() and name != "verbose":
            for value in (1, 0, "yes", None, [True]):
                refused(cls(**{name: value}), name)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_parameter_but_kernels_has_a_constraint(cls):
    assert set(cls().get_params()) - set(cls._parameter_constraints) <= {"kernels", "kernel"}


def words_of(annotation):
    """Return the texts that a type allows by name."""
    if get_origin(annotation) is Literal:
        return {value for value in get_args(annotation) if isinstance(value, str)}
    return {word for part in get_args(annotation) for word in words_of(part)}


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_the_types_name_the_words_that_are_allowed(cls):
    types = get_type_hints(cls.__init__)
    allowed = {
        name: {word for one in kinds if isinstance(one, StrOptions) for word in one.options}
        for name, kinds in constrained(cls, object).items()
    }
    assert {name: words_of(types[name]) for name in allowed} == allowed


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_the_docstring_names_the_words_that_are_allowed(cls):
    described = dict(re.findall(r"^ *(\w+) : (.*)$", cls.__doc__.split("Attributes\n")[0], flags=re.MULTILINE))
    for name, kinds in constrained(cls, object).items():
        words = {word for one in kinds if isinstance(one, StrOptions) for word in one.options}
        told = described[name].split(", default=")[0]
        assert set(re.findall(r'"([^"]+)"', told)) == words, name


@pytest.mark.parametrize("value", ["2", 1.5, True, 0, 10**30])
def test_a_path_refuses_a_number_of_threads_by_name(value):
    with pytest.raises(ValueError, match="n_jobs"):
        next(smkl_path(SMKLClustering(3, n_jobs=value), None, {"alpha": [1e-3]}))


@pytest.mark.parametrize("value", [True, 10**30, 1.5, "2", 0])
@pytest.mark.parametrize(("solver", "name"), [(Landmark, "n_landmarks"), (Local, "n_candidates")])
def test_a_solver_refuses_a_number_by_name(solver, name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        solver(**{name: value})


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "-inf", "much", "1e400"])
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_a_limit_of_memory_that_is_not_a_number_of_bytes_is_refused_by_name(cls, value, monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", value)
    model = cls()
    if "n_clusters" in model.get_params():
        model.set_params(n_clusters=2)
    with pytest.raises(InvalidInputError, match="KERNELWEAVE_MEMORY must be a number of bytes"):
        model.fit(np.eye(6), [0, 1, -1, -1, -1, -1])


def test_numbers_of_numpy_are_numbers():
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = WeaveClustering(np.int64(2), gamma=np.float32(0.1), n_init=np.int8(2), n_jobs=np.int64(1), random_state=0)
    assert model.fit(X).n_clusters_ == 2


MANY = np.random.default_rng(0).normal(size=(140, 5)) + 6 * np.repeat(np.eye(5)[:3], [46, 47, 47], axis=0)
FEW_LABELS = np.where(np.arange(140) % 5, -1, np.repeat([0, 1, 2], [46, 47, 47]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_narrow_whole_numbers_do_not_overflow(cls):
    names = [name for name in constrained(cls, Interval) if name not in ("n_jobs", "verbose", "random_state")]
    whole = {name for name in names if any(one.type is Integral for one in cls._parameter_constraints[name][:1])}
    values = {name: {"n_clusters": 3, "n_neighbors": 9}.get(name, 5) for name in whole}
    fixed = {"random_state": 0} if "random_state" in cls().get_params() else {}
    fitted = [
        cls(**fixed, **{name: kind(value) for name, value in values.items()}).fit(MANY, FEW_LABELS)
        for kind in (int, np.int8, np.uint8)
    ]
    labels = [getattr(model, "labels_", getattr(model, "transduction_", None)) for model in fitted]
    assert_array_equal(labels[1], labels[0])
    assert_array_equal(labels[2], labels[0])


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16])
def test_narrow_numbers_of_solvers_do_not_overflow(kind):
    for solver in (Local(n_candidates=kind(50)), Landmark(n_landmarks=kind(50))):
        model = WeaveClustering(kind(3), n_components=kind(3), n_neighbors=kind(9), solver=solver, random_state=0)
        assert sorted(np.bincount(model.fit(MANY).labels_)) == [46, 47, 47]


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_the_memory_of_a_narrow_number_of_samples_does_not_overflow(cls):
    assert cls.estimate_memory(np.int32(100_000)) == cls.estimate_memory(100_000) > 0


def test_a_tolerance_in_single_precision_is_no_smaller_range():
    model = baselines.S3R(code_tol=np.float32(1e-4)).fit(MANY, FEW_LABELS)
    assert np.isfinite(model.label_distributions_).all()


@pytest.mark.parametrize("solver", ["dense", "local", "landmark"])
def test_a_narrow_number_of_clusters_does_not_overflow(solver):
    X = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([0, 9], 20)[:, None]
    model = WeaveClustering(np.int8(2), solver=solver, random_state=0).fit(X)
    assert sorted(np.bincount(model.labels_)) == [20, 20]
