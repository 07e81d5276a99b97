"""The public surface: what is importable, documented and consistent."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys

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


HEAVY = ("numpy", "scipy", "sklearn", "matplotlib", "pandas", "joblib", "jinja2")
LAZY = ("baselines", "datasets", "explain", "kernels", "metrics", "plots", "report", "sc", "tabular")


def run(program):
    """Return what a program prints in an interpreter of its own."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_the_package_imports_no_other():
    assert run(f"import sys, kernelweave; print([name for name in {HEAVY} if name in sys.modules])") == "[]"


@pytest.mark.parametrize("name", LAZY)
def test_a_public_module_is_an_attribute_that_is_imported_when_first_used(name):
    assert name in kernelweave.__all__
    program = f"""
import sys, kernelweave
before = "kernelweave.{name}" in sys.modules
print(before, kernelweave.{name}.__name__, kernelweave.{name} is sys.modules["kernelweave.{name}"])
"""
    assert run(program) == f"False kernelweave.{name} True"


def test_dir_shows_public_names_only_whatever_was_imported():
    program = """
import kernelweave
for name in kernelweave.__all__:
    getattr(kernelweave, name)
import kernelweave.cli, kernelweave.experiments
print(dir(kernelweave) == sorted([*kernelweave.__all__, "__version__"]))
"""
    assert run(program) == "True"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'kernelweave' has no attribute 'KMeans'"):
        kernelweave.KMeans  # noqa: B018


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


def public():
    """Yield the functions and classes of the public packages, but protocols and errors, each after its name."""
    for package in ("kernelweave", *(f"kernelweave.{name}" for name in LAZY)):
        module = importlib.import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) and (issubclass(thing, Exception) or getattr(thing, "_is_protocol", False)):
                continue
            if inspect.isclass(thing) or inspect.isfunction(thing):
                yield pytest.param(thing, id=f"{package}.{name}")


@pytest.mark.parametrize("thing", list(public()))
def test_every_parameter_and_nothing_else_is_documented(thing):
    parameters = list(inspect.signature(thing).parameters)
    parts = re.split(r"^([A-Z][A-Za-z ]+)\n-+$", inspect.getdoc(thing), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    lines = (line.split(" : ")[0] for line in sections.get("Parameters", "").splitlines() if line and line[0] != " ")
    assert [word.strip().lstrip("*") for line in lines for word in line.split(",")] == parameters
