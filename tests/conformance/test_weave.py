"""scikit-learn's checks for every estimator that has solvers, with every solver."""

import inspect
import warnings

from sklearn.base import is_classifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelweave
from kernelweave import Landmark, Local, WeaveClassifier, WeaveClustering
from kernelweave.errors import UndecidedWarning
from kernelweave.weave.choice import SOLVERS

WORDS = ("auto", *SOLVERS)
SMALL = {"local": Local(n_candidates=20), "landmark": Landmark(n_landmarks=10)}
OBJECTS = tuple(SMALL.get(name, solver) for name, solver in SOLVERS.items())
CHECKED = [
    *(WeaveClustering(3, solver=solver) for solver in (*WORDS, *OBJECTS)),
    *(WeaveClassifier(solver=solver) for solver in (*WORDS, *OBJECTS)),
    WeaveClustering(3, graph="knn", embedding="commute"),
]

EXPECTED_FAILURES = {
    "check_classifiers_classes": "it uses -1 as a class, which means unlabelled here",
}


# scikit-learn takes every model with predict_proba and sparse input for a classifier of its four classes
MISTAKEN_FOR_A_CLASSIFIER = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    "it reads the tags of a classifier off a clusterer with predict_proba",
)


def expected_failures(estimator):
    return EXPECTED_FAILURES if is_classifier(estimator) else MISTAKEN_FOR_A_CLASSIFIER


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_scikit_learn_s_checks_pass_for_weave(estimator, check):
    with warnings.catch_warnings():
        # the checks label a handful of random samples only
        warnings.simplefilter("ignore", UndecidedWarning)
        check(estimator)


def exported(condition):
    things = (getattr(kernelweave, name) for name in kernelweave.__all__)
    return {thing for thing in things if inspect.isclass(thing) and condition(thing)}


def test_every_public_solver_is_in_the_list():
    assert {type(solver) for solver in OBJECTS} == exported(lambda thing: hasattr(thing, "supports"))
    assert {type(solver) for solver in OBJECTS} == {type(solver) for solver in SOLVERS.values()}
    assert set(WORDS) == {"auto", *SOLVERS}


def test_every_public_estimator_with_solvers_is_in_the_list_with_every_solver():
    solved = exported(lambda thing: "solver" in inspect.signature(thing).parameters)
    wanted = {(model, repr(solver)) for model in solved for solver in (*WORDS, *OBJECTS)}
    assert {(type(model), repr(model.solver)) for model in CHECKED} == wanted
