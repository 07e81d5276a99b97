"""What a reader meets: whole docstrings, short ancestries, few private modules, one name for one thing."""

import inspect
import pydoc
import re
from collections import Counter
from pathlib import Path

import pytest
from sklearn.exceptions import NotFittedError

import kernelweave
from kernelweave import baselines

SOURCE = Path(kernelweave.__file__).parent
ESTIMATORS = [
    thing
    for module in (kernelweave, baselines)
    for thing in (getattr(module, name) for name in sorted(module.__all__))
    if inspect.isclass(thing) and hasattr(thing, "fit")
]


def named(cls):
    return cls.__name__


def section(cls, title):
    """Return the text of one section of a docstring."""
    return inspect.getdoc(cls).split(f"{title}\n{'-' * len(title)}\n")[1].split("\n\n")[0]


def parameters(cls):
    """Return the names in the section Parameters of a docstring, each with what is written behind it."""
    heads = [line.partition(" : ") for line in section(cls, "Parameters").splitlines() if not line.startswith(" ")]
    return {name.strip(): kind for names, _, kind in heads for name in names.split(",")}


def test_every_estimator_is_looked_at():
    assert len(ESTIMATORS) >= 28


@pytest.mark.parametrize("cls", ESTIMATORS, ids=named)
def test_the_shared_parts_of_docstrings_are_filled_in(cls):
    assert "%(" not in cls.__doc__
    assert "%(" not in pydoc.render_doc(cls, renderer=pydoc.plaintext)
    placeholders = r"\{\w+\}|\{\{|\}\}"  # of str.format
    assert not re.search(placeholders, section(cls, "Parameters") + section(cls, "Attributes"))


@pytest.mark.parametrize("cls", ESTIMATORS, ids=named)
def test_help_documents_every_parameter_in_its_order(cls):
    assert list(parameters(cls)) == list(inspect.signature(cls).parameters)


@pytest.mark.parametrize("cls", ESTIMATORS, ids=named)
def test_help_says_the_default_of_every_parameter(cls):
    for name, kind in parameters(cls).items():
        default = inspect.signature(cls).parameters[name].default
        said = re.search(r"default=(.+)$", kind)
        assert said, f"{name} : {kind}"
        assert eval(said[1], {}) == default, f"{name} : {kind}"


@pytest.mark.parametrize("cls", ESTIMATORS, ids=named)
def test_what_is_computed_from_fitted_attributes_says_that_a_model_is_not_fitted(cls):
    names = [name for name in dir(cls) if re.fullmatch(r"[a-z]\w*_", name)]
    assert "view_shares_" in names
    for name in names:
        with pytest.raises(NotFittedError, match=f"This {cls.__name__} instance is not fitted yet"):
            getattr(cls(), name)


@pytest.mark.parametrize("cls", ESTIMATORS, ids=named)
def test_every_line_of_a_parameter_is_indented_alike(cls):
    lines = section(cls, "Parameters").splitlines()
    assert {len(line) - len(line.lstrip()) for line in lines} == {0, 4}


@pytest.mark.parametrize("cls", ESTIMATORS, ids=named)
def test_an_estimator_has_at_most_four_classes_of_ours_in_its_ancestry(cls):
    ours = [base for base in cls.__mro__ if base.__module__.split(".")[0] == "kernelweave"]
    assert len(ours) <= 4, ours


def test_the_estimators_have_at_most_eight_private_modules():
    private = [path.name for path in (SOURCE / "estimators").glob("_*.py") if path.name != "__init__.py"]
    assert len(private) <= 8, private


def test_no_module_has_the_name_of_another_module_or_package():
    special = {"__init__", "__main__"}
    modules = [path.stem.lstrip("_") for path in SOURCE.rglob("*.py") if path.stem not in special]
    packages = [path.parent.name for path in SOURCE.rglob("__init__.py")]
    counts = Counter([*modules, *packages])
    assert [name for name, count in counts.items() if count > 1] == []
