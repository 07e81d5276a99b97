"""The public surface: what is importable, documented and consistent."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import kernelweave

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(kernelweave.__path__, "kernelweave.")
    if not any(part.startswith("_") for part in module.name.split("."))
)


def test_the_six_estimators_of_the_family_are_importable_from_the_top():
    family = {f"{model}{task}" for model in ("SMKL", "KGL", "PMKL") for task in ("Clustering", "Classifier")}
    assert family <= set(kernelweave.__all__)
    assert all(inspect.isclass(getattr(kernelweave, name)) for name in family)


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    assert kernelweave.__version__ == version("kernelweave")


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_exists_and_says_what_it_is(name):
    module = importlib.import_module(name)
    assert module.__doc__
    for public in getattr(module, "__all__", ()):
        thing = getattr(module, public)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), f"{name}.{public} has no docstring"


@pytest.mark.parametrize("name", MODULES)
def test_every_example_in_a_docstring_runs_as_written(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


CLASSES = [
    getattr(module, name)
    for module in map(importlib.import_module, ("kernelweave", "kernelweave.baselines"))
    for name in sorted(module.__all__)
    if inspect.isclass(getattr(module, name))
]


@pytest.mark.parametrize("thing", CLASSES, ids=lambda thing: thing.__name__)
def test_every_parameter_and_nothing_else_is_documented(thing):
    section = (
        (inspect.getdoc(thing) + "\n\nParameters\n----------\n").split("Parameters\n----------\n")[1].split("\n\n")[0]
    )
    lines = (line.split(" : ")[0] for line in section.splitlines() if line and not line.startswith(" "))
    documented = [word.strip() for line in lines for word in line.split(",")]
    assert documented == list(inspect.signature(thing).parameters)
